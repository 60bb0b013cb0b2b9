# SPDX-License-Identifier: Apache-2.0
"""Counts runs of Python's garbage collector, and tells in which epoch a moment was.

An epoch ends when a collection begins (gc.callbacks; audit events do not exist for it).  Of long runs the
moments of the last collections are kept; what is older counts as of the first epoch that is known.
"""
from __future__ import annotations

import gc
import time
from bisect import bisect_right

MOST_KEPT = 1 << 17

_began: list[int] = []  # moments (monotonic clock) at which collections began, ascending
_forgotten = 0  # collections whose moments were given up
_is_on = False


def _collection(phase: str, _info: dict[str, int]) -> None:
    global _forgotten
    if phase != "start":
        return
    _began.append(time.monotonic_ns())
    if len(_began) > MOST_KEPT:
        _forgotten += MOST_KEPT // 2
        del _began[:MOST_KEPT // 2]


def enable() -> None:
    """Counts from now on, until the process ends; calling it again changes nothing."""
    global _is_on
    if not _is_on:
        gc.callbacks.append(_collection)
        _is_on = True


def disable() -> None:
    """Stops counting; what was counted stays."""
    global _is_on
    if _is_on and _collection in gc.callbacks:
        gc.callbacks.remove(_collection)
    _is_on = False


class Epochs:
    """What was counted until now; it does not change any more."""

    __slots__ = ("_began", "_forgotten")

    def __init__(self, began: tuple[int, ...], forgotten: int) -> None:
        self._began = began
        self._forgotten = forgotten

    @property
    def current(self) -> int:
        """Collections until now: the epoch of what is allocated now."""
        return self._forgotten + len(self._began)

    def at(self, time_ns: int) -> int:
        """The epoch of a moment of the monotonic clock."""
        return self._forgotten + bisect_right(self._began, time_ns)


def until_now() -> Epochs | None:
    """None: collections were never counted."""
    return Epochs(tuple(_began), _forgotten) if _is_on or _began else None
