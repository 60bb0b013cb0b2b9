# SPDX-License-Identifier: Apache-2.0
"""The wheel for musl: that for glibc, with the library and the command exchanged. Its Python files are the same.

musl's dlopen takes only the library whose thread-local data is of the dynamic kind, so that is the one that `import memprof` loads.
The command is the one file, which carries the libraries that it preloads.
"""
import base64
import hashlib
import io
import pathlib
import time
import zipfile

import builds
import packages

PLATFORM = "musllinux_1_2"  # Alpine 3.13 and later
INIT, LIBRARY, COMMAND = "memprof/__init__.py", "memprof/_native/lib/libmemprof.so", "memprof/_native/bin/memprof"
TAG = "Tag: "


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def retagged(text, processor):
    """The text of WHEEL for musl."""
    lines = text.splitlines()
    kinds = {line[len(TAG):].rsplit("-", 1)[0] for line in lines if line.startswith(TAG)}
    return "\n".join([line for line in lines if line and not line.startswith(TAG)]
                     + [f"{TAG}{kind}-{PLATFORM}_{processor}" for kind in sorted(kinds)]) + "\n"


def make(wheel, processor, library, command, folder, epoch):
    """Writes it into `folder`; returns its path. `wheel`: that for glibc, with or without the command."""
    new = {LIBRARY: pathlib.Path(library).read_bytes(), COMMAND: pathlib.Path(command).read_bytes()}
    files, record = {}, None
    with zipfile.ZipFile(wheel) as old:
        for info in old.infolist():
            if info.filename.endswith("/"):
                continue
            data = old.read(info)
            if info.filename.endswith(".dist-info/WHEEL"):
                data = retagged(data.decode(), processor).encode()
            if info.filename.endswith(".dist-info/RECORD"):
                record = info.filename
            else:
                files[info.filename] = (data, info.external_attr)
    missing = [name for name in (INIT, LIBRARY) if name not in files] + ["RECORD"] * (record is None)
    if missing:
        raise builds.ReleaseError(f"{wheel} is no wheel of this package: {missing[0]} is missing")
    mode = files[LIBRARY][1]
    files.update({name: (data, mode) for name, data in new.items()})
    lines = "".join(record_line(name, data) for name, (data, _) in sorted(files.items()))
    files[record] = (f"{lines}{record},,\n".encode(), files[INIT][1])
    when = max(time.gmtime(epoch)[:6], (1980, 1, 1, 0, 0, 0))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as new_wheel:
        for each, (data, attributes) in files.items():
            info = zipfile.ZipInfo(each, when)
            info.external_attr = attributes
            info.create_system = 3  # Unix: the attributes are its modes
            new_wheel.writestr(info, data, zipfile.ZIP_DEFLATED, 9)
    name = pathlib.Path(wheel).name.split("-manylinux")[0]
    path = pathlib.Path(folder) / f"{name}-{PLATFORM}_{processor}.whl"
    packages.write_whole(path, content.getvalue())
    return path
