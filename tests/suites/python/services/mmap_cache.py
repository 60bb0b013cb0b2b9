# SPDX-License-Identifier: Apache-2.0
"""mmap: a mapping without a file, written to, and bytes beside it."""
import mmap
import sys

USES = []
MAPPED = ["mapped"]


def mapped(megabytes):
    mapping = mmap.mmap(-1, megabytes << 20)
    for offset in range(0, len(mapping), 4096):
        mapping[offset] = 1
    return mapping


def pages(count):
    return [bytearray(8_000) for _ in range(count)]


mapping, cache = mapped(64), pages(2_500)
print({"mapped": 64 << 20, "pages": sum(map(sys.getsizeof, cache))})
