# SPDX-License-Identifier: Apache-2.0
"""`%load_ext memprof` and the cell magic `%%memprof` for IPython and Jupyter."""
from __future__ import annotations

from typing import Any

from memprof import _profiler
from memprof._diff import SnapshotDiff, snapshot_diff

_USAGE = "%%memprof [-r KIB]: KiB between samples, like 64 (0 records every allocation)"


def _rate_kb(line: str) -> int:
    words = line.split()
    if not words:
        return 512
    if len(words) == 2 and words[0] == "-r" and words[1].isdigit():
        return int(words[1])
    raise ValueError(f"%%memprof: {line!r} is not understood; {_USAGE}")


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext memprof` calls."""

    def memprof(line: str, cell: str) -> SnapshotDiff:
        """Runs the cell, and shows what it left in memory."""
        rate_kb = _rate_kb(line)
        was_active = _profiler.is_active()
        if not was_active:
            _profiler.start(rate_kb)
        try:
            before = _profiler.get_snapshot()
            result = shell.run_cell(cell)
            after = _profiler.get_snapshot()
        finally:
            if not was_active:
                _profiler.stop()
        result.raise_error()
        return snapshot_diff(before, after)

    shell.register_magic_function(memprof, magic_kind="cell", magic_name="memprof")
