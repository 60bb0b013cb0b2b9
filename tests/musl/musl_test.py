# SPDX-License-Identifier: Apache-2.0
"""Programs of musl with the library that was built for it: by zig's C and C++ compilers, which write unwind tables, and by
musl-gcc, which writes none.  Status 77 where zig is not to be had."""
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/e2e"))
import e2e  # noqa: E402, pylint: disable=wrong-import-position
import running_program  # noqa: E402, pylint: disable=wrong-import-position
import musl_library  # noqa: E402, pylint: disable=wrong-import-position

PROGRAMS = pathlib.Path(__file__).with_name("programs")
FLAGS = ["-g", "-D_GNU_SOURCE", "-fno-builtin", "-fno-optimize-sibling-calls", "-rdynamic"]
THREADS, ROUNDS = 8, 1000
WHOLE = bool(os.environ.get("MEMPROF_TEST_WHOLE"))
# Function of exact.c: bytes of a block, and blocks of a thread and round; `keep_`: they stay.
SITES = {"keep_malloc": 101, "keep_aligned": 256, "keep_strdup": 13, "site_small": 11, "site_realloc": 503,
         "site_reallocarray": 707, "site_calloc": 159, "site_posix_memalign": 131, "site_memalign": 137}
VALLOCS = (ROUNDS + 63) // 64
EACH = len(SITES) * ROUNDS + VALLOCS

COMPILER = LIBRARY = FOLDER = None


def compile_with(name, command, source, *options):
    path = FOLDER / name
    subprocess.run([*map(str, command), *FLAGS, *options, str(PROGRAMS / source), "-o", str(path)], check=True,
                   env=musl_library.ports.environment())
    return str(path)


def zig(tool):
    # With frame pointers or without, the tables lead through.
    return [COMPILER, tool, "-target", f"{platform.machine()}-linux-musl", "-dynamic", "-O2", "-fno-sanitize=undefined",
            "-fomit-frame-pointer"]


class Programs:
    """Compiled once for all tests."""
    made = {}

    @classmethod
    def get(cls, source, kind="zig"):
        if (source, kind) not in cls.made:
            name = f"{source.split('.')[0]}_{kind}"
            shared = ["-shared", "-fPIC"] if source == "library.c" else []
            if kind == "glibc":
                command = [os.environ.get("MEMPROF_E2E_CC", "gcc"), "-O2", "-pthread"]
            elif kind == "musl_gcc":
                command = [e2e.need("musl-gcc"), "-O2", "-fomit-frame-pointer"]
            else:
                command = zig("c++" if source.endswith(".cc") else "cc")
            cls.made[source, kind] = compile_with(name, command, source, *shared)
        return cls.made[source, kind]


class Musl(e2e.Test):
    def preloaded(self, profile, rate=0, **extra):
        return e2e.preloaded(profile, rate, LD_PRELOAD=str(LIBRARY), **extra)

    def profile_of(self, command, status=0, **extra):
        out = self.folder / "out.pb"
        out.unlink(missing_ok=True)
        done = e2e.run(command, self.preloaded(out, **extra))
        self.assertEqual((done.returncode, done.stderr), (status, b""), command)
        self.memprof("export", out, "-o", self.folder / "named.pb", "--force")  # with the names of functions
        return e2e.Profile(self.folder / "named.pb")

    def run_(self, *command, options=(), status=0, **variables):
        """The profiles of a run: program -> Profile; and what was said."""
        for old in self.folder.glob("run.*"):
            old.unlink()
        done = e2e.run([e2e.COMMAND, "run", "-r", "0", "--keep-all", *options, "-o", self.folder / "run.%p.pb.gz", "--", *command],
                       e2e.plain_environment(**{"MEMPROF_MUSL_LIBRARY": str(LIBRARY), **variables}))
        self.assertEqual(done.returncode, status, done.stderr)
        found = {}
        for path in self.folder.glob("run.*"):
            profile = e2e.Profile(path)
            found.setdefault(profile.facts["program"].split()[0], []).append(profile)
        return found, done

    def check_whole(self, profile):
        """No free went past us, and all stacks reach their root."""
        facts = {name: int(value) for name, value in profile.facts.items() if value.isdigit()}
        self.assertEqual((facts["replaced_samples"], facts["dropped_samples"]), (0, 0))
        self.assertEqual(facts["walk_root"], facts["samples"], profile.facts)

    def check_exact(self, profile):
        self.assertEqual(profile.total("alloc_objects"), THREADS * EACH)
        leaves = profile.by_leaf()
        for site, size in SITES.items():
            # An export leaves out musl's strdup, the profile of a run has it.
            row, blocks = leaves.get(site) or leaves[site.replace("keep_strdup", "strdup")], THREADS * ROUNDS
            live = blocks if site.startswith("keep_") else 0
            self.assertEqual((row["alloc_objects"], row["alloc_space"], row["inuse_objects"], row["inuse_space"]),
                             (blocks, blocks * size, live, live * size), site)
        self.assertEqual(leaves["site_valloc"]["alloc_objects"], THREADS * VALLOCS)
        self.check_whole(profile)


class Counts(Musl):
    def check_runs(self, kind, runs):
        program = Programs.get("exact.c", kind)
        for _ in range(runs):
            self.check_exact(self.profile_of([program, THREADS, ROUNDS]))

    def test_with_unwind_tables(self):
        self.check_runs("zig", 20 if WHOLE else 10)

    def test_without_unwind_tables(self):
        """Of an optimised program without frame pointers."""
        if platform.machine() == "x86_64":
            self.check_runs("musl_gcc", 5)

    def test_stacks(self):
        for kind in ("zig", "musl_gcc"):
            profile = self.profile_of([Programs.get("exact.c", kind), 2, 100])
            for site in ("keep_malloc", "keep_strdup"):  # one of them by a function of musl's
                stacks = profile.by_leaf()[site]["stacks"]
                self.assertEqual({stack[:2] for stack in stacks}, {(site, "one_thread")}, kind)

    def test_a_rate(self):
        """4 KiB of 8 MB: 2,000 samples; five standard errors are 11 %."""
        profile = self.profile_of([Programs.get("exact.c"), THREADS, ROUNDS], rate="4k")
        truth = THREADS * ROUNDS * sum(SITES.values())
        self.assertLess(abs(profile.total("alloc_space") - truth), 0.15 * truth)
        self.check_whole(profile)


class Life(Musl):
    def leaves(self, profile):
        return {name: row["alloc_objects"] for name, row in profile.by_leaf().items()}

    def test_it_ends_by_itself(self):
        for way in ("return", "exit", "quick_exit"):
            profile = self.profile_of([Programs.get("life.c"), way], status=3)
            self.assertEqual(self.leaves(profile)["in_main"], 1, way)

    def test_it_is_ended(self):
        for way, status in (("_exit", 3), ("abort", 134), ("kill", 137)):
            found, _ = self.run_(Programs.get("life.c"), way, status=status)
            self.assertEqual(self.leaves(found["life_zig"][0])["in_main"], 1, way)

    def test_ways_through_the_c_library(self):
        for kind in ("zig", "musl_gcc"):
            profile = self.profile_of([Programs.get("life.c", kind), "signal", "callback"], status=3)
            leaves = self.leaves(profile)
            self.assertGreaterEqual(leaves["compare"], 2, kind)
            self.assertEqual((leaves["in_main"], leaves["handler"], leaves["at_exit"]), (1, 1, 1), kind)
            self.check_whole(profile)
            for name, callers in (("compare", ["main"]), ("handler", ["in_signal", "main"])):
                stack = next(iter(profile.by_leaf()[name]["stacks"]))
                self.assertEqual([frame for frame in stack if frame in callers], callers, (kind, stack))

    def test_a_fork(self):
        found, _ = self.run_(Programs.get("life.c"), "fork", status=3)
        leaves = [self.leaves(profile) for profile in found["life_zig"]]
        self.assertEqual(sorted((row.get("in_main", 0), row.get("in_child", 0)) for row in leaves), [(0, 1), (1, 0)])

    def test_a_library_that_is_opened_and_closed(self):
        profile = self.profile_of([Programs.get("life.c"), "library", Programs.get("library.c")])
        self.assertEqual(self.leaves(profile)["in_library"], 3)
        self.check_whole(profile)


class Run(Musl):
    def test_exact(self):
        """Threads have their first samples at once, when the tables are made."""
        for _ in range(5):
            found, done = self.run_("sh", "-c", f"{Programs.get('exact.c')} {THREADS} {ROUNDS}; {Programs.get('exact.c', 'musl_gcc')} 1 10; true")
            self.assertNotIn(b"without memprof", done.stderr)
            self.check_exact(found["exact_zig"][0])
            self.assertIn("exact_musl_gcc", found)

    def test_a_mixture(self):
        """Each has the library of its own C library, whoever starts it."""
        musl, glibc = Programs.get("life.c", "musl_gcc"), Programs.get("life.c", "glibc")
        library = str(e2e.LIBRARY.with_name("libmemprof.so"))  # which the command takes of the folder
        found, done = self.run_(glibc, "execute", musl, "execute", glibc, "execute", musl)
        self.assertEqual(done.stdout.decode().split(), [library, str(LIBRARY), library])
        self.assertEqual((len(found["life_glibc"]), len(found["life_musl_gcc"])), (2, 2), done.stderr)
        found, done = self.run_(musl, "execute", glibc, "execute", musl)
        self.assertEqual(done.stdout.decode().split(), [str(LIBRARY), library])
        self.assertEqual((len(found["life_glibc"]), len(found["life_musl_gcc"])), (1, 2), done.stderr)

    def test_found_beside_the_library(self):
        """As an installed tree has it: no variable names them."""
        folder = self.folder / "lib"
        (folder / "memprof/musl").mkdir(parents=True)
        shutil.copy(e2e.LIBRARY, folder / "libmemprof.so")
        shutil.copy(LIBRARY, folder / "memprof/musl/libmemprof.so")
        musl, glibc = Programs.get("life.c", "musl_gcc"), Programs.get("life.c", "glibc")
        lists = [str(folder / "libmemprof.so"), str(folder / "memprof/musl/libmemprof.so")]
        for first, second, libraries in ((glibc, musl, lists), (musl, glibc, lists[::-1])):
            done = e2e.run([first, "execute", second, "execute", "true"],
                           e2e.plain_environment(LD_PRELOAD=libraries[0], MEMPROF_PROFILE=str(self.folder / "x.%p.pb")))
            self.assertEqual(done.stdout.decode().split(), libraries, done.stderr)
        environment = e2e.plain_environment(MEMPROF_LIBRARY=lists[0])
        done = e2e.run([e2e.COMMAND, "run", "-o", self.folder / "y.pb.gz", "--", musl, "exit"], environment)
        self.assertEqual(done.returncode, 3)
        self.assertTrue((self.folder / "y.pb.gz").exists(), done.stderr)

    def test_without_a_library_for_musl(self):
        for value, what in (("", "build one for musl (./dev musl)"), ("/nowhere/x.so", "MEMPROF_MUSL_LIBRARY names /nowhere/x.so")):
            found, done = self.run_(Programs.get("life.c"), "execute", "true", status=0, MEMPROF_MUSL_LIBRARY=value)
            self.assertEqual((found, done.stdout), ({}, b"nothing\n"))
            self.assertIn("uses musl, and libmemprof.so was built for glibc; " + what, done.stderr.decode())

    def test_the_library_for_musl_in_the_place_of_the_other(self):
        """Preloaded into a program of glibc it would end that before its start."""
        beside = self.folder / "memprof"
        shutil.copy(e2e.COMMAND, beside)
        shutil.copy(LIBRARY, self.folder / "libmemprof.so")
        for command, named, said in ((e2e.COMMAND, str(LIBRARY), f"memprof: MEMPROF_LIBRARY: {LIBRARY} was built for musl; "),
                                     (beside, "", "libmemprof.so was built for musl; set MEMPROF_LIBRARY to ")):
            done = e2e.run([command, "run", "--", "true"], e2e.plain_environment(MEMPROF_LIBRARY=named))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr.decode())

    def test_names_in_the_report(self):
        self.run_(Programs.get("exact.c"), 2, 100)
        path, = self.folder.glob("run.*")
        done = self.check(e2e.run([e2e.COMMAND, "report", path, "--json"]))
        rows = {row["name"]: row for row in json.loads(done.stdout)["rows"]}
        self.assertTrue(rows["keep_malloc"]["file"].endswith("/exact.c"), rows["keep_malloc"])
        self.assertEqual(rows["keep_aligned"]["self"]["inuse_space"]["value"], 200 * 256)


@unittest.skipUnless(WHOLE, "zig builds its C++ library for musl first; ./dev musl has it")
class Cxx(Musl):
    def test_operators_threads_and_exceptions(self):
        profile = self.profile_of([Programs.get("cxx.cc")])
        sizes = {"keep_new": 1009, "keep_aligned_new": 1013, "keep_array": 1019}
        for site, size in sizes.items():
            rows = [(values, frames) for frames, values, _ in profile.samples if any(frame.name == site for frame in frames)]
            self.assertEqual(sum(values["inuse_objects"] for values, _ in rows), 2000, site)
            # libc++ rounds the size of an aligned block up.
            self.assertLessEqual(2000 * size, sum(values["inuse_space"] for values, _ in rows))
            self.assertLess(sum(values["inuse_space"] for values, _ in rows), 2000 * (size + 128))
        self.check_whole(profile)


class Attach(Musl):
    """Into processes of musl that run, and into one that loads the library itself."""

    def says(self, what, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(what, done.stderr.decode())

    def live(self, attached):
        out = self.folder / "live.pb.gz"
        self.says("wrote", attached.command("live", attached.process.pid, "-o", out, "--force"))
        self.last = e2e.Profile(out)
        return self.last

    def check_kept(self, attached, blocks):
        rows = self.live(attached).by_leaf()
        row = rows["keep_attached"]
        self.assertEqual((row["alloc_objects"], row["inuse_objects"], row["inuse_space"]), (blocks, blocks, blocks * running_program.BYTES))
        self.assertEqual({stack[:2] for stack in row["stacks"]}, {("keep_attached", "main")})
        own = [row for frames, row, _ in self.last.samples if any(frame.name == "keep_by_library" for frame in frames)]
        times = blocks // running_program.KEPT
        self.assertEqual([sum(row[what] for row in own) for what in ("alloc_objects", "inuse_space")],
                         [3 * times, times * (13 + 303 + 640)])
        self.assertEqual({stack[:2] for stack in rows["busy_block"]["stacks"]}, {("busy_block", "busy")})

    def check_attach(self, kind):
        with running_program.RunningProgram(Programs.get("attached.c", kind), LIBRARY) as attached:
            attached.keep()
            self.says("attached to", attached.attach("-r", "0"))
            attached.keep()
            self.check_kept(attached, running_program.KEPT)
            self.says("stopped in", attached.attach("--stop"))
            attached.keep()
            self.says("attached to", attached.attach("-r", "0"))
            attached.keep()
            self.check_kept(attached, 2 * running_program.KEPT)
            self.assertEqual(attached.end(), attached.right_end())

    def test_with_unwind_tables(self):
        self.check_attach("zig")

    def test_without_unwind_tables(self):
        if platform.machine() == "x86_64":
            self.check_attach("musl_gcc")

    def test_the_command_is_killed(self):
        with running_program.RunningProgram(Programs.get("attached.c", "musl_gcc"), LIBRARY) as attached:
            for i in range(40 if WHOLE else 8):
                attached.kill_an_attach(0.02 + 0.005 * i)
            # One of them may have started it; and on a busy machine the thread waits for its killed command for some seconds.
            for _ in range(20):
                done = attached.attach("-r", "0")
                if b"at work there already" in done.stderr:
                    attached.attach("--stop")
                elif b"try again" not in done.stderr:
                    break
            self.says("attached to", done)
            before = self.live(attached).by_leaf().get("keep_attached", {}).get("alloc_objects", 0)
            attached.keep()
            self.check_kept(attached, before + running_program.KEPT)
            self.assertEqual(attached.end(), attached.right_end())

    def test_without_a_library_for_it(self):
        with running_program.RunningProgram(Programs.get("attached.c"), "") as attached:
            done = attached.attach()
            self.assertEqual(done.returncode, 1)
            self.assertIn("uses musl, and libmemprof.so was built for glibc; build one for musl (./dev musl)", done.stderr.decode())
            attached.keep()
            self.assertEqual(attached.end(), attached.right_end())

    def test_a_program_opens_it(self):
        out = self.folder / "own.pb"
        done = e2e.run([Programs.get("starts.c"), LIBRARY.with_name("libmemprof-dlopen.so"), out])
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout)
        self.memprof("export", out, "-o", self.folder / "named.pb", "--force")
        row = e2e.Profile(self.folder / "named.pb").by_leaf()["keep_started"]
        self.assertEqual((row["alloc_objects"], row["alloc_space"], row["inuse_objects"]), (1000, 101_000, 500))


class Product(Musl):
    def test_it_needs_the_c_library_only(self):
        done = subprocess.run(["readelf", "-dW", str(LIBRARY)], stdout=subprocess.PIPE, text=True, check=True)
        needed = [line.split("[")[1].split("]")[0] for line in done.stdout.splitlines() if "(NEEDED)" in line]
        self.assertEqual(needed, ["libc.so"])

    def test_what_dlopen_takes(self):
        """The one that is preloaded keeps thread-local data at fixed places; musl refuses such a one later."""
        def fixed(library):
            return "STATIC_TLS" in subprocess.run(["readelf", "-dW", str(library)], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual((fixed(LIBRARY), fixed(LIBRARY.with_name("libmemprof-dlopen.so"))), (True, False))


def main():
    global COMPILER, LIBRARY, FOLDER  # pylint: disable=global-statement
    loader = pathlib.Path(f"/lib/ld-musl-{platform.machine()}.so.1")
    why = None if loader.exists() else f"{loader} is not there (package musl)"
    if why is None:
        COMPILER, why = musl_library.ports.zig()
    if why is None:
        LIBRARY, why = musl_library.build(platform.machine(), len(os.sched_getaffinity(0)))
    if why is not None:
        print(f"skipped: {why}")
        return musl_library.ports.SKIPPED
    with tempfile.TemporaryDirectory(prefix="memprof-musl-") as folder:
        FOLDER = pathlib.Path(folder)
        return not unittest.main(verbosity=2, exit=False).result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(main())
