# SPDX-License-Identifier: Apache-2.0
"""What the tests of `memprof doctor` share: its output as a table, programs to look at, limits and sandboxes."""
import ctypes
import os
import resource
import subprocess

import e2e

MIB = 1 << 20
# 200 blocks of 100,000 bytes, and what libc allocates for itself to print.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void* volatile keep;
int main(void) {
  for (int i = 0; i < 200; ++i) keep = malloc(100000);
  puts("done");
  keep = strdup("a text");
  return 0;
}
"""


def limit(what, size):
    return lambda: resource.setrlimit(what, (size, size))


def seccomp(refused):
    """Makes the process refuse one system call with EPERM from here on."""
    class Filter(ctypes.Structure):
        _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filters", ctypes.POINTER(Filter))]

    def apply():
        filters = (Filter * 4)(Filter(0x20, 0, 0, 0), Filter(0x15, 0, 1, refused), Filter(0x06, 0, 0, 0x50001),
                               Filter(0x06, 0, 0, 0x7fff0000))
        libc = ctypes.CDLL(None, use_errno=True)
        program = Program(4, filters)
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(program), 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
    return apply


class Doctor(e2e.Test):
    def doctor(self, *arguments, status=0, environment=None, **options):
        """Name of a check -> (verdict, what was found, what to do), of the last check of that name."""
        done = e2e.run([e2e.COMMAND, "doctor", *arguments], environment, **options)
        text = done.stdout.decode()
        self.assertEqual((done.returncode, done.stderr), (status, b""), text)
        checks, name = {}, None
        for line in text.split("\n\n")[0].splitlines():
            if line.startswith(" "):
                checks[name] = checks[name][:2] + (line.strip().removeprefix("-> "),)
            else:
                name = line[6:20].strip()
                checks[name] = (line[:6].strip(), line[20:], "")
        stops = sum(check[0] == "no" for check in checks.values())
        notes = sum(check[0] == "note" for check in checks.values())
        total = "memprof works here" if stops == 0 else f"{stops} problem{' stops' if stops == 1 else 's stop'} memprof"
        total += f"; {notes} note{'' if notes == 1 else 's'}" if notes else ""
        self.assertEqual(text.splitlines()[-1], total, text)
        return checks

    def compile(self, name, *options, source=PROGRAM, compiler=os.environ["MEMPROF_E2E_CC"]):
        (self.folder / f"{name}.c").write_text(source)
        subprocess.run([compiler, "-O1", "-fno-builtin", "-o", name, f"{name}.c", *options],
                       cwd=self.folder, check=True)
        return str(self.folder / name)

    def recorded(self, program, **options):
        """Bytes that `memprof run` sees of a program that allocates 20,000,000; None: nothing."""
        path = self.folder / "recorded.pb"
        e2e.run([e2e.COMMAND, "run", "-r", "0", "--raw", "--force", "-o", path, "--", program], **options)
        if not path.exists():
            return None
        total = e2e.Profile(path).total("alloc_space")
        path.unlink()
        return total

    def begin(self, command, environment=None, ready=None, **options):
        process = subprocess.Popen(command, env=environment or e2e.plain_environment(), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, **options)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        if ready:
            self.assertEqual(process.stdout.readline(), ready)
        return process
