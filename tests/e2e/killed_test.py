# SPDX-License-Identifier: Apache-2.0
"""A process that is killed by SIGKILL at a random moment leaves a profile that says what was true then.

The program publishes its own truth, by plain stores before and after each allocation and free, in a file that outlives
it (programs/publishes_truth.c); what the killed process left is read by `memprof report FILE.arena`.

Rate 0: each figure of each site is exactly what it was before or after the one operation that was under way.

Sampled: a 95 % interval holds the truth in 95 % of cases, so that of n intervals a binomial number holds. Sites
have disjoint allocations, and are independent. Odds of a false alarm: 1e-7 a comparison, at a coverage of 94 % (docs/decisions/0007:
intervals are approximate); of 300 intervals 257 must hold. The same intervals must fail for a truth that is a fifth larger, so they cannot be just
wide: there two thirds hold, six standard deviations below.

Half of the processes are killed at a random moment from their beginning on, half from when they tell their truth.

40 rounds each; MEMPROF_TEST_WHOLE=1 (./dev endure): 1,000.
"""
import json
import math
import os
import random
import signal
import struct
import subprocess
import time

import e2e

ROUNDS = 1000 if os.environ.get("MEMPROF_TEST_WHOLE") else 40
SITES = 8
RATE = 16384
FIGURES = ("inuse_space", "inuse_objects", "alloc_space", "alloc_objects")  # in the order of struct Truth
ODDS = 1e-7
COVERAGE = 0.94
# The longest that a program lives, by the CPU time of its two threads: as much is allocated on a busy machine, or a
# slow one, as on an idle one, and the intervals are as wide.
LIFE_S = 0.24


def least_holding(count):
    """The largest k with P(Binomial(count, COVERAGE) < k) <= ODDS."""
    below = 0.0
    for k in range(count + 1):
        log = (math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) + k * math.log(COVERAGE)
               + (count - k) * math.log1p(-COVERAGE))
        below += math.exp(log)
        if below > ODDS:
            return k
    return count


def cpu_seconds(process):
    """CPU time of a process (clock_getcpuclockid)."""
    return time.clock_gettime(~process.pid << 3 | 2)


class Killed(e2e.Test):
    def kill_one(self, rate, seconds, is_awaited):
        """-> (per site: per figure: (before, after), rows of the report by site, or None where there is none)."""
        truth_path = self.folder / "truth"
        process = subprocess.Popen([e2e.program("publishes_truth"), truth_path],
                                   env=e2e.preloaded(self.folder / "x.%p.pb", rate, MEMPROF_ARENA_DIR=str(self.folder)))
        until = time.monotonic() + e2e.WATCHDOG_S
        while is_awaited and time.monotonic() < until and not (truth_path.exists() and any(truth_path.read_bytes())):
            time.sleep(0.001)
        end = cpu_seconds(process) + seconds
        while cpu_seconds(process) < end and time.monotonic() < until:
            time.sleep(0.0005)
        process.kill()
        self.assertEqual(process.wait(e2e.WATCHDOG_S), -signal.SIGKILL)
        data = truth_path.read_bytes() if truth_path.exists() else b""
        words = struct.unpack(f"{SITES * 8}Q", data) if data else (0,) * (SITES * 8)
        truth = [{figure: words[site * 8 + i * 2:site * 8 + i * 2 + 2] for i, figure in enumerate(FIGURES)}
                 for site in range(SITES)]
        rows = None
        for path in self.folder.glob("*.arena"):
            self.assertIsNone(rows, "two files of one process")
            done = e2e.run([e2e.COMMAND, "report", path, "--json", "-n", "1000"])
            if done.returncode == 0:
                rows = {row["name"]: row["self"] for row in json.loads(done.stdout)["rows"]}
            else:
                # Killed in the moment between making the file and writing what it is: nothing is recorded yet.
                self.assertFalse(any(words), done.stderr)
                self.assertRegex(done.stderr, rb"^memprof: .*: nothing was recorded: its process has only started.*\n$")
            path.unlink()
        truth_path.unlink(missing_ok=True)
        self.assertEqual(list(self.folder.iterdir()), [])
        return truth, rows

    def rounds(self, rate):
        """Rounds in which something was published; each of them left a profile that could be read."""
        told = 0
        for round_ in range(ROUNDS):
            # Spread over the life of the program, in a random order within each part.
            seconds = LIFE_S * (round_ // 2 % 20 + random.random()) / 20
            truth, rows = self.kill_one(rate, seconds, round_ % 2 == 0)
            if not any(site["alloc_space"][1] for site in truth):
                continue  # it had not begun
            self.assertIsNotNone(rows, f"killed after {seconds:.4f} s, nothing was left; it had published {truth}")
            told += 1
            yield seconds, truth, rows
        self.assertGreaterEqual(told, ROUNDS / 2, "of those that had begun, some told nothing")

    def test_everything_recorded_is_exact(self):
        allocated = 0
        for seconds, truth, rows in self.rounds(0):
            for site in range(SITES):
                row = rows.get(f"site_{site}")
                for figure, before_and_after in truth[site].items():
                    value = row[figure]["value"] if row else 0
                    self.assertIn(value, before_and_after, f"site_{site} {figure}, killed after {seconds:.4f} s")
            allocated += sum(site["alloc_objects"][0] for site in truth)
        self.assertGreater(allocated, ROUNDS * 100)

    @staticmethod
    def holds(row, figure, before_and_after, scale=1.0):
        low, high = min(before_and_after) * scale, max(before_and_after) * scale
        if row is None:  # what is not listed is less than three rates
            return low <= 3 * RATE
        return row[figure]["low"] <= high + 1 and low - 1 <= row[figure]["high"]

    def test_intervals_hold_what_was_published(self):
        held = dict.fromkeys(FIGURES, 0)
        held_too_much = dict.fromkeys(FIGURES, 0)
        count = 0
        for _, truth, rows in self.rounds(RATE):
            for site in range(SITES):
                if truth[site]["alloc_space"][1] == 0:
                    continue
                row = rows.get(f"site_{site}")
                count += 1
                for figure in FIGURES:
                    if row is None and figure.endswith("objects"):
                        figure_holds = too_much_holds = True
                    else:
                        figure_holds = self.holds(row, figure, truth[site][figure])
                        too_much_holds = self.holds(row, figure, truth[site][figure], 1.2)
                    held[figure] += figure_holds
                    held_too_much[figure] += too_much_holds
        least = least_holding(count)
        said = f"of {count} intervals must hold {least}; hold {held}; 1.2 of the truth: {held_too_much}"
        print(said, flush=True)
        for figure in FIGURES:
            self.assertGreaterEqual(held[figure], least, f"{figure}: {said}")
            self.assertLess(held_too_much[figure], least, f"{figure}: intervals hold what is not true: {said}")


if __name__ == "__main__":
    e2e.main()
