#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inspects libmemprof.so: what it exports and needs, how it is linked, and what its hooks can reach.

usage: symbols.py LIBRARY EXPORTS_MAP MEMPROF_H   prints what is wrong, exits 1 if anything is
       symbols.py --self-test CC                  builds flawed libraries and checks that each flaw is found
"""
import pathlib
import re
import subprocess
import sys
import tempfile

SONAME = "libmemprof.so.0"
NEEDED = {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

# What the library may take from the C library at all. No stdio, nothing that allocates behind our back, no
# C++ runtime.
ALLOWED = set("""
__cxa_finalize __cxa_atexit __gmon_start__ _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable
__errno_location __stack_chk_fail __register_atfork pthread_atfork __cxa_at_quick_exit
memcpy memmove memset memcmp bcmp memchr strlen strnlen strcmp strncmp strchr strrchr strstr strtod strtoul strtoull
mmap munmap mprotect madvise fallocate
open openat close read write writev pread pread64 pwrite lseek rename renameat renameat2 link linkat unlink unlinkat
access faccessat fsync fstat stat readlink
clock_gettime nanosleep sched_yield getpid gettid getppid syscall getrandom getauxval sysconf process_vm_readv
environ __environ getenv secure_getenv program_invocation_name program_invocation_short_name
dlsym dlvsym dladdr dladdr1 dlopen dlclose dl_iterate_phdr
__libc_stack_end __libc_start_main pthread_create
__brk __sbrk __libc_malloc __libc_free __libc_calloc __libc_realloc __libc_memalign
abort
__cxa_throw
sigaction sigemptyset sigfillset sigprocmask __libc_current_sigrtmin __libc_current_sigrtmax
""".split())

# Of these, what the way of an allocation (everything that malloc, free and the others can reach) may call:
# no lock of the loader or of the C library, no file, no allocation.  (mprotect: a sample writes imports back that another
# tool wrote over, docs/decisions/0108.)
HOOKS_ALLOWED = set("""
__errno_location __stack_chk_fail
memcpy memmove memset memcmp bcmp memchr strlen strnlen strcmp strncmp
mmap munmap mprotect madvise fallocate
clock_gettime getpid gettid syscall getrandom getauxval sched_yield process_vm_readv readlink
abort
environ __environ __libc_stack_end __libc_start_main pthread_create
""".split())

# Where the way of an allocation leaves for something that happens once in the life of a process, or when memory
# is out. What lies behind is not looked at. A name that the library does not have is an error.
ONCE = {
    "memprof::interpose::resolve()": "looks up the real functions; what dlsym allocates is served by bootstrap.cc",
    "memprof::profiler::adopt_process()": "makes the mark of the process that fork wipes",
    "memprof::autostart()": "reads MEMPROF_* and makes the tables, at the first allocation of the process",
    "(anonymous namespace)::find_operator(char const*)": "operator new has no memory; the standard one will throw",
    "(anonymous namespace)::no_operator(char const*)": "and there is no standard one: says so and aborts",
}
# Exported to see the end of the process and of its libraries, its sandbox, programs that it executes, and unwind tables of
# code that is made at run time; not on the way of an allocation.
FRAME_CALLS = {f"__{de}register_frame{form}" for de in ("", "de") for form in ("", "_info", "_info_bases")} | {
    f"__register_frame{form}" for form in ("_table", "_info_table", "_info_table_bases")}
EXECUTE_CALLS = {f"exec{form}" for form in ("l", "le", "lp", "v", "ve", "veat", "vp", "vpe")} | {
    "fexecve", "posix_spawn", "posix_spawnp"}
NOT_HOOKS = {"_exit", "_Exit", "__cxa_atexit", "dlopen", "dlmopen", "dlclose", "prctl", "syscall"} | FRAME_CALLS | EXECUTE_CALLS

# Of the C API, what may be called wherever malloc may be.
LIKE_HOOKS = ("memprof_report_", "memprof_abi1_", "memprof_backing_")

# The table of functions of a language runtime: after FIRST_POINTER bytes, pointers in the order of its header; and those
# of them that hooks call.
RUNTIME_HEADER = pathlib.Path(__file__).parents[2] / "src/runtime/runtime.h"
RUNTIME_TABLE, FIRST_POINTER = "kRuntime", 32
RUNTIME_HOOKS = {"enter_module", "look", "is_ending", "find_thread", "merge", "name_code"}

# Said by name where the reason is worth a sentence.
BANNED = {
    "__tls_get_addr": "dynamic TLS allocates; use initial-exec",
    "pthread_getattr_np": "locks and allocates",
    "printf": "stdio locks and allocates",
    "dl_iterate_phdr": "takes the lock of the loader",
    "_dl_find_object": "then it does not load before glibc 2.35, weak or not; it is looked up by name",
    "dladdr": "takes the lock of the loader",
    "__cxa_guard_acquire": "guarded statics lock",
}


def tool(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def export_list(path):
    text = re.sub(r"/\*.*?\*/", "", pathlib.Path(path).read_text(), flags=re.S)
    section = re.search(r"global:(.*?)local:", text, re.S)
    return set(re.findall(r"[\w*?]+", section.group(1)))


def header_functions(path):
    text = re.sub(r"/\*.*?\*/", "", pathlib.Path(path).read_text(), flags=re.S)
    return set(re.findall(r"MEMPROF_API\b[^;#]*?\b(memprof_\w+)\s*\(", text)) | \
        set(re.findall(r"extern MEMPROF_API [^;(#]*?\b(memprof_\w+)\s*(?:__attribute__|;)", text))


def compare(found, expected, what, errors):
    errors += [f"{what}: {name} is missing" for name in sorted(expected - found)]
    errors += [f"{what}: {name} is not on the list" for name in sorted(found - expected)]


def dynamic_symbols(library):
    """Returns (exported names, undefined names)."""
    exported, undefined = set(), set()
    for line in tool("nm", "-D", library).splitlines():
        kind, name = line.split()[-2:]
        name = name.split("@")[0]
        (undefined if kind in "Uwv" else exported).add(name)
    return exported, undefined


def references(library):
    """Returns {function: names it refers to}, by the disassembly: calls, jumps and addresses taken. Functions of
    the C library appear by their names, also where they are called through the table of addresses."""
    slots = {}  # address of a slot -> name
    for match in re.finditer(r"^([0-9a-f]+)\s+\S+\s+R_\w+\s+[0-9a-f]+ (\w+)", tool("readelf", "-rW", library), re.M):
        slots[int(match.group(1), 16)] = match.group(2)
    starts = {}  # address of a function -> name, to follow what relocations and tables point at
    graph = {}
    for line in tool("objdump", "-d", "--no-show-raw-insn", library).splitlines():
        head = re.match(r"([0-9a-f]+) <(.*)>:$", line)
        if head:
            current = graph.setdefault(re.sub(r"\.(cold|part|constprop|isra)[.\d]*$", "", head.group(2)), set())
            starts[int(head.group(1), 16)] = head.group(2)
            continue
        for target in re.finditer(r"(?:([0-9a-f]+) )?<([^>+]+)(\+0x[0-9a-f]+)?>", line):
            address, name, offset = target.groups()
            if address and int(address, 16) in slots:
                current.add(slots[int(address, 16)])
            elif name.endswith("@plt"):
                current.add(name[:-4])
            elif name.endswith("@GLIBC") or "@" in name:
                current.add(name.split("@")[0])
            elif not offset or name in graph:
                current.add(re.sub(r"\.(cold|part|constprop|isra)[.\d]*$", "", name))
    return graph


def runtime_functions(library):
    """Returns the names of the functions that hooks call through the tables of runtimes."""
    relocations = tool("readelf", "-rW", library)
    targets = {int(m.group(1), 16): int(m.group(2), 16)
               for m in re.finditer(r"^([0-9a-f]+)\s+\S+\s+R_\w+_RELATIVE\s+([0-9a-f]+)", relocations, re.M)}
    names, tables = {}, []
    for line in tool("readelf", "-sW", library).splitlines():
        symbol = re.match(r"\s*\d+: ([0-9a-f]+)\s+\d+ (FUNC|OBJECT) .* (\S+)$", line)
        if symbol and symbol.group(2) == "FUNC":
            names[int(symbol.group(1), 16)] = symbol.group(3)
        elif symbol and re.search(RUNTIME_TABLE + r"E?$", symbol.group(3)):
            tables.append(int(symbol.group(1), 16))
    members = re.findall(r"\(\*(\w+)\)\(", re.search(r"struct Runtime \{.*?\n\};", RUNTIME_HEADER.read_text(), re.S).group())
    if not RUNTIME_HOOKS <= set(members):
        sys.exit(f"{RUNTIME_HEADER}: no {RUNTIME_HOOKS - set(members)}")
    places = [table + FIRST_POINTER + 8 * i for table in tables for i, member in enumerate(members) if member in RUNTIME_HOOKS]
    return {names[targets[place]] for place in places if place in targets}, len(tables)


def reach(graph, roots, once):
    """Returns {name that can be reached: the name that it was reached from}; does not look behind those in once."""
    seen = {root: None for root in roots if root in graph}
    todo = list(seen)
    while todo:
        name = todo.pop()
        if name in once:
            continue
        for target in graph.get(name, ()):
            if target not in seen:
                seen[target] = name
                todo.append(target)
    return seen


def demangled(names):
    """Returns {name: name as C++ writes it}."""
    names = sorted(names)
    text = subprocess.run(["c++filt"], input="\n".join(names), stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(zip(names, text.splitlines()))


def unchecked(name):
    """Ubuntu's gcc takes the checked form of a function: it does the same, or ends a process whose memory is overwritten."""
    return re.sub(r"^__(\w+)_chk$", r"\1", name)


def way(seen, name, readable):
    path = [name]
    while seen[path[-1]]:
        path.append(seen[path[-1]])
    return " <- ".join(readable[p] for p in path)


def check(library, exports_map, header, once=None):
    errors = []
    exported, undefined = dynamic_symbols(library)
    listed = export_list(exports_map)
    errors += [f"exports.map: {name} is a pattern, not a name" for name in listed if re.search(r"[*?]", name)]
    compare(exported, listed, "exported symbols", errors)
    compare({n for n in listed if n.startswith("memprof_")}, header_functions(header),
            "exports.map against memprof.h", errors)
    for name in sorted(n for n in undefined if unchecked(n) not in ALLOWED):
        errors.append(f"takes {name} from outside" + (f" ({BANNED[name]})" if name in BANNED else ""))

    dynamic = tool("readelf", "-dW", library)
    soname = re.findall(r"SONAME.*\[(.*)\]", dynamic)
    if soname != [SONAME]:
        errors.append(f"SONAME is {soname}, not {SONAME}")
    errors += [f"needs {name}" for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic) if name not in NEEDED]
    flags = " ".join(re.findall(r"\(FLAGS(?:_1)?\)\s*(.*)", dynamic))
    for flag in ("NODELETE", "BIND_NOW", "STATIC_TLS"):
        if flag not in flags:
            errors.append(f"flag {flag} is missing: {flags}")
    for tag in ("TEXTREL", "RPATH", "RUNPATH"):
        if f"({tag})" in dynamic:
            errors.append(f"has a {tag}")
    segments = tool("readelf", "-lW", library)
    if "GNU_RELRO" not in segments:
        errors.append("no RELRO")
    if not re.search(r"GNU_STACK.*RW ", segments):
        errors.append("the stack is not marked as not executable")
    relocations = tool("readelf", "-rW", library)
    errors += [f"dynamic TLS: {r}" for r in re.findall(r"R_\w*(?:DTPMOD|DTPOFF|TLSDESC)\w*", relocations)]

    # The hooks are what is exported and is not the C API; allocators call a part of that as the program calls malloc.
    graph = references(library)
    readable = demangled(set(graph) | undefined | exported)
    once = ONCE if once is None else once
    found = {name for name in graph if readable[name] in once}
    errors += [f"the library has no {name}" for name in once if name not in {readable[f] for f in found}]
    of_runtimes, runtimes = runtime_functions(library)
    seen = reach(graph, of_runtimes | {name for name in exported - NOT_HOOKS if not name.startswith("memprof_") or
                                       name.startswith(LIKE_HOOKS)}, found)
    for name in sorted(n for n in set(seen) & undefined - exported if unchecked(n) not in HOOKS_ALLOWED):
        errors.append(f"a hook can reach {name}: {way(seen, name, readable)}")
    return errors, len(seen), runtimes


GOOD = r"""
#include <string.h>
#include <sys/mman.h>
static __thread long count __attribute__((tls_model("initial-exec")));
__attribute__((noinline)) static void* cold(unsigned long n) { count = (long)n; return mmap(0, n, 3, 34, -1, 0); }
void* malloc(unsigned long n) { return (count -= (long)n) < 0 ? cold(n) : 0; }
const char* memprof_version(void) { return strchr("v0", '0'); }
"""
GOOD_FLAGS = ["-Wl,-soname," + SONAME, "-Wl,-z,nodelete", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,-z,noexecstack"]
MAP = "{ global: malloc; memprof_version; local: *; };"
HEADER = "MEMPROF_API const char* memprof_version(void);"
REPORT = 'void memprof_report_alloc(void) { static char c; c = *strchr("v0", c); }\n'
# Name, change of the source (old, new), flags to leave out, flags to add, map, header, what must be said.
FLAWS = [
    ("another export", ("const char* memprof_v", "void oops(void) {}\nconst char* memprof_v"), None, [],
     "{ global: malloc; memprof_version; local: oop; };", HEADER, "oops is not on the list"),
    ("a missing export", None, None, [], MAP.replace("malloc;", "malloc; free;"), HEADER, "free is missing"),
    ("a pattern", None, None, [], MAP.replace("memprof_version", "memprof_*"), HEADER, "is a pattern"),
    ("a function that is only in the header", None, None, [], MAP, HEADER + "MEMPROF_API int memprof_x(void);",
     "memprof_x is missing"),
    ("stdio", ("return strchr", 'extern int puts(const char*); puts("x"); return strchr'), None, [], MAP, HEADER,
     "takes puts"),
    ("stdio, checked", ("return strchr", 'extern int __printf_chk(int, const char*, ...); __printf_chk(1, "x"); return strchr'), None, [],
     MAP, HEADER, "takes __printf_chk"),
    ("dynamic TLS", ('__attribute__((tls_model("initial-exec")))', ""), None, [], MAP, HEADER, "dynamic TLS"),
    ("no soname", None, "-soname", [], MAP, HEADER, "SONAME"),
    ("can be unloaded", None, "nodelete", [], MAP, HEADER, "NODELETE"),
    ("lazy binding", None, "-z,now", ["-Wl,-z,lazy"], MAP, HEADER, "BIND_NOW"),
    ("a library", None, None, ["-Wl,--no-as-needed", "-lm"], MAP, HEADER, "needs libm.so.6"),
    ("a run path", None, None, ["-Wl,-rpath,/tmp"], MAP, HEADER, "RUNPATH"),
    ("an executable stack", None, "noexecstack", ["-Wl,-z,execstack"], MAP, HEADER, "executable"),
    ("a hook that reaches too far", ("count = (long)n;", 'count = strchr("v0", (int)n) != 0;'), None, [], MAP, HEADER,
     "a hook can reach strchr: strchr <- cold <- malloc"),
    ("a variable that is only in the header", None, None, [], MAP,
     HEADER + "extern MEMPROF_API const void* const memprof_x;", "memprof_x is missing"),
    ("a report that reaches too far", ("const char* memprof_v", REPORT + "const char* memprof_v"), None, [],
     MAP.replace("malloc;", "malloc; memprof_report_alloc;"), HEADER + "MEMPROF_API void memprof_report_alloc(void);",
     "a hook can reach strchr: strchr <- memprof_report_alloc"),
    ("a hook that reaches too far through a pointer", ("count = (long)n;",
     "static char* (*volatile f)(const char*, int); f = strchr; count = (long)f;"), None, [], MAP, HEADER,
     "a hook can reach strchr"),
]
# A runtime's table; what the first of its functions calls, attach, is not for hooks.
TABLE = """
struct Table { long words[4]; const char* (*functions[12])(void); };
static const char* near(void) { return 0; }
static const char* far(void) { return strchr("v1", '1'); }
const struct Table kRuntime = {{1}, {%s}};
"""


def self_test(compiler):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def errors_of(source, flags, exports, header, once=()):
            (folder / "x.c").write_text(source)
            (folder / "x.map").write_text(exports)
            (folder / "x.h").write_text(header)
            tool(*compiler, "-shared", "-fPIC", "-O2", "-fno-builtin", "-w", "-o", str(folder / "x.so"),
                 str(folder / "x.c"), *flags, f"-Wl,--version-script={folder / 'x.map'}")
            return check(str(folder / "x.so"), folder / "x.map", folder / "x.h", once)[0]

        errors = errors_of(GOOD, GOOD_FLAGS, MAP, HEADER)
        if errors:
            sys.exit("a good library was refused:\n" + "\n".join(errors))
        for flaw, change, without, added, exports, header, expected in FLAWS:
            source = GOOD.replace(*change) if change else GOOD
            if change and source == GOOD:
                sys.exit(f"{flaw}: the change did not apply")
            flags = [f for f in GOOD_FLAGS if not without or without not in f] + added
            errors = errors_of(source, flags, exports, header)
            if not any(expected in error for error in errors):
                sys.exit(f"{flaw}: not found; errors: {errors}")
        for pointers, is_wrong in (("far, near", False), ("near, near, far", True)):
            source = GOOD.replace("const char* memprof_version", TABLE % pointers + "const char* memprof_version")
            errors = errors_of(source, GOOD_FLAGS, MAP, HEADER)
            if is_wrong != ("a hook can reach strchr: strchr <- far" in errors) or len(errors) != is_wrong:
                sys.exit(f"a runtime with {pointers}: {errors}")
        name, change, _, _, exports, header, expected = FLAWS[-1]
        if errors_of(GOOD.replace(*change), GOOD_FLAGS, exports, header, ["cold"]):
            sys.exit("an exception did not work")
        if "the library has no gone" not in errors_of(GOOD, GOOD_FLAGS, MAP, HEADER, ["gone"]):
            sys.exit("a stale exception was not found")
    print(f"{len(FLAWS) + 2} planted flaws were found")


def main():
    if sys.argv[1:2] == ["--self-test"] and len(sys.argv) > 2:
        return self_test(sys.argv[2:])
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    errors, reached, runtimes = check(*sys.argv[1:])
    if reached < 10:
        errors.append(f"only {reached} functions can be reached from the hooks: the disassembly was not understood")
    if runtimes == 0:
        errors.append(f"no {RUNTIME_TABLE} of a runtime was found")
    print("\n".join(errors) or f"{sys.argv[1]} is in order; {reached} functions can be reached from its hooks")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
