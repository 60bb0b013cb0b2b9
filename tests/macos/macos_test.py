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
import gzip
import json
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
import real_files

sys.path.insert(0, str(macos.ROOT / "tests/e2e"))
for variable, value in (("LIBRARY", "-"), ("COMMAND", macos.ROOT / "build/release/bin/memprof"), ("PROGRAMS", "-"), ("SOURCE", macos.ROOT)):
    os.environ.setdefault(f"MEMPROF_E2E_{variable}", str(value))
import e2e  # noqa: E402, pylint: disable=wrong-import-position

PROCESSORS = os.environ.get("MEMPROF_MACOS_PROCESSORS", platform.machine()).split()
ROUNDS = int(os.environ.get("MEMPROF_MACOS_ROUNDS", "3"))
EVENTS = os.environ.get("MEMPROF_MACOS_EVENTS", "500")
WHOLE = os.environ.get("MEMPROF_TEST_WHOLE") == "1"
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
        self.assertGreater(len(truths), 1)
        wrong = []
        for function, *numbers in truths:
            row = found.get(function, dict.fromkeys(e2e.METRICS, 0))
            got = [row[metric] for metric in ("inuse_objects", "inuse_space", "alloc_objects", "alloc_space")]
            if got != [int(number) for number in numbers]:
                wrong.append((function, got, numbers))
        self.assertEqual(wrong, [], processor)
        # Nothing else allocated.
        self.assertEqual(profile.total("alloc_objects"), sum(int(truth[3]) for truth in truths))
        return profile


class Exact(Case):
    def test_each_function_of_libmalloc(self):
        for processor in PROCESSORS:
            for _ in range(ROUNDS):
                out, path = self.record(processor, "exact", 8, EVENTS, status=42, MEMPROF_LOADER_YIELD="1")
                profile = self.check_truth(processor, "exact", out, path)
                # To the first function of each thread, and without the allocator's own frames.
                path_of_program = str(program(processor, "exact")[0])
                for frames, _, _ in profile.samples:
                    self.assertEqual(frames[0].mapping["path"], path_of_program)

    def test_addresses_that_realloc_frees(self):
        for processor in PROCESSORS:
            for _ in range(ROUNDS):
                out, path = self.record(processor, "race", EVENTS, MEMPROF_LOADER_YIELD="1")
                self.check_truth(processor, "race", out, path)

    def test_they_are_lost_where_realloc_is_not_seen_before(self):
        """So the test above can fail. What is allocated is right also then."""
        for processor in PROCESSORS:
            out, path = self.record(processor, "race", 5000, MEMPROF_LOADER_YIELD="1", MEMPROF_LOADER_INTERPOSES="0")
            kept = next(line.split() for line in out.splitlines() if line.startswith("keep_block "))
            found = self.sums(processor, "race", e2e.Profile(path))["keep_block"]
            self.assertLess(found["inuse_objects"], int(kept[1]))
            self.assertEqual(found["alloc_objects"], int(kept[3]))


class Life(Case):
    def check_life(self, kind, status=0, **variables):
        for processor in PROCESSORS:
            out, path = self.record(processor, "life", kind, status=status, **variables)
            yield processor, self.check_truth(processor, "life", out, path)

    def test_threads_that_come_and_go(self):
        """More of them than states of threads in a chunk; destructors of keys allocate, too."""
        for _ in self.check_life("threads"):
            pass

    def test_zones(self):
        """Each a heap by its name; a zone that is destroyed takes its blocks with it."""
        for _, profile in self.check_life("zones"):
            live = {}
            for _, values, labels in profile.samples:
                live[labels.get("heap")] = live.get(labels.get("heap"), 0) + values["inuse_objects"]
            self.assertEqual(live, {None: 1, "even": 50, "odd": 50})

    def test_a_stack_of_a_hundred_frames(self):
        for processor, profile in self.check_life("deep"):
            deepest = max(len(frames) for frames, _, _ in profile.samples)
            self.assertGreater(deepest, 101, processor)

    def test_another_logger_behind_and_before(self):
        for processor in PROCESSORS:
            out, path = self.record(processor, "life", "chain")
            found = self.sums(processor, "life", e2e.Profile(path))
            for name in ("keep_here", "main"):
                truth = next(line.split()[1:] for line in out.splitlines() if line.startswith(name + " "))
                got = [found[name][metric] for metric in ("inuse_objects", "inuse_space", "alloc_objects", "alloc_space")]
                self.assertEqual(got, [int(number) for number in truth], name)

    def test_a_logger_that_was_there_before(self):
        """It has each call, too."""
        for processor in PROCESSORS:
            out, path = self.record(processor, "race", 100, MEMPROF_LOADER_LOGGER="1")
            self.check_truth(processor, "race", out, path)
            # keep_block, site_first, site_moved, and a free: 4 calls a round and thread.
            self.assertEqual(out.splitlines()[-1], f"the first logger had {8 * 100 * 4} calls")

    def test_fork(self):
        """A child that is followed has a profile of its own, in which nothing of its parent is."""
        for processor in PROCESSORS:
            path, _ = program(processor, "life")
            folder = FOLDER / f"fork-{processor}"
            folder.mkdir()
            done = MACHINES[processor].run(LIBRARIES[processor], [path, "fork"], MEMPROF_PROFILE=f"{folder}/%p.pb", MEMPROF_RATE="0",
                                           MEMPROF_FOLLOW_FORK="1")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            lines = done.stdout.splitlines()
            child, parent = sorted(folder.iterdir(), key=lambda file: "keep_child" not in self.sums(processor, "life", e2e.Profile(file)))
            self.check_truth(processor, "life", "\n".join(lines[:3]), child)
            self.assertEqual(self.sums(processor, "life", e2e.Profile(parent))["keep_here"]["inuse_objects"], 2)

    def test_a_killed_program_leaves_its_tables(self):
        """A file that memprof reads on Linux as it is."""
        for processor in PROCESSORS:
            path, _ = program(processor, "life")
            folder = FOLDER / f"kill-{processor}"
            folder.mkdir()
            done = MACHINES[processor].run(LIBRARIES[processor], [path, "kill"], MEMPROF_PROFILE=f"{folder}/x.pb", MEMPROF_RATE="0",
                                           MEMPROF_ARENA_DIR=str(folder))
            self.assertNotEqual(done.returncode, 0)
            arena, = folder.glob("*.arena")
            if not e2e.COMMAND.exists():
                self.skipTest(f"{e2e.COMMAND} is not built")
            exported = subprocess.run([e2e.COMMAND, "export", arena, "-o", folder / "x.pb"], capture_output=True, text=True, check=False)
            self.assertEqual(exported.returncode, 0, exported.stderr)
            self.check_truth(processor, "life", done.stdout, folder / "x.pb")

    def test_the_program_does_what_it_does_alone(self):
        for processor in PROCESSORS:
            path, _ = program(processor, "exact")
            alone = MACHINES[processor].run(None, [path, 2, 50])
            out, _ = self.record(processor, "exact", 2, 50, status=42)
            self.assertEqual((alone.returncode, alone.stdout), (42, out))


class Names(Case):
    """The command's own names, by symbols and by what dsymutil made, against places that allocate as many bytes as their line."""

    PLACES = int(os.environ.get("MEMPROF_MACOS_PLACES", "400"))

    def write_source(self, path):
        """Functions of two places each: in the function, and in one that is inlined into it."""
        lines = ["#include <stdlib.h>", "#define STAY __asm__ volatile(\"\" ::: \"memory\")", "void* g_kept;"]
        for number in range(self.PLACES // 2):
            lines += [f"static inline __attribute__((always_inline)) void inner_{number}(void) {{",
                      "  g_kept = malloc(__LINE__); STAY;", "}",
                      f"__attribute__((noinline)) void outer_{number}(void) {{", f"  inner_{number}();",
                      "  g_kept = malloc(__LINE__); STAY;", "}"]
        lines += ["int main(void) {", *(f"  outer_{number}();" for number in range(self.PLACES // 2)), "  return 0;", "}"]
        path.write_text("\n".join(lines) + "\n")

    def report(self, profile):
        done = subprocess.run([e2e.COMMAND, "report", "--json", "--by", "line", "-n", "1000000", "--all-frames", "--metric", "alloc_space", profile],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)["rows"]

    def test_functions_and_lines(self):
        if not pathlib.Path(e2e.COMMAND).exists() or macos.llvm("dsymutil") is None:
            self.skipTest("memprof or dsymutil (llvm-19) is not here")
        for processor in PROCESSORS:
            machine = MACHINES[processor]
            source = machine.folder / "places.c"
            self.write_source(source)
            path = machine.build_source(source, "places")
            profile = machine.folder / "places.pb"
            done = machine.run(LIBRARIES[processor], [path], MEMPROF_PROFILE=str(profile), MEMPROF_RATE="0")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            # Symbols alone: the function that was compiled into each address.
            rows = [row for row in self.report(profile) if row["self"]["alloc_space"]["value"]]
            self.assertEqual({row["name"] for row in rows}, {f"outer_{number}" for number in range(self.PLACES // 2)})
            subprocess.run([macos.llvm("dsymutil"), path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            rows = [row for row in self.report(profile) if row["self"]["alloc_space"]["value"]]
            text = source.read_text().splitlines()
            places = {}
            for row in rows:
                self.assertEqual((row["file"], row["self"]["alloc_space"]["value"]), (str(source), row["line"]), row)
                places[row["line"]] = row["name"]
            wanted = {}
            for number, line in enumerate(text, 1):
                if "(void) {" in line:
                    function = re.search(r"(\w+)\(void\) {", line)[1]
                elif "malloc(__LINE__)" in line:
                    wanted[number] = function
            self.assertEqual(len(wanted), self.PLACES // 2 * 2)
            self.assertEqual(places, wanted)

    def test_symbols_of_real_files(self):
        """Of stripped and unstripped ones: the name of each function is one that llvm-nm has at its address."""
        if not WHOLE:
            self.skipTest("only with MEMPROF_TEST_WHOLE=1: it fetches 22 MB")
        files, why = real_files.fetch(macos.ROOT / "build/macos-files")
        if files is None:
            self.skipTest(why)
        asked = right = 0
        for file in files:
            symbols = real_files.symbols_of(file)
            if not symbols:
                continue
            profile, named = FOLDER / "real.pb", FOLDER / "named.pb"
            real_files.write_profile(profile, file, real_files.uuid_of(file), [address + 1 for address in symbols])
            named.unlink(missing_ok=True)
            subprocess.run([e2e.COMMAND, "export", profile, "-o", named], check=True, capture_output=True)
            for location, system_name in system_names(named).items():
                asked += 1
                right += system_name in symbols[location - 1]
        print(f"{asked} functions of {len(files)} files, {right} right", flush=True)
        self.assertGreater(asked, 1000)
        self.assertGreater(right / asked, 0.999)


def system_names(path):
    """Address -> the mangled name of its function."""
    data = pathlib.Path(path).read_bytes()
    fields = list(e2e.message_fields(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data))
    strings = [value.decode() for key, value in fields if key == 6]
    functions = {f[1]: strings[f.get(3, 0)] for f in (dict(e2e.message_fields(v)) for k, v in fields if k == 5)}
    found = {}
    for body in (list(e2e.message_fields(v)) for k, v in fields if k == 4):
        simple = {k: v for k, v in body if k != 4}
        lines = [dict(e2e.message_fields(v)) for k, v in body if k == 4]
        found[simple.get(3, 0)] = functions[lines[-1][1]] if lines else ""
    return found


class Library(unittest.TestCase):
    """What of a file of macOS's can be looked at without one."""

    def said(self, processor, tool, *options):
        return subprocess.run([macos.llvm(tool), *options, LIBRARIES[processor]], stdout=subprocess.PIPE, text=True, check=True).stdout

    def test_it_needs_libsystem_alone(self):
        for processor in PROCESSORS:
            said = self.said(processor, "llvm-objdump", "--macho", "--dylibs-used")
            self.assertEqual([line.split()[0] for line in said.splitlines()[1:]], ["@rpath/libmemprof.0.dylib", "/usr/lib/libSystem.B.dylib"])

    def test_its_header(self):
        for processor in PROCESSORS:
            said = self.said(processor, "llvm-objdump", "--macho", "--private-headers")
            self.assertEqual(set(re.findall(r"minos (\S+)", said)), {macos.MIN_MACOS})
            self.assertRegex(said, "sectname __interpose")
            self.assertRegex(said, "LC_UUID")
            # dyld would make a thread's part of these by malloc.
            self.assertNotRegex(said, "sectname __thread")
            # arm64 runs signed code only.
            self.assertEqual("LC_CODE_SIGNATURE" in said, processor == "aarch64")

    def test_what_it_exports(self):
        """The functions of capi/exports.map that are no allocator's, and nothing of a C++ library."""
        wanted = {f"_{name}" for name in re.findall(r"^ +(memprof_[a-z0-9_]+);$", (macos.ROOT / "capi/exports.map").read_text(), re.M)}
        for processor in PROCESSORS:
            exported = {line.split()[-1] for line in self.said(processor, "llvm-nm", "-g", "--defined-only").splitlines() if line}
            self.assertEqual(exported - {"__mh_dylib_header", "___dso_handle"}, wanted - {"_memprof_abi1_count"})

    def test_what_it_imports(self):
        """Nothing that allocates by itself, but where a program asks for a snapshot."""
        for processor in PROCESSORS:
            imported = {line.split()[-1].split("$")[0] for line in self.said(processor, "llvm-nm", "-u").splitlines() if line}
            self.assertEqual({name for name in imported if re.match(r"__Z|_dlopen|__tlv_|_printf|_fopen|_pthread_mutex|_objc", name)}, set())
            self.assertLessEqual({"_malloc_logger", "_realloc", "_pthread_getspecific"}, imported)


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
