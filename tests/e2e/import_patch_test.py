# SPDX-License-Identifier: Apache-2.0
"""The library loaded at run time: programs/patched.c dlopens it into any program and starts it before main."""
import platform
import re
import shutil
import unittest

import e2e

SITES = ("site_16", "site_1000", "site_65536", "site_1m", "site_mixed")


class Patched(e2e.Test):
    def environment(self, rate=0, profile="out.pb", behind=None, **extra):
        preload = (f"{behind}:" if behind else "") + e2e.program("patched.so")
        if profile is not None:
            extra["PATCHED_PROFILE"] = str(self.folder / profile)
        return e2e.plain_environment(LD_PRELOAD=preload, PATCHED_LIBRARY=str(e2e.LIBRARY), MEMPROF_RATE=str(rate), **extra)

    def run_patched(self, name, *arguments, timeout=e2e.WATCHDOG_S, **options):
        done = self.check(e2e.run([e2e.program(name), *arguments], self.environment(**options), timeout))
        return done.stdout.decode(), self.named(self.only_profile())


class Family(Patched):
    """Every function of the family, exact, with its direct caller as the leaf; as when preloaded."""

    def check_family(self, **options):
        said, profile = self.run_patched("family", NO_FREE_SIZED="1", **options)
        self.check_truth(said, profile)
        self.assertEqual(profile.facts["dropped_samples"], "0")
        self.assertEqual(profile.facts["replaced_samples"], "0")

    def test_family(self):
        self.check_family()

    def test_with_jemalloc(self):
        self.check_family(behind=e2e.allocator("jemalloc"), NO_PVALLOC="1")

    def test_with_tcmalloc(self):
        self.check_family(behind=e2e.allocator("tcmalloc"))

    def test_with_tcmalloc_minimal(self):
        self.check_family(behind=e2e.allocator("tcmalloc_minimal"))

    def test_with_mimalloc(self):
        self.check_family(behind=e2e.allocator("mimalloc"))

    def test_an_allocator_without_aligned_functions(self):
        """Aligned operators go on to whoever has them, as without the library."""
        said, profile = self.run_patched("aligned_new", behind=e2e.program("bare_allocator.so"))
        self.assertEqual(said, "0 wrong\n")
        self.assertGreaterEqual(int(profile.facts["samples"]), 200)

    def test_bound_at_once(self):
        self.check_family(LD_BIND_NOW="1")

    def test_archive_without_the_interposer(self):
        checks = e2e.run([e2e.program("exact_api"), "--list"]).stdout.decode().split()
        self.assertGreater(len(checks), 10)
        for check in checks:
            with self.subTest(check):
                self.check(e2e.run([e2e.program("exact_api"), check]))


class Variables(Patched):
    """Calls through pointers in data."""

    def test_variable_of_which_the_executable_has_a_copy(self):
        listing = e2e.run([e2e.need("readelf"), "-rW", e2e.program("copied_variable")]).stdout.decode()
        # clang's code asks for no copy: the library's own variable is everybody's then.
        compiler = e2e.run([e2e.need("readelf"), "-p", ".comment", e2e.program("copied_variable")]).stdout.decode()
        if "clang" not in compiler:
            self.assertRegex(listing, "_COPY .*variable_malloc", "the linker made no copy")
        done = self.check(e2e.run([e2e.program("copied_variable")]))
        self.assertEqual(done.stdout.decode(), "samples 2 live 1\n")


# Works on strings, dictionaries, text and trees, the same ones each time.
SEEDED = """
import json, random, re, sqlite3, zlib
draw = random.Random(5)
kept = []
for i in range(60):
    data = {str(draw.random()): [draw.random(), 'x' * draw.randrange(2000), {draw.random(): i}] for _ in range(300)}
    text = json.dumps(data)
    kept.append((re.sub('x+', '', text), zlib.compress(text.encode()), json.loads(text)))
    if i % 3: kept[i] = None
base = sqlite3.connect(':memory:')
base.execute('create table t (a, b)')
base.executemany('insert into t values (?, ?)', ((draw.random(), 'y' * draw.randrange(500)) for _ in range(20000)))
base.execute('create index i on t (a)')
print(base.execute('select count(*), total(length(b)) from t where a > 0.5').fetchone())
"""


class Estimates(Patched):
    """Odds of a false alarm: an interval is 1.96 standard deviations to each side, and a difference of two may be 6 of
    its own (2e-9). Where a site has few samples it is no normal variable: two Poisson counts of the same mean differ by
    more than 6 of those and 20 samples with less than 1e-9. With less than 500 comparisons: below 2e-6. A bias of 3 % of one side is seen (of a site with many samples)."""

    def setUp(self):
        super().setUp()
        self.compared = 0

    def check_same(self, one, other, rate, what):
        """Of two estimates {value, low, high}; None where the site has no sample."""
        one, other = (v or {"value": 0, "low": 0, "high": 0} for v in (one, other))
        sigmas = [max(v["high"] - v["value"], v["value"] - v["low"]) / 1.96 for v in (one, other)]
        bound = 6 * (sigmas[0] ** 2 + sigmas[1] ** 2) ** 0.5 + 20 * rate
        self.assertLessEqual(abs(one["value"] - other["value"]), bound, what)
        self.compared += 1

    def check_every_site(self, patched, preloaded, rate, metrics=("alloc_space", "inuse_space")):
        tables = [{(row["name"], row["file"]): row for row in self.report(path, "-n", "100000", "--no-debuginfod", "--imports")["rows"]}
                  for path in (patched, preloaded)]
        for site in sorted(tables[0].keys() | tables[1].keys()):
            for metric in metrics:
                values = [table.get(site, {}).get("self", {}).get(metric) for table in tables]
                if any(v and v["value"] for v in values):
                    self.check_same(*values, rate, f"{site} {metric}: {values}")
        self.assertLess(self.compared, 500)
        return tables

    def test_known_sites(self):
        """And each holds the truth."""
        rate = 65536
        said, _ = self.run_patched("known_heap", rate=rate)
        self.check(e2e.run([e2e.program("known_heap")], e2e.preloaded(self.folder / "preloaded.pb", rate)))
        tables = self.check_every_site(self.folder / "out.pb", self.folder / "preloaded.pb", rate)
        truth = {line.split()[1]: list(map(int, line.split()[3:])) for line in said.splitlines()}
        self.assertEqual(sorted(truth), sorted(SITES))
        tables = [{name: row for (name, _), row in table.items()} for table in tables]
        for site, (_, allocated, _, live) in truth.items():
            for metric, true in (("alloc_space", allocated), ("inuse_space", live)):
                for table in tables:
                    value = table.get(site, {}).get("self", {}).get(metric) or {"value": 0, "low": 0, "high": 0}
                    if true == 0:
                        self.assertEqual(value["value"], 0, (site, metric))
                    else:
                        self.check_same(value, {"value": true, "low": true, "high": true}, 0 if value["value"] else rate,
                                        f"{site} {metric} {true}: {value}")

    def test_every_site_of_a_seeded_program(self):
        rate = 4096
        command = [e2e.system_python(), "-c", SEEDED]
        same = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
        patched = self.check(e2e.run(command, self.environment(rate=rate, **same)))
        preloaded = self.check(e2e.run(command, e2e.preloaded(self.folder / "preloaded.pb", rate, **same)))
        self.assertEqual(patched.stdout, preloaded.stdout)
        # What is live is of two moments: preloaded before Python finalizes, else when the profile is written.
        self.check_every_site(self.folder / "out.pb", self.folder / "preloaded.pb", rate, ("alloc_space",))
        self.assertGreater(self.compared, 30)


class Programs(Patched):
    def test_life_cycle_from_c(self):
        done = self.check(e2e.run([e2e.program("run_time"), e2e.LIBRARY, self.folder / "out.pb"]))
        self.check_truth(done.stdout.decode(), self.named(self.only_profile()))

    def test_no_file_is_left_of_a_process_that_ends(self):
        """Nor of its children, which are followed here and end by _exit, as those of a server that saves itself do."""
        arenas = self.folder / "arenas"
        arenas.mkdir()
        script = ("import os\nfor _ in range(5):\n  if os.fork() == 0:\n    x = [bytearray(100000) for _ in range(99)]\n"
                  "    os._exit(0)\n  os.wait()\nos._exit(3)")
        environment = self.environment(rate="4k", profile=None, MEMPROF_FOLLOW_FORK="1", MEMPROF_ARENA_DIR=str(arenas))
        self.check(e2e.run([e2e.system_python(), "-c", script], environment), 3)
        self.assertEqual(list(arenas.iterdir()), [])
        for how in ("leaves", "--list"):  # linked without the interposer; ended by return
            self.check(e2e.run([e2e.program("exact_api"), how], e2e.plain_environment(MEMPROF_ARENA_DIR=str(arenas))))
            self.assertEqual(list(arenas.iterdir()), [])

    def test_an_allocator_inside_the_executable_is_left_alone(self):
        """Trap 1: it aborts when a block of its own meets another free."""
        done = self.check(e2e.run([e2e.program("own_malloc"), e2e.LIBRARY]))
        self.assertRegex(done.stdout.decode(), r"init no error\nstart the library cannot see .* malloc of its own")

    def test_two_copies(self):
        copy = self.folder / "libcopy.so"
        shutil.copy(e2e.LIBRARY, copy)
        done = self.check(e2e.run([e2e.program("two_copies"), e2e.LIBRARY, copy]))
        self.assertRegex(done.stdout.decode(), r"^first init 0 start 0\nsecond init -10: another copy of memprof is at work.*\n"
                                               r"second start -2\nfirst 100 second 0\n$")

    def test_two_preloaded_copies(self):
        copy = self.folder / "libcopy.so"
        shutil.copy(e2e.LIBRARY, copy)
        environment = e2e.preloaded(self.folder / "out.pb", 0, behind=copy)
        done = self.check(e2e.run([e2e.program("exact"), "--list"], environment), stderr=None)
        self.assertEqual(done.stderr, b"memprof: not profiling: another copy of memprof is at work in this process; it goes "
                                      b"on, this one stays off\n")
        e2e.Profile(self.only_profile("out.pb"))

    def test_a_copy_beside_a_preloaded_one(self):
        copy = self.folder / "libcopy.so"
        shutil.copy(e2e.LIBRARY, copy)
        environment = e2e.preloaded(self.folder / "out.pb", 0, PATCHED_LIBRARY=str(copy), PATCHED_MAY_FAIL="1")
        environment["LD_PRELOAD"] += ":" + e2e.program("patched.so")
        done = self.check(e2e.run([e2e.program("exact"), "--list"], environment), stderr=None)
        self.assertIn(b"another copy of memprof is at work", done.stderr)
        e2e.Profile(self.only_profile("out.pb"))

    def start_and_stop(self, *rounds, **environment):
        done = self.check(e2e.run([e2e.program("start_stop_api"), *rounds], e2e.plain_environment(**environment), timeout=150))
        found = re.fullmatch(r"samples (\d+) live (\d+) dropped (\d+) replaced (\d+)\n", done.stdout.decode())
        samples, live, dropped, replaced = map(int, found.groups())
        self.assertGreater(samples, 1000)
        self.assertEqual(dropped, 0)
        return samples, live, replaced

    def test_start_and_stop_under_load(self):
        """Lesson 11, through patched tables, the library linked without its interposer."""
        _, live, replaced = self.start_and_stop(LD_BIND_NOW="1")
        self.assertLess(live, 10)
        self.assertEqual(replaced, 0)

    def test_start_while_threads_bind_their_slots(self):
        """Decision 0014: a thread that had no processor may write the real free over the hook after the start has waited for it. A sample
        notices that: what is freed unseen until then is little, where no free at all would be seen."""
        samples, live, replaced = self.start_and_stop("500")
        self.assertLess(live + replaced, samples / 10)

    def test_libraries_come_and_go_while_patched(self):
        """Lessons 1 and 9: two libraries take turns at one address while threads allocate."""
        said, profile = self.run_patched("dlopen_loop", e2e.program("plugin_a.so"))
        self.check_truth(said, profile)

    def test_a_thread_storm(self):
        said, profile = self.run_patched("thread_storm")
        self.check_truth(said, profile)

    def test_forks(self):
        self.run_patched("fork_storm", rate="4k", timeout=100)

    def test_exceptions(self):
        said, profile = self.run_patched("exceptions")
        self.check_truth(said, profile)


@unittest.skipUnless(platform.machine() == "x86_64", "its code is x86-64's")
class RegisteredTables(Patched):
    """Unwind tables that a JIT registers after the start are known; libgcc may come after it, too."""

    def check_tables(self, *program):
        said, profile = self.run_patched(*program)
        self.check_truth(said, profile)
        self.assertEqual(profile.facts["walk_root"], profile.facts["samples"], profile.facts)
        for stack in profile.by_leaf()["tables_leaf"]["stacks"]:
            self.assertEqual((stack[:2], stack[4:6]), (("tables_leaf", "in_made_tables"), ("calls_made_tables", "made_tables_work")))

    def test_libgcc_of_the_program(self):
        self.check_tables("made_tables")

    def test_libgcc_that_comes_with_a_library(self):
        self.check_tables("made_tables_loader", e2e.program("made_tables_library.so"))


class RealPrograms(Patched):
    def both(self, command, **options):
        """The same output with and without."""
        plain = self.check(e2e.run(command, **options), stderr=None)
        patched = self.check(e2e.run(command, self.environment(rate="512"), **options), stderr=None)
        self.assertEqual(plain.stdout, patched.stdout)
        self.assertEqual(plain.stderr, patched.stderr)
        return self.only_profile()

    def test_python_by_ctypes(self):
        """Loaded in the middle of a program, before numpy is: its arrays and their sites are seen."""
        script = self.folder / "script.py"
        script.write_text(f"""
import ctypes, sys
lib = ctypes.CDLL({str(e2e.LIBRARY)!r})
lib.memprof_set_rate.argtypes = [ctypes.c_uint64]
lib.memprof_write_profile.argtypes = [ctypes.c_char_p, ctypes.c_uint32]
assert lib.memprof_init(None) == 0 and lib.memprof_start() == 0
lib.memprof_set_rate(0)
import numpy
arrays = [numpy.empty(100_003, dtype=numpy.uint8) for _ in range(50)]
assert lib.memprof_write_profile({str(self.folder / 'out.pb').encode()!r}, 0) == 0
assert lib.memprof_stop() == 0 and lib.memprof_start() == 0
print(sum(a.nbytes for a in arrays))
""")
        # Python that imports numpy has many stacks when every object is recorded.
        environment = e2e.plain_environment(MEMPROF_MAX_STACKS="1M")
        done = self.check(e2e.run([e2e.system_python(), "-B", script], environment), stderr=None)
        self.assertEqual(done.stdout, b"5000150\n")
        profile = self.named(self.folder / "out.pb")
        arrays = [values for frames, values, labels in profile.samples
                  if any("multiarray" in f.mapping["path"] for f in frames if f.mapping) and values["inuse_space"] >= 100_003]
        self.assertGreaterEqual(sum(v["inuse_space"] for v in arrays), 50 * 100_003)

    def test_prepared_before_the_start(self):
        """As `memprof attach` does it: imports lead to the hooks, which record nothing until the start."""
        out = self.folder / "out.pb"
        script = self.folder / "script.py"
        script.write_text(f"""
import ctypes
lib = ctypes.CDLL({str(e2e.LIBRARY)!r})
def allocate(size):
    return [bytearray(size) for _ in range(10)]
STATE = -2
assert lib.memprof_attach_prepare_imports() == STATE
lib.memprof_set_rate.argtypes = [ctypes.c_uint64]
lib.memprof_write_profile.argtypes = [ctypes.c_char_p, ctypes.c_uint32]
assert lib.memprof_init(None) == 0 and lib.memprof_set_rate(0) == 0
assert lib.memprof_attach_prepare_imports() == 0 and lib.memprof_attach_prepare_imports() == 0
before = allocate(200_001)
assert lib.memprof_start() == 0
assert lib.memprof_attach_prepare_imports() == STATE
after = allocate(300_001)
gone = allocate(400_001)
del before, gone
assert lib.memprof_write_profile({str(out).encode()!r}, 0) == 0
""")
        self.check(e2e.run([e2e.system_python(), "-B", script], e2e.plain_environment()), stderr=None)
        profile = self.named(out)
        allocated = sum(values["alloc_space"] for _, values, _ in profile.samples)
        live = sum(values["inuse_space"] for _, values, _ in profile.samples)
        self.assertTrue(7_000_010 <= allocated <= 7_500_000, allocated)
        self.assertTrue(3_000_010 <= live <= 3_500_000, live)

    def check_host(self, name, language, allocated, live):
        path = e2e.PROGRAMS / name
        if not path.exists():
            self.skipTest(f"there is no {language} compiler here")
        self.check(e2e.run([path, e2e.LIBRARY, self.folder / "out.pb"]))
        profile = self.named(self.folder / "out.pb")
        sites = [values for frames, values, labels in profile.samples if any("host_allocates" in f.name for f in frames)]
        self.assertEqual((sum(v["alloc_space"] for v in sites), sum(v["inuse_space"] for v in sites)),
                         (allocated * 70_400, live * 70_400))

    def test_a_rust_host(self):
        self.check_host("host_rust", "Rust", allocated=11, live=10)

    def test_a_go_host(self):
        self.check_host("host_go", "Go", allocated=20, live=10)

    def test_python(self):
        self.both([e2e.system_python(), "-c", "import json, decimal, sqlite3, ssl; print(len(json.dumps(list(range(10000)))))"])

    def test_perl(self):
        self.both([e2e.need("perl"), "-e", 'print join(",", map { $_ * 2 } 1 .. 1000)'])

    def test_sqlite(self):
        self.both([e2e.need("sqlite3"), ":memory:", "create table t(a); insert into t select value from generate_series(1, 10000); "
                                                    "select sum(a) from t;"])

    def test_git(self):
        self.both([e2e.need("git"), "--version"])

    def test_node(self):
        self.both([e2e.need("node"), "-e", "console.log(Buffer.alloc(100000).length)"])


if __name__ == "__main__":
    e2e.main()
