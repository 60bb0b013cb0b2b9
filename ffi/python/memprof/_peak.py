# SPDX-License-Identifier: Apache-2.0
"""The heap at its highest, as a snapshot tells it."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memprof._intervals import Totals
from memprof._library import ffi, lib
from memprof._model import Estimate
from memprof._sites import place

if TYPE_CHECKING:
    from memprof._model import StackFrame
    from memprof._snapshot import HeapSnapshot


@dataclass(frozen=True, slots=True)
class PeakSite:
    """A place, and what it held when the heap was at its highest."""

    frame: StackFrame
    """The innermost line of Python, else the native function."""
    bytes: Estimate
    blocks: Estimate


@dataclass(frozen=True, slots=True)
class Peak:
    """The heap when it was at its highest since memprof.start, or since the peak was begun anew."""

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


def read_peak(snapshot: HeapSnapshot) -> Peak | None:
    """None: the library that made the arena did not know it."""
    native = snapshot._native
    count = ffi.new("uint64_t*")
    peaks: Any = lib.memprof_snapshot_peaks(native.handle, count)
    if count[0] == 0:
        return None
    whole = Totals()
    by_place: dict[tuple[str, str, int, bool], tuple[StackFrame, Totals]] = {}
    stacks = snapshot._all_stacks()
    for i in range(count[0]):
        if peaks[i].samples == 0:
            continue
        frame = place(stacks[i])
        key = frame.function, frame.file, frame.line, frame.is_python
        whole.add(peaks[i])
        by_place.setdefault(key, (frame, Totals()))[1].add(peaks[i])
    sites = sorted(by_place.values(), key=lambda site: (-site[1].value(), site[0].function, site[0].line))
    info = native.info
    return Peak(whole.bytes(), whole.blocks(), info.peak_ns + info.time_unix_ns - info.time_ns,
                info.peak_resident_bytes or None, info.max_resident_bytes or None,
                tuple(PeakSite(frame, totals.bytes(), totals.blocks()) for frame, totals in sites))
