# SPDX-License-Identifier: Apache-2.0
"""`%load_ext memprof` and the cell magic `%%memprof` for IPython and Jupyter."""
from __future__ import annotations

from typing import Any

from memprof import _profiler
from memprof._diff import SnapshotDiff, snapshot_diff

_USAGE = ("%%memprof [-r KIB]: KiB between samples, like 64 (0 records every allocation; without -r: 8 at first, more as "
          "bytes go by, up to 512)")


def _is_understood(words: list[str]) -> bool:
    return not words or (len(words) == 2 and words[0] == "-r" and words[1].isdigit())


class CellFailed(Exception):
    """The cell under `%%memprof` has failed (its own exception is the cause), and IPython has shown why."""

    def _render_traceback_(self) -> list[str]:
        return []  # IPython asks for what it is to show


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext memprof` calls."""

    def memprof(line: str, cell: str) -> SnapshotDiff | None:
        """Runs the cell, and shows what it left in memory."""
        words = line.split()
        if words in (["-h"], ["--help"]):
            print(f"{_USAGE}\n\nRuns the cell, and shows what it left in memory: by place, with 95 % intervals.")
            return None
        if not _is_understood(words):
            from IPython.core.error import UsageError
            raise UsageError(f"%%memprof: {line!r} is not understood; {_USAGE}")
        was_active = _profiler.is_active()
        if not was_active:
            _profiler.start(int(words[1]) if words else None)
        try:
            before = _profiler.get_snapshot()
            result = shell.run_cell(cell)
            after = _profiler.get_snapshot()
        finally:
            if not was_active:
                _profiler.stop()
        if not result.success:
            raise CellFailed from (result.error_before_exec or result.error_in_exec)
        return snapshot_diff(before, after)

    shell.register_magic_function(memprof, magic_kind="cell", magic_name="memprof")
