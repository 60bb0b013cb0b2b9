# SPDX-License-Identifier: Apache-2.0
"""The native library: which copy of it is used, and its errors as exceptions.

A copy that is in the process already (`memprof run`, LD_PRELOAD) is used; else the one that came with this
package is loaded.
"""
from __future__ import annotations

import os

try:
    from memprof._binding import ffi as ffi
except ImportError as error:
    if "subinterpreter" not in str(error):
        raise
    raise ImportError("memprof cannot be imported in this subinterpreter, because cffi cannot; import and start it in the "
                      "main interpreter: it sees what all of them allocate") from error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native")


def _load() -> tuple[Any, bool]:
    """The library, and whether it was in the process before."""
    present = ffi.dlopen(None)
    try:
        present.memprof_version
        return present, True
    except (AttributeError, ffi.error):  # the usual case: nobody has loaded it
        return ffi.dlopen(os.path.join(FOLDER, "lib", "libmemprof.so")), False


lib, was_there = _load()


def version() -> str:
    """The version of the native library."""
    return text(lib.memprof_version())


def text(pointer: Any) -> str:
    """A C string; what is not UTF-8 in it is escaped, as in paths."""
    return str(ffi.string(pointer).decode("utf-8", "surrogateescape"))


def function(name: str) -> Any:
    """A function that a library of another version may not have; None then."""
    try:
        return getattr(lib, name)
    except (AttributeError, ffi.error):
        return None


def check(result: int, what: str, why: str = "") -> int:
    """Raises the exception of a negative result: `what` says who failed, `why` more than the library can."""
    if result >= 0:
        return result
    message = f"{what}: {why or text(lib.memprof_strerror(result))}"
    if result == lib.MEMPROF_ERR_INVALID:
        raise ValueError(message)
    if result == lib.MEMPROF_ERR_NO_MEMORY:
        raise MemoryError(message)
    if result == lib.MEMPROF_ERR_SYSTEM:
        raise OSError(ffi.errno, f"{message}: {os.strerror(ffi.errno)}")
    raise RuntimeError(message)


class muted:
    """What this thread allocates in the `with` block is the profiler's own, and not sampled."""

    __slots__ = ()

    def __enter__(self) -> None:
        lib.memprof_backing_begin()

    def __exit__(self, *_: object) -> None:
        lib.memprof_backing_end()
