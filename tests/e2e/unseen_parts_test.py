# SPDX-License-Identifier: Apache-2.0
"""Memory that no sample tells of is said, by its size: heaps of runtimes, what lies behind an image, pages that were only
read; and a fork child's memory is that before it frees what it inherited."""
import json
import os
import re
import shutil
import subprocess
import unittest

import e2e

MIB = 1 << 20
PROGRAM = e2e.program("unseen_parts")


class UnseenParts(e2e.Test):
    def run_it(self, *command, options=("-r", "64k"), status=0):
        """-> (what memprof said, its profile)"""
        path = self.folder / "p.pb.gz"
        done = e2e.run([e2e.COMMAND, "run", *options, "--force", "-o", path, "--", *command], stdin=subprocess.DEVNULL,
                       cwd=self.folder)
        self.check(done, status, stderr=None)
        return done.stderr.decode(), path

    def start(self, way):
        environment = e2e.preloaded(self.folder / "end.pb.gz", "64k")
        process = subprocess.Popen([PROGRAM, way], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   cwd=self.folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def scans_pages(self):
        """PAGEMAP_SCAN, of Linux 6.7; before, pages that were only read cannot be told from others."""
        return tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2]) >= (6, 7)

    def expect_zeros(self, path):
        rows = {row["name"]: {name: row["self"][name]["value"] for name in ("inuse_space", "inuse_resident_space")}
                for row in self.report(path, "--resident")["rows"]}
        self.assertLess(rows["zeroed_and_read"]["inuse_resident_space"], MIB)
        self.assertGreater(rows["zeroed_and_written"]["inuse_resident_space"], 15 * MIB)
        m = self.report(path)["resident"]
        self.assertAlmostEqual(m["absent_bytes"], 32 * MIB, delta=MIB)
        self.assertLess(abs(m["unexplained_bytes"]), 2 * MIB)

    def test_pages_that_were_only_read_are_not_in_memory(self):
        if not self.scans_pages():
            self.skipTest("before Linux 6.7 the kernel does not tell which pages are zeros")
        process = self.start("zeros")
        self.memprof("live", str(process.pid), "-o", self.folder / "now.pb.gz")
        self.expect_zeros(self.folder / "now.pb.gz")
        process.communicate(b"\n", timeout=e2e.WATCHDOG_S)
        self.expect_zeros(self.folder / "end.pb.gz")

    def test_what_lies_behind_an_image_is_not_its_data(self):
        _, path = self.run_it(PROGRAM, "image")
        m = self.report(path)["resident"]
        self.assertGreaterEqual(m["anonymous_bytes"], 60 * MIB)
        self.assertLess(m["files_bytes"], 20 * MIB)

    def test_a_heap_that_is_not_mallocs_is_said(self):
        for way, status in (("mapped", 0), ("image", 0), ("killed", 137)):
            with self.subTest(way):
                said, path = self.run_it(PROGRAM, way, status=status)
                unseen = r"[56]\d\.\d MiB of 6\d\.\d MiB anonymous memory \(mapped by the program, or of an allocator that is not " \
                         r"hooked; memprof run --mmap shows who maps it\)"
                self.assertRegex(said.splitlines()[-1], "^memprof: wrote .*; not in it: " + unseen + "; next: memprof report")
                text = self.memprof("report", path).stdout.decode()
                self.assertRegex("\n".join(text.splitlines()[:4]).replace("\n ", ""), "Not in it: " + unseen.replace(" ", r"\s+"))
                self.assertGreater(self.report(path)["unseen_heap"]["bytes"], 55 * MIB)
        said, path = self.run_it(PROGRAM, "zeros")
        self.assertNotIn("not in it", said)
        self.assertNotIn("unseen_heap", self.report(path))

    def test_recorded_mappings_are_seen(self):
        said, path = self.run_it(PROGRAM, "mapped", options=("-r", "64k", "--mmap"))
        self.assertNotIn("not in it", said)

    def test_of_a_running_process(self):
        process = self.start("mapped")
        view = self.memprof("live", str(process.pid), "--count", "1", "--interval", "0.1").stdout.decode()
        self.assertRegex(view, r"Not in it: [56]\d\.\d MiB of 6\d\.\d MiB anonymous memory")

    def test_v8s_heap_has_its_name(self):
        script = self.folder / "keeps.js"
        script.write_text("const kept = [];\nfor (let i = 0; i < 400000; i++) kept.push({ i, t: [i] });\n")
        said, path = self.run_it(shutil.which("node"), script)
        self.assertRegex(said.splitlines()[-1], r"not in it: .* anonymous memory \(V8's heap is not malloc's; ")
        self.assertEqual(self.report(path)["unseen_heap"]["owner"], "V8's heap")

    def test_a_program_without_samples_is_not_said_to_have_allocated_nothing(self):
        said, path = self.run_it(PROGRAM, "mapped", options=("-r", "1G"))
        self.assertNotIn("allocated less", said)
        text = self.memprof("report", path).stdout.decode()
        self.assertNotIn("The program allocated", text)

    def test_a_fork_childs_memory_is_that_before_it_frees_what_it_inherited(self):
        script = self.folder / "forks.py"
        script.write_text("import os, sys\n"
                          "data = [{'id': i, 'n': 'x%d' % i} for i in range(200000)]\n"
                          "if os.fork() == 0:\n"
                          "    kept = [bytearray(1000) for _ in range(3000)]\n"
                          "    status = open('/proc/self/status').read()\n"
                          "    print(status.split('VmRSS:')[1].split()[0], flush=True)\n"
                          "    sys.exit(0)\n"
                          "os.wait()\n")
        done = e2e.run([e2e.COMMAND, "run", "-r", "64k", "-o", self.folder / "f.%p.pb", "--", e2e.system_python(), script],
                       cwd=self.folder)
        self.check(done, stderr=None)
        before = int(done.stdout.split()[0]) << 10
        profiles = [json.loads(self.memprof("report", path, "--json").stdout) for path in self.folder.glob("f.*.pb")]
        self.assertEqual(len(profiles), 2)
        child = min(profiles, key=lambda p: p["totals"]["alloc_space"]["value"])
        self.assertAlmostEqual(child["resident"]["rss_bytes"], before, delta=0.1 * before)


if __name__ == "__main__":
    e2e.main()
