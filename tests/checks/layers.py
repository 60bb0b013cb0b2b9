#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: the table of the architecture, its ladders, no circle of files or folders, no OS outside src/platform.

usage: layers.py SOURCE_FOLDER              prints each violation as file:line, exits 1 if there is one
       layers.py --draw SOURCE_FOLDER       prints who includes whom: rooms, the highest first (src/README.md has it)
       layers.py --draw-dot SOURCE_FOLDER   the same of all folders, for Graphviz: ... | dot -Tsvg -o includes.svg
       layers.py --self-test                plants violations and checks that each is found
"""
import pathlib
import re
import sys
import tempfile

import ladder
from check_main import check_main
from processors import over

# The headers of the seam, not what lies in the folders of the systems.
SEAM = "platform/*.h"
# Room -> folders (as written in an include) that it may include; the first match by path counts.
LAYERS = [
    ("src/cpu", ["cpu/"]),  # of a processor's folder the rest lies over other rooms, whose rows it keeps (processors.py)
    ("src/format", ["format/"]),
    ("src/estimate", ["estimate/"]),
    ("src/resident", ["resident/", "format/"]),
    ("src/core", ["core/", "cpu/", "estimate/", "format/", SEAM]),
    ("src/unwind", ["unwind/", "core/", "cpu/", "format/", SEAM]),
    ("src/runtime", ["runtime/", "unwind/", "core/", "format/", SEAM]),
    ("src/platform/posix", ["platform/posix/", "unwind/", "core/", "format/", SEAM]),
    ("src/platform/code", ["platform/code/", "unwind/", "cpu/"]),
    # One system never includes another one's folder: only its own and POSIX's, and what is of no system.
    ("src/platform/<system>", ["platform/<system>/", "platform/posix/", "platform/code/", "runtime/", "unwind/", "core/", "cpu/", "format/", SEAM]),
    ("src/platform", ["format/", "cpu/", SEAM]),
    ("src/dump", ["dump/", "core/", "resident/", "format/", SEAM, "memprof.h"]),  # memprof.h: its results are those of the public face
    ("src/profile", ["profile/", "estimate/", "format/"]),
    ("capi", ["capi/", "core/", "dump/", "estimate/", "format/", SEAM, "memprof.h"]),
    ("tools", ["memprof/", "profile/", "cpu/", "platform/code/", "format/", "memprof.h"]),  # its own headers are written from tools/
    ("ffi/node/native", ["memprof.h", "frames.h", "javascript_heap.h", "library.h", "places.h", "snapshot.h", "values.h"]),  # itself
    ("ffi", ["memprof.h"]),
]
# Inside a room, lowest first: a folder may include itself and those before it. What is not named here is at the top.
LADDERS = {
    "src/core": "sampling arena mappings tables rates counts reader engine hooks",
    "src/unwind": "lists tables walk",
    "src/platform/linux": "libc memory files modules process interpose programs execute imports inline_hooks stack",
    "src/profile/symbolize": "files mangling object cache dwarf elf macho pdb pe jit source_maps",
    "src/profile": "model significance names matching view text files foreign pprof otlp parquet formats lifetimes memory report live churn leaks compare gate series fleet page symbolize",
    "src/platform/linux/inline_hooks": "code",
    "tools/memprof": "help console host io serve doctor attach record pressure ship run live view check commands files_only",
    "tools/memprof/attach/linux": "processor target thread calls",
}

# The C and C++ standard libraries as far as an OS is not needed for them (no <thread>, <mutex>, <filesystem>).
PURE = set("""algorithm array atomic cassert cerrno cfloat charconv cinttypes climits cmath cstdarg cstddef cstdint
cstdlib cstring functional initializer_list iterator limits memory new numeric optional string_view tuple
type_traits utility stddef.h stdint.h string.h""".split())
# The engine itself does without even those that allocate.
ENGINE = ["src/cpu", "src/format", "src/estimate", "src/resident", "src/core", "src/unwind", "src/runtime", "src/dump", "capi"]

OS_HEADER = re.compile(
    r"(sys|linux|asm|asm-generic|bits|mach|mach-o|malloc|libkern|gnu|net|netinet|arpa)/|"
    r"(unistd|pthread|dlfcn|link|elf|fcntl|sched|signal|ucontext|poll|termios|spawn|dirent|malloc|features|"
    r"execinfo|syscall|pwd|semaphore|windows|winternl|psapi|dbghelp|crtdbg|process|io)\.h$", re.I)
# The command starts processes and asks the system of them (run, host), talks to a terminal, and opens files of others; names come from files,
# a file is replaced as a whole or for its user alone, and a profile is read by descriptor: these use POSIX, never #ifdef. windows/ is a program of its own.
POSIX_ALLOWED = """tools/memprof/windows tools/memprof/attach/linux tools/memprof/attach/process_watch.h tools/memprof/host tools/memprof/files_only tools/memprof/run tools/memprof/console
tools/memprof/io tools/memprof/ship tools/memprof/serve/redirect_file.cc src/profile/symbolize src/profile/files src/profile/foreign/profile_bytes.cc
ffi/node/native/library.cc""".split()
# What is Linux's alone stands where a system's answers are; so does a path below /proc.
LINUX = re.compile(r"(linux|asm|asm-generic)/|sys/(auxv|epoll|eventfd|fsuid|inotify|prctl|procfs|ptrace|reg|sendfile|signalfd|syscall|sysinfo|"
                   r"sysmacros|timerfd|user|vfs|xattr)\.h$|(elf|link|syscall)\.h$")
LINUX_PATH = re.compile(r'"/proc\b')
LINUX_ALLOWED = ["src/platform/linux", "tools/memprof/attach/linux", "tools/memprof/host/linux", "src/profile/files/linux"]
# ELF and DWARF as elfutils has them, constants of the format included; the interfaces above have their own words.
ELFUTILS = re.compile(r"(gelf|libelf|dwarf)\.h$|elfutils/")
ELFUTILS_ALLOWED = ["src/profile/symbolize/elf", "src/profile/symbolize/dwarf", "tools/memprof/host/linux", "tools/memprof/attach/linux"]
OS_MACRO = re.compile(
    r"\b(_?_?linux_?_?|__gnu_linux__|__APPLE__|__MACH__|TARGET_OS_\w+|_?_?WIN(32|64)(__)?|_WIN(32|64)|_MSC_VER|"
    r"__ANDROID__|__FreeBSD__|__OpenBSD__|__NetBSD__|__GLIBC__|__MINGW(32|64)__|__CYGWIN__|__unix__|__sun)\b")
LIBC_ROOM, LIBC = "src/platform/linux/libc", re.compile(r"\b(RTLD_DL_\w+|__libc_\w+|dladdr1|gnu_get_libc\w*|__GLIBC\w*)\b")
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Asks for the format of object files, which is the compiler's.
OBJECT_FORMAT = "src/platform/object_format.h"
CONDITION = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|elifdef)\b(.*)")
SUFFIXES = {".h", ".hh", ".c", ".cc", ".S", ".inc"}
OURS = ("capi", "core", "cpu", "dump", "estimate", "format", "memprof", "platform", "profile", "resident", "runtime", "unwind")


def below(path, folder):
    return path == folder or path.startswith(folder + "/")


def allowed_of(path):
    """The row of LAYERS for a file, or None."""
    for room, allowed in LAYERS:
        if "<system>" in room:
            system = re.match(re.escape(room).replace("<system>", r"(\w+)") + "/", path)
            if system:
                return [a.replace("<system>", system.group(1)) for a in allowed]
        elif below(path, room):
            return allowed
    return None


def is_allowed(header, allowed):
    return any(re.fullmatch(r"platform/\w+\.h", header) if a == SEAM else header == a or header.startswith(a) and a[-1] == "/"
               for a in allowed)


def file_of(header):
    """Where a quoted include of ours lies, from the root."""
    if header == "memprof.h":
        return "capi/include/memprof.h"
    if header.startswith("capi/"):
        return header
    return ("tools/" if header.startswith("memprof/") else "src/") + header


def step_of(path, room):
    """(number of the step, its name) of a file in a room with a ladder; those that no step names are above them all."""
    steps = LADDERS[room].split()
    name = path.removeprefix(room + "/").split("/")[0]
    return (steps.index(name), name) if name in steps and path.count("/") > room.count("/") + 1 else (len(steps), "the top")


def upward(path, header):
    """What is wrong with an include by the ladder of its room, or None."""
    target = file_of(header)
    for room in LADDERS:
        if below(path, room) and below(target, room):
            (own, own_name), (other, other_name) = step_of(path, room), step_of(target, room)
            if other > own:
                return f"{header}: {own_name} lies below {other_name} in {room}"
    return None


def violations_of_line(path, line):
    """What is wrong with one line of the file `path` (relative to the root), as a list of sentences."""
    found = []
    allowed = allowed_of(path)
    if allowed is None:
        return found
    platform = below(path, "src/platform") and path.count("/") > 2
    condition = CONDITION.match(line)
    if condition and not platform and path != OBJECT_FORMAT and OS_MACRO.search(condition.group(2)):
        found.append("an OS is asked for outside src/platform/<system>")
    if below(path, "src/platform") and not below(path, LIBC_ROOM):
        found += [f"{name}: of one C library, outside {LIBC_ROOM}" for name in LIBC.findall(line.partition("//")[0])]
    if "__has_include" in line and not platform:
        found.append("__has_include outside src/platform/<system>")
    is_outside = not any(below(path, p) for p in LINUX_ALLOWED)
    if is_outside and LINUX_PATH.search(line):
        found.append(f"/proc outside {', '.join(LINUX_ALLOWED)}")
    include = INCLUDE.match(line)
    if not include:
        return found
    quote, header = include.groups()
    if is_outside and quote == "<" and LINUX.match(header):
        return [*found, f"<{header}>: Linux's, outside {', '.join(LINUX_ALLOWED)}"]
    if quote == "<" and ELFUTILS.match(header) and not any(below(path, p) for p in ELFUTILS_ALLOWED):
        return [*found, f"<{header}>: one format of object files, outside {', '.join(ELFUTILS_ALLOWED)}"]
    if header.startswith(".") or "/../" in header:
        found.append(f"{header}: includes are written from src/")
    elif quote == '"':
        if not is_allowed(header, allowed):
            found.append(f"{header}: this folder may include {', '.join(allowed)} only")
        else:
            found += filter(None, [upward(path, header)])
    elif header == "memprof.h" or header.split("/")[0] in OURS:
        found.append(f"<{header}>: our own headers are included with quotes")
    elif not platform:
        if OS_HEADER.match(header):
            if not any(below(path, p) for p in POSIX_ALLOWED):
                found.append(f"<{header}>: an OS header outside src/platform/<system>")
        elif (any(below(path, room) for room in ENGINE) or below(path, "src/platform")) and header not in PURE:
            found.append(f"<{header}>: not for code of the profiled process outside src/platform/<system>")
    return found


def violations_of_graph(includes):
    """`includes`: {file: set of our files that it includes}. Circles of files, and of folders."""
    found = [f"a circle of files: {' '.join(circle)}" for circle in ladder.circles(includes)]
    folders, why = {}, {}
    for path, targets in includes.items():
        for target in targets:
            here, there = path.rpartition("/")[0], target.rpartition("/")[0]
            if here != there:
                folders.setdefault(here, set()).add(there)
                why.setdefault((here, there), f"{path} includes {target}")
    for circle in ladder.circles(folders):
        arrows = [why[pair] for pair in sorted(why) if pair[0] in circle and pair[1] in circle]
        found.append(f"a circle of folders: {' '.join(circle)}: {'; '.join(arrows)}")
    return found


def room_of(path):
    """The room of a file or folder as the drawing names it: a row of LAYERS; the public header is one by itself."""
    if below(path, "capi/include"):
        return "memprof.h"
    system = re.match(r"src/(platform/\w+)(/|$)", path)
    if system:
        return system[1]
    room = next(room for room, _ in LAYERS if "<system>" not in room and below(path, room))
    return SEAM if room == "src/platform" else room.removeprefix("src/")


def folder_of(path):
    return path.rpartition("/")[0]


def texts_of(root):
    """{path from the root: its lines} of all sources."""
    texts = {}
    for room in sorted({room.split("/")[0] for room, _ in LAYERS}):
        for path in sorted((root / room).rglob("*")):
            if path.suffix in SUFFIXES and "node_modules" not in path.parts:
                texts[path.relative_to(root).as_posix()] = path.read_text(errors="replace").splitlines()
    return texts


def includes_of(texts):
    """{file: set of our files that it includes}; files of processors by where they lie over others."""
    names, found = {over(path) for path in texts}, {}
    for path, lines in texts.items():
        includes = filter(None, map(INCLUDE.match, lines))
        found.setdefault(over(path), set()).update({file_of(include.group(2)) for include in includes} & names)
    return found


def inside_rooms(includes):
    """Those files of `includes` that are in a room."""
    return {path: targets for path, targets in includes.items() if allowed_of(path) is not None}


def draw(root, form="--draw"):
    includes = inside_rooms(includes_of(texts_of(root)))
    if form == "--draw":
        return ladder.text_of(ladder.arrows_of(includes, room_of))
    return ladder.dot_of(ladder.arrows_of(includes, folder_of), room_of)


def violations_of_drawing(root, includes):
    """src/README.md has the drawing as it is, and no arrow of it leads up."""
    drawn = ladder.text_of(ladder.arrows_of(inside_rooms(includes), room_of))
    found = [f"an arrow up: {line}" for line in drawn.splitlines() if " UP TO " in line]
    page = root / "src/README.md"
    if page.is_file() and f"```\n{drawn}```\n" not in page.read_text():
        found.append(f"src/README.md: has another drawing; layers.py --draw SOURCE_FOLDER prints:\n{drawn}")
    return found


def check(root):
    """Returns (number of files looked at, violations)."""
    found = []
    texts = texts_of(root)
    for relative, lines in texts.items():
        for number, line in enumerate(lines, 1):
            found += [f"{relative}:{number}: {text}" for text in violations_of_line(over(relative), line)]
    includes = includes_of(texts)
    return len(texts), found + violations_of_graph(includes) + violations_of_drawing(root, includes)


PLANTED = [
    ("src/format/x.cc", '#include "core/arena/arena.h"'),
    ("src/format/x.cc", "#include <string>"),
    ("src/core/tables/x.cc", '#include "platform/linux/x.h"'),
    ("src/core/tables/x.cc", '#include "profile/model/model.h"'),
    ("src/core/tables/x.cc", '#include "core/engine/profiler.h"'),
    ("src/core/reader/x.cc", '#include "core/engine/profiler.h"'),
    ("src/core/engine/x.cc", '#include "runtime/cpython/stacks.h"'),
    ("src/core/engine/x.cc", '#include "dump/dump.h"'),
    *[("src/core/x.cc", f"#include <{header}>") for header in ("unistd.h", "sys/mman.h")],
    ("src/core/x.h", "#include <vector>"),
    ("src/core/x.h", '#include "../unwind/x.h"'),
    ("src/core/x.cc", "#ifdef __linux__"),
    ("src/core/x.cc", "# if defined(_WIN32) || 1"),
    ("src/unwind/walk/x.cc", '#include "platform/linux/x.h"'),
    ("src/unwind/walk/x.cc", '#include "runtime/merge.h"'),
    ("src/runtime/x.cc", '#include "platform/linux/x.h"'),
    ("src/unwind/walk/x.cc", "#include <dlfcn.h>"),
    ("src/unwind/tables/x.cc", '#include "unwind/walk/table_walk.h"'),
    ("src/platform/x.h", '#include "platform/linux/x.h"'),
    *[("src/platform/x.h", line) for line in ("#ifdef __linux__", "#include <unistd.h>")],
    ("src/platform/posix/x.cc", '#include "platform/linux/x.h"'),
    ("src/platform/posix/x.cc", "#include <sys/auxv.h>"),
    ("src/platform/posix/x.cc", '#include "platform/reference/x.h"'),
    ("src/platform/reference/x.cc", '#include "platform/linux/x.h"'),
    ("src/platform/linux/x.cc", '#include "platform/reference/x.h"'),
    ("src/platform/darwin/x.cc", '#include "platform/linux/x.h"'),
    ("src/platform/linux/x.cc", '#include "platform/windows/x.h"'),
    ("src/platform/linux/x.cc", '#include "profile/model/model.h"'),
    ("src/platform/linux/x.cc", '#include "memprof.h"'),
    ("src/platform/linux/modules/x.cc", '#include "platform/linux/stack/x.h"'),
    ("src/platform/linux/modules/x.cc", "#if defined(__GLIBC__)"),
    ("src/platform/linux/modules/x.cc", "  ask(p, &info, &map, RTLD_DL_LINKMAP);"),
    ("src/platform/linux/interpose/x.cc", 'extern "C" void* __libc_malloc(size_t);'),
    ("src/cpu/x86_64/cpu/x.h", '#include "core/arena/arena.h"'),
    ("src/cpu/x86_64/core/x.h", '#include "platform/linux/x.h"'),
    ("src/cpu/aarch64/unwind/tables/x.cc", '#include "unwind/walk/table_walk.h"'),
    ("src/cpu/aarch64/memprof/attach/x.cc", '#include "core/arena/arena.h"'),
    ("src/dump/x.cc", '#include "platform/linux/x.h"'),
    ("src/dump/x.cc", '#include "profile/model/model.h"'),
    ("src/dump/x.cc", '#include "capi/call.h"'),
    ("src/dump/x.cc", "#include <string>"),
    ("src/profile/model/x.cc", '#include "core/arena/arena.h"'),
    ("src/profile/model/x.cc", '#include "memprof.h"'),
    ("src/profile/model/x.cc", '#include "profile/report/report.h"'),
    ("src/profile/report/x.cc", '#include "profile/symbolize/symbolizer.h"'),
    ("src/profile/x.cc", "#include <unistd.h>"),
    ("src/profile/x.cc", "#elif defined(__APPLE__)"),
    ("src/profile/symbolize/elf/x.cc", '#include "profile/symbolize/symbolizer.h"'),
    ("capi/x.cc", '#include "platform/linux/x.h"'),
    ("capi/x.cc", '#include "unwind/x.h"'),
    ("tools/memprof/x.cc", '#include "core/arena/arena.h"'),
    ("tools/memprof/x.cc", "#ifndef __linux__"),
    ("tools/memprof/commands/x.cc", "#include <unistd.h>"),
    ("tools/memprof/doctor/x.cc", "#include <sys/stat.h>"),
    ("tools/memprof/host/process/x.cc", '#include "memprof/commands/x.h"'),
    ("tools/memprof/run/x.cc", "#include <sys/epoll.h>"),
    ("tools/memprof/io/x.cc", "#include <linux/memfd.h>"),
    ("tools/memprof/run/x.cc", 'const std::string path = "/proc/self/maps";'),
    ("src/profile/files/x.cc", "#include <linux/fs.h>"),
    ("src/profile/symbolize/elf/x.cc", "#include <elf.h>"),
    *[("src/profile/symbolize/x.cc", f"#include <{header}>") for header in ("elf.h", "gelf.h", "elfutils/libdw.h")],
    ("src/profile/symbolize/elf/x.cc", '#include "profile/symbolize/object_formats.h"'),
    ("src/profile/symbolize/object/x.h", '#include "profile/symbolize/elf/elf_file.h"'),
    ("tools/memprof/doctor/x.cc", "#include <gelf.h>"),
    ("tools/memprof/host/x.cc", "#include <sys/ptrace.h>"),
    *[("tools/memprof/attach/x.h", f"#include <{header}>") for header in ("sys/ptrace.h", "unistd.h")],
    ("tools/memprof/attach/x.cc", 'const std::string path = "/proc/self/maps";'),
    ("src/cpu/x86_64/memprof/attach/x.cc", "#include <sys/user.h>"),
    ("ffi/python/x.c", '#include "profile/model/model.h"'),
]
INNOCENT = [
    ("src/core/tables/x.cc", '#include "core/arena/arena.h"'),
    ("src/core/engine/x.cc", '#include "core/arena/arena.h"'),
    ("src/core/x.cc", "#include <atomic>"),
    ("src/core/x.cc", '#include "cpu/facts.h"'),
    ("src/cpu/x86_64/memprof/attach/linux/x.cc", "#include <sys/ptrace.h>"),
    ("tools/memprof/attach/linux/x.cc", "#include <sys/ptrace.h>"),
    ("src/unwind/x.cc", '#include "platform/memory.h"'),
    ("src/platform/object_format.h", "#elif defined(__MACH__)"),
    ("src/platform/linux/x.cc", "#include <sys/mman.h>"),
    ("src/platform/linux/libc/glibc/x.cc", "  dladdr1(p, &info, &map, RTLD_DL_LINKMAP);"),
    ("src/platform/linux/x.cc", "#ifdef __linux__"),
    ("src/platform/linux/x.cc", '#include "platform/posix/x.h"'),
    ("src/platform/reference/x.cc", '#include "platform/posix/x.h"'),
    ("src/profile/x.cc", "#include <vector>"),
    ("src/profile/x.cc", "#include <protozero/pbf_reader.hpp>"),
    ("src/profile/symbolize/x.cc", "#include <unistd.h>"),
    ("capi/memprof.cc", '#include "memprof.h"'),
    ("tools/memprof/host/x.cc", "#include <sys/wait.h>"),
    ("tools/memprof/run/x.cc", "#include <sys/wait.h>"),
    ("tools/memprof/host/linux/x.cc", "#include <sys/epoll.h>"),
    ("src/profile/files/linux/x.cc", "#include <linux/fs.h>"),
    ("src/profile/symbolize/elf/x.cc", "#include <gelf.h>"),
    ("tools/memprof/commands/x.cc", '#include "memprof/host/process/x.h"'),
    ("capi/x.cc", '#include "capi/call.h"'),
    ("tests/core/x_test.cc", '#include "profile/model/model.h"'),
]
DRAWN = [("src/core/a.h", '#include "format/b.h"'), ("src/format/b.h", "")]
# Several files: [(path, line)...] and how many violations.
GRAPHS = [
    ([("src/core/a.h", '#include "core/b.h"'), ("src/core/b.h", '#include "core/a.h"')], 1),
    ([("src/core/a.h", '#include "core/b.h"'), ("src/core/b.h", '#include "core/c.h"'), ("src/core/c.h", "")], 0),
    # No circle of files, but folders that cannot be told which is lower.
    ([("src/runtime/v8/a.cc", '#include "runtime/lua/a.h"'), ("src/runtime/v8/b.h", ""), ("src/runtime/lua/a.h", ""),
      ("src/runtime/lua/b.cc", '#include "runtime/v8/b.h"')], 1),
    ([("src/runtime/v8/a.cc", '#include "runtime/lua/a.h"'), ("src/runtime/lua/a.h", "")], 0),
    # The drawing in src/README.md: as it is, of other files, and with an arrow up (and so a circle, and an include that may not be).
    (DRAWN + [("src/README.md", "```\n 1  core    -> format\n 0  format\n```")], 0),
    (DRAWN + [("src/README.md", "```\n 0  core\n 0  format\n```")], 1),
    (DRAWN + [("src/format/c.h", '#include "core/c.h"'), ("src/core/c.h", "")], 3),
]


def self_test():
    cases = [([planted], 1) for planted in PLANTED] + [([planted], 0) for planted in INNOCENT] + GRAPHS
    for files, expected in cases:
        with tempfile.TemporaryDirectory() as name:
            for path, line in files:
                file = pathlib.Path(name, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"// a file\n{line}\n")
            _, found = check(pathlib.Path(name))
            if len(found) != expected:
                sys.exit(f"{files}: {len(found)} violations, expected {expected}: {found}")
    dot = ladder.dot_of({"src/core": {"src/format"}, "src/format": {"src/core"}}, room_of)
    assert dot.count("->") == 2 and dot.count("red") == 1 and 'label="core"; "src/core";' in dot, dot
    wrong = sum(expected > 0 for _, expected in cases)
    print(f"{wrong} planted violations found, {len(cases) - wrong} innocent cases passed")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] in ("--draw", "--draw-dot"):
        print(draw(pathlib.Path(sys.argv[2]), sys.argv[1]), end="")
        sys.exit()
    sys.exit(check_main(__doc__, check, self_test, fine=lambda count: f"{count} files keep the layers", min_count=5, counted="files"))
