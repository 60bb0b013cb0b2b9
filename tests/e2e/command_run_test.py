# SPDX-License-Identifier: Apache-2.0
"""`memprof run` as a user meets it: statuses, streams, the last line, and what cannot be profiled."""
import fcntl
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import termios

import e2e


class Run(e2e.Test):
    def start(self, *arguments, environment=None, **options):
        return e2e.run([e2e.COMMAND, "run", *arguments], environment, cwd=self.folder, **options)

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def check_line(self, done, status, *parts):
        """One line on standard error that has all the parts, and the status."""
        said = done.stderr.decode()
        self.assertEqual(done.returncode, status, said)
        self.assertTrue(said.startswith("memprof: ") and said.endswith("\n"), said)
        self.assertEqual(said.count("\n"), 1, said)
        for part in parts:
            self.assertIn(part, said)

    # ---- what the program notices

    def test_exit_statuses(self):
        for status in (0, 1, 3, 126, 127, 255):
            with self.subTest(status):
                done = self.start("-r", "0", "-o", f"{status}.pb.gz", "--", "sh", "-c", f"exit {status}")
                self.check_line(done, status, f"wrote {status}.pb.gz")

    def test_signals(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, signal.SIGSEGV):
            with self.subTest(number):
                done = self.start("-r", "0", "-o", f"{int(number)}.pb.gz", "--", "sh", "-c", f"kill -{int(number)} $$")
                self.check_line(done, 128 + number, f"wrote {int(number)}.pb.gz")
                self.assertGreater(self.report(self.folder / f"{int(number)}.pb.gz")["samples"], 10)

    def test_streams_are_the_programs(self):
        data = os.urandom(300_000)
        done = self.start("-r", "0", "-o", "x.pb.gz", "--", "cat", input=data)
        self.assertEqual((done.returncode, done.stdout), (0, data))
        self.check_line(done, 0, "wrote x.pb.gz")
        done = self.start("-r", "0", "-o", "y.pb.gz", "--", "sh", "-c", "echo to stderr >&2; echo to stdout")
        self.assertEqual(done.stdout, b"to stdout\n")
        self.assertTrue(done.stderr.startswith(b"to stderr\nmemprof: wrote "))

    def test_arguments_are_the_programs(self):
        words = ["-r", "--force", "-o", "a b", "", "%p", "*", "--", "'"]
        done = self.start("-r", "0", "-o", "x.pb.gz", "printf", "[%s]", *words)
        self.assertEqual(done.stdout.decode(), "".join(f"[{word}]" for word in words))

    def test_python_scripts_and_modules(self):
        (self.folder / "app.py").write_text("import sys; print(sys.argv[1:]); kept = bytearray(10**6); sys.exit(4)")
        done = self.start("-r", "0", "-o", "app.pb.gz", "app.py", "-m", "x", environment=e2e.plain_environment())
        self.assertEqual((done.returncode, done.stdout), (4, b"['-m', 'x']\n"), done.stderr)
        self.assertGreater(self.report(self.folder / "app.pb.gz")["totals"]["alloc_space"]["value"], 10**6)
        done = self.start("-r", "0", "-o", "module.pb.gz", "-m", "app", environment=e2e.plain_environment(MEMPROF_PYTHON_PROGRAM=e2e.need("python3")))
        self.assertEqual((done.returncode, done.stdout), (4, b"[]\n"), done.stderr)
        for program, status in (("/nowhere/python", 127), (str(self.folder / "app.py"), 126)):
            done = self.start("app.py", environment=e2e.plain_environment(MEMPROF_PYTHON_PROGRAM=program))
            self.check_line(done, status, "run app.py", program, "MEMPROF_PYTHON_PROGRAM")

    def test_descriptors_are_the_programs(self):
        alone = e2e.run(["ls", "/proc/self/fd"]).stdout
        self.assertEqual(self.start("-o", "x.pb.gz", "--", "ls", "/proc/self/fd").stdout, alone)

    def test_no_follow(self):
        """Children are not profiled, but the program that is executed is."""
        done = self.start("-r", "0", "-o", "%n.pb.gz", "--no-follow", "--", "sh", "-c",
                          'sort /dev/null; exec "$0" return', e2e.program("ending"))
        self.assertRegex(done.stderr.decode(), r"^memprof: \S+ \(pid \d+\) executed another program: its own .* are in no "
                                               r"profile\nmemprof: wrote sh.pb.gz; .*\n$")
        self.assertEqual((done.returncode, self.names()), (7, ["sh.pb.gz"]))
        self.assertEqual(self.named(self.folder / "sh.pb.gz").by_leaf()["before_the_end"]["inuse_space"], 9001)

    def test_children_have_their_profiles(self):
        """Executed and forked, ended in any way; the large ones are named, the path is the program's."""
        done = self.start("-r", "0", "--keep-all", "-o", "x.pb.gz", "--", "sh", "-c",
                          '"$0" return; sh -c "kill -9 \\$\\$" 2> /dev/null; exec "$0" quick_exit', e2e.program("ending"))
        self.assertEqual(done.returncode, 7, done.stderr)
        former, *lines = done.stderr.decode().splitlines()
        self.assertRegex(former, r"^memprof: \S+ \(pid \d+\) executed another program: its own .* are in no profile$")
        self.assertEqual(lines[0], "memprof: wrote 3 profiles:")
        self.assertRegex(lines[4], r"^memprof: next: memprof report x(\.\d+)?\.pb\.gz$")
        self.assertEqual(len(lines), 5)
        names = self.names()
        self.assertEqual(len(names), 3)
        self.assertIn("x.pb.gz", names)
        programs = sorted(self.report(self.folder / name)["program"] for name in names)
        self.assertEqual(programs, ["dash" if e2e.need("sh").endswith("dash") else programs[0], "ending", "ending"])
        self.assertEqual(self.named(self.folder / "x.pb.gz").by_leaf()["before_the_end"]["inuse_space"], 9001)

    def test_merge(self):
        done = self.start("-r", "0", "-o", "x.pb.gz", "--merge", "--", "sh", "-c",
                          '"$0" return; "$0" quick_exit; true', e2e.program("ending"))
        self.check_line(done, 0, "wrote x.pb.gz, 3 processes", "--by process")
        self.assertEqual(self.names(), ["x.pb.gz"])
        shown = self.memprof("report", "--by", "process", "--json", str(self.folder / "x.pb.gz"))
        rows = json.loads(shown.stdout)["rows"]
        self.assertEqual(sorted(row["name"].split()[0] for row in rows)[1:], ["ending", "ending"])
        self.check_line(self.start("--merge", "--no-follow", "true"), 2, "--merge and --no-follow")

    def test_fork_children(self):
        """A preforking server: each has what it allocated itself."""
        script = ("import os, signal, time\nmine = bytearray(3_000_000)\nfor n in (1, 2, 3):\n"
                  "    if os.fork() == 0:\n        child = [bytes(1000) for _ in range(n * 10_000)]\n"
                  "        os.kill(os.getpid(), signal.SIGKILL)\n"
                  "for _ in range(3): os.wait()\n")
        done = self.start("-r", "64k", "-o", "%n-%p.pb.gz", "--", e2e.system_python(), "-c", script)
        self.check(done, 0, stderr=None)
        totals = sorted(self.report(self.folder / name)["totals"]["inuse_space"]["value"] for name in self.names())
        self.assertEqual(len(totals), 4)
        # The parent has its array and the interpreter; a child what it made (1,033 bytes an object), in 64 KiB
        # samples: 160, 320 and 480 of them; odds against 7 standard errors: 1 to 10^11.
        for total, n in zip((t for t in totals if t > 8_000_000), (1, 2, 3)):
            truth = n * 10_330_000
            self.assertAlmostEqual(total, truth, delta=7 * (truth * 65536) ** 0.5 + 500_000)

    def test_a_wrapper_without_samples_gives_its_path_to_what_it_runs(self):
        # Memory that nobody touches. A shell takes some 20 KB: odds of a sample of it 1 to 6,000; of none of Python, 1 to 10^6.
        done = self.start("-r", "128m", "-o", "x.pb.gz", "--", "sh", "-c",
                          f"{e2e.system_python()} -c 'a = bytes(2_000_000_000)'; true")
        self.check_line(done, 0, "wrote x.pb.gz")
        self.assertGreater(self.report(self.folder / "x.pb.gz")["totals"]["alloc_space"]["value"], 1_000_000_000)

    def test_a_process_that_outlives_the_run(self):
        done = self.start("-r", "0", "-o", "x.pb.gz", "--", "sh", "-c",
                          "sleep 60 < /dev/null > /dev/null 2> /dev/null & echo $!; sleep 0.3")
        self.assertIn("still runs: its profile is as of now", done.stderr.decode())
        os.kill(int(done.stdout), signal.SIGKILL)

    def test_where_no_file_can_be_shared(self):
        """The profile is written at exit then."""
        for folder in ("", "/proc", str(self.folder / "none")):
            with self.subTest(folder):
                done = self.start("-r", "0", "--force", "-o", "x.pb.gz", "--", "sh", "-c", "true",
                                  environment=e2e.plain_environment(MEMPROF_ARENA_DIR=folder))
                self.check_line(done, 0, "wrote x.pb.gz")
        # A limit on the size of files is below that of a shared one.
        done = self.start("-r", "0", "--force", "-o", "x.pb.gz", "--", "sh", "-c", "true",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
        self.check_line(done, 0, "wrote x.pb.gz")

    def test_nothing_stays_in_the_folder_for_shared_files(self):
        before = sorted(os.listdir(e2e.ARENAS.name))
        for command in (["true"], ["sh", "-c", "kill -9 $$"], ["no-such"], ["sh", "-c", "sh -c 'exit 3'; exit 3"]):
            self.start("-r", "0", "--force", "-o", "x.pb.gz", "--", *command)
        self.assertEqual(sorted(os.listdir(e2e.ARENAS.name)), before)

    # ---- the file

    def test_last_line_names_the_file_and_the_next_command(self):
        done = self.start("-r", "0", "-o", "a file.pb.gz", "--", e2e.program("family"))
        line = done.stderr.decode().splitlines()[-1]
        found = re.fullmatch(r"memprof: wrote 'a file\.pb\.gz'; next: (memprof report 'a file\.pb\.gz')", line)
        self.assertIsNotNone(found, line)
        path = f"{e2e.COMMAND.parent}:{os.environ['PATH']}"
        shown = e2e.run(["sh", "-c", found.group(1)], e2e.plain_environment(PATH=path), cwd=self.folder)
        self.check(shown)
        self.assertIn(b"site_malloc_1g", shown.stdout)

    def test_default_name(self):
        self.check(self.start("--", "true"), 0, stderr=None)
        (name,) = self.names()
        self.assertRegex(name, r"^memprof\.true\.\d+\.pb\.gz$")

    def test_patterns(self):
        self.check(self.start("-o", "%n-%p-%t-%%.pb", "--", "true"), 0, stderr=None)
        (name,) = self.names()
        self.assertRegex(name, r"^true-\d+-\d+-%\.pb$")
        self.assertNotEqual((self.folder / name).read_bytes()[:2], b"\x1f\x8b")
        self.check_line(self.start("-o", "%q", "--", "true"), 2, "%q")

    def test_names_are_in_the_file(self):
        """Any viewer on any machine shows them; --raw leaves them out, and report finds them."""
        self.check(self.start("-r", "0", "-o", "named.pb.gz", "--", e2e.program("family")), 0, stderr=None)
        self.check(self.start("-r", "0", "-o", "raw.pb.gz", "--raw", "--", e2e.program("family")), 0, stderr=None)
        named = e2e.Profile(self.folder / "named.pb.gz")
        self.assertIn("site_calloc", named.by_leaf())
        mapping = named.mappings[1]
        self.assertEqual(os.path.basename(mapping["path"]), "family")
        self.assertTrue(mapping["start"] and mapping["limit"] and mapping["build_id"])
        raw = e2e.Profile(self.folder / "raw.pb.gz")
        self.assertEqual(raw.functions, {})
        self.assertIn("site_calloc", {row["name"] for row in self.report(self.folder / "raw.pb.gz")["rows"]})
        self.assertEqual(self.report(self.folder / "raw.pb.gz")["totals"],
                         self.report(self.folder / "named.pb.gz")["totals"])

    def test_existing_output(self):
        (self.folder / "x.pb.gz").write_text("mine")
        done = self.start("-o", "x.pb.gz", "--", "sh", "-c", "echo ran")
        self.check_line(done, 2, "x.pb.gz: file already exists", "--force")
        self.assertEqual(done.stdout, b"", "the program ran")
        self.assertEqual((self.folder / "x.pb.gz").read_text(), "mine")
        self.check_line(self.start("-r", "0", "--force", "-o", "x.pb.gz", "--", "sh", "-c", ":"), 0, "wrote x.pb.gz")
        e2e.Profile(self.folder / "x.pb.gz")

    def test_output_that_cannot_be_written(self):
        """Said before the program runs."""
        (self.folder / "file").write_text("")
        for output in ("no/such/x.pb.gz", "file/x.pb.gz", ".", "/proc/x.pb.gz"):
            with self.subTest(output):
                done = self.start("-o", output, "--", "sh", "-c", "echo ran")
                self.check_line(done, 2, output, "-o")
                self.assertEqual(done.stdout, b"")
        self.assertEqual(self.names(), ["file"])

    def test_full_disk(self):
        if os.getuid() == 0:
            full = self.folder / "full"
            full.mkdir()
            mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "none", full]
            if subprocess.run(mount, check=False, stderr=subprocess.DEVNULL).returncode == 0:
                try:
                    (full / "filler").write_bytes(b"x" * 8192)
                    self.check_line(self.start("-o", "full/x.pb.gz", "--", "true"), 2, "full/x.pb.gz", "no space left")
                    # Full when the program ended: what it wrote is kept.
                    (full / "filler").unlink()
                    done = self.start("-r", "0", "-o", "full/x.pb.gz", "--", "sh", "-c",
                                      f"head -c 8192 /dev/zero > full/filler; exec {e2e.program('family')} > /dev/null")
                    self.assertEqual(done.returncode, 2)
                    self.assertEqual([p.name for p in full.iterdir()], ["filler"])
                    kept = re.search(r"memprof report (\S+)", done.stderr.decode()).group(1)
                    self.memprof("report", kept)
                    shutil.rmtree(os.path.dirname(kept))
                finally:
                    subprocess.run(["umount", full], check=True)
                return
        done = self.start("-o", "x.pb.gz", "--", "true",
                          preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                                              resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))))
        self.check_line(done, 2, "x.pb.gz")
        self.assertEqual(self.names(), [])

    # ---- what cannot be run or profiled

    def test_programs_that_cannot_be_run(self):
        (self.folder / "plain").write_text("no program")
        (self.folder / "script").write_text("#!/no/such/interpreter\n")
        (self.folder / "script").chmod(0o755)
        (self.folder / "dir").mkdir()
        for program, status in (("no-such-program", 127), ("./no-such", 127), ("./plain", 126), ("./dir", 126),
                                ("./script", 127), ("", 127), ("./plain/x", 127)):
            with self.subTest(program):
                self.check_line(self.start("-o", "x.pb.gz", "--", program), status, program)
        self.assertNotIn("x.pb.gz", self.names())

    def test_wrong_options(self):
        for arguments, parts in ((["--force"], ("no program given",)), (["-r"], ("-r",)), (["-r", "5x", "true"], ("5x",)),
                                 (["-r", "-1", "true"], ("-1",)), (["--wrong", "true"], ("--wrong",)),
                                 (["-o"], ("-o",)), (["-o", "", "true"], ()), (["--"], ("no program given",))):
            with self.subTest(arguments):
                self.check_line(self.start(*arguments), 2, *parts)
        self.check_line(e2e.run([e2e.COMMAND, "profile"]), 2, "profile")
        self.check_line(e2e.run([e2e.COMMAND, "--wrong"]), 2, "--wrong")
        self.assertEqual(self.names(), [])

    def test_static_program(self):
        source = self.folder / "static.c"
        source.write_text("int main(void) { return 3; }\n")
        self.check(e2e.run([os.environ["MEMPROF_E2E_CC"], "-static", source, "-o", self.folder / "static"]))
        self.check_line(self.start("-o", "x.pb.gz", "--", "./static"), 3, "nothing was recorded", "./static",
                        "statically linked")
        self.assertFalse((self.folder / "x.pb.gz").exists())

    def test_program_with_an_allocator_of_its_own(self):
        """What doctor says of it, and not that the library was not loaded."""
        done = self.start("--no-inline-hooks", "-o", "x.pb.gz", "--", e2e.program("own_malloc"))
        self.assertRegex(done.stderr.decode(), r"memprof: nothing was recorded: \S+/own_malloc contains an allocator.*"
                                               r"; build it without that allocator, or .*\n$")

    def test_little_address_space(self):
        """ulimit -v, which the command is under, too."""
        for kib in (100_000, 300_000):
            done = self.start("-r", "64k", "--force", "-o", "x.pb.gz", "--", e2e.system_python(), "-c",
                              "x = [bytearray(100_000) for _ in range(50)]",
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (kib << 10, kib << 10)))
            self.check_line(done, 0, "wrote x.pb.gz")
            self.assertGreater(self.report(self.folder / "x.pb.gz")["totals"]["alloc_space"]["value"], 4_000_000)

    def test_set_user_id_program(self):
        if os.getuid() != 0:
            # Only root can make one that another user would gain by; the system's own must do.
            program, status = e2e.need("su"), None
            done = self.start("-o", "x.pb.gz", "--", program, "--version")
            self.assertIn("nothing was recorded", done.stderr.decode())
            return
        copy = self.folder / "setuid"
        shutil.copy(e2e.program("ending"), copy)
        copy.chmod(0o4755)
        self.folder.chmod(0o777)
        done = self.start("-r", "0", "-o", "x.pb.gz", "--", "./setuid", "return", user=self.somebody_else())
        # A file system that is mounted nosuid makes it an ordinary program.
        if os.statvfs(self.folder).f_flag & os.ST_NOSUID:
            self.check_line(done, 7, "wrote x.pb.gz")
        else:
            self.check_line(done, 7, "nothing was recorded", "./setuid", "set-uid")
            self.assertFalse((self.folder / "x.pb.gz").exists())

    def test_script(self):
        script = self.folder / "script"
        script.write_text(f"#!{e2e.system_python()}\nimport json\nprint(json.dumps([1] * 3))\n")
        script.chmod(0o755)
        done = self.start("-r", "0", "-o", "%n.pb.gz", "--", "./script")
        self.check_line(done, 0, "wrote script.pb.gz")
        self.assertEqual(done.stdout, b"[1, 1, 1]\n")
        self.assertGreater(self.report(self.folder / "script.pb.gz")["totals"]["alloc_space"]["value"], 100_000)

    def test_program_too_short_for_a_sample(self):
        done = self.start("-r", "1T", "-o", "x.pb.gz", "--", "true")
        lines = done.stderr.decode().splitlines()
        self.assertEqual(done.returncode, 0)
        self.assertRegex(lines[0], r"^memprof: no sample: .*-r 0")
        self.assertRegex(lines[1], r"^memprof: wrote x.pb.gz; next: ")
        self.assertEqual(self.report(self.folder / "x.pb.gz")["samples"], 0)

    def test_program_that_drops_the_preload(self):
        done = self.start("-r", "1T", "-o", "x.pb.gz", "--", "env", "-u", "LD_PRELOAD", "-u", "MEMPROF_PROFILE", "sh", "-c", "exit 4")
        self.check_line(done, 4, "nothing was recorded")

    # ---- signals to memprof

    def test_ctrl_c(self):
        """The terminal sends SIGINT to both; the program handles it, and its profile is written."""
        script = ("import signal, sys, time\ndef stop(*_): print('stopping'); sys.exit(9)\n"
                  "signal.signal(signal.SIGINT, stop)\nprint('ready', flush=True)\ntime.sleep(60)\n")
        # A real terminal: a signal that kill sends to the group is passed on, too, and would come twice.
        terminal, end = os.openpty()
        process = subprocess.Popen([e2e.COMMAND, "run", "-o", "x.pb.gz", "--", e2e.system_python(), "-c", script],
                                   cwd=self.folder, stdin=end, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, env=e2e.plain_environment(),
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(end)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        os.write(terminal, b"\x03")
        out, err = process.communicate(timeout=e2e.WATCHDOG_S)
        os.close(terminal)
        self.assertEqual((process.returncode, out), (9, b"stopping\n"), err)
        self.assertIn(b"wrote x.pb.gz", err)
        e2e.Profile(self.folder / "x.pb.gz")

    def test_sigterm_to_memprof_reaches_the_program(self):
        process = subprocess.Popen([e2e.COMMAND, "run", "-o", "x.pb.gz", "--", "sh", "-c",
                                    "trap 'exit 8' TERM; echo ready; while :; do sleep 0.05; done"],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=e2e.plain_environment())
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=e2e.WATCHDOG_S)
        self.assertEqual(process.returncode, 8, err)
        self.assertRegex(err, rb"wrote (x.pb.gz|\d+ profiles)")  # of which a shell and a sleep may have a sample

    def test_nothing_stays_in_the_folder_for_temporary_files(self):
        temporary = self.folder / "tmp dir"
        temporary.mkdir()
        for command in (["true"], ["sh", "-c", "kill -9 $$"], ["no-such"], ["sh", "-c", "exit 3"]):
            self.start("--force", "-o", "x.pb.gz", "--", *command, environment=e2e.plain_environment(TMPDIR=str(temporary)))
        self.assertEqual(list(temporary.iterdir()), [])

    def test_other_preloaded_libraries_stay(self):
        environment = e2e.plain_environment(LD_PRELOAD=e2e.allocator("jemalloc"))
        done = self.start("-r", "0", "-o", "x.pb.gz", "--no-follow", "--", "sh", "-c", "echo $LD_PRELOAD; cat /proc/self/maps; true",
                          environment=environment)
        self.assertIn(b"libjemalloc", done.stdout.split(b"\n")[0])
        self.check_line(done, 0, "wrote")


if __name__ == "__main__":
    e2e.main()
