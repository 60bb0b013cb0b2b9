# SPDX-License-Identifier: Apache-2.0
"""What one test allocates, holds at most, and leaves behind: the work of the pytest plugin.

The peak is the library's, which sees every sample come and go.  For a limit of it, a thread looks every 20 ms at what
is live, only to show the places that held it; of a peak that is shorter, the places that allocated most are shown.

What was recorded before the test is passed over in C (whole columns of numbers at once), and only stacks of the test
are read: its cost is the test's, however much was recorded before.
"""
from __future__ import annotations

import gc
import itertools
import os
import re
import threading
import time
from collections.abc import Mapping

from memprof import _profiler, _sites
from memprof._intervals import Sum
from memprof._library import column, lib, muted
from memprof._model import Estimate, StackFrame
from memprof._snapshot import HeapSnapshot
from memprof._text import estimate_text, place_text, size_text

_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
          "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_EXACT_BELOW = 1 << 18  # bytes: a limit that small is checked with every allocation recorded
_SAMPLES_AT_LIMIT = 4096  # else so many samples: a standard deviation of 1.6 % at most
_SIGMAS = 4  # a peak is the largest of many estimates: it counts only so far above the limit
_POLL_S = 0.02
PLACES = 5


def parse_size(text: object) -> int:
    """"24 MB" -> 24000000; "24 MiB" -> 25165824."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", text) if isinstance(text, str) else None
    if match is None or match.group(2).lower() not in _UNITS:
        raise ValueError(f'{text!r} is no size; write a number and a unit, like "24 MB" or "512 KiB" (B, KB, MB, GB, TB are '
                         f"powers of 1000; KiB, MiB, GiB, TiB of 1024)")
    return int(float(match.group(1)) * _UNITS[match.group(2).lower()])


def limit_of(name: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> int:
    """The limit of a mark, in bytes."""
    if len(args) != 1 or kwargs:
        raise ValueError(f'{name} takes one size, like {name}("24 MB")')
    try:
        return parse_size(args[0])
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def rate_bytes(limits: dict[str, int]) -> int:
    """Bytes between samples that suit the smallest limit."""
    if not limits:
        return 16 * 1024
    least = min(limits.values())
    return 0 if least <= _EXACT_BELOW else least // _SAMPLES_AT_LIMIT


class Measured:
    """What came out for one test."""

    def __init__(self, limits: dict[str, int], rate_bytes: int, peak_bytes: int, before: HeapSnapshot,
                 fullest: HeapSnapshot, after: HeapSnapshot) -> None:
        self.limits = limits
        since_ns = before._native.info.time_ns
        self.left, self._left_places = _new_blocks(since_ns, after)
        # The variance of a sum of weights is at most rate times sum: (1-p) w^2 <= rate w for each block.
        slack = _SIGMAS * (peak_bytes * rate_bytes) ** 0.5
        self.held = Estimate(peak_bytes, max(peak_bytes - slack, 0), peak_bytes + slack)
        self._allocated = _allocated(before, after)
        self.allocated: float = sum(value for value, _ in self._allocated)
        self._held_places: list[str] = []
        if "limit_memory" in limits:
            held, self._held_places = _new_blocks(since_ns, fullest)
            if int(held) < 0.8 * peak_bytes:
                self._held_places = ["allocated in this test:", *self.allocated_places(PLACES)]

    def problems(self) -> list[str]:
        """A text for each limit that was exceeded."""
        texts = []
        held, left = self.limits.get("limit_memory"), self.limits.get("limit_leaks")
        if held is not None and self.held.low > held:
            least = "" if self.held.is_exact else f" (no less than {size_text(self.held.low)})"
            texts.append(_problem(f"limit_memory: the test held {size_text(self.held)}{least}", held, self._held_places))
        if left is not None and self.left.low > left:
            texts.append(_problem(f"limit_leaks: the test left behind {estimate_text(self.left)}", left, self._left_places))
        return texts

    def summary(self) -> str:
        """One line."""
        return f"allocated {size_text(self.allocated)}, held {size_text(self.held)}, left {size_text(self.left)}"

    def allocated_places(self, n: int) -> list[str]:
        """The places that allocated most."""
        return [f"{size_text(value):>10}  {frame.function}  {place_text(frame)}" for value, frame in self._allocated[:n]]


def _problem(what: str, limit: int, places: list[str]) -> str:
    return "\n".join([f"{what}, more than its limit of {limit:,} bytes ({size_text(limit)})",
                      *(f"  {line}" for line in places[:PLACES + 1])])


# What pytest itself keeps while a test runs is not the test's.
_HARNESS = ("_pytest", "pluggy")
_RUNNER = os.path.join("_pytest", "runner.py")  # calls the test
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_PACKAGES = "site-packages"
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _is_of_harness(stack: tuple[StackFrame, ...]) -> bool:
    """Whether from its leaf to where pytest calls the test nobody but pytest, this package, and what they call in the
    standard library is on the stack."""
    for frame in stack:
        if not frame.is_python:
            continue
        if frame.file.endswith(_RUNNER):
            return True
        is_standard = frame.file.startswith("<frozen ") or (frame.file.startswith(_STANDARD_LIBRARY)
                                                            and _PACKAGES not in frame.file)
        is_harness = frame.file.startswith(_OWN) or os.path.basename(os.path.dirname(frame.file)) in _HARNESS
        if not is_standard and not is_harness:
            return False
    return False


def _new_blocks(since_ns: int, snapshot: HeapSnapshot) -> tuple[Estimate, list[str]]:
    """Live blocks that are younger, and the places that hold the most of them."""
    records = snapshot._native.records
    times = column(records, snapshot.live_samples, "time_ns")
    total, by_place = Sum(), dict[StackFrame, Sum]()
    place_of: dict[int, StackFrame | None] = {}
    for i in [i for i, time_ns in enumerate(times) if time_ns > since_ns]:
        record = records[i]
        if record.stack_id not in place_of:
            stack = snapshot._stack(record.stack_id)
            place_of[record.stack_id] = None if _is_of_harness(stack) else _sites.place(stack)
        frame = place_of[record.stack_id]
        if frame is None:
            continue
        total.add(record.size_bytes, record.rate_bytes)
        by_place.setdefault(frame, Sum()).add(record.size_bytes, record.rate_bytes)
    sizes = sorted(((frame, part.bytes()) for frame, part in by_place.items()), key=lambda pair: -pair[1])
    return total.bytes(), [f"{size_text(size):>10}  {frame.function}  {place_text(frame)}" for frame, size in sizes[:PLACES]]


def _allocated(before: HeapSnapshot, after: HeapSnapshot) -> list[tuple[float, StackFrame]]:
    """Bytes that were allocated between two snapshots, by place."""
    old = column(before._native.stacks, before._native.stack_count, "allocated.weight_bytes", "d")
    new = column(after._native.stacks, after._native.stack_count, "allocated.weight_bytes", "d")
    by_place: dict[StackFrame, float] = {}
    for i, (is_more, was) in enumerate(itertools.zip_longest(new, old, fillvalue=0.0)):
        if is_more > was:
            stack = after._stack(i)
            if not _is_of_harness(stack):
                frame = _sites.place(stack)
                by_place[frame] = by_place.get(frame, 0.0) + is_more - was
    return sorted(((value, frame) for frame, value in by_place.items()), key=lambda pair: (-pair[0], str(pair[1])))


class Measurement:
    """Records from its creation to finish()."""

    def __init__(self, limits: dict[str, int]) -> None:
        self._limits = limits
        self._collect()
        with muted():
            self._rate = rate_bytes(limits)
            # In whole KiB first: smaller rates are for the library.
            _profiler.start(max(self._rate // 1024, 1) if self._rate else 0)
            lib.memprof_set_rate(self._rate)
            self._before = self._fullest = _state_before()
            self._base = self._most = float(_profiler._stats().live_weight_bytes)
            self._over = threading.Event()
            self._thread: threading.Thread | None = None
            if "limit_memory" in limits:
                self._thread = threading.Thread(target=self._poll, name="memprof", daemon=True)
                self._thread.start()
            lib.memprof_reset_peak()

    def _collect(self) -> None:
        """A limit of leaks is worth a whole collection, which takes long where much was imported."""
        gc.collect(2 if "limit_leaks" in self._limits else 1)

    @staticmethod
    def _weight(snapshot: HeapSnapshot) -> float:
        return float(snapshot._native.info.live_weight_bytes)

    def _poll(self) -> None:
        with muted():
            pause = _POLL_S
            while not self._over.wait(pause):
                began = time.monotonic()
                self._look(_profiler.get_snapshot(resolve=False))
                pause = max(_POLL_S, 5 * (time.monotonic() - began))

    def _look(self, snapshot: HeapSnapshot) -> None:
        if self._weight(snapshot) > self._most:
            self._fullest, self._most = snapshot, self._weight(snapshot)

    def finish(self) -> Measured:
        """Stops, and compares."""
        global _last
        with muted():
            peak = max(round(_profiler._stats().peak_weight_bytes - self._base), 0)
            self._over.set()
            if self._thread is not None:
                self._thread.join()
                self._look(_profiler.get_snapshot(resolve=False))
            self._collect()
            after = _profiler.get_snapshot(resolve=False)
            _profiler.stop()
            _last = after
            return Measured(self._limits, self._rate, peak, self._before, self._fullest, after)


_last: HeapSnapshot | None = None


def _state_before() -> HeapSnapshot:
    """What was allocated until now: nothing was since the last test, unless somebody recorded in between."""
    if _last is not None and _last.total_samples == _profiler._stats().samples:
        return _last
    return _profiler.get_snapshot(resolve=False)
