# SPDX-License-Identifier: Apache-2.0
"""The rows of a report and the sizes of blocks as comma-separated values, read by Python's csv module; mappings below the blocks."""
import csv
import io
import re

import e2e

PYTHON = e2e.system_python()
ODD = """
def odd():
    code = 'def f():\\n    return bytearray(3_000_000)\\n'
    scope = {}
    exec(compile(code, 'a, "quoted"\\nfile.py', 'exec'), scope)
    return scope['f']()
kept = [odd(), [bytearray(1500) for _ in range(1000)]]
import os; os._exit(0)
"""
MAPS = """
import mmap, os
kept = mmap.mmap(-1, 64 << 20)
def touch(pages):
    for page in range(pages):
        kept[page * 4096] = 1
touch(int(os.environ["PAGES"]))
blocks = bytearray(1 << 20)
"""


class ReportCsv(e2e.Test):
    def profile(self, code, *options, **environment):
        out = self.folder / "out.pb"
        self.memprof("run", "-r", "0", *options, "-o", out, "--force", "--", PYTHON, "-c", code, environment=e2e.plain_environment(**environment))
        return out

    def csv(self, *arguments):
        text = self.memprof("report", *arguments, "--csv").stdout.decode()
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
        self.assertTrue(all(None not in row and None not in row.values() for row in rows), "each row has all columns")
        return rows

    def test_rows_are_those_of_the_json(self):
        out = self.profile(ODD)
        json_rows = self.report(out)["rows"]
        rows = self.csv(out)
        self.assertEqual(len(rows), len(json_rows))
        for row, own in zip(rows, json_rows):
            for key in ("name", "file", "module"):
                self.assertEqual(row[key], own[key])
            self.assertEqual(row["line"], str(own["line"] or ""))
            for part in ("self", "cumulative"):
                for metric in e2e.ALL_METRICS:
                    self.assertEqual([row[f"{part}_{metric}{end}"] for end in ("", "_low", "_high")],
                                     [str(own[part][metric][end]) for end in ("value", "low", "high")])
        odd = next(row for row in rows if row["name"] == "f")
        self.assertEqual(odd["file"], 'a, "quoted"\nfile.py')
        self.assertEqual(len(self.csv(out, "-n", "2")), 2)

    def test_sizes(self):
        out = self.profile(ODD)
        rows = {int(row["from_bytes"]): row for row in self.csv(out, "--sizes")}
        self.assertEqual(int(rows[1024]["to_bytes"]), 2048)
        self.assertGreaterEqual(int(rows[1024]["inuse_objects"]), 1000)
        self.assertGreaterEqual(int(rows[1024]["inuse_space"]), 1_500_000)
        self.assertGreaterEqual(int(rows[1 << 21]["inuse_space"]), 3_000_000)
        report = self.report(out, "--sizes")
        self.assertEqual([row["from_bytes"] for row in report["sizes"]], sorted(rows))
        self.assertEqual(sum(row["inuse_space"]["value"] for row in report["sizes"]), report["totals"]["inuse_space"]["value"])
        self.assertNotIn("sizes", self.report(out))
        text = self.memprof("report", out, "--sizes").stdout.decode()
        self.assertIn("1.0 KiB to 2.0 KiB", text)

    def test_options_that_exclude_each_other(self):
        out = self.profile(ODD)
        for options in (["--csv", "--json"], ["--csv", "--tree"], ["--sizes", "--tree"]):
            done = e2e.run([e2e.COMMAND, "report", out, *options])
            self.assertEqual(done.returncode, 2, options)

    def test_mappings_stand_below_the_blocks_where_they_are_much(self):
        for pages, is_shown in ((16384, True), (16, False)):
            with self.subTest(pages=pages):
                out = self.profile(MAPS, "--mmap", PAGES=str(pages))
                text = self.memprof("report", out).stdout.decode()
                self.assertEqual("The program itself also mapped" in text, is_shown, text)
                if is_shown:
                    below = text.partition("The program itself also mapped")[2]
                    self.assertRegex(below, re.compile(r"^ *64\.0 MiB .*<module>.*<string>:3", re.M))
                self.assertNotIn("The program itself also", self.memprof("report", out, "--mmap").stdout.decode())


if __name__ == "__main__":
    e2e.main()
