# SPDX-License-Identifier: Apache-2.0
"""What each place allocated, and how long it lived, as a snapshot tells it."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memprof._intervals import Totals
from memprof._library import check, ffi, lib
from memprof._sites import native_leaf, place

if TYPE_CHECKING:
    from memprof._model import StackFrame
    from memprof._sites import Key
    from memprof._snapshot import HeapSnapshot

METRICS = ("live", "allocated", "temporary")


class Place:
    """Sums over the stacks of one place."""

    __slots__ = ("_largest", "allocated", "frame", "freed_blocks", "lifetime_ns_blocks", "samples", "stack", "temporary")

    def __init__(self, frame: StackFrame) -> None:
        self.frame = frame
        self.allocated = Totals()
        self.temporary = Totals()
        self.freed_blocks = self.lifetime_ns_blocks = 0.0
        self.samples = {"allocated": 0, "temporary": 0}
        self.stack: tuple[StackFrame, ...] = ()
        self._largest = -1.0

    def add(self, stack: tuple[StackFrame, ...], native: Any, temporary: Any, metric: str) -> None:
        """One stack of a snapshot, and what of it was temporary."""
        self.allocated.add(native.allocated)
        self.temporary.add(temporary)
        self.freed_blocks += native.freed.weight_count
        self.lifetime_ns_blocks += native.lifetime_ns
        self.samples["allocated"] += native.allocated.samples
        self.samples["temporary"] += temporary.samples
        value = (temporary if metric == "temporary" else native.allocated).weight_bytes
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
        return {"allocated_bytes": self.allocated.bytes(), "temporary_bytes": self.temporary.bytes(),
                "lifetime_ns": self.lifetime_ns}

    def as_dict(self, metric: str, total: float) -> dict[str, Any]:
        """A row of HeapSnapshot.top_allocators."""
        sums = self.temporary if metric == "temporary" else self.allocated
        leaf = native_leaf(self.stack)
        frame = self.frame
        return {"function": frame.function, "file": frame.file, "line": frame.line, "is_python": frame.is_python,
                "native_function": leaf.function if leaf is not None else "", "estimated_bytes": sums.bytes(),
                "estimated_blocks": sums.blocks(), "samples": self.samples[metric],
                "percent": 100 * sums.value() / total if total else 0.0, "stack": self.stack, **self.facts()}


def read_places(snapshot: HeapSnapshot, younger_ns: int, metric: str) -> dict[Key, Place]:
    """Every place that allocated something."""
    native, stacks = snapshot._native, snapshot._all_stacks()
    count = native.stack_count
    temporary: Any = ffi.new("memprof_totals[]", max(count, 1))
    check(lib.memprof_snapshot_younger(native.handle, younger_ns, temporary, count, ffi.NULL), "top_allocators")
    places: dict[Key, Place] = {}
    for i in range(count):
        if native.stacks[i].allocated.samples == 0:
            continue
        frame = place(stacks[i])
        key = frame.function, frame.file, frame.line, frame.is_python
        places.setdefault(key, Place(frame)).add(stacks[i], native.stacks[i], temporary[i], metric)
    return places


def top_places(places: dict[Key, Place], metric: str, n: int) -> list[dict[str, Any]]:
    """The n places that hold the most of "allocated" or "temporary"."""
    def value(one: Place) -> float:
        return (one.temporary if metric == "temporary" else one.allocated).value()

    total = sum(map(value, places.values()))
    ranked = sorted((one for one in places.values() if value(one) > 0),
                    key=lambda one: (-value(one), one.frame.function, one.frame.line))
    return [one.as_dict(metric, total) for one in ranked[:n]]
