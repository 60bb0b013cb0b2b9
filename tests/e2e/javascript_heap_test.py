# SPDX-License-Identifier: Apache-2.0
"""JavaScript's own heap under `memprof run`, with nothing installed in the program: V8's samples by function against what V8
counts, however the program ends. Of the system's node, or of the one that MEMPROF_TEST_NODE names; without one the tests are skipped.
"""
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

import e2e

NODE = os.environ.get("MEMPROF_TEST_NODE") or shutil.which("node", path="/usr/bin:/usr/local/bin")
RATE = "16k"

PROGRAM = """\
'use strict';
const { getHeapStatistics } = require('node:v8');
const objects = globalThis.objects = []; // what only a script refers to is garbage when it has run
const before = getHeapStatistics().used_heap_size;
function keepObjects(count) {
  for (let i = 0; i < count; i++) objects.push({ id: i, tags: [i, i + 1] });
}
function closures(count) {
  for (let i = 0; i < count; i++) objects.push(() => i + count);
}
keepObjects(200000);
closures(200000);
console.log(getHeapStatistics().used_heap_size - before);
"""


@unittest.skipUnless(NODE, "there is no node")
class JavascriptHeap(e2e.Test):
    def profile(self, rest="", status=0, environment=None, options=()):
        """What the program grew by, and its profile."""
        program, out = self.folder / "app.js", self.folder / "out.pb.gz"
        program.write_text(PROGRAM + rest)
        done = self.memprof("run", "--force", "-r", RATE, *options, "-o", out, "--", NODE, program, status=status,
                            environment=e2e.plain_environment(**(environment or {})))
        return int(done.stdout.decode().split()[0]), out

    def check_heap(self, grown, out):
        found = {}
        for stack, values, _ in e2e.Profile(out).samples:
            if values.get("js_space"):
                found[stack[0].name] = found.get(stack[0].name, 0) + values["js_space"]
        # Of both together: some 3,000 samples of 16 KiB, so a standard deviation is 2 %; garbage comes on top of it.
        known = found["keepObjects"] + found["closures"]
        self.assertLess(abs(known - grown), 0.15 * grown, found)
        self.assertGreater(min(found["keepObjects"], found["closures"]), 0.3 * known)

    def test_to_the_end(self):
        grown, out = self.profile()
        self.check_heap(grown, out)
        said = self.memprof("report", out, "--metric", "js", "-n", "3", "--details").stdout.decode()
        first = next(line for line in said.splitlines() if "keepObjects" in line)
        self.assertIn("app.js:5", first)
        self.assertIn("V8 counts", said)
        self.assertIn("garbage included", said)

    def test_process_exit(self):
        self.check_heap(*self.profile("process.exit(3);\n", 3))

    def test_an_error_that_nobody_catches(self):
        self.check_heap(*self.profile("throw new Error('none');\n", 1))

    def test_at_exit_from_a_callback(self):
        self.check_heap(*self.profile("setTimeout(() => process.exit(4), 20);\n", 4))

    def test_blocks_are_those_of_before_the_end(self):
        """Node frees its Buffers when it ends; and what V8 counts is a part of what is resident then."""
        grown, out = self.profile("global.kept = Buffer.alloc(30e6, 1);\n")
        live = e2e.Profile(out).total("inuse_space")  # node itself has 2 to 7 MB
        self.assertGreater(live, 30e6)
        self.assertLess(live, 45e6)
        memory = self.report(out)["resident"]
        self.assertGreater(memory["runtime_bytes"], grown)
        self.assertLess(memory["js_bytes"], memory["runtime_bytes"] + memory["code_bytes"] + 2e6)

    def test_blocks_have_no_part_of_it(self):
        _, out = self.profile("global.kept = Buffer.alloc(5e6, 1);\n")
        totals = e2e.Profile(out)
        self.assertLess(totals.total("inuse_space"), 30e6)
        for _, values, labels in totals.samples:
            if values.get("js_space"):
                self.assertEqual([m for m, v in values.items() if v], ["js_space"])
                self.assertEqual(labels["heap"], "js")

    def test_killed_while_it_runs(self):
        """What was told last, a second or more after the start."""
        program, out = self.folder / "app.js", self.folder / "out.pb.gz"
        program.write_text(PROGRAM + "setInterval(() => {}, 10);\n")
        command = [e2e.COMMAND, "run", "-r", RATE, "-o", out, "--", NODE, program]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=e2e.plain_environment()) as run:
            grown = int(run.stdout.readline())
            time.sleep(5)
            run.send_signal(signal.SIGTERM)  # which node is ended by
            run.stdout.read()
        self.check_heap(grown, out)

    def test_left_alone(self):
        for value in ("stacks", "0"):
            _, out = self.profile(environment={"MEMPROF_NODE": value})
            self.assertNotIn("js_space", e2e.Profile(out).samples[0][1])

    def test_a_program_that_samples_itself(self):
        """It has an answer, and so have we, until it ends the sampling."""
        inspector = """\
const { Session } = require('node:inspector');
const session = new Session();
session.connect();
session.post('HeapProfiler.startSampling', { samplingInterval: 16384 });
closures(100000);
session.post('HeapProfiler.%s', (error, { profile }) => console.log(error === null && JSON.stringify(profile).includes('closures')));
console.log(process.uptime());
"""
        program, out = self.folder / "app.js", self.folder / "out.pb.gz"
        for call, is_told in (("getSamplingProfile", True), ("stopSampling", False)):
            program.write_text(PROGRAM + inspector % call)
            done = self.memprof("run", "--force", "-r", RATE, "-o", out, "--", NODE, program)
            _, has_answer, uptime_s = done.stdout.decode().split()
            self.assertEqual(has_answer, "true")
            # After a second it was told once, on a slow machine before the sampling ended.
            if is_told or float(uptime_s) < 0.9:
                self.assertEqual(any(s[1].get("js_space") for s in e2e.Profile(out).samples), is_told)

    def run_node(self, *arguments):
        out = self.folder / "out.pb.gz"
        done = self.memprof("run", "--force", "-r", "0", "-o", out, "--", NODE, *arguments)
        self.assertFalse(any(s[1].get("js_space") for s in e2e.Profile(out).samples))
        return done.stdout.decode()

    def test_node_samples_the_heap(self):
        """`node --heap-prof` writes its file, at its own rate."""
        program = self.folder / "app.js"
        program.write_text(PROGRAM)
        self.run_node("--heap-prof", f"--heap-prof-dir={self.folder}", "--heap-prof-interval=1000000", program)
        written, = self.folder.glob("*.heapprofile")
        samples = json.loads(written.read_text())["samples"]
        self.assertGreater(len(samples), 0)
        self.assertLess(len(samples), 200)  # some 30 MB; at 16 KiB there are 2,000

    def test_a_snapshot_is_built(self):
        program, blob = self.folder / "app.js", self.folder / "app.blob"
        program.write_text(PROGRAM)
        self.run_node("--snapshot-blob", blob, "--build-snapshot", program)
        program.write_text("")
        done = subprocess.run([NODE, "--snapshot-blob", blob, "-p", "objects.length"], stdout=subprocess.PIPE, check=True)
        self.assertEqual(done.stdout.decode().split(), ["400000"])

    def test_workers(self):
        """A worker's heap is there as it was told last, beside the main thread's; that of one that ended is not."""
        _, out = self.profile("""\
const { Worker } = require('node:worker_threads');
const ended = new Worker('function brief() { return Array.from({ length: 2e5 }, (_, i) => ({ i })); } globalThis.kept = brief();' +
  'setTimeout(() => process.exit(), 4000); setInterval(() => {}, 5);', { eval: true });
ended.on('exit', () => setTimeout(() => process.exit(6), 100));
const worker = new Worker('function inWorker() { return Array.from({ length: 5e5 }, (_, i) => ({ i })); } globalThis.kept = inWorker();' +
  'setInterval(() => {}, 5);', { eval: true });
setInterval(() => {}, 5);
""", status=6)
        found = dict.fromkeys(("keepObjects", "inWorker", "brief"), 0)
        for stack, values, _ in e2e.Profile(out).samples:
            for name in {frame.name for frame in stack} & found.keys():
                found[name] += values.get("js_space", 0)
        # Some 21 MB, a standard deviation is 0.6 MB: objects of 16 to 24 bytes, an array of pointers, and what it outgrew.
        self.assertGreater(found["inWorker"], 8e6)
        self.assertLess(found["inWorker"], 35e6)  # not twice
        self.assertGreater(found["keepObjects"], 8e6)
        self.assertEqual(found["brief"], 0)
        memory = self.report(out)["resident"]
        self.assertGreater(memory["runtime_bytes"], found["inWorker"] + found["keepObjects"])

    def test_workers_come_and_go(self):
        _, out = self.profile("""\
const { Worker } = require('node:worker_threads');
let left = 60;
const next = () => {
  if (left-- <= 0) return;
  const worker = new Worker('globalThis.kept = Array.from({ length: 1e4 }, (_, i) => ({ i }));' +
    (left % 3 ? '' : 'setInterval(() => {}, 5);'), { eval: true });
  if (left % 3 === 0) worker.on('online', () => worker.terminate());
  worker.on('exit', next);
};
for (let i = 0; i < 4; i++) next();
""")
        self.assertTrue(any(s[1].get("js_space") for s in e2e.Profile(out).samples))


if __name__ == "__main__":
    e2e.main()
