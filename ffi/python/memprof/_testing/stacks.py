# SPDX-License-Identifier: Apache-2.0
"""Whose the stacks of a test are, and how they are shown: the test's own line, and the way from there to the innermost.

Stacks are read as numbers and no further than their owner is known: with every allocation recorded, a test that imports
pandas has 300,000 of them.
"""
from __future__ import annotations

import dataclasses
import enum
import os
from typing import TYPE_CHECKING

from memprof._frames import FIRST_OF_RUNTIME
from memprof._roles import installed_package, is_import, is_standard, own_modules
from memprof._sites import place
from memprof._text import place_text

if TYPE_CHECKING:
    from memprof._model import StackFrame as Frame
    from memprof._snapshot import HeapSnapshot

# What pytest itself keeps while a test runs is not the test's.
_HARNESS = ("_pytest", "pluggy")
_RUNNER = os.path.join("_pytest", "runner.py")  # calls the test
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MOST_LINES = 9  # of a way; of a longer one the middle is left out


@dataclasses.dataclass(frozen=True)
class StackFrame:
    """A frame, as functions for filter_fn see it: with the names that pytest-memray has."""

    function: str
    filename: str
    lineno: int


@dataclasses.dataclass(frozen=True)
class Stack:
    """The stack of blocks that a test left behind, the innermost frame first: what filter_fn is called with."""

    frames: tuple[StackFrame, ...]


class _Kind(enum.Enum):
    RUNNER = 0  # of pytest: what it calls is the test
    NEUTRAL = 1  # of pytest, of this package, or of Python's library: whoever called it decides
    OTHER = 2


def _kind(frame: Frame) -> _Kind:
    if frame.file.endswith(_RUNNER):
        return _Kind.RUNNER
    is_harness = frame.file.startswith(_OWN) or os.path.basename(os.path.dirname(frame.file)) in _HARNESS
    return _Kind.NEUTRAL if is_harness or is_standard(frame.file) else _Kind.OTHER


@dataclasses.dataclass(frozen=True)
class Way:
    """From the test's own line, or the outermost line of its thread, to the innermost."""

    lines: tuple[Frame, ...]  # outermost first
    importing: str  # the package whose import the innermost line is; "": it is none

    def texts(self) -> list[str]:
        """A text for each line, each below its caller."""
        texts = [f"{frame.function}  {place_text(frame)}" for frame in self.lines]
        if self.importing:
            texts.append(f"importing {self.importing}")
        left_out = len(texts) - _MOST_LINES
        if left_out > 1:
            middle = _MOST_LINES // 2
            texts[middle:middle + left_out] = [f"... {left_out} more calls"]
        return texts


class _Known(dict[int, tuple["Frame", _Kind, bool]]):
    """By number of a frame of a runtime: the frame, its kind, and whether it is of Python's import machinery."""

    def __init__(self, snapshot: HeapSnapshot) -> None:
        self._snapshot = snapshot

    def __missing__(self, address: int) -> tuple[Frame, _Kind, bool]:
        frame = self._snapshot._reader().of_runtime(address)
        known = self[address] = frame, _kind(frame), is_import(frame)
        return known


class TestStacks:
    """Reads the stacks of one snapshot.  test_file: where the test is written."""

    __test__ = False  # for pytest: no class of tests

    def __init__(self, snapshot: HeapSnapshot, test_file: str) -> None:
        self._snapshot = snapshot
        self._test_file = os.path.realpath(test_file) if test_file else ""
        self._known = _Known(snapshot)
        self._files: dict[str, bool] = {}
        self._embeds = bool(own_modules(()))

    def _python(self, stack_id: int) -> list[int]:
        """The frames of runtimes by number, innermost first."""
        addresses = self._snapshot._reader().addresses(self._snapshot._native.stacks[stack_id])
        return [address for address in addresses if address >= FIRST_OF_RUNTIME]

    def place(self, stack_id: int) -> Frame | None:
        """Where the test allocated, as in memprof._sites.place, but without the name of a native function; None: from its
        leaf to where pytest calls the test nobody but pytest, this package, and what they call in the standard library is
        on the stack."""
        found = importing = None
        known = self._known
        for address in self._python(stack_id):
            frame, kind, is_machinery = known[address]
            if not frame.is_python:
                continue
            if kind is _Kind.RUNNER:
                return None
            if is_machinery:
                importing = importing or frame
            else:
                found = found or frame
            if kind is _Kind.OTHER:
                break
        found = found or importing
        return found if found is not None and not self._embeds else place(self._stack(stack_id))

    def _stack(self, stack_id: int) -> tuple[Frame, ...]:
        return self._snapshot._reader().stack(self._snapshot._native.stacks[stack_id])

    def named_place(self, stack_id: int) -> Frame:
        """The same with its name: for few, because names are looked up for all stacks at once."""
        found = self.place(stack_id)
        if found is None or not found.is_python:
            self._snapshot.resolve()
            found = self.place(stack_id)
        return found or place(self._stack(stack_id))

    def way(self, stack_id: int, with_names: bool = False) -> Way:
        """The way of a stack of the test.  The import of an installed package is one line.  with_names: of native functions,
        as in named_place()."""
        known = self._known
        lines = []
        for address in self._python(stack_id):
            line = known[address]
            if line[1] is _Kind.RUNNER:
                break
            if line[0].is_python:
                lines.append(line)
        lines.reverse()
        own = next((i for i, (frame, _, _) in enumerate(lines) if self._is_of_test(frame)), None)
        if own is None:
            own = next((i for i, (_, kind, _) in enumerate(lines) if kind is _Kind.OTHER), 0)
        way: list[Frame] = []
        was_machinery = False
        for frame, _, is_machinery in lines[own:]:
            if was_machinery and not is_machinery and (package := installed_package(frame.file)):
                return Way(tuple(way), package)
            was_machinery = is_machinery
            if not is_machinery:
                way.append(frame)
        if not way or self._embeds:
            innermost = self.named_place(stack_id) if with_names else place(self._stack(stack_id))
            way += [innermost] if innermost not in way[-1:] else []
        return Way(tuple(way), "")

    def _is_of_test(self, frame: Frame) -> bool:
        if frame.file not in self._files:
            self._files[frame.file] = bool(self._test_file) and os.path.realpath(frame.file) == self._test_file
        return self._files[frame.file]

    def for_filter(self, stack_id: int) -> Stack:
        """The whole stack, with names."""
        self._snapshot.resolve()
        return Stack(tuple(StackFrame(frame.function, frame.file, frame.line) for frame in self._snapshot._stack(stack_id)))
