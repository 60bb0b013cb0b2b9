#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds libmemprof.so for programs of musl, with zig, in build/musl (of another processor: build/musl-PROCESSOR).

usage: musl_library.py [PROCESSOR]    x86_64 or aarch64; this machine's if none is named

Prints the path of the library.  Status 77 where zig is not to be had.
"""
import argparse
import os
import pathlib
import platform
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/ports"))
import ports  # noqa: E402, pylint: disable=wrong-import-position

PROCESSORS = ("x86_64", "aarch64")


def build(processor, jobs):
    """Returns (the library, None) or (None, why there is none). Beside it is the one that processes load while they run, whose
    thread-local data is of the kind that musl's dlopen takes."""
    suffix = "" if processor == platform.machine() else f"-{processor}"
    library, why = ports.build_library("musl", processor, "musl" + suffix, "libmemprof.so", jobs)
    if library is None:
        return None, why
    late, why = ports.build_library("musl", processor, "musl-dlopen" + suffix, "libmemprof-dlopen.so", jobs, "-DMEMPROF_DYNAMIC_TLS=ON")
    if late is None:
        return None, why
    # Replaced, not overwritten: it may be loaded.
    beside = library.with_name(late.name)
    shutil.copy(late, beside.with_suffix(".part"))
    beside.with_suffix(".part").replace(beside)
    return library, None


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("processor", nargs="?", default=platform.machine())
    asked = parser.parse_args()
    if asked.processor not in PROCESSORS:
        parser.error(f"no processor {asked.processor}: {' '.join(PROCESSORS)}")
    library, why = build(asked.processor, asked.jobs)
    print(library if library is not None else f"skipped: {why}")
    return 0 if library is not None else ports.SKIPPED


if __name__ == "__main__":
    sys.exit(main())
