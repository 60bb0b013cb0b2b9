# SPDX-License-Identifier: Apache-2.0
"""`memprof diff` and `memprof merge` on profiles of real runs, and on a process that runs."""
import json
import subprocess
import xml.etree.ElementTree

import e2e

# Holds so many arrays of 10,000 bytes, by a function of that name, and more with each line that it reads; it frees nothing.
HOLDER = """
import os, sys
def hold(count):
    arrays = []
    for _ in range(count):
        arrays.append(bytearray(10_000))
    return arrays
held = hold(int(sys.argv[1]))
print('ready', flush=True)
for line in sys.stdin:
    held += hold(4000)
    print('more', flush=True)
os._exit(0)
"""


class Diff(e2e.Test):
    def profile(self, name, count, rate="64k"):
        path = self.folder / name
        self.memprof("run", "-r", rate, "-o", path, "--", e2e.system_python(), "-c", HOLDER, str(count))
        return path

    def diff(self, *arguments, status=0):
        return json.loads(self.memprof("diff", "--json", *arguments, status=status).stdout)

    def test_growth_is_found_across_rates(self):
        # 40 MB and 80 MB: 610 samples, and 153 at the coarser rate. The change has a standard deviation of 6.7 MB.
        before, after = self.profile("before.pb.gz", 4000), self.profile("after.pb.gz", 8000, "512k")
        diff = self.diff(before, after, "--fail-on", "growth > 5MB", status=1)
        row = diff["rows"][0]
        self.assertEqual((row["name"], row["significant"]), ("hold", True))
        self.assertAlmostEqual(row["change"]["value"], 40e6, delta=6 * 6.7e6)
        self.assertLess(row["change"]["low"], row["change"]["value"])
        self.assertLess(row["change"]["value"], row["change"]["high"])
        self.assertTrue(diff["totals"]["inuse_space"]["significant"])
        self.assertTrue(diff["limits"][0]["exceeded"])
        # The other way round it shrank, which is said, and no limit is exceeded.
        back = self.diff(after, before, "--fail-on", "growth > 5MB")
        self.assertEqual(back["rows"][0]["change"]["value"], -row["change"]["value"])
        self.assertIn("are they swapped?", back["warnings"][0])
        text = self.memprof("diff", before, after).stdout.decode()
        self.assertRegex(text, r"Grew: [12] functions?\n")  # 5 % of reports may have one that grew by chance
        self.assertIn("hold", text[text.index("Grew"):])
        self.assertIn("Benjamini and Hochberg", text)
        tree = self.memprof("diff", before, after, "--tree").stdout.decode()
        self.assertIn("<module>", tree)
        self.memprof("diff", before, after, "--fail-on", "growth > 1G", "--junit", self.folder / "junit.xml")
        suite = xml.etree.ElementTree.parse(self.folder / "junit.xml").getroot()[0]
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("1", "0"))

    def test_equal_runs_seldom_differ(self):
        # One pair in twenty at most; seven of ten by chance: 1 to 10^7.
        wrong = 0
        for i in range(10):
            before = self.profile(f"a{i}.pb.gz", 400)
            after = self.profile(f"b{i}.pb.gz", 400)
            diff = self.diff(before, after)
            wrong += any(row["significant"] for row in diff["rows"])
            self.assertEqual(diff["warnings"], [])
            self.assertEqual(len(diff["rows"]), diff["tested_rows"])
        self.assertLess(wrong, 7)

    def test_exact_runs_of_one_program_are_equal(self):
        paths = [self.folder / name for name in ("a.pb.gz", "b.pb.gz")]
        for path in paths:
            self.memprof("run", "-r", "0", "-o", path, "--", e2e.program("leaking_cache"))
        diff = self.diff(*paths, "--fail-on", "growth > 0")
        self.assertEqual(diff["totals"]["inuse_space"]["change"], {"value": 0, "low": 0, "high": 0})
        self.assertEqual([row for row in diff["rows"] if row["change"]["value"]], [])

    def test_a_running_process(self):
        process = subprocess.Popen([e2e.system_python(), "-c", HOLDER, "4000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env=e2e.preloaded(self.folder / "x.%p.pb", "64k"), cwd=self.folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        self.memprof("live", str(process.pid), "-o", self.folder / "old.pb.gz")
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"more\n")
        diff = self.diff(self.folder / "old.pb.gz", str(process.pid))
        self.assertEqual(diff["after"][0]["name"], f"process {process.pid}")
        self.assertEqual((diff["rows"][0]["name"], diff["rows"][0]["significant"]), ("hold", True))
        # 40 MB more, of 2.6 MB standard deviation at most.
        self.assertAlmostEqual(diff["rows"][0]["change"]["value"], 40e6, delta=6 * 2.6e6)
        self.assertEqual(diff["warnings"], [])
        self.different_kinds_of_time_are_said(process.pid)

    def different_kinds_of_time_are_said(self, pid):
        old, new, part, ended = (self.folder / f"{name}.pb.gz" for name in ("old", "new", "part", "ended"))
        self.memprof("live", str(pid), "-o", new)
        self.memprof("export", new, "--since", old, "-o", part)
        self.assertIn(f"{part} is an increment (memprof export --since), and {new} is a whole profile",
                      self.diff(new, part)["warnings"][0])
        done = self.memprof("export", part, "--since", old, "-o", self.folder / "again.pb.gz", status=2)
        self.assertIn(b"an increment already", done.stderr)
        self.memprof("run", "-r", "64k", "-o", ended, "--", e2e.program("leaking_cache"))
        warning = f"{ended} is of a program that has ended, and process {pid} of one that had not"
        run = self.memprof("diff", ended, str(pid), "--fail-on", "live > 1G", "-o", self.folder / "diff.html")
        for text in (run.stderr.decode(), (self.folder / "diff.html").read_text(),
                     " ".join(self.memprof("diff", ended, str(pid)).stdout.decode().split()),
                     self.memprof("diff", "--markdown", ended, str(pid)).stdout.decode().replace("\\", "")):
            self.assertIn(warning, text)

    def test_groups_and_merge(self):
        before = [self.profile(f"b{i}.pb.gz", 2000) for i in range(3)]
        after = [self.profile(f"a{i}.pb.gz", 6000, "128k") for i in range(3)]
        diff = self.diff("--before", *before, "--after", *after)
        self.assertEqual((len(diff["before"]), len(diff["after"])), (3, 3))
        # 40 MB more, as a mean; 3 files a side.
        self.assertEqual(diff["rows"][0]["name"], "hold")
        self.assertAlmostEqual(diff["rows"][0]["change"]["value"], 40e6, delta=6 * 2.1e6)
        merged = self.folder / "merged.pb.gz"
        self.memprof("merge", *before, *after, "-o", merged)
        report = self.report(merged)
        total = report["totals"]["inuse_space"]
        parts = [self.report(path)["totals"]["inuse_space"] for path in before + after]
        self.assertAlmostEqual(total["value"], sum(part["value"] for part in parts), delta=6)
        # The interval of a sum is narrower than the sum of the intervals, and wider than that of any part.
        widths = [part["high"] - part["low"] for part in parts]
        self.assertLess(total["high"] - total["low"], 0.7 * sum(widths))
        self.assertGreater(total["high"] - total["low"], max(widths))
        rows = [row for row in report["rows"] if row["name"] == "hold"]
        self.assertEqual(len(rows), 1)
        done = self.memprof("merge", *before, "-o", merged, status=2)
        self.assertIn(b"already exists", done.stderr)


if __name__ == "__main__":
    e2e.main()
