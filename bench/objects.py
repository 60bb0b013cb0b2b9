# SPDX-License-Identifier: Apache-2.0
"""Python objects, made and dropped: the program of the section `objects` of bench/run, in any interpreter.

usage: objects.py OPERATIONS_A_SLICE SLICES KIND   with BENCH_OBJECTS=none|noop|memprof, BENCH_NOOP and BENCH_LIBRARY the
libraries' paths, BENCH_TURNS as in program.h.  Prints a line of JSON.
"""
import ctypes
import json
import os
import sys
import time


class Slots:
    __slots__ = ("a", "b", "c")


def ints(count, keep=[None] * 512):
    for i in range(count):
        keep[i & 511] = i + 1099511627776


def tuples(count, keep=[None] * 512):
    for i in range(count):
        keep[i & 511] = (i, keep, i)


def slots(count, keep=[None] * 512):
    for i in range(count):
        keep[i & 511] = Slots()


def dicts(count, keep=[None] * 512):
    for i in range(count):
        keep[i & 511] = {"a": i}


def main():
    operations, slices, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    noop = ctypes.PyDLL(os.environ["BENCH_NOOP"])
    noop.object_loop.argtypes = [ctypes.c_uint64, ctypes.c_size_t]
    mode = os.environ["BENCH_OBJECTS"]
    if mode == "noop":
        noop.object_noop_install()
    elif mode == "memprof":
        lib = ctypes.CDLL(os.environ["BENCH_LIBRARY"])
        assert lib.memprof_init(None) == 0 and lib.memprof_start() == 0
    loop = globals().get(kind) or (lambda count: noop.object_loop(count, 64))
    turns = [int(fd) for fd in os.environ["BENCH_TURNS"].split(",")] if "BENCH_TURNS" in os.environ else None
    times = []
    for _ in range(slices):
        if turns:
            os.read(turns[0], 1)
        begin = time.process_time_ns()
        loop(operations)
        times.append(time.process_time_ns() - begin)
        if turns:
            try:
                os.write(turns[1], b"x")
            except BrokenPipeError:
                pass  # the other one has ended
    print(json.dumps({"operations": operations * slices, "slices_ns": times, "samples": 0, "rss_kib": 0}))


main()
