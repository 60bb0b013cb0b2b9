# SPDX-License-Identifier: Apache-2.0
"""Makes archives and packages of a staged tree: the same tree gives the same bytes, whenever and wherever."""
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import tarfile

import builds

TEMPLATES = pathlib.Path(__file__).with_name("templates")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # as Debian calls them


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def set_modes(tree):
    """Whatever the umask was."""
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def set_times(tree, epoch):
    """Packers only take what is newer for the time of the sources; a checkout's files may be older."""
    for path in (tree, *tree.rglob("*")):
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def write_whole(out, content):
    part = out.with_name(out.name + ".part")
    part.write_bytes(content)
    part.rename(out)


def tar(tree, top, out, epoch):
    """A .tar.gz of the tree, below the folder `top`."""

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = epoch
        return entry

    plain_tar = io.BytesIO()
    with tarfile.open(fileobj=plain_tar, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in (tree, *sorted(tree.rglob("*"))):
            archive.add(path, arcname=str(pathlib.PurePath(top) / path.relative_to(tree)), recursive=False, filter=plain)
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", compresslevel=9, mtime=0) as stream:
        stream.write(plain_tar.getvalue())
    write_whole(out, packed.getvalue())


def fill(name, values):
    """A template, with @NAME@ replaced."""
    text = (TEMPLATES / f"{name}.in").read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    if re.search(r"@[A-Z0-9]+@", text):
        raise builds.ReleaseError(f"{name}.in has a name that nothing replaces")
    return text


def deb(tree, version, processor, out, epoch):
    """`tree` is what lies below /usr."""
    root = builds.FOLDER / "deb"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(tree, root / "usr", symlinks=True)
    for page in (root / "usr/share/man").rglob("*.1"):
        page.with_suffix(".1.gz").write_bytes(gzip.compress(page.read_bytes(), 9, mtime=0))
        page.unlink()
    control = root / "DEBIAN"
    control.mkdir()
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink()) // 1024
    (control / "control").write_text(fill("control", {"VERSION": version, "ARCHITECTURE": ARCHITECTURES[processor], "SIZE": str(size)}))
    files = sorted(path for path in (root / "usr").rglob("*") if path.is_file() and not path.is_symlink())
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n" for path in files]
    (control / "md5sums").write_text("".join(sums))
    (control / "triggers").write_text("activate-noawait ldconfig\n")
    set_modes(root)
    set_times(root, epoch)
    builds.run(["dpkg-deb", "--build", "--root-owner-group", "--uniform-compression", "--threads-max=1", "-Zxz", root, out], builds.FOLDER / "deb.log", epoch)


def rpm(tree, version, processor, out, epoch):
    """`tree` is what lies below /usr, with lib64."""
    top = builds.FOLDER / "rpm"
    shutil.rmtree(top, ignore_errors=True)
    staged = top / "staged"
    shutil.copytree(tree, staged / "usr", symlinks=True)
    set_modes(staged)
    set_times(staged, epoch)
    files = [f"/{path.relative_to(staged)}" for path in sorted(staged.rglob("*")) if path.is_symlink() or path.is_file()]
    files = [f"{name}*" if "/man/" in name else name for name in files]  # which rpm may compress
    spec = top / "memprof.spec"
    spec.write_text(fill("memprof.spec", {"VERSION": version, "STAGED": str(staged), "FILES": "\n".join(files)}))
    builds.run(["rpmbuild", "-bb", "--target", f"{processor}-linux", "--define", f"_topdir {top}", "--define", "_buildhost localhost",
                "--define", "use_source_date_epoch_as_buildtime 1", "--define", "clamp_mtime_to_source_date_epoch 1",
                "--define", "_build_id_links none", "--define", "_binary_payload w9.gzdio", spec], builds.FOLDER / "rpm.log", epoch)
    write_whole(out, next((top / "RPMS").rglob("*.rpm")).read_bytes())
