# SPDX-License-Identifier: Apache-2.0
"""What changed between two snapshots, and whether it is more than chance."""
from __future__ import annotations

from typing import Any

from memprof._intervals import Sum
from memprof._library import muted
from memprof._model import Estimate, SiteDiff, StackFrame
from memprof._sites import Key, key_of, place
from memprof._snapshot import HeapSnapshot


class _Side:
    def __init__(self) -> None:
        self.sum = Sum()
        self.samples = 0


def _difference(new: _Side, gone: _Side) -> Estimate:
    return new.sum.growth_since(gone.sum)


class SnapshotDiff:
    """What changed from one snapshot to another; the places with the largest changes first."""

    def __init__(self, before: HeapSnapshot, after: HeapSnapshot) -> None:
        new: dict[Key, _Side] = {}
        gone: dict[Key, _Side] = {}
        stacks: dict[Key, tuple[StackFrame, ...]] = {}
        all_new, all_gone = _Side(), _Side()
        old = {_identity(before, i) for i in range(before.live_samples)}
        now = {_identity(after, i) for i in range(after.live_samples)}
        # A block that both have was sampled once: it changes nothing, and neither does its error.
        for snapshot, other, sides, whole in ((after, old, new, all_new), (before, now, gone, all_gone)):
            all_stacks = snapshot._all_stacks()
            for i in range(snapshot.live_samples):
                if _identity(snapshot, i) in other:
                    continue
                record = snapshot._native.records[i]
                stack = all_stacks[record.stack_id]
                frame = place(stack)
                key = key_of(frame)
                stacks.setdefault(key, stack)
                for side in (sides.setdefault(key, _Side()), whole):
                    side.sum.add(record.size_bytes, record.rate_bytes)
                    side.samples += 1
        rows = []
        for key, stack in stacks.items():
            up, down = new.get(key, _Side()), gone.get(key, _Side())
            rows.append(SiteDiff(place(stack), _difference(up, down), up.samples, down.samples,
                                 after._shown(stack)))
        self._rows = sorted(rows, key=lambda row: (-abs(row.growth), row.frame.function, row.frame.line))
        self._growth = _difference(all_new, all_gone)

    @property
    def growth(self) -> Estimate:
        """Of all places together; negative: there is less."""
        return self._growth

    @property
    def rows(self) -> list[SiteDiff]:
        """All places that changed."""
        return list(self._rows)

    def top(self, n: int = 10) -> list[SiteDiff]:
        """The n largest changes."""
        return self._rows[:n]

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each place.  ImportError without pandas."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas: pandas is not installed; pip install pandas") from error
        columns = ["function", "file", "line", "is_python", "growth", "growth_low", "growth_high", "is_significant",
                   "new_samples", "gone_samples"]
        return pandas.DataFrame(
            [(row.frame.function, row.frame.file, row.frame.line, row.frame.is_python, int(row.growth), row.growth.low,
              row.growth.high, row.is_significant, row.new_samples, row.gone_samples) for row in self._rows],
            columns=columns)

    def __repr__(self) -> str:
        with muted():
            from memprof._text import diff_text
            return diff_text(self._growth, self._rows)

    def _repr_html_(self) -> str:
        with muted():
            from memprof._text import diff_html
            return diff_html(self._growth, self._rows)


def _identity(snapshot: HeapSnapshot, index: int) -> tuple[int, int, int]:
    """The same for one block in two snapshots of one process; never for two blocks."""
    record = snapshot._native.records[index]
    return snapshot.pid, record.address, record.time_ns


def snapshot_diff(before: HeapSnapshot, after: HeapSnapshot) -> SnapshotDiff:
    """What changed between two snapshots: by place, with intervals, and whether it is significant.

    Of one process, blocks that are in both snapshots cancel out, so that the interval is that of the change.
    """
    for name, value in (("before", before), ("after", after)):
        if not isinstance(value, HeapSnapshot):
            raise TypeError(f"snapshot_diff: {name} is a {type(value).__name__}, not a HeapSnapshot")
    with muted():
        return SnapshotDiff(before, after)
