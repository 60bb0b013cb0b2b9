#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds libmemprof.so for programs of musl, with zig, in build/musl (of another processor: build/musl-PROCESSOR).

usage: musl_library.py [PROCESSOR]    x86_64 or aarch64; this machine's if none is named

Prints the path of the library.  Status 77 where zig is not to be had.
"""
import argparse
import fcntl
import os
import pathlib
import platform
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/ports"))
import ports  # noqa: E402, pylint: disable=wrong-import-position

PROCESSORS = ("x86_64", "aarch64")


def environment():
    """Of zig, which keeps what it compiled."""
    return {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(ports.FOLDER / "cache"), "ZIG_LOCAL_CACHE_DIR": str(ports.FOLDER / "cache")}


def folder_of(processor):
    return ROOT / "build" / ("musl" if processor == platform.machine() else f"musl-{processor}")


def run(command, log):
    done = subprocess.run([str(part) for part in command], env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    log.write_text(done.stdout)
    if done.returncode:
        wrong = [line for line in done.stdout.splitlines() if "error" in line.lower()] or done.stdout.splitlines()[-20:]
        sys.exit("\n".join([f"{' '.join(map(str, command))} failed; all of it is in {log}", *wrong[:40]]))


def build(processor, jobs):
    """Returns (the library, None) or (None, why there is none)."""
    compiler, why = ports.zig()
    if compiler is None:
        return None, why
    folder = folder_of(processor)
    folder.mkdir(parents=True, exist_ok=True)
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, "--toolchain", ROOT / "cmake/toolchains/musl.cmake",
             f"-DMEMPROF_ZIG={compiler}", f"-DMEMPROF_PROCESSOR={processor}", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DMEMPROF_ENGINE_ONLY=ON",
             "-DMEMPROF_TESTS=OFF", "-DMEMPROF_WERROR=ON", *launcher], folder / "configure.log")
        run(["cmake", "--build", folder, "-j", str(jobs), "--target", "memprof_shared"], folder / "build.log")
    return folder / "lib/libmemprof.so", None


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
