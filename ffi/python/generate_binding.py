# SPDX-License-Identifier: Apache-2.0
"""Makes the declarations of the C API for cffi out of memprof.h, when the wheel is built.

usage: generate_binding.py memprof.h OUT.py

OUT.py is what cffi calls an out-of-line module in ABI mode: Python only, the same for every version of it.
"""
import pathlib
import re
import sys

import cffi


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", " ", text, flags=re.S))


def plain(header: str) -> str:
    """What a compiler that is neither C++ nor of GNU's kind sees of the header: no inline function, no attribute."""
    lines: list[str] = []
    seen: list[bool] = []  # for each open condition: is this branch the one that is read?
    for line in without_comments(header).replace("\\\n", " ").splitlines():
        directive = re.match(r"\s*#\s*(\w+)\s*(.*)", line)
        if directive is None:
            if all(seen):
                lines.append(line)
            continue
        word, rest = directive.groups()
        if word in ("if", "ifdef", "ifndef"):
            seen.append(word == "ifndef")  # __cplusplus, __GNUC__ and MEMPROF_OPTIONAL are not there
        elif word == "elif":
            seen[-1] = False
        elif word == "else":
            seen[-1] = True
        elif word == "endif":
            seen.pop()
        elif word == "define" and all(seen):
            number = re.fullmatch(r"(MEMPROF_\w+)\s+(\d+|0x[0-9a-fA-F]+)u?\s*", rest)
            if number:
                lines.append(f"#define {number.group(1)} {number.group(2)}")
    if seen:
        raise SystemExit("generate_binding.py: an #if of the header is not closed")
    return re.sub(r"\bMEMPROF_API\b", "", "\n".join(lines))


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    header, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    ffi = cffi.FFI()
    ffi.cdef(plain(header.read_text()))
    ffi.set_source(out.stem, None)
    ffi.emit_python_code(str(out))
    if "memprof_snapshot_records" not in out.read_text():
        raise SystemExit(f"generate_binding.py: {header} has not the functions that are expected of it")


if __name__ == "__main__":
    main()
