# SPDX-License-Identifier: Apache-2.0
"""Builds what a release is made of, in build/dist: the libraries for glibc 2.17 and for musl, and the command as one static file.

What debuggers need is stripped, and with it all paths of this machine: the same sources give the same bytes wherever they lie.
The command has no build id for that reason: it would be made of what is stripped.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/dist"
GLIBC = "2.17"
sys.path.insert(0, str(ROOT / "tests/ports"))
import ports  # noqa: E402, pylint: disable=wrong-import-position


class ReleaseError(Exception):
    """Something that ends the release, with what to do."""


def environment(epoch):
    """For everything that is run: nothing of the user's settings of compilers, zig's cache of ./dev ports."""
    others = ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS")
    kept = {k: v for k, v in os.environ.items() if k not in others and not k.startswith("MEMPROF_")}
    cache = str(ports.FOLDER / "cache")
    defaults = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_SLOPPINESS": "pch_defines,time_macros,include_file_mtime,include_file_ctime"}
    return {**defaults, **kept, "SOURCE_DATE_EPOCH": str(epoch), "TZ": "UTC", "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}


def run(command, log, epoch, **options):
    """Runs a command, whose output goes to a file; a failure says its last lines."""
    command = [str(part) for part in command]
    log.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, env=environment(epoch), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", check=False, **options)
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"$ {' '.join(command)}\n{done.stdout}")
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-25:])
        raise ReleaseError(f"{' '.join(command)}\n{tail}\nstatus {done.returncode}; all of it is in {log}")
    return done.stdout


def launcher():
    return [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX")] if shutil.which("ccache") else []


def build(name, options, targets, jobs, epoch):
    # As deep as build/release: ccache knows objects by relative paths.
    folder = ROOT / f"build/dist-{name}" if name == "command" else FOLDER / name
    log = FOLDER / f"{name}.log"
    log.unlink(missing_ok=True)
    run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DMEMPROF_TESTS=OFF", "-DMEMPROF_WERROR=ON",
         *launcher(), *options], log, epoch)
    run(["cmake", "--build", folder, "-j", jobs, *[part for target in targets for part in ("--target", target)]], log, epoch)
    return folder


def libraries(processor, jobs, epoch):
    """The build folders of the libraries for glibc and for musl."""
    zig, why = ports.zig()
    if zig is None:
        raise ReleaseError(why)
    # One toolchain for both: that of the wheel builds a whole C++ library first, which nothing here is linked with.
    options = ["--toolchain", ROOT / "cmake/toolchains/musl.cmake", f"-DMEMPROF_ZIG={zig}", f"-DMEMPROF_PROCESSOR={processor}",
               "-DMEMPROF_ENGINE_ONLY=ON", "-DCMAKE_INSTALL_LIBDIR=lib"]
    glibc = build(f"glibc-{processor}", [*options, f"-DMEMPROF_ZIG_TARGET={processor}-linux-gnu.{GLIBC}"],
                  ["memprof_shared", "memprof_static", "memprof_engine"], jobs, epoch)
    needs_glibc(glibc / "lib/libmemprof.so", GLIBC)
    musl = build(f"musl-{processor}", options, ["memprof_shared"], jobs, epoch)
    dlopen = build(f"musl-dlopen-{processor}", [*options, "-DMEMPROF_DYNAMIC_TLS=ON"], ["memprof_shared"], jobs, epoch)
    shutil.copyfile(dlopen / "lib/libmemprof-dlopen.so", musl / "lib/libmemprof-dlopen.so")
    return glibc, musl


def needs_glibc(library, newest):
    """An error if the library asks for a newer C library."""
    asked = re.findall(r"GLIBC_([0-9.]+)", subprocess.run(["readelf", "--version-info", "--wide", library], stdout=subprocess.PIPE,
                                                          text=True, check=True).stdout)
    too_new = [version for version in asked if tuple(map(int, version.split("."))) > tuple(map(int, newest.split(".")))]
    if too_new:
        raise ReleaseError(f"{library} needs glibc {max(too_new)}; {newest} is promised")


def command(glibc, musl, jobs, epoch):
    """The command as one static file, without what debuggers need."""
    folder = build("command", [f"-DMEMPROF_CARRY_GLIBC={glibc / 'lib/libmemprof.so'}", f"-DMEMPROF_CARRY_MUSL={musl / 'lib/libmemprof.so'}",
                               f"-DMEMPROF_CARRY_MUSL_DLOPEN={musl / 'lib/libmemprof-dlopen.so'}"],
                   ["memprof_one_file"], jobs, epoch)
    out = FOLDER / "memprof"
    run(["strip", "--strip-all", "-o", out, folder / "one_file/memprof"], FOLDER / "command.log", epoch)
    if "no program interpreter" not in interpreter(out):
        raise ReleaseError(f"{out} is not static")
    return out


def interpreter(program):
    headers = subprocess.run(["readelf", "--program-headers", "--wide", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return "no program interpreter" if "INTERP" not in headers else headers
