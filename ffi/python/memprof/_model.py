# SPDX-License-Identifier: Apache-2.0
"""Plain values that snapshots and their differences are made of.  None of them changes."""
from __future__ import annotations

import re
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


_IMPORT_FILE = re.compile(r"<frozen (importlib\.|zipimport>).*|.*/importlib/(__init__|_bootstrap|_bootstrap_external)\.py")


@dataclass(frozen=True, slots=True)
class RateUse:
    """A rate that was in force for a part of the time."""

    rate_bytes: int
    """Mean bytes between samples."""
    allocated_bytes: int
    """Estimate of what was allocated by it."""
    seconds: float
    """How long it was in force."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What of the process was resident, and who held its anonymous memory: all but resident_bytes add up to that."""

    resident_bytes: int
    """Of the process, with files."""
    mapped_bytes: int
    """Mappings that the program made itself."""
    allocator_bytes: int
    """Mapped by an allocator whose blocks are seen: pymalloc, jemalloc."""
    malloc_bytes: int
    """The C library's heap: the break, arenas, large blocks."""
    stack_bytes: int
    """Stacks of threads."""
    module_bytes: int
    """Data of executables and libraries that was written to."""
    own_bytes: int
    """memprof's own."""
    unseen_bytes: int
    """Nobody's who is known: mapped by direct system calls, or before memprof began."""


@dataclass(frozen=True, slots=True)
class ResidentMemory:
    """What the process has in memory (RSS), in parts, in bytes; docs/rss.md says what each is."""

    rss_bytes: int
    swap_bytes: int
    heap_bytes: int
    """Of allocators: live_bytes - absent_bytes + slack_bytes + free_bytes and what is not explained."""
    files_bytes: int
    shared_bytes: int
    stacks_bytes: int
    code_bytes: int
    runtime_bytes: int
    memprof_bytes: int
    anonymous_bytes: int
    live_bytes: int
    """Estimated from samples."""
    absent_bytes: int
    """Of it not in memory: never touched, or swapped out."""
    slack_bytes: int
    """Rounding and headers of live blocks."""
    free_bytes: int | None
    """Free, kept by the allocator; None: its lists cannot be read."""
    unexplained_bytes: float
    fragmentation: float
    """The part of heap_bytes that is not blocks of the program, 0 to 1."""
    counted_bytes: int
    """Blocks in use as jemalloc and tcmalloc count them, exact; 0: neither is there. No part of the sum."""
    tables_bytes: int
    """What these have for tables of their own; not all of it need be in memory."""
    counted_age_ns: int
    """How long before this they were asked."""


@dataclass(frozen=True, slots=True)
class StackFrame:
    """One frame of the stack that allocated."""

    address: int
    """The return address; 0 for a frame of Python."""
    function: str
    """Qualified name of a Python function; name of a native one, demangled; `module+0xoffset` if it has none."""
    file: str
    """The source file; of a notebook's cell its name, `In[3]`; of native code without debug info, the executable or library."""
    line: int
    """Line of the call; 0 where it is not known."""
    is_python: bool
    module: str = ""
    """Path of the executable or library of a native frame."""

    @property
    def _is_import_machinery(self) -> bool:
        return self.is_python and _IMPORT_FILE.fullmatch(self.file) is not None

    def __str__(self) -> str:
        return f"{self.function} ({self.file}:{self.line})" if self.line else f"{self.function} ({self.file})"


@dataclass(frozen=True, slots=True)
class SiteDiff:
    """One place, in both snapshots."""

    frame: StackFrame
    growth: Estimate
    """Live bytes after less those before; `low` and `high` are the ends of the 95 % interval of the difference."""
    new_samples: int
    """Samples that are live after, and were not before."""
    gone_samples: int
    """Samples that were live before, and are not after."""
    stack: tuple[StackFrame, ...]

    @property
    def is_significant(self) -> bool:
        """Chance does not explain it: the interval is on one side of 0."""
        return self.growth.low > 0 or self.growth.high < 0


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
    """The innermost frame first; HeapSnapshot.samples says which.  Samples of one stack share it."""
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
    resident_share: float | None = None
    """How much of it was in memory when HeapSnapshot.resident_memory() was asked, 0 to 1; None before, or not known."""

    @property
    def python_frame(self) -> StackFrame | None:
        """The innermost line of Python: of what importing takes, the importing line.  None: there is no Python in the stack."""
        lines = [frame for frame in self.stack if frame.is_python]
        return next((frame for frame in lines if not frame._is_import_machinery), lines[0] if lines else None)


_NO_TABLES = ("`memprof doctor PID` tells which modules have no unwind tables; rebuild those with "
              "CFLAGS='-fasynchronous-unwind-tables -fno-omit-frame-pointer' pip install --no-binary :all: PACKAGE")
_ODD_CODE = ("There the code does not do what its unwind tables say, as hand-written assembly may not; the callers "
             "up to there are right")
# By MEMPROF_WALK_*: where a stack is cut, and what to do; None: its root was reached.
_CUTS = (None,
         ("at the depth limit", "They are deeper than memprof walks (1024 frames), or than a max_depth of less than 64; "
                                "the callers nearest to the allocation are kept"),
         ("at an implausible frame", _ODD_CODE), ("at the end of the stack", _ODD_CODE),
         ("at code without unwind rules", _NO_TABLES), None)
_MIDDLE_LEFT_OUT = 5
_MANY = 0.20


def is_whole(ending: int) -> bool:
    """Whether both ends of a stack are there that ended so (MEMPROF_WALK_*)."""
    return ending < len(_CUTS) and _CUTS[ending] is None


@dataclass(frozen=True, slots=True)
class FramePointerHealth:
    """How complete the native stacks are.

    Frame pointers are not needed: stacks are walked by the unwind tables of each module, so nothing here is
    guessed from depths.  Estimates are right also where stacks are cut.
    """

    shallow_stack_warnings: int
    """Stacks that do not reach the root of their thread.  One that reaches it without its middle is no such."""
    total_native_stacks: int
    avg_native_depth: float
    min_native_depth: int
    truncation_rate: float
    """shallow_stack_warnings / total_native_stacks"""
    endings: tuple[int, ...] = ()
    """Stacks by how they end: MEMPROF_WALK_* of memprof.h."""

    @property
    def middle_left_out_rate(self) -> float:
        """The share of stacks that are deeper than max_depth: both ends are there, the middle is not."""
        if len(self.endings) <= _MIDDLE_LEFT_OUT or not self.total_native_stacks:
            return 0.0
        return self.endings[_MIDDLE_LEFT_OUT] / self.total_native_stacks

    @property
    def confidence(self) -> str:
        """'high': less than 5 % of the stacks are cut; 'medium': less than 20 %; else 'low'."""
        if self.truncation_rate < 0.05:
            return "high"
        return "medium" if self.truncation_rate < 0.20 else "low"

    @property
    def recommendation(self) -> str | None:
        """What to do if the confidence is not high, or if many stacks lack their middle."""
        if self.confidence == "high":
            if self.middle_left_out_rate < _MANY:
                return None
            return (f"{self.middle_left_out_rate:.1%} of the stacks lack their middle: memprof.start(max_depth=1024) "
                    f"keeps more of it")
        cuts = [(count, *cut) for count, cut in zip(self.endings, _CUTS) if cut and count]
        if not cuts:
            return f"{self.truncation_rate:.1%} of the stacks are cut"
        _, where, advice = max(cuts)
        return f"{self.truncation_rate:.1%} of the stacks are cut, most of them {where}. {advice}"


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


@dataclass(frozen=True, slots=True)
class Mapping:
    """Memory that the program mapped itself: exact, and in no sum of blocks."""

    address: int
    mapped_bytes: int
    """What of it is still mapped."""
    resident_bytes: int
    """Of it in memory when the snapshot was taken."""
    thread_id: int
    """The system's id of the thread that mapped it."""
    stack: tuple[StackFrame, ...]
    """Innermost frame first."""
