#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds libmemprof.dylib by zig, the loader that runs it on Linux, and the test programs.

usage: macos.py [PROCESSOR...]    x86_64 or aarch64; both if none is named; prints the libraries

All of it lies in build/macos-PROCESSOR. Status 77 where zig is not to be had.
"""
import bisect
import os
import pathlib
import platform
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tests/ports"))
import ports  # noqa: E402, pylint: disable=wrong-import-position

PROCESSORS = ("x86_64", "aarch64")
# The lowest version of macOS that the library is for.
MIN_MACOS = "11.0"
LOADER_FLAGS = ["-std=gnu11", "-O2", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-Wall", "-Wextra", "-Werror", "-rdynamic"]
PROGRAM_FLAGS = ["-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-builtin", "-fno-sanitize=undefined", "-Wall",
                 "-Wextra", "-Wno-unguarded-availability-new"]


def llvm(tool):
    """The path of a tool of LLVM, or None."""
    return next(filter(None, (shutil.which(name) for name in (f"{tool}-19", tool))), None)


def build(processor, jobs):
    """Returns (the library, None) or (None, why there is none)."""
    return ports.build_library("macos", processor, f"macos-{processor}", "libmemprof.dylib", jobs)


class Machine:
    """The loader for a processor, and programs for it."""

    def __init__(self, processor, folder):
        self.processor, self.folder = processor, pathlib.Path(folder)
        self.is_own = processor == platform.machine()
        self.compiler, _ = ports.zig()
        self.emulator = [] if self.is_own else [f"qemu-{processor}-static", "-L", f"/usr/{processor}-linux-gnu"]
        self.loader = self.folder / "loader"
        c_compiler = "gcc" if self.is_own else f"{processor}-linux-gnu-gcc"
        ports.run([c_compiler, *LOADER_FLAGS, *sorted((HERE / "loader").glob("*.c")), "-o", self.loader, "-ldl", "-lpthread"], self.folder / "loader.log")

    @staticmethod
    def reason_to_skip(processor):
        """Why programs for it cannot be run here, or None."""
        if processor == platform.machine():
            return None
        missing = [name for name in (f"qemu-{processor}-static", f"{processor}-linux-gnu-gcc") if shutil.which(name) is None]
        return f"{' and '.join(missing)} is not installed; ./dev macos installs it" if missing else None

    def build_program(self, name, *options):
        """An executable of macOS beside its object file, which its debug map names."""
        return self.build_source(HERE / "programs" / f"{name}.c", name, *options)

    def build_source(self, source, name, *options):
        path = self.folder / name
        target = [self.compiler, "cc", "-target", f"{self.processor}-macos.{MIN_MACOS}"]
        ports.run([*target, *PROGRAM_FLAGS, *options, "-c", source, "-o", f"{path}.o"], self.folder / f"{name}.log")
        ports.run([*target, f"{path}.o", "-o", path], self.folder / f"{name}.link.log")
        return path

    def run(self, library, command, timeout=300, **variables):
        """`library` None: without it."""
        plain = {k: v for k, v in os.environ.items() if not k.startswith("MEMPROF_")}
        return subprocess.run([*self.emulator, str(self.loader), str(library or "-"), *map(str, command)], check=False, timeout=timeout,
                              env={**plain, "MEMPROF_ARENA_DIR": "", **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)


class Symbols:
    """Functions of a Mach-O file as llvm-nm lists them."""

    def __init__(self, path):
        said = subprocess.run([llvm("llvm-nm"), "-n", "--defined-only", str(path)], stdout=subprocess.PIPE, text=True, check=True).stdout
        rows = [line.split() for line in said.splitlines()]
        self.functions = [(int(address, 16), name[1:]) for address, kind, name in rows if kind in "tT" and name != "__mh_execute_header"]
        self.start = next(int(address, 16) for address, _, name in rows if name in ("__mh_execute_header", "__mh_dylib_header"))

    def name(self, offset):
        """Of an offset from the Mach-O header."""
        at = bisect.bisect_right(self.functions, (self.start + offset, "\xff")) - 1
        return self.functions[at][1] if at >= 0 else ""


def main():
    unknown = [name for name in sys.argv[1:] if name not in PROCESSORS]
    if unknown:
        print(f"macos.py: no processor {unknown[0]}: {' '.join(PROCESSORS)}", file=sys.stderr)
        return 2
    for processor in sys.argv[1:] or PROCESSORS:
        library, why = build(processor, len(os.sched_getaffinity(0)))
        if library is None:
            print(f"skipped: {why}")
            return ports.SKIPPED
        print(library)
    return 0


if __name__ == "__main__":
    sys.exit(main())
