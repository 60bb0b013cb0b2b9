# SPDX-License-Identifier: Apache-2.0
"""Profiling by the MEMPROF_* variables alone: patterns, wrong values, files that cannot be written."""
import os
import re
import subprocess
import time

import e2e

NAME = "ending"
SIZES = {"MEMPROF_RATE": "512k, 64k", "MEMPROF_MAX_LIVE_SAMPLES": "number", "MEMPROF_MAX_STACKS": "number",
         "MEMPROF_MAX_DEPTH": "number"}


class Environment(e2e.Test):
    def end(self, **variables):
        environment = e2e.preloaded()
        environment.update(variables)
        return e2e.run([e2e.program(NAME), "return"], environment, cwd=self.folder)

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_nothing_set_does_nothing(self):
        self.check(self.end(), 7)
        self.check(self.end(MEMPROF_PROFILE=""), 7)
        self.check(self.end(MEMPROF_RATE="0"), 7)
        self.check(self.end(MEMPROF_RATE="nonsense"), 7)  # nothing is asked of it
        self.assertEqual(self.names(), [])

    def test_patterns(self):
        before = int(time.time())
        self.check(self.end(MEMPROF_PROFILE="%n.%p.%t.100%%.pb"), 7)
        (name,) = self.names()
        found = re.fullmatch(r"ending\.(\d+)\.(\d+)\.100%\.pb", name)
        self.assertIsNotNone(found, name)
        self.assertTrue(before <= int(found.group(2)) <= time.time())
        self.assertEqual(e2e.Profile(self.folder / name).facts["pid"], found.group(1))

    def test_units_of_the_rate(self):
        for text, rate in (("0", 0), ("1", 1), ("4096", 4096), ("512k", 524288), ("64K", 65536), ("1M", 1 << 20),
                           ("1MiB", 1 << 20), ("2m", 2 << 20), ("1G", 1 << 30), ("3kB", 3072), ("100B", 100),
                           ("0.5M", 524288)):
            with self.subTest(text):
                path = self.folder / "rate.pb"
                self.check(self.end(MEMPROF_PROFILE=str(path), MEMPROF_RATE=text), 7)
                self.assertEqual(e2e.Profile(path).period, rate)
                path.unlink()

    def test_wrong_values_are_said_once_and_ignored(self):
        for variable, hint in SIZES.items():
            for value in ("nonsense", "-1", "1x", "99999999999999999999999", "1.3k", " 1", "0x10", "k"):
                with self.subTest(variable=variable, value=value):
                    path = self.folder / "out.pb"
                    done = self.check(self.end(MEMPROF_PROFILE=str(path), **{variable: value}), 7, stderr=None)
                    said = done.stderr.decode()
                    self.assertEqual(said.count("\n"), 1, said)
                    self.assertTrue(said.startswith(f"memprof: {variable}={value} is ignored: "), said)
                    self.assertIn(hint, said)
                    self.assertEqual(e2e.Profile(path).period, 8192)  # it starts fine
                    path.unlink()

    def test_values_over_the_limit(self):
        for variable, value in (("MEMPROF_RATE", "2P"), ("MEMPROF_RATE", "1025T"), ("MEMPROF_MAX_DEPTH", "1025"),
                                ("MEMPROF_MAX_DEPTH", "0"), ("MEMPROF_MAX_STACKS", "0"),
                                ("MEMPROF_MAX_LIVE_SAMPLES", "2T")):
            with self.subTest(variable=variable, value=value):
                done = self.end(MEMPROF_PROFILE="%p.pb", **{variable: value})
                self.assertIn(f"memprof: {variable}={value} is ignored".encode(), done.stderr)
                self.assertEqual(done.returncode, 7)

    def test_wrong_pattern(self):
        done = self.check(self.end(MEMPROF_PROFILE="x.%q.pb"), 7, stderr=None)
        self.assertEqual(done.stderr.decode().count("\n"), 1)
        self.assertIn(b"memprof: MEMPROF_PROFILE=x.%q.pb is ignored: ", done.stderr)
        self.check(self.end(MEMPROF_PROFILE="x" * 5000 + ".pb"), 7, stderr=None)
        self.assertEqual(self.names(), [])

    def test_the_name_says_the_format(self):
        self.check(self.end(MEMPROF_PROFILE="out.pb.gz", MEMPROF_RATE="0"), 7)
        self.assertEqual((self.folder / "out.pb.gz").read_bytes()[:2], b"\x1f\x8b")
        self.check(self.end(MEMPROF_PROFILE="out.pb", MEMPROF_RATE="0"), 7)
        raw = (self.folder / "out.pb").read_bytes()
        self.assertNotEqual(raw[:2], b"\x1f\x8b")
        self.assertLess((self.folder / "out.pb.gz").stat().st_size, len(raw))
        # Whoever unpacks gzip unpacks this, too, and what is in it is the whole.
        self.check(e2e.run([e2e.need("gzip"), "--test", self.folder / "out.pb.gz"]))
        self.assertEqual(e2e.Profile(self.folder / "out.pb.gz").facts["samples"],
                         e2e.Profile(self.folder / "out.pb").facts["samples"])

    def test_a_format_that_the_process_cannot_write_is_refused_at_once(self):
        for name in ("x.json", "x.html", "x.svg", "x.speedscope.json", "x.collapsed", "x"):
            with self.subTest(name):
                done = self.check(self.end(MEMPROF_PROFILE=name, MEMPROF_RATE="0"), 7, stderr=None)
                said = done.stderr.decode()
                self.assertEqual(said.count("\n"), 1)
                self.assertIn(f"memprof: MEMPROF_PROFILE={name} is ignored: ", said)
                self.assertIn("ends in .pb.gz or .pb", said)
        self.assertEqual(self.names(), [])

    def check_not_written(self, path, reason, **options):
        before = self.names()
        done = self.check(self.end(MEMPROF_PROFILE=str(path), **options), 7, stderr=None)
        self.assertRegex(done.stderr.decode(),
                         rf"^memprof: the profile was not written to {re.escape(str(path))}: .*{reason}.*\n$")
        self.assertEqual(self.names(), before)

    def test_existing_file_is_not_overwritten(self):
        (self.folder / "there.pb").write_text("mine")
        self.check_not_written(self.folder / "there.pb", "already")
        self.assertEqual((self.folder / "there.pb").read_text(), "mine")

    def test_unwritable(self):
        self.check_not_written(self.folder / "no" / "folder.pb", "no such folder")
        (self.folder / "file").write_text("")
        self.check_not_written(self.folder / "file" / "x.pb", "not a folder")
        self.check_not_written("/proc/x.pb", "")

    def test_disk_full(self):
        if os.getuid() != 0:
            self.check_disk_full_by_limit()
            return
        full = self.folder / "full"
        full.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", full], check=False,
                                 stderr=subprocess.DEVNULL).returncode == 0
        if not mounted:  # a container's root
            self.check_disk_full_by_limit()
            return
        try:
            (full / "filler").write_bytes(b"x" * 4096)
            self.check_not_written(full / "x.pb", "no space")
            self.assertEqual([p.name for p in full.iterdir()], ["filler"])
        finally:
            subprocess.run(["umount", full], check=True)

    def check_disk_full_by_limit(self):
        import resource
        done = e2e.run([e2e.program(NAME), "return"], e2e.preloaded(self.folder / "x.pb", 0), cwd=self.folder,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
        self.check(done, 7, stderr=None)
        self.assertRegex(done.stderr.decode(), r"^memprof: the profile was not written to .*: .*limit.*\n$")
        self.assertEqual(self.names(), [])

    def test_run_pid(self):
        self.check(self.end(MEMPROF_PROFILE="x.pb", MEMPROF_RUN_PID="1"), 7)
        self.check(self.end(MEMPROF_PROFILE="x.pb", MEMPROF_RUN_PID="nonsense"), 7)
        self.assertEqual(self.names(), [])
        # The process with that id is the one, also through exec; its children are not.
        script = 'export MEMPROF_RUN_PID=$$; "$0" return; exec "$0" return'
        self.check(e2e.run([e2e.need("sh"), "-c", script, e2e.program(NAME)],
                           e2e.preloaded(self.folder / "%n.pb", 0)), 7)
        self.assertEqual(self.names(), ["ending.pb"])

    def test_program_that_changes_its_environment(self):
        environment = e2e.preloaded(self.folder / "out.pb", 0)
        self.check(e2e.run([e2e.program(NAME), "clearenv"], environment), 7)
        self.assertEqual(self.names(), ["out.pb"])

    def test_program_too_short_for_a_sample(self):
        """Lesson 25: a valid, empty profile, and a report that says what to do."""
        path = self.folder / "short.pb"
        self.check(e2e.run([e2e.need("true")], e2e.preloaded(path, "1T")))
        profile = e2e.Profile(path)
        self.assertEqual((profile.samples, profile.facts["samples"], profile.period), ([], "0", 1 << 40))
        said = self.memprof("report", "--details", path).stdout.decode()
        self.assertIn("-r 0", said)
        self.assertEqual(self.report(path)["rows"], [])

    def test_full_tables_cost_detail_and_no_bytes(self):
        """At rate 0 a table that is too small for the stacks has the sums of one that is not."""
        profiles = {}
        for stacks in ("", "300"):
            path = self.folder / f"stacks{stacks}.pb"
            limit = {"MEMPROF_MAX_STACKS": stacks} if stacks else {}
            # Without its hooks the interpreter allocates the same each time; PYTHONHASHSEED: so do its tables.
            self.check(e2e.run([e2e.system_python(), "-c", "import json, re"],
                               e2e.preloaded(path, 0, PYTHONHASHSEED="0", MEMPROF_PYTHON="0", **limit)))
            profiles[stacks] = e2e.Profile(path)
        whole, folded = profiles[""], profiles["300"]
        self.assertNotIn("folded_stacks", whole.facts)
        self.assertGreater(int(folded.facts["folded_stacks"]), 0)
        self.assertEqual(folded.facts["dropped_samples"], "0")
        self.assertLessEqual(len({tuple(map(str, stack)) for stack, _, _ in folded.samples}), 300)
        for metric in ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space"):
            totals = [sum(values[metric] for _, values, _ in p.samples) for p in (whole, folded)]
            self.assertAlmostEqual(totals[0], totals[1], delta=0.01 * totals[0], msg=metric)
        self.assertIn("older stacks were shortened", self.memprof("report", "--details", self.folder / "stacks300.pb").stdout.decode())

    BUSY = "for i in range(8000): kept = [bytes(range(n % 200)) for n in range(300)]"

    def test_a_budget_is_followed(self):
        """A program that allocates all the time: the rate is not what it began with, and the report says so."""
        path = self.folder / "budget.pb"
        self.check(e2e.run([e2e.system_python(), "-c", self.BUSY],
                           e2e.preloaded(path, "16k", MEMPROF_BUDGET="0.01%", MEMPROF_MAX_RATE="4M")))
        profile = e2e.Profile(path)
        self.assertEqual(profile.facts["budget_ppm"], "100")
        self.assertGreater(int(profile.facts["cpu_ns"]), int(profile.facts["sampling_ns"]))
        self.assertTrue(16384 < profile.period <= 4 << 20, profile.period)
        report = self.report(path)
        rates = [use["rate_bytes"] for use in report["rates"]]
        self.assertEqual((rates, rates[0]), (sorted(rates), 16384))
        self.assertIn(profile.period, rates)
        self.assertEqual(report["budget_ppm"], 100)
        allocated = report["totals"]["alloc_space"]["value"]
        self.assertAlmostEqual(sum(use["weight_bytes"] for use in report["rates"]), allocated, delta=0.001 * allocated)
        said = self.memprof("report", "--details", path).stdout.decode()
        self.assertRegex(said, r"Rates 16 KiB to \d+ [KM]iB, \d+ [KM]iB in the end: ")
        self.assertRegex(said, r"Budget 0\.01 % of the CPU time: sampling took \d+\.\d\d % of ")

    def test_totals_are_right_while_the_rate_moves(self):
        """What the budget's profile says was allocated, the exact profile's number is within its interval: five runs,
        of which a right estimate misses more than two with odds of one in 900."""
        exact = self.folder / "exact.pb"
        code = ["-c", "for i in range(1500): kept = [bytes(600 + n) for n in range(200)]"]
        self.check(e2e.run([e2e.system_python(), *code],
                           e2e.preloaded(exact, 0, PYTHONHASHSEED="0", MEMPROF_PYTHON="0")))
        truth = self.report(exact)["totals"]["alloc_space"]["value"]
        held = 0
        for run in range(5):
            path = self.folder / f"moving{run}.pb"
            self.check(e2e.run([e2e.system_python(), *code],
                               e2e.preloaded(path, "16k", PYTHONHASHSEED="0", MEMPROF_PYTHON="0", MEMPROF_BUDGET="0.05%")))
            estimate = self.report(path)["totals"]["alloc_space"]
            held += estimate["low"] <= truth <= estimate["high"]
        self.assertGreaterEqual(held, 3)

    def test_wrong_budgets_are_said_and_ignored(self):
        for variable, value, hint in (("MEMPROF_BUDGET", "0.5", "0.5%"), ("MEMPROF_BUDGET", "51%", "at most 50%"),
                                      ("MEMPROF_BUDGET", "much", "0.5%"), ("MEMPROF_MIN_RATE", "x", "16k"),
                                      ("MEMPROF_MIN_RATE", "128M", "no more than"), ("MEMPROF_MAX_RATE", "1k", "no more than")):
            with self.subTest(variable=variable, value=value):
                path = self.folder / "out.pb"
                done = self.check(self.end(MEMPROF_PROFILE=str(path), **{variable: value}), 7, stderr=None)
                said = done.stderr.decode()
                self.assertTrue(said.startswith(f"memprof: {variable}={value} is ignored: ") and hint in said, said)
                path.unlink()
        done = self.memprof("run", "--budget", "5", "true", status=2)
        self.assertIn("--budget: '5' is not a share of the CPU time; give one like 0.5%, at most 50%", done.stderr.decode())

    STORM = """if True:
        import glob, os
        for i in range(3000):
            exec(f"def function_{i}(kept): kept.extend(bytearray(3000) for _ in range(7))")
        kept = []
        for i in range(3000):
            globals()[f"function_{i}"](kept)
        (arena,) = glob.glob(os.environ["MEMPROF_ARENA_DIR"] + "/*")
        print(os.stat(arena).st_blocks * 512)
    """

    def test_tables_stay_within_a_limit_of_memory(self):
        """60 MiB in 21,000 blocks from 3,000 functions, more of both than 4 MiB have room for."""
        blocks = 21000 * 3000
        for run in range(3):
            path = self.folder / f"limit{run}.pb"
            arenas = self.folder / f"arenas{run}"
            arenas.mkdir(mode=0o700)
            done = self.check(e2e.run([e2e.system_python(), "-c", self.STORM],
                                      e2e.preloaded(path, "256", MEMPROF_MEMORY="4m", MEMPROF_ARENA_DIR=str(arenas))))
            self.assertLessEqual(int(done.stdout), 4 << 20)
            facts = e2e.Profile(path).facts
            self.assertGreater(int(facts["thinned_samples"]), 0)
            self.assertGreater(int(facts["folded_stacks"]), 0)
            self.assertEqual(facts["dropped_samples"], "0")
            # With what Python has besides, 67 MiB; the estimate's standard error is 1 MiB.
            totals = self.report(path)["totals"]
            peak = totals["peak_space"]["value"]
            self.assertTrue(blocks <= peak <= 1.25 * blocks, peak)
            # Each stack's sums agree with its live samples, so nothing is without an interval.
            for metric in ("peak_space", "inuse_space", "alloc_space", "alloc_objects"):
                total = totals[metric]
                self.assertIsNotNone(total["low"], metric)
                self.assertTrue(total["low"] < total["value"] < total["high"], total)
            said = self.memprof("report", "--details", path).stdout.decode()
            self.assertNotIn("no statistics that agree", said)
            self.assertNotIn("altered", said)
        for value in ("3m", "4", "much"):
            done = self.check(self.end(MEMPROF_PROFILE=str(self.folder / f"{value}.pb"), MEMPROF_MEMORY=value), 7, stderr=None)
            self.assertIn(f"MEMPROF_MEMORY={value} is ignored: it must be bytes like 32m, at least 4M", done.stderr.decode())
        done = self.memprof("run", "--memory", "3m", "true", status=2)
        self.assertIn("--memory: '3m' is not a limit for the profiler's tables; give bytes like 32m, at least 4m",
                      done.stderr.decode())

    def test_tables_that_are_full_are_said(self):
        path = self.folder / "full.pb"
        done = e2e.run([e2e.system_python(), "-c", "import json, re"],
                       e2e.preloaded(path, 0, MEMPROF_MAX_STACKS="1", MEMPROF_MAX_LIVE_SAMPLES="1"))
        self.check(done)
        self.assertGreater(int(e2e.Profile(path).facts["dropped_samples"]), 0)
        self.assertRegex(self.memprof("report", "--details", path).stdout.decode(), r"(?i)dropped")


if __name__ == "__main__":
    e2e.main()
