# SPDX-License-Identifier: Apache-2.0
"""A CPU profiler at the same time: memprof counts the same bytes, and the other profiler sees the same program."""
import pstats
import shutil
import subprocess

import e2e

BLOCKS = 1000
BLOCK_BYTES = 20_000
PROGRAM = f"""
kept = []
def allocate():
    return bytearray({BLOCK_BYTES})
def work():
    for number in range({BLOCKS}):
        sum(i * i for i in range(200))
        kept.append(allocate())
work()
"""


class CpuProfilers(e2e.Test):
    def setUp(self):
        super().setUp()
        self.program = self.folder / "program.py"
        self.program.write_text(PROGRAM)
        self.path = self.folder / "out.pb.gz"

    def check_bytes(self):
        """Every allocation was recorded: the sum is exact."""
        found = sum(values["inuse_space"] for stack, values, _ in e2e.Profile(self.path).samples
                    if any(frame.name == "allocate" for frame in stack))
        self.assertGreaterEqual(found, BLOCKS * BLOCK_BYTES)
        self.assertLessEqual(found, BLOCKS * (BLOCK_BYTES + 100))

    def have(self, name):
        path = shutil.which(name)
        if path is None:
            self.skipTest(f"{name} is not installed")
        return path

    def test_cprofile(self):
        other = self.folder / "program.prof"
        self.memprof("run", "-r", "0", "-o", self.path, "--", e2e.system_python(), "-m", "cProfile", "-o", other, self.program)
        self.check_bytes()
        calls = {function: calls for (_, _, function), (calls, *_) in pstats.Stats(str(other)).stats.items()}
        self.assertEqual((calls["allocate"], calls["work"]), (BLOCKS, 1))

    def test_perf_around_the_run(self):
        other = self.folder / "perf.data"
        perf = [self.have("perf"), "record", "-q", "-e", "cpu-clock", "-g", "-o", str(other), "--"]
        if subprocess.run([*perf, "true"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("perf may not record here")
        other.unlink()
        run = e2e.run([*perf, e2e.COMMAND, "run", "-r", "0", "-o", self.path, "--", e2e.system_python(), self.program])
        self.assertEqual(run.returncode, 0, run.stderr)
        self.check_bytes()
        said = e2e.run([perf[0], "report", "-i", other, "--stdio", "-g", "none", "--sort", "comm"]).stdout.decode()
        self.assertIn("python", said)

    def test_py_spy_within_the_run(self):
        other = self.folder / "stacks.txt"
        run = e2e.run([e2e.COMMAND, "run", "-r", "0", "-o", self.folder / "%n.pb.gz", "--", self.have("py-spy"), "record", "-r", "200",
                       "-f", "raw", "-o", other, "--", e2e.system_python(), self.program])
        if not other.exists():
            self.skipTest(f"py-spy may not look at processes here: {run.stderr[-200:]!r}")
        (self.path,) = self.folder.glob("python*.pb.gz")
        self.check_bytes()
        self.assertIn("work (program.py", other.read_text())


if __name__ == "__main__":
    e2e.main()
