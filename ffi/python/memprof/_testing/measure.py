# SPDX-License-Identifier: Apache-2.0
"""What one test allocates, holds at most, and leaves behind: the work of the pytest plugin.

The peak is the library's, which sees every sample come and go, and so are the places that held it.

What was recorded before the test is passed over in C (whole columns of numbers at once), only stacks of the test are
read, and of those no more than is asked for: its cost is the test's, however much was recorded before.
"""
from __future__ import annotations

import gc
import itertools
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memprof import _profiler
from memprof._intervals import Sum
from memprof._library import column, lib, muted
from memprof._model import Estimate, StackFrame
from memprof._testing.stacks import Stack, TestStacks, Way
from memprof._text import estimate_text, place_text, size_text
from memprof._totals import native_peaks

if TYPE_CHECKING:
    from memprof._snapshot import HeapSnapshot

_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
          "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_EXACT_BELOW = 1 << 14  # bytes: a limit that small is checked with every allocation recorded
# Else this many samples at the limit, with a standard deviation of 1.6 %; of limits so small that every other block would be
# sampled for it, as many as a rate of 1 KiB gives, or at least 256: 6.3 %.
_SAMPLES_AT_LIMIT = 4096
_FINEST_RATE = 1024
_LEAST_SAMPLES_AT_LIMIT = 256
_SIGMAS = 4  # a peak is the largest of many estimates: it counts only so far above the limit
_PLACES = 5
_MOST_STACKS = 1 << 20  # room for what a session of tests imports


def parse_size(text: object) -> int:
    """"24 MB" -> 24000000; "24 MiB" -> 25165824."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", text) if isinstance(text, str) else None
    if match is None or match.group(2).lower() not in _UNITS:
        raise ValueError(f'{text!r} is no size; write a number and a unit, like "24 MB" or "512 KiB" (B, KB, MB, GB, TB are '
                         f"powers of 1000; KiB, MiB, GiB, TiB of 1024)")
    return int(float(match.group(1)) * _UNITS[match.group(2).lower()])


@dataclass(frozen=True)
class Mark:
    """What a mark says."""

    limit_bytes: int
    current_thread_only: bool = False
    warmups: int = 0
    filter_fn: Callable[[Stack], object] | None = None


_KEYWORDS = {"limit_memory": ("current_thread_only",), "limit_leaks": ("warmups", "filter_fn", "current_thread_only")}


def read_mark(name: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Mark:
    """The arguments of a mark.  ValueError, which names the mark, for what is wrong in them."""
    if len(args) != 1:
        raise ValueError(f'{name} takes one size, like {name}("24 MB")')
    for keyword in kwargs:
        if keyword not in _KEYWORDS[name]:
            raise ValueError(f"{name} takes one size, and no '{keyword}'; there is {', '.join(_KEYWORDS[name])}")
    only, warmups, filter_fn = kwargs.get("current_thread_only", False), kwargs.get("warmups", 0), kwargs.get("filter_fn")
    if not isinstance(only, bool):
        raise ValueError(f"{name}: current_thread_only is {only!r}; give True or False")
    if isinstance(warmups, bool) or not isinstance(warmups, int) or warmups < 0:
        raise ValueError(f"{name}: warmups is {warmups!r}; give how often the test runs before it is measured, like 1")
    if filter_fn is not None and not callable(filter_fn):
        raise ValueError(f"{name}: filter_fn is {filter_fn!r}; give a function that takes a stack, and says whether it counts")
    try:
        return Mark(parse_size(args[0]), only, warmups, filter_fn)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def rate_bytes(limits: Mapping[str, Mark]) -> int:
    """Bytes between samples that suit the smallest limit."""
    if not limits:
        return 16 * 1024
    least = min(mark.limit_bytes for mark in limits.values())
    if least <= _EXACT_BELOW:
        return 0
    return max(least // _SAMPLES_AT_LIMIT, min(_FINEST_RATE, least // _LEAST_SAMPLES_AT_LIMIT))


class _Blocks:
    """Live blocks of one stack that the test left behind."""

    __slots__ = ("samples", "weight")

    def __init__(self) -> None:
        self.samples: dict[tuple[int, int], int] = {}
        self.weight = 0.0


class Measured:
    """What came out for one test.  before, after: as of its begin and its end; test_file: where it is written."""

    def __init__(self, limits: Mapping[str, Mark], rate_bytes: int, peak_bytes: int, before: HeapSnapshot, after: HeapSnapshot,
                 test_file: str) -> None:
        self._limits = limits
        self._before, self._after = before, after
        self._stacks = TestStacks(after, test_file)
        self._left = dict(self._new_blocks())
        self.left = self._sum(self._left)
        # The variance of a sum of weights is at most rate times sum: (1-p) w^2 <= rate w for each block.
        slack = _SIGMAS * math.sqrt(peak_bytes * rate_bytes)
        self.held = Estimate(peak_bytes, max(peak_bytes - slack, 0), peak_bytes + slack)

    def problems(self) -> list[str]:
        """A text for each limit that was exceeded.  What a filter_fn raises comes through."""
        texts = []
        memory, leaks = self._limits.get("limit_memory"), self._limits.get("limit_leaks")
        if memory is not None and self.held.low > memory.limit_bytes:
            least = "" if self.held.is_exact else f" (no less than {size_text(self.held.low)})"
            texts.append(_problem(f"limit_memory: the test held {size_text(self.held)}{least}", memory,
                                  self._ways(self._held_by_stack())))
        if leaks is not None and self.left.low > leaks.limit_bytes:
            left, left_out = self._left, ""
            if (filter_fn := leaks.filter_fn) is not None:
                left = {stack: blocks for stack, blocks in left.items() if filter_fn(self._stacks.for_filter(stack))}
                left_out = f" ({size_text(self.left - int(self._sum(left)))} more is left out by filter_fn)"
            size = self._sum(left)
            if size.low > leaks.limit_bytes:
                ways = self._ways({stack: blocks.weight for stack, blocks in left.items()})
                texts.append(_problem(f"limit_leaks: the test left behind {estimate_text(size)}{left_out}", leaks, ways,
                                      _advice(ways, leaks)))
        return texts

    def summary(self) -> str:
        """One line."""
        return f"allocated {size_text(self.allocated)}, held {size_text(self.held)}, left {size_text(self.left)}"

    @property
    def allocated(self) -> float:
        """Bytes that the test allocated."""
        return sum(value for _, _, value in self._allocated())

    def allocated_places(self, n: int) -> list[str]:
        """The places that allocated most."""
        by_place: dict[StackFrame, tuple[float, int]] = {}
        for stack, frame, value in self._allocated():
            by_place[frame] = by_place.get(frame, (0.0,))[0] + value, stack
        largest = sorted(by_place.items(), key=lambda pair: (-pair[1][0], str(pair[0])))
        shown = [(value, self._stacks.named_place(stack)) for _, (value, stack) in largest[:n]]
        return [f"{size_text(value):>10}  {frame.function}  {place_text(frame)}" for value, frame in shown]

    def _new_blocks(self) -> Iterator[tuple[int, _Blocks]]:
        """Of each stack of the test the live blocks that are younger than its begin."""
        since_ns = self._before._native.info.time_ns
        records = self._after._native.records
        times = column(records, self._after.live_samples, "time_ns")
        by_stack: dict[int, _Blocks] = {}
        for i in [i for i, time_ns in enumerate(times) if time_ns > since_ns]:
            record = records[i]
            blocks = by_stack.setdefault(record.stack_id, _Blocks())
            key = record.size_bytes, record.rate_bytes
            blocks.samples[key] = blocks.samples.get(key, 0) + 1
            blocks.weight += record.weight_bytes
        return ((stack, blocks) for stack, blocks in by_stack.items() if self._stacks.place(stack) is not None)

    @staticmethod
    def _sum(by_stack: Mapping[int, _Blocks]) -> Estimate:
        total = Sum()
        for blocks in by_stack.values():
            for (size, rate), count in blocks.samples.items():
                total.add(size, rate, count)
        return total.bytes()

    def _allocated(self) -> Iterator[tuple[int, StackFrame, float]]:
        """By stack of the test: its place, and bytes that were allocated during the test."""
        before, after = self._before._native, self._after._native
        old = column(before.stacks, before.stack_count, "allocated.weight_bytes", "d")
        new = column(after.stacks, after.stack_count, "allocated.weight_bytes", "d")
        for stack, (now, was) in enumerate(itertools.zip_longest(new, old, fillvalue=0.0)):
            if now > was and (frame := self._stacks.place(stack)) is not None:
                yield stack, frame, now - was

    def _held_by_stack(self) -> dict[int, float]:
        """What the stacks of the test held when the most was live, less what they had held before."""
        before, after = self._before._native, self._after._native
        peaks, count = native_peaks(after)
        allocated = column(before.stacks, before.stack_count, "allocated.weight_bytes", "d")
        freed = column(before.stacks, before.stack_count, "freed.weight_bytes", "d")
        held = {}
        for stack, now in enumerate(column(peaks, count, "weight_bytes", "d")):
            if now <= 0:
                continue
            value = now - (allocated[stack] - freed[stack] if stack < len(allocated) else 0.0)
            if value > 0 and self._stacks.place(stack) is not None:
                held[stack] = value
        return held

    def _ways(self, by_stack: Mapping[int, float]) -> list[tuple[float, Way]]:
        """The ways to what stacks hold, the largest first."""
        by_way: dict[Way, tuple[float, int]] = {}
        for stack, value in by_stack.items():
            way = self._stacks.way(stack)
            by_way[way] = by_way.get(way, (0.0,))[0] + value, stack
        largest = sorted(by_way.items(), key=lambda pair: (-pair[1][0], str(pair[0])))
        least = 0.01 * sum(value for value, _ in by_way.values())
        return [(value, self._stacks.way(stack, with_names=True) if i < _PLACES and value >= least else way)
                for i, (way, (value, stack)) in enumerate(largest)]


def _problem(what: str, mark: Mark, ways: list[tuple[float, Way]], advice: str = "") -> str:
    limit = mark.limit_bytes
    lines = [f"{what}, more than its limit of {limit:,} bytes ({size_text(limit)})"]
    total = sum(value for value, _ in ways)
    shown = [(value, way) for value, way in ways[:_PLACES] if value >= total / 100]
    for value, way in shown:
        for depth, text in enumerate(way.texts()):
            lines.append(f"  {size_text(value) if depth == 0 else '':>10}  {'  ' * depth}{text}")
    if (left_out := len(ways) - len(shown)) > 0:
        rest = sum(value for value, _ in ways[len(shown):])
        lines.append(f"  {size_text(rest):>10}  in {left_out:,} more place{'' if left_out == 1 else 's'}")
    return "\n".join([*lines, advice] if advice else lines)


def _advice(ways: list[tuple[float, Way]], mark: Mark) -> str:
    """What is imported for the first time stays, and is no leak."""
    imported = sum(value for value, way in ways if way.importing)
    if mark.warmups or imported < sum(value for value, _ in ways) / 2:
        return ""
    return f"  {size_text(imported)} of it are imports: with warmups=1 the test runs once before it is measured"


class Measurement:
    """Records from its creation to finish()."""

    def __init__(self, limits: Mapping[str, Mark], test_file: str = "") -> None:
        self._limits = limits
        self._test_file = test_file
        self._collect()
        with muted():
            self._rate = rate_bytes(limits)
            # In whole KiB first: smaller rates are for the library.
            _profiler.start(max(self._rate // 1024, 1) if self._rate else 0,
                            max_stacks=None if _profiler.was_started() else _MOST_STACKS)
            lib.memprof_set_rate(self._rate)
            if any(mark.current_thread_only for mark in limits.values()):
                lib.memprof_record_thread(threading.get_native_id())
            self._before = _state_before()
            self._base = float(_profiler._stats().live_weight_bytes)
            lib.memprof_reset_peak()

    def _collect(self) -> None:
        """A limit of leaks is worth a whole collection, which takes long where much was imported."""
        gc.collect(2 if "limit_leaks" in self._limits else 1)

    def finish(self) -> Measured:
        """Stops, and compares."""
        global _last
        with muted():
            peak = max(round(_profiler._stats().peak_weight_bytes - self._base), 0)
            self._collect()
            after = _profiler.get_snapshot(resolve=False)
            _profiler.stop()
            lib.memprof_record_thread(0)
            _last = after
            return Measured(self._limits, self._rate, peak, self._before, after, self._test_file)


_last: HeapSnapshot | None = None


def _state_before() -> HeapSnapshot:
    """What was allocated until now: nothing was since the last test, unless somebody recorded in between."""
    if _last is not None and _last.total_samples == _profiler._stats().samples:
        return _last
    return _profiler.get_snapshot(resolve=False)
