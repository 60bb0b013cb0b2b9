# SPDX-License-Identifier: Apache-2.0
"""Functions of Node itself that V8 inlines into other ones of its own, or that the program's are inlined into, are in
stacks: `emit` stands between a server's handler and the parser. Of the system's node, or of the one that MEMPROF_TEST_NODE
names; where there is none, the tests are skipped.
"""
import os
import shutil
import subprocess
import unittest

import e2e

NODE = os.environ.get("MEMPROF_TEST_NODE") or shutil.which("node", path="/usr/bin:/usr/local/bin")

MAJOR = int(subprocess.run([NODE, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.lstrip("v").split(".")[0]) if NODE else 0

SERVER = """\
const http = require('node:http');
const kept = [];
function keepUpload(size) { kept.push(Buffer.alloc(size, 1)); }
const server = http.createServer(function app(request, response) { keepUpload(20000); response.end('ok'); });
server.listen(0, '127.0.0.1', async () => {
  const agent = new http.Agent({ keepAlive: true }), port = server.address().port;
  for (let i = 0; i < 6000; i++) {
    await new Promise((done) =>
      http.get({ host: '127.0.0.1', port, agent }, (r) => { r.resume(); r.on('end', done); }));
  }
  process.exit(0);
});
"""

EVENTS = """\
const { EventEmitter } = require('node:events');
const emitter = new EventEmitter();
let kept = [];
emitter.on('x', function onX(n) { kept.push(Buffer.allocUnsafeSlow(n)); if (kept.length > 100) kept = []; });
function fire() { emitter.emit('x', 9000); }
let rounds = 0;
function round() { for (let i = 0; i < 100; i++) fire(); if (++rounds < 300) setImmediate(round); }
for (let i = 0; i < 30000; i++) fire();
setImmediate(round);
"""


@unittest.skipIf(NODE is None, "node is not installed: JavaScript frames are not tested")
class Inlined(e2e.Test):
    def share(self, script, leaf, callers, under):
        """The share of the bytes of stacks with `leaf` somewhere under `under` whose callers are these."""
        path = self.folder / "program.js"
        path.write_text(script)
        out = self.folder / "out.pb"
        environment = {k: v for k, v in e2e.plain_environment().items() if k != "NODE_EXTRA_CA_CERTS"}
        done = e2e.run([e2e.COMMAND, "run", "-r", "64k", "--force", "-o", out, "--", NODE, path], environment=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        whole = part = 0
        for frames, values, _ in self.named(out).samples:
            names = [frame.name for frame in frames]
            if leaf in names and under in names:
                whole += values["alloc_space"]
                at = names.index(leaf) + 1
                part += values["alloc_space"] if names[at:at + len(callers)] == callers else 0
        self.assertGreater(whole, 1_000_000)
        return part / whole

    def test_of_the_path_of_a_request(self):
        """Without emit's frame were 26 % of the bytes here, and 98 % of a run of ten seconds."""
        share = self.share(SERVER, "keepUpload", ["app", "emit", "parserOnIncoming", "parserOnHeadersComplete"], "app")
        self.assertGreater(share, 0.97)

    @unittest.skipIf(MAJOR < 20, "V8 of Node 18 does not tell what is inlined into such code: docs/node.md")
    def test_of_code_that_is_older_than_what_is_known(self):
        """V8 compiled `fire` with Node's emit in it before it told us of emit, and tells of the code first: of the events that
        come from the loop later, none had emit."""
        self.assertGreater(self.share(EVENTS, "onX", ["emit"], "round"), 0.97)


if __name__ == "__main__":
    e2e.main()
