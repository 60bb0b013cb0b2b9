#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fast paths of malloc, free, calloc and realloc are pinned: their instructions, from the entry to the tail jump into the real
function, are compared with fast_path.golden. Changing them takes a --update and a sentence in the commit.
So are those of the functions that allocators report by, and of the inline forms of memprof.h (inline_forms.c), which end in
a return.

The path is what is executed when no conditional branch is taken; an unconditional jump inside the function is
followed. It must end in an indirect jump (or the return), and hold no call and no locked instruction.

usage: fast_path.py LIBRARY INLINE_FORMS COMPILER    COMPILER is the key in the golden file, like gcc-12
       fast_path.py LIBRARY INLINE_FORMS COMPILER --update   writes that part of the golden file anew
       fast_path.py --self-test CC              builds flawed functions and checks that each flaw is found
A compiler without a part in the golden file is held to "no calls, no locks, at most MAX instructions" only.
"""
import difflib
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

GOLDEN = pathlib.Path(__file__).with_name("fast_path.golden")
FUNCTIONS = ["malloc", "free", "calloc", "realloc"]
REPORTS = ["memprof_report_alloc", "memprof_report_free", "memprof_report_realloc"]
INLINE = ["inline_alloc", "inline_free", "inline_realloc"]
MAX_INSTRUCTIONS = 18
LOCKED = re.compile(r"\block\b|^xchg\b.*\(")


class Broken(Exception):
    """The path breaks a rule."""


def path_of(library, function):
    """Returns the instructions of the path, without addresses and names."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    instructions = {}  # address -> (text, next address)
    last = None
    for address, body in re.findall(r"^\s*([0-9a-f]+):\t(.*)$", text, re.M):
        address = int(address, 16)
        instructions[address] = [body.strip(), None]
        if last is not None:
            instructions[last][1] = address
        last = address
    entry = re.search(rf"^([0-9a-f]+) <{function}>:$", text, re.M)
    if not entry:
        raise Broken(f"{library} has no {function}")

    path = []
    at = int(entry.group(1), 16)
    while len(path) < 64:
        if at not in instructions:
            raise Broken(f"{function}: the path leaves the code")
        body, following = instructions[at]
        operation = body.split()[0]
        if operation in ("endbr64", "nop", "nopw", "nopl", "data16", "cs"):
            at = following
            continue
        # Addresses and offsets from the instruction pointer change with every build.
        plain = re.sub(r"\s+#.*| <[^>]*>", "", body)
        plain = re.sub(r"-?0x[0-9a-f]+\(%rip\)", "X(%rip)", plain)
        plain = re.sub(r"^(j\w+|call\w*)\s+[0-9a-f]+$", r"\1 X", plain)
        plain = re.sub(r"\s+", " ", plain)
        jump = re.match(r"jmpq?\s+([0-9a-f]+)\b", body.replace("notrack ", "").replace("bnd ", ""))
        if jump:
            path.append("jmp X")
            at = int(jump.group(1), 16)
            continue
        path.append(plain)
        if operation.startswith("call"):
            raise Broken(f"{function}: a call on the fast path:\n  " + "\n  ".join(path))
        if LOCKED.search(plain):
            raise Broken(f"{function}: a locked instruction on the fast path:\n  " + "\n  ".join(path))
        if re.match(r"(notrack |bnd )?jmpq? \*", plain):
            return path
        if operation.startswith("ret"):
            if function in REPORTS + INLINE:
                return path
            raise Broken(f"{function}: returns instead of jumping to the real function:\n  " + "\n  ".join(path))
        at = following
    raise Broken(f"{function}: no tail jump after {len(path)} instructions")


def render(library, compiler, functions=None, inline_forms=None):
    lines = []
    for function in functions or FUNCTIONS + REPORTS + INLINE:
        path = path_of(inline_forms if function in INLINE else library, function)
        lines.append(f"{compiler} {function}: {len(path)} instructions, 0 calls, 0 locks")
        lines += ["  " + instruction for instruction in path]
    return lines


def golden_parts():
    """Returns {compiler: lines}."""
    parts = {}
    key = None
    for line in GOLDEN.read_text().splitlines() if GOLDEN.exists() else []:
        if line.startswith("#") or not line:
            continue
        if not line.startswith(" "):
            key = line.split()[0]
        parts.setdefault(key, []).append(line)
    return parts


def update(lines, compiler):
    parts = golden_parts()
    parts[compiler] = lines
    with open(GOLDEN, "w", encoding="utf-8") as out:
        out.write("# The fast paths (x86-64). Made by fast_path.py --update; a change is explained in its commit.\n")
        for key in sorted(parts):
            out.write("\n".join(parts[key]) + "\n")


def check(library, compiler, golden, functions=None, inline_forms=None):
    """Returns (errors, message)."""
    try:
        lines = render(library, compiler, functions, inline_forms)
    except Broken as broken:
        return [str(broken)], ""
    errors = []
    for head in lines:
        count = re.search(r": (\d+) instructions", head)
        if count and int(count.group(1)) > MAX_INSTRUCTIONS:
            errors.append(f"{head}: more than {MAX_INSTRUCTIONS}")
    if compiler not in golden:
        return errors, "\n".join(lines) + f"\n(no golden part for {compiler}: only the rules were checked)"
    if golden[compiler] != lines:
        errors.append("the fast path has changed:\n" + "\n".join(
            difflib.unified_diff(golden[compiler], lines, "golden", "product", lineterm="", n=99)))
    return errors, "\n".join(lines)


SOURCE = r"""
extern __attribute__((visibility("hidden"))) void* (*real_malloc)(unsigned long);
extern __attribute__((visibility("hidden"))) void (*real_free)(void*);
void* (*real_malloc)(unsigned long); void (*real_free)(void*); void other(void); int shared; char filter[65536];
static __thread long count __attribute__((tls_model("initial-exec")));
__attribute__((noinline, cold)) static void* cold(unsigned long n) { other(); return real_malloc(n + 1); }
void* malloc(unsigned long n) { MALLOC if (__builtin_expect((count -= (long)n) < 0, 0)) return cold(n); return real_malloc(n); }
void free(void* p) { FREE if (__builtin_expect(filter[(unsigned long)p >> 4 & 65535], 0)) other(); real_free(p); }
"""
FLAWS = [
    ("a call", "other();", "", "a call on the fast path"),
    ("a locked add", "__atomic_fetch_add(&shared, 1, __ATOMIC_RELAXED);", "", "a locked instruction"),
    ("an exchange", "", "shared = __atomic_exchange_n(&shared, 1, __ATOMIC_RELAXED);", "a locked instruction"),
    ("a return", "if (__builtin_expect(n != 7, 1)) return 0;", "", "returns instead"),
    ("one more instruction", "", "*(volatile int*)&shared = 1;", "the fast path has changed"),
    ("too many", "*(volatile int*)&shared = 1;" * 18, "", f"more than {MAX_INSTRUCTIONS}"),
]


def self_test(compiler):
    with tempfile.TemporaryDirectory() as name:
        library = str(pathlib.Path(name, "x.so"))

        def build(malloc, free):
            source = pathlib.Path(name, "x.c")
            source.write_text(SOURCE.replace("MALLOC", malloc).replace("FREE", free))
            subprocess.run([*compiler, "-shared", "-fPIC", "-O2", "-fno-builtin", "-w", "-o", library, str(source)],
                           check=True)

        build("", "")
        functions = ["malloc", "free"]
        golden = {"x": render(library, "x", functions)}
        errors, message = check(library, "x", golden, functions)
        if errors:
            sys.exit("a good library was refused:\n" + "\n".join(errors))
        for flaw, malloc, free, expected in FLAWS:
            build(malloc, free)
            errors, _ = check(library, "x", golden, functions)
            if not any(expected in error for error in errors):
                sys.exit(f"{flaw}: not found; errors: {errors}")
    print(f"{message}\n{len(FLAWS)} planted flaws were found")


def main():
    if platform.machine() != "x86_64":
        print("skipped: the golden file is for x86-64")
        return 77
    if sys.argv[1:2] == ["--self-test"] and len(sys.argv) > 2:
        return self_test(sys.argv[2:])
    if len(sys.argv) not in (4, 5) or sys.argv[4:] not in ([], ["--update"]):
        sys.exit(__doc__)
    library, inline_forms, compiler = sys.argv[1:4]
    if sys.argv[4:]:
        update(render(library, compiler, None, inline_forms), compiler)
    errors, message = check(library, compiler, golden_parts(), None, inline_forms)
    print("\n".join(errors) or message)
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
