# SPDX-License-Identifier: Apache-2.0
"""Estimates of sampled profiles lie around the truth.

N blocks of s bytes at rate R: the estimate has the variance N s^2 (1-p)/p with p = 1 - e^(-s/R), and is a sum of so
many independent draws that it is normal. The bound is 6 standard deviations, odds of 2e-9 a comparison, below 1e-6 for
all of this file. A bias of 8 sigma fails nearly always: that is 3 to 12 % at the sizes here. The seed is the
kernel's.
"""
import math
import unittest

import e2e

RATE = 65536
SIGMAS = 6


def variance(blocks, size, rate=RATE):
    p = -math.expm1(-size / rate)
    return blocks * size * size * (1 - p) / p


def total_under(profile, function):
    return sum(values["alloc_space"] for frames, values, _ in profile.samples
               if any(frame.name == function for frame in frames))


class Statistics(e2e.Test):
    def check_near(self, estimate, truth, sigma, what):
        self.assertLessEqual(abs(estimate - truth), SIGMAS * sigma + 1,
                             f"{what}: {estimate} instead of {truth}, {(estimate - truth) / (sigma or 1):.1f} sigma")

    def check_sites(self, said, profile):
        sizes = {"site_16": 16, "site_1000": 1000, "site_65536": 65536, "site_1m": 1 << 20}
        table = profile.by_leaf()
        for line in said.splitlines():
            _, site, _, alloc_blocks, alloc_bytes, live_blocks, live_bytes = line.split()
            row = table[site]
            if site == "site_mixed":
                sigma = math.sqrt(variance(2_000_000, 16) + variance(16, 32 << 20))
                self.check_near(row["alloc_space"], int(alloc_bytes), sigma, site)
                self.assertEqual(row["inuse_space"], 0)
                continue
            size = sizes[site]
            for blocks, metric in ((int(alloc_blocks), "alloc"), (int(live_blocks), "inuse")):
                sigma = math.sqrt(variance(blocks, size))
                self.check_near(row[f"{metric}_space"], blocks * size, sigma, f"{site} {metric}")
                # Values of a profile are integers, with the fraction carried on: right to one unit for each sample.
                self.check_near(row[f"{metric}_objects"], blocks, sigma / size, f"{site} {metric} blocks")

    def test_known_heap(self):
        """Lessons 15 and 24, at sizes from 16 bytes to 32 MiB."""
        self.check_sites(*self.profile_program("known_heap", rate=RATE))

    def test_known_heap_with_other_allocators(self):
        for name in ("jemalloc", "tcmalloc_minimal", "mimalloc"):
            with self.subTest(name):
                folder = self.folder / name
                folder.mkdir()
                path = folder / "out.pb"
                done = self.check(e2e.run([e2e.program("known_heap")],
                                          e2e.preloaded(path, RATE, e2e.allocator(name))))
                self.check_sites(done.stdout.decode(), self.named(path))

    def test_calloc_that_calls_malloc(self):
        """Lesson 18 at a sampling rate: counted once, not twice, with an allocator whose functions call each other by
        their public names."""
        said, profile = self.profile_program("calloc_many", rate=RATE, behind=e2e.program("bump_allocator.so"))
        blocks, size = map(int, said.split())
        self.check_near(total_under(profile, "calling_calloc"), blocks * size, math.sqrt(variance(blocks, size)),
                        "calloc")

    def test_each_function_is_counted_once(self):
        """A nested call of a hook is muted at rate 0; at any other rate it would count the block twice."""
        for name in (None, *e2e.ALLOCATORS):
            path = self.folder / f"{name}.pb"
            extra = {"NO_PVALLOC": "1"} if name == "jemalloc" else {}
            done = self.check(e2e.run([e2e.program("family_many")],
                                      e2e.preloaded(path, RATE, name and e2e.allocator(name), **extra)))
            profile = self.named(path)
            for line in done.stdout.decode().splitlines():
                site, blocks, size = line.split()
                blocks, size = int(blocks), int(size)
                with self.subTest(behind=name, site=site):
                    self.check_near(total_under(profile, site), blocks * size, math.sqrt(variance(blocks, size)), site)

    def test_first_draws_switches_and_rates(self):
        """Lessons 20 and 21."""
        said = self.check(e2e.run([e2e.program("thread_samples")])).stdout.decode()
        for line in said.splitlines():
            what, blocks, size, estimate = line.split()
            blocks, size = int(blocks), int(size)
            # Other allocations of the process (threads' own) are far below a sigma; the coarsest rate is 4 R.
            sigma = math.sqrt(variance(blocks, size, 4 * RATE if what == "switches" else RATE))
            self.check_near(float(estimate), blocks * size, sigma, what)

    def test_intervals_of_the_report_hold_the_truth(self):
        """The report's 95 % interval, widened to three times its halves (about 6 sigma)."""
        said, _ = self.profile_program("known_heap", rate=RATE)
        truths = {line.split()[1]: [int(n) for n in line.split()[3:]] for line in said.splitlines()}
        rows = {row["name"]: row for row in self.report(self.only_profile("out.*.pb"))["rows"]}
        for site, numbers in truths.items():
            for metric, truth in zip(e2e.METRICS, numbers):
                estimate = rows[site]["self"][metric]
                value, low, high = estimate["value"], estimate["low"], estimate["high"]
                self.assertLessEqual(low, value)
                self.assertLessEqual(value, high)
                if site not in ("site_1m", "site_mixed") and truth:  # those can be certain, of what they always see
                    self.assertGreater(high, low, (site, metric))
                self.assertLessEqual(value - 3.1 * (value - low) - 1, truth, (site, metric, estimate))
                self.assertGreaterEqual(value + 3.1 * (high - value) + 1, truth, (site, metric, estimate))


if __name__ == "__main__":
    e2e.main()
