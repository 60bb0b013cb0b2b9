#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a CPython for musl, with zig, of Debian's own sources, once into a folder: five minutes of two processors.

usage: musl_python.py FOLDER      prints the path of the interpreter

It has zlib and ctypes, no ssl and no pip. Status 77 where zig or the sources are not to be had.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/ports"))
import ports  # noqa: E402, pylint: disable=wrong-import-position

TARGET = "x86_64-linux-musl"
PYTHON = "python3.11"  # of Debian 12, which builds it for itself, too
# Of what glibc has and this musl has not; and what a cross build cannot try.
ANSWERS = {"ac_cv_func_preadv2": "no", "ac_cv_func_pwritev2": "no", "ac_cv_file__dev_ptmx": "yes", "ac_cv_file__dev_ptc": "no"}


class NotToBeHad(Exception):
    """Why there is no such interpreter here."""


class BuildError(Exception):
    """A step failed."""


def run(command, log, **options):
    with open(log, "ab") as out:
        done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, check=False,
                              **options)
    if done.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise BuildError(f"{' '.join(map(str, command))} failed; the end of {log}:\n{tail}")


def lists_of_sources(folder):
    """This machine's own lists of packages, as lists of their sources; those it has do not change."""
    parts = folder / "lists.d"
    parts.mkdir(parents=True, exist_ok=True)
    for path in [pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("debian*")]:
        if path.exists():
            text = re.sub(r"(?m)^(Types: )?deb(?=\s)", r"\1deb-src", path.read_text())
            (parts / path.with_suffix(path.suffix or ".list").name).write_text(text)
    return parts


def sources(folder):
    """The upstream sources: name -> folder."""
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    apt = ["apt-get", "-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={lists_of_sources(folder)}",
           "-o", f"Dir::State::Lists={lists}", "-o", "APT::Sandbox::User=root"]
    log = folder / "sources.log"
    run([*apt, "update"], log)
    found = {}
    for name in (PYTHON, "zlib", "libffi"):
        own = folder / "source" / name
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir(parents=True)
        run([*apt, "source", "--download-only", "--tar-only", name], log, cwd=own)
        archive = next(iter(own.glob("*.orig.tar.*")))
        run(["tar", "-xf", archive, "--strip-components=1"], log, cwd=own)
        found[name] = own
    return found


def tools(folder, zig):
    """The environment with which configure finds zig's compilers."""
    for tool, command in (("cc", f"cc -target {TARGET} -dynamic -Wno-date-time -fno-sanitize=undefined"), ("ar", "ar"), ("ranlib", "ranlib")):
        path = folder / f"zig-{tool}"
        path.write_text(f'#!/bin/sh\nexec "{zig}" {command} "$@"\n')
        path.chmod(0o755)
    names = {"CC": "cc", "AR": "ar", "RANLIB": "ranlib"}
    return {**ports.environment(), **ANSWERS, **{name: str(folder / f"zig-{tool}") for name, tool in names.items()},
            "PKG_CONFIG_LIBDIR": "/nonexistent", "CPPFLAGS": f"-I{folder}/usr/include", "LDFLAGS": f"-L{folder}/usr/lib"}


def build(folder):
    """Its path; built only if it is not there."""
    folder = pathlib.Path(folder).resolve()
    python = folder / "usr/bin" / PYTHON
    complete = folder / "complete"
    if complete.exists():
        return python
    zig, why = ports.zig()
    if zig is None:
        raise NotToBeHad(why)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        found = sources(folder)
    except BuildError as error:
        raise NotToBeHad(error) from error
    environment = tools(folder, zig)
    log, usr, jobs = folder / "build.log", folder / "usr", f"-j{len(os.sched_getaffinity(0))}"
    log.unlink(missing_ok=True)

    def step(command, where):
        run(command, log, cwd=where, env=environment)

    step(["./configure", "--static", f"--prefix={usr}"], found["zlib"])
    step(["make", jobs, "install"], found["zlib"])
    step(["./configure", "--disable-shared", "--disable-docs", "--disable-exec-static-tramp", f"--host={TARGET}", f"--prefix={usr}", f"--libdir={usr}/lib"], found["libffi"])
    step(["make", jobs, "install"], found["libffi"])
    # Whether getaddrinfo works with IPv6 is not tried in a cross build.
    step(["./configure", f"--prefix={usr}", f"--build={TARGET}", f"--host={TARGET}", f"--with-build-python=/usr/bin/{PYTHON}", "--disable-ipv6",
          "--without-ensurepip", "--disable-test-modules"], found[PYTHON])
    step(["make", jobs], found[PYTHON])
    step(["make", "install"], found[PYTHON])
    run([python, "-c", "import ctypes, zlib"], log)
    complete.touch()
    return python


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(build(sys.argv[1]))
    except NotToBeHad as error:
        print(f"skipped: {error}")
        return ports.SKIPPED
    except BuildError as error:
        print(f"musl_python: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
