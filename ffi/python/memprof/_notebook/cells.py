# SPDX-License-Identifier: Apache-2.0
"""Cells of a notebook by the name that its user knows them by, `In[3]`, in place of the file that IPython makes up for each."""
from __future__ import annotations

import re
import sys
from collections.abc import Mapping

_STRING_TABLE = 6  # the field of profile.proto
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def name_of(number: int) -> str:
    """Of the cell that was run as In [number]."""
    return f"In[{number}]"


_NAME = re.compile(r"In\[\d+\]")
_inside: dict[tuple[str, int], int] = {}  # code below a `%%memprof`, by its file and the number that IPython gave it: whose it is


def is_name(file: str) -> bool:
    """Whether it is one of name_of()."""
    return _NAME.fullmatch(file) is not None


def _numbers() -> dict[str, int]:
    """By file of code the number of its cell, of the last run where equal cells were run."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None and hasattr(module, "get_ipython") else None
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", None)
    return numbers if isinstance(numbers, dict) else {}


def names() -> Mapping[str, str]:
    """By file of code: the name of its cell.  Empty without IPython."""
    return {file: name_of(_inside.get((file, number), number)) for file, number in _numbers().items()}


class Inside:
    """Code that a magic runs has a number of its own in IPython; its user sees that of the magic's cell.  `number`: that; 0:
    the magic is in no cell."""

    def __init__(self) -> None:
        self._before = dict(_numbers())
        frame = sys._getframe()
        while frame.f_back is not None and frame.f_code.co_filename not in self._before:
            frame = frame.f_back
        self.number = self._before.get(frame.f_code.co_filename, 0)

    def end(self) -> None:
        """The code has run."""
        for file, number in _numbers().items():
            if self.number and self._before.get(file) != number:
                _inside[file, number] = self.number


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7


def _as_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def rename(profile: bytes, renamed: Mapping[str, str]) -> bytes:
    """A profile in pprof's format, not compressed, in which these strings are others."""
    wanted = {old.encode("utf-8", "surrogateescape"): new.encode() for old, new in renamed.items()}
    out = bytearray()
    at = kept = 0  # all before `kept` is in `out`
    while at < len(profile):
        start = at
        tag, at = _varint(profile, at)
        kind = tag & 7
        if kind == _BYTES:
            length, at = _varint(profile, at)
            at += length
            if tag >> 3 == _STRING_TABLE and (new := wanted.get(profile[at - length:at])) is not None:
                out += profile[kept:start] + _as_varint(tag) + _as_varint(len(new)) + new
                kept = at
        elif kind == _VARINT:
            _, at = _varint(profile, at)
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"no profile: field of type {kind} at byte {start}")
    return bytes(out + profile[kept:])
