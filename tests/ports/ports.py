#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the engine for other systems, with zig: each source is an object, warnings are errors.

usage: ports.py [--jobs N] [--by-folder] [TARGET...]    all targets if none is named
       ports.py --zig                     prints where the compiler is
       ports.py --self-test               plants sources that other systems do not have, and sees them found

Prints for each target how many sources compile, and what the compiler says of the others. A source that does not is a
failure unless EXCEPTIONS names it with its reason; one that is named there and does compile is one, too. Nothing is
linked or run. With --by-folder the sources of a folder are compiled as one, which takes a quarter of the time; where that
does not compile, each of them apart. zig comes from the package index, pinned (requirements.txt), and lies with its cache in build/ports: what
has not changed is not compiled again. Status 77 where it is not to be had.
"""
import argparse
import concurrent.futures
import fcntl
import fnmatch
import itertools
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")
FOLDER = ROOT / "build/ports"
SKIPPED = 77

# What enters the profiled process: all of these but the folders of systems, of which each target has its own.
ENGINE = ["src", "capi"]
NOT_ENGINE = {"src/profile": "outside of the profiled process: needs libraries, of which there are none for these targets"}
SYSTEMS = "src/platform"
POSIX = ["posix", "reference"]
LIBC = "src/platform/linux/libc"  # a folder for each C library
CPU = "src/cpu"  # a folder for each processor, which lies over src/
TARGETS = {  # target of zig: folders of src/platform
    "aarch64-macos": [*POSIX, "darwin"],
    "x86_64-macos": [*POSIX, "darwin"],
    "x86_64-windows-gnu": ["reference", "code", "windows"],  # posix/ is what Windows does not have
    "x86_64-linux-musl": [*POSIX, "code", "linux"],
    "aarch64-linux-musl": [*POSIX, "code", "linux"],
}
# (pattern of targets, pattern of sources, reason).
EXCEPTIONS = []

# As memprof_target_library has them (cmake/MemprofTargets.cmake), without what only concerns speed.
FLAGS = """-std=c++17 -O0 -g0 -fno-sanitize=undefined -fno-exceptions -fno-rtti -fno-threadsafe-statics
-fvisibility=hidden -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wvla -Wundef -Werror""".split()
ZYDIS = "ZYAN_NO_LIBC ZYDIS_MINIMAL_MODE ZYDIS_DISABLE_KNC ZYDIS_DISABLE_AVX512 ZYDIS_STATIC_BUILD ZYCORE_STATIC_BUILD".split()
INCLUDES = ["-Isrc", "-Icapi/include", "-I.", "-isystem", "third_party", "-isystem", "third_party/zydis/include",
            "-isystem", "third_party/zydis/dependencies/zycore/include"]


def zig():
    """The compiler, made if it is not there; or (None, why it is not to be had). A wrong checksum is an error."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return None, f"no zig is pinned for {platform.system()} on {platform.machine()}"
    venv = FOLDER / "venv"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = venv / "requirements.txt"
        if not made.exists() or made.read_text() != REQUIREMENTS.read_text():
            make = [] if (venv / "bin/pip").exists() else [[sys.executable, "-m", "venv", venv]]
            for command in (*make, [venv / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                                    "--only-binary=:all:", "--require-hashes", "-r", REQUIREMENTS]):
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
                if "DO NOT MATCH THE HASHES" in done.stdout:
                    sys.exit(done.stdout)
                if done.returncode:
                    return None, f"zig is not to be had: {(done.stdout.strip().splitlines() or ['?'])[-1]}"
            shutil.copy(REQUIREMENTS, made)
    return next(venv.glob("lib/python3*/site-packages/ziglang/zig")), None


def environment():
    """Of zig, which keeps what it compiled; two caches, since a checkout may be on another file system than the home."""
    return {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(FOLDER / "cache"), "ZIG_LOCAL_CACHE_DIR": str(FOLDER / "cache")}


def launcher():
    """For cmake: ccache, where it is."""
    return [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX")] if shutil.which("ccache") else []


def run(command, log):
    """Ends this program, with the errors, where the command fails."""
    done = subprocess.run([str(part) for part in command], env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    log.write_text(done.stdout)
    if done.returncode:
        wrong = [line for line in done.stdout.splitlines() if "error" in line.lower()] or done.stdout.splitlines()[-20:]
        sys.exit("\n".join([f"{' '.join(map(str, command))} failed; all of it is in {log}", *wrong[:40]]))


def build_library(system, processor, folder, name, jobs, *options):
    """Builds libmemprof for another C library or system, in build/FOLDER, by the toolchain file of that name. Returns (lib/NAME
    there, None) or (None, why there is none).

    With MEMPROF_UNITY_ENGINE=1 in the environment, as tests of `./dev test` have it, it compiles each folder as one source, in
    build/FOLDER-quick, and with -O1: a quarter of the time. What is shipped is compiled source by source, with -O2.
    """
    compiler, why = zig()
    if compiler is None:
        return None, why
    is_quick = os.environ.get("MEMPROF_UNITY_ENGINE") == "1"
    folder = ROOT / "build" / (f"{folder}-quick" if is_quick else folder)
    folder.mkdir(parents=True, exist_ok=True)
    less = [f"-DCMAKE_{language}_FLAGS_RELWITHDEBINFO=-O1 -g -DNDEBUG" for language in ("C", "CXX")] if is_quick else []
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, "--toolchain", ROOT / f"cmake/toolchains/{system}.cmake",
             f"-DMEMPROF_ZIG={compiler}", f"-DMEMPROF_PROCESSOR={processor}", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DMEMPROF_ENGINE_ONLY=ON",
             "-DMEMPROF_TESTS=OFF", "-DMEMPROF_WERROR=ON", f"-DMEMPROF_UNITY_ENGINE={'ON' if is_quick else 'OFF'}", *less, *options, *launcher()],
            folder / "configure.log")
        run(["cmake", "--build", folder, "-j", str(jobs), "--target", "memprof_shared"], folder / "build.log")
    return folder / "lib" / name, None


def sources_of(target, root=ROOT):
    """Sorted, from the root."""
    found = []
    for path in (path for top in ENGINE for path in (root / top).rglob("*.cc")):
        file = path.relative_to(root).as_posix()
        cpu, _, rest = file.removeprefix(CPU + "/").partition("/") if file.startswith(CPU + "/") else (None, None, None)
        if cpu is not None and (cpu != target.split("-")[0] or rest.startswith("memprof/")):  # another's; the command's
            continue
        name = file if cpu is None else "src/" + rest
        system = name.removeprefix(SYSTEMS + "/").split("/")[0] if name.startswith(SYSTEMS + "/") else None
        is_of_other = name.startswith(LIBC + "/") and not target.endswith("-" + name.removeprefix(LIBC + "/").split("/")[0])
        if not is_of_other and not any(name.startswith(folder + "/") for folder in NOT_ENGINE) and (system is None or system in TARGETS[target]):
            found.append(file)
    return sorted(found)


def exception_of(target, source, exceptions):
    return next((reason for targets, sources, reason in exceptions
                 if fnmatch.fnmatch(target, targets) and fnmatch.fnmatch(source, sources)), None)


def compile_source(compiler, target, source, root, out):
    command = [compiler, "c++", "-target", target, *FLAGS, f"-I{CPU}/{target.split('-')[0]}", *INCLUDES, '-DMEMPROF_VERSION="0"', *(f"-D{name}" for name in ZYDIS),
               "-c", source, "-o", out / (source.replace("/", "+") + ".o")]
    done = subprocess.run(command, cwd=root, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    return done.returncode == 0, done.stdout


def compile_folder(compiler, target, sources, root, out):
    """(compiles, what the compiler said) of each source of a folder: of all as one, or, where that does not compile, of each."""
    if len(sources) > 1:
        one = out / (str(pathlib.Path(sources[0]).parent).replace("/", "+") + ".cc")
        one.write_text("".join(f'#include "{root / source}"\n' for source in sources))
        if compile_source(compiler, target, str(one), root, out)[0]:
            return [(True, "")] * len(sources)
    return [compile_source(compiler, target, source, root, out) for source in sources]


def compile_all(compiler, target, jobs, root=ROOT, exceptions=None, by_folder=False):
    """Returns (sentence, what is wrong)."""
    exceptions = EXCEPTIONS if exceptions is None else exceptions
    sources, started, wrong = sources_of(target, root), time.monotonic(), []
    # An empty list would pass for ever.
    if not sources:
        return f"{target}: no sources", [f"{target}: no sources were found"]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        # Sorted, the sources of a folder stand together but for those of its folders.
        by_parent = itertools.groupby(sources, (lambda source: str(pathlib.Path(source).parent)) if by_folder else None)
        groups = [list(group) for _, group in by_parent]
        parts = pool.map(lambda group: compile_folder(compiler, target, group, root, pathlib.Path(folder)), groups)
        results = [result for part in parts for result in part]
    excepted = 0
    for source, (compiles, said) in zip(sources, results):
        reason = exception_of(target, source, exceptions)
        excepted += not compiles and reason is not None
        if compiles and reason is not None:
            wrong.append(f"{target}: {source} compiles; take it from EXCEPTIONS in tests/ports/ports.py")
        elif not compiles and reason is None:
            lines = [line for line in said.splitlines() if re.search(r"\b(error|note):", line)] or said.splitlines()
            wrong.append(f"{target}: {source} does not compile\n" + "\n".join(lines[:12]))
    compiled = sum(compiles for compiles, _ in results)
    sentence = f"{target}: {compiled} of {len(sources)} compile"
    sentence += f", {excepted} are excepted" if excepted else ""
    return f"{sentence} ({time.monotonic() - started:.0f} s)", wrong


PLANTED = [  # source, text, does it compile for macOS, for Windows, for musl
    ("src/core/pure.cc", "#include <cstdint>\nuint64_t f() { return 1; }", (True, True, True)),
    ("src/core/alias.cc", 'extern "C" int f();\nint g() { return 1; }\nextern "C" int f() __attribute__((alias("_Z1gv")));',
     (False, True, True)),
    ("src/core/section.cc", '__attribute__((section("my_hooks"))) void f() {}', (False, True, True)),
    ("src/core/mapping.cc", "#include <sys/mman.h>\nint f() { return PROT_READ; }", (True, False, True)),
    ("src/core/of_linux.cc", "#include <sys/epoll.h>\nint f() { return EPOLLIN; }", (False, False, True)),
    ("src/core/of_glibc.cc", "#include <gnu/libc-version.h>\nconst char* f() { return gnu_get_libc_version(); }",
     (False, False, False)),
    ("src/core/warned.cc", "int f(int unused) { return 1; }", (False, False, False)),
    ("src/platform/posix/here.cc", "#include <sys/mman.h>\nint f() { return PROT_READ; }", (True, None, True)),
    ("src/platform/other/here.cc", "#error not for these", (None, None, None)),
    ("src/platform/linux/libc/glibc/here.cc", "#error not for these", (None, None, None)),
    ("src/platform/linux/libc/musl/here.cc", "#include <sys/auxv.h>", (None, None, True)),
    ("src/cpu/x86_64/core/here.cc", '#include "cpu/facts.h"\nint f() { return WORD; }', (None, True, True)),
    ("src/cpu/aarch64/core/here.cc", '#include "cpu/facts.h"\nint f() { return WORD; }', (True, None, None)),
    ("src/cpu/x86_64/platform/linux/here.cc", "int f() { return 1; }", (None, None, True)),
    ("src/cpu/x86_64/memprof/here.cc", "#error the command's", (None, None, None)),
    ("src/profile/here.cc", "#error not in the process", (None, None, None)),
]


def self_test(compiler, jobs):
    targets = ("aarch64-macos", "x86_64-windows-gnu", "x86_64-linux-musl")
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for cpu in ("x86_64", "aarch64"):
            (root / CPU / cpu / "cpu").mkdir(parents=True)
            (root / CPU / cpu / "cpu/facts.h").write_text("#define WORD 1\n")
        for source, text, _ in PLANTED:
            (root / source).parent.mkdir(parents=True, exist_ok=True)
            (root / source).write_text(text + "\n")
        for index, target in enumerate(targets):
            expected = {source: compiles[index] for source, _, compiles in PLANTED if compiles[index] is not None}
            assert sources_of(target, root) == sorted(expected), sources_of(target, root)
            failing = sorted(source for source, compiles in expected.items() if not compiles)
            for by_folder in (False, True):
                sentence, wrong = compile_all(compiler, target, jobs, root, [], by_folder)
                assert sentence.startswith(f"{target}: {sum(expected.values())} of {len(expected)} compile ("), sentence
                assert [text.split()[1] for text in wrong] == failing, (failing, wrong)
            # All of them excepted: those that compile are now too many.
            sentence, wrong = compile_all(compiler, target, jobs, root, [(target, "src/*", "planted")])
            assert f", {len(failing)} are excepted" in sentence, sentence
            assert [text.split()[1] for text in wrong] == sorted(set(expected) - set(failing)), wrong
        shutil.rmtree(root / "src")
        assert compile_all(compiler, targets[0], jobs, root, [])[1], "no sources, and nothing is wrong"
    print(f"{len(PLANTED)} planted sources are told apart on {len(targets)} systems")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--by-folder", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--zig", action="store_true")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    asked = parser.parse_args()
    unknown = sorted(set(asked.targets) - set(TARGETS))
    if unknown:
        parser.error(f"no target {unknown[0]}: {' '.join(TARGETS)}")
    compiler, why = zig()
    if compiler is None:
        print(f"skipped: {why}")
        return SKIPPED
    if asked.zig:
        print(compiler)
        return 0
    if asked.self_test:
        return self_test(compiler, asked.jobs)
    all_wrong = []
    for target in asked.targets or TARGETS:
        sentence, wrong = compile_all(compiler, target, asked.jobs, by_folder=asked.by_folder)
        print(sentence, flush=True)
        all_wrong += wrong
    print("\n".join(all_wrong), end="\n" if all_wrong else "")
    return bool(all_wrong)


if __name__ == "__main__":
    sys.exit(main())
