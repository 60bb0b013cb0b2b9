#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the build to a fresh prefix, moves that, and builds and runs outside projects against it.

They are built with CMake and with pkg-config, in C and C++, dynamic, with libmemprof.a linked whole, with libmemprof_api.a,
position-independent and not. Each profiles itself and writes a profile. A program that is linked with the archive
must not need libmemprof.so.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

OUTSIDE = pathlib.Path(__file__).parent / "outside"
EXPECTED = ["include/memprof.h", "lib*/libmemprof.so", "lib*/libmemprof.so.0", "lib*/libmemprof.a", "lib*/libmemprof_api.a",
            "lib*/cmake/memprof/memprof-config.cmake", "lib*/cmake/memprof/memprof-config-version.cmake",
            "lib*/pkgconfig/memprof.pc", "lib*/pkgconfig/memprof-static.pc", "bin/memprof",
            "share/doc/memprof/LICENSE"]


def run(command, **options):
    """Runs a command; a failure ends the test with the command's output."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}\nexit status {done.returncode}")
    return done.stdout


def check(condition, message):
    if not condition:
        sys.exit(message)


def check_program(program, dynamic, environment, version):
    needed = re.findall(r"NEEDED.*\[(.*)\]", run(["readelf", "-dW", program]))
    check(("libmemprof.so.0" in needed) == dynamic, f"{program} needs {needed}")
    profile = program.with_suffix(".pb")
    output = run([program, profile], env=environment)
    check(output == f"ok {version}\n", f"{program} said {output!r}")
    check(profile.stat().st_size > 0, f"{profile} is empty")
    print(f"{program.name}: ok")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("build", "cmake", "cc", "cxx", "version"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="memprof-install-") as name:
        temp = pathlib.Path(name)
        run([args.cmake, "--install", args.build, "--prefix", temp / "first"])
        prefix = (temp / "first").rename(temp / "moved")
        for pattern in EXPECTED:
            check(list(prefix.glob(pattern)), f"not installed: {pattern}")
        for path in prefix.rglob("*.pc"):
            check(args.build not in path.read_text() and "first" not in path.read_text(),
                  f"{path} has an absolute path:\n{path.read_text()}")
        libdir = next(prefix.glob("lib*/libmemprof.so")).parent
        environment = dict(os.environ, PKG_CONFIG_PATH=str(libdir / "pkgconfig"),
                           LD_LIBRARY_PATH=str(libdir))

        run([args.cmake, "-G", "Ninja", "-S", OUTSIDE, "-B", temp / "cmake", f"-DCMAKE_PREFIX_PATH={prefix}",
             f"-DCMAKE_C_COMPILER={args.cc}", f"-DCMAKE_CXX_COMPILER={args.cxx}"])
        run([args.cmake, "--build", temp / "cmake"])
        for language in ("c", "cc"):
            check_program(temp / "cmake" / f"dynamic_{language}", True, environment, args.version)
            check_program(temp / "cmake" / f"static_{language}", False, environment, args.version)
            check_program(temp / "cmake" / f"api_{language}", False, environment, args.version)

        # Without the interposer, also at a fixed address, where the address of malloc is an entry of the program's PLT.
        for language, compiler in (("c", args.cc), ("cc", args.cxx)):
            for kind, position in (("pie", ["-fPIE", "-pie"]), ("fixed", ["-fno-pie", "-no-pie"])):
                program = temp / f"memprof-api_{language}_{kind}"
                run([compiler, *position, OUTSIDE / f"main.{language}", "-o", program, f"-I{prefix / 'include'}",
                     libdir / "libmemprof_api.a", "-ldl"])
                check_program(program, False, environment, args.version)

        for language, compiler in (("c", args.cc), ("cc", args.cxx)):
            for package, dynamic in (("memprof", True), ("memprof-static", False)):
                check(run(["pkg-config", "--modversion", package], env=environment).strip() == args.version,
                      f"{package}.pc has another version")
                flags = run(["pkg-config", "--cflags", "--libs", package], env=environment).split()
                for kind, position in (("pie", ["-fPIE", "-pie"]), ("fixed", ["-fno-pie", "-no-pie"])):
                    program = temp / f"{package}_{language}_{kind}"
                    run([compiler, *position, OUTSIDE / f"main.{language}", "-o", program, *flags])
                    check_program(program, dynamic, environment, args.version)

        # The installed command finds the installed library.
        run([prefix / "bin/memprof", "run", "-r", "0", "-o", temp / "true.pb.gz", "--", "/bin/true"])
        check((temp / "true.pb.gz").stat().st_size > 0, "memprof run wrote nothing")
        run([prefix / "bin/memprof", "report", temp / "true.pb.gz"])
        print("memprof run, report: ok")


if __name__ == "__main__":
    main()
