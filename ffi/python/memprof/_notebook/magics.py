# SPDX-License-Identifier: Apache-2.0
"""`%load_ext memprof` for IPython and Jupyter: `%%memprof` measures a cell, `%memprof on` every cell from then on."""
from __future__ import annotations

import shlex
from typing import Any

from memprof import _profiler
from memprof._notebook import cells as _cells
from memprof._notebook.cell_profile import CellMeasurement, CellProfile, table_text

_USAGE = """%%memprof [-r KIB] [--no-graph]
    runs the cell, and shows what it left in memory, its peak and what it freed again soon after, by place, with a flame graph
%memprof on [-r KIB], %memprof off
    says below each cell what it left, and its peak
%memprof
    a row for each of these cells
-r KIB: KiB between samples, like 64 (0 records every allocation; without -r: 8 at first, more as bytes go by, up to 512)"""


class CellFailed(Exception):
    """The cell under `%%memprof` has failed (its own exception is the cause), and IPython has shown why."""

    def _render_traceback_(self) -> list[str]:
        return []  # IPython asks for what it is to show


def _read(line: str, known: tuple[str, ...]) -> tuple[int | None, list[str]]:
    """The rate (None: one that starts fine), and the words of `known` that are there.  UsageError of IPython: something else is."""
    words = shlex.split(line)
    rate_kb: int | None = None
    found: list[str] = []
    while words:
        word = words.pop(0)
        if word == "-r" and words and words[0].isdigit():
            rate_kb = int(words.pop(0))
        elif word in known:
            found.append(word)
        else:
            from IPython.core.error import UsageError
            raise UsageError(f"memprof: {line!r} is not understood; usage:\n{_USAGE}")
    return rate_kb, found


class _Watch:
    """Measures every cell between `%memprof on` and `%memprof off`."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._is_on = self._started = False
        self._current: CellMeasurement | None = None
        self.cells: list[CellProfile] = []

    def begin(self, rate_kb: int | None) -> None:
        if not self._is_on:
            self._started = not _profiler.is_active()
            if self._started:
                _profiler.start(rate_kb)
            self._shell.events.register("pre_run_cell", self._before)
            self._shell.events.register("post_run_cell", self._after)
            self._is_on = True

    def end(self) -> None:
        if self._is_on:
            self._shell.events.unregister("pre_run_cell", self._before)
            self._shell.events.unregister("post_run_cell", self._after)
            if self._started and _profiler.is_active():
                _profiler.stop()
            self._is_on, self._current = False, None

    def _before(self, _info: Any) -> None:
        if _profiler.is_active():
            self._current = CellMeasurement()

    def _after(self, result: Any) -> None:
        if self._current is not None and _profiler.is_active():
            cell = self._current.finish(_cells.name_of(result.execution_count or 0))
            self.cells.append(cell)
            print(cell.line())
        self._current = None


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext memprof` calls."""
    watch = _Watch(shell)

    def of_line(line: str) -> None:
        """Measures every cell: on, off, or a table."""
        if line.split() in (["-h"], ["--help"]):
            print(_USAGE)
            return
        rate_kb, words = _read(line, ("on", "off"))
        if "on" in words:
            watch.begin(rate_kb)
        elif "off" in words:
            watch.end()
        else:
            print(table_text(watch.cells))

    def of_cell(line: str, cell: str) -> CellProfile | None:
        """Runs the cell, and shows what it left in memory, its peak and temporaries."""
        if line.split() in (["-h"], ["--help"]):
            print(_USAGE)
            return None
        rate_kb, words = _read(line, ("--no-graph",))
        was_active = _profiler.is_active()
        if not was_active:
            _profiler.start(rate_kb)
        try:
            inside = _cells.Inside()
            measurement = CellMeasurement()
            # With a line for that of the magic, so that lines have the numbers that are on the screen.
            result = shell.run_cell(cell if cell.lstrip().startswith("%%") else f"#\n{cell}")
            inside.end()
            measured = measurement.finish(_cells.name_of(inside.number), "--no-graph" not in words)
        finally:
            if not was_active and _profiler.is_active():
                _profiler.stop()
        if not result.success:
            raise CellFailed from (result.error_before_exec or result.error_in_exec)
        return measured

    shell.register_magic_function(of_cell, magic_kind="cell", magic_name="memprof")
    shell.register_magic_function(of_line, magic_kind="line", magic_name="memprof")
