# SPDX-License-Identifier: Apache-2.0
"""`memprof attach --python`: what Python 3.14 and 3.15 offer, offered by an older one (remote_python.py).

Real ones of these versions are not on every machine: `./dev test-pythons` has them.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile

import attaching
import e2e

V3_14, V3_15, V3_16 = "0x030e0af0", "0x030f02f0", "0x031000f0"


class AttachPython(attaching.Test):
    def start(self, version=V3_14, *way, before=(), **options):
        program = pathlib.Path(__file__).parent / "remote_python.py"
        return self.begin(*before, e2e.system_python(), program, options.pop("library", e2e.program("remote_python.so")), version, *way, **options)

    @staticmethod
    def folders(process):
        """What an attach to it has made, and not removed yet."""
        return [path for parent in ("/tmp", "/dev/shm", "/var/tmp") for path in pathlib.Path(parent).glob(f"memprof-attach-{process.pid}-*")]

    def test_start_and_stop(self):
        for version in ((V3_14,), (V3_15,), (V3_14, "free-threaded")):
            process = self.start(*version)
            for _ in range(3):
                self.assertRegex(self.attach(process, "--python", "-r", "64k"),
                                 rf"attached to {process.pid} \(python3[.\d]*\), whose main thread ran it for [\d.]+ ms; rate 64.0 KiB")
                self.assertIn("memprof is at work there already", self.attach(process, "--python", status=1))
                self.memprof("live", str(process.pid), "-n", "1", "--interval", "0.3")
                self.assertRegex(self.attach(process, "--stop", "--python"), "stopped in .*, whose main thread ran it for")
                self.assertIn("memprof is not at work there", self.attach(process, "--stop", "--python", status=1))
            self.assertEqual(self.folders(process), [])
            self.check_end(process)

    def test_both_ways_in_turn(self):
        process = self.start()
        for first, second in (([], ["--python"]), (["--python"], [])):
            self.attach(process, *first)
            self.attach(process, "--stop", *second)
        self.check_end(process)

    def test_what_is_seen(self):
        process = self.start()
        out = self.folder / "x.pb.gz"
        self.attach(process, "--python", "-r", "16k", "--for", "1s", "-o", out)
        rows = self.report(out)["rows"]
        self.assertEqual(rows[0]["name"], "grow")
        self.assertIn("memprof is not at work there", self.attach(process, "--stop", "--python", status=1))
        self.check_end(process)

    def test_settings_are_kept_to(self):
        process = self.start()
        self.attach(process, "--python", "--mmap", "--budget", "1%")
        self.attach(process, "--stop", "--python")
        self.assertIn("keeps the budget that it had", self.attach(process, "--python", "--budget", "2%", status=1))
        self.attach(process, "--python", "--mmap")
        self.check_end(process)

    def test_what_is_refused(self):
        for arguments, why in (((V3_16,), "has Python 3.16, which this memprof does not know yet"),
                               (("0x030d00f0",), "has a Python before 3.14, which runs no script for others"),
                               ((V3_14, "disabled"), "was started with -X disable-remote-debug"),
                               ((V3_15, "altered"), "has a Python that is not as its version says"),
                               ((V3_14, "occupied"), "has a script of another program before it")):
            process = self.start(*arguments)
            said = self.attach(process, "--python", status=1)
            self.assertRegex(said, rf"^memprof: attach: --python: process {process.pid} \(python3[.\d]*\) {why}.*\n$")
            self.check_end(process)
        program = self.begin(e2e.program("attached"), "nanosleep")
        self.assertIn("is no CPython", self.attach(program, "--python", status=1))
        self.assertIn("memprof is not loaded there", self.attach(program, "--stop", "--python", status=1))
        self.check_end(program)
        self.assertIn("does not exist", self.memprof("attach", "4000000", "--python", status=1).stderr.decode())
        self.assertIn("exclude each other", self.memprof("attach", "1", "--python", "--no-python", status=2).stderr.decode())

    def test_a_main_thread_that_waits(self):
        process = self.start(V3_14, "waits")
        self.assertIn("ran no Python code for 10 s", self.attach(process, "--python", status=1))
        self.assertEqual(self.folders(process), [])
        self.attach(process)  # nothing is left that would be in the way
        self.check_end(process)

    def test_a_process_that_ends_meanwhile(self):
        process = self.start(V3_14, "waits")
        command = self.begin_attach(process)
        process.kill()
        self.assertIn(b"has ended", command.communicate(timeout=e2e.WATCHDOG_S)[1])
        self.assertEqual(command.returncode, 1)

    def begin_attach(self, process):
        command = subprocess.Popen([str(e2e.COMMAND), "attach", str(process.pid), "--python"], stderr=subprocess.PIPE)
        self.addCleanup(command.stderr.close)
        while not self.folders(process):
            self.assertIsNone(command.poll())
        return command

    def test_a_process_that_sees_other_files(self):
        """The library's file goes into the folder of the script, for as long as it takes to load it."""
        hide, folder = self.other_files()
        outer = self.start(before=hide, library=shutil.copy2(e2e.program("remote_python.so"), folder))
        pid = self.only_child(outer)
        for _ in range(3):
            self.memprof("attach", pid, "--python")
            self.assertIn("libmemprof.so (deleted)", pathlib.Path(f"/proc/{pid}/maps").read_text())
            self.memprof("live", pid, "-n", "1", "--interval", "0.1")
            self.memprof("attach", "--stop", pid, "--python")
        self.check_end(outer)

    def test_a_process_that_is_traced(self):
        """ptrace has no second tracer; Python asks nobody."""
        process = self.start()
        seize = f"import ctypes, sys; assert ctypes.CDLL(None).ptrace(0x4206, {process.pid}, None, None) == 0; print('ready', flush=True); sys.stdin.read(); print('ok')"
        tracer = self.begin(e2e.system_python(), "-c", seize)
        self.assertRegex(self.attach(process, status=1), r"is traced by process .*: end that one first; or --python, with which Python 3.14")
        self.attach(process, "--python")
        self.attach(process, "--stop", "--python")
        self.check_end(tracer)
        self.check_end(process)

    def test_a_process_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can")
        folder = tempfile.mkdtemp(dir="/tmp")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        program = shutil.copy2(pathlib.Path(__file__).parent / "remote_python.py", folder)
        library = shutil.copy2(e2e.program("remote_python.so"), folder)
        process = self.begin(e2e.need("setpriv"), "--reuid", "65534", "--regid", "65534", "--clear-groups", "/usr/bin/python3", program, library, V3_14)
        self.attach(process, "--python")
        self.attach(process, "--stop", "--python")
        self.assertEqual(self.folders(process), [])
        self.check_end(process)


if __name__ == "__main__":
    e2e.main()
