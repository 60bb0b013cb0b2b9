# SPDX-License-Identifier: Apache-2.0
"""Allocators whose callers were compiled together with them, and know which registers they leave alone.

tests/harm/kinds/callees.py makes many such programs; here are those that memprof once ended.
"""
import os
import platform
import shutil
import subprocess
import unittest

import attaching
import e2e

RATES = ("0", "4k", "512k")
BLOCKS = 2000
STATIC_BLOCKS = 1000
# How the two units are compiled, and whether they are one.
BUILDS = [("one unit", ["-O2", "-DONE_UNIT"]), ("one unit, -O1", ["-O1", "-DONE_UNIT"]), ("one unit, -O3 -mno-red-zone", ["-O3", "-mno-red-zone", "-DONE_UNIT"]),
          ("one unit, -Os -fcf-protection", ["-Os", "-fcf-protection=full", "-DONE_UNIT"]), ("two units", ["-O2"]),
          ("two units, -flto", ["-O2", "-flto"])]


@unittest.skipUnless(platform.machine() == "x86_64", "hooks are written for x86-64")
class TrustingCallers(attaching.Test):
    def build(self, compiler, options):
        sources = ["trusting_callers.cc"] + ([] if "-DONE_UNIT" in options else ["trusted_allocator.cc"])
        program = self.folder / "trusting_callers"
        subprocess.run([compiler, *options, *(e2e.SOURCE / "tests/e2e/programs" / s for s in sources), "-o", program], check=True)
        return program

    def each_program(self, check, builds=BUILDS):
        for compiler in (os.environ["MEMPROF_E2E_CXX"], "clang++-19"):
            if shutil.which(compiler) is None:
                continue
            # clang's -flto needs a linker of its own, and it saves no registers that gcc does not.
            for name, options in builds if "clang" not in compiler else builds[:1]:
                with self.subTest(compiler=compiler, build=name):
                    check(self.build(compiler, options))

    def test_run(self):
        """Each block is seen, and the program computes what it computes alone."""
        def check(program):
            names = subprocess.run(["nm", program], stdout=subprocess.PIPE, check=True).stdout
            alone = self.check(e2e.run([program, "3"], e2e.plain_environment())).stdout
            for rate in RATES:
                out = self.folder / "out.pb.gz"
                done = self.memprof("run", "-r", rate, "--force", "-o", out, "--", program, "3")
                self.assertEqual(done.stdout, alone, rate)
                if rate == "0" and b".constprop" not in names:  # such a clone has a name that is no allocator's
                    (row,) = [row for row in self.report(out, "--by", "heap")["rows"] if "trusting_callers" in row["name"]]
                    self.assertGreaterEqual(row["self"]["alloc_objects"]["value"], 3 * BLOCKS)

        self.each_program(check)

    def test_static_functions(self):
        """They are never called but as the program does, and each block is seen."""
        program = self.folder / "static_allocator"
        for compiler in (os.environ["MEMPROF_E2E_CC"], "clang-19"):
            for option in ("-O1", "-O2", "-O3") if shutil.which(compiler) else ():
                with self.subTest(compiler=compiler, option=option):
                    subprocess.run([compiler, option, e2e.SOURCE / "tests/e2e/programs/static_allocator.c", "-o", program], check=True)
                    alone = self.check(e2e.run([program, "3"], e2e.plain_environment())).stdout
                    for rate in RATES:
                        out = self.folder / "out.pb.gz"
                        done = self.memprof("run", "-r", rate, "--force", "-o", out, "--", program, "3")
                        self.assertEqual(done.stdout, alone, rate)
                        if rate == "0":
                            (row,) = [row for row in self.report(out, "--by", "heap")["rows"] if "rpmalloc" in row["name"]]
                            self.assertEqual(row["self"]["alloc_objects"]["value"], 3 * STATIC_BLOCKS)
                            self.assertEqual(row["self"]["inuse_objects"]["value"], 0)

    def test_operators_that_count_their_calls(self):
        """memprof makes none, and each block is seen once: by malloc's hooks, where the operators call that."""
        program = self.folder / "counting_operators"
        for options in (["-O2"], ["-O2", "-DPOOL"]):
            with self.subTest(options):
                subprocess.run([os.environ["MEMPROF_E2E_CXX"], *options, e2e.SOURCE / "tests/e2e/programs/counting_operators.cc", "-o", program],
                               check=True)
                for count in ("20", "1000"):
                    for rate in RATES:
                        out = self.folder / "out.pb.gz"
                        done = self.memprof("run", "-r", rate, "--force", "-o", out, "--", program, count)
                        self.assertEqual(done.stdout, f"{count} {count}\n".encode(), rate)
                        if rate == "0":
                            total = self.report(out, "--by", "heap")["rows"]
                            bytes_of_blocks = sum(row["self"]["alloc_space"]["value"] for row in total)
                            # What the C library takes besides is its buffer for standard output.
                            self.assertIn(bytes_of_blocks - 80 * int(count), (0, 1024, 4096))

    def test_attach(self):
        def check(program):
            names = subprocess.run(["nm", program], stdout=subprocess.PIPE, check=True).stdout
            process = self.begin(program, "attach")
            expected = self.round(process)
            for rate in RATES:
                said = self.attach(process, "-r", rate)
                if rate == RATES[0] and b".constprop" not in names:
                    self.assertIn("is hooked", said)
                self.assertEqual(self.round(process), expected)
                self.assertEqual(self.round(process), expected)
                self.attach(process, "--stop")
                self.assertEqual(self.round(process), expected)
            self.check_end(process)

        self.each_program(check, [BUILDS[0], BUILDS[-1]])

    @staticmethod
    def round(process):
        process.stdin.write(b"\n")
        process.stdin.flush()
        return process.stdout.readline()


if __name__ == "__main__":
    e2e.main()
