# SPDX-License-Identifier: Apache-2.0
"""What tests of `memprof attach` share: programs that say "ready" and, when their standard input ends, "ok".

Where the machine refuses ptrace they are skipped.
"""
import ctypes
import pathlib
import shutil
import subprocess
import tempfile

import e2e


def can_trace():
    """Whether a process may trace its child here."""
    libc = ctypes.CDLL(None, use_errno=True)
    child = subprocess.Popen(["sleep", "60"])
    try:
        return libc.ptrace(0x4206, child.pid, None, None) == 0
    finally:
        child.kill()
        child.wait()


class Test(e2e.Test):
    @classmethod
    def setUpClass(cls):
        # In a process of its own: what is traced must not be left to a test.
        probe = subprocess.run(["/usr/bin/env", "python3", "-c", f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
                                "import attaching; sys.exit(not attaching.can_trace())"], check=False)
        if probe.returncode != 0:
            raise e2e.unittest.SkipTest("ptrace is refused here")

    def begin(self, *command, **options):
        options.setdefault("env", e2e.plain_environment())
        process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def other_files(self):
        """Words in front of a command that sees neither memprof's library nor our process ids, and a folder that it sees."""
        hide = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
                f"mount -t tmpfs none {e2e.LIBRARY.parent} && exec \"$@\"", "sh"]
        tried = e2e.run([*hide, "true"])
        if tried.returncode != 0:
            self.skipTest(f"no namespace may be made here: {tried.stderr.decode().strip()}")
        folder = tempfile.mkdtemp(dir="/tmp")  # what is below the hidden folder cannot be executed
        self.addCleanup(shutil.rmtree, folder)
        return hide, folder

    @staticmethod
    def only_child(process):
        (pid,) = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return pid

    def check_end(self, process):
        said, _ = process.communicate(timeout=e2e.WATCHDOG_S)
        self.assertEqual((process.returncode, said[:2]), (0, b"ok"), said)

    def attach(self, process, *options, status=0):
        done = self.memprof("attach", str(process.pid), *options, status=status)
        return done.stderr.decode()
