# SPDX-License-Identifier: Apache-2.0
"""Stacks of a native snapshot as StackFrame tuples, innermost frame first."""
from __future__ import annotations

import os
from typing import Any

from memprof._library import ffi, function, lib, text
from memprof._model import StackFrame
from memprof._notebook import cells as _cells

LEFT_OUT = "[frames left out]"
OLDER_STACKS = "[older stacks]"
OLDER_MODULES = "[older modules]"
_NO_MODULE = 0xFFFFFFFF
_CPYTHON = 1
FIRST_OF_RUNTIME = 1 << 63  # from here on a number is a frame of a language's runtime, and none of native code


def _demangler() -> Any:
    """__cxa_demangle of the C++ library that is in the process; None: no C++ in it."""
    import ctypes
    for name in ("libstdc++.so.6", "libc++abi.so.1"):
        try:
            demangle = ctypes.CDLL(name, mode=os.RTLD_NOLOAD).__cxa_demangle
        except (OSError, AttributeError):
            continue
        demangle.restype = ctypes.c_void_p
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]

        def call(mangled: str) -> str:
            status = ctypes.c_int()
            result = demangle(mangled.encode(), None, None, ctypes.byref(status))
            if not result:
                return mangled
            try:
                return ctypes.string_at(result).decode("utf-8", "replace")
            finally:
                free(result)

        return call
    return None


class Frames:
    """Reads the frames of one snapshot; equal frames are one object."""

    def __init__(self, snapshot: Any, resolve: bool) -> None:
        count = ffi.new("uint64_t*")
        self._frames = lib.memprof_snapshot_frames(snapshot, count)
        self._frame_modules = lib.memprof_snapshot_frame_modules(snapshot, count)
        if resolve:
            lib.memprof_resolve_symbols(snapshot)
        # After the names were looked up: the strings move.
        self._symbols = lib.memprof_snapshot_symbols(snapshot, count)
        self._strings = lib.memprof_snapshot_strings(snapshot, count)
        modules = lib.memprof_snapshot_modules(snapshot, count)
        self._modules = [(modules[i].start, modules[i].file_offset, self._text(modules[i].path_offset))
                         for i in range(count[0])]
        runtime_frames = function("memprof_snapshot_runtime_frames")
        self._runtime_frames = runtime_frames(snapshot, count) if runtime_frames else None
        self._cells = _cells.names()
        self._known: dict[tuple[int, int], StackFrame] = {}
        self._demangle: Any = None
        self._has_demangler = False

    def _text(self, offset: int) -> str:
        return text(self._strings + offset)

    def stack(self, stack: Any) -> tuple[StackFrame, ...]:
        """The frames of a memprof_stack."""
        first = stack.first_frame
        addresses = ffi.unpack(self._frames + first, stack.frame_count)
        modules = ffi.unpack(self._frame_modules + first, stack.frame_count)
        result = []
        for i, key in enumerate(zip(addresses, modules)):
            frame = self._known.get(key)
            if frame is None:
                frame = self._known[key] = self._frame(first + i, *key)
            result.append(frame)
        return tuple(result)

    def addresses(self, stack: Any) -> list[int]:
        """The frames of a memprof_stack as numbers, which are quick to read: from FIRST_OF_RUNTIME on they are for of_runtime()."""
        result: list[int] = ffi.unpack(self._frames + stack.first_frame, stack.frame_count)
        return result

    def of_runtime(self, address: int) -> StackFrame:
        """The frame of such a number; equal numbers are one object."""
        key = (address, _NO_MODULE)
        frame = self._known.get(key)
        if frame is None:
            frame = self._known[key] = self._of_runtime(address & 0xFFFFFFFF)
        return frame

    def _frame(self, index: int, address: int, module: int) -> StackFrame:
        if address >= FIRST_OF_RUNTIME:
            return self._of_runtime(address & 0xFFFFFFFF)
        if address == lib.MEMPROF_FRAMES_LEFT_OUT:
            return StackFrame(address, LEFT_OUT, "", 0, False)
        if address == lib.MEMPROF_OLDER_STACKS:
            return StackFrame(address, OLDER_STACKS, "", 0, False)
        if address == lib.MEMPROF_OLDER_MODULES:
            return StackFrame(address, OLDER_MODULES, "", 0, False)
        start, file_offset, path = self._modules[module] if module != _NO_MODULE else (0, 0, "")
        if self._symbols == ffi.NULL:
            return StackFrame(address, hex(address), path, 0, False, path)
        name = self._text(self._symbols[index].name_offset)
        if name.startswith("_Z"):
            name = self._demangled(name)
        elif not name and path:
            # As the command says it: of the call, which is before the return address.
            name = f"{path.rpartition('/')[2]}+{address - 1 - start + file_offset:#x}"
        return StackFrame(address, name or hex(address), path, 0, False, path)

    def _of_runtime(self, index: int) -> StackFrame:
        if self._runtime_frames is None:
            return StackFrame(0, "[frame of a runtime]", "", 0, False)
        frame = self._runtime_frames[index]
        file = self._text(frame.file_offset)
        return StackFrame(0, self._text(frame.name_offset), self._cells.get(file, file), frame.line, frame.runtime == _CPYTHON)

    def _demangled(self, name: str) -> str:
        if not self._has_demangler:
            self._demangle = _demangler()
            self._has_demangler = True
        return str(self._demangle(name)) if self._demangle else name
