# SPDX-License-Identifier: Apache-2.0
"""Runs in the interpreter under test, with memprof preloaded: executes code under the probe and writes what it saw and
what memprof recorded.

usage: probed.py PROBE OUTPUT EVERY MOST workload ROUNDS | test SECONDS MODULE
"""
import ctypes
import importlib.util
import os
import sys
import time

import capi_binding

probe_path, output, every, most, what, *rest = sys.argv[1:]
every, most = int(every), int(most)
memprof = capi_binding.load()
probe = ctypes.PyDLL(probe_path)
report = ctypes.cast(memprof.memprof_report_alloc, ctypes.c_void_p)
probe.probe_start.argtypes = [ctypes.c_ulong, ctypes.c_long, ctypes.c_ulong, ctypes.c_void_p]
probe.probe_start.restype = None


# Blocks spread over this many calls, whatever the test module has.
CALLS_E_FOLDS = 12
NOT_THERE = 5  # exit status: this interpreter has no such module of tests


def run_workload(rounds):
    import workload
    probe.probe_start(every, most, 0, report)
    workload.main(rounds)


def run_tests(seconds, name):
    import unittest
    from test import support
    support.use_resources = {}  # none: no network, no hours of computing
    end = time.monotonic() + seconds

    class Result(unittest.TextTestResult):
        def startTest(self, test):
            super().startTest(test)
            if time.monotonic() > end:
                self.stop()

    if importlib.util.find_spec("test." + name) is None:
        os._exit(NOT_THERE)
    suite = unittest.defaultTestLoader.loadTestsFromName("test." + name)
    probe.probe_start(every, most, most // CALLS_E_FOLDS, report)
    try:
        with open(os.devnull, "w") as nowhere:
            unittest.TextTestRunner(nowhere, verbosity=0, resultclass=Result).run(suite)
    except BaseException as e:  # what a test does may end the run
        print(f"{name}: {type(e).__name__}: {e}", file=sys.stderr)


# Of processes that a test starts nothing is wanted; nor shall multiprocessing run this file in them.
del __file__
for variable in [v for v in os.environ if v.startswith(("MEMPROF_", "LD_PRELOAD"))]:
    del os.environ[variable]
if what == "workload":
    run_workload(int(rest[0]))
else:
    run_tests(float(rest[0]), rest[1])
taken = probe.probe_stop()
if probe.probe_write((output + ".truth").encode()) != 0:
    sys.exit("cannot write " + output)


snapshot = ctypes.c_void_p()
error = memprof.memprof_get_snapshot(ctypes.byref(snapshot))
if error != 0:
    sys.exit(f"memprof_get_snapshot: {error}")
memprof.memprof_resolve_symbols(snapshot)


def array(name):
    count = ctypes.c_uint64()
    return getattr(memprof, "memprof_snapshot_" + name)(snapshot, ctypes.byref(count)), count.value


records, record_count = array("records")
stacks, _ = array("stacks")
frames, _ = array("frames")
runtime_frames, _ = array("runtime_frames")
symbols, _ = array("symbols")
strings, strings_bytes = array("strings")
text = ctypes.string_at(strings, strings_bytes)


SPACES = {c: " " for c in range(32)}


def text_at(offset):
    """As the probe writes it."""
    return text[offset:text.index(b"\0", offset)].decode(errors="replace").translate(SPACES)


with open(output + ".seen", "w", encoding="utf-8") as out:
    for i in range(record_count):
        r = records[i]
        index, odd = divmod(r.address - 0x10000000, 0x1000)
        if odd or not 0 <= index < taken or r.size_bytes != 64:
            continue
        s = stacks[r.stack_id]
        print(index, s.walk, file=out)
        for k in range(s.first_frame, s.first_frame + s.frame_count):
            if frames[k] >> 63:
                f = runtime_frames[frames[k] & 0xffffffff]
                print(f.line, text_at(f.name_offset), text_at(f.file_offset), sep="\t", file=out)
            else:
                print("native", text_at(symbols[k].name_offset) or hex(frames[k]), sep="\t", file=out)
sys.stdout.flush()
os._exit(0)
