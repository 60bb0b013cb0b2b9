# SPDX-License-Identifier: Apache-2.0
"""Names, lines and inlined calls in real profiles; code of a JIT; binaries that changed or may not be read; a
debuginfod server that never answers."""
import json
import os
import pathlib
import re
import shutil
import socket
import tempfile
import threading
import time

import e2e

SOURCE = """#include <cstdlib>
#include <vector>
namespace app {
namespace {
inline void* deep(std::size_t size) {
  return std::malloc(size);  // line 6
}
}
struct Thing {
  __attribute__((noinline)) void fill(int count);
  std::vector<void*> blocks;
};
void Thing::fill(int count) {
  const auto add = [this](std::size_t size) { blocks.push_back(deep(size)); };
  for (int i = 0; i < count; ++i) add(1000 + CHANGE);  // line 15
}
}
int main(int argc, char**) {
  app::Thing thing;
  thing.blocks.reserve(1000);
  thing.fill(300 * argc);  // line 21
  return 0;
}
"""

SCRIPT = """
function makeBuffers(count) {
  const all = [];
  for (let i = 0; i < count; ++i) all.push(Buffer.allocUnsafeSlow(20000));
  return all;
}
class Cache {
  fill(count) { for (let i = 0; i < count; ++i) this.last = makeBuffers(10); }
}
for (let round = 0; round < 30; ++round) new Cache().fill(20);
"""


class Names(e2e.Test):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="memprof-e2e-names-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def memprof(self, *arguments, status=0, **extra):
        done = e2e.run([e2e.COMMAND, *arguments], e2e.plain_environment(**extra), cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def build(self, change=0):
        (self.folder / "program.cc").write_text(SOURCE)
        done = e2e.run([os.environ["MEMPROF_E2E_CXX"], "-O2", "-g", f"-DCHANGE={change}", "-Wl,--build-id", "-o",
                        "program", "program.cc"], cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def stacks(self, profile):
        """Frames of each stack, leaf first, as (name, file name, line)."""
        data = json.loads(self.memprof("export", profile, "--all-frames", "--format", "json", "-o", "-").stdout)
        frames = [[(f["name"], f.get("file", "").rsplit("/", 1)[-1], f.get("line", 0)) for f in location["frames"]]
                  for location in data["locations"]]
        return [[frame for index in stack["locations"] for frame in frames[index]] for stack in data["stacks"]]

    def test_lines_and_inlined_calls(self):
        self.build()
        for raw in ([], ["--raw"]):
            self.memprof("run", *raw, "-r", "0", "--force", "-o", "out.pb.gz", "--", "./program")
            ours = [[frame for frame in stack if frame[1] == "program.cc"] for stack in self.stacks("out.pb.gz")]
            wanted = [stack for stack in ours if stack and stack[0][2] == 6]
            self.assertEqual(len(wanted), 1, ours)
            names = [name for name, _, _ in wanted[0]]
            self.assertEqual([line for _, _, line in wanted[0]], [6, 14, 15, 21])
            self.assertTrue(names[0].startswith("app::(anonymous namespace)::deep"), names)
            self.assertRegex(names[1], r"lambda|\$_0")  # gcc | clang
            self.assertEqual(names[2:], ["app::Thing::fill(int)", "main"])

    def test_a_library_that_was_opened_by_a_relative_path(self):
        """As the loader knows it, it would be a file of the folder that the reader is in."""
        (self.folder / "plugins").mkdir()
        shutil.copy2(e2e.program("plugin_a.so"), self.folder / "plugins/plugin.so")
        script = ("import ctypes, os\n"
                  "plugin = ctypes.CDLL('./plugins/plugin.so')\n"
                  "os.chdir('/')\n"
                  "for _ in range(100): plugin.plugin_allocate(ctypes.c_size_t(1000))\n")
        self.memprof("run", "--raw", "-r", "0", "-o", "out.pb.gz", "--", e2e.system_python(), "-c", script)
        done = self.memprof("report", "out.pb.gz", "--metric", "live", "-n", "1000")
        self.assertNotIn(b"absolute path", done.stderr)
        self.assertIn("plugin_a_site", done.stdout.decode())

    def test_a_changed_binary_is_said_once_and_has_no_names(self):
        self.build()
        self.memprof("run", "--raw", "-r", "0", "-o", "out.pb.gz", "--", "./program")
        self.build(change=8)
        done = self.memprof("report", "out.pb.gz", "-n", "1000", "--metric", "alloc_space")
        self.assertEqual(done.stderr.decode().count("binary changed since it was profiled"), 1, done.stderr)
        self.assertIn("program+0x", done.stdout.decode())
        self.assertNotIn("fill", done.stdout.decode())
        self.assertNotIn("program.cc", done.stdout.decode())

    def test_a_binary_that_may_not_be_read(self):
        self.build()
        self.memprof("run", "--raw", "-r", "0", "-o", "out.pb.gz", "--", "./program")
        (self.folder / "program").chmod(0)
        (self.folder / "out.pb.gz").chmod(0o644)
        self.folder.chmod(0o755)
        command = [e2e.COMMAND, "report", "out.pb.gz", "-n", "1000", "--metric", "alloc_space", "--all-frames"]
        if os.geteuid() == 0:
            user = str(self.somebody_else())
            command = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", *command]
        done = e2e.run(command, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stderr.decode().splitlines()
        self.assertEqual(lines, [f"memprof: warning: {self.folder}/program: permission denied; no names"])
        self.assertIn("program+0x", done.stdout.decode())
        self.assertIn("__libc_start", done.stdout.decode())

    def javascript(self, option, *run_options):
        (self.folder / "app.js").write_text(SCRIPT)
        self.memprof("run", "-r", "64k", *run_options, "-o", "node.pb.gz", "--", e2e.need("node"), option,
                     "--interpreted-frames-native-stack", "app.js")
        # What the profile has, it has for ever: the files of the JIT go.
        pid = json.loads(self.memprof("export", "node.pb.gz", "--format", "json", "-o", "-").stdout)["pid"]
        files = [f"/tmp/perf-{pid}.map", self.folder / f"jit-{pid}.dump"]
        found = [file for file in files if os.path.exists(file)]
        for file in found:
            os.unlink(file)
        self.assertEqual(len(found), 1)
        named = [stack for stack in self.stacks("node.pb.gz")
                 if {("makeBuffers", "app.js"), ("fill", "app.js")} <= {frame[:2] for frame in stack}]
        self.assertTrue(named)
        order = [name for name, file, _ in named[0] if file == "app.js"]
        self.assertLess(order.index("makeBuffers"), order.index("fill"))

    def test_javascript_with_a_perf_map(self):
        self.javascript("--perf-basic-prof")

    def test_javascript_with_a_perf_map_in_a_raw_profile(self):
        self.javascript("--perf-basic-prof", "--raw")

    def test_javascript_with_a_jitdump(self):
        self.javascript("--perf-prof")

    def test_a_debuginfod_that_never_answers(self):
        self.memprof("run", "--raw", "-r", "0", "-o", "out.pb.gz", "--", "/bin/ls")
        with socket.create_server(("127.0.0.1", 0)) as server:
            accepted = []

            def accept():
                while True:
                    try:
                        accepted.append(server.accept()[0])
                    except OSError:
                        return

            threading.Thread(target=accept, daemon=True).start()
            extra = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{server.getsockname()[1]}",
                     "DEBUGINFOD_CACHE_PATH": str(self.folder / "cache")}
            begin = time.monotonic()
            done = self.memprof("report", "out.pb.gz", "--no-debuginfod", **extra)
            self.assertLess(time.monotonic() - begin, 5)
            self.assertEqual((accepted, done.stderr), ([], b""))
            done = self.memprof("report", "out.pb.gz", **extra)
            self.assertLess(time.monotonic() - begin, 40)
            self.assertTrue(accepted)
            said = done.stderr.decode()
            self.assertEqual(len(re.findall("does not answer in time", said)), 1, said)
            self.assertIn("waiting for the debug file of ", said)
            for client in accepted:
                client.close()


if __name__ == "__main__":
    e2e.main()
