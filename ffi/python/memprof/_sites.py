# SPDX-License-Identifier: Apache-2.0
"""Places that hold memory: the samples of a snapshot, grouped by who allocated them."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memprof._intervals import Sum
from memprof._model import Estimate, StackFrame
from memprof._roles import is_allocator, is_import, is_library, is_nameless, own_modules

if TYPE_CHECKING:
    from memprof._library import NativeSnapshot

Key = tuple[str, str, int, bool]  # function, file, line, is_python


def key_of(frame: StackFrame) -> Key:
    """What tells a place from others."""
    return frame.function, frame.file, frame.line, frame.is_python


def native_leaf(stack: tuple[StackFrame, ...]) -> StackFrame | None:
    """The innermost native frame, before any of Python, that a person can tell something by: no allocator, not of a
    standard library and with a name; else the innermost that is no allocator."""
    first = None
    for frame in stack:
        if frame.is_python:
            break
        if is_allocator(frame):
            continue
        first = first or frame
        if not is_library(frame) and not is_nameless(frame):
            return frame
    return first or (stack[0] if stack and not stack[0].is_python else None)


def place(stack: tuple[StackFrame, ...], program: str | None = None) -> StackFrame:
    """Where a user looks for the reason: the innermost line of Python (the importing line, for what importing
    takes), else the native function. A program that embeds Python (`program`: its executable) has functions of its own, which
    lines of Python call."""
    importing = None
    own = own_modules(stack, program)
    for frame in stack:
        if frame.module in own and own and not is_allocator(frame) and not is_nameless(frame) and not is_library(frame):
            return native_leaf(stack) or frame
        if frame.is_python:
            if not is_import(frame):
                return frame
            importing = importing or frame
    return importing or native_leaf(stack) or StackFrame(0, "[unknown]", "", 0, False)


class Site:
    """One place, and the samples of its stacks."""

    def __init__(self, frame: StackFrame) -> None:
        self.frame = frame
        self.samples = 0
        self.live = Sum()
        self.value = 0.0
        self.of_stack: dict[int, float] = {}
        self.percent = 0.0
        self.stack: tuple[StackFrame, ...] = ()
        self._bytes: Estimate | None = None

    @property
    def key(self) -> Key:
        """What tells it from other places."""
        return key_of(self.frame)

    @property
    def bytes(self) -> Estimate:
        """Live bytes; the interval is computed when it is asked for."""
        if self._bytes is None:
            self._bytes = self.live.bytes()
        return self._bytes

    @property
    def native_function(self) -> str:
        """The innermost native function of the stack that holds the most; "" where there is none."""
        leaf = native_leaf(self.stack)
        return leaf.function if leaf is not None else ""

    def as_dict(self) -> dict[str, Any]:
        """A row of HeapSnapshot.top_allocators."""
        frame = self.frame
        return {"function": frame.function, "file": frame.file, "line": frame.line, "is_python": frame.is_python,
                "native_function": self.native_function, "estimated_bytes": self.bytes,
                "estimated_blocks": self.live.blocks(), "samples": self.samples, "percent": self.percent,
                "stack": self.stack}


class Sites:
    """All places of a snapshot, the largest first."""

    def __init__(self, native: NativeSnapshot, stacks: list[tuple[StackFrame, ...]]) -> None:
        by_key: dict[Key, Site] = {}
        of_stack: dict[int, Site] = {}
        for i in range(native.record_count):
            record = native.records[i]
            stack_id = record.stack_id
            site = of_stack.get(stack_id)
            if site is None:
                frame = place(stacks[stack_id])
                site = of_stack[stack_id] = by_key.setdefault(key_of(frame), Site(frame))
            site.samples += 1
            site.value += record.weight_bytes
            site.of_stack[stack_id] = site.of_stack.get(stack_id, 0.0) + record.weight_bytes
            site.live.add(record.size_bytes, record.rate_bytes)
        total = sum(site.value for site in by_key.values())
        for site in by_key.values():
            site.percent = 100 * site.value / total if total else 0.0
            site.stack = stacks[max(site.of_stack, key=site.of_stack.__getitem__)]
        self.all = sorted(by_key.values(), key=lambda site: (-site.value, site.frame.function, site.frame.line))

    def top(self, n: int) -> list[Site]:
        """The n largest."""
        return self.all[:n]

    def to_pandas(self) -> Any:
        """What HeapSnapshot.to_pandas does."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas: pandas is not installed; pip install pandas") from error
        rows = []
        for site in self.all:
            row = site.as_dict()
            size, blocks = row["estimated_bytes"], row["estimated_blocks"]
            row.update(estimated_bytes=int(size), bytes_low=size.low, bytes_high=size.high,
                       estimated_blocks=int(blocks), blocks_low=blocks.low, blocks_high=blocks.high,
                       stack=";".join(str(frame.function) for frame in reversed(site.stack)))
            rows.append(row)
        columns = ["function", "file", "line", "is_python", "native_function", "estimated_bytes", "bytes_low", "bytes_high",
                   "estimated_blocks", "blocks_low", "blocks_high", "samples", "percent", "stack"]
        return pandas.DataFrame(rows, columns=columns)
