# SPDX-License-Identifier: Apache-2.0
"""Plain values that snapshots are made of.  None of them changes."""
from __future__ import annotations

from dataclasses import dataclass


class Estimate(int):
    """An estimated number, rounded, with the ends of its 95 % interval: `low`, `high`.

    It is an int in every other respect; what is computed from it is a plain number.
    """

    low: int
    high: int

    def __new__(cls, value: float, low: float, high: float) -> Estimate:
        self = super().__new__(cls, round(value))
        self.low = min(round(low), int(self))
        self.high = max(round(high), int(self))
        return self

    def __reduce__(self) -> tuple[type[Estimate], tuple[int, int, int]]:
        return Estimate, (int(self), self.low, self.high)

    @property
    def is_exact(self) -> bool:
        """Every allocation that it counts was recorded."""
        return self.low == self.high

    def __repr__(self) -> str:
        return f"Estimate({int(self)}, low={self.low}, high={self.high})"

    def __str__(self) -> str:
        return int.__repr__(self)


@dataclass(frozen=True, slots=True)
class StackFrame:
    """One frame of the stack that allocated."""

    address: int
    """The return address; 0 for a frame of Python."""
    function: str
    """Qualified name of a Python function; name of a native one, demangled; `module+0xoffset` if it has none."""
    file: str
    """The source file; of native code without debug info, the executable or library."""
    line: int
    """Line of the call; 0 where it is not known."""
    is_python: bool
    module: str = ""
    """Path of the executable or library of a native frame."""

    def __str__(self) -> str:
        return f"{self.function} ({self.file}:{self.line})" if self.line else f"{self.function} ({self.file})"


@dataclass(frozen=True, slots=True)
class AllocationSample:
    """One sampled block that was live when the snapshot was taken."""

    address: int
    size: int
    """Bytes that were asked for."""
    weight: float
    """Bytes that it stands for: size / (1 - exp(-size / rate))."""
    estimated_bytes: int
    """The weight, rounded."""
    timestamp_ns: int
    """When it was allocated: nanoseconds since 1970."""
    lifetime_ns: int | None
    """None: it is live."""
    stack: tuple[StackFrame, ...]
    """The innermost frame first.  Samples of one stack share it."""
    gc_epoch: int | None = None
    """Runs of the garbage collector before it was allocated; None where they were not counted."""
    estimated_blocks: float = 1.0
    """Blocks of its size that it stands for."""
    rate_bytes: int = 0
    """Mean bytes between samples when it was drawn; 0 or 1: every allocation."""
    thread_id: int = 0
    """The system's id of the thread that allocated it."""
    heap: str = ""
    """Name of the heap, where an allocator of the program's own reported the block."""


_WALKS = ("complete", "cut at the depth limit", "cut at an implausible frame", "cut at the end of the stack",
          "cut at code without unwind rules", "complete but for the middle")


@dataclass(frozen=True, slots=True)
class FramePointerHealth:
    """How complete the native stacks are.

    Frame pointers are not needed: stacks are walked by the unwind tables of each module, so nothing here is
    guessed from depths.  Estimates are right also where stacks are cut.
    """

    shallow_stack_warnings: int
    """Stacks that do not reach the root of their thread."""
    total_native_stacks: int
    avg_native_depth: float
    min_native_depth: int
    truncation_rate: float
    """shallow_stack_warnings / total_native_stacks"""
    endings: tuple[int, ...] = ()
    """Stacks by how they end: MEMPROF_WALK_* of memprof.h."""

    @property
    def confidence(self) -> str:
        """'high': less than 5 % of the stacks are cut; 'medium': less than 20 %; else 'low'."""
        if self.truncation_rate < 0.05:
            return "high"
        return "medium" if self.truncation_rate < 0.20 else "low"

    @property
    def recommendation(self) -> str | None:
        """What to do if the confidence is not high."""
        if self.confidence == "high":
            return None
        cuts = [(count, why) for count, why in zip(self.endings, _WALKS) if why.startswith("cut") and count]
        most = f", most of them {max(cuts)[1]}" if cuts else ""
        return (f"{self.truncation_rate:.1%} of the stacks are cut{most}. `memprof doctor PID` tells which modules have no "
                f"unwind tables; rebuild those with CFLAGS='-fasynchronous-unwind-tables -fno-omit-frame-pointer' "
                f"pip install --no-binary :all: PACKAGE")


@dataclass(frozen=True, slots=True)
class MemProfStats:
    """Counters of the profiler since its first start."""

    total_samples: int
    live_samples: int
    freed_samples: int
    unique_stacks: int
    estimated_heap_bytes: int
    heap_map_load_percent: float
    """How full the table of live samples is."""
    collisions: int
    """Live samples whose address was given out anew, without the free having been seen."""
    sampling_rate_bytes: int
    dropped_samples: int = 0
    """Samples that a full table refused."""
    state: str = "uninitialized"
    """uninitialized, initialized, active, stopped, or terminated."""
    peak_heap_bytes: int = 0
    """The most that was live at once, estimated."""
    hooks: str = "none"
    """How allocations are seen: none, interposed (preloaded or linked), imports (patched import tables)."""
