#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No two types of one namespace have one name: a program that has both is wrong, and neither compiler nor linker says so.

usage: type_names.py ROOT         prints each type that is defined twice as file:line, exits 1 if there is one
       type_names.py --self-test  plants such types, and what only looks like one

Of types in headers, and of those in sources that are not in an unnamed namespace. What is defined in two folders of
systems or C libraries is one in each program.
"""
import collections
import pathlib
import re
import sys
import tempfile

from check_main import check_main

ROOMS = ("src", "capi", "tools")
SUFFIXES = {".h", ".cc"}
# Of these one is in a program.
ONE_OF = re.compile(r"platform/\w+/|tools/memprof/(host/\w+|windows|files_only|one_file)/|/libc/\w+/|/cpu/\w+/")
UNNAMED = re.compile(r"^namespace \{.*?^\}  // namespace$", re.DOTALL | re.MULTILINE)
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{$|^\}  // namespace ([\w:]+)$", re.MULTILINE)
TYPE = re.compile(r"^(?:class|struct|enum class|union) (?:alignas\([^)]*\) )?([A-Z]\w+)(?=\s|:[^:])[^;\n]*\{", re.MULTILINE)


def types_of(text):
    """(namespace, name, line) of each type that other files could have, too."""
    hidden = UNNAMED.sub(lambda m: "\n" * m[0].count("\n"), text)
    marks = [(m.start(), m[1] or "") for m in NAMESPACE.finditer(hidden)]
    for found in TYPE.finditer(hidden):
        within = [name for at, name in marks if at < found.start()]
        yield (within[-1] if within else ""), found[1], hidden.count("\n", 0, found.start()) + 1


def check(root):
    places = collections.defaultdict(list)
    count = 0
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix not in SUFFIXES or not path.is_file() or ONE_OF.search(name):
                continue
            count += 1
            for space, kind, line in types_of(path.read_text(errors="replace")):
                if name not in dict(places[space, kind]):  # two in one file are those of two processors
                    places[space, kind].append((name, line))
    wrong = [f"{name}:{line}: {space}::{kind} is another type in {places_of[0][0]}:{places_of[0][1]}"
             for (space, kind), places_of in sorted(places.items()) for name, line in places_of[1:]]
    return count, wrong


HEADER = "#pragma once\nnamespace memprof::cli {\n\nclass Target {\n};\n\n}  // namespace memprof::cli\n"
PLANTED = ["namespace memprof::cli {\nstruct Target {\n};\n}  // namespace memprof::cli\n",
           "namespace memprof::cli {\nenum class Target { kA };\n}  // namespace memprof::cli\n"]
INNOCENT = ["namespace memprof::cli {\nnamespace {\nstruct Target {\n};\n}  // namespace\n}  // namespace memprof::cli\n",
            "namespace memprof::cli {\nclass Target;\nstruct Page::Target {\n};\n}  // namespace memprof::cli\n",
            "namespace memprof::profile {\nclass Target {\n};\n}  // namespace memprof::profile\n"]


def self_test():
    for text, expected in [(text, 1) for text in PLANTED] + [(text, 0) for text in INNOCENT]:
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for path, content in (("tools/memprof/a/target.h", HEADER), ("tools/memprof/b/other.cc", text)):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content)
            if len(check(root)[1]) != expected:
                sys.exit(f"{text}: {check(root)[1]}, expected {expected}")
    print(f"{len(PLANTED)} types of one name found, {len(INNOCENT)} others passed")


if __name__ == "__main__":
    sys.exit(check_main(__doc__, check, self_test,
                        fine=lambda count: f"no two types of {count} files have one name", min_count=100, counted="files"))
