# SPDX-License-Identifier: Apache-2.0
"""A program of musl that runs (programs/attached.c), and memprof that is loaded into it by the command for glibc."""
import signal
import subprocess
import time

import e2e

KEPT, BYTES = 500, 211
STATUS = 5


class RunningProgram:
    def __init__(self, program, library):
        self.environment = e2e.plain_environment(MEMPROF_MUSL_LIBRARY=str(library))
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        self.kept = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()

    def command(self, *arguments):
        return e2e.run([e2e.COMMAND, *arguments], self.environment)

    def attach(self, *options):
        return self.command("attach", *options, self.process.pid)

    def keep(self):
        self.process.stdin.write("keep\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "kept\n"
        self.kept += KEPT

    def kill_an_attach(self, delay_s):
        command = subprocess.Popen([e2e.COMMAND, "attach", "-r", "0", str(self.process.pid)], env=self.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay_s)
        command.send_signal(signal.SIGKILL)
        command.wait()

    def end(self):
        """(status, last line, what it said to standard error)."""
        out, err = self.process.communicate("end\n", timeout=60)
        return self.process.returncode, out, err

    def right_end(self):
        return STATUS, f"worked, {self.kept} kept, 0 wrong\n", ""
