# SPDX-License-Identifier: Apache-2.0
"""Processes that fork, execute, end in every way, and have little."""
import os
import resource
import unittest

import e2e


class Fork(e2e.Test):
    def test_fork_storm(self):
        """Lesson 6: 330 children of a process whose threads are in the slow path; one profile, the parent's."""
        said, profile = self.profile_program("fork_storm")
        self.check_truth(said, profile)

    def test_fork_storm_that_is_followed(self):
        """Lesson 6: each of the 330 children has a profile of its own allocations, and of no others."""
        said = self.check(e2e.run([e2e.program("fork_storm")],
                                  e2e.preloaded(self.folder / "out.%p.pb", 0, MEMPROF_FOLLOW_FORK="1"))).stdout.decode()
        paths = sorted(self.folder.iterdir())
        self.assertEqual(len(paths), 1 + 300 + 30, [path.name for path in paths])
        profiles = {path: e2e.Profile(path) for path in paths}
        parents = [path for path, profile in profiles.items() if profile.total("alloc_objects") > 10_000]
        self.assertEqual(len(parents), 1)
        self.check_truth(said, self.named(parents[0]))
        counts = {}
        for path, profile in profiles.items():
            if path == parents[0]:
                continue
            self.assertEqual({values["alloc_space"] % 701 for _, values, _ in profile.samples}, {0}, path.name)
            held = tuple(profile.total(metric) for metric in e2e.METRICS)
            counts[held] = counts.get(held, 0) + 1
        self.assertEqual(counts, {(51, 51 * 701, 1, 701): 300, (1, 701, 1, 701): 30})


class Ending(e2e.Test):
    def end(self, way, profile="out.pb", **options):
        return e2e.run([e2e.program("ending"), way], e2e.preloaded(self.folder / profile, 0), **options)

    def check_block(self, path):
        row = self.named(path).by_leaf()["before_the_end"]
        self.assertEqual((row["inuse_space"], row["inuse_objects"]), (9001, 1))

    def test_ways_that_write_the_profile(self):
        for way in ("return", "exit", "_exit", "_Exit", "thread", "pthread_exit", "_exit in handler", "vfork",
                    "vfork exec", "fork", "chdir", "clearenv"):
            with self.subTest(way):
                self.check(self.end(way, f"{way}.pb"), 7)
                self.check_block(self.folder / f"{way}.pb")

    def test_quick_exit_writes_the_profile(self):
        self.check(self.end("quick_exit"), 7)
        self.check_block(self.folder / "out.pb")

    def test_ways_that_leave_no_profile(self):
        """docs/decisions/0005: nothing runs at these ends; nothing half-written stays."""
        for way, status in (("exit_group", 7), ("abort", -6), ("kill", -9), ("term", -15)):
            with self.subTest(way):
                self.check(self.end(way), status)
                self.assertEqual(list(self.folder.iterdir()), [])

    def test_exec_keeps_the_variables_and_loses_the_image(self):
        """The program that was executed writes its own profile; the one before it has none."""
        self.check(self.end("exec", "out.%p.pb"), 7)
        self.check_block(self.only_profile())

    def test_vfork_children_do_not_write(self):
        for way in ("vfork", "vfork exec", "fork"):
            self.check(self.end(way, f"{way}.%p.pb"), 7)
            self.only_profile(f"{way}.*.pb")

    def test_program_that_closes_all_descriptors(self):
        self.check(self.end("close all"), 7)
        self.check_block(self.folder / "out.pb")

    def test_relative_path_is_where_the_program_ends(self):
        environment = e2e.preloaded("relative.pb", 0)
        self.check(e2e.run([e2e.program("ending"), "return"], environment, cwd=self.folder), 7)
        self.check_block(self.folder / "relative.pb")

    def test_no_descriptor_stays_open(self):
        command = [e2e.need("ls"), "/proc/self/fd"]
        alone = self.check(e2e.run(command)).stdout
        self.assertEqual(self.check(e2e.run(command, e2e.preloaded(self.folder / "ls.pb", 0))).stdout, alone)

    def test_closed_standard_error(self):
        """A complaint goes nowhere then, and not into a file."""
        done = e2e.run([e2e.program("ending"), "return"], e2e.preloaded(self.folder / "out.pb", "nonsense"),
                       preexec_fn=lambda: os.close(2))
        self.check(done, 7)
        self.check_block_at_the_default_rate(self.folder / "out.pb")

    def test_descriptor_2_is_a_file_of_the_programs(self):
        """A complaint at the end goes nowhere, and not into the program's data."""
        data = self.folder / "data"
        program = "import os, sys; os.close(2); os.open(sys.argv[1], os.O_RDWR | os.O_CREAT); os.write(2, b'DATA0123'); os.lseek(2, 0, 0)"
        complains = e2e.preloaded("/nowhere/out.pb", 0)
        self.check(e2e.run([e2e.system_python(), "-c", program, data], complains))
        self.assertEqual(data.read_bytes(), b"DATA0123")
        done = e2e.run([e2e.need("true")], complains)  # which has something to say
        self.assertEqual(done.stderr, b"memprof: the profile was not written to /nowhere/out.pb: no such folder\n")

    def check_block_at_the_default_rate(self, path):
        self.assertEqual(e2e.Profile(path).period, 8192)  # it starts fine


class AnotherUser(e2e.Test):
    @unittest.skipUnless(os.geteuid() == 0, "only root becomes another user")
    def test_what_it_may_not_remove_takes_no_memory(self):
        """A server's worker that gives its rights up, and ends: its file stays in root's folder, and is empty."""
        arenas = self.folder / "arenas"
        arenas.mkdir()
        program = "import os; kept = [bytearray(1000) for _ in range(20000)]; os.setuid(65534)"
        done = e2e.run([e2e.system_python(), "-c", program],
                       e2e.preloaded(self.folder / "out.pb", 0, MEMPROF_ARENA_DIR=str(arenas)))
        self.assertEqual(done.returncode, 0, done.stderr)
        left = list(arenas.glob("*.arena"))
        self.assertEqual(len(left), 1)
        self.assertLessEqual(left[0].stat().st_blocks * 512, 128 * 1024)


class LittleRoom(e2e.Test):
    def with_address_space(self, mib, *arguments, **options):
        limit = mib << 20
        return e2e.run([e2e.program("ending"), "return"], e2e.preloaded(self.folder / "out.pb", 0),
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))

    def test_small_address_space(self):
        """Lesson 4: the program runs, whether there is room for the tables or not; what is missing is said."""
        results = {}
        for mib in (10, 16, 32, 64, 128, 256, 512, 1024, 4096):
            done = self.with_address_space(mib)
            alone = e2e.run([e2e.program("ending"), "return"], e2e.plain_environment(),
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20)))
            if alone.returncode != 7:
                continue
            path = self.folder / "out.pb"
            with self.subTest(mib=mib):
                self.check(done, 7, stderr=None)
                lines = done.stderr.decode().splitlines()
                self.assertLessEqual(len(lines), 1, lines)
                # Either a profile or a reason.
                self.assertNotEqual(path.exists(), bool(lines), lines)
                for line in lines:
                    self.assertRegex(line, r"^memprof: .*memory")
            results[mib] = path.exists()
            if path.exists():
                self.check_block_then_remove(path)
        # Room for small tables is room for a profile: it is not only begun, it is written.
        self.assertTrue(all(results[mib] for mib in (64, 128, 256, 512)), results)
        self.assertIn(False, results.values(), results)

    def check_block_then_remove(self, path):
        self.assertIn("before_the_end", self.named(path).by_leaf())
        for file in self.folder.iterdir():
            file.unlink()

    def test_small_stack(self):
        done = e2e.run([e2e.program("thread_storm")], e2e.preloaded(self.folder / "out.pb", 0),
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (64 << 10, 64 << 10)))
        self.check(done)

    def test_no_files_allowed(self):
        done = e2e.run([e2e.program("ending"), "return"], e2e.preloaded(self.folder / "out.pb", 0),
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
        # SIGXFSZ is the program's own fate where it writes; here the profiler must not bring it about.
        self.check(done, 7, stderr=None)
        self.assertRegex(done.stderr.decode(), r"^memprof: the profile was not written to .*out.pb: .*limit.*\n$")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_no_privileges(self):
        """As nobody, in a folder of root's."""
        if os.getuid() != 0:
            user = None
        else:
            user = self.somebody_else()
        self.folder.chmod(0o755)
        done = e2e.run([e2e.program("ending"), "return"], e2e.preloaded("/proc/out.pb", 0), user=user)
        self.check(done, 7, stderr=None)
        self.assertRegex(done.stderr.decode(), r"^memprof: the profile was not written to /proc/out.pb: .*\n$")


class OwnLimits(e2e.Test):
    """A program that limits itself after its start, when we are there already."""
    # What we take, the library and its filter (4 MiB) included.
    MOST_KIB = 10 << 10

    def check_same(self, *arguments):
        command = [e2e.program("own_limits"), *arguments]
        alone = e2e.run(command)
        self.assertEqual(alone.returncode, 7, alone.stderr)
        for rate in (0, "512k"):
            with self.subTest(rate=rate):
                path = self.folder / f"{rate}.pb"
                done = e2e.run(command, e2e.preloaded(path, rate))
                self.assertEqual((done.returncode, done.stdout), (7, alone.stdout), done.stderr)
                numbers = [[int(word) for word in said.stderr.split() if word.isdigit()] for said in (alone, done)]
                for least, with_us in zip(*numbers):
                    self.assertLess(with_us - least, self.MOST_KIB, done.stderr)
                if rate == 0:
                    row = self.named(path).by_leaf()["limited_block"]
                    self.assertEqual((row["inuse_space"], row["inuse_objects"]), (40 << 20, 40))

    def test_address_space(self):
        """What is free is the program's: the tables have no more of it than they use."""
        self.check_same("address-space", "80")

    def test_mlockall(self):
        """It fills what is mapped, which is little."""
        self.check_same("lock", "8")


class OwnFilter(e2e.Test):
    """A program that loads a filter of system calls which ends it at a call that is not its own."""

    def check_lives(self, way):
        command = [e2e.program("own_filter"), way]
        alone = e2e.run(command)
        self.assertEqual(alone.returncode, 7, alone.stderr)
        for rate in (0, 4096):
            done = e2e.run(command, e2e.preloaded(self.folder / "out.pb", rate, MEMPROF_ARENA_DIR=str(self.folder)))
            self.assertEqual((done.returncode, done.stdout), (7, alone.stdout), done.stderr)

    def test_filters(self):
        for way in ("prctl", "syscall", "threads", "strict"):
            with self.subTest(way):
                self.check_lives(way)

    def test_what_it_does_then_is_recorded(self):
        """By who reads from outside: the program may not write then."""
        path = self.folder / "x.pb"
        for way, site, blocks in (("prctl", "after_filter", 500), ("threads", "in_thread", 2500)):
            with self.subTest(way):
                done = e2e.run([e2e.COMMAND, "run", "--rate", "0", "-o", path, "--", e2e.program("own_filter"), way])
                self.assertEqual(done.returncode, 7, done.stderr)
                self.assertNotIn(b"no names", done.stderr, "what was known of a module before holds")
                rows = self.named(path).by_leaf()
                self.assertEqual(rows["before_filter"]["alloc_objects"], 500)
                self.assertEqual(rows[site]["alloc_objects"], blocks)
                path.unlink()


if __name__ == "__main__":
    e2e.main()
