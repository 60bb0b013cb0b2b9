#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What depends on the processor is in a folder of src/cpu, one for each, which lies over src/ (src/README.md): nothing else
asks which one it is compiled for, and each folder has the same headers.

usage: processors.py ROOT         prints each violation, exits 1 if there is one
       processors.py --self-test  plants violations and checks that each is found
"""
import pathlib
import re
import sys
import tempfile

from check_main import check_main

ROOM = "src/cpu"
MACRO = re.compile(r"\b(__(x86_64|amd64|i386|aarch64|arm64|arm)(__)?|_M_(X64|AMD64|IX86|ARM64|ARM))\b")
ROOMS = ["src", "capi", "tools", "ffi", "bench", "fuzz"]  # tests say themselves what they need
SUFFIXES = {".h", ".hh", ".c", ".cc", ".S", ".inc"}
# File -> why it asks. An entry that is not needed any more is an error.
ALLOWED = {"capi/include/memprof.h": "programs compile it, without our build"}
SET = "cmake/MemprofTargets.cmake"  # where a folder is chosen


def over(path):
    """Where a file of a processor's folder lies over src/ (tools/ for the command's); other files are where they are."""
    found = re.match(ROOM + r"/\w+/(.+)", path)
    if not found:
        return path
    rest = found.group(1)
    return f"src/cpu/{rest[4:]}" if rest.startswith("cpu/") else f"tools/{rest}" if rest.startswith("memprof/") else f"src/{rest}"


def questions(root, allowed):
    """Lines that ask for the processor, and exceptions that are not needed."""
    found, asking = [], set()
    for path in (path for room in ROOMS for path in sorted((root / room).rglob("*"))):
        name = path.relative_to(root).as_posix()
        if path.suffix not in SUFFIXES or name.startswith(ROOM + "/") or "node_modules" in path.parts:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            macro = MACRO.search(line.partition("//")[0])
            if macro:
                asking.add(name)
                if name not in allowed:
                    found.append(f"{name}:{number}: {macro[0]}: the processor is asked for outside {ROOM}")
    return found + [f"{name} is on the list of exceptions and does not ask" for name in allowed if name not in asking]


def check(root, allowed=None):
    """Returns (number of files in the folders, what is wrong)."""
    found = questions(root, ALLOWED if allowed is None else allowed)
    files = sorted(path.relative_to(root).as_posix() for path in (root / ROOM).rglob("*") if path.suffix in SUFFIXES)
    found += [f"{path}: no processor's; it belongs into a folder of one" for path in files if path.count("/") < 4]
    files = [path for path in files if path.count("/") >= 4]
    processors = sorted({path.split("/")[2] for path in files})
    headers = {path.split("/", 3)[3] for path in files if path.endswith(".h")}
    for one in processors:
        found += [f"{ROOM}/{one} has no {header}, which other processors have" for header in sorted(headers)
                  if not (root / ROOM / one / header).exists()]
        if f"set(MEMPROF_CPU {one})" not in (root / SET).read_text():
            found.append(f"{SET} never chooses {ROOM}/{one}")
    found += [f"{path}: {over(path)} is there, too" for path in files if (root / over(path)).exists()]
    return len(files), found


GOOD = {SET: "set(MEMPROF_CPU a)\nset(MEMPROF_CPU b)\n", "src/cpu/a/cpu/facts.h": "", "src/cpu/b/cpu/facts.h": "#if defined(__x86_64__)",
        "src/cpu/a/core/x.cc": "", "src/core/y.cc": "// not __aarch64__\n#include \"cpu/facts.h\"", "tests/core/y_test.cc": "#ifdef __x86_64__"}
PLANTED = [  # path, text, how many violations
    ("src/core/x.h", "#ifdef __x86_64__", 1),
    ("tools/memprof/x.cc", "#if 1 || defined(__aarch64__)", 1),
    ("bench/x.c", "#if defined(_M_X64)", 1),
    ("src/cpu/a/core/z.h", "", 1),  # b has none
    ("src/cpu/x.h", "", 1),
    ("src/core/x.cc", "", 1),  # which a has, too
    ("src/cpu/c/cpu/facts.h", "", 1),  # never chosen
    ("src/cpu/a/memprof/x.cc", "#ifdef __x86_64__", 0),
    ("capi/asks.h", "#ifdef __x86_64__", 0),
]


def self_test():
    for path, text, expected in [*PLANTED, ("README.md", "", 0)]:
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for file, content in {**GOOD, path: text}.items():
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).write_text(content)
            found = check(root, {"capi/asks.h": "a reason"} if path == "capi/asks.h" else {})[1]
            assert len(found) == expected, (path, found)
            stale = check(root, {"src/core/y.cc": "a reason"})[1]
            assert any("does not ask" in line for line in stale), stale
    assert over("src/cpu/a/memprof/x.cc") == "tools/memprof/x.cc" and over("src/cpu/a/core/x.h") == "src/core/x.h"
    assert over("src/cpu/a/cpu/x.h") == "src/cpu/x.h" and over("src/core/x.h") == "src/core/x.h"
    print(f"{sum(expected > 0 for *_, expected in PLANTED)} planted violations found")


if __name__ == "__main__":
    sys.exit(check_main(__doc__, check, self_test, fine=lambda count: f"{count} files are of a processor, and no other asks for one",
                        min_count=10, counted="files"))
