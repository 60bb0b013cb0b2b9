# SPDX-License-Identifier: Apache-2.0
"""pybind11: objects of C++, with vectors and strings of their own."""
import index_pb as pb

USES = ["index_pb"]
BUILD = "pybind11"


def indexes(count):
    held = []
    for number in range(count):
        index = pb.Index()
        index.reserve(10_000)
        held.append(index)
    return held


def names(count):
    index = pb.Index()
    for number in range(count):
        index.add_name("a name of forty characters, number %06d" % number)
    return index


held = indexes(400), names(100_000)
print({"indexes": 400 * 10_000 * 8, "names": held[1].bytes()})
