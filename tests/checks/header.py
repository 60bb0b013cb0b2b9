#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""memprof.h compiles alone, as C99, C11, C17, C++11 and C++17, strictly, with gcc and clang, in all its forms.

usage: header.py HEADER COMPILER_PAIR...   a pair is CC,CXX (gcc,g++); one that is not installed is an error
       header.py --self-test COMPILER_PAIR...
"""
import itertools
import pathlib
import subprocess
import sys
import tempfile

FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-pedantic-errors", "-Werror",
         "-fsyntax-only"]
MODES = [(0, "c", "c99"), (0, "c", "c11"), (0, "c", "c17"), (1, "c++", "c++11"), (1, "c++", "c++17")]
# As most programs, where the library is optional, with the count by its address, and in object files that are not ELF.
FORMS = [[], ["-DMEMPROF_OPTIONAL"], ["-DMEMPROF_ABI1_BY_ADDRESS"], ["-U__ELF__"]]
C_ONLY = ["-Wstrict-prototypes", "-Wmissing-prototypes"]


def check(header, pairs):
    """Returns the errors, one text for each compilation that failed."""
    errors = []
    with tempfile.TemporaryDirectory() as name:
        for pair in pairs:
            for (index, language, standard), form in itertools.product(MODES, FORMS):
                # Included twice, by a file with nothing else: it needs no other header and guards itself.
                source = pathlib.Path(name, "alone." + ("c" if language == "c" else "cc"))
                source.write_text(f'#include "{header}"\n' * 2 + "extern int unused;\n")
                command = [pair.split(",")[index], *FLAGS, f"-std={standard}", *form, *(C_ONLY if index == 0 else []),
                           str(source)]
                done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
                if done.returncode != 0:
                    errors.append(f"{' '.join(command)}\n{done.stderr}")
    return errors


PLANTED = [
    "bool f(void);",                              # needs a header in C
    "size_t f(void);",                            # needs <stddef.h>
    "typedef struct s {} s;",                     # an empty struct is no ISO C
    "typedef struct s { int a; struct { int b; } ; int c[0]; } s;",
    "class C {};",                                # C++ in a C header
    "int f();",                                   # no prototype in C
    "#ifdef __cplusplus\nint* p = 0; int f(int new);\n#endif",
    "#if UNDEFINED_MACRO\n#endif",
    "int variable = 1;",                          # a definition, twice: no include guard
]
INNOCENT = "#ifndef X\n#define X\n#include <stdint.h>\nuint32_t f(void);\n#endif\n"


def self_test(pairs):
    with tempfile.TemporaryDirectory() as name:
        header = pathlib.Path(name, "header.h")
        for pair in pairs:
            for text in PLANTED:
                header.write_text(text + "\n")
                if not check(header, [pair]):
                    sys.exit(f"{pair} accepted a header with: {text}")
            header.write_text(INNOCENT)
            errors = check(header, [pair])
            if errors:
                sys.exit("an innocent header was refused:\n" + "\n".join(errors))
    print(f"{len(PLANTED)} planted violations were found by {', '.join(pairs)}")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if sys.argv[1] == "--self-test":
        return self_test(sys.argv[2:])
    errors = check(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:])
    print("\n".join(errors) or f"{sys.argv[1]} compiles alone with {', '.join(sys.argv[2:])}")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
