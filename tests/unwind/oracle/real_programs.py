# SPDX-License-Identifier: Apache-2.0
"""Real programs of the distribution and what they are to do: for the oracle, and for `bench/run stacks`."""
import os
import shutil

CXX = os.environ.get("MEMPROF_ORACLE_CXX", "g++")

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


def commands(folder):
    """name -> (command, input); what they read and make lies in `folder`. clang and node may be missing."""
    code = write(folder, "code.cc", CODE)
    repository = os.path.join(folder, "repository")
    shutil.rmtree(repository, ignore_errors=True)
    os.mkdir(repository)
    make = ("git init -q . && for i in $(seq 30); do seq $i 500 >f$i; git add f$i; git -c user.name=t -c user.email=t@t "
            "commit -q -m c$i; done; git log --stat -p >/dev/null; git gc -q --prune=now; git blame f9 >/dev/null; "
            "git grep 33 | wc -l")
    compile_options = ["-std=c++17", "-O2", "-c", code, "-o", os.path.join(folder, "code.o")]
    found = {
        "python3": (["/usr/bin/python3", write(folder, "program.py", PYTHON)], None),
        "git": (["sh", "-c", f"cd {repository} && {make}"], None),
        "perl": (["perl", "-e", PERL], None),
        "sqlite3": (["sqlite3", ":memory:"], SQL),
        "cc1plus": ([CXX, *compile_options], None),
        "clang": (["clang++-19", *compile_options], None),
        "node": (["/usr/bin/node", write(folder, "program.js", NODE)], None),
    }
    return {name: how for name, how in found.items() if name not in ("clang", "node") or shutil.which(how[0][0])}
