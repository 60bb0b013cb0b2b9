# SPDX-License-Identifier: Apache-2.0
"""Known Python objects, which live when the process ends: the program of the section `python_estimates` of bench/run.

usage: python_truth.py BYTES_A_KIND EXTENSION   (libpython_blocks.so)   prints a line of JSON: for each function that makes
objects, their bytes.
"""
import ctypes
import gc
import json
import os
import sys
import sysconfig

import numpy


class Slots:
    __slots__ = ("a", "b", "c")


def ints(holder):
    for i in range(len(holder)):
        holder[i] = 1 << 40 | i


def strings(holder):
    for i in range(len(holder)):
        holder[i] = "str %d" % i


def byte_strings(holder):
    for i in range(len(holder)):
        holder[i] = bytes(100 + i % 900)  # on both sides of what pymalloc serves


def tuples(holder):
    for i in range(len(holder)):
        holder[i] = (None, True, holder)


def lists(holder):
    for i in range(len(holder)):
        holder[i] = [None] * (1 + i % 100)


def dicts(holder):
    for i in range(len(holder)):
        holder[i] = {"a": None, "b": None}


def with_slots(holder):
    for i in range(len(holder)):
        holder[i] = Slots()


def bytearrays(holder):
    for i in range(len(holder)):
        holder[i] = bytearray(20 + i % 3000)


def numpy_arrays(holder):
    for i in range(len(holder)):
        holder[i] = numpy.empty(500 + i % 500)


def ctypes_buffers(holder):
    for i in range(len(holder)):
        holder[i] = Buffer()


def extension_blocks(holder):
    for i in range(len(holder)):
        holder[i] = EXTENSION.make_record(i % 500)


class Buffer(ctypes.Array):
    __slots__ = ()  # else it has room for attributes, which sys.getsizeof does not count (3.13 on)
    _type_, _length_ = ctypes.c_char, 20000


EXTENSION = ctypes.CDLL(sys.argv[2])
EXTENSION.make_record.restype, EXTENSION.make_record.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
EXTENSION.bytes_of_record.restype, EXTENSION.bytes_of_record.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
KINDS = (ints, strings, byte_strings, tuples, lists, dicts, with_slots, bytearrays, numpy_arrays, ctypes_buffers, extension_blocks)


IS_FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def bytes_of(kind, things):
    """Of their blocks: what Python says, and what it leaves out."""
    size = sum(map(sys.getsizeof, things))
    if kind is extension_blocks:  # addresses, and what lies there
        size += sum(map(EXTENSION.bytes_of_record, things))
    if kind is ctypes_buffers:
        size += sum(map(ctypes.sizeof, things))
    if kind is lists and IS_FREE_THREADED:
        size += 8 * len(things)  # items have their number in front of them
    return size


gc.disable()
kept, truth = [], {}
for kind in KINDS:
    trial = [None] * 1000
    kind(trial)
    kept.append(trial)
    trial_bytes = bytes_of(kind, trial)
    holder = [None] * int(int(sys.argv[1]) / (trial_bytes / 1000))
    kind(holder)
    kept.append(holder)
    truth[kind.__name__] = bytes_of(kind, holder) + trial_bytes
print(json.dumps(truth), flush=True)
os._exit(0)  # nothing is freed before the profile
