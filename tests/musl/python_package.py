#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package in a Python of musl: the wheel as a release has it, and the package's own tests.

usage: python_package.py FOLDER     makes the interpreter (musl_python.py), the wheel and the environment there

Needs the wheel for tests (build/wheel/dist, which ./dev musl-python makes first) and a package index. Status 77 where zig is not to
be had.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in ("tests/ports", "tools/release"):
    sys.path.insert(0, str(ROOT / folder))
sys.dont_write_bytecode = True
import builds  # noqa: E402, pylint: disable=wrong-import-position
import musl_python  # noqa: E402, pylint: disable=wrong-import-position
import musl_wheel  # noqa: E402, pylint: disable=wrong-import-position
import ports  # noqa: E402, pylint: disable=wrong-import-position

PROCESSOR = "x86_64"
NEEDED = ("cffi", "pytest")
# Its console script comes from a pip that the interpreter runs; this one has none.
LEFT_OUT = "test_the_console_script"


def wheel(folder):
    """As make_release makes it, of what it is made of."""
    jobs, epoch = len(os.sched_getaffinity(0)), int(time.time())
    glibc, musl = builds.libraries(PROCESSOR, jobs, epoch)
    command = builds.command(glibc, musl, jobs, epoch)
    library = folder / "libmemprof.so"
    builds.run(["strip", "--strip-all", "-o", library, musl / "lib/libmemprof-dlopen.so"], folder / "wheel.log", epoch)
    for_glibc = next((ROOT / "build/wheel/dist").glob(f"libmemprof-*manylinux*_{PROCESSOR}.whl"))
    return musl_wheel.make(for_glibc, PROCESSOR, library, command, folder, epoch)


def install(python, made, folder):
    """With the pip of this machine's Python, told which wheels that one takes."""
    tools = folder / "tools"
    if not (tools / "bin/pip").exists():
        subprocess.run([sys.executable, "-m", "venv", tools], check=True)
    version = subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout.strip()
    site = folder / f"usr/lib/python{version}/site-packages"
    shutil.rmtree(site)
    platform = f"{musl_wheel.PLATFORM}_{PROCESSOR}"
    subprocess.run([tools / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--target", site, "--platform", platform,
                    "--implementation", "cp", "--python-version", version, "--only-binary=:all:", made, *NEEDED], check=True)


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1]).resolve()
    try:
        python = musl_python.build(folder)
        made = wheel(folder)
    except musl_python.NotToBeHad as error:
        print(f"skipped: {error}")
        return ports.SKIPPED
    except (builds.ReleaseError, musl_python.BuildError) as error:
        print(f"python_package: {error}", file=sys.stderr)
        return 1
    print(f"{made.name}: {made.stat().st_size / (1 << 20):.2f} MiB")
    install(python, made, folder)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMPROF_")}
    tests = ROOT / "ffi/python/tests"
    return subprocess.run([python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-k", f"not {LEFT_OUT}", tests],
                          cwd=folder, env={**kept, "PYTHONDONTWRITEBYTECODE": "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
