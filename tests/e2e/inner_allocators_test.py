# SPDX-License-Identifier: Apache-2.0
"""Allocators inside modules: programs with a static jemalloc and tcmalloc, libraries that are loaded later.

At rate 0 the numbers are the truth. At a sampled rate the truth must be within the 95 % interval drawn out threefold
(odds below 4e-9 a comparison).
"""
import errno
import os
import platform
import re
import shutil
import subprocess
import unittest

import e2e

RATE = 16384
WIDER = 3
# A library whose thread runs before the constructor of the library in front of it.
THREAD = """
#include <pthread.h>
#include <unistd.h>
static void* run(void* unused) {
  for (;;) pause();
  return unused;
}
__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, NULL) == 0) pthread_detach(thread);
}
"""
STATIC = {"inner_jemalloc": "jemalloc", "inner_tcmalloc_minimal": "tcmalloc"}


def static_programs():
    found = {name: family for name, family in STATIC.items() if (e2e.PROGRAMS / name).exists()}
    if not found:
        raise unittest.SkipTest("there is no static allocator to link with")
    return found


@unittest.skipUnless(platform.machine() == "x86_64", "hooks are written for x86-64")
class InnerAllocators(e2e.Test):

    def profiled(self, program, *arguments, rate=0, status=0, said=b"", **extra):
        """What it said of itself, and the profile."""
        out = self.folder / f"{len(list(self.folder.iterdir()))}.pb"
        environment = e2e.preloaded(out, rate, MEMPROF_INLINE_HOOKS="1", **extra)
        done = e2e.run([program, *arguments], environment)
        self.check(done, status, said)
        return [int(n) for n in done.stdout.split()[1:]], out

    def test_the_own_interface_of_the_allocator_behind_malloc(self):
        if not (e2e.PROGRAMS / "jemalloc_interface").exists():
            self.skipTest("there is no jemalloc to link with")
        said, profile = self.profile_program("jemalloc_interface", MEMPROF_INLINE_HOOKS="1")
        self.check_truth(said, profile)

    def kept(self, profile, pattern="keep_"):
        """Bytes and blocks that are live in functions whose names begin so."""
        rows = [row for row in self.report(profile, "-n", "1000")["rows"]
                if re.search(rf"\b{pattern}", row["name"])]
        return [sum(row["self"][metric]["value"] for row in rows) for metric in ("inuse_space", "inuse_objects")]

    def mappings(self, profile):
        """Of each function the bytes that it mapped; and what the text says of the rest."""
        report = self.report(profile, "--metric", "mapped_space")
        rows = {row["name"]: row["cumulative"]["mapped_space"]["value"] for row in report["rows"]}
        rows = {name: value for name, value in rows.items() if value != 0}
        return rows, report, self.memprof("report", profile, "--mmap").stdout.decode()

    def test_what_an_allocator_maps_is_not_listed_beside_its_blocks(self):
        """The library's allocator maps a pool of 64 MiB, the program 3 MiB, and memprof pages beside the library's code."""
        truth, profile = self.profiled(e2e.program("inner_host"), e2e.program("inner_plugin.so"), "1000", "1",
                                       MEMPROF_MMAP="1")
        rows, report, text = self.mappings(profile)
        self.assertEqual(report["totals"]["mapped_space"]["value"], 3 << 20, rows)
        self.assertEqual(rows["map_itself"], 3 << 20)
        self.assertGreaterEqual(report["anonymous_allocator_bytes"], truth[0])
        self.assertRegex(text, r"(?m)^Not listed: \d+\.\d MiB in memory, mapped by allocators whose blocks are counted\.$")
        _, profile = self.profiled(e2e.program("inner_host"), e2e.program("inner_plugin.so"), "1000", MEMPROF_MMAP="1")
        rows, _, text = self.mappings(profile)
        self.assertEqual(rows, {})
        self.assertRegex(text, r"The program itself mapped nothing that is left\.\nNot listed: ")

    def test_what_static_allocators_map_is_not_listed_beside_their_blocks(self):
        for name in static_programs():
            truth, profile = self.profiled(e2e.program(name), MEMPROF_MMAP="1")
            rows, report, _ = self.mappings(profile)
            self.assertEqual(rows, {}, name)
            # tcmalloc moves the break, as malloc does.
            self.assertGreater(report["anonymous_allocator_bytes"] + report["anonymous_malloc_bytes"], truth[0] * 0.9, name)

    def heaps(self, profile):
        return {row["name"]: row["self"] for row in self.report(profile, "--by", "heap")["rows"]}

    def test_static_exact(self):
        for name, family in static_programs().items():
            for what in ("", "threads", "fork", "throw"):
                with self.subTest(name=name, what=what):
                    truth, profile = self.profiled(e2e.program(name), what)
                    self.assertEqual(self.kept(profile), truth)
                    self.assertEqual(list(self.heaps(profile)), [f"{family} in {name}"])

    def test_static_freed(self):
        for name in static_programs():
            with self.subTest(name):
                _, profile = self.profiled(e2e.program(name), "free")
                self.assertEqual(self.kept(profile), [0, 0])

    def test_static_sampled(self):
        for name, family in static_programs().items():
            with self.subTest(name):
                truth, profile = self.profiled(e2e.program(name), rate=RATE)
                row = self.heaps(profile)[f"{family} in {name}"]["inuse_space"]
                self.assertLessEqual(row["value"] - WIDER * (row["value"] - row["low"]), truth[0] * 1.001)
                # What the C++ library keeps besides is less than 100,000 bytes.
                self.assertGreaterEqual(row["value"] + WIDER * (row["high"] - row["value"]), truth[0])

    def test_static_stripped(self):
        """The names that are left are those that the loader needs."""
        for name in static_programs():
            with self.subTest(name):
                stripped = self.folder / name
                shutil.copy(e2e.program(name), stripped)
                subprocess.run(["strip", stripped], check=True)
                truth, profile = self.profiled(stripped)
                row = self.heaps(profile)[f"{STATIC[name]} in {name}"]
                self.assertGreaterEqual(row["inuse_space"]["value"], truth[0])
                self.assertLess(row["inuse_space"]["value"], truth[0] + 100000)

    def test_off(self):
        for name in static_programs():
            with self.subTest(name):
                out = self.folder / "off.pb"
                self.check(e2e.run([e2e.program(name)], e2e.preloaded(out, 0)))
                self.assertFalse(out.exists())

    def test_run_and_doctor(self):
        for name, family in static_programs().items():
            with self.subTest(name):
                out = self.folder / f"{name}.pb"
                done = self.memprof("run", "-r", "0", "-o", out, "--", e2e.program(name))
                self.assertEqual(self.kept(out), [int(n) for n in done.stdout.split()[1:]])
                said = self.memprof("doctor", "--", e2e.program(name)).stdout.decode()
                self.assertRegex(said, rf"yes +allocator +\S+ contains {family}, \d+ functions: hooked")
                done = self.memprof("run", "--no-inline-hooks", "-o", self.folder / "off.pb", "--", e2e.program(name))
                self.assertIn(b"contains an allocator", done.stderr)

    def test_loaded_later(self):
        truth, profile = self.profiled(e2e.program("inner_host"), e2e.program("inner_plugin.so"), "100")
        self.assertEqual(self.kept(profile, "plugin_keep"), truth)
        self.assertIn("rpmalloc in inner_plugin.so", self.heaps(profile))

    def test_inlined_into_its_callers(self):
        """As DuckDB's wheel is linked since 2.0: few calls come to jemalloc's own functions."""
        truth, profile = self.profiled(e2e.program("inner_host"), e2e.program("inner_inlined.so"), "100")
        self.assertEqual(self.kept(profile, "plugin_keep"), truth)
        self.assertIn("jemalloc in inner_inlined.so", self.heaps(profile))
        self.assertEqual(self.named(profile).facts["replaced_samples"], "0", "none is counted twice")

    def test_loaded_and_unloaded_again_and_again(self):
        """While other threads allocate; each time it is another module, at an address that may have been another's."""
        truth, profile = self.profiled(e2e.program("inner_host"), e2e.program("inner_plugin.so"), "10", "300")
        self.assertEqual(truth[1], 9000)
        kept = self.heaps(profile)["rpmalloc in inner_plugin.so"]
        self.assertEqual(kept["alloc_objects"]["value"], 300 * 10 * 5)

    def test_names_that_lie(self):
        """Called as the program calls them, they are found to be no allocator, and never called otherwise."""
        truth, profile = self.profiled(
            e2e.program("inner_host"), e2e.program("inner_lying.so"), "100",
            said=b"memprof: rpmalloc in inner_lying.so is not seen: rpmalloc gave no memory of the size that it was "
                 b"called with\n")
        self.assertEqual(truth[0], 500)
        self.assertEqual([name for name in self.heaps(profile) if name != "[default]"], [])

    def test_function_that_gives_nothing_when_it_is_tried(self):
        """It is left as it is, which is said; the others are seen."""
        truth, profile = self.profiled(
            e2e.program("inner_host"), e2e.program("inner_refusing.so"), "100",
            said=b"memprof: rpmalloc in inner_refusing.so: calls of rpmemalign are not seen: it gave nothing when it was tried\n")
        kept = self.kept(profile, "plugin_keep")
        self.assertEqual(kept, truth)
        self.assertEqual(self.named(profile).facts["replaced_samples"], "0")

    def test_system_calls_fail(self):
        """Each call of the library in turn, and all from one on: the program has its result."""
        name = next(iter(static_programs()))
        for last in ("each", "all"):
            for first in range(1, 60, 1 if last == "each" else 6):
                with self.subTest(first=first, last=last):
                    environment = e2e.preloaded(
                        self.folder / "out.pb", 0, LD_PRELOAD=f"{e2e.program('refuse.so')}:{e2e.LIBRARY}",
                        MEMPROF_INLINE_HOOKS="1", REFUSE_FIRST=str(first), REFUSE_ERRNO=str(errno.EPERM),
                        REFUSE_LAST=str(first if last == "each" else 1_000_000))
                    done = self.check(e2e.run([e2e.program(name)], environment), 0, None)
                    self.assertEqual(done.stdout, b"truth 29088000 9000\n")
                    (self.folder / "out.pb").unlink(missing_ok=True)

    def test_threads_that_ran_before(self):
        """Code is not changed then, and that is said."""
        name, family = next(iter(static_programs().items()))
        (self.folder / "thread.c").write_text(THREAD)
        library = self.folder / "thread.so"
        subprocess.run([os.environ["MEMPROF_E2E_CC"], "-shared", "-fPIC", "-o", library, self.folder / "thread.c", "-lpthread"],
                       check=True)
        done = e2e.run([e2e.program(name)], e2e.preloaded(self.folder / "out.pb", 0, library, MEMPROF_INLINE_HOOKS="1"))
        self.check(done, 0, f"memprof: {family} in {name} is not seen: threads ran before it could be hooked\n".encode())
        self.assertEqual(done.stdout, b"truth 29088000 9000\n")

    def test_mimalloc(self):
        for arguments in ((), ("keep",)):
            with self.subTest(arguments):
                truth, profile = self.profiled(e2e.program("inner_mimalloc"), e2e.allocator("mimalloc"), *arguments)
                self.assertEqual(self.kept(profile), truth)

    def test_allocator_behind_malloc_is_counted_once(self):
        """Of an allocator that malloc's hooks go on to nothing is hooked."""
        library = e2e.allocator("mimalloc")
        for value in ("0", "1"):
            with self.subTest(value):
                out = self.folder / f"behind{value}.pb"
                done = self.check(e2e.run([e2e.program("family")], e2e.preloaded(out, 0, library, MEMPROF_INLINE_HOOKS=value)))
                self.check_truth(done.stdout.decode(), self.named(out))


if __name__ == "__main__":
    e2e.main()
