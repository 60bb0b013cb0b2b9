# SPDX-License-Identifier: Apache-2.0
"""What one cell of a notebook left in memory, its peak, and what it freed again soon after."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from memprof import _formats, _profiler
from memprof._diff import SnapshotDiff
from memprof._library import check, column, ffi, lib, muted
from memprof._model import StackFrame
from memprof._notebook import cells as _cells
from memprof._sites import key_of, place
from memprof._text import ROWS, _html_table, _table, estimate_text, place_text, size_text
from memprof._totals import native_peaks

if TYPE_CHECKING:
    from memprof._model import Estimate, SiteDiff
    from memprof._sites import Key
    from memprof._snapshot import HeapSnapshot

_RUNNER = "IPython/core/interactiveshell.py"
_YOUNG_NS = 10_000_000
_COLUMNS = ("left", "peak", "temporary", "function", "file:line")


def _signed(size: float) -> str:
    return size_text(size) if size <= 0 else f"+{size_text(size)}"


def _weights(native: Any, array: Any, count: int) -> list[float]:
    return list(column(array, count, "weight_bytes", "d")) + [0.0] * (native.stack_count - count)


def _is_of_cells(stack: tuple[StackFrame, ...]) -> bool:
    """Whether code of a cell is on the stack, and not only below it IPython, which runs the cell."""
    for frame in stack:
        if _cells.is_name(frame.file):
            return True
        if frame.file.endswith(_RUNNER):
            return False
    return False


def _live(native: Any) -> list[float]:
    """By stack."""
    allocated = column(native.stacks, native.stack_count, "allocated.weight_bytes", "d")
    freed = column(native.stacks, native.stack_count, "freed.weight_bytes", "d")
    return [a - f for a, f in zip(allocated, freed)]


def _young(native: Any) -> list[float]:
    """By stack: bytes that were freed within 10 ms."""
    found: Any = ffi.new("memprof_totals[]", max(native.stack_count, 1))
    check(lib.memprof_snapshot_younger(native.handle, _YOUNG_NS, found, native.stack_count, ffi.NULL), "%%memprof")
    return _weights(native, found, native.stack_count)


class CellProfile:
    """What `%%memprof` shows of a cell.  Bytes are estimates; of the growth also the 95 % interval.

    cell: its name, `In[3]`.  growth, rows, top(n): as SnapshotDiff has them.  peak_bytes: the most that was live during the
    cell, above what was live before it.  temporary_bytes: what it freed again within 10 ms.  places: a dict for each
    place that allocated for code of cells, with function, file, line, left_bytes, peak_bytes and temporary_bytes, the largest peak first.
    """

    def __init__(self, cell: str, before: HeapSnapshot, after: HeapSnapshot, peak_bytes: float, graph: bool) -> None:
        self.cell = cell
        self._after = after
        self._graph = graph
        self._diff = SnapshotDiff(before, after)
        self.peak_bytes = max(round(peak_bytes), int(self._diff.growth), 0)
        self.places = self._read_places(before, after)
        self.temporary_bytes = round(sum(row["temporary_bytes"] for row in self.places))

    def _read_places(self, before: HeapSnapshot, after: HeapSnapshot) -> list[dict[str, Any]]:
        old, new = before._native, after._native
        peaks, count = native_peaks(new)
        young_before, live_before = _young(old), _live(old)
        frames: dict[Key, StackFrame] = {}
        sums: dict[Key, list[float]] = {}
        for i, (peak, young) in enumerate(zip(_weights(new, peaks, count), _young(new))):
            held = peak - (live_before[i] if i < len(live_before) else 0.0)
            freed = young - (young_before[i] if i < len(young_before) else 0.0)
            stack = after._all_stacks()[i]
            if (held > 0 or freed > 0) and _is_of_cells(stack):
                frame = place(stack)
                frames.setdefault(key_of(frame), frame)
                row = sums.setdefault(key_of(frame), [0.0, 0.0])
                row[0] += max(held, 0.0)
                row[1] += max(freed, 0.0)
        left = {key_of(change.frame): change for change in self._diff.rows}
        for key, change in left.items():
            if _is_of_cells(change.stack):
                frames.setdefault(key, change.frame)
        rows = []
        for key, frame in frames.items():
            peak, temporary = sums.get(key, (0.0, 0.0))
            growth = int(left[key].growth) if key in left else 0
            rows.append({"function": frame.function, "file": frame.file, "line": frame.line, "left_bytes": growth,
                         "peak_bytes": max(round(peak), growth, 0), "temporary_bytes": round(temporary)})
        return sorted(rows, key=lambda row: (-row["peak_bytes"], -row["temporary_bytes"], row["function"], row["line"]))

    @property
    def growth(self) -> Estimate:
        """What the cell left, less what it freed of what was there before."""
        return self._diff.growth

    @property
    def rows(self) -> list[SiteDiff]:
        """What changed, by place."""
        return self._diff.rows

    def top(self, n: int = 10) -> list[SiteDiff]:
        """The n largest changes."""
        return self._diff.top(n)

    def to_pandas(self) -> Any:
        """SnapshotDiff.to_pandas() of the cell."""
        return self._diff.to_pandas()

    def show(self, height: int = 500) -> _formats.Page:
        """The page of `memprof view` of what the cell's own code allocated."""
        with muted():
            return _formats.page(self._after._native, height, f"--focus=^{re.escape(self.cell)}$")

    def line(self) -> str:
        """In one line."""
        return (f"{self.cell}: peak {_signed(self.peak_bytes)}, left {_signed(self.growth)}, temporary "
                f"{size_text(self.temporary_bytes)}")

    def _table_rows(self) -> list[tuple[str, ...]]:
        return [(_signed(row["left_bytes"]), size_text(row["peak_bytes"]), size_text(row["temporary_bytes"]), row["function"],
                 place_text(StackFrame(0, row["function"], row["file"], row["line"], True))) for row in self.places[:ROWS]]

    def _header(self) -> str:
        sign = "" if self.growth < 0 else "+"
        return (f"{self.cell}: left {sign}{estimate_text(self.growth)}; peak {_signed(self.peak_bytes)}; freed within 10 ms "
                f"{size_text(self.temporary_bytes)}")

    def __repr__(self) -> str:
        with muted():
            rows = self._table_rows()
            return "\n".join([self._header()] + (_table(_COLUMNS, rows, 3) if rows else ["Nothing was sampled."]))

    def _repr_html_(self) -> str:
        import html
        with muted():
            rows = [tuple(html.escape(cell) for cell in row) for row in self._table_rows()]
            text = _html_table(self._header(), _COLUMNS, rows, [])
            if not self._graph or not rows:
                return text
            try:
                return text + self.show()._repr_html_()
            except OSError as error:
                return text + f"<div>No flame graph: {html.escape(str(error))}</div>"


def table_text(cells: list[CellProfile]) -> str:
    """A row for each cell."""
    if not cells:
        return "No cell was measured; %memprof on measures every cell from then on."
    rows: list[tuple[str, ...]] = [(_signed(cell.peak_bytes), _signed(cell.growth), size_text(cell.temporary_bytes), cell.cell)
                                   for cell in cells]
    return "\n".join(_table(("peak", "left", "temporary", "cell"), rows, 3))


class CellMeasurement:
    """From its creation to finish().  Of the peak there is one: who uses it elsewhere meanwhile shortens it."""

    def __init__(self) -> None:
        with muted():
            self._before = _profiler.get_snapshot()
            _profiler.reset_peak()
            self._base = float(_profiler._stats().live_weight_bytes)

    def finish(self, cell: str, graph: bool = False) -> CellProfile:
        """cell: what it is called."""
        with muted():
            peak = float(_profiler._stats().peak_weight_bytes) - self._base
            return CellProfile(cell, self._before, _profiler.get_snapshot(), peak, graph)
