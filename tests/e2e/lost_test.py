# SPDX-License-Identifier: Apache-2.0
"""Nothing is lost in silence: each process of a run has a profile, or it is said why not."""
import collections
import os
import resource
import signal
import subprocess

import e2e

NEW_IDS = ["unshare", "--fork", "--pid", "--kill-child", "--mount-proc"]
BLOCK = "storm_block"


class Lost(e2e.Test):
    def start(self, *arguments, environment=None, before=(), **options):
        return e2e.run([*before, e2e.COMMAND, "run", *arguments], environment, cwd=self.folder, **options)

    def new_ids(self):
        """Words in front of a command that give it process ids of its own; none where that is not allowed."""
        return NEW_IDS if e2e.run([*NEW_IDS, "true"]).returncode == 0 else []

    def totals(self, name):
        return self.report(self.folder / name)["totals"]

    # ---- processes that execute, are killed, share an id

    def test_storm(self):
        truth = self.folder / "truth"
        truth.write_text("")
        done = self.start("-r", "0", "--merge", "-o", "x.pb.gz", "--", e2e.program("storm"), "drive", 300, truth,
                          before=self.new_ids(), timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        # The driver, those that say their truth, and one for each grandchild that only waits for it: every sixth.
        self.assertIn(b"memprof: wrote x.pb.gz, 301 processes (50 more processes had no sample); next: ", done.stderr)
        expected = collections.Counter()
        for line in truth.read_text().splitlines():
            pid, number = line.split()
            expected[pid, 1000 + int(number)] += 1
        self.assertEqual(len(expected), 300)
        profile = self.named(self.folder / "x.pb.gz")
        found = collections.Counter()
        for frames, values, labels in profile.samples:
            if frames and frames[0].name == BLOCK and values["inuse_objects"]:
                # And what tells it apart: `live NUMBER`.
                self.assertRegex(labels["process"], r"^storm \d+( #\d+)?(: .*)?$")
                found[labels["process"].split()[1].rstrip(":"), labels["bytes"]] += values["inuse_objects"]
        self.assertEqual(found, expected)
        # What a process was before it executed another program is said.
        self.assertRegex(done.stderr.decode(), r"memprof: storm \(pid \d+\) executed another program: its own \S+ \S+ "
                                               r"allocated until then are in no profile\n")
        if b"again" in done.stdout:
            self.assertLess(len({pid for pid, _ in expected}), 100, "no process id was used twice")

    def test_a_storm_at_the_default_rate(self):
        """Among many that are too small for a sample, who has one has a profile: none is lost, none unreadable."""
        large = f"{e2e.system_python()} -c 'import os; kept = [bytearray(10_000) for _ in range(2000)]; os.kill(os.getpid(), %d)'"
        script = "for n in 1 2 3 4 5; do for m in 1 2 3 4 5; do $0; sh -c \"$1 kill\"; sh -c \"exec $0\"; done; " + \
                 large % 0 + "; " + large % signal.SIGKILL + "; done 2> /dev/null; exit 0"
        done = self.start("-o", "x.pb.gz", "--", "sh", "-c", script, e2e.need("true"), e2e.program("ending"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("warning", done.stderr.decode())
        programs = collections.Counter(self.report(path)["program"] for path in self.folder.glob("x*.pb.gz"))
        self.assertEqual(programs[os.path.basename(os.path.realpath(e2e.system_python()))], 10, done.stderr)

    def test_the_last_program_of_a_process_is_its_result(self):
        """The collector looks while the process executes one program after the other."""
        for n in range(20):
            done = self.start("-r", "0", "--force", "-o", "x.pb.gz", "--", e2e.program("storm"), "exec", n,
                              e2e.program("ending"), "return")
            self.assertEqual(done.returncode, 7, done.stderr)
            rows = self.named(self.folder / "x.pb.gz").by_leaf()
            self.assertEqual(rows["before_the_end"]["inuse_space"], 9001, done.stderr)
            self.assertNotIn(BLOCK, rows)
            self.assertRegex(done.stderr.decode(), r"storm \(pid |\d programs executed another one: their own ")

    def test_outside_of_a_run_executing_leaves_one_file_and_an_id_is_no_name(self):
        arenas = self.folder / "arenas"
        arenas.mkdir()
        environment = e2e.preloaded(self.folder / "%p.pb", 0, MEMPROF_ARENA_DIR=str(arenas))
        command = [e2e.program("storm"), "exec", "50", e2e.program("ending"), "kill"]
        self.assertEqual(e2e.run(command, environment).returncode, -signal.SIGKILL)
        (left,) = arenas.iterdir()
        self.assertEqual(self.report(left)["totals"]["inuse_space"]["value"], 9001)
        left.unlink()
        ids = self.new_ids()
        if not ids:
            return
        # Two processes of one id, both killed.
        script = (f"import os, subprocess, time\nfor n in range(2):\n    time.sleep(0.02)\n"
                  "    try: open('/proc/sys/kernel/ns_last_pid', 'w').write('1000')\n"
                  "    except OSError: print('not allowed')\n"
                  f"    print(subprocess.Popen(['{e2e.program('ending')}', 'kill'], env={environment!r}).pid)\n"
                  "    os.wait()\n")
        done = self.check(e2e.run([*ids, e2e.system_python(), "-c", script]))
        self.assertEqual(len(list(arenas.iterdir())), 2, done.stdout)

    def test_what_killed_processes_left_is_told_apart(self):
        arenas = self.folder / "arenas"
        arenas.mkdir()
        environment = e2e.preloaded(self.folder / "%p.pb", 0, MEMPROF_ARENA_DIR=str(arenas))
        # A second argument is the first that differs; the program looks at the first one alone.
        for more in ("--queue=mail", "--queue=bills"):
            self.assertEqual(e2e.run([e2e.program("ending"), "kill", more], environment).returncode, -signal.SIGKILL)
        listed = e2e.run([e2e.COMMAND, "list"], e2e.plain_environment(MEMPROF_ARENA_DIR=str(arenas)))
        for more in ("--queue=mail", "--queue=bills"):
            self.assertRegex(listed.stdout.decode(), rf"(?m)^ *\d+ +ending {more} +dead ")

    def test_another_user_in_the_same_process(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        self.folder.chmod(0o755)
        arenas = self.folder / "arenas"
        arenas.mkdir()
        drop = [e2e.need("setpriv"), "--reuid", str(self.somebody_else()), "--clear-groups", e2e.program("ending"), "return"]
        for n in range(5):
            done = self.start("-r", "0", "--force", "-o", "x.pb.gz", "--", *drop,
                              environment=e2e.plain_environment(MEMPROF_ARENA_DIR=str(arenas)))
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertEqual(self.named(self.folder / "x.pb.gz").by_leaf()["before_the_end"]["inuse_space"], 9001)
            self.assertIn("setpriv (pid ", done.stderr.decode())
        # The folder is closed to the other user.
        arenas.chmod(0o700)
        done = self.start("-r", "0", "--force", "-o", "x.pb.gz", "--", *drop,
                          environment=e2e.plain_environment(MEMPROF_ARENA_DIR=str(arenas)))
        self.assertRegex(done.stderr.decode(), r"memprof: the profile was not written to .*: permission denied\n"
                                               r"memprof: setpriv \(pid \d+\) executed another program: .*\n"
                                               r"memprof: nothing was recorded: ending \(pid \d+\) was started .* as another user")

    # ---- processes whose malloc is their own

    def own_malloc(self, seconds):
        """Its free is too short for a hook, so that its malloc has none."""
        source = self.folder / "om.c"
        source.write_text("#include <stddef.h>\n#include <string.h>\n#include <unistd.h>\n"
                          "static char pool[1 << 22] __attribute__((aligned(16)));\nstatic size_t used;\n"
                          "static __attribute__((noinline)) void* take(size_t size) {\n"
                          "  void* block = pool + used;\n  used += (size + 15) & ~(size_t)15;\n  return block;\n}\n"
                          "void* malloc(size_t size) { return take(size); }\nvoid free(void* block) { (void)block; }\n"
                          "void* calloc(size_t count, size_t size) { return take(count * size); }\n"
                          "void* realloc(void* block, size_t size) { return block ? memmove(take(size), block, size) : take(size); }\n"
                          f"int main(void) {{ char* volatile kept = malloc(2000000); kept[0] = 1; sleep({seconds}); return 3; }}\n")
        self.check(e2e.run([os.environ["MEMPROF_E2E_CC"], "-O1", "-fno-builtin", "-fno-optimize-sibling-calls", source,
                            "-o", self.folder / "om"]))

    def test_a_malloc_of_its_own_behind_a_wrapper_is_named(self):
        self.own_malloc(seconds=2)
        contains = r"contains an allocator, whose malloc is called instead of a preloaded one: .*; build it without that allocator"
        said = self.start("-o", "x.pb.gz", "--", "./om").stderr.decode()
        self.assertRegex(said, rf"memprof: nothing was recorded: ./om {contains}")
        said = self.start("-o", "x.pb.gz", "--", "sh", "-c", "exec ./om").stderr.decode()
        self.assertRegex(said, rf"memprof: nothing was recorded: om \(pid \d+\) {contains}")
        self.assertFalse((self.folder / "x.pb.gz").exists())
        # Of the children of a wrapper that has a profile itself.
        python = f"{e2e.system_python()} -c 'kept = [bytearray(10_000) for _ in range(2000)]'"
        self.start("--merge", "-o", "x.pb.gz", "--", "sh", "-c", f"{python}& exec ./om")
        text = self.check(e2e.run([e2e.COMMAND, "report", "--details", self.folder / "x.pb.gz"])).stdout.decode()
        self.assertRegex(text, rf"1 process of the run ran without memprof, and is missing below:\n  om \(pid \d+\) {contains}")

    def test_a_program_too_short_to_be_looked_at_is_named(self):
        self.own_malloc(seconds=0)
        said = self.start("-r", "1T", "-o", "x.pb.gz", "--", "sh", "-c", "exec ./om").stderr.decode()
        self.assertRegex(said, r"memprof: nothing was recorded: om \(pid \d+\) contains an allocator")

    def test_a_child_whose_malloc_is_its_own_is_named(self):
        self.own_malloc(seconds=1)
        said = self.start("-r", "1T", "-o", "x.pb.gz", "--", "sh", "-c", "./om; exit 0").stderr.decode()
        self.assertRegex(said, r"memprof: warning: ran without memprof: om \(pid \d+\) contains an allocator")
        self.assertIn(f"no sample: {os.path.basename(os.path.realpath(e2e.need('sh')))} took less", said)

    def test_processes_without_a_sample_are_counted(self):
        """By fork alone, by fork and exec (twice), and as Python's subprocess starts them."""
        true = e2e.need("true")
        program = (f"import os, subprocess\n"
                   f"for n in range(40): subprocess.run(['{true}'], check=True)\n"
                   f"for n in range(30):\n"
                   f"  if os.fork() == 0: os._exit(0)\n"
                   f"for n in range(20):\n"
                   f"  if os.fork() == 0: os.execv('{e2e.need('env')}', ['env', '{true}'])\n"
                   f"while True:\n"
                   f"  try: os.wait()\n"
                   f"  except ChildProcessError: break\n")
        for options in ([], ["--merge"]):
            done = self.start("-r", "1T", "--force", *options, "-o", "x.pb.gz", "--", e2e.system_python(), "-c", program,
                              before=self.new_ids())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(" (90 more processes had no sample); next: ", done.stderr.decode())
            self.assertEqual(self.report(self.folder / "x.pb.gz")["unsampled_processes"], 90)
        text = self.check(e2e.run([e2e.COMMAND, "report", "--details", self.folder / "x.pb.gz"])).stdout.decode()
        self.assertIn("90 more processes of the run had no sample: each allocated too little for the rate.\n", text)
        # With a sample of each there is none.
        allocates = f"{e2e.program('ending')} return"
        done = self.start("-r", "0", "--force", "--merge", "-o", "x.pb.gz", "--", "sh", "-c", f"{allocates}; {allocates}; exit 0")
        self.assertIn("memprof: wrote x.pb.gz, 3 processes; next: ", done.stderr.decode())

    def test_each_process_is_in_one_sentence(self):
        """What went on without memprof is not also one without a sample."""
        self.static_sleeper()
        done = self.start("-r", "1T", "-o", "x.pb.gz", "--", "sh", "-c",
                          f"./sleeper & {e2e.need('sleep')} 1 & wait; exit 0")
        said = done.stderr.decode()
        self.assertRegex(said, r"memprof: warning: ran without memprof: sleeper \(pid \d+\) is statically linked")
        self.assertIn("memprof: wrote x.pb.gz (1 more process had no sample); next: ", said)

    def test_a_merged_profile_of_one_process(self):
        said = self.start("-r", "1T", "--merge", "-o", "x.pb.gz", "--", "sh", "-c", "/bin/true; exit 0").stderr.decode()
        self.assertRegex(said, r"^memprof: no sample: \S+ took less than .*\nmemprof: wrote x.pb.gz, 1 process \(1 more process had no sample\); next: ")

    # ---- processes without memprof

    def static_sleeper(self):
        source = self.folder / "sleeper.c"
        source.write_text("#include <unistd.h>\nint main(void) { sleep(5); return 3; }\n")
        self.check(e2e.run([os.environ["MEMPROF_E2E_CC"], "-static", source, "-o", self.folder / "sleeper"]))

    def test_a_wrapper_is_not_the_result(self):
        self.static_sleeper()
        sleep = e2e.need("sleep")
        done = self.start("-r", "0", "-o", "x.pb.gz", "--", "sh", "-c", f"env -i {sleep} 5 & ./sleeper & wait; exit 0")
        lines = [line for line in done.stderr.decode().splitlines() if "executed another one" not in line]
        self.assertEqual(lines[0], "memprof: warning: 2 processes ran without memprof, among them")
        self.assertRegex(lines[1], r"^memprof:   sleep \(pid \d+\) was started without LD_PRELOAD in its environment")
        self.assertRegex(lines[2], r"^memprof:   sleeper \(pid \d+\) is statically linked")
        report = self.report(self.folder / "x.pb.gz")
        self.assertEqual(report["unseen_processes"], 2)
        text = self.check(e2e.run([e2e.COMMAND, "report", "--details", self.folder / "x.pb.gz"])).stdout.decode()
        self.assertIn("2 processes of the run ran without memprof, and are missing below:\n", text)
        self.assertIn("\n  sleeper (pid ", text)
        self.assertNotIn("very allocation", text)

    def test_in_a_namespace_of_its_own_each_is_told_once(self):
        """By the looks, which know it by another id than it knows itself."""
        if not self.new_ids():
            self.skipTest("no namespace may be made here")
        self.static_sleeper()
        done = self.start("-r", "0", "-o", "x.pb.gz", "--", "unshare", "--fork", "--pid", "--kill-child", "sh", "-c", "./sleeper; exit 0")
        self.assertRegex(done.stderr.decode(), r"memprof: warning: ran without memprof: sleeper \(pid \d+\) is statically linked")
        self.assertEqual(self.report(self.folder / "x.pb.gz")["unseen_processes"], 1)

    def test_a_process_that_goes_on_without_memprof_has_no_profile(self):
        sleep = e2e.need("sleep")
        done = self.start("-r", "0", "-o", "x.pb.gz", "--", "env", "-i", sleep, "3")
        self.assertRegex(done.stderr.decode(), r"memprof: nothing was recorded: sleep \(pid \d+\) was started without")
        self.assertFalse((self.folder / "x.pb.gz").exists())
        done = self.start("-r", "0", "--merge", "-o", "x.pb.gz", "--", "sh", "-c",
                          f"{e2e.program('ending')} return; env -i {sleep} 3; exit 0")
        self.assertRegex(done.stderr.decode(), r"memprof: warning: ran without memprof: sleep \(pid \d+\) was started")
        self.assertEqual(self.report(self.folder / "x.pb.gz")["unseen_processes"], 1)
        self.assertEqual({labels["process"].split()[0] for _, _, labels in e2e.Profile(self.folder / "x.pb.gz").samples},
                         {os.path.basename(os.path.realpath(e2e.need("sh"))), "ending"})

    def test_processes_with_memprof_are_not_among_them(self):
        """Also those without a sample, and those of which another program is a child."""
        done = self.start("-r", "1T", "-o", "x.pb.gz", "--", "sh", "-c", "sleep 1 & sh -c 'sleep 1; true'; wait")
        self.assertNotIn("without memprof", done.stderr.decode())

    # ---- files of others

    def test_a_file_that_was_put_into_the_folder_is_no_process_of_the_run(self):
        arenas = self.folder / "arenas"
        arenas.mkdir()
        environment = e2e.preloaded(self.folder / "%p.pb", 0, MEMPROF_ARENA_DIR=str(arenas))
        e2e.run([e2e.program("ending"), "kill"], environment)
        (foreign,) = arenas.iterdir()
        script = (f'cp {foreign} "$MEMPROF_ARENA_DIR/memprof-77777-1.arena"; ln -s {foreign} '
                  '"$MEMPROF_ARENA_DIR/memprof-77778-1-2-3.arena"; mkfifo "$MEMPROF_ARENA_DIR/memprof-77779-1-2.arena"')
        done = self.start("-r", "0", "--merge", "-o", "x.pb.gz", "--", "sh", "-c", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("memprof: warning: 3 files in the run's folder, made by processes outside the run: ignored\n", done.stderr.decode())
        self.assertNotIn("ending", {labels["process"].split()[0] for _, _, labels in e2e.Profile(self.folder / "x.pb.gz").samples})
        self.assertTrue(foreign.exists())

    # ---- limits

    def limited(self, limit, value, *command):
        return self.start("-r", "0", "--force", "-o", "x.pb.gz", "--", *command,
                          preexec_fn=lambda: resource.setrlimit(limit, (value, value)))

    def test_small_stacks(self):
        """ulimit -s, which the command is under, too: debug information is read on a stack of its own."""
        for kib in (96, 128, 256):
            done = self.limited(resource.RLIMIT_STACK, kib << 10, e2e.program("family"))
            self.check(done, 0, stderr=None)
            self.assertIn(b"wrote x.pb.gz", done.stderr)
            self.assertIn("site_calloc", e2e.Profile(self.folder / "x.pb.gz").by_leaf())
            shown = e2e.run([e2e.COMMAND, "report", "--details", "--metric", "live", self.folder / "x.pb.gz"],
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (kib << 10, kib << 10)))
            self.assertIn(b"site_calloc", self.check(shown).stdout)

    def test_little_address_space_is_named(self):
        for kib in (15_000, 20_000, 25_000, 30_000, 40_000, 60_000):
            done = self.limited(resource.RLIMIT_AS, kib << 10, "true")
            said = done.stderr.decode()
            with self.subTest(kib=kib, said=said):
                self.assertIn(done.returncode, (0, 2, 127))
                self.assertNotIn("unexpected", said)
                self.assertTrue("wrote x.pb.gz" in said or "ulimit -v" in said or "shared librar" in said)

    # ---- signals

    def test_a_signal_that_the_program_takes_back_is_said(self):
        script = ("import signal, time\nsignal.signal(signal.SIGUSR2, signal.SIG_DFL)\n"
                  "kept = [bytearray(1000) for _ in range(1000)]\n")
        environment = e2e.preloaded(self.folder / "out.pb", 0, MEMPROF_DUMP_SIGNAL="USR2")
        done = e2e.run([e2e.system_python(), "-c", script], environment)
        self.check(done, 0, stderr=None)
        self.assertEqual(done.stderr.decode(),
                         "memprof: MEMPROF_DUMP_SIGNAL=USR2: the program has given this signal back to the system: it ends "
                         "this process; choose one that the program leaves alone, like RTMIN+3, or use `memprof live PID -o FILE`, "
                         "which needs none\n")
        # And while it runs, before the signal ends it: at one of its looks, of which the first may be before the script begins.
        script += ("import os\nend = time.monotonic() + 60\nwhile os.fstat(2).st_size == 0 and time.monotonic() < end:\n"
                   "    time.sleep(0.05)\n    kept.append(bytearray(100000))\nos.kill(os.getpid(), 9)\n")
        with open(self.folder / "said", "w+b") as said:
            self.assertEqual(subprocess.run([e2e.system_python(), "-c", script], env=environment, stderr=said, check=False).returncode,
                             -signal.SIGKILL)
            said.seek(0)
            self.assertEqual(said.read().count(b"MEMPROF_DUMP_SIGNAL=USR2"), 1)


if __name__ == "__main__":
    e2e.main()
