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
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/ports"))
import ports  # noqa: E402, pylint: disable=wrong-import-position

PROCESSORS = ("x86_64", "aarch64")


def build(processor, jobs):
    """Returns (the library, None) or (None, why there is none)."""
    folder = "musl" if processor == platform.machine() else f"musl-{processor}"
    return ports.build_library("musl", processor, folder, "libmemprof.so", jobs)


def build_for_dlopen(processor, jobs):
    """The same for processes that run already: whose dlopen takes it."""
    folder = "musl-dlopen" if processor == platform.machine() else f"musl-dlopen-{processor}"
    return ports.build_library("musl", processor, folder, "libmemprof-dlopen.so", jobs, "-DMEMPROF_DYNAMIC_TLS=ON")


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
