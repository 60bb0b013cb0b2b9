#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the stacks that memprof recorded of real programs with a shadow stack of their calls and returns
(shadow.cc), which knows nothing of unwind tables. All must be identical, and each as often.

usage: shadow_test.py [PROGRAM...]      all by default; the environment names the libraries (CMakeLists.txt)

A tracer that forgets one call in a hundred must be found out: the test can fail. (Some 100 samples differ
then: odds far below 1e-6 that none does.)
"""
import collections
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

LIBRARY = os.environ["MEMPROF_SHADOW_LIBRARY"]
TRACER = os.environ["MEMPROF_SHADOW_TRACER"]
RATE_BYTES = 256
LOG_FIELDS = ("used_words", "samples", "calls", "returns", "passed_over", "without_partner", "changed", "lost")
LOG_BYTES = 8 * (len(LOG_FIELDS) + (1 << 23))
# Entered once for each sample that is recorded.
EVENT = "memprof::profiler::end_allocation("
# `bnd ret`, `addr32 call`, `data16 rex.W call`, ...
SITE = re.compile(rb"^\s*([0-9a-f]+):\t(?:(?:bnd|notrack|repz?|addr32|data16|rex\.\w+|cs|ds) )*(?:call|ret)q?\b", re.M)

SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 1500)
  insert into t select i, hex(zeroblob(i % 40)), i / 3.0 from n;
create index tb on t(b);
select count(*), sum(length(b)) from t join (select b as d from t where a % 7 = 0) on b = d;
select group_concat(b, ',') from (select b from t order by c desc limit 500);
"""
PYTHON = """
import collections
for i in range(10):
    sorted((str(k) * 20 for k in range(200)), key=lambda s: hash(s + 'x' * 600))
    collections.Counter(str(k) for k in range(200))
    [eval(compile('[x * %d for x in range(9)]' % k, 'made', 'eval')) for k in range(20)]
    try:
        {}['not there']
    except KeyError:
        pass
"""
PERL = """
my %h; for my $i (1..2000) { $h{"key$i"} = [ map { $_ * 2 } 1..($i % 7) ]; $h{"key$i"}[0] .= "x" x ($i % 50); }
for my $i (1..20) { eval { die "left by longjmp $i" }; $h{$i} = $@; }
my @s = sort { $a cmp $b } keys %h; my $t = join ",", map { s/key(\\d+)/$1-$1/r } @s; print length $t, "\\n";
"""


def programs():
    """name -> (least samples, command, input)."""
    yield "odd_control", 1000, [os.environ["MEMPROF_SHADOW_ODD_CONTROL"]], None
    yield "sqlite3", 1000, ["sqlite3", ":memory:"], SQL
    yield "python3", 3000, ["/usr/bin/python3", "-I", "-S", "-c", PYTHON], None
    yield "perl", 1000, ["perl", "-e", PERL], None


def environment(preload, **extra):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MEMPROF_") and k != "LD_PRELOAD"}
    return dict(kept, LD_PRELOAD=preload, LC_ALL="C", **extra)


def write_sites(path, command):
    """The file of SHADOW_SITES for what `command` loads; returns how many."""
    listing = subprocess.run(command[:1], env=environment("", LD_TRACE_LOADED_OBJECTS="1"), stdout=subprocess.PIPE,
                             text=True, check=True).stdout
    files = [os.path.realpath(shutil.which(command[0]))] + re.findall(r"(/\S+) \(0x", listing)
    total = 0
    with open(path, "wb") as f:
        for file in files:
            text = subprocess.run(["objdump", "-dw", "--no-show-raw-insn", file], stdout=subprocess.PIPE,
                                  check=True).stdout
            sites = [int(address, 16) for address in SITE.findall(text)]
            name = os.fsencode(file) + b"\0"
            f.write(name + bytes(-len(name) % 8) + struct.pack(f"<{1 + len(sites)}Q", len(sites), *sites))
            total += len(sites)
    return total


def event_address():
    symbols = subprocess.run(["nm", "-C", LIBRARY], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = [line.split()[0] for line in symbols.splitlines() if f" {EVENT}" in line and ".cold]" not in line]
    if len(found) != 1:
        sys.exit(f"{LIBRARY} has {len(found)} symbols {EVENT}...); the test needs the one that a sample enters")
    return "0x" + found[0]


def run(folder, command, text, forget=0):
    """Returns (what went wrong or "", log fields, shadow stacks, recorded stacks): stacks -> samples."""
    log, recorded = os.path.join(folder, "log"), os.path.join(folder, "recorded")
    with open(log, "wb") as f:
        f.truncate(LOG_BYTES)
    done = subprocess.run(command, input=text, text=True, timeout=120, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, env=environment(
                              f"{LIBRARY}:{TRACER}", SHADOW_SITES=os.path.join(folder, "sites"), SHADOW_LOG=log,
                              SHADOW_RECORDED=recorded, SHADOW_EVENT=event_address(), SHADOW_RATE=str(RATE_BYTES),
                              SHADOW_FORGET=str(forget)))
    if done.returncode != 0:
        return f"ended with {done.returncode}: {done.stderr[-500:]}", {}, {}, {}
    with open(log, "rb") as f:
        fields = dict(zip(LOG_FIELDS, struct.unpack(f"<{len(LOG_FIELDS)}Q", f.read(8 * len(LOG_FIELDS)))))
        words = struct.unpack(f"<{fields['used_words']}Q", f.read(8 * fields["used_words"]))
    truth, at = collections.Counter(), 0
    while at < len(words):
        truth[words[at + 1:at + 1 + words[at]]] += 1
        at += 1 + words[at]
    with open(recorded, "rb") as f:
        data = f.read()
    words = struct.unpack(f"<{len(data) // 8}Q", data)
    stacks, at = collections.Counter(), 0
    while at < len(words):
        stacks[words[at + 2:at + 2 + words[at + 1]]] += words[at]
        at += 2 + words[at + 1]
    return "", fields, truth, +stacks


def different(truth, stacks):
    """Samples that have another stack in the one than in the other."""
    return sum((truth - stacks).values()), sum((stacks - truth).values())


def explain(truth, stacks):
    """The first differences, each beside what is most like it."""
    theirs = list((stacks - truth).items())
    for stack, count in list((truth - stacks).items())[:5]:
        def same(other):
            return next((i for i, (a, b) in enumerate(zip(stack, other[0])) if a != b), 0)
        best = max(theirs, key=same, default=((), 0))
        at = same(best)
        print(f"    {count}x shadow {len(stack)} frames, recorded {len(best[0])}, first {at} the same, then "
              f"{[hex(a) for a in stack[at:at + 3]]} against {[hex(a) for a in best[0][at:at + 3]]}")


def check(folder, name, least, command, text):
    sites = write_sites(os.path.join(folder, "sites"), command)
    wrong, log, truth, stacks = run(folder, command, text)
    if wrong:
        return [f"{name}: {wrong}"]
    shadow_only, recorded_only = different(truth, stacks)
    depths = sum(len(stack) * count for stack, count in truth.items())
    print(f"{name}: {log['samples']} samples, {len(truth)} stacks, {log['samples'] - shadow_only} identical, frames "
          f"{depths / max(1, log['samples']):.1f} on average; {log['calls']} calls and {log['returns']} returns at {sites} "
          f"places, {log['passed_over']} left otherwise", flush=True)
    failures = []
    if shadow_only or recorded_only:
        explain(truth, stacks)
        failures.append(f"{name}: {shadow_only} samples of the shadow stack and {recorded_only} of memprof have no partner")
    for field in ("without_partner", "changed", "lost"):
        if log[field]:
            failures.append(f"{name}: the shadow stack is not whole: {log[field]} {field}")
    if log["samples"] < least:
        failures.append(f"{name}: only {log['samples']} samples: the comparison did not happen")
    return failures


def check_that_it_can_fail(folder, name, command, text):
    wrong, log, truth, stacks = run(folder, command, text, forget=100)
    found = wrong or different(truth, stacks)[0]
    print(f"{name}, tracer forgets one call in 100: {found} of {log.get('samples')} samples differ")
    return [] if not wrong and found > 0 else [f"{name}: calls that the tracer forgot were not found"]


def main():
    wanted = sys.argv[1:]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name, least, command, text in programs():
            if wanted and name not in wanted:
                continue
            failures += check(folder, name, least, command, text)
            if name == "sqlite3" and not failures:
                failures += check_that_it_can_fail(folder, name, command, text)
    print("\n".join(failures))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
