# SPDX-License-Identifier: Apache-2.0
"""Made the arenas beside it: python3 leaves_arena.py LIBMEMPROF PROFILE, with MEMPROF_RATE=64k, MEMPROF_MEMORY=4m and
MEMPROF_ARENA_DIR.  Then xz -9e FILE.arena.

PROFILE is what the library itself says, just before SIGKILL ends the program.  ../older_arenas_test.py has its figures.
"""
import ctypes
import os
import signal
import sys

memprof = ctypes.CDLL(sys.argv[1])
memprof.memprof_init(None)
memprof.memprof_start()


def keep():
    return [bytearray(20_000) for _ in range(400)]


def drop():
    return [bytearray(50_000) for _ in range(300)]


def use(blocks):
    return sum(map(len, blocks))


kept = keep()
use(drop())
memprof.memprof_stop()
memprof.memprof_write_profile(sys.argv[2].encode(), 1)
os.kill(os.getpid(), signal.SIGKILL)
