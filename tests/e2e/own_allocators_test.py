# SPDX-License-Identifier: Apache-2.0
"""Allocators that report themselves: the examples, whose truth is known, heap by heap; and programs/own_allocator.c.

At rate 0 the numbers are the truth. At a sampled rate the truth must be within the 95 % interval drawn out threefold
from the estimate: 5.9 standard deviations where the estimate is normal, odds below 4e-9 a comparison, below 1e-6 for all
of this file.
"""
import os
import pathlib
import unittest

import e2e

EXAMPLES = pathlib.Path(os.environ["MEMPROF_E2E_EXAMPLES"])
RATE = 16384
WIDER = 3


def example(name, package=None):
    path = EXAMPLES / name
    if not path.exists() and package:
        raise unittest.SkipTest(f"{path.name} was not built: {package} is not installed")
    if not path.exists():
        raise AssertionError(f"{path} was not built")
    return str(path)


class OwnAllocators(e2e.Test):

    def told(self, said):
        truth = {}
        for line in said.splitlines():
            if line.startswith("truth "):
                _, heap, *numbers = line.split()
                truth[heap] = dict(zip(e2e.METRICS, map(int, numbers)))
        self.assertTrue(truth, said)
        return truth

    def by_heap(self, path):
        return {row["name"]: row["self"] for row in self.report(path, "--by", "heap")["rows"]}

    def check_exact(self, truth, path):
        rows = self.by_heap(path)
        for heap, numbers in truth.items():
            with self.subTest(heap):
                self.assertEqual({m: rows[heap][m]["value"] for m in e2e.METRICS}, numbers)
        # What malloc gave to the allocators is not there again: only a buffer or two of the program's own.
        self.assertLess(rows.get("[default]", {"inuse_space": {"value": 0}})["inuse_space"]["value"], 100000)
        return rows

    def check_sampled(self, truth, path):
        rows = self.by_heap(path)
        for heap, numbers in truth.items():
            for metric in e2e.METRICS:
                with self.subTest(heap=heap, metric=metric):
                    self.check_estimate(rows[heap][metric], numbers[metric])

    def check_estimate(self, estimate, truth):
        value, low, high = estimate["value"], estimate["low"], estimate["high"]
        self.assertLessEqual(value - WIDER * (value - low), truth, estimate)
        self.assertGreaterEqual(value + WIDER * (high - value), truth, estimate)

    def run_example(self, program, environment, rate):
        out = self.folder / f"at_{rate}.pb"
        done = self.check(e2e.run([program], {**environment, "MEMPROF_PROFILE": str(out), "MEMPROF_RATE": str(rate)}))
        return self.told(done.stdout.decode()), out

    def check_example(self, program, environment):
        profile_of = {}
        for rate, check in ((0, self.check_exact), (RATE, self.check_sampled)):
            with self.subTest(rate=rate):
                truth, profile_of[rate] = self.run_example(program, environment, rate)
                check(truth, profile_of[rate])
        return profile_of

    def test_pool_preloaded(self):
        profiles = self.check_example(example("pool"), e2e.preloaded())
        facts = e2e.Profile(profiles[0]).facts
        self.assertEqual((facts["replaced_samples"], facts["dropped_samples"]), ("0", "0"))

    def test_pool_without_the_library(self):
        self.told(self.check(e2e.run([example("pool")])).stdout.decode())

    def test_pool_linked(self):
        self.check_example(example("pool_linked"), e2e.plain_environment())

    def test_pool_archive_linked_whole(self):
        self.check_example(example("pool_static"), e2e.plain_environment())

    def test_pool_by_the_command(self):
        out = self.folder / "out.pb.gz"
        done = self.memprof("run", "-r", "0", "-o", out, "--", example("pool"))
        self.check_exact(self.told(done.stdout.decode()), out)

    def test_jemalloc(self):
        self.check_example(example("jemalloc", "libjemalloc-dev"), e2e.preloaded())

    def test_mimalloc(self):
        self.check_example(example("mimalloc", "libmimalloc-dev"), e2e.preloaded())

    def test_heaps_in_every_format(self):
        _, profile = self.run_example(example("pool"), e2e.preloaded(), 0)
        raw = e2e.Profile(profile)
        heaps = {labels.get("heap") for _, _, labels in raw.samples}
        self.assertEqual(heaps, {"arena:frame", "pool:node", "arena:gone", None})
        for named in ("out.pb", "out.collapsed", "out.speedscope.json", "out.json"):
            self.memprof("export", profile, "-o", self.folder / named)
        self.assertEqual({labels.get("heap") for _, _, labels in e2e.Profile(self.folder / "out.pb").samples}, heaps)
        self.assertEqual(self.by_heap(self.folder / "out.pb"), self.by_heap(profile))
        for named, text in (("out.collapsed", "\n[heap pool:node];"), ("out.speedscope.json", '"[heap pool:node]"'),
                            ("out.json", '"heap":"pool:node"')):
            self.assertIn(text, "\n" + (self.folder / named).read_text())
        tree = self.memprof("report", profile, "--tree").stdout.decode()
        self.assertIn("[heap arena:frame]", tree)
        # The leaf is the allocator, not the inline function in it; the heaps are in the header.
        table = self.memprof("report", profile, "--details").stdout.decode()
        self.assertIn("arena:frame 2.0 MiB, pool:node 1.8 MiB", table)
        self.assertNotIn("memprof_report", table)
        self.assertIn("pool_alloc", table)
        heaps = {heap["name"]: heap["values"] for heap in self.report(profile)["heaps"]}
        rows = self.by_heap(profile)
        self.assertEqual(heaps, {name: rows[name] for name in heaps})
        focused = self.report(profile, "--focus", "pool:")
        self.assertEqual(focused["selected"]["inuse_space"], heaps["pool:node"]["inuse_space"])

    def test_pprof_keeps_heaps_apart_when_it_merges(self):
        pprof = e2e.PROGRAMS / "pprof"
        if not pprof.exists():
            self.skipTest("pprof was not built: there is no Go")
        _, one = self.run_example(example("pool"), e2e.preloaded(), 0)
        one = one.rename(self.folder / "one.pb")
        truth, two = self.run_example(example("pool"), e2e.preloaded(), 0)
        through_pprof = self.folder / "pprof.pb.gz"

        def merge(*files):
            self.check(e2e.run([pprof, "-proto", "-symbolize=none", f"-output={through_pprof}", *files],
                               e2e.plain_environment(PPROF_TMPDIR=str(self.folder))), stderr=None)
            return self.by_heap(through_pprof)

        self.assertEqual(merge(one), self.by_heap(one))  # with the intervals
        rows = merge(one, two)
        for heap, numbers in truth.items():
            for metric in e2e.METRICS:
                self.assertEqual(rows[heap][metric]["value"], 2 * numbers[metric], (heap, metric))


class Program(e2e.Test):
    """The checks of programs/own_allocator.c, each in a process of its own."""

    def check_all(self, name, environment):
        checks = e2e.run([e2e.program(name), "--list"], environment).stdout.decode().split()
        self.assertGreater(len(checks), 10)
        for check in checks:
            with self.subTest(check):
                self.check(e2e.run([e2e.program(name), check], environment))

    def test_preloaded(self):
        self.check_all("own_allocator", e2e.preloaded())

    def test_linked(self):
        self.check_all("own_allocator_linked", e2e.plain_environment())

    def test_archive_linked_whole(self):
        self.check_all("own_allocator_static", e2e.plain_environment())

    def test_linked_with_the_count_by_its_address(self):
        self.check_all("own_allocator_by_address", e2e.plain_environment())

    def test_archive_linked_whole_with_the_count_by_its_address(self):
        self.check_all("own_allocator_by_address_static", e2e.plain_environment())

    def test_a_variable_of_the_program_with_the_name_of_the_count(self):
        self.check(e2e.run([e2e.program("own_count")], e2e.preloaded(rate=1 << 40)))

    def test_in_a_library_that_is_loaded_at_run_time(self):
        self.check(e2e.run([e2e.program("own_allocator_loader"), e2e.program("own_allocator_plugin.so")],
                           e2e.preloaded()))


if __name__ == "__main__":
    e2e.main()
