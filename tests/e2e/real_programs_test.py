# SPDX-License-Identifier: Apache-2.0
"""Real programs do the same with the profiler as without: output, messages, exit status, files they make.

At rates 0, 512 and 512k, and with other allocators behind memprof. At rate 0 the numbers are exact, so the ones
at 512 must lie around them.
"""
import math
import os
import struct
import subprocess

import e2e

WHOLE = bool(os.environ.get("MEMPROF_TEST_WHOLE"))

SQL = """
CREATE TABLE t(id INTEGER PRIMARY KEY, word TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
  INSERT INTO t SELECT i, printf('%d-%s', i * 7919 % 30011, hex(zeroblob(i % 40))) FROM n;
CREATE INDEX by_word ON t(word);
SELECT count(*), sum(length(word)), max(word) FROM t;
SELECT group_concat(word) FROM (SELECT word FROM t ORDER BY word DESC LIMIT 20);
"""

PYTHON = """
import collections, hashlib, json, re, sys
data = [{"id": i, "name": "n%d" % (i * 7919 % 10007), "tags": [str(j) for j in range(i % 10)]} for i in range(5000)]
text = json.dumps(data)
again = json.loads(text)
assert again == data
words = collections.Counter(re.findall(r"n\\d\\d+", text))
print(len(text), hashlib.sha256(text.encode()).hexdigest(), words.most_common(3))
print(sorted(re.sub(r"(\\d)(\\d)", r"\\2\\1", w) for w in list(words)[:20]))
sys.exit(3)
"""

NUMPY = """
import numpy
a = numpy.arange(400_000, dtype=float).reshape(400, 1000)
print((a @ a.T).sum(), numpy.sort(a, axis=None)[::50_000], numpy.fft.fft(a[0]).real[:3].round(6))
"""

NODE = """
const map = new Map();
for (let i = 0; i < 20000; i++) map.set('key' + (i * 7919 % 10007), [i, String(i).repeat(5)]);
const text = JSON.stringify([...map]);
const crypto = require('crypto');
console.log(text.length, crypto.createHash('sha256').update(text).digest('hex'));
const buffers = [];
for (let i = 0; i < 200; i++) buffers.push(Buffer.alloc(10000, i));
console.log(Buffer.concat(buffers).length, require('zlib').gzipSync(text).length);
process.exitCode = 4;
"""

PERL = """
my %h; $h{$_ * 7919 % 10007} .= "x" x ($_ % 50) for 1 .. 50000;
my $s = join ",", map { "$_=" . length $h{$_} } sort { $a <=> $b } keys %h;
print length($s), " ", unpack("%32C*", $s), " ", ($s =~ s/(\\d)=/=$1/gr) =~ tr/=//, "\\n"; exit 5;
"""

TEMPLATES = """
#include <map>
#include <string>
#include <tuple>
#include <vector>
template <int N> struct Chain { static constexpr int value = Chain<N - 1>::value + N % 7; };
template <> struct Chain<0> { static constexpr int value = 0; };
template <typename... T> auto all(T... t) { return std::tuple_cat(std::make_tuple(t, std::to_string(t))...); }
int f(const std::string& s) {
  std::map<std::string, std::vector<int>> m;
  m[s].push_back(Chain<400>::value);
  return m[s][0] + std::get<0>(all(1, 2L, 3.0));
}
"""


class Program:
    """A command, what it reads, and the file that it makes, if it makes one."""

    def __init__(self, command, makes=None, stdin=None):
        self.command, self.makes, self.stdin = command, makes, stdin


class RealPrograms(e2e.Test):
    def outcome(self, program, environment):
        made = self.folder / program.makes if program.makes else None
        if made and made.exists():
            made.unlink()
        options = {"input": program.stdin} if program.stdin is not None else {}
        done = e2e.run(program.command, environment, timeout=120, cwd=self.folder, **options)
        return done.returncode, done.stdout, done.stderr, made.read_bytes() if made else None

    def check_same(self, program, status=0, rates=(0, 512, "512k"), allocators=tuple(e2e.ALLOCATORS), spread=0.01,
                   may_drop=False):
        """`spread`: by what share the program's own allocations differ from run to run."""
        alone = self.outcome(program, e2e.plain_environment())
        self.assertEqual(alone[0], status, alone[2].decode(errors="replace")[-2000:])
        self.assertTrue(alone[1] or alone[3], "the program does nothing that could be compared")
        profiles = {}
        for rate, behind in [(rate, None) for rate in rates] + [(512, name) for name in allocators]:
            with self.subTest(rate=rate, behind=behind):
                target = self.folder / f"{rate}-{behind}"
                target.mkdir()
                library = behind and e2e.allocator(behind)
                with_memprof = self.outcome(program, e2e.preloaded(target / "%n.%p.pb", rate, library))
                if with_memprof != alone and behind:
                    # Is it the allocator's own doing?
                    alone = self.outcome(program, e2e.plain_environment(LD_PRELOAD=library))
                self.assertEqual(with_memprof, alone)
                profiles[rate, behind] = self.largest(target)
        for profile in profiles.values():
            if not may_drop:
                self.assertEqual(profile.facts["dropped_samples"], "0")
            self.assertEqual(profile.default_type, "peak_space")
        self.check_totals(profiles, spread)
        return profiles

    def largest(self, folder):
        """The profile of the process that allocated most; each of them is whole."""
        profiles = [e2e.Profile(path) for path in folder.iterdir()]
        self.assertTrue(profiles, "no profile was written")
        return max(profiles, key=lambda p: p.total("alloc_space"))

    def check_totals(self, profiles, spread):
        """At 512 bytes a sample the estimate lies within 6 standard deviations of the exact number: odds of 2e-9 a
        comparison."""
        if (0, None) not in profiles or profiles[0, None].facts["dropped_samples"] != "0":
            return
        exact = profiles[0, None].total("alloc_space")
        estimate = profiles[512, None].total("alloc_space")
        variance = sum(_hex_double(part[3:]) for comment in profiles[512, None].comments
                       if comment.startswith("#memprof.stack ") for part in comment.split() if part[:3] == "vb=")
        self.assertGreater(exact, 0)
        self.assertLess(abs(estimate - exact), 6 * math.sqrt(variance) + spread * exact, (estimate, exact))

    def test_sqlite3_fills_a_table(self):
        profiles = self.check_same(Program([e2e.need("sqlite3"), ":memory:", SQL]))
        self.assertGreater(profiles[0, None].total("alloc_space"), 1_000_000)

    def test_git_log(self):
        repository = e2e.SOURCE
        if not (repository / ".git").exists():  # sources from an archive
            repository = self.folder / "repository"
            history = "".join(
                f"commit refs/heads/main\ncommitter A <a@example.org> {1600000000 + i} +0000\ndata 4\nc{i:03}\n"
                f"M 644 inline f{i % 10}\ndata 3000\n{str(i) * 3000:.3000}\n" for i in range(300))
            subprocess.run([e2e.need("git"), "init", "-q", "-b", "main", repository], check=True)
            subprocess.run([e2e.need("git"), "-C", repository, "fast-import", "--quiet"], check=True,
                           input=history.encode())
        self.check_same(Program([e2e.need("git"), "--no-pager", "-c", f"safe.directory={repository}", "-C", repository,
                                 "log", "--stat", "-n", "100"]))

    def test_python3(self):
        profiles = self.check_same(Program([e2e.system_python(), "-I", "-c", PYTHON]), status=3)
        self.assertGreater(profiles[512, "jemalloc"].total("alloc_space"), 1_000_000)

    def test_python3_with_numpy(self):
        # ./dev installs numpy for the distribution's python3. One allocator: the interpreter alone is behind each above, and
        # NumPy takes 5 s a time; ./dev endure has all.
        self.check_same(Program([e2e.system_python(), "-I", "-c", NUMPY]),
                        allocators=tuple(e2e.ALLOCATORS) if WHOLE else ("tcmalloc",))

    def test_gcc_compiles_templates(self):
        source = self.folder / "templates.cc"
        source.write_text(TEMPLATES)
        # Every process of the compiler is profiled: the driver, cc1plus, as. At rate 0 it has more stacks than there
        # is room for.
        self.check_same(Program([e2e.need("g++"), "-std=c++17", "-O0", "-c", "templates.cc", "-o", "templates.o"],
                                makes="templates.o"), rates=(0, 512, "512k"), allocators=("jemalloc",), may_drop=True)

    def test_sort_of_a_big_file(self):
        lines = "".join(f"{i * 7919 % 200003:06} {'x' * (i % 30)}\n" for i in range(200_000))
        (self.folder / "lines").write_text(lines)
        self.check_same(Program([e2e.need("sort"), "--parallel=2", "-S", "8M", "-k", "2", "-k", "1n", "lines", "-o",
                                 "sorted"], makes="sorted"))

    def test_sort_of_standard_input(self):
        lines = "".join(f"{i * 7919 % 20011:06}\n" for i in range(20_000)).encode()
        self.check_same(Program([e2e.need("sort")], stdin=lines), allocators=())

    def test_node(self):
        self.check_same(Program([e2e.need("node"), "-e", NODE]), status=4, allocators=("jemalloc", "mimalloc"),
                        spread=0.2)  # it compiles in threads, when it likes

    def test_perl(self):
        self.check_same(Program([e2e.need("perl"), "-e", PERL]), status=5)

    def test_shell_script_with_children(self):
        script = "for i in 1 2 3; do echo $i | sed s/1/one/ | tr a-z A-Z; done; (exit 6) || exit 6"
        self.check_same(Program([e2e.need("bash"), "-c", script]), status=6, allocators=())


def _hex_double(text):
    return struct.unpack(">d", bytes.fromhex(text.zfill(16)))[0]  # 0 is short


if __name__ == "__main__":
    e2e.main()
