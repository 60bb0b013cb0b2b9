#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs what ./dev release made in bare roots, and profiles a program there: run, report with names, attach, view.

usage: try_release.py VERSION [ROOT...]

ROOT: a distribution, made by debootstrap once and kept in build/dist/roots (bullseye, bookworm, trixie, sid), or empty (nothing but
the one file and the program). All that are named must do; empty and bookworm, if none is named. Needs root, debootstrap, and zig
(build/ports), by which the program is built for the oldest C library.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time

import roots

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/ports"))
import ports  # noqa: E402, pylint: disable=wrong-import-position

FOLDER = ROOT / "build/dist"
DISTRIBUTIONS = ("bullseye", "bookworm", "trixie", "sid")
MIRROR = os.environ.get("MEMPROF_MIRROR", "http://deb.debian.org/debian")


def base_of(name):
    """The smallest system of a distribution."""
    base = FOLDER / "roots" / f"{name}.base"
    complete = base.with_name(f"{name}.base.complete")
    if not complete.exists():
        shutil.rmtree(base, ignore_errors=True)
        base.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["debootstrap", "--variant=minbase", "--force-check-gpg", name, base, MIRROR], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"debootstrap {name}:\n" + "\n".join(done.stdout.splitlines()[-5:]))
        complete.touch()
    return base


def programs():
    """The program that is profiled, for glibc 2.17 and, where there is musl-gcc, for musl."""
    source = pathlib.Path(__file__).parent / "programs/holds.c"
    glibc = FOLDER / "holds"
    zig, why = ports.zig()
    if zig is None:
        raise AssertionError(why)
    cache = {f"ZIG_{kind}_CACHE_DIR": str(ports.FOLDER / "cache") for kind in ("GLOBAL", "LOCAL")}
    subprocess.run([zig, "cc", "-target", "x86_64-linux-gnu.2.17", "-g", "-O1", "-o", glibc, source], env={**os.environ, **cache}, check=True)
    musl = None
    if shutil.which("musl-gcc"):
        musl = FOLDER / "holds-musl"
        subprocess.run(["musl-gcc", "-g", "-O1", "-fasynchronous-unwind-tables", "-o", musl, source], check=True)
    return glibc, musl


def copy_of(name):
    path = FOLDER / "roots" / name
    shutil.rmtree(path, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", base_of(name), path], check=True)
    return roots.Root(path)


def expect_no_attach(root, memprof):
    """As glibc before 2.34 has no dlopen of its own, which memprof attach says (docs/attach.md)."""
    try:
        roots.try_attach(root, memprof, "/holds")
    except AssertionError as error:
        roots.expect("uses a glibc before 2.34" in str(error), str(error))
        return
    raise AssertionError("attached with a glibc before 2.34")


def everything(root, memprof, program, musl, can_attach=True):
    root.make("/out")
    root.add(program, "/holds")
    roots.try_run(root, memprof, "/holds")
    if can_attach:
        roots.try_attach(root, memprof, "/holds")
    else:
        expect_no_attach(root, memprof)
    roots.try_view(root, memprof)
    if musl is not None:
        root.add(musl, "/holds-musl")
        root.add("/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-x86_64.so.1")
        roots.try_run(root, memprof, "/holds-musl")


def try_empty(dist, version, program, musl):
    path = FOLDER / "roots/empty"
    shutil.rmtree(path, ignore_errors=True)
    root = roots.Root(path)
    root.add(dist / f"memprof-{version}-linux-x86_64", "/memprof")
    root.add_program(program, "/holds")
    root.add_needed(FOLDER / "usr/lib/libmemprof.so")  # of the C library, all that one package of it has
    root.make("/proc", "/tmp")
    everything(root, "/memprof", program, musl)
    # Another root than the command's, as a container beside it is.
    beside = roots.Root(FOLDER / "roots/beside")
    beside.add(dist / f"memprof-{version}-linux-x86_64", "/memprof")
    beside.make("/proc", "/tmp", "/out")
    roots.try_attach(root, "/memprof", "/holds", command_root=beside)
    shutil.rmtree(beside.path)
    shutil.rmtree(path)


def try_distribution(name, dist, version, program, musl):
    one_file = dist / f"memprof-{version}-linux-x86_64"
    for kind in ("one file", "archive", "deb", "rpm"):
        root = copy_of(name)
        memprof = "memprof"
        if kind == "one file":
            root.add(one_file, "/opt/memprof")
            memprof = "/opt/memprof"
        elif kind == "archive":
            root.make("/usr/local")
            subprocess.run(["tar", "-xzf", dist / f"memprof-{version}-linux-x86_64.tar.gz", "-C", root.path / "usr/local", "--strip-components=1"], check=True)
        elif kind == "deb":
            root.add(dist / f"memprof_{version}_amd64.deb", "/m.deb", 0o644)
            root.run("dpkg", "-i", "/m.deb")
        else:
            rpm = dist / f"memprof-{version}-1.x86_64.rpm"
            if not rpm.exists() or not shutil.which("rpm"):
                print(f"{name}: rpm: not tried: there is no {'rpm' if rpm.exists() else rpm.name}")
                continue
            subprocess.run(["rpm", "--root", root.path, "--nodeps", "--noscripts", "-i", rpm], check=True)
        everything(root, memprof, program, musl, can_attach=name != "bullseye")
        unpacked = (root.path / "var/cache/memprof").exists()
        roots.expect(unpacked == (kind == "one file"), f"{kind}: {'' if unpacked else 'not '}unpacked into /var/cache/memprof")
        print(f"{name}: {kind}: run, report, {'no attach' if name == 'bullseye' else 'attach'}, view{', a program of musl' if musl else ''}: ok", flush=True)
    shutil.rmtree(FOLDER / "roots" / name)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("version")
    parser.add_argument("roots", nargs="*", metavar="ROOT")
    asked = parser.parse_args()
    for name in asked.roots:
        if name not in (*DISTRIBUTIONS, "empty"):
            parser.error(f"no root {name}: empty {' '.join(DISTRIBUTIONS)}")
    if os.geteuid() != 0:
        print("try_release: needs root, for debootstrap and chroot", file=sys.stderr)
        return 1
    dist = ROOT / "dist"
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=dist, check=True)
    program, musl = programs()
    for name in asked.roots or ["empty", "bookworm"]:
        start = time.monotonic()
        if name == "empty":
            try_empty(dist, asked.version, program, musl)
        else:
            try_distribution(name, dist, asked.version, program, musl)
        print(f"{name}: ok ({time.monotonic() - start:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
