# SPDX-License-Identifier: Apache-2.0
"""The native library: which copy of it is used, its errors as exceptions, and its snapshots.

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

    from memprof._gc_epochs import Epochs

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


def library_path() -> str:
    """The file of the native library that is used: for ctypes.CDLL, and for LD_PRELOAD.  Once `import memprof` has loaded the
    one of this package, ctypes.CDLL("libmemprof.so") finds that by its name, too, except with musl.
    """
    if not was_there:
        return os.path.join(FOLDER, "lib", "libmemprof.so")
    address = int(ffi.cast("uintptr_t", ffi.addressof(lib, "memprof_version")))
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            fields = line.split(maxsplit=5)
            start, limit = (int(end, 16) for end in fields[0].split("-"))
            if start <= address < limit and len(fields) > 5:
                return fields[5].rstrip("\n")
    return ""


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


def column(array: Any, length: int, field: str, kind: Any = "Q") -> Any:
    """One field of 8 bytes (`kind`: as in struct) of an array of structs, for all of them: a memoryview."""
    item = ffi.typeof(array).item
    offset = ffi.offsetof(item, *field.split("."))
    size = ffi.sizeof(item)
    if length == 0:
        return memoryview(b"").cast(kind)
    return memoryview(ffi.buffer(array, length * size)).cast(kind)[offset // 8::size // 8]


class NativeSnapshot:
    """Owns a memprof_snapshot, and reads it."""

    def __init__(self, handle: Any, epochs: Epochs | None) -> None:
        self.handle = ffi.gc(handle, lib.memprof_free_snapshot)
        self.epochs = epochs
        self.info = self._filled("memprof_snapshot_info", lib.memprof_snapshot_get_info)
        self.stats = self._filled("memprof_stats", lib.memprof_snapshot_get_stats)
        count = ffi.new("uint64_t*")
        self.records = lib.memprof_snapshot_records(handle, count)
        self.record_count: int = count[0]
        self.stacks = lib.memprof_snapshot_stacks(handle, count)
        self.stack_count: int = count[0]

    def _filled(self, struct: str, fill: Any) -> Any:
        value = ffi.new(f"{struct}*")
        value.struct_size = ffi.sizeof(struct)
        check(fill(self.handle, value), "memprof.get_snapshot")
        return value

    def rates(self) -> list[tuple[int, int, float]]:
        """Of each rate that was in force: bytes a sample, bytes allocated at it, seconds."""
        count = ffi.new("uint64_t*")
        uses = lib.memprof_snapshot_rates(self.handle, count)
        return [(uses[i].rate_bytes, uses[i].weight_bytes, uses[i].time_ns / 1e9) for i in range(count[0])]

    def mappings(self) -> list[tuple[int, int, int, int, int]]:
        """Of each mapping of the program's own: start, limit, resident bytes, stack, thread."""
        count = ffi.new("uint64_t*")
        found = lib.memprof_snapshot_mappings(self.handle, count)
        return [(found[i].start, found[i].limit, found[i].resident_bytes, found[i].stack_id, found[i].thread_id)
                for i in range(count[0])]

    def memory(self) -> Any:
        """memprof_memory: who holds the anonymous memory of the process."""
        return self._filled("memprof_memory", lib.memprof_snapshot_get_memory)

    def resident(self) -> dict[str, Any]:
        """The fields of ResidentMemory, as of now."""
        check(lib.memprof_snapshot_read_resident(self.handle, 0), "HeapSnapshot.resident_memory")
        value = self._filled("memprof_resident", lib.memprof_snapshot_get_resident)
        if value.state & lib.MEMPROF_RESIDENT_HEAP_CUT:
            raise TimeoutError("HeapSnapshot.resident_memory: the time for a look at the heap ran out; ask again later")
        fields = {name: getattr(value, name) for name, _ in ffi.typeof("memprof_resident").fields if name not in ("struct_size", "state")}
        if not value.state & lib.MEMPROF_RESIDENT_FREE_KNOWN:
            fields["free_bytes"] = None
        return fields

    def resident_shares(self) -> list[float]:
        """Of each record how much of it is in memory, negative: not known; empty before resident() was asked."""
        count = ffi.new("uint64_t*")
        shares = lib.memprof_snapshot_resident_shares(self.handle, count)
        return list(ffi.unpack(shares, count[0])) if count[0] else []

    def heap_names(self) -> list[str]:
        """By stack: the heap's name, "" for malloc's."""
        count = ffi.new("uint64_t*")
        of_stack = lib.memprof_snapshot_stack_heaps(self.handle, count)
        heaps = lib.memprof_snapshot_heaps(self.handle, count)
        strings = lib.memprof_snapshot_strings(self.handle, count)
        return [ffi.string(strings + heaps[of_stack[i]].name_offset).decode("utf-8", "replace")
                for i in range(self.stack_count)]

    def write(self, fd: int) -> None:
        """The profile in pprof's format, not compressed, with addresses."""
        check(lib.memprof_snapshot_write_fd(self.handle, fd), "HeapSnapshot.save")
