#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A file that can be read in one sitting, a folder that can be seen at a glance: at most 400 lines, at most 20 sources.

usage: sizes.py ROOT         names each source and folder that is larger, exits 1 if there is one
       sizes.py --self-test  plants a long file, a full folder, stale exceptions, and a good tree
"""
import pathlib
import sys
import tempfile

from check_main import check_main

MOST_LINES = 400
MOST_SOURCES = 20
SOURCES = {".c", ".cc", ".h", ".S", ".py", ".ts", ".js", ".mjs", ".sh"}
ROOMS = ("bench", "capi", "examples", "ffi", "fuzz", "src", "tests", "tools", "web")
FOREIGN = {"node_modules", "built", "prebuilds", "dist", "build"}
ONE_EACH = "a file each, which are alike: it is read by name"
# File or folder -> why it is larger. An entry that is not needed any more is an error.
EXCEPTIONS = {
    "capi/include/memprof.h": "the one public header: all that a user of the C interface reads, from top to bottom",
    "dev": "the one command of this repository: what it can do is read in one place",
    "bench": "a program or a script for each benchmark: " + ONE_EACH,
    "tests/checks": "a script for each check: " + ONE_EACH,
    "tests/e2e": ONE_EACH,
    "tests/e2e/programs": "what e2e runs: " + ONE_EACH,
    "tools/memprof/commands": "a file and its header for each command: " + ONE_EACH,
}


def is_source(path):
    if path.suffix:
        return path.suffix in SOURCES
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def check(root, exceptions):
    """Returns (number of sources, what is wrong)."""
    lines, folders = {}, {}
    for room in (*ROOMS, "dev"):
        for path in [root / room, *(root / room).rglob("*")]:
            relative = path.relative_to(root)
            if path.is_file() and is_source(path) and not FOREIGN & set(relative.parts):
                lines[relative.as_posix()] = len(path.read_bytes().splitlines())
                folder = relative.parent.as_posix()
                folders[folder] = folders.get(folder, 0) + 1
    large = {path: f"{path} has {count} lines, more than {MOST_LINES}" for path, count in lines.items() if count > MOST_LINES}
    large |= {path: f"{path} has {count} sources beside each other, more than {MOST_SOURCES}"
              for path, count in folders.items() if count > MOST_SOURCES}
    wrong = [text for path, text in sorted(large.items()) if path not in exceptions]
    wrong += [f"{path} is small enough: take it off the list of exceptions" for path in exceptions if path not in large]
    return len(lines), wrong


def self_test():
    def write(root, name, lines=3):
        path = pathlib.Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("// a line\n" * lines)

    with tempfile.TemporaryDirectory() as root:
        write(root, "src/core/long.cc", MOST_LINES)
        for i in range(MOST_SOURCES - 1):
            write(root, f"src/core/x{i}.h")
        write(root, "src/core/deeper/y.cc")
        write(root, "web/node_modules/z.js", 10000)
        count, wrong = check(pathlib.Path(root), {})
        assert (count, wrong) == (MOST_SOURCES + 1, []), (count, wrong)
        write(root, "src/core/long.cc", MOST_LINES + 1)
        write(root, "src/core/one_more.cc")
        write(root, "bench/data", 1000)
        pathlib.Path(root, "bench/run").write_text("#!/bin/sh\n" * 1000)
        _, wrong = check(pathlib.Path(root), {})
        assert wrong.pop(0) == "bench/run has 1000 lines, more than 400", wrong
        assert len(wrong) == 2 and wrong[0].startswith("src/core has 21") and wrong[1].startswith("src/core/long.cc has 401"), wrong
        exceptions = {"bench/run": "", "src/core": "", "src/core/long.cc": ""}
        assert check(pathlib.Path(root), exceptions)[1] == []
        _, wrong = check(pathlib.Path(root), exceptions | {"src/core/deeper": ""})
        assert wrong == ["src/core/deeper is small enough: take it off the list of exceptions"], wrong
    print("3 planted sizes and a stale exception were found")


if __name__ == "__main__":
    sys.exit(check_main(__doc__, lambda root: check(root, EXCEPTIONS), self_test,
                        fine=lambda count: f"{count} sources are of a size; {len(EXCEPTIONS)} places have a reason to be larger", min_count=100))
