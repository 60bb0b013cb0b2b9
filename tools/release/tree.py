# SPDX-License-Identifier: Apache-2.0
"""The tree that all packages are made of: bin, lib, include, share, as below /usr."""
import shutil

import builds
import help_pages
import packages
import parts


def install(folder, libdir, tree, epoch):
    """The libraries, their headers and their files for CMake and pkg-config; `libdir` is lib or lib64."""
    log = builds.FOLDER / "install.log"
    builds.run(["cmake", f"-DCMAKE_INSTALL_LIBDIR={libdir}", folder], log, epoch)
    builds.run(["cmake", "--install", folder, "--prefix", tree], log, epoch)


def strip(tree, epoch):
    log = builds.FOLDER / "install.log"
    for library in sorted(tree.rglob("*.so*")):
        if not library.is_symlink():
            builds.run(["strip", "--strip-all", library], log, epoch)
    for archive in sorted(tree.rglob("*.a")):
        builds.run(["strip", "--strip-debug", "--enable-deterministic-archives", archive], log, epoch)


def stage(name, libdir, glibc, musl, command, version, epoch):
    """Makes build/dist/NAME, and returns it."""
    tree = builds.FOLDER / name
    shutil.rmtree(tree, ignore_errors=True)
    install(glibc, libdir, tree, epoch)
    beside = tree / libdir / "memprof/musl"
    beside.mkdir(parents=True)
    for library in ("libmemprof.so", "libmemprof-dlopen.so"):
        shutil.copyfile(musl / "lib" / library, beside / library, follow_symlinks=True)
    strip(tree, epoch)
    (tree / "bin").mkdir(exist_ok=True)
    shutil.copyfile(command, tree / "bin/memprof")
    for program in (tree / "bin/memprof", *tree.rglob("*.so*")):
        if not program.is_symlink():
            program.chmod(0o755)
    help_pages.write(tree / "bin/memprof", tree / "share")
    parts.write_licenses(tree / "share/doc/memprof/licenses")
    packages.set_modes(tree)
    names_no_path(tree)
    return tree


def names_no_path(tree):
    """An error if a file names a folder of this machine: it would be another file elsewhere."""
    root = str(builds.ROOT).encode()
    for path in tree.rglob("*"):
        if path.is_file() and not path.is_symlink() and root in path.read_bytes():
            raise builds.ReleaseError(f"{path} has {builds.ROOT} in it")
