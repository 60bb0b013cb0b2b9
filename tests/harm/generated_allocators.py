# SPDX-License-Identifier: Apache-2.0
"""Makes programs with an allocator of their own, and callers that hold as much as they can in registers.

Where a compiler sees an allocator and its callers together, it keeps values in every register that the allocator leaves
alone, whatever the ABI says. The functions have the names that memprof knows (allocator_table.h); each changes
registers of its own choice; what callers held, and what they wrote into blocks, is printed as sums.
"""
import dataclasses
import pathlib
import re

TABLE = "src/format/allocators/allocator_table.h"
TYPES = {"b": "void*", "h": "void*", "o": "void**"}
RETURNS = {"a": "void*", "t": "void*", "r": "void*", "q": "void*", "p": "int", "x": "size_t", "f": "void", "u": "size_t"}
GENERAL = ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "rbx", "r12", "r15")
VECTORS = tuple(f"xmm{i}" for i in range(16))
# Names of C++ as C++ writes them.
OPERATORS = {"_Znwm": "operator new(size_t a0)", "_Znam": "operator new[](size_t a0)", "_ZdlPv": "operator delete(void* a0) noexcept",
             "_ZdaPv": "operator delete[](void* a0) noexcept", "_ZdlPvm": "operator delete(void* a0, size_t a1) noexcept",
             "_ZdaPvm": "operator delete[](void* a0, size_t a1) noexcept"}
LIMIT = 1024  # larger blocks are cut from another end of the pool

HEAD = """
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __cplusplus
#include <new>
#define C extern "C"
#define NOTHROW noexcept
#else
#define C
#define NOTHROW
#endif
"""
# Cut from slots of a few sizes, or one behind the other. A block has its size in front of it.
CORES = {
    "bump": """
static char pool[1 << 27] __attribute__((aligned(64)));
static size_t used = 64;
static inline __attribute__((always_inline)) char* take(size_t n, size_t alignment) {
  size_t at = (used + 16 + alignment - 1) & ~(alignment - 1);
  if (n > sizeof pool || at + n > sizeof pool) return 0;
  used = (at + n + 15) & ~(size_t)15;
  *(size_t*)(pool + at - 8) = n;
  return pool + at;
}
static inline __attribute__((always_inline)) void put(void* p) { (void)p; }
""",
    "slots": """
static char pool[1 << 27] __attribute__((aligned(64)));
static size_t used = 64;
static unsigned char class_of[65] = {CLASSES};
static size_t size_of[8] = {SIZES};
static char* slots[8];
static inline __attribute__((always_inline)) char* cut(size_t n, size_t alignment) {
  size_t at = (used + 16 + alignment - 1) & ~(alignment - 1);
  if (n > sizeof pool || at + n > sizeof pool) return 0;
  used = (at + n + 15) & ~(size_t)15;
  return pool + at;
}
static inline __attribute__((always_inline)) char* take(size_t n, size_t alignment) {
  char* p;
  if (n > LIMIT || alignment > 16) {
    p = cut(n, alignment);
    if (p) *(size_t*)(p - 16) = 99;
  } else {
    unsigned k = class_of[(n + 15) / 16];
    p = slots[k];
    if (p) slots[k] = *(char**)p; else p = cut(size_of[k], 16);
    if (p) *(size_t*)(p - 16) = k;
  }
  if (p) *(size_t*)(p - 8) = n;
  return p;
}
static inline __attribute__((always_inline)) void put(void* p) {
  if (p && ((size_t*)p)[-2] != 99) { size_t k = ((size_t*)p)[-2]; *(char**)p = slots[k]; slots[k] = (char*)p; }
}
""".replace("LIMIT", str(LIMIT)).replace("SIZES", ", ".join(str(16 << k) for k in range(8)))
             .replace("CLASSES", ", ".join(str(next(k for k in range(8) if 16 << k >= n * 16 or k == 7)) for n in range(65))),
}
MAIN = """
int main(int count, char** arguments) {
  int rounds = count > 1 ? atoi(arguments[1]) : 3;
  int pause_us = count > 2 ? atoi(arguments[2]) : 0;
  for (int round = 0; round < rounds; ++round) {
    CALLS
    fflush(stdout);
    if (pause_us) usleep((unsigned)pause_us);
  }
  return 0;
}
"""


def table(source):
    """Functions by family: {family: [(name, call, arguments)]}."""
    text = (pathlib.Path(source) / TABLE).read_text()
    families = {}
    for family, body in re.findall(r"AllocatorFunction k(\w+)\[\] = \{(.*?)\n\};", text, re.S):
        families[family] = [(name, what.lower(), arguments.lower()) for name, what, arguments in
                            re.findall(r'\{"(\w+)", "(\w):([^"]*)"\}', body) if what.lower() in RETURNS]
    c = families["C"]
    for prefix in ("je_", "_rjem_"):
        families[prefix] = [(prefix + name, what, arguments) for name, what, arguments in c]
    return families


@dataclasses.dataclass
class Function:
    name: str
    what: str
    arguments: str
    linkage: str
    is_operator: bool
    is_counted: bool  # the program prints how often it was called: by nobody else

    def head(self):
        if self.is_operator:
            return f"void{'*' if self.what == 't' else ''} {OPERATORS[self.name]}"
        parameters = ", ".join(f"{TYPES.get(letter, 'size_t')} a{i}" for i, letter in enumerate(self.arguments))
        return f"{self.linkage} {RETURNS[self.what]} {self.name}({parameters or 'void'}){'' if self.what in 'tq' else ' NOTHROW'}"

    def argument(self, letter):
        return f"a{self.arguments.index(letter)}" if letter in self.arguments else None

    def size(self):
        size, count = self.argument("s"), self.argument("c")
        return f"{count} * {size}" if count else size

    def call(self, size, block="0", result="0"):
        """A call of it with values for the arguments it has."""
        values = {"s": size, "c": "1", "l": "64", "w": "0", "b": block, "h": "0", "o": result, "-": "0"}
        listed = ", ".join(values[letter] for letter in self.arguments)
        if self.is_operator:
            return f"::{OPERATORS[self.name].split('(')[0]}({listed})"
        return f"{self.name}({listed})"


def filler(chance, vectors):
    """Instructions that change registers of their own choice, so that all others can be relied upon."""
    if chance.random() < 0.15:
        return ""
    changed = chance.sample(GENERAL, chance.randrange(5)) + chance.sample(VECTORS, chance.randrange(4) if vectors else 0)
    nops = ";".join(["nop"] * chance.randrange(1, 24))
    clobbers = ", ".join(f'"{name}"' for name in changed)
    return f'  __asm__ volatile("{nops}"{" ::: " + clobbers if clobbers else ""});\n'


def body(function, chance, vectors):
    before, after = filler(chance, vectors), filler(chance, vectors)
    alignment = "64" if function.argument("l") else "16"
    if function.what in "at":
        zero = f"  if (p) memset(p, 0, {function.size()});\n" if function.argument("c") else ""
        text = f"{before}  char* p = take({function.size()}, {alignment});\n{zero}{after}  return p;\n"
    elif function.what in "rq":
        block = function.argument("b")
        text = (f"{before}  size_t n = {function.size()};\n  char* p = take(n, {alignment});\n"
                f"  if (p && {block}) {{ size_t o = ((size_t*){block})[-1]; memcpy(p, {block}, o < n ? o : n); put({block}); }}\n{after}  return p;\n")
    elif function.what == "p":
        text = f"{before}  *{function.argument('o')} = take({function.size()}, {alignment});\n{after}  return 0;\n"
    elif function.what == "x":
        text = f"{before}{after}  return ((size_t*){function.argument('b')})[-1];\n"
    elif function.what == "u":
        text = f"  return ((size_t*){function.argument('b')})[-1];\n"
    else:
        text = f"{before}  put({function.argument('b')});\n{after}"
    counting = "  ++calls_of_all;\n" if function.is_counted else ""
    unused = counting + "".join(f"  (void)a{i};\n" for i in range(len(function.arguments)))
    return text, unused


def mixing(chance, integers, doubles, wide):
    """A statement for each value, which needs others."""
    lines = []
    for i in range(integers):
        j, k = chance.randrange(integers), chance.randrange(integers)
        lines.append(f"s{i} {chance.choice(('+=', '^=', '-='))} (s{j} {chance.choice('+^')} {chance.randrange(1, 99)}ul * s{k}) + (unsigned long)i;")
    for i in range(doubles):
        lines.append(f"d{i} = d{i} * 0.5 + d{chance.randrange(doubles)} + i;")
    for i in range(wide):
        lines.append(f"v{i} = v{i} * 0.25 + v{chance.randrange(wide)};")
    chance.shuffle(lines)
    return " ".join(lines)


def caller(number, gives, frees, others, chance, wide_bytes):
    """A function that allocates and frees some hundred blocks, and prints what it held meanwhile."""
    integers, doubles = chance.randrange(2, 13), chance.randrange(0, 11)
    wide = chance.randrange(1, 7) if wide_bytes else 0
    sizes = chance.choice(("80", "16", "16 + (i & 127)", "(i & 7) * 24 + 1", "8 + (i % 60) * 16", f"{chance.randrange(1, 900)}"))
    values = [f"unsigned long s{i} = {chance.randrange(10**6)};" for i in range(integers)]
    values += [f"double d{i} = {chance.randrange(1000)};" for i in range(doubles)]
    values += [f"V v{i}; memset(&v{i}, 0, sizeof v{i}); v{i} = v{i} + {chance.randrange(1000)}.0;" for i in range(wide)]
    count = chance.choice((1, 20, 300))
    if gives.what == "p":
        give = f"{{ void* r = 0; if ({gives.call('n', result='&r')}) abort(); p = (char*)r; }}"
    else:
        give = f"p = (char*){gives.call('n')};"
    other = ""
    if others:
        f = chance.choice(others)
        call = f.call("n", "p")
        other = f"{{ p = (char*){call}; all[i] = p; }}" if f.what in "rq" else f"s0 += (unsigned long){call};"
    prints = "".join(f' printf(" %lu", s{i});' for i in range(integers)) + "".join(f' printf(" %.17g", d{i});' for i in range(doubles))
    prints += "".join(f' for (unsigned e = 0; e < sizeof v{i} / 8; ++e) printf(" %.17g", v{i}[e]);' for i in range(wide))
    vector = f"typedef double V __attribute__((vector_size({wide_bytes})));" if wide_bytes else ""
    return f"""
__attribute__((noinline)) static void work{number}(void) {{
  {vector}
  static char* volatile all[{count}];
  {' '.join(values)}
  for (int i = 0; i < {count}; ++i) {{
    size_t n = {sizes};
    char* p;
    {give}
    if (!p) abort();
    memset(p, i & 63, n);
    all[i] = p;
    {other}
    {mixing(chance, integers, doubles, wide)}
  }}
  for (int i = 0; i < {count}; ++i) {{
    size_t n = {sizes};
    char* p = all[i];
    for (size_t k = 0; k < n; ++k) if (p[k] != (i & 63)) {{ printf("block %d of work{number} is damaged\\n", i); abort(); }}
    {frees.call('n', 'p')};
    {mixing(chance, integers, doubles, wide)}
  }}
  printf("work{number}");{prints} puts("");
}}
"""


def program(source, chance, is_cxx, is_split, wide_bytes):
    """Its units (one or two texts), and a name for it."""
    families = table(source)
    family = chance.choice(sorted(families))
    functions = families[family]
    gives = [f for f in functions if f[1] in "atp"]
    frees = [f for f in functions if f[1] == "f"]
    others = [f for f in functions if f[1] in "rqxu"]
    # All that frees a block of the family's has to be there for it to be hooked, and a usual function that gives some.
    chosen = [gives[0]] + chance.sample(gives[1:], min(len(gives) - 1, chance.randrange(3)))
    chosen += [frees[0]] + chance.sample(frees[1:], min(len(frees) - 1, chance.randrange(2)))
    chosen += chance.sample(others, min(len(others), chance.randrange(3)))
    uses_operators = is_cxx and all(name in OPERATORS for name, _, _ in chosen)
    linkage = "C" if is_split or family in ("C", "Operators") else chance.choice(("C", "C", "static"))
    made = [Function(*f, "" if uses_operators else linkage, uses_operators, family == "Operators") for f in chosen]
    vectors = chance.random() < 0.5
    marks = ["__attribute__((noinline))", "__attribute__((noinline, cold))", "__attribute__((noinline, hot))",
             "__attribute__((noinline, used))"]
    definitions = ""
    for f in made:
        text, unused = body(f, chance, vectors)
        definitions += f"{chance.choice(marks)} {f.head()} {{\n{unused}{text}}}\n"
    declarations = "".join(f"{f.head()};\n" for f in made)
    counter = "{}unsigned long calls_of_all;\n"
    alloc = HEAD + counter.format("") + CORES[core := chance.choice(sorted(CORES))] + declarations + definitions
    makers = [f for f in made if f.what in "atp"]
    callers, calls = "", ""
    for number in range(chance.randrange(1, 4)):
        # What was aligned is freed as it was given: they all take any block here.
        callers += caller(number, chance.choice(makers), chance.choice([f for f in made if f.what == "f"]),
                          [f for f in made if f.what in "rqxu"], chance, wide_bytes)
        calls += f"work{number}(); "
    if family == "Operators":
        calls += 'printf("%lu calls\\n", calls_of_all);'
    tail = callers + MAIN.replace("CALLS", calls)
    name = f"{family} {core} {linkage or 'operators'} {len(made)} functions"
    if is_split:
        return [alloc, HEAD + counter.format("extern ") + declarations + tail], name
    return [alloc + tail], name
