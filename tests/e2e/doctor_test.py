# SPDX-License-Identifier: Apache-2.0
"""`memprof doctor`: what it says of this system, of real programs and of processes, and that `memprof run` then does so."""
import ctypes
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess

import e2e

MIB = 1 << 20
HOLDER = [e2e.system_python(), "-c", "import sys; print('ready', flush=True); sys.stdin.read()"]
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
# An allocator in the program.
ALLOCATOR = """
#include <stddef.h>
static char pool[1 << 26];
static size_t used;
void* malloc(size_t n) { void* p = pool + used; used += (n + 15) & ~(size_t)15; return p; }
void free(void* p) { (void)p; }
void* calloc(size_t a, size_t b) { return malloc(a * b); }
void* realloc(void* p, size_t n) { (void)p; return malloc(n); }
"""
CALLS_MALLOCX = """
#include <stddef.h>
void* mallocx(size_t, int);
void dallocx(void*, int);
int main(void) { void* p = mallocx(1000, 0); dallocx(p, 0); return p == NULL; }
"""


def arena_bytes():
    text = (e2e.SOURCE / "tools/memprof/doctor_limits.h").read_text()
    return int(re.search(r"kArenaBytes = uint64_t\{(\d+)\} << 20;", text).group(1)) * MIB


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
        total = "memprof works here" if stops == 0 else f"{stops} thing{' stops' if stops == 1 else 's stop'} it"
        total += f"; {notes} note{'' if notes == 1 else 's'}" if notes else ""
        self.assertEqual(text.splitlines()[-1], total, text)
        return checks

    def compile(self, name, *options, source=PROGRAM):
        (self.folder / f"{name}.c").write_text(source)
        subprocess.run([os.environ["MEMPROF_E2E_CC"], "-O1", "-fno-builtin", "-o", name, f"{name}.c", *options],
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


class System(Doctor):
    def test_nothing_stops_it_where_these_tests_run(self):
        checks = self.doctor()
        self.assertEqual(list(checks)[:8], ["library", "C library", "kernel", "data folder", "temp folder", "file size",
                                            "address space", "debuginfod"])
        self.assertEqual(checks["library"][:2], ("yes", str(e2e.COMMAND.parent.parent / "lib/libmemprof.so")))
        self.assertIn(os.uname().release, checks["kernel"][1])
        self.assertEqual(checks["C library"][0], "yes")

    def test_size_of_the_data(self):
        """With a limit of kArenaBytes a process can share its data; with one byte less than they have it cannot."""
        actual = self.shared_data(arena_bytes(), "yes")
        self.assertEqual(len(actual), 1)
        self.assertGreater(actual[0], arena_bytes() * 9 // 10)
        self.assertEqual(self.shared_data(actual[0] - 1, "note"), [])

    def shared_data(self, size, verdict):
        """Sizes of the files of a process under a limit."""
        folder = self.folder / str(size)
        folder.mkdir()
        environment = e2e.preloaded(self.folder / "x.%p.pb", MEMPROF_ARENA_DIR=str(folder))
        process = self.begin(HOLDER, environment, b"ready\n", preexec_fn=limit(resource.RLIMIT_FSIZE, size))
        sizes = [path.stat().st_size for path in folder.iterdir()]
        checks = self.doctor(str(process.pid), status=0 if sizes else 1)
        self.assertEqual(checks["file size"][0], verdict)
        self.assertEqual(checks["memprof"][0], "yes" if sizes else "no")
        return sizes

    def test_limit_on_files(self):
        program = self.compile("plain")
        for size, verdict, sees in ((1 << 40, "yes", True), (4 * MIB, "note", True), (1024, "no", False)):
            with self.subTest(size):
                options = {"preexec_fn": limit(resource.RLIMIT_FSIZE, size)}
                checks = self.doctor(status=0 if sees else 1, **options)
                self.assertEqual(checks["file size"][0], verdict)
                self.assertEqual(self.recorded(program, **options) is not None, sees)

    def test_limit_on_address_space(self):
        program = self.compile("plain")
        for size, verdict, sees in ((arena_bytes() + 250 * MIB, "yes", True), (320 * MIB, "no", False)):
            with self.subTest(size):
                options = {"preexec_fn": limit(resource.RLIMIT_AS, size)}
                self.assertEqual(self.doctor(status=0 if sees else 1, **options)["address space"][0], verdict)
                self.assertEqual(self.recorded(program, **options) is not None, sees)

    def test_folder_for_data(self):
        program = self.compile("plain")
        for folder, part in ((self.folder / "absent", "no such file"), ("", "is empty"), (program, "is not a folder")):
            with self.subTest(folder):
                environment = e2e.plain_environment(MEMPROF_ARENA_DIR=str(folder))
                verdict, found, to_do = self.doctor(environment=environment)["data folder"]
                self.assertEqual(verdict, "note")
                self.assertIn(part, found)
                self.assertIn("private memory", found)
                self.assertTrue(to_do)
                self.assertGreater(self.recorded(program, environment=environment), 20_000_000)

    def test_folder_that_is_full_or_read_only(self):
        full = self.folder / "full"
        full.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", full], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("needs a root that may mount")
        try:
            environment = e2e.plain_environment(MEMPROF_ARENA_DIR=str(full))
            verdict, found, to_do = self.doctor(environment=environment)["data folder"]
            self.assertEqual(verdict, "note")
            self.assertIn("only 1.0 MiB free", found)
            self.assertIn("memprof clean", to_do)
            try:
                (full / "filler").write_bytes(b"x" * MIB)
            except OSError:
                pass
            verdict, found, _ = self.doctor(environment=environment)["data folder"]
            self.assertEqual(verdict, "note")
            self.assertIn("no space left on device", found)
            subprocess.run(["mount", "-o", "remount,ro", full], check=True)
            self.assertIn("read-only file system", self.doctor(environment=environment)["data folder"][1])
        finally:
            subprocess.run(["umount", full], check=True)

    def test_no_temporary_folder(self):
        environment = e2e.plain_environment(TMPDIR=str(self.folder / "absent"))
        self.assertEqual(self.doctor(environment=environment, status=1)["temp folder"][0], "no")
        self.assertIsNone(self.recorded("/bin/true", environment=environment))

    def test_sandbox(self):
        program = self.compile("plain")
        options = {"preexec_fn": seccomp(310)}  # process_vm_readv
        verdict, found, to_do = self.doctor(**options)["kernel"]
        self.assertEqual(verdict, "note", found)
        self.assertIn("no process_vm_readv", found)
        self.assertIn("seccomp", to_do)
        self.assertGreater(self.recorded(program, **options), 20_000_000)


class Programs(Doctor):
    def program(self, path, stops=False, **options):
        return self.doctor("--", path, "an argument", status=1 if stops else 0, **options)

    def test_programs_of_the_system(self):
        for name in ("sh", "sqlite3", "git", "perl", "node"):
            with self.subTest(name):
                checks = self.program(e2e.need(name))
                self.assertEqual((checks["allocator"][0], checks["stacks"][0]), ("yes", "yes"), checks)
        checks = self.program(e2e.system_python())
        self.assertIn("PYTHONMALLOC", checks["Python"][2])
        self.assertNotIn("Python", self.program(e2e.system_python(),
                                                environment=e2e.plain_environment(PYTHONMALLOC="malloc")))

    def test_ordinary(self):
        path = self.compile("plain")
        self.assertEqual(self.program(path)["allocator"][0], "yes")
        self.assertGreater(self.recorded(path), 20_000_000)

    def test_static(self):
        path = self.compile("static", "-static")
        verdict, found, to_do = self.program(path, stops=True)["program"]
        self.assertEqual(verdict, "no")
        self.assertIn("statically linked", found)
        self.assertIn("libmemprof.a", to_do)
        self.assertIsNone(self.recorded(path))

    def test_allocators_that_are_libraries(self):
        for name in e2e.ALLOCATORS:
            with self.subTest(name):
                path = self.compile(name, "-Wl,--no-as-needed", e2e.allocator(name))
                verdict, found, _ = self.program(path)["allocator"]
                self.assertEqual(verdict, "yes")
                self.assertIn(f"that of {e2e.ALLOCATORS[name].split('.so')[0]}.so", found)
                self.assertGreater(self.recorded(path), 20_000_000)

    def test_allocator_in_the_program(self):
        exported = self.compile("exported", source=PROGRAM + ALLOCATOR)
        self.assertEqual(self.program(exported, stops=True)["allocator"][0], "no")
        self.assertIsNone(self.recorded(exported))
        hidden = self.compile("hidden", "-fvisibility=hidden", source=PROGRAM + ALLOCATOR)
        verdict, found, _ = self.program(hidden)["allocator"]
        self.assertEqual(verdict, "note")
        self.assertIn("those of its libraries are", found)
        self.assertLess(self.recorded(hidden), 100_000)  # puts and strdup, not the 200 blocks
        self.assertGreater(self.recorded(hidden), 0)

    def test_jemalloc_in_the_program(self):
        path = self.compile("jemalloc", "-Wl,-Bstatic", "-ljemalloc", "-Wl,-Bdynamic", "-lpthread", "-lm", "-ldl", "-lstdc++")
        self.assertEqual(self.program(path, stops=True)["allocator"][0], "no")
        self.assertIsNone(self.recorded(path))

    def test_interface_of_an_allocator(self):
        path = self.compile("mallocx", "-ljemalloc", source=CALLS_MALLOCX)
        verdict, found, to_do = self.program(path)["own interface"]
        self.assertEqual(verdict, "note")
        self.assertIn("calls mallocx of", found)
        self.assertIn("memprof_report_alloc", to_do)

    def test_address_sanitizer(self):
        for name, option in (("asan", "-shared-libasan" if "clang" in os.environ["MEMPROF_E2E_CC"] else "-g"),
                             ("asan_static", "-static-libasan")):
            with self.subTest(name):
                path = self.compile(name, "-fsanitize=address", option)
                verdict, found, _ = self.program(path, stops=True)["allocator"]
                self.assertEqual(verdict, "no")
                self.assertIn("AddressSanitizer", found)
                self.assertIsNone(self.recorded(path))

    def test_memprof_in_the_program(self):
        for name in ("family_static", "family_linked"):
            self.assertEqual(self.program(e2e.program(name))["allocator"][0], "yes", name)

    def test_unwind_tables(self):
        self.assertEqual(self.program(e2e.program("many_frames"))["stacks"][0], "yes")
        verdict, found, to_do = self.program(e2e.program("no_unwind_tables"))["stacks"]
        self.assertEqual(verdict, "note")
        self.assertIn("frame pointers", found)
        self.assertIn("-fasynchronous-unwind-tables", to_do)

    def test_names(self):
        debug = self.compile("debug", "-g", "-Wl,--build-id=sha1")
        self.assertEqual(self.program(debug)["names"][0], "yes")
        separate = self.folder / "separate"
        shutil.copy(debug, separate)
        for command in (["objcopy", "--only-keep-debug", separate, f"{separate}.debug"],
                        ["objcopy", "--strip-all", f"--add-gnu-debuglink={separate}.debug", separate]):
            subprocess.run([e2e.need(command[0]), *command[1:]], check=True)
        self.assertEqual(self.program(str(separate))["names"][0], "yes")
        os.unlink(f"{separate}.debug")
        verdict, found, to_do = self.program(str(separate))["names"]
        self.assertEqual(verdict, "note")
        self.assertIn("is stripped", found)
        self.assertIn("DEBUGINFOD_URLS", to_do)
        asked = self.program(str(separate), environment=e2e.plain_environment(DEBUGINFOD_URLS="http://localhost:1"))
        self.assertIn("are asked", asked["names"][1])
        self.assertIn("functions, but no files", self.program(self.compile("plain"))["names"][1])

    def test_scripts(self):
        for first, elf in (("#!/bin/sh", "/bin/sh"), (f"#!/usr/bin/env {e2e.system_python()}", e2e.system_python()),
                           ("echo", "/bin/sh")):
            with self.subTest(first):
                script = self.folder / "script"
                script.write_text(f"{first}\n")
                script.chmod(0o755)
                self.assertIn(f"{script}, executed by {elf}:", self.program(script)["program"][1])

    def test_what_cannot_be_started(self):
        shell = pathlib.Path("/bin/sh").read_bytes()
        for name, at, value, part in (("narrow", 4, 1, "a 32-bit program"), ("foreign", 18, 0xb7, "for another processor")):
            data = bytearray(shell)
            data[at] = value
            path = self.folder / name
            path.write_bytes(data)
            path.chmod(0o755)
            self.assertIn(part, self.program(path, stops=True)["program"][1])
        (self.folder / "text").write_text("x")
        for path, part in ((self.folder / "absent", "no such file"), (self.folder / "text", "permission denied"),
                           ("no-such-program", "not found in PATH"), (self.folder, "is a directory")):
            self.assertIn(part, self.program(path, stops=True)["program"][1])

    def test_set_uid(self):
        if os.getuid() != 0:
            self.skipTest("needs root, to give a file away")
        path = self.compile("plain")
        self.folder.chmod(0o755)
        os.chown(path, 12345, 12345)
        os.chmod(path, 0o4755)
        verdict, found, to_do = self.program(path, stops=True)["program"]
        self.assertEqual(verdict, "no")
        self.assertIn("is set-uid", found)
        self.assertTrue(to_do)
        self.assertIsNone(self.recorded(path))


class Processes(Doctor):
    def test_with_the_library(self):
        process = self.begin(HOLDER, e2e.preloaded(self.folder / "x.pb"), b"ready\n")
        checks = self.doctor(str(process.pid))
        self.assertEqual(checks["memprof"], ("yes", f"it is profiled: `memprof live {process.pid}` shows it", ""))
        self.assertIn(e2e.ARENAS.name, checks["data folder"][1])
        self.assertIn("a library can be preloaded", checks["program"][1])

    def test_without_the_library(self):
        process = self.begin(HOLDER, ready=b"ready\n")
        checks = self.doctor(str(process.pid), status=1)
        self.assertEqual([name for name, check in checks.items() if check[0] == "no"], ["memprof"])
        self.assertIn("memprof run -- CMD", checks["memprof"][2])

    def test_with_private_data(self):
        process = self.begin(HOLDER, e2e.preloaded(self.folder / "x.pb", MEMPROF_ARENA_DIR=""), b"ready\n")
        verdict, found, to_do = self.doctor(str(process.pid), status=1)["memprof"]
        self.assertEqual(verdict, "no")
        self.assertIn("private memory", found)
        self.assertIn("MEMPROF_ARENA_DIR", to_do)

    def test_whose_data_were_removed(self):
        folder = self.folder / "arenas"
        folder.mkdir()
        process = self.begin(HOLDER, e2e.preloaded(self.folder / "x.pb", MEMPROF_ARENA_DIR=str(folder)), b"ready\n")
        for path in folder.iterdir():
            path.unlink()
        self.assertEqual(self.doctor(str(process.pid), status=1)["memprof"][0], "no")

    def test_it_is_not_touched(self):
        process = self.begin(HOLDER, e2e.preloaded(self.folder / "x.pb"), b"ready\n")
        process.send_signal(signal.SIGSTOP)
        self.doctor(str(process.pid))
        self.assertRegex(pathlib.Path(f"/proc/{process.pid}/status").read_text(), r"State:\s+T")

    def test_seccomp(self):
        process = self.begin(HOLDER, ready=b"ready\n", preexec_fn=seccomp(310))
        verdict, found, to_do = self.doctor(str(process.pid), status=1)["seccomp"]
        self.assertEqual(verdict, "note")
        self.assertIn("a filter of system calls", found)
        self.assertIn("process_vm_readv", found)
        self.assertTrue(to_do)

    def test_allocator_of_its_own(self):
        environment = e2e.preloaded(self.folder / "x.pb", behind=e2e.allocator("jemalloc"))
        process = self.begin(HOLDER, environment, b"ready\n")
        self.assertIn("that of libjemalloc.so.2", self.doctor(str(process.pid))["allocator"][1])

    def test_in_a_container(self):
        if os.getuid() != 0:
            self.skipTest("needs root, for chroot")
        source = '#include <stdio.h>\nint main(void) { puts("ready"); fflush(stdout); return getchar(); }\n'
        path = self.compile("inside", "-static", source=source)
        process = self.begin(["/inside"], ready=b"ready\n", preexec_fn=lambda: os.chroot(os.path.dirname(path)))
        checks = self.doctor(str(process.pid), status=1)
        self.assertIn("it sees other files", checks["container"][1])
        self.assertIn("statically linked", checks["program"][1])
        # There is no /dev/shm there, and no folder for temporary files.
        self.assertEqual(checks["data folder"][0], "note")

    def test_somebody_elses(self):
        if os.getuid() != 0:
            self.skipTest("needs root, to be somebody else")
        process = self.begin(HOLDER, ready=b"ready\n")
        verdict, found, to_do = self.doctor(str(process.pid), status=1, user=65534)["process"]
        self.assertEqual(verdict, "no")
        self.assertIn("is not yours", found)
        self.assertIn("root", to_do)

    def test_gone(self):
        self.assertIn("there is no process", self.doctor("2147483647", status=1)["process"][1])


class Terminal(e2e.Test):
    def output(self, **extra):
        master, slave = os.openpty()
        environment = e2e.plain_environment(TERM="xterm", **extra)
        done = subprocess.Popen([e2e.COMMAND, "doctor"], env=environment, stdout=slave, stderr=slave)
        os.close(slave)
        text = b""
        try:
            while chunk := os.read(master, 4096):
                text += chunk
        except OSError:  # the other end is closed
            pass
        os.close(master)
        self.assertEqual(done.wait(e2e.WATCHDOG_S), 0)
        return text

    def test_colors(self):
        self.assertIn(b"\033[32myes", self.output())
        self.assertNotIn(b"\033", self.output(NO_COLOR="1"))


if __name__ == "__main__":
    e2e.main()
