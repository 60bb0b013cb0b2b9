# SPDX-License-Identifier: Apache-2.0
"""The list of system calls in tools/memprof/attach/linux/library_calls.h, as tests read it, and numbers of calls on x86-64."""
import pathlib
import re

HEADER = pathlib.Path(__file__).resolve().parents[2] / "tools/memprof/attach/linux/library_calls.h"
UNISTD = ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h")

NUMBERS = {name: int(number)
           for path in UNISTD if pathlib.Path(path).exists()
           for name, number in re.findall(r"#define __NR_(\w+) (\d+)", pathlib.Path(path).read_text())}
NAMES = {number: name for name, number in NUMBERS.items()}

# [(number, name, [(index, value)])]; those of other processors have no number here.
LISTED = [(NUMBERS[name], name, [(int(index), int(value, 0)) for index, value in re.findall(r"\{(\d), (\w+)\}", rest)])
          for name, rest in re.findall(r'\{SYS_\w+, "(\w+)"(.*)\},', HEADER.read_text()) if name in NUMBERS and name != "readlinkat"]
CALLS = sorted({(name, number) for number, name, _ in LISTED})


def parse(line):
    number, *arguments = line.split()
    return int(number), [int(argument, 16) for argument in arguments]


def is_listed(call):
    number, arguments = call
    return any(number == listed and all(arguments[index] & 0xffffffff == value for index, value in wanted)
               for listed, _, wanted in LISTED)


def shown(call):
    number, arguments = call
    return f"{NAMES.get(number, number)}({', '.join(f'{argument:#x}' for argument in arguments[:4])}, ...)"
