# SPDX-License-Identifier: Apache-2.0
"""`memprof doctor` of this system and of processes that run, and that what it says is so."""
import os
import pathlib
import re
import resource
import signal
import subprocess

import doctor
import e2e

HOLDER = [e2e.system_python(), "-c", "import sys; print('ready', flush=True); sys.stdin.read()"]


def arena_bytes():
    text = (e2e.SOURCE / "tools/memprof/doctor/doctor_limits.h").read_text()
    return int(re.search(r"kArenaBytes = uint64_t\{(\d+)\} << 20;", text).group(1)) * doctor.MIB


class System(doctor.Doctor):
    def test_nothing_stops_it_where_these_tests_run(self):
        checks = self.doctor()
        self.assertEqual(list(checks)[:9], ["library", "C library", "kernel", "data folder", "temp folder", "file size",
                                            "address space", "table memory", "debuginfod"])
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
        process = self.begin(HOLDER, environment, b"ready\n", preexec_fn=doctor.limit(resource.RLIMIT_FSIZE, size))
        sizes = [path.stat().st_size for path in folder.iterdir()]
        checks = self.doctor(str(process.pid), status=0 if sizes else 1)
        self.assertEqual(checks["file size"][0], verdict)
        self.assertEqual(checks["memprof"][0], "yes" if sizes else "no")
        return sizes

    def test_limit_on_files(self):
        program = self.compile("plain")
        for size, verdict, sees in ((1 << 40, "yes", True), (4 * doctor.MIB, "note", True), (1024, "no", False)):
            with self.subTest(size):
                options = {"preexec_fn": doctor.limit(resource.RLIMIT_FSIZE, size)}
                checks = self.doctor(status=0 if sees else 1, **options)
                self.assertEqual(checks["file size"][0], verdict)
                self.assertEqual(self.recorded(program, **options) is not None, sees)

    def test_limit_on_address_space(self):
        program = self.compile("plain")
        for size, verdict, sees in ((5 * arena_bytes() + 250 * doctor.MIB, "yes", True), (320 * doctor.MIB, "note", True)):
            with self.subTest(size):
                options = {"preexec_fn": doctor.limit(resource.RLIMIT_AS, size)}
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
                (full / "filler").write_bytes(b"x" * doctor.MIB)
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
        options = {"preexec_fn": doctor.seccomp(310)}  # process_vm_readv
        verdict, found, to_do = self.doctor(**options)["kernel"]
        self.assertEqual(verdict, "note", found)
        self.assertIn("no process_vm_readv", found)
        self.assertIn("seccomp", to_do)
        self.assertGreater(self.recorded(program, **options), 20_000_000)


class Processes(doctor.Doctor):
    def test_with_the_library(self):
        process = self.begin(HOLDER, e2e.preloaded(self.folder / "x.pb"), b"ready\n")
        checks = self.doctor(str(process.pid))
        self.assertEqual(checks["memprof"], ("yes", f"it is profiled: `memprof live {process.pid}` shows it", ""))
        self.assertIn(e2e.ARENAS.name, checks["data folder"][1])
        self.assertIn("a library can be preloaded", checks["program"][1])

    def test_its_python(self):
        for variables, verdict, part in (({}, "yes", "are in stacks; its objects are seen by hooks"),
                                         ({"PYTHONMALLOC": "malloc"}, "yes", "come from malloc, and are seen there"),
                                         ({"MEMPROF_PYTHON": "stacks"}, "note", "told to leave its allocators alone")):
            with self.subTest(variables):
                process = self.begin(HOLDER, e2e.preloaded(self.folder / "x.pb", 512, **variables), b"ready\n")
                checks = self.doctor(str(process.pid))
                self.assertEqual(checks["Python"][0], verdict, checks)
                self.assertIn(part, checks["Python"][1])
        # What is not profiled (yet): what would be seen.
        process = self.begin(HOLDER, ready=b"ready\n")
        self.assertIn("will be in stacks", self.doctor(str(process.pid), status=1)["Python"][1])

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
        process = self.begin(HOLDER, ready=b"ready\n", preexec_fn=doctor.seccomp(310))
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
        verdict, found, to_do = self.doctor(str(process.pid), status=1, user=self.somebody_else())["process"]
        self.assertEqual(verdict, "no")
        self.assertIn("is not yours", found)
        self.assertIn("root", to_do)

    def test_gone(self):
        self.assertIn("does not exist", self.doctor("2147483647", status=1)["process"][1])


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
