#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""memprof.exe and memprof.dll under wine: programs of known truth, and real ones whose truth is wine's own trace of its heap.

usage: windows_test.py [TEST...]    ./dev windows builds what it needs, and runs it

MEMPROF_WINDOWS_BIN    the folder with memprof.exe and memprof.dll (build/windows/bin)
MEMPROF_E2E_COMMAND    memprof of Linux, which reads the profiles (build/release/bin/memprof)
MEMPROF_WINDOWS_ROUNDS how often hooks are put in and taken out again, and profiling is stopped and started (100)
Status 77: wine or the compiler is not here.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import case
import wine
from case import BIN, COMMAND, FOLDER, LONG_SECONDS, ROUNDS, WINE, Case, mapped
from mappings import Mappings  # noqa: F401, pylint: disable=unused-import

setUpModule = case.set_up
tearDownModule = case.tear_down


class Windows(Case):
    def test_each_way_to_allocate(self):
        program = wine.build_program("heaps", FOLDER)
        report = self.check_program(program, ["", "a b", 'quote" and \\', "back\\\\"], status=42)
        self.assertEqual(report["program"], "heaps.exe")
        # By name, through the C runtime and the heaps, up to where threads begin.
        names = {row["name"] for row in report["rows"]}
        self.assertLessEqual({"main", "LocalAlloc", "RtlUserThreadStart"}, names)

    def test_a_killed_program_has_a_profile(self):
        program = wine.build_program("heaps", FOLDER)
        status, out, _, profile = self.record([program, "kill"], status=5)
        self.assertEqual(status, 5)
        self.check_truth(out, self.report(profile))

    def test_threads_fibers_and_exceptions(self):
        report = self.check_program(wine.build_program("corners", FOLDER), status=9)
        # Each stack is whole: of short threads, of a fiber, and through the loader at the process's end.
        endings = report["stack_health"]["endings"]
        self.assertEqual({name for name, ending in endings.items() if ending["samples"]}, {"root"})

    def test_processes_that_it_starts(self):
        heaps, starter = wine.build_program("heaps", FOLDER), wine.build_program("starter", FOLDER)
        before = set(FOLDER.glob("*.pb.gz"))
        got, out, err, profile = self.record([starter, heaps.name], status=42)
        self.assertIn("and 2 of processes that it started", err)
        self.assertEqual((got, out), WINE.run([starter, heaps.name], cwd=FOLDER)[:2])
        others = set(FOLDER.glob("*.pb.gz")) - before - {profile}
        self.assertEqual(len(others), 2)
        for other in others:
            report = self.report(other)
            self.assertEqual(report["program"], "heaps.exe")
            self.check_truth("\n".join(out.splitlines()[:12]), report)
        self.assertEqual(self.report(profile)["program"], "starter.exe")

    def test_estimates(self):
        """100 MB at a rate of 4 KiB: 0.6 % off in one of three, 3 % in one of a million."""
        program = wine.build_program("many", FOLDER)
        _, out, _, profile = self.record([program], rate="4k", status=0)
        rows = {row["name"]: row["cumulative"] for row in self.report(profile)["rows"]}
        for line in out.splitlines():
            name, live, allocated = line.split()
            self.assertAlmostEqual(rows[name]["inuse_space"]["value"] / int(live), 1, delta=0.06, msg=name)
            self.assertAlmostEqual(rows[name]["alloc_space"]["value"] / int(allocated), 1, delta=0.03, msg=name)

    def test_hooks_under_threads(self):
        program = wine.build_program("hooking", FOLDER)
        _, out, err = WINE.run([program, ROUNDS], cwd=FOLDER, status=0, seconds=LONG_SECONDS)
        self.assertEqual(out, f"hooked {ROUNDS}, undone {ROUNDS} of {ROUNDS}; all blocks are right\n")
        self.assertNotIn("memprof", err)

    def test_profiling_starts_and_stops_under_threads(self):
        """With hooks in: what threads map and unmap meanwhile is followed, and nothing of it is left."""
        _, out, _, profile = self.record([wine.build_program("hooking", FOLDER), ROUNDS, "profile"], rate="64k", status=0, seconds=LONG_SECONDS)
        self.assertEqual(out, f"hooked {ROUNDS}, undone {ROUNDS} of {ROUNDS}; all blocks are right\n")
        self.assertEqual(mapped(self.report(profile)["totals"]), [0, 0])

    def test_hooks_under_threads_that_are_profiled(self):
        _, out, err, _ = self.record([wine.build_program("hooking", FOLDER), ROUNDS], rate="64k", status=0, seconds=LONG_SECONDS)
        self.assertEqual(out, f"hooked {ROUNDS}, undone {ROUNDS} of {ROUNDS}; all blocks are right\n")
        self.assertEqual(err.count("memprof"), 2, err)  # where the profile is

    def test_walks_are_those_of_windows(self):
        """Of stacks of many kinds, frame by frame as RtlVirtualUnwind has them."""
        _, out, _ = WINE.run([BIN / "memprof_windows_tests.exe", "--gtest_brief=1"], status=0)
        self.assertIn("PASSED", out)

    def test_what_cannot_be_written_stays(self):
        """The file of the tables is there, and can be read as it is."""
        program = wine.build_program("heaps", FOLDER)
        status, out, err = WINE.run([FOLDER / "memprof.exe", "run", "-r", "0", "-o", "nowhere/x.pb.gz", program], cwd=FOLDER)
        self.assertEqual((status, err.count("memprof: ")), (42, 1), err)
        left = pathlib.PureWindowsPath(re.search(r"what was recorded stays in (.*)", err)[1])
        arena = next(WINE.prefix.rglob(left.name))
        self.check_truth(out, self.report(arena))
        shutil.rmtree(arena.parent)

    def test_wrong_use(self):
        (FOLDER / "there.pb").touch()
        for arguments, said in (([], "usage: memprof run"), (["run"], "no program given"), (["run", "--what", "x"], "unknown option '--what'"),
                                (["run", "-r", "5x", "x.exe"], "'5x' is not a rate"), (["run", "nowhere.exe"], "cannot start it"),
                                (["run", "-r"], "-r needs a value"), (["run", "-o", "x.txt", "x.exe"], "must end in"),
                                (["run", "-o", "there.pb", "x.exe"], "already exists")):
            status, out, err = WINE.run([FOLDER / "memprof.exe", *arguments], cwd=FOLDER)
            self.assertEqual((status, out), (2, ""), arguments)
            self.assertIn(said, err)
        self.assertRegex(WINE.run([FOLDER / "memprof.exe", "--version"], status=0)[1], r"^memprof \d+\.\d+\.\d+\n$")
        self.assertEqual(list(FOLDER.glob("memprof-*.pb.gz")), [])

    def test_the_library_is_self_contained(self):
        """It loads nothing but what every process has."""
        said = subprocess.run(["x86_64-w64-mingw32-objdump", "-p", BIN / "memprof.dll"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(set(re.findall(r"DLL Name: (\S+)", said)), {"KERNEL32.dll", "ntdll.dll"})


class Names(Case):
    """Functions, files and lines against a program that allocates as many bytes as its line, each place once."""

    PLACES = 5000

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

    def rows(self, profile):
        """Those of the program's places, and what is said besides."""
        done = subprocess.run([COMMAND, "report", "--json", "--by", "line", "-n", "1000000", "--all-frames", "--metric", "alloc_space", profile],
                              env={**os.environ, "WINEPREFIX": str(WINE.prefix)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
        rows = json.loads(done.stdout)["rows"]
        return [row for row in rows if re.fullmatch(r"(inner|outer)_\d+", row["name"])], done.stderr

    def check_places(self, source, profile):
        """Each place has its function, its file and its line: the bytes that were allocated there say which it is."""
        function, wanted = "", {}
        for number, line in enumerate(source.read_text().splitlines(), 1):
            if "(void) {" in line:
                function = re.search(r"(\w+)\(void\) {", line)[1]
            elif "malloc(__LINE__)" in line:
                wanted[number] = (function, str(source), number)
            elif line.startswith("  inner_"):  # what is allocated in the inlined call
                wanted[number] = (function, str(source), number - 3)
        rows, said = self.rows(profile)
        found = {row["line"]: (row["name"], row["file"], row["cumulative"]["alloc_space"]["value"]) for row in rows}
        self.assertEqual(found, wanted)
        self.assertEqual(len(found), self.PLACES // 2 * 3)
        return said

    def build(self, compiler, source, options):
        program = FOLDER / f"{self.id().rsplit('.', 1)[1]}.exe"
        subprocess.run([*compiler, "-O2", *options, source, "-o", program], check=True)
        return program

    def test_pdbs(self):
        if shutil.which("clang-19") is None or shutil.which("ld.lld-19") is None:
            self.skipTest("clang-19 and lld-19 are not installed; ./dev windows installs them")
        source = FOLDER / "places.c"
        self.write_source(source)
        program = self.build(wine.CLANG, source, ["-g", "-gcodeview", "-Wl,--pdb="])
        _, _, _, profile = self.record([program], status=0)
        self.assertEqual(self.check_places(source, profile), "")
        # The PDB of another build is not used, and that is said.
        pdb = program.with_suffix(".pdb")
        other = FOLDER / "other.c"
        other.write_text(source.read_text() + "int g_more;\n")
        pdb.rename(FOLDER / "right.pdb")
        subprocess.run([*wine.CLANG, "-O2", "-g", "-gcodeview", f"-Wl,--pdb={pdb}", other, "-o", FOLDER / "other.exe"], check=True)
        rows, said = self.rows(profile)
        self.assertEqual({row["line"] for row in rows}, set())
        self.assertRegex(said, rf"memprof: warning: {re.escape(str(pdb))}: belongs to another build of \S+ \(GUID and age \w+, not \w+\); no lines")
        # In a store of symbols it is found.
        pdb.unlink()
        store = FOLDER / "store"
        store.mkdir()
        (FOLDER / "right.pdb").rename(store / pdb.name)
        os.environ["_NT_SYMBOL_PATH"] = f"srv*{store}*https://symbols.example"
        try:
            self.assertEqual(self.check_places(source, profile), "")
        finally:
            del os.environ["_NT_SYMBOL_PATH"]

    def test_dwarf(self):
        source = FOLDER / "places.c"
        self.write_source(source)
        program = self.build(["x86_64-w64-mingw32-gcc-posix"], source, ["-g"])
        _, _, _, profile = self.record([program], status=0)
        self.assertEqual(self.check_places(source, profile), "")
        # And in a file of its own.
        subprocess.run(["x86_64-w64-mingw32-objcopy", "--only-keep-debug", program, f"{program}.debug"], check=True)
        subprocess.run(["x86_64-w64-mingw32-strip", "--strip-all", program], check=True)
        subprocess.run(["x86_64-w64-mingw32-objcopy", f"--add-gnu-debuglink={program}.debug", program], check=True)
        _, _, _, profile = self.record([program], status=0)
        self.assertEqual(self.check_places(source, profile), "")


class RealPrograms(Case):
    """Built by MSVC; their truth is wine's own trace of its heap, of the same run."""

    @classmethod
    def setUpClass(cls):
        programs, why = wine.fetch(wine.FOLDER / "programs")
        if programs is None:
            raise unittest.SkipTest(why)
        cls.ninja, cls.python = programs

    def traced(self, err, pid):
        """What the heap gave, and what of it is left, since memprof.dll tried its hooks by a block of one byte."""
        lines = [line for line in err.splitlines() if line.startswith(f"{pid:04x}:") and "trace:heap:" in line]
        number = r"(?:0x)?(\w+)"
        allocated = re.compile(rf"RtlAllocateHeap handle \S+ flags \S+ size {number}, return (\w+), status 0")
        moved = re.compile(rf"RtlReAllocateHeap handle \S+ flags \S+ ptr (\w+), size {number}, return (\w+), status 0")
        freed = re.compile(r"RtlFreeHeap handle \S+ flags \S+ ptr (\w+), return 1")
        begin = next(i for i, line in enumerate(lines) if "flags 0, size 0x1," in line and "RtlAllocateHeap" in line and
                     freed.search(lines[i + 1]) and freed.search(lines[i + 1])[1] == allocated.search(line)[2])
        blocks = size = 0
        live = {}
        for line in lines[begin + 2:]:
            if match := allocated.search(line):
                live[match[2]] = int(match[1], 16)
                blocks, size = blocks + 1, size + live[match[2]]
            elif match := moved.search(line):
                old, new, new_size = match[1], match[3], int(match[2], 16)
                if new == old or new not in live:  # else it allocated the block by RtlAllocateHeap, which was traced
                    blocks, size = blocks + 1, size + new_size
                if new != old:
                    live.pop(old, None)
                live[new] = new_size
            elif match := freed.search(line):
                live.pop(match[1], None)
        return {"alloc_objects": blocks, "alloc_space": size, "inuse_objects": len(live), "inuse_space": sum(live.values())}

    def check_real(self, command, status, min_blocks):
        alone = WINE.run(command, cwd=FOLDER)
        self.assertEqual(alone[0], status, alone)
        got, out, err, profile = self.record(command)
        ours = [line for line in err.splitlines() if line.startswith("memprof: ")]
        self.assertEqual((got, out, err.replace("\n".join(ours) + "\n", "")), alone)
        self.assertEqual(len(ours), 1, err)
        _, _, err, profile = self.record(command, debug="-all,+heap,+pid", status=status)
        report = self.report(profile)
        totals = {key: value["value"] for key, value in report["totals"].items() if not key.startswith(("peak_", "mapped_"))}
        self.assertEqual(totals, self.traced(err, report["pid"]))
        self.assertGreater(totals["alloc_objects"], min_blocks)
        return report

    def test_ninja(self):
        targets = "".join(f"build out{i}: touch in{i}\n" for i in range(200))
        (FOLDER / "build.ninja").write_text("rule touch\n  command = cmd /c echo hi > $out\n" + targets)
        for i in range(200):
            (FOLDER / f"in{i}").touch()
        self.check_real([self.ninja, "-n"], 0, 2000)

    def test_python(self):
        (FOLDER / "program.py").write_text("import json, sys\n"
                                           "d = [json.loads('{\"a\": [%d, 2], \"b\": \"%s\"}' % (i, 'x' * (i % 700))) for i in range(300)]\n"
                                           "print(len(d), sum(len(e['b']) for e in d), flush=True)\n"
                                           "sys.stderr.write('to standard error\\n')\n"
                                           "sys.exit(3)\n")
        report = self.check_real([self.python, FOLDER / "program.py"], 3, 4000)
        self.assertIn("Py_Main", {row["name"] for row in report["rows"]})

    def test_mappings_of_python(self):
        """Arenas of its small objects, as it counts them, and what a program maps."""
        (FOLDER / "maps.py").write_text("import mmap, os, sys\n"
                                        "kept = [str(i) * 3 for i in range(100000)]\n"
                                        "maps = [mmap.mmap(-1, 1 << 20) for _ in range(5)]\n"
                                        "maps[0].close()\n"
                                        "maps[1].close()\n"
                                        "file = open('maps.bin', 'w+b')\n"
                                        "file.write(b'x' * 300000)\n"
                                        "file.flush()\n"
                                        "maps[0] = mmap.mmap(file.fileno(), 0)\n"
                                        "sys._debugmallocstats()\n"
                                        "sys.stderr.flush()\n"
                                        "os._exit(0)\n")
        _, _, err, profile = self.record([self.python, FOLDER / "maps.py"], status=0)
        arenas = int(re.search(r"arenas allocated current += +(\d+)", err)[1])
        self.assertGreater(arenas, 4)
        self.assertIn(f"{arenas} arenas * 1048576 bytes", err)
        rows = [mapped(row["self"]) for row in self.report(profile)["rows"]]
        self.assertIn([arenas, arenas << 20], rows)
        self.assertIn([4, (3 << 20) + 74 * 4096], rows)


def main():
    why = wine.reason_to_skip()
    if why is None and not (BIN / "memprof.dll").exists():
        why = f"{BIN}/memprof.dll is not there; ./dev windows builds it"
    if why is not None:
        print(f"skipped: {why}")
        return 77
    print(f"{wine.Wine().version()}, {subprocess.run([wine.COMPILER, '--version'], capture_output=True, text=True, check=True).stdout.splitlines()[0]}")
    return 0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
