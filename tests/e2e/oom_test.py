# SPDX-License-Identifier: Apache-2.0
"""A program that the OOM killer ends, in a group (cgroup) with a limit of memory: needs to make groups, as root may."""
import os
import pathlib

import e2e

LIMIT = 128 << 20
PROGRAM = """
import time
kept = []
def handle():
    kept.append(b"x" * 2_000_000)
def other():
    kept.append(b"y" * 400_000)
for _ in range(1000):
    handle()
    other()
    time.sleep(0.001)
"""


def own_group():
    """The folder of this process's group that counts memory, and the names of its files for the limit and the group's processes."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return pathlib.Path("/sys/fs/cgroup/memory" + path), "memory.limit_in_bytes"
        if controllers == "" and pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists():
            return pathlib.Path("/sys/fs/cgroup" + path), "memory.max"
    return None, ""


class Oom(e2e.Test):
    def setUp(self):
        super().setUp()
        parent, limit = own_group()
        if parent is None:
            self.skipTest("no group counts memory here")
        self.group = parent / f"memprof-test-{os.getpid()}"
        try:
            self.group.mkdir()
        except OSError as error:
            self.skipTest(f"no group can be made: {error}")
        self.addCleanup(self.group.rmdir)
        try:
            (self.group / limit).write_text(str(LIMIT))
        except OSError as error:
            self.skipTest(f"a group cannot have a limit here: {error}")

    def run_in_group(self, *command):
        """In a shell that enters the group first."""
        return e2e.run(["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(self.group), *map(str, command)], e2e.plain_environment())

    def test_who_held_the_memory_is_named(self):
        program, out = self.folder / "app.py", self.folder / "out.pb.gz"
        program.write_text(PROGRAM)
        done = self.run_in_group(e2e.COMMAND, "run", "-o", out, "--", e2e.system_python(), program)
        said = done.stderr.decode()
        self.assertEqual(done.returncode, 137, said)
        self.assertRegex(said, r"was killed by the OOM killer at the memory limit of its group, 128\.0 MiB; handle held [78]\d % of \d+\.\d MiB\n")
        report = self.report(out)
        self.assertEqual((report["oom_killed"], report["memory_limit_bytes"]), (True, LIMIT))
        self.assertIn(", killed by the OOM killer at the memory limit of its group, 128.0 MiB\n",
                      self.memprof("report", out).stdout.decode())

    def test_a_kill_by_somebody_else_is_none(self):
        out = self.folder / "out.pb.gz"
        done = self.run_in_group(e2e.COMMAND, "run", "-o", out, "--", "sh", "-c", "kill -9 $$")
        self.assertNotIn("OOM", done.stderr.decode())
        self.assertFalse(self.report(out)["oom_killed"])


if __name__ == "__main__":
    e2e.main()
