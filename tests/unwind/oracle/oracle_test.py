#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs under the oracle (oracle.cc) and says how many of their stacks are what libunwind finds.

usage: oracle_test.py [PROGRAM...]      all by default; MEMPROF_ORACLE_PROGRAMS is the folder of the built ones

At least 99.99 % must be identical, but for the differences whose reason stands in EXPLAINED.
"""
import collections
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

PROGRAMS = os.environ["MEMPROF_ORACLE_PROGRAMS"]
CXX = os.environ.get("MEMPROF_ORACLE_CXX", "g++")
RESULTS_BYTES = 8 * 8 + (1 << 20)
FIELDS = ("samples", "identical", "root_reached", "oracle_ended", "skipped", "frames", "most_frames", "text_used")

# A difference that matches is not counted: (pattern of its line, reason).
EXPLAINED = [
    (r"/no_tables_main after=\d+ .* reason=0 .* last_same=no_tables_main\S* our_next=libc\.so",
     "after code without tables libunwind does not know the stack pointer; the engine goes on from main to the root"),
]

PYTHON = """
import json, re, sqlite3, hashlib, collections
for i in range(40):
    json.loads(json.dumps({str(k): list(range(k % 30)) for k in range(500)}))
    re.sub(r'(a+)(b*)', lambda m: m.group(2) * 600, 'aab' * 200)
    sorted((str(k) * 20 for k in range(3000)), key=lambda s: hash(s + 'x' * 600))
    hashlib.sha256(b'x' * 100000).hexdigest()
    collections.Counter(str(k) for k in range(2000))
try:
    import numpy as np
    for i in range(200):
        a = np.random.rand(60, 60)
        (a @ a.T + a[::2, ::2].sum()).astype('float32')
        np.linalg.svd(a)
        np.sort(np.char.add(np.array(['x'] * 50), 'y'))
except ImportError:
    pass
"""
PERL = """
my %h; for my $i (1..60000) { $h{"key$i"} = [ map { $_ * 2 } 1..($i % 7) ]; $h{"key$i"}[0] .= "x" x ($i % 50); }
my @s = sort { $a cmp $b } keys %h; my $t = join ",", map { s/key(\\d+)/$1-$1/r } @s; print length $t, "\\n";
"""
SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into t select i, hex(randomblob(i % 40)), i / 3.0 from n;
create index tb on t(b);
select count(*), sum(length(b)) from t join (select b as d from t where a % 7 = 0) on b = d;
select group_concat(b, ',') from (select b from t order by c desc limit 2000);
"""
NODE = """
const out = []; for (let i = 0; i < 300; i++) {
  out.push(JSON.parse(JSON.stringify({a: Array.from({length: 100}, (_, k) => ({k, s: 'x'.repeat(k)}))})));
  out.push(Buffer.alloc(10000 + i)); require('zlib').deflateSync(Buffer.alloc(5000, i));
  require('crypto').createHash('sha256').update(String(i)).digest('hex');
  /(a+)+b/.test('a'.repeat(12)); if (i % 50 == 0) require('fs').readFileSync(process.execPath.slice(0, 0) || '/proc/self/maps');
}
let n = 0; for (let i = 0; i < 2e5; i++) n += [i, i + 1].map(x => x * 2).length; console.log(out.length, n);
"""
CODE = """
#include <map>
#include <regex>
#include <string>
#include <vector>
#include <iostream>
#include <functional>
int f(const std::string& s) {
  std::map<std::string, std::vector<std::function<int(int)>>> m;
  for (int i = 0; i < 10; ++i) m[s].push_back([i](int x) { return x + i; });
  std::regex r("a(b|c)*d"); std::cout << std::regex_match(s, r) << m.size(); return m[s][0](1);
}
"""


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def programs(folder):
    """name -> (every n-th allocation, least samples, command, input)."""
    code = write(folder, "code.cc", CODE)
    python = write(folder, "program.py", PYTHON)
    repository = os.path.join(folder, "repository")
    make = ("git init -q . && for i in $(seq 30); do seq $i 500 >f$i; git add f$i; git -c user.name=t -c user.email=t@t "
            "commit -q -m c$i; done; git log --stat -p >/dev/null; git gc -q --prune=now; git blame f9 >/dev/null; "
            "git grep 33 | wc -l")
    os.mkdir(repository)
    yield "odd_frames", 1, 10000, [os.path.join(PROGRAMS, "odd_frames"), "150"], None
    yield "odd_frames_with_fp", 1, 10000, [os.path.join(PROGRAMS, "odd_frames_with_fp"), "150"], None
    yield "odd_frames_realigned", 1, 10000, [os.path.join(PROGRAMS, "odd_frames_realigned"), "150"], None
    yield "churn", 5, 3000, [os.path.join(PROGRAMS, "churn"), "3000", os.path.join(PROGRAMS, "churn_a.so"),
                             os.path.join(PROGRAMS, "churn_b.so")], None
    yield "no_tables", 1, 1000, [os.path.join(PROGRAMS, "no_tables_main")], None
    yield "python3", 10, 10000, ["/usr/bin/python3", python], None
    yield "git", 5, 5000, ["sh", "-c", f"cd {repository} && {make}"], None
    yield "perl", 20, 5000, ["perl", "-e", PERL], None
    yield "sqlite3", 10, 5000, ["sqlite3", ":memory:"], SQL
    yield "cc1plus", 100, 5000, [CXX, "-std=c++17", "-O2", "-c", code, "-o", os.path.join(folder, "code.o")], None
    if shutil.which("clang++-19"):
        yield "clang", 100, 5000, ["clang++-19", "-std=c++17", "-O2", "-c", code, "-o",
                                   os.path.join(folder, "code.o")], None
    if os.path.exists("/usr/bin/node"):
        yield "node", 10, 5000, ["/usr/bin/node", write(folder, "program.js", NODE)], None


def run(folder, name, every, command, text):
    file = os.path.join(folder, "results")
    with open(file, "wb") as f:
        f.truncate(RESULTS_BYTES)
    environment = dict(os.environ, LD_PRELOAD=os.path.join(PROGRAMS, "memprof_oracle.so"), ORACLE_FILE=file,
                       ORACLE_EVERY=str(every), ORACLE_CACHE="none" if name == "churn" else "default")
    environment.pop("LD_BIND_NOW", None)
    done = subprocess.run(command, input=text, text=True, env=environment, timeout=300, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    with open(file, "rb") as f:
        data = f.read()
    results = dict(zip(FIELDS, struct.unpack_from("<8Q", data)))
    lines = data[64:64 + results["text_used"]].decode(errors="replace").splitlines()
    return done, results, [line for line in lines if line.startswith("DIFFERENT")]


def main():
    wanted = sys.argv[1:]
    total = collections.Counter()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name, every, least, command, text in programs(folder):
            if wanted and name not in wanted:
                continue
            done, results, lines = run(folder, name, every, command, text)
            if done.returncode != 0:
                failures.append(f"{name}: ended with {done.returncode}: {done.stderr[-500:]}")
            different = results["samples"] - results["identical"]
            explained = collections.Counter()
            unexplained = []
            for line in lines:
                reason = next((why for pattern, why in EXPLAINED if re.search(pattern, line)), None)
                if reason is None:
                    unexplained.append(line)
                else:
                    explained[reason] += 1
            # Lines beyond the file's size are lost, and count.
            bad = different - sum(explained.values())
            print(f"{name}: {results['samples']} samples, {different} different ({bad} not explained), root reached "
                  f"{results['root_reached']}, frames {results['frames'] / max(1, results['samples']):.1f} on average, "
                  f"{results['most_frames']} at most, {results['skipped']} skipped", flush=True)
            for reason, count in explained.items():
                print(f"    {count}: {reason}")
            for line, count in collections.Counter(unexplained).most_common(15):
                print(f"    {count}x {line}")
            total.update(samples=results["samples"], bad=bad)
            if results["samples"] < least:
                failures.append(f"{name}: only {results['samples']} samples: the comparison did not happen")
            if bad * 10000 > results["samples"]:
                failures.append(f"{name}: {bad} of {results['samples']} stacks are not what libunwind finds")
    print(f"all: {total['samples']} samples, {total['bad']} different without a reason")
    if not wanted and total["samples"] < 100000:
        failures.append("fewer than 100,000 samples")
    print("\n".join(failures))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
