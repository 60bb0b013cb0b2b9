# SPDX-License-Identifier: Apache-2.0
"""The option MEMPROF_USE_LIBUNWIND builds a library that works: it links with libunwind, and its stacks are whole."""
import argparse
import os
import pathlib
import re
import subprocess
import tempfile

PROGRAM = "import json; d = {str(i): [i] * 9 for i in range(2000)}; json.loads(json.dumps(d))"


def main():
    parser = argparse.ArgumentParser()
    for name in ("source", "build", "cmake", "cc", "cxx"):
        parser.add_argument(f"--{name}", required=True)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        build = pathlib.Path(name) / "build"
        profile = pathlib.Path(name) / "out.pb"
        subprocess.run([a.cmake, "-S", a.source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        f"-DCMAKE_C_COMPILER={a.cc}", f"-DCMAKE_CXX_COMPILER={a.cxx}", "-DMEMPROF_TESTS=OFF",
                        "-DMEMPROF_USE_LIBUNWIND=ON"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([a.cmake, "--build", build, "--target", "memprof_shared"], check=True, stdout=subprocess.DEVNULL)
        library = build / "lib/libmemprof.so"
        needed = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
        assert "libunwind.so" in needed, needed
        subprocess.run(["/usr/bin/python3", "-c", PROGRAM], check=True,
                       env={**os.environ, "LD_PRELOAD": str(library), "MEMPROF_RATE": "1k", "MEMPROF_PROFILE": str(profile)})
        text = subprocess.run([pathlib.Path(a.build) / "bin/memprof", "export", profile, "-o", "-", "--format", "collapsed",
                               "--metric", "alloc_space", "--all-frames"], check=True, capture_output=True, text=True).stdout
        stacks = [line.rsplit(" ", 1)[0].split(";") for line in text.splitlines()]
        assert len(stacks) >= 20, text
        whole = sum(re.search(r"_start|__libc_start", stack[0]) is not None for stack in stacks)
        assert whole >= 0.99 * len(stacks), f"{whole} of {len(stacks)} stacks begin at the start of the program"
        print(f"{len(stacks)} different stacks, {whole} of them from the start of the program")


if __name__ == "__main__":
    main()
