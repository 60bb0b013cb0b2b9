#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Comments name files that are there: of the project, by a path from its root, from src/, tests/ or tools/, from
their own folder or the one around it; and decisions by numbers that docs/decisions has.

usage: references.py ROOT         prints each dangling one as file:line, exits 1 if there is one
       references.py --self-test  plants dangling ones, and good ones
"""
import pathlib
import re
import sys
import tempfile

from check_main import check_main

ROOMS = ("src", "capi", "tools", "tests", "ffi", "fuzz", "bench", "cmake")
SKIPPED = "tests/checks/"  # they plant errors
SUFFIXES = {".h", ".cc", ".c", ".py", ".txt", ".cmake", ".map"}
COMMENT = re.compile(r"(?://|/\*|^ \*)(.*)")
SHELL_COMMENT = re.compile(r"#(.*)")
# A path with a folder and an ending of ours.
PATH = re.compile(r"(?<![\w./<*-])((?:(?:\.\./)+(?:[\w-]+/)*|(?:[a-z][\w-]*/)+)[\w-]+\.(?:h|cc|c|py|md|cmake|golden))\b(?![\w/*-])")
DECISION = re.compile(r"\bdecisions?[ /](\d{4})\b")
BASES = ("", "src", "src/cpu/x86_64", "tests", "tools", "capi/include", "ffi/python")
# Of systems and other programs.
FOREIGN = re.compile(r"sys/|linux/|asm/|elfutils/debuginfod\.h$|cpython/pymem\.h$|core/frame\.py$")


def dangling(root, path, text, decisions):
    found = []
    pattern = SHELL_COMMENT if path.suffix in (".py", ".txt", ".cmake") else COMMENT
    for number, line in enumerate(text.splitlines(), 1):
        comment = pattern.search(line)
        if comment is None or line.lstrip().startswith("#include"):
            continue
        for name in PATH.findall(comment.group(1)):
            if FOREIGN.match(name):
                continue
            places = [root / base / name for base in BASES] + [path.parent / name, path.parent.parent / name]
            inside = [p for p in places if root.resolve() in p.resolve().parents]
            if not any(p.exists() for p in inside):
                found.append(f"{path.relative_to(root)}:{number}: {name} is not there")
        found += [f"{path.relative_to(root)}:{number}: there is no decision {n}" for n in DECISION.findall(comment.group(1))
                  if n not in decisions]
    return found


def check(root):
    """Returns (number of files looked at, what is dangling)."""
    root = root.resolve()
    decisions = {p.name[:4] for p in (root / "docs/decisions").glob("*.md")}
    files = [p for room in ROOMS for p in sorted((root / room).rglob("*"))
             if p.suffix in SUFFIXES and p.is_file() and "node_modules" not in p.parts and not p.relative_to(root).as_posix().startswith(SKIPPED)]
    return len(files), [line for p in files for line in dangling(root, p, p.read_text(errors="replace"), decisions)]


PLANTED = ["// as in core/gone.h", "// ../shared/design/intervals.md derives them", "// (decision 0017)", "/* docs/gone.md */",
           "// see ../../outside.md"]
INNOCENT = ["// as in core/here.h, or src/core/here.h", "// decision 0001", '#include "core/gone.h"', "// <sys/gone.h>",
            "// docs/decisions/0001-one.md", "// pprof's profile.proto, linux/futex.h"]


def self_test():
    for line, expected in [(line, 1) for line in PLANTED] + [(line, 0) for line in INNOCENT]:
        with tempfile.TemporaryDirectory() as name:
            around = pathlib.Path(name)
            (around / "outside.md").touch()
            root = around / "project"
            for path in ("src/core/here.h", "docs/decisions/0001-one.md"):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).touch()
            (root / "src/core/x.cc").write_text(f"{line}\n")
            if len(check(root)[1]) != expected:
                sys.exit(f"{line}: {check(root)[1]}, expected {expected}")
    print(f"{len(PLANTED)} dangling references found, {len(INNOCENT)} innocent lines passed")


if __name__ == "__main__":
    sys.exit(check_main(__doc__, check, self_test,
                        fine=lambda count: f"the comments of {count} files name what is there", min_count=100, counted="files"))
