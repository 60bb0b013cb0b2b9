#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do memprof.dll and memprof.exe link for Windows, and need nothing but what every process there has?

usage: links.py FOLDER    builds them there; status 77 where the cross compiler is not installed
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import wine

sys.path.insert(0, str(wine.ROOT / "tests/ports"))
import ports  # noqa: E402, pylint: disable=wrong-import-position


def main():
    if shutil.which(wine.COMPILER) is None:
        print(f"skipped: {wine.COMPILER} is not installed; ./dev windows installs it")
        return 77
    folder = pathlib.Path(sys.argv[1])
    toolchain = wine.ROOT / "cmake/toolchains/x86_64-w64-mingw32.cmake"
    for command in (["cmake", "-S", wine.ROOT, "-B", folder, "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", "-DCMAKE_BUILD_TYPE=Release",
                     "-DMEMPROF_ENGINE_ONLY=ON", "-DMEMPROF_TESTS=OFF", "-DMEMPROF_WERROR=ON", "-DMEMPROF_UNITY_ENGINE=ON", *ports.launcher()],
                    ["cmake", "--build", folder, "-j", str(len(os.sched_getaffinity(0)))]):
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            print(done.stdout[-5000:])
            return 1
    needed = {}
    for name in ("memprof.dll", "memprof.exe"):
        said = subprocess.run(["x86_64-w64-mingw32-objdump", "-p", folder / "bin" / name], stdout=subprocess.PIPE, text=True, check=True).stdout
        needed[name] = sorted(set(re.findall(r"DLL Name: (\S+)", said)))
    print(needed)
    return needed != {"memprof.dll": ["KERNEL32.dll", "ntdll.dll"], "memprof.exe": ["KERNEL32.dll", "memprof.dll", "msvcrt.dll"]}


if __name__ == "__main__":
    sys.exit(main())
