# SPDX-License-Identifier: Apache-2.0
"""Memory that programs map themselves; windows_test.py runs these tests."""
import case
import wine
from case import FOLDER, WINE, Case, mapped

setUpModule = case.set_up
tearDownModule = case.tear_down


class Mappings(Case):
    """What a program maps itself, against what it says itself."""

    def record_program(self, rate):
        program = wine.build_program("mappings", FOLDER)
        got, out, err, profile = self.record([program], rate=rate, status=42)
        alone = WINE.run([program], cwd=FOLDER)
        ours = [line for line in err.splitlines() if line.startswith("memprof: ")]
        self.assertEqual(len(ours), 1, err)
        self.assertEqual((got, out, err.replace(ours[0] + "\n", "")), alone)
        truths = {name: [int(mappings), int(size)] for name, mappings, size in (line.split() for line in out.splitlines())}
        self.assertGreater(len(truths), 15)
        return truths, self.report(profile)

    def check(self, truths, report):
        rows = {row["name"]: row["cumulative"] for row in report["rows"]}
        self.assertEqual({name: mapped(rows.get(name, {})) for name in truths}, truths)
        # And nothing else is: no heap's memory, no stack, no module, nothing of memprof's, and nothing twice.
        self.assertEqual(mapped(report["totals"]), [sum(numbers) for numbers in zip(*truths.values())])
        self.assertEqual(report["dropped_mappings"], 0)
        # What was touched is in memory, what was only committed is not.
        in_memory = {name: rows[name]["mapped_resident_space"]["value"] for name in ("by_virtual_alloc", "committed", "by_alloc_2")}
        self.assertEqual(in_memory, {"by_virtual_alloc": truths["by_virtual_alloc"][1], "committed": 0, "by_alloc_2": 0})

    def test_each_way_to_map(self):
        truths, report = self.record_program("0")
        self.check(truths, report)
        rows = {row["name"]: row["cumulative"] for row in report["rows"]}
        self.assertEqual(rows["by_heap"]["alloc_space"]["value"], 20 * (3 << 20) + 2000 * 5000 + 4 * (1 << 19))
        self.assertLessEqual({"main", "RtlUserThreadStart"}, set(rows))

    def test_they_are_exact_at_any_rate(self):
        self.check(*self.record_program("512k"))

    def test_functions_that_cannot_be_hooked(self):
        """One that every Windows has: no mappings, and no claim that there are none.  Another one: it is left out."""
        program = wine.build_program("refusing", FOLDER)
        for function, said, wanted in (("UnmapViewOfFile", "mappings are not recorded: UnmapViewOfFile ", None),
                                       ("MapViewOfFile3", "mappings: calls of MapViewOfFile3 are not seen: it ", [1, 65536])):
            profile = FOLDER / f"{function}.pb.gz"
            extra = {"MEMPROF_PROFILE": profile.name, "MEMPROF_MMAP": "1", "MEMPROF_RATE": "0", "MEMPROF_ARENA_DIR": ""}
            _, out, err = WINE.run([program, function], cwd=FOLDER, status=0, extra=extra)
            self.assertEqual(out, "all is right\n")
            self.assertEqual(err.count("memprof: "), 1, err)
            self.assertIn(f"memprof: {said}", err)
            report = self.report(profile)
            self.assertEqual("mapped_space" in report["totals"], wanted is not None)
            rows = {row["name"]: row["cumulative"] for row in report["rows"]}
            self.assertEqual(mapped(rows["by_virtual_alloc"]) if wanted else None, wanted)
            self.assertEqual(rows["by_heap"]["alloc_space"]["value"], 100 * 1000)

    def test_they_can_be_switched_off(self):
        program = wine.build_program("mappings", FOLDER)
        off = {"MEMPROF_MMAP": "0"}
        report = self.report(self.record([program], status=42, extra=off)[3])
        self.assertNotIn("mapped_space", report["totals"])
        report = self.report(self.record([program], status=42, extra=off, options=["--mmap"])[3])
        self.assertGreater(report["totals"]["mapped_space"]["value"], 1 << 20)
