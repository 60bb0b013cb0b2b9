# SPDX-License-Identifier: Apache-2.0
"""The life cycle: start, stop, shutdown; snapshots and counters while it lasts."""
from __future__ import annotations

import os
from _thread import allocate_lock

from memprof import _gc_epochs
from memprof._library import check, ffi, lib, muted, text, was_there

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from memprof._model import MemProfStats
    from memprof._snapshot import HeapSnapshot

MOST_RATE_BYTES = 1 << 50
_STARTS_FINE = 1 << 63  # MEMPROF_RATE_STARTS_FINE
_STATES = ("uninitialized", "initialized", "active", "stopped", "terminated")
_HOOKS = ("none", "interposed", "imports")

_lock = allocate_lock()
_options: Any = None  # what the first start asked for
_goes_on = False  # a start found that `memprof run` had begun already


def _after_fork() -> None:
    """In the child.  A thread that forks may be the one that does not hold the lock."""
    global _lock, _goes_on
    _lock = allocate_lock()
    _goes_on = False


os.register_at_fork(after_in_child=_after_fork)


def _rate_bytes(sampling_rate_kb: int | None) -> int:
    if sampling_rate_kb is None:
        return _STARTS_FINE
    if isinstance(sampling_rate_kb, bool) or not isinstance(sampling_rate_kb, int):
        raise TypeError(f"sampling_rate_kb: {sampling_rate_kb!r} is a {type(sampling_rate_kb).__name__}; give a whole "
                        f"number of KiB, like 512 (0 records every allocation)")
    if sampling_rate_kb < 0:
        raise ValueError(f"sampling_rate_kb: {sampling_rate_kb} is negative; give KiB between samples, like 512 "
                         f"(0 records every allocation)")
    if sampling_rate_kb > MOST_RATE_BYTES // 1024:
        raise ValueError(f"sampling_rate_kb: {sampling_rate_kb} is too large; give KiB between samples, like 512, at most "
                         f"{MOST_RATE_BYTES // 1024} (1 PiB)")
    return sampling_rate_kb * 1024


def _limit(name: str, value: int | None, most: int, least: int = 1) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: {value!r} is a {type(value).__name__}; give a whole number")
    if not least <= value <= most:
        raise ValueError(f"{name}: {value} is not between {least} and {most}")
    return value


def _budget_ppm(budget: float | str | None) -> int:
    """In parts in a million of the process's CPU time; 0: none."""
    if budget is None:
        return 0
    wanted = f"budget: {budget!r} is not a share of the CPU time; give one like '0.5%' or 0.005, at most 50%"
    if isinstance(budget, bool) or not isinstance(budget, (int, float, str)):
        raise TypeError(wanted)
    try:
        if isinstance(budget, str):
            if not budget.endswith("%"):
                raise ValueError
            share = float(budget[:-1]) / 100
        else:
            share = float(budget)
    except ValueError:
        raise ValueError(wanted) from None
    ppm = round(share * 1e6) if 0 < share <= 0.5 else 0
    if ppm == 0:
        raise ValueError(wanted)
    return ppm


def _stats() -> Any:
    stats = ffi.new("memprof_stats*")
    stats.struct_size = ffi.sizeof("memprof_stats")
    check(lib.memprof_get_stats(stats), "memprof.get_stats")
    return stats


def _in_fork_child(what: str) -> str:
    return (f"{what}: this is a fork child of the process that is profiled, and the profiler is off here; call "
            f"memprof.start() in the child, or start with follow_fork=True (or MEMPROF_FOLLOW_FORK=1) before the fork")


def _check_call(result: int, what: str, state: str) -> None:
    """Results of the life cycle's functions: `state` is what MEMPROF_ERR_STATE means here."""
    if result == lib.MEMPROF_ERR_FORKED:
        raise RuntimeError(_in_fork_child(what))
    check(result, what, state if result == lib.MEMPROF_ERR_STATE else "")


def start(sampling_rate_kb: int | None = None, *, gc_tracking: bool = False, follow_fork: bool = False,
          python: bool = True, native_interpreter: bool = False, max_depth: int | None = None,
          max_live_samples: int | None = None, max_stacks: int | None = None,
          budget: float | str | None = None, memory_limit_bytes: int | None = None, mappings: bool = False) -> None:
    """Starts to record allocations, or goes on after a stop.

    sampling_rate_kb: KiB between samples on average.  Less is more exact and costs more; 0 records every
        allocation.  It may differ from start to start.  None: 8 at first, and more as bytes go by, up to 512 after some
        hundred megabytes, so that a small program is seen finely; that costs at most 20 ms of CPU more than 512 from
        the start on, or 0.5 % where that is more.
    gc_tracking: counts runs of the garbage collector, for HeapSnapshot.allocations_surviving_gc().

    What follows is settled by the first start (a later one that says something else raises ValueError):
    follow_fork: children by fork are profiled too, each by itself.
    python: Python objects and Python frames; without, Python is a program like any other.
    native_interpreter: keeps the native frames of the interpreter's evaluation loop.
    max_depth, max_live_samples, max_stacks: limits; what they refuse is counted.
    memory_limit_bytes: that all tables together stay within, at least 4 MiB; full tables cost detail, never totals.
    mappings: memory that the program maps itself (mmap, sbrk) is recorded, each mapping with its stack: HeapSnapshot.mappings().
    budget: what sampling may cost, as a share of the process's CPU time: "0.5%" or 0.005.  The rate follows it,
        between 16 KiB and 64 MiB, from a coarse one on (16 MiB for 0.5 %), or from sampling_rate_kb where that is
        given and not 512.  HeapSnapshot.rates says which rates there were.

    Under `memprof run` (or MEMPROF_PROFILE) recording has begun before the program: the first start goes on with it, at its
    rate, follows forks as it does, and raises ValueError for other options that it was not given.  stop() then leaves it
    to record for its own profile.

    Raises RuntimeError when it is active already or was shut down, and where allocations cannot be seen.
    """
    rate_bytes = _rate_bytes(sampling_rate_kb)
    limits = {"max_depth": _limit("max_depth", max_depth, 1024),
              "max_live_samples": _limit("max_live_samples", max_live_samples, 1 << 40),
              "max_stacks": _limit("max_stacks", max_stacks, 1 << 40),
              "memory_limit_bytes": _limit("memory_limit_bytes", memory_limit_bytes, 1 << 60, 4 << 20)}
    fixed = {"follow_fork": int(bool(follow_fork)), "python": int(not python),
             "native_interpreter": int(bool(native_interpreter)), "budget_ppm": _budget_ppm(budget),
             "mappings": int(bool(mappings)), **limits}
    with _lock:
        _start(rate_bytes, fixed)
    if gc_tracking:
        _gc_epochs.enable()


def _start(rate_bytes: int, fixed: dict[str, int]) -> None:
    global _options, _goes_on
    state = _stats().state
    if state == lib.MEMPROF_STATE_ACTIVE:
        if lib.memprof_start() == lib.MEMPROF_ERR_FORKED:
            raise RuntimeError(_in_fork_child("memprof.start"))
        if not was_there or _options is not None or _goes_on:
            raise RuntimeError("memprof.start: it is active already; call memprof.stop() first")
        for name, value in fixed.items():
            if value and name != "follow_fork":
                raise ValueError(f"memprof.start: {name} is settled by `memprof run` (or MEMPROF_PROFILE), which was not given it")
        _goes_on = True
        return
    if state == lib.MEMPROF_STATE_TERMINATED:
        raise RuntimeError("memprof.start: it was shut down, which is for good; to pause, use memprof.stop()")
    if state == lib.MEMPROF_STATE_UNINITIALIZED:
        options = ffi.new("memprof_options*")
        check(lib.memprof_options_init(options, ffi.sizeof("memprof_options")), "memprof.start")
        known = {name for name, _ in ffi.typeof("memprof_options").fields}
        for name, value in fixed.items():
            if name in known and value:
                setattr(options, name, value)
        default = options.rate_bytes
        options.rate_bytes = rate_bytes
        result = lib.memprof_init(options)
        if result == lib.MEMPROF_ERR_INVALID and rate_bytes == _STARTS_FINE:  # an older library
            options.rate_bytes = default
            result = lib.memprof_init(options)
        check(result, "memprof.start")
        _options = fixed
    else:
        for name, value in fixed.items():
            if value and (_options is None or _options[name] != value):
                raise ValueError(f"memprof.start: {name} is settled by the first start, which did not say this")
        check(lib.memprof_set_rate(rate_bytes), "memprof.start")
    _check_call(lib.memprof_start(), "memprof.start", "it is active already; call memprof.stop() first")


def was_started() -> bool:
    """Whether a start has settled the options in this process."""
    return _options is not None or bool(_stats().state != lib.MEMPROF_STATE_UNINITIALIZED)


def stop() -> None:
    """Stops to record allocations.  Frees of what was recorded are still followed, and all data are kept.

    Raises RuntimeError when it is not active.
    """
    global _goes_on
    with _lock:
        if _goes_on:
            _goes_on = False  # what began before the program goes on without it
            return
        _check_call(lib.memprof_stop(), "memprof.stop", "it is not active; call memprof.start() first")


def shutdown() -> None:
    """Ends everything, for good: no start is possible any more.  It is not needed at the end of a program.

    Snapshots can still be taken; they show the moment of the shutdown.  Memory is not given back, because
    other threads may be in a hook.  Raises RuntimeError when it was never started.
    """
    with _lock:
        _check_call(lib.memprof_shutdown(), "memprof.shutdown", "it was never started")
        _gc_epochs.disable()


def reset_peak() -> None:
    """Begins the peak anew: from now on HeapSnapshot.peak, peak_bytes of places and MemProfStats.peak_heap_bytes are
    the most that is live after this call.  One part of a program at a time can use it; limits of tests do.

    Raises RuntimeError when memprof was never started.
    """
    _check_call(lib.memprof_reset_peak(), "memprof.reset_peak", "there is no peak yet; call memprof.start() first")


def is_active() -> bool:
    """Whether allocations are recorded at the moment."""
    return bool(_stats().state == lib.MEMPROF_STATE_ACTIVE)


def get_snapshot(resolve: bool = True, native: bool = False) -> HeapSnapshot:
    """An immutable picture of what is live now.  It stays valid after stop and shutdown.

    resolve: names native frames by the dynamic symbols of their modules.  Without, they are addresses until
        HeapSnapshot.resolve() is called.  Frames of Python always have their names.
    native: stacks with lines of Python have their native frames, too.  Without, the first frame of what Python code
        allocated is the line that did.  Numbers and places are the same.

    Raises RuntimeError when memprof was never started.
    """
    with muted():
        from memprof._library import NativeSnapshot
        from memprof._snapshot import HeapSnapshot
        handle = ffi.new("memprof_snapshot**")
        _check_call(lib.memprof_get_snapshot(handle), "memprof.get_snapshot",
                    "there is nothing to show; call memprof.start() first")
        epochs = _gc_epochs.until_now()
        snapshot = HeapSnapshot(NativeSnapshot(handle[0], epochs), native)
        if resolve:
            snapshot.resolve()
        return snapshot


def get_stats() -> MemProfStats:
    """The profiler's counters.  Before the first start all are 0."""
    with muted():
        from memprof._model import MemProfStats
        stats = _stats()
        most = (_options or {}).get("max_live_samples") or 1 << 20
        return MemProfStats(
            total_samples=stats.samples, live_samples=stats.live_samples, freed_samples=stats.freed_samples,
            unique_stacks=stats.stacks, estimated_heap_bytes=stats.live_weight_bytes, peak_heap_bytes=stats.peak_weight_bytes,
            heap_map_load_percent=100 * stats.live_samples / most, collisions=stats.replaced_samples,
            sampling_rate_bytes=stats.rate_bytes, dropped_samples=stats.dropped_samples, state=_STATES[stats.state],
            hooks=_HOOKS[stats.hooks])


class MemoryProfiler:
    """Records in a `with` block; afterwards `snapshot` shows what was live at its end.

        with memprof.MemoryProfiler(sampling_rate_kb=64) as profiler:
            work()
        print(profiler.snapshot)

    The arguments are those of memprof.start, and native that of memprof.get_snapshot.
    """

    def __init__(self, sampling_rate_kb: int | None = None, *, gc_tracking: bool = False, native: bool = False,
                 **options: Any) -> None:
        _rate_bytes(sampling_rate_kb)
        self._native = native
        self._sampling_rate_kb = sampling_rate_kb
        self._options = {"gc_tracking": gc_tracking, **options}
        self._snapshot: HeapSnapshot | None = None

    def __enter__(self) -> MemoryProfiler:
        start(self._sampling_rate_kb, **self._options)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self._snapshot = get_snapshot(native=self._native)
        if is_active():  # the block may have stopped it
            stop()

    @property
    def snapshot(self) -> HeapSnapshot | None:
        """None until the block has ended."""
        return self._snapshot
