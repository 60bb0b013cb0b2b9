# SPDX-License-Identifier: Apache-2.0
"""memprof: a sampling profiler of memory allocations, from inside a Python program.

    import memprof

    memprof.start()                        # fine at first, coarser as bytes go by
    ...                                    # the program runs
    snapshot = memprof.get_snapshot()
    print(snapshot)                        # what is live, and who allocated it
    snapshot.save("heap.pb.gz")            # pprof; `memprof report heap.pb.gz`

Everything that a process allocates is seen: Python objects, NumPy arrays, buffers of C and C++ extensions.
Every number is an unbiased estimate; `.low` and `.high` are the ends of its 95 % interval.

Life cycle: start, stop, start ... and in the end, if ever, shutdown, after which there is no start any more.
Calls that do not fit raise RuntimeError.  Data add up over start and stop; after a stop, frees are still
followed, so that what is freed later does not look like a leak.

Threads: every function may be called by any thread.  In a child made by fork the profiler is off until
start() begins anew there, unless it was started with follow_fork=True; a child has a profile of its own then.
"""
from __future__ import annotations

from memprof._profiler import MemoryProfiler, get_snapshot, get_stats, is_active, reset_peak, shutdown, start, stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memprof._answers import churn as churn
    from memprof._answers import leaks as leaks
    from memprof._diff import SnapshotDiff as SnapshotDiff
    from memprof._diff import snapshot_diff as snapshot_diff
    from memprof._model import AllocationSample as AllocationSample
    from memprof._model import Estimate as Estimate
    from memprof._model import FramePointerHealth as FramePointerHealth
    from memprof._model import Mapping as Mapping
    from memprof._model import Memory as Memory
    from memprof._model import MemProfStats as MemProfStats
    from memprof._model import RateUse as RateUse
    from memprof._model import ResidentMemory as ResidentMemory
    from memprof._model import StackFrame as StackFrame
    from memprof._library import library_path as library_path
    from memprof._notebook.magics import load_ipython_extension as load_ipython_extension
    from memprof._snapshot import HeapSnapshot as HeapSnapshot

__all__ = ["AllocationSample", "Estimate", "FramePointerHealth", "HeapSnapshot", "Mapping", "MemProfStats", "Memory", "MemoryProfiler",
           "Peak", "PeakSite", "RateUse", "ResidentMemory", "SnapshotDiff", "StackFrame", "churn", "get_snapshot", "get_stats", "is_active", "leaks", "library_path", "reset_peak", "shutdown",
           "snapshot_diff", "start", "stop"]

# Loaded when they are asked for: what takes long to import is not needed to start.
_LATER = {
    "AllocationSample": "_model", "Estimate": "_model", "FramePointerHealth": "_model", "Mapping": "_model", "Memory": "_model", "MemProfStats": "_model",
    "RateUse": "_model", "ResidentMemory": "_model",
    "StackFrame": "_model", "HeapSnapshot": "_snapshot", "Peak": "_totals", "PeakSite": "_totals", "SnapshotDiff": "_diff", "snapshot_diff": "_diff",
    "churn": "_answers", "leaks": "_answers",
    "library_path": "_library", "load_ipython_extension": "_notebook.magics",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from memprof._library import version
        return version()
    if name not in _LATER:
        raise AttributeError(f"module 'memprof' has no attribute {name!r}")
    import importlib
    value: object = getattr(importlib.import_module(f"memprof.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
