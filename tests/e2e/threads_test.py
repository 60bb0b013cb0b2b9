# SPDX-License-Identifier: Apache-2.0
"""Threads: many of them, their beginning and end, and start and stop while they run.

10,000 threads; MEMPROF_TEST_WHOLE=1 (./dev endure): 80,000.
"""
import os
import re

import e2e

THREADS = 80_000 if os.environ.get("MEMPROF_TEST_WHOLE") else 10_000


class Threads(e2e.Test):
    def check_storm(self, **options):
        said, profile = self.profile_program("thread_storm", str(THREADS), timeout=240, **options)
        grown = int(re.search(r"grown_kb (-?\d+)", said).group(1))
        self.assertLess(grown, 1024, f"{THREADS - 1000} threads more took this many KiB")
        return said, profile

    def test_thread_storm(self):
        """Lessons 13 and 20: resident memory stays flat, and each one's first block is seen."""
        self.check_truth(*self.check_storm())

    def test_thread_storm_without_samples(self):
        self.check_storm(rate="1T")

    def test_destructors_of_threads(self):
        """Lesson 8: malloc and free in TLS and key destructors, in threads that begin, and after main."""
        said, profile = self.profile_program("destructors")
        self.check_truth(said, profile)

    def test_start_and_stop_under_load(self):
        """Lessons 7, 11, 22: 10,000 starts and stops with snapshots; in the end nothing is live."""
        done = self.check(e2e.run([e2e.program("start_stop")]))
        found = re.fullmatch(r"samples (\d+) live (\d+) dropped (\d+) replaced (\d+)\n", done.stdout.decode())
        self.assertIsNotNone(found, done.stdout)
        samples, live, dropped, replaced = map(int, found.groups())
        self.assertGreater(samples, 1000)
        self.assertEqual(dropped, 0)
        # What the C library keeps for itself (the descriptor of a thread's stack, standard output) may live on.
        self.assertLess(live, 10)
        self.assertEqual(replaced, 0)


if __name__ == "__main__":
    e2e.main()
