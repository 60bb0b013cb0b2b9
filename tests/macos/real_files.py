# SPDX-License-Identifier: Apache-2.0
"""Real Mach-O files from the package index, and profiles that name addresses in them, written without our own sources."""
import pathlib
import subprocess
import sys
import zipfile

import macos

REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")
PLATFORMS = {"memray": "macosx_11_0_arm64", "numpy": "macosx_10_9_x86_64"}


def fetch(folder):
    """Unpacks the wheels there, once: (paths of Mach-O files, None), or (None, why they are not to be had)."""
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "requirements.txt"
    if not done.exists() or done.read_text() != REQUIREMENTS.read_text():
        for line in filter(lambda text: not text.startswith("#"), REQUIREMENTS.read_text().splitlines()):
            one = folder / "one.txt"
            one.write_text(line + "\n")
            said = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
                                   "--require-hashes", "--python-version", "311", "--platform", PLATFORMS[line.split("==")[0]], "-d", folder,
                                   "-r", one], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if "DO NOT MATCH THE HASHES" in said.stdout:
                raise AssertionError(said.stdout)
            if said.returncode:
                return None, f"real files are not to be had: {(said.stdout.strip().splitlines() or ['?'])[-1]}"
        for wheel in folder.glob("*.whl"):
            with zipfile.ZipFile(wheel) as packed:
                packed.extractall(folder / wheel.stem)
        done.write_text(REQUIREMENTS.read_text())
    files = [path for pattern in ("*.so", "*.dylib") for path in sorted(folder.rglob(pattern)) if path.read_bytes()[:4] == b"\xcf\xfa\xed\xfe"]
    return files, None


def uuid_of(path):
    said = subprocess.run([macos.llvm("llvm-objdump"), "--macho", "--private-headers", str(path)], stdout=subprocess.PIPE, text=True, check=True)
    return next(line.split()[1] for line in said.stdout.splitlines() if line.strip().startswith("uuid ")).replace("-", "").lower()


def symbols_of(path):
    """Address -> names of functions there, by llvm-nm; C names without their underscore."""
    said = subprocess.run([macos.llvm("llvm-nm"), "-n", "--defined-only", str(path)], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {}
    for address, kind, name in (line.split(maxsplit=2) for line in said.splitlines()):
        if kind in "tT" and not name.startswith("__mh_"):
            found.setdefault(int(address, 16), set()).add(name.removeprefix("_"))
    return found


def _number(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number, value):
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    return _number(number << 3 | 2) + _number(len(value)) + value


def write_profile(path, file, build_id, addresses):
    """A pprof file with a sample for each address of `file`, which lies at its own addresses."""
    strings = [b"", b"alloc_space", b"bytes", str(file).encode(), build_id.encode()]
    out = _field(1, _field(1, 1) + _field(2, 2))
    out += _field(3, _field(1, 1) + _field(2, 0) + _field(3, 1 << 40) + _field(5, 3) + _field(6, 4))
    for number, address in enumerate(addresses, 1):
        out += _field(4, _field(1, number) + _field(2, 1) + _field(3, address))
        out += _field(2, _field(1, number) + _field(2, 1))
    path.write_bytes(out + b"".join(_field(6, text) for text in strings))
