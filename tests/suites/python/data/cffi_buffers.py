# SPDX-License-Identifier: Apache-2.0
"""cffi: buffers that C code may fill, and what malloc returned to a call through it."""
import cffi

USES = ["cffi"]

ffi = cffi.FFI()
ffi.cdef("void *malloc(size_t size);")
libc = ffi.dlopen(None)


def buffers(count):
    return [ffi.new("char[]", 200_000) for _ in range(count)]


def foreign(count):
    return [libc.malloc(50_000) for _ in range(count)]


held = [buffers(200), foreign(300)]
print({"buffers": 200 * 200_000, "foreign": 300 * 50_000})
