# SPDX-License-Identifier: Apache-2.0
"""Places by running totals: what each allocated, how long it lived, and what it held when the heap was at its highest."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memprof._intervals import Totals
from memprof._library import check, ffi, lib
from memprof._model import Estimate, StackFrame
from memprof._sites import key_of, native_leaf, place

if TYPE_CHECKING:
    from memprof._library import NativeSnapshot
    from memprof._sites import Key

    Stacks = list[tuple[StackFrame, ...]]

METRICS = ("live", "allocated", "temporary", "peak")


_SUMMED = METRICS[1:]  # running totals of stacks; what is live is summed by sample


def native_peaks(native: NativeSnapshot) -> tuple[Any, int]:
    """What was live at the peak, by stack, and of how many stacks that is known: of all or of none."""
    count = ffi.new("uint64_t*")
    return lib.memprof_snapshot_peaks(native.handle, count), count[0]


class Place:
    """Sums over the stacks of one place."""

    __slots__ = ("_largest", "frame", "freed_blocks", "lifetime_ns_blocks", "samples", "stack", "totals")

    def __init__(self, frame: StackFrame) -> None:
        self.frame = frame
        self.totals = {metric: Totals() for metric in _SUMMED}
        self.freed_blocks = self.lifetime_ns_blocks = 0.0
        self.samples = dict.fromkeys(_SUMMED, 0)
        self.stack: tuple[StackFrame, ...] = ()
        self._largest = -1.0

    def add(self, stack: tuple[StackFrame, ...], native: Any, sums: dict[str, Any], metric: str) -> None:
        """One stack of a snapshot; sums: its totals by metric."""
        for name, totals in sums.items():
            self.totals[name].add(totals)
            self.samples[name] += totals.samples
        self.freed_blocks += native.freed.weight_count
        self.lifetime_ns_blocks += native.lifetime_ns
        value = sums[metric].weight_bytes if metric in sums else 0.0
        if value > self._largest:
            self._largest, self.stack = value, stack

    @property
    def lifetime_ns(self) -> int | None:
        """Mean lifetime of a block that was freed, as close as a class of lifetimes is wide; None: none was."""
        if self.freed_blocks <= 0 or self.lifetime_ns_blocks <= 0:
            return None
        return round(self.lifetime_ns_blocks / self.freed_blocks)

    def facts(self) -> dict[str, Any]:
        """What a row of any metric says besides."""
        return {**{f"{metric}_bytes": totals.bytes() for metric, totals in self.totals.items()}, "lifetime_ns": self.lifetime_ns}

    def as_dict(self, metric: str, total: float) -> dict[str, Any]:
        """A row of HeapSnapshot.top_allocators."""
        sums = self.totals[metric]
        leaf = native_leaf(self.stack)
        frame = self.frame
        return {"function": frame.function, "file": frame.file, "line": frame.line, "is_python": frame.is_python,
                "native_function": leaf.function if leaf is not None else "", "estimated_bytes": sums.bytes(),
                "estimated_blocks": sums.blocks(), "samples": self.samples[metric],
                "percent": 100 * sums.value() / total if total else 0.0, "stack": self.stack, **self.facts()}


def read_places(native: NativeSnapshot, stacks: Stacks, younger_ns: int, metric: str) -> dict[Key, Place]:
    """Every place that allocated something."""
    count = native.stack_count
    temporary: Any = ffi.new("memprof_totals[]", max(count, 1))
    check(lib.memprof_snapshot_younger(native.handle, younger_ns, temporary, count, ffi.NULL), "top_allocators")
    peaks, peak_count = native_peaks(native)
    nothing: Any = ffi.new("memprof_totals*")
    places: dict[Key, Place] = {}
    for i in range(count):
        if native.stacks[i].allocated.samples == 0:
            continue
        frame = place(stacks[i])
        sums = {"allocated": native.stacks[i].allocated, "temporary": temporary[i],
                "peak": peaks[i] if i < peak_count else nothing[0]}
        places.setdefault(key_of(frame), Place(frame)).add(stacks[i], native.stacks[i], sums, metric)
    return places


def top_places(places: dict[Key, Place], metric: str, n: int) -> list[dict[str, Any]]:
    """The n places that hold the most of a metric that is not "live"."""
    def value(one: Place) -> float:
        return one.totals[metric].value()

    total = sum(map(value, places.values()))
    ranked = sorted((one for one in places.values() if value(one) > 0),
                    key=lambda one: (-value(one), one.frame.function, one.frame.line))
    return [one.as_dict(metric, total) for one in ranked[:n]]


@dataclass(frozen=True, slots=True)
class PeakSite:
    """A place, and what it held when the heap was at its highest."""

    frame: StackFrame
    """The innermost line of Python, else the native function."""
    bytes: Estimate
    blocks: Estimate


@dataclass(frozen=True, slots=True)
class Peak:
    """The heap when it was at its highest since memprof.start or memprof.reset_peak."""

    bytes: Estimate
    """Bytes that were live then."""
    blocks: Estimate
    timestamp_ns: int
    """When it was reached: nanoseconds since 1970."""
    resident_bytes: int | None
    """Resident memory of the process then; None: unknown (the heap did not go down since)."""
    max_resident_bytes: int | None
    """The most that it ever was, as last asked: at peaks."""
    sites: tuple[PeakSite, ...]
    """All places that held memory then, the largest first."""


def read_peak(native: NativeSnapshot, stacks: Stacks) -> Peak | None:
    """None: the library that made the arena did not know it."""
    peaks, count = native_peaks(native)
    if count == 0:
        return None
    whole = Totals()
    by_place: dict[Key, tuple[StackFrame, Totals]] = {}
    for i in range(count):
        if peaks[i].samples == 0:
            continue
        frame = place(stacks[i])
        whole.add(peaks[i])
        by_place.setdefault(key_of(frame), (frame, Totals()))[1].add(peaks[i])
    sites = sorted(by_place.values(), key=lambda site: (-site[1].value(), site[0].function, site[0].line))
    info = native.info
    return Peak(whole.bytes(), whole.blocks(), info.peak_ns + info.time_unix_ns - info.time_ns,
                info.peak_resident_bytes or None, info.max_resident_bytes or None,
                tuple(PeakSite(frame, totals.bytes(), totals.blocks()) for frame, totals in sites))
