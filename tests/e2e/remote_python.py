# SPDX-License-Identifier: Apache-2.0
"""A Python that runs scripts of others as 3.14 does, whichever it is: `remote_python.py LIBRARY VERSION [WAY]`.

LIBRARY is programs/remote_python.c; VERSION a PY_VERSION_HEX; WAY "free-threaded", "disabled", "altered", "occupied" or "waits" (for ever).
It keeps 300,000 bytes a time, until its standard input ends.
"""
import ctypes
import select
import sys
import time

kept = []


def grow():
    kept.append(bytearray(300_000))


def main(library, version, way=""):
    runtime = ctypes.CDLL(library)
    runtime.take.restype = ctypes.c_char_p
    runtime.begin(ctypes.c_uint64(int(version, 16)), way != "disabled", way == "free-threaded", ctypes.c_uint64(3 if way == "altered" else 512))
    if way == "occupied":
        runtime.occupy()
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        script = runtime.take() if way != "waits" else None
        if script is not None:
            with open(script, encoding="utf-8") as file:
                exec(compile(file.read(), script, "exec"), {})
        grow()
        if len(kept) > 1000:
            kept.clear()
        time.sleep(0.002)
    print("ok")


main(*sys.argv[1:])
