# SPDX-License-Identifier: Apache-2.0
"""HeapSnapshot: what was live at one moment."""
from __future__ import annotations

import os
from threading import RLock
from typing import TYPE_CHECKING, Any

from memprof import _formats, _sites
from memprof._frames import Frames
from memprof._intervals import Sum
from memprof._library import NativeSnapshot, lib, muted
from memprof._model import AllocationSample, Estimate, FramePointerHealth, Mapping, Memory, RateUse, ResidentMemory, StackFrame, is_whole
from memprof._roles import python_part
from memprof._totals import METRICS, read_peak, read_places, top_places

if TYPE_CHECKING:
    from memprof._totals import Peak


class HeapSnapshot:
    """What was live when it was taken: an immutable copy, valid after stop and shutdown, in any thread.

    Printed, and in a notebook, it shows the places that hold the most.
    """

    def __init__(self, native: NativeSnapshot, shows_native: bool = False) -> None:
        self._native = native
        self._shows_native = shows_native
        self._lock = RLock()
        self._names: _formats.Names | None = None
        self._is_resolved = False
        self._stacks: list[tuple[StackFrame, ...]] | None = None
        self._shown_stacks: dict[tuple[StackFrame, ...], tuple[StackFrame, ...]] = {}
        self._frames: Frames | None = None
        self._samples: tuple[AllocationSample, ...] | None = None
        self._live: tuple[Estimate, Estimate] | None = None
        self._peak: tuple[Peak | None] | None = None

    # ---- what was counted

    @property
    def total_samples(self) -> int:
        """Samples since the first start, freed ones included."""
        return int(self._native.stats.samples)

    @property
    def live_samples(self) -> int:
        """Of these, blocks that are live."""
        return self._native.record_count

    @property
    def dropped_samples(self) -> int:
        """Samples that a full table refused: what they stand for is missing below."""
        return int(self._native.stats.dropped_samples)

    @property
    def sampling_rate_bytes(self) -> int:
        """Mean bytes between samples when it was taken; 0 or 1: every allocation."""
        return int(self._native.info.rate_bytes)

    @property
    def rates(self) -> tuple[RateUse, ...]:
        """The rates that were in force, ascending, with the bytes that were allocated and the seconds that went by at
        each: more than one with a budget, after another start, or where the table of live blocks was full."""
        return tuple(RateUse(*use) for use in self._native.rates())

    def resident_memory(self) -> ResidentMemory:
        """What the process has in memory now, in parts.  Ask soon after the snapshot was taken: its live blocks are
        what is looked at.  Takes about a millisecond a GiB.  OSError: the system does not say; TimeoutError (an OSError):
        the time for it ran out.

        From then on `samples` say how much of each block is in memory, and files that save() writes have it by place."""
        with self._lock, muted():
            memory = ResidentMemory(**self._native.resident())
            self._samples = None
            return memory

    @property
    def timestamp_ns(self) -> int:
        """When it was taken: nanoseconds since 1970."""
        return int(self._native.info.time_unix_ns)

    @property
    def pid(self) -> int:
        """Of the process that it shows."""
        return int(self._native.info.pid)

    @property
    def gc_epochs_during_profile(self) -> int:
        """Runs of Python's garbage collector while they were counted; 0 without gc_tracking."""
        return self._native.epochs.current if self._native.epochs else 0

    @property
    def frame_pointer_health(self) -> FramePointerHealth:
        """How complete the native stacks are."""
        stats = self._native.stats
        endings = tuple(stats.walks)
        walks = sum(endings)
        cut = sum(count for ending, count in enumerate(endings) if not is_whole(ending))
        return FramePointerHealth(cut, walks, stats.frames / walks if walks else 0.0, stats.min_depth,
                                  cut / walks if walks else 0.0, endings)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is missing from the picture, if anything is: sentences for people."""
        stats = self._native.stats
        notes = []
        if self.dropped_samples:
            notes.append(f"{self.dropped_samples:,} samples were dropped for want of room (max_live_samples, max_stacks)")
        if stats.folded_stacks:
            notes.append(f"{stats.folded_stacks:,} older stacks were shortened, to [older stacks]: the table was full")
        if stats.folded_modules or stats.folded_functions or stats.folded_heaps:
            notes.append(f"tables of names were full: {stats.folded_modules:,} modules, {stats.folded_functions:,} functions and "
                         f"{stats.folded_heaps:,} heaps share a name with others")
        if stats.thinned_samples:
            notes.append(f"the table of live blocks was full: {stats.thinned_samples:,} samples left it to others of a higher rate")
        if stats.import_taken:
            notes.append(f"another tool in this process wrote over memprof's imports of allocation functions: for up to "
                         f"{stats.import_unseen_ns / 1e9:.2g} s allocations and frees were not seen")
        if stats.python_objects == lib.MEMPROF_PYTHON_REFUSED:
            notes.append("Python objects are not seen: the allocators of this interpreter could not be replaced")
        if stats.python_version == 0:
            notes.append("This interpreter is not known: stacks are native, without Python's functions and lines")
        advice = self.frame_pointer_health.recommendation
        return (*notes, advice) if advice else tuple(notes)

    # ---- estimates

    def _live_estimates(self) -> tuple[Estimate, Estimate]:
        with self._lock, muted():
            if self._live is None:
                live = Sum()
                native = self._native
                for i in range(native.record_count):
                    record = native.records[i]
                    live.add(record.size_bytes, record.rate_bytes)
                self._live = live.bytes(), live.blocks()
            return self._live

    @property
    def estimated_heap_bytes(self) -> Estimate:
        """Bytes that are live."""
        return self._live_estimates()[0]

    @property
    def estimated_heap_blocks(self) -> Estimate:
        """Blocks that are live."""
        return self._live_estimates()[1]

    @property
    def peak(self) -> Peak | None:
        """The heap at its highest, by place: unbiased, told by half of the samples, so its intervals are wider than
        those of what is live.  memprof.reset_peak() begins it anew.  None: unknown."""
        with self._lock, muted():
            if self._peak is None:
                self._peak = (read_peak(self._native, self._all_stacks()),)
            return self._peak[0]

    @property
    def samples(self) -> tuple[AllocationSample, ...]:
        """Every live sample, ordered by stack and size.  Stacks with lines of Python are these lines, the innermost first;
        get_snapshot(native=True) has the native frames between them, and those that the lines called, as well."""
        with self._lock, muted():
            if self._samples is None:
                self._samples = tuple(self._read_samples())
            return self._samples

    def _read_samples(self) -> list[AllocationSample]:
        native, stacks = self._native, self._all_stacks()
        heaps = native.heap_names()
        shares = native.resident_shares()
        # The samples' clock is monotonic; it stood at info.time_ns when it was info.time_unix_ns.
        to_unix_ns = native.info.time_unix_ns - native.info.time_ns
        samples = []
        for i in range(native.record_count):
            record = native.records[i]
            samples.append(AllocationSample(
                address=record.address, size=record.size_bytes, weight=record.weight_bytes,
                estimated_bytes=round(record.weight_bytes), timestamp_ns=record.time_ns + to_unix_ns, lifetime_ns=None,
                stack=self._shown(stacks[record.stack_id]),
                gc_epoch=native.epochs.at(record.time_ns) if native.epochs else None,
                estimated_blocks=record.weight_count, rate_bytes=record.rate_bytes, thread_id=record.thread_id,
                heap=heaps[record.stack_id],
                resident_share=shares[i] if i < len(shares) and shares[i] >= 0 else None))
        return samples

    def _all_stacks(self) -> list[tuple[StackFrame, ...]]:
        with self._lock, muted():
            if self._stacks is None:
                frames = Frames(self._native.handle, self._is_resolved)
                self._stacks = [frames.stack(self._native.stacks[i]) for i in range(self._native.stack_count)]
                if self._names is not None:
                    self._stacks = [self._names.improve(stack) for stack in self._stacks]
            return self._stacks

    def _shown(self, stack: tuple[StackFrame, ...]) -> tuple[StackFrame, ...]:
        """What of a stack is shown to users; of one stack it is one object."""
        if self._shows_native:
            return stack
        shown = self._shown_stacks.get(stack)
        if shown is None:
            shown = self._shown_stacks[stack] = python_part(stack)
        return shown

    def _reader(self) -> Frames:
        """Frames of single stacks: of no use any more after resolve()."""
        if self._frames is None:
            self._frames = Frames(self._native.handle, self._is_resolved)
        return self._frames

    def _stack(self, index: int) -> tuple[StackFrame, ...]:
        """One stack; names are looked up only where no frame of Python says where it is."""
        with self._lock, muted():
            if self._stacks is not None:
                return self._stacks[index]
            stack = self._reader().stack(self._native.stacks[index])
            if not self._is_resolved and not any(frame.is_python for frame in stack):
                self.resolve()
                return self._stack(index)
            return stack

    def mappings(self) -> tuple[Mapping, ...]:
        """Memory that the program mapped itself, ordered by address: with start(mappings=True) only."""
        return tuple(Mapping(start, limit - start, resident, thread, self._shown(self._stack(stack)))
                     for start, limit, resident, stack, thread in self._native.mappings())

    def memory(self) -> Memory | None:
        """Who held the anonymous memory of the process; None without start(mappings=True)."""
        memory = self._native.memory()
        if memory.time_ns == 0:
            return None
        return Memory(memory.resident_bytes, memory.mapped_bytes, memory.allocator_bytes, memory.malloc_bytes,
                      memory.stack_bytes, memory.module_bytes, memory.own_bytes, memory.unseen_bytes)

    def allocations_surviving_gc(self, min_epochs: int = 1) -> list[AllocationSample]:
        """Live samples that outlived at least this many runs of the garbage collector.

        Raises RuntimeError where they were not counted (gc_tracking=True).
        """
        epochs = self._native.epochs
        if epochs is None:
            raise RuntimeError("allocations_surviving_gc: runs of the garbage collector were not counted; start with "
                               "memprof.start(gc_tracking=True)")
        newest = epochs.current - min_epochs
        return [sample for sample in self.samples if sample.gc_epoch is not None and sample.gc_epoch <= newest]

    def leaks(self, *earlier: Any, **options: Any) -> dict[str, Any]:
        """Which places leak, as memprof.leaks() says; with earlier snapshots what lived then counts, too."""
        from memprof._answers import leaks
        return leaks(*earlier, self, **options)

    def churn(self, **options: Any) -> dict[str, Any]:
        """What was allocated and freed again soon after, by place, as memprof.churn() says."""
        from memprof._answers import churn
        return churn(self, **options)

    # ---- places

    def sites(self) -> _sites.Sites:
        """All places that hold memory, the largest first."""
        with muted():
            return _sites.Sites(self._native, self._all_stacks())

    def top_allocators(self, n: int = 10, metric: str = "live", younger_ns: int = 10_000_000) -> list[dict[str, Any]]:
        """The places that hold the most: where Python code is on the stack the innermost line of it, else the
        native function that called the allocator.

        metric: what they are ordered by, and what estimated_bytes, estimated_blocks, samples and percent are of:
            "live"       what is live
            "allocated"  what was allocated since the start
            "temporary"  of that, what was freed again within younger_ns (10 ms).  Lifetimes are kept in classes, two
                         a decade (1, 3, 10 ...): the bound next to it is used.
            "peak"       what was live when the heap was at its highest, as `peak` has it: of half of the samples

        Each is a dict: function, file, line, is_python, native_function (the innermost native one that is
        no allocator), estimated_bytes and estimated_blocks (Estimate), samples, percent, stack (of its
        largest part, as in `samples`); and whatever the metric is, allocated_bytes, temporary_bytes, peak_bytes (Estimate) and
        lifetime_ns, the mean lifetime of what was freed, as close as a class is wide (None: nothing was).

        Raises ValueError for another metric or a number that is out of range.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise ValueError(f"top_allocators: n is {n!r}; give how many places, like 10")
        if metric not in METRICS:
            raise ValueError(f"top_allocators: metric is {metric!r}; give one of {', '.join(METRICS)}")
        if isinstance(younger_ns, bool) or not isinstance(younger_ns, int) or not 0 < younger_ns < 1 << 63:
            raise ValueError(f"top_allocators: younger_ns is {younger_ns!r}; give nanoseconds, like 10_000_000")
        with muted():
            if metric == "live":
                rows = self.sites().top(n)
                places = read_places(self._native, self._all_stacks(), younger_ns, metric) if rows else {}
                found = [{**site.as_dict(), **places[site.key].facts()} for site in rows]
            else:
                found = top_places(read_places(self._native, self._all_stacks(), younger_ns, metric), metric, n)
            return [{**row, "stack": self._shown(row["stack"])} for row in found]

    # ---- names and files

    def resolve(self, debug_info: bool = False) -> HeapSnapshot:
        """Gives native frames their names, and returns the snapshot itself.  Its numbers do not change.

        debug_info: also functions that are not exported, source files and lines, from debug info and symbol
            tables: by the memprof command, in a process of its own.  It may take seconds.
        """
        with self._lock, muted():
            if debug_info and self._names is None:
                self._names = _formats.read_names(self._native)
            elif self._is_resolved:
                return self
            self._is_resolved = True
            self._stacks = self._samples = self._frames = self._peak = None
            self._shown_stacks = {}
        return self

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Writes the snapshot with all names, by the memprof command; an existing file is replaced.

        format: one that `memprof export --format` has, like "html", "speedscope", "pprof" ("pb.gz"), "svg", "dhat",
            "heapprofile", "parquet", "collapsed" or "json".  Without one, the path's end decides, as in the memprof
            command: .html, .svg, .speedscope.json, .heapprofile, .dhat.json, .parquet, .pb.gz, .pb, .collapsed, .json
            (memprof's own).

        Raises ValueError for an unknown format or end, OSError where the file cannot be written.
        """
        with muted():
            _formats.save(self._native, path, format)

    def show(self, height: int = 700) -> _formats.Page:
        """The page of `memprof view`: flame graph, table, callers.  As the last line of a notebook's cell it is drawn
        there, `height` pixels high; Page.open() opens it in the browser.  OSError where it cannot be made.
        """
        with muted():
            return _formats.page(self._native, height)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each place, the largest first.  ImportError without pandas."""
        return self.sites().to_pandas()

    def __repr__(self) -> str:
        with muted():
            from memprof._text import snapshot_text
            return snapshot_text(self)

    def _repr_html_(self) -> str:
        with muted():
            from memprof._text import snapshot_html
            return snapshot_html(self)

    def __reduce__(self) -> Any:
        raise TypeError("a HeapSnapshot cannot be pickled; send HeapSnapshot.samples, or save() it to a file")
