#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libmemprof.dylib in a loader on Linux, whose libmalloc calls the logger as macOS's does: what programs say that they allocated
against their profiles.

usage: macos_test.py [TEST...]    ./dev macos builds what it needs, and runs it

MEMPROF_MACOS_PROCESSORS  which processors (this machine's)
MEMPROF_MACOS_ROUNDS      how often a test of what threads do at once is run (3)
MEMPROF_MACOS_EVENTS      how much such a run allocates: rounds of each thread (500)
Status 77 where zig is not to be had.
"""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import macos

sys.path.insert(0, str(macos.ROOT / "tests/e2e"))
for variable, value in (("LIBRARY", "-"), ("COMMAND", macos.ROOT / "build/release/bin/memprof"), ("PROGRAMS", "-"), ("SOURCE", macos.ROOT)):
    os.environ.setdefault(f"MEMPROF_E2E_{variable}", str(value))
import e2e  # noqa: E402, pylint: disable=wrong-import-position

PROCESSORS = os.environ.get("MEMPROF_MACOS_PROCESSORS", platform.machine()).split()
ROUNDS = int(os.environ.get("MEMPROF_MACOS_ROUNDS", "3"))
EVENTS = os.environ.get("MEMPROF_MACOS_EVENTS", "500")
LIBRARIES, MACHINES, PROGRAMS = {}, {}, {}


def setUpModule():
    global FOLDER
    FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="memprof-macos-"))
    for processor in PROCESSORS:
        folder = FOLDER / processor
        folder.mkdir()
        MACHINES[processor] = macos.Machine(processor, folder)


def tearDownModule():
    shutil.rmtree(FOLDER)


def program(processor, name):
    if (processor, name) not in PROGRAMS:
        path = MACHINES[processor].build_program(name)
        PROGRAMS[processor, name] = (path, macos.Symbols(path))
    return PROGRAMS[processor, name]


class Case(unittest.TestCase):
    maxDiff = None

    def each_processor(self):
        for processor in PROCESSORS:
            with self.subTest(processor=processor):
                yield processor

    def record(self, processor, name, *arguments, status=0, rate="0", **variables):
        """(what the program said, the path of its profile)."""
        path, _ = program(processor, name)
        profile = FOLDER / f"{name}-{len(list(FOLDER.iterdir()))}.pb"
        done = MACHINES[processor].run(LIBRARIES[processor], [path, *arguments], MEMPROF_PROFILE=str(profile), MEMPROF_RATE=rate, **variables)
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
        return done.stdout, profile

    def sums(self, processor, name, profile):
        """Function -> sums of samples with it in their stack; named by the symbols, not by our own reader."""
        path, symbols = program(processor, name)
        found = {}
        for frames, values, _ in profile.samples:
            ours = {symbols.name(f.address - 1 - f.mapping["start"]) for f in frames if f.mapping and f.mapping["path"] == str(path)}
            for function in ours:
                row = found.setdefault(function, dict.fromkeys(e2e.METRICS, 0))
                for metric in e2e.METRICS:
                    row[metric] += values[metric]
        return found

    def check_truth(self, processor, name, out, path):
        profile = e2e.Profile(path)
        found = self.sums(processor, name, profile)
        truths = [line.split() for line in out.splitlines() if re.fullmatch(r"\w+( \d+){4}", line)]
        self.assertGreater(len(truths), 2)
        wrong = []
        for function, *numbers in truths:
            row = found.get(function, dict.fromkeys(e2e.METRICS, 0))
            got = [row[metric] for metric in ("inuse_objects", "inuse_space", "alloc_objects", "alloc_space")]
            if got != [int(number) for number in numbers]:
                wrong.append((function, got, numbers))
        self.assertEqual(wrong, [])
        # Nothing else allocated.
        self.assertEqual(profile.total("alloc_objects"), sum(int(truth[3]) for truth in truths))
        return profile


class Exact(Case):
    def test_each_function_of_libmalloc(self):
        for processor in self.each_processor():
            for _ in range(ROUNDS):
                out, path = self.record(processor, "exact", 8, EVENTS, status=42, MEMPROF_LOADER_YIELD="1")
                profile = self.check_truth(processor, "exact", out, path)
                # To the first function of each thread, and without the allocator's own frames.
                path_of_program = str(program(processor, "exact")[0])
                for frames, _, _ in profile.samples:
                    self.assertEqual(frames[0].mapping["path"], path_of_program)

    def test_addresses_that_realloc_frees(self):
        for processor in self.each_processor():
            for _ in range(ROUNDS):
                out, path = self.record(processor, "race", EVENTS, MEMPROF_LOADER_YIELD="1")
                self.check_truth(processor, "race", out, path)


def main():
    if macos.llvm("llvm-nm") is None:
        print("skipped: llvm-nm is not installed (llvm-19)")
        return 77
    for processor in list(PROCESSORS):
        why = macos.Machine.reason_to_skip(processor)
        library, why = (None, why) if why else macos.build(processor, len(os.sched_getaffinity(0)))
        if library is None:
            print(f"skipped: {why}")
            return 77
        LIBRARIES[processor] = library
    return 0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
