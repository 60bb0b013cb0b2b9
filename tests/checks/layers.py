#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: the table of the architecture, and no OS outside src/platform.

usage: layers.py SOURCE_FOLDER     prints each violation as file:line, exits 1 if there is one
       layers.py --self-test       plants violations and checks that each is found
"""
import pathlib
import re
import sys
import tempfile

# Room -> folders (as written in an include) that it may include; the first match by path counts.
LAYERS = [
    ("src/format", ["format/"]),
    ("src/core", ["core/", "format/", "platform/platform.h"]),
    ("src/unwind", ["unwind/", "core/", "format/", "platform/platform.h"]),
    ("src/runtime", ["runtime/", "core/", "format/", "platform/platform.h"]),
    ("src/platform", ["platform/", "core/", "format/", "unwind/", "runtime/"]),
    ("src/dump", ["dump/", "core/", "format/", "platform/platform.h", "memprof.h"]),
    ("src/profile", ["profile/", "format/"]),
    ("capi", ["core/", "dump/", "platform/platform.h", "memprof.h"]),
    ("tools", ["memprof/", "profile/", "format/", "memprof.h"]),  # its own headers are written from tools/
    ("ffi", ["memprof.h"]),
]

# The C and C++ standard libraries as far as an OS is not needed for them (no <thread>, <mutex>, <filesystem>).
PURE = set("""algorithm array atomic cassert cerrno cfloat charconv cinttypes climits cmath cstdarg cstddef cstdint
cstdlib cstring functional initializer_list iterator limits memory new numeric optional string_view tuple
type_traits utility stddef.h stdint.h string.h""".split())
# The engine itself does without even those that allocate.
ENGINE = ["src/format", "src/core", "src/unwind", "src/runtime", "src/dump", "capi"]

OS_HEADER = re.compile(
    r"(sys|linux|asm|asm-generic|bits|mach|mach-o|malloc|libkern|gnu|net|netinet|arpa)/|"
    r"(unistd|pthread|dlfcn|link|elf|fcntl|sched|signal|ucontext|poll|termios|spawn|dirent|malloc|features|"
    r"execinfo|syscall|pwd|semaphore|windows|winternl|psapi|dbghelp|crtdbg|process|io)\.h$", re.I)
# The command starts and looks at processes, names come from files, a file is replaced as a whole, and a profile is read by
# descriptor: these use POSIX, never #ifdef.
POSIX_ALLOWED = ["tools", "src/profile/symbolize", "src/profile/files", "src/profile/pprof/pprof_reader.cc"]

OS_MACRO = re.compile(
    r"\b(_?_?linux_?_?|__gnu_linux__|__APPLE__|__MACH__|TARGET_OS_\w+|_?_?WIN(32|64)(__)?|_WIN(32|64)|_MSC_VER|"
    r"__ANDROID__|__FreeBSD__|__OpenBSD__|__NetBSD__|__GLIBC__|__MINGW(32|64)__|__CYGWIN__|__unix__|__sun)\b")
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITION = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|elifdef)\b(.*)")
SUFFIXES = {".h", ".hh", ".c", ".cc", ".S", ".inc"}


def below(path, folder):
    return path == folder or path.startswith(folder + "/")


def violations_of_line(path, line):
    """What is wrong with one line of the file `path` (relative to the root), as a list of sentences."""
    found = []
    allowed = next((a for room, a in LAYERS if below(path, room)), None)
    if allowed is None:
        return found
    platform = below(path, "src/platform")
    condition = CONDITION.match(line)
    if condition and not platform and OS_MACRO.search(condition.group(2)):
        found.append("an OS is asked for outside src/platform")
    if "__has_include" in line and not platform:
        found.append("__has_include outside src/platform")
    include = INCLUDE.match(line)
    if not include:
        return found
    quote, header = include.groups()
    if header.startswith(".") or "/../" in header:
        found.append(f"{header}: includes are written from src/")
    elif quote == '"':
        if not any(header == a or header.startswith(a) for a in allowed if a):
            found.append(f"{header}: this folder may include {', '.join(allowed)} only")
    elif header == "memprof.h" or header.split("/")[0] in ("core", "profile", "platform", "unwind", "runtime"):
        found.append(f"<{header}>: our own headers are included with quotes")
    elif not platform:
        if OS_HEADER.match(header) and not any(below(path, p) for p in POSIX_ALLOWED):
            found.append(f"<{header}>: an OS header outside src/platform")
        elif any(below(path, room) for room in ENGINE) and header not in PURE:
            found.append(f"<{header}>: not for code of the profiled process outside src/platform")
    return found


def check(root):
    """Returns (number of files looked at, violations)."""
    files = 0
    found = []
    for room in sorted({room.split("/")[0] for room, _ in LAYERS}):
        for path in sorted((root / room).rglob("*")):
            if path.suffix not in SUFFIXES or "node_modules" in path.parts:
                continue
            files += 1
            relative = path.relative_to(root).as_posix()
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                found += [f"{relative}:{number}: {text}" for text in violations_of_line(relative, line)]
    return files, found


PLANTED = [
    ("src/core/x.cc", '#include "platform/linux/x.h"'),
    ("src/core/x.cc", '#include "profile/model/model.h"'),
    ("src/core/x.cc", "#include <unistd.h>"),
    ("src/core/x.cc", "#include <sys/mman.h>"),
    ("src/core/x.h", "#include <vector>"),
    ("src/core/x.h", '#include "../unwind/x.h"'),
    ("src/core/x.cc", "#ifdef __linux__"),
    ("src/core/x.cc", "# if defined(_WIN32) || 1"),
    ("src/unwind/x.cc", '#include "platform/linux/x.h"'),
    ("src/unwind/x.cc", "#include <dlfcn.h>"),
    ("src/platform/linux/x.cc", '#include "profile/model/model.h"'),
    ("src/platform/linux/x.cc", '#include "memprof.h"'),
    ("src/profile/x.cc", '#include "core/tables/arena.h"'),
    ("src/profile/x.cc", '#include "memprof.h"'),
    ("src/profile/x.cc", "#include <unistd.h>"),
    ("src/profile/x.cc", "#elif defined(__APPLE__)"),
    ("src/format/x.cc", "#include <string>"),
    ("src/dump/x.cc", "#include <string>"),
    ("capi/x.cc", '#include "platform/linux/x.h"'),
    ("capi/x.cc", '#include "unwind/x.h"'),
    ("tools/memprof/x.cc", '#include "core/tables/arena.h"'),
    ("tools/memprof/x.cc", "#ifndef __linux__"),
    ("ffi/python/x.c", '#include "profile/model/model.h"'),
]
INNOCENT = [
    ("src/core/x.cc", '#include "core/tables/arena.h"'),
    ("src/core/x.cc", "#include <atomic>"),
    ("src/unwind/x.cc", '#include "platform/platform.h"'),
    ("src/platform/linux/x.cc", "#include <sys/mman.h>"),
    ("src/platform/linux/x.cc", "#ifdef __linux__"),
    ("src/profile/x.cc", "#include <vector>"),
    ("src/profile/x.cc", "#include <protozero/pbf_reader.hpp>"),
    ("src/profile/symbolize/x.cc", "#include <unistd.h>"),
    ("capi/memprof.cc", '#include "memprof.h"'),
    ("tools/memprof/x.cc", "#include <sys/wait.h>"),
    ("tests/core/x_test.cc", '#include "profile/model/model.h"'),
]


def self_test():
    for planted, expected in ((PLANTED, 1), (INNOCENT, 0)):
        for path, line in planted:
            with tempfile.TemporaryDirectory() as name:
                file = pathlib.Path(name, path)
                file.parent.mkdir(parents=True)
                file.write_text(f"// a file\n{line}\n")
                _, found = check(pathlib.Path(name))
                if len(found) != expected:
                    sys.exit(f"{path}: {line}: {len(found)} violations, expected {expected}: {found}")
    print(f"{len(PLANTED)} planted violations found, {len(INNOCENT)} innocent lines passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    files, found = check(pathlib.Path(sys.argv[1]))
    if files < 5:
        sys.exit(f"only {files} files found below {sys.argv[1]}: the check looks at nothing")
    print("\n".join(found) or f"{files} files keep the layers")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
