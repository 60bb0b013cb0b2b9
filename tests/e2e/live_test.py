# SPDX-License-Identifier: Apache-2.0
"""`memprof live`, `list` and `clean` on real processes: one that runs, and what a killed one leaves. On a terminal:
live_terminal_test.py."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import e2e

# Holds 40 arrays of 1 MB, says so, and goes on with what it reads.
HOLDER = """
import sys
def hold():
    return [bytearray(1_000_000) for _ in range(40)]
held = hold()
print('ready', flush=True)
for line in sys.stdin:
    held += hold()
    print('more', flush=True)
"""


class Live(e2e.Test):
    def begin(self, rate="64k", program=None, **extra):
        environment = e2e.preloaded(self.folder / "x.%p.pb", rate, **extra)
        process = subprocess.Popen([program or e2e.system_python(), "-c", HOLDER], env=environment, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, cwd=self.folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def arenas(self):
        return sorted(name for name in os.listdir(e2e.ARENAS.name) if name.endswith(".arena"))

    def test_profile_as_of_now(self):
        process = self.begin()
        done = self.memprof("live", str(process.pid), "-o", "now.%n.%p.pb.gz", cwd=self.folder)
        path = self.folder / f"now.{os.path.basename(os.path.realpath(e2e.system_python()))}.{process.pid}.pb.gz"
        self.assertIn(f"wrote {path.name}", done.stderr.decode())
        totals = self.report(path)["totals"]["inuse_space"]
        # 40 MB and the interpreter's own; odds against an error of 7 standard deviations: 1 to 10^11.
        self.assertAlmostEqual(totals["value"], 41_500_000, delta=7 * (42e6 * 65536) ** 0.5 + 2_000_000)
        again = e2e.run([e2e.COMMAND, "live", str(process.pid), "-o", path])
        self.assertEqual(again.returncode, 2)
        self.assertIn(b"already exists", again.stderr)
        self.memprof("live", str(process.pid), "-o", str(path), "--force")
        process.stdin.write(b"\n")
        process.stdin.close()
        self.assertEqual(process.stdout.readline(), b"more\n")
        self.assertEqual(process.wait(e2e.WATCHDOG_S), 0)

    def test_view(self):
        # A name that no process of another test has.
        program = self.folder / f"python-{os.getpid()}"
        shutil.copy2(e2e.system_python(), program)
        process = self.begin(program=program)
        looks = subprocess.Popen([e2e.COMMAND, "live", str(process.pid), "--count", "2", "--interval", "1"],
                                 env=e2e.plain_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = looks.stdout.readline()
        self.assertIn(f"(pid {process.pid})".encode(), line)
        process.stdin.write(b"\n")
        process.stdin.flush()
        out, err = looks.communicate(timeout=e2e.WATCHDOG_S)
        self.assertEqual((looks.returncode, err), (0, b""))
        text = out.decode()
        self.assertIn("Resident: ", text)
        self.assertRegex(text, r"Since this view began, \d s ago: \+[34]\d\.\d MiB; allocates ")
        once = self.memprof("live", "--name", program.name, "-n", "1")
        self.assertIn(b"Live: ", once.stdout)

    def test_order_and_tree(self):
        process = self.begin()
        rows = self.memprof("live", str(process.pid), "--sort", "cumulative").stdout.decode().split("\n\n")[1].splitlines()
        self.assertIn("cumulative", rows[0])
        first = " ".join(rows[1:4])  # the list comprehension of `hold` is a function, or not
        self.assertTrue("<module>" in first and "hold" in first, rows)
        tree = self.memprof("live", str(process.pid), "--tree").stdout.decode()
        self.assertRegex(tree, r"<module> \(<string>\) → hold")
        for words, part in ((["--sort", "size"], b"is not one of"), (["--tree", "--sort", "live"], b"a tree is ordered"),
                            (["--tree", "-o", "x.pb"], b"are for the view")):
            done = e2e.run([e2e.COMMAND, "live", str(process.pid), *words])
            self.assertEqual(done.returncode, 2)
            self.assertIn(part, done.stderr)

    def test_the_process_runs_nothing_for_it(self):
        """It is stopped, and is looked at all the same; then it goes on as if nothing had been."""
        process = self.begin()
        process.send_signal(signal.SIGSTOP)
        before = open(f"/proc/{process.pid}/stat").read().split(")")[1].split()
        for _ in range(3):
            self.memprof("live", str(process.pid))
        after = open(f"/proc/{process.pid}/stat").read().split(")")[1].split()
        self.assertEqual(before[7:13], after[7:13])  # faults, and time
        process.send_signal(signal.SIGCONT)

    def test_what_a_killed_process_leaves(self):
        process = self.begin()
        process.kill()
        process.wait()
        (name,) = [name for name in self.arenas() if name.startswith(f"memprof-{process.pid}-")]
        path = os.path.join(e2e.ARENAS.name, name)
        listed = self.memprof("list").stdout.decode()
        self.assertRegex(listed, rf"{process.pid} +python3\S* +dead +\d\d\.\d MiB +\S+ KiB +(just now|[\d.]+ \S+ ago) +"
                                 rf"{re.escape(path)}")
        self.assertRegex(listed, r"\n\d+ running: .*; [1-9]\d* dead: .*iB\n")
        self.assertGreater(self.report(path)["totals"]["inuse_space"]["value"], 20_000_000)
        self.memprof("export", path, "-o", str(self.folder / "of_dead.pb.gz"))
        running = self.begin()
        cleaned = self.memprof("clean").stdout.decode()
        self.assertRegex(cleaned, r"^removed \d+ files? of dead processes, ")
        self.assertFalse(os.path.exists(path))
        self.memprof("live", str(running.pid))  # is still there

    def test_nothing_is_left_of_one_that_ends(self):
        process = self.begin()
        name = f"memprof-{process.pid}-"
        self.assertTrue(any(arena.startswith(name) for arena in self.arenas()))
        process.stdin.close()
        self.assertEqual(process.wait(e2e.WATCHDOG_S), 0)
        self.assertFalse(any(arena.startswith(name) for arena in self.arenas()))
        self.assertTrue((self.folder / f"x.{process.pid}.pb").exists())

    def test_no_descriptor_stays_open(self):
        alone = subprocess.run(["ls", "/proc/self/fd"], env=e2e.plain_environment(), stdout=subprocess.PIPE, check=True)
        with_us = e2e.run(["ls", "/proc/self/fd"], e2e.preloaded(self.folder / "x.pb", 0))
        self.assertEqual(alone.stdout, with_us.stdout)

    def test_private_memory_cannot_be_looked_at(self):
        process = self.begin(MEMPROF_ARENA_DIR="")
        done = e2e.run([e2e.COMMAND, "live", str(process.pid)])
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"has no memprof data", done.stderr)

    def test_wrong_processes(self):
        for words, part in ((["0"], b"not a process id"), (["x"], b"not a process id"), (["2147483647"], b"does not exist"),
                            ([str(os.getpid())], b"has no memprof data"), (["--name", "no such"], b"no such process"),
                            (["-n", "3"], b"give a process")):
            with self.subTest(words):
                done = e2e.run([e2e.COMMAND, "live", *words])
                self.assertEqual(done.returncode, 2)
                self.assertIn(part, done.stderr)
                self.assertEqual(done.stderr.count(b"\n"), 1)

    def test_somebody_elses_process(self):
        if os.getuid() != 0:
            self.skipTest("needs root, to be somebody else")
        process = self.begin()
        done = e2e.run([e2e.COMMAND, "live", str(process.pid)], user=self.somebody_else())
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr.decode(), r"is not yours|permission denied")

    def test_killed_at_any_moment(self):
        """What a killed process leaves can be read, whenever it was killed."""
        script = ("keep = {}\nn = 0\nwhile True:\n    n += 1\n    keep[n % 5000] = bytearray(n % 3000)\n"
                  "    if n == 5000: print('begun', flush=True)\n")
        for round_ in range(25):
            has_begun = round_ % 5 == 0  # else it may be killed while it starts, on a busy machine
            process = subprocess.Popen([e2e.system_python(), "-c", script], stdout=subprocess.PIPE,
                                       env=e2e.preloaded(self.folder / "x.%p.pb", 512, MEMPROF_ARENA_DIR=str(self.folder)))
            if has_begun:
                self.assertEqual(process.stdout.readline(), b"begun\n")
            time.sleep(0.02 + 0.007 * round_)
            process.kill()
            process.wait()
            process.stdout.close()
            arenas = list(self.folder.glob("*.arena"))
            self.assertIn(len(arenas), [1] if has_begun else [0, 1])
            for path in arenas:
                done = e2e.run([e2e.COMMAND, "report", path, "--json"])
                if has_begun or done.returncode == 0:
                    self.assertEqual(done.returncode, 0, done.stderr)
                    json.loads(done.stdout)
                else:
                    self.assertIn(b"killed while starting", done.stderr)
                path.unlink()


if __name__ == "__main__":
    e2e.main()
