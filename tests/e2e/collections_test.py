# SPDX-License-Identifier: Apache-2.0
"""Runs of V8's garbage collector, as memprof_get_gc_epoch() counts them and as V8 traces them. (Python's: capi_test.py.)

Of the system's node, or of the one that MEMPROF_TEST_NODE names; where there is none, the test is skipped.
"""
import os
import re
import shutil
import unittest

import e2e

NODE = os.environ.get("MEMPROF_TEST_NODE") or shutil.which("node", path="/usr/bin:/usr/local/bin")
TURNS = 20
# All collections are after the first call of JavaScript by the event loop. With a worker: in two isolates.
SCRIPT = """
const { Worker, isMainThread } = require('worker_threads');
if (isMainThread && process.argv[2]) new Worker(__filename);
let turns = 0;
function turn() {
  global.gc();
  const kept = [];
  for (let i = 0; i < 1e5; ++i) kept.push({ i });
  if (++turns < %d) setTimeout(turn, 1);
}
setTimeout(turn, 1);
""" % TURNS


@unittest.skipUnless(NODE, "there is no node here")
class V8(e2e.Test):
    def count(self, *arguments):
        script = self.folder / "turns.js"
        script.write_text(SCRIPT)
        environment = e2e.preloaded(self.folder / "out.%p.pb", 0, e2e.program("counts_collections.so"))
        done = self.check(e2e.run([NODE, "--expose-gc", "--trace-gc", script, *arguments], environment), stderr=None)
        said = done.stderr.decode()
        self.assertTrue(said.startswith("enabled 0, epoch 0\n"), said)
        traced = len(re.findall(r" ms: (?:Scavenge|Mark-|Minor )", done.stdout.decode()))
        return int(said.split()[-1]), traced

    def test_collections_of_all_kinds(self):
        counted, traced = self.count()
        self.assertGreaterEqual(traced, TURNS)
        # Of those before the first call of JavaScript by the event loop nobody tells.
        self.assertTrue(TURNS <= counted <= traced, (counted, traced))

    def test_of_each_isolate(self):
        counted, traced = self.count("worker")
        self.assertTrue(2 * TURNS <= counted <= traced, (counted, traced))

    def test_there_is_no_runtime(self):
        done = self.check(e2e.run([e2e.need("true")], e2e.preloaded(None, None, e2e.program("counts_collections.so"))), stderr=None)
        self.assertEqual(done.stderr, b"enabled -2, epoch 0\nepoch 0\n")


if __name__ == "__main__":
    e2e.main()
