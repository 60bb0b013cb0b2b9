# SPDX-License-Identifier: Apache-2.0
"""Arenas that older libraries left are read: arenas/*.arena.xz, each of arenas/leaves_arena.py, which was killed.

  version8   the last landing whose arenas have version 8
  version9   a landing whose arenas have version 9, but not yet what allocators count at the end of their headers
  version10  the last landing whose arenas have version 10

Expected is what the library that made the arena wrote in its own profile, just before the program was killed, and what
the program did.
"""
import json
import lzma
import pathlib

import e2e

ARENAS = pathlib.Path(__file__).parent / "arenas"
# By file: samples, those that are live, and the whole by metric, as the library's own profile had them.
THEN = {
    "version8": (260, 103, {"alloc_objects": 748, "alloc_space": 22513500, "inuse_objects": 392, "inuse_space": 7832572,
                            "peak_objects": 682, "peak_space": 22435181}),
    "version9": (273, 111, {"alloc_objects": 726, "alloc_space": 23617917, "inuse_objects": 422, "inuse_space": 8440927,
                            "peak_objects": 749, "peak_space": 24544407}),
    "version10": (256, 95, {"alloc_objects": 663, "alloc_space": 22307521, "inuse_objects": 361, "inuse_space": 7224217,
                             "peak_objects": 742, "peak_space": 24577070}),
}
# What the program did, in bytes: 400 and 300 bytearrays, each a byte larger than it is long.
KEPT = 400 * 20_001
DROPPED = 300 * 50_001


class OlderArenas(e2e.Test):
    def report(self, name, *options):
        path = self.folder / f"{name}.arena"
        path.write_bytes(lzma.decompress((ARENAS / f"{name}.arena.xz").read_bytes()))
        result = e2e.run([e2e.COMMAND, "report", *([] if "--json" in options else ["--details"]), *options, path])
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def row(self, report, function):
        """Of a Python function, with what it calls."""
        (row,) = [row for row in report["rows"] if row["name"] == function]
        self.assertTrue(row["file"].endswith("leaves_arena.py"), row)
        return row["cumulative"]

    def test_totals_are_those_of_the_library_of_then(self):
        for name, (samples, live_samples, totals) in THEN.items():
            with self.subTest(name):
                report = json.loads(self.report(name, "--json"))
                self.assertEqual((report["samples"], report["dropped_samples"], report["rate_bytes"]), (samples, 0, 64 << 10))
                self.assertEqual({metric: report["totals"][metric]["value"] for metric in totals}, totals)
                self.assertFalse(report["ended"])
                self.assertGreater(report["peak_resident_bytes"], 10 << 20)
                self.assertIn(f"({live_samples} still live)", self.report(name))

    def test_intervals_hold_what_the_program_did(self):
        """Each file is the first that was made; whether these 95 % intervals hold was settled then."""
        for name in THEN:
            with self.subTest(name):
                report = json.loads(self.report(name, "--json"))
                keep, drop = self.row(report, "keep"), self.row(report, "drop")
                for row, metric, truth in ((keep, "inuse_space", KEPT), (keep, "alloc_space", KEPT), (keep, "peak_space", KEPT),
                                           (drop, "alloc_space", DROPPED), (drop, "peak_space", DROPPED)):
                    # Lists grew, too: a few KB.
                    self.assertTrue(row[metric]["low"] <= truth + 8000 and truth <= row[metric]["high"], (metric, row[metric], truth))
                    self.assertTrue(row[metric]["low"] < row[metric]["value"] < row[metric]["high"])
                self.assertEqual(drop["inuse_space"]["value"], 0)

    def test_stacks_are_whole(self):
        for name in THEN:
            with self.subTest(name):
                text = self.report(name, "--by", "line", "--tree", "--metric", "peak")
                self.assertIn("Stacks: 100 % complete", text)
                self.assertRegex(text, r"<module>[^\n]*leaves_arena\.py:30\)[^\n]* drop \(leaves_arena\.py:22\)")


if __name__ == "__main__":
    e2e.main()
