#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/style.md wants written in another way ("instead of" in its tables of comments, messages and names) stands
nowhere in the sources, also where it goes over the end of a line.

usage: words.py ROOT         prints each phrase as file:line, exits 1 if there is one
       words.py --self-test  plants phrases, and what only looks like one
"""
import pathlib
import re
import sys
import tempfile

from check_main import check_main

ROOMS = ("src", "capi", "tools", "ffi/node", "ffi/python/memprof", "tests", "fuzz", "bench")
SKIPPED = "tests/checks/"  # they plant errors
SUFFIXES = {".h", ".cc", ".c"}
ROW = re.compile(r"^\| (?!instead of)(.+?) \| .+ \|$")
# Rows that are about a kind of name, not about a phrase.
KINDS = {"`size`, `time`", "`check`", "`most`, `least` beside `max`, `min`"}
# Of that kind: what must be `max` or `min`.
MOST = re.compile(r"\bk(?:Most|Least)[A-Z]\w*|\b(?:most|least)_\w+")
LINE_END = r"\s*(?:\n\s*(?://+|\*)?\s*|\s)"  # between two words: a space, or the next line of a comment


def phrases(style):
    """The phrases to look for, as patterns: of `a: b` the part before the colon."""
    found = []
    for row in map(ROW.match, style.splitlines()):
        if row and row[1] not in KINDS:
            words = row[1].strip("`").split(":")[0].split()
            found.append(re.compile(r"(?<!\w)" + LINE_END.join(map(re.escape, words)) + r"(?!\w)"))
    return found


def in_text(text, patterns):
    """(line, what) for each phrase in it."""
    found = [(text.count("\n", 0, m.start()) + 1, " ".join(m[0].replace("//", " ").split()))
             for pattern in [*patterns, MOST] for m in pattern.finditer(text)]
    return sorted(found)


def check(root):
    """Returns (number of files looked at, the phrases)."""
    patterns = phrases((root / "docs/style.md").read_text())
    files = [p for room in ROOMS for p in sorted((root / room).rglob("*"))
             if p.suffix in SUFFIXES and "node_modules" not in p.parts and not p.relative_to(root).as_posix().startswith(SKIPPED)]
    return len(files) if len(patterns) >= 5 else 0, [
        f"{p.relative_to(root)}:{line}: {what}: docs/style.md says what to write" for p in files
        for line, what in in_text(p.read_text(errors="replace"), patterns)]


STYLE = """| instead of | write |
|---|---|
| had before it is touched | committed before the first access |
| again and again: nothing is done twice | idempotent |
| `put_off` | `defer_tables` |
| which program? | no program given |
| it may be his | the file may belong to the user |
| `check` | a question |
"""
PLANTED = ["// memory is had before it is touched", "// what is had before\n// it is touched", "// again and again", "void put_off();",
           'fail("which program?");', "constexpr int kMostBytes = 1;", "int least_width;"]
INNOCENT = ["// it is committed before the first access", "bool check();", "// at most 4", "int input_offset;", "int innermost_frame;"]


def self_test():
    for text, expected in [(text, 1) for text in PLANTED] + [(text, 0) for text in INNOCENT]:
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / "docs").mkdir()
            (root / "src").mkdir()
            (root / "docs/style.md").write_text(STYLE)
            (root / "src/x.cc").write_text(f"{text}\n")
            count, found = check(root)
            if count != 1 or len(found) != expected:
                sys.exit(f"{text}: {found} in {count} files, expected {expected}")
    print(f"{len(PLANTED)} phrases found, {len(INNOCENT)} innocent lines passed")


if __name__ == "__main__":
    sys.exit(check_main(__doc__, check, self_test, lambda count: f"{count} files say it as docs/style.md does", min_count=100, counted="files"))
