# SPDX-License-Identifier: Apache-2.0
"""What a program has in memory, in parts: a program of known truth, from inside and from outside; Python."""
import json
import platform
import re
import subprocess
import unittest

import e2e

MIB = 1 << 20
# 24 MB and half of 16 MB live; every second block of these 16 MB is free and kept.
BLOCKS, HOLES, UNTOUCHED = 32_000_000, 8_000_000, 32 * MIB


class Resident(e2e.Test):
    def report(self, path, *options):
        result = e2e.run([e2e.COMMAND, "report", *([] if "--json" in options else ["--details"]), *options, path])
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def resident(self, path):
        report = json.loads(self.report(path, "--json"))
        self.assertIn("resident", report)
        return report["resident"]

    def expect_truth(self, m, rate_bytes):
        # Seven standard deviations of blocks that are small against the rate: odds of 1 to 10^11.
        far = 7 * (BLOCKS * rate_bytes) ** 0.5 + MIB
        self.assertAlmostEqual(m["live_bytes"], BLOCKS + UNTOUCHED, delta=far)
        self.assertAlmostEqual(m["absent_bytes"], UNTOUCHED, delta=far / 4)
        self.assertAlmostEqual(m["slack_bytes"], BLOCKS / 1000 * 8, delta=far / 50 + 100_000)
        self.assertTrue(m["free_known"] and m["complete"])
        self.assertAlmostEqual(m["free_bytes"], HOLES, delta=MIB)
        self.assertAlmostEqual(m["heap_bytes"], BLOCKS + HOLES, delta=2 * MIB)
        self.assertTrue(3 * MIB <= m["stacks_bytes"] < 4 * MIB, m)
        self.assertTrue(5 * MIB <= m["shared_bytes"] < 6 * MIB, m)
        self.assertTrue(6 * MIB <= m["files_bytes"] < 14 * MIB, m)
        self.assertTrue(7 * MIB <= m["anonymous_bytes"] < 9.5 * MIB, m)
        parts = sum(m[name + "_bytes"] for name in ("heap", "files", "shared", "stacks", "code", "runtime", "memprof", "anonymous"))
        self.assertAlmostEqual(parts, m["rss_bytes"], delta=0.03 * m["rss_bytes"])
        self.assertAlmostEqual(m["fragmentation"], HOLES / (BLOCKS + HOLES), delta=0.02 + far / (BLOCKS + HOLES))

    # By site: of what lives what is in memory.
    def expect_sites(self, path):
        report = json.loads(self.report(path, "--resident", "--json"))
        self.assertEqual(report["metric"], "inuse_resident_space")
        rows = {row["name"]: {name: row["self"][name]["value"] for name in ("inuse_space", "inuse_resident_space")}
                for row in report["rows"]}
        blocks, untouched = next(row for name, row in rows.items() if "take_block" in name), rows["main"]
        self.assertGreater(blocks["inuse_resident_space"], 0.99 * blocks["inuse_space"])
        self.assertGreaterEqual(untouched["inuse_space"], UNTOUCHED)
        self.assertLess(untouched["inuse_resident_space"], 0.05 * UNTOUCHED)
        totals = report["totals"]
        m = report["resident"]
        self.assertAlmostEqual(totals["inuse_resident_space"]["value"], m["live_bytes"] - m["absent_bytes"], delta=MIB)
        self.assertLess(totals["inuse_resident_space"]["low"], m["live_bytes"] - m["absent_bytes"])
        text = self.report(path, "--resident")
        self.assertRegex(text, r"resident .*live +in memory +resident")
        self.assertRegex(text, r"(99.\d|100.0)% .*take_block")

    def begin(self, rate, profile, **more):
        environment = e2e.preloaded(self.folder / profile, rate, **more)
        process = subprocess.Popen([e2e.program("resident_parts"), self.folder / "file"], env=environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def test_from_outside_and_at_the_end(self):
        process = self.begin("16k", "end.pb.gz")
        self.memprof("live", str(process.pid), "-o", "now.pb.gz", cwd=self.folder)
        self.expect_truth(self.resident(self.folder / "now.pb.gz"), 16384)
        view = self.memprof("live", str(process.pid), "--count", "1", "--interval", "0.1").stdout.decode()
        self.assertRegex(view, r"Resident: .*heap .*kept free .*not explained")
        self.expect_sites(self.folder / "now.pb.gz")
        view = self.memprof("live", str(process.pid), "--resident", "--count", "2", "--interval", "0.1").stdout.decode()
        self.assertEqual(len(re.findall(r"(?m)^ *resident .*growth", view)), 2, view)
        self.assertRegex(view, r"MiB .*take_block")
        exported = self.folder / "again.pb"
        self.memprof("export", self.folder / "now.pb.gz", "-o", exported, "--all-frames", "--full-names", "--native-interpreter")
        totals = [json.loads(self.report(path, "--json"))["totals"] for path in (exported, self.folder / "now.pb.gz")]
        self.assertEqual(*totals)
        process.communicate(b"\n", timeout=e2e.WATCHDOG_S)
        self.assertEqual(process.returncode, 0)
        self.expect_truth(self.resident(self.folder / "end.pb.gz"), 16384)
        text = self.report(self.folder / "end.pb.gz")
        for words in ("Resident:", "(RSS", "not resident", "free, kept by the allocator", "not explained", "fragmentation"):
            self.assertIn(words, text)

    def test_a_run_keeps_it_when_the_end_begins(self):
        for rate, far in (("0", 1), ("64k", 65536)):
            path = self.folder / "run.pb.gz"
            result = e2e.run([e2e.COMMAND, "run", "-r", rate, "--force", "-o", path, "--", e2e.program("resident_parts"),
                              self.folder / "file"], stdin=subprocess.DEVNULL)
            self.assertTrue(path.exists(), result.stderr)
            self.expect_truth(self.resident(path), far)
        self.expect_sites(path)

    def test_what_a_file_does_not_have_is_said(self):
        path = e2e.SOURCE / "tests/e2e/profiles/json.pb.gz"  # of an older version
        failed = self.memprof("report", path, "--resident", status=2)
        self.assertRegex(failed.stderr, rb"has no inuse_resident_space; it has .*older versions of memprof")
        failed = self.memprof("report", path, "--resident", "--mmap", status=2)
        self.assertIn(b"exclude each other", failed.stderr)

    def expect_counted(self, m, name):
        self.assertEqual(m["counted_by"], name)
        self.assertTrue(m["free_known"] and m["complete"], m)
        # The truth: 32,000 blocks of 1,000 bytes and one of 32 MiB, as large as the allocator makes them; what lived less than
        # a thirty-second ago may be what it was asked about.
        blocks = 32_000 * 1024 + UNTOUCHED
        self.assertAlmostEqual(m["counted_bytes"], blocks, delta=blocks / 16)
        self.assertAlmostEqual(m["free_bytes"], 8000 * 1024, delta=blocks / 16)
        self.assertLess(abs(m["unexplained_by_count_bytes"] - m["anonymous_bytes"]), 5 * MIB)
        self.assertGreater(m["tables_bytes"], 0)

    def test_other_allocators_say_what_they_keep(self):
        for name, counts in (("jemalloc", "jemalloc"), ("tcmalloc_minimal", "tcmalloc"), ("tcmalloc", "tcmalloc")):
            library = e2e.LIBRARIES.get(e2e.ALLOCATORS[name])
            if library is None:
                continue
            with self.subTest(name):
                profile = f"{name}.pb.gz"
                process = self.begin("16k", profile, behind=library)
                self.memprof("live", str(process.pid), "-o", "now.pb.gz", "--force", cwd=self.folder)
                self.expect_counted(self.resident(self.folder / "now.pb.gz"), counts)
                process.communicate(b"\n", timeout=e2e.WATCHDOG_S)
                self.assertEqual(process.returncode, 0)
                self.expect_counted(self.resident(self.folder / profile), counts)
                text = self.report(self.folder / profile)
                self.assertRegex(text, counts + " counts .* in blocks and .* for its tables .*by its count not explained")
                self.assertRegex(text, r"resident then: files and shared memory .*heap")

    def test_an_allocator_that_calls_itself_is_not_asked_meanwhile(self):
        process = self.begin("16k", "self.pb.gz", behind=e2e.PROGRAMS / "self_calling_allocator.so")
        process.communicate(b"\n", timeout=e2e.WATCHDOG_S)
        self.assertEqual(process.returncode, 0, "9: asked by a thread that has its lock")
        self.assertEqual(self.resident(self.folder / "self.pb.gz")["counted_by"], "tcmalloc")

    @unittest.skipUnless(platform.machine() == "x86_64", "hooks of allocators inside programs are written for x86-64")
    def test_allocators_inside_a_program(self):
        for program, name in (("inner_jemalloc", "jemalloc"), ("inner_tcmalloc_minimal", "tcmalloc")):
            if not (e2e.PROGRAMS / program).exists():
                continue
            profile = self.folder / f"{program}.pb.gz"
            done = e2e.run([e2e.PROGRAMS / program], e2e.preloaded(profile, "4k", MEMPROF_INLINE_HOOKS="1"))
            self.assertEqual(done.returncode, 0, done.stderr)
            blocks = int(done.stdout.split()[1])
            m = self.resident(profile)
            self.assertEqual(m["counted_by"], name)
            self.assertAlmostEqual(m["counted_bytes"], blocks, delta=blocks / 6)  # with their slack

    def test_free_memory_in_nearly_all_lists_is_found(self):
        """As compilers have it that free all at their end: most of glibc's lists hold a chunk."""
        profile = self.folder / "lists.pb.gz"
        done = e2e.run([e2e.program("many_lists")], e2e.preloaded(profile, "4k"))
        self.check(done)
        m = self.resident(profile)
        self.assertTrue(m["free_known"])
        freed = int(done.stdout.split()[1])
        self.assertGreater(m["free_bytes"], 0.9 * freed)
        self.assertRegex(self.report(profile), r"kept by the allocator \d")

    def test_many_live_blocks_do_not_take_the_time_of_the_heap(self):
        """As vim ends that holds a large file, at rate 0."""
        path = self.folder / "blocks.pb.gz"
        result = e2e.run([e2e.COMMAND, "run", "-r", "0", "-o", path, "--", e2e.program("many_blocks")])
        self.assertEqual(result.returncode, 0, result.stderr)
        live = int(result.stdout.split()[1])
        m = self.resident(path)
        self.assertAlmostEqual(m["live_bytes"], live, delta=MIB)
        if m["heap_bytes"] is None:  # a slow machine: then nothing is claimed
            self.assertIn("not known: the time for it ran out", self.report(path))
            self.assertNotIn("Not in it", self.report(path))
            return
        # glibc's chunks are of 48 and of 32 bytes, or of 48 all where they have 16 more; the table of pointers is static data.
        self.assertGreater(m["heap_bytes"], live)
        self.assertLess(m["heap_bytes"], 2 * live)
        self.assertLess(m["anonymous_bytes"], live / 2)
        self.assertNotIn("Not in it", self.report(path))

    def test_an_allocator_that_does_not_say(self):
        library = e2e.LIBRARIES.get(e2e.ALLOCATORS["mimalloc"])
        for behind, extra in ((library, {}), (e2e.LIBRARIES.get(e2e.ALLOCATORS["jemalloc"]), {"MEMPROF_ALLOCATOR_COUNTS": "0"})):
            if behind is None:
                continue
            process = self.begin("64k", "silent.pb.gz", behind=behind, **extra)
            process.communicate(b"\n", timeout=e2e.WATCHDOG_S)
            m = self.resident(self.folder / "silent.pb.gz")
            self.assertFalse(m["free_known"])
            self.assertEqual((m["free_bytes"], m["counted_by"], m.get("counted_bytes", 0)), (0, "", 0))
            self.assertIn("kept by the allocator: unknown", self.report(self.folder / "silent.pb.gz"))
            (self.folder / "silent.pb.gz").unlink()

    def test_python_is_looked_at_before_it_frees_all(self):
        path = self.folder / "python.pb.gz"
        program = "held = [bytes(1000) for _ in range(30000)]\nheld.append(bytearray(10_000_000))"
        result = e2e.run([e2e.COMMAND, "run", "-r", "64k", "-o", path, "--", e2e.system_python(), "-c", program])
        self.assertTrue(path.exists(), result.stderr)
        m = self.resident(path)
        self.assertGreater(m["live_bytes"], 30_000_000)
        self.assertGreater(m["heap_bytes"], 38_000_000)


if __name__ == "__main__":
    e2e.main()
