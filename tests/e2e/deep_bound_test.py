# SPDX-License-Identifier: Apache-2.0
"""Libraries that find the C library's malloc before memprof's: opened with RTLD_DEEPBIND, in namespaces of their own.

At rate 0 the numbers are the truth.
"""

import subprocess

import e2e

RELOADS = 1000


class DeepBound(e2e.Test):
    def check_library(self, name, library, *arguments, **options):
        said, profile = self.profile_program(name, e2e.program(f"{library}.so"), *arguments, **options)
        lines = [line.split() for line in said.splitlines()]
        self.assertEqual(len(lines), 4)
        table = profile.by_leaf()
        for leaf, blocks, size in lines:
            with self.subTest(leaf):
                self.assertEqual([table[leaf]["inuse_objects"], table[leaf]["inuse_space"]], [int(blocks), int(size)])
        for fact in ("replaced_samples", "dropped_samples"):
            self.assertEqual(profile.facts[fact], "0")
        self.assertNotIn("bypassing_libraries", profile.facts)
        self.assertIn(b"the numbers are exact", self.memprof("report", self.only_profile("out.*.pb")).stdout)
        self.only_profile("out.*.pb").unlink()

    def test_opened_so_by_a_preloaded_program(self):
        self.check_library("deep_bound", "deep_bound_plugin", "deep")

    def test_bound_lazily(self):
        self.check_library("deep_bound", "deep_bound_plugin_lazy", "lazy")

    def test_opened_so_by_programs_that_are_linked_with_memprof(self):
        for name in ("deep_bound_linked", "deep_bound_static"):
            with self.subTest(name):
                profile = self.folder / f"{name}.pb"
                environment = e2e.plain_environment(MEMPROF_PROFILE=str(profile), MEMPROF_RATE="0")
                done = self.check(e2e.run([e2e.program(name), e2e.program("deep_bound_plugin.so"), "deep"], environment))
                table = self.named(profile).by_leaf()
                for line in done.stdout.decode().splitlines():
                    leaf, blocks, size = line.split()
                    self.assertEqual([table[leaf]["inuse_objects"], table[leaf]["inuse_space"]], [int(blocks), int(size)], leaf)

    def test_symbolic(self):
        for way in ("plain", "deep"):
            with self.subTest(way):
                self.check_library("deep_bound", "deep_bound_plugin_symbolic", way)

    def test_closed_and_opened_again_while_threads_allocate(self):
        self.check_library("deep_bound", "deep_bound_plugin", "deep", RELOADS)

    def test_another_allocator_is_behind(self):
        """The library calls the C library's malloc, the program another: they do not free each other's blocks, and that the
        library is not seen is said."""
        behind = e2e.allocator("jemalloc")
        done = e2e.run([e2e.program("deep_bound"), e2e.program("deep_bound_plugin.so"), "alone"],
                       e2e.preloaded(self.folder / "out.pb", 0, behind))
        self.check(done)
        self.check_said("out.pb", 1)

    def check_said(self, name, libraries):
        path = self.folder / name
        self.assertEqual(self.named(path).facts["bypassing_libraries"], str(libraries))
        self.assertEqual(self.report(path)["bypassing_libraries"], libraries)
        text = " ".join(self.memprof("report", path).stdout.decode().split())
        self.assertIn(f"what {libraries} librar", text)
        self.assertIn("with another malloc (opened by dlmopen or with RTLD_DEEPBIND)", text)
        self.assertNotIn("exact.", text)

    def test_in_a_namespace_of_its_own(self):
        done = self.check(e2e.run([e2e.COMMAND, "run", "-r", "0", "-o", self.folder / "out.pb", "--", e2e.program("deep_bound"),
                                   e2e.program("deep_bound_plugin.so"), "apart"], e2e.plain_environment()),
                          stderr=None)
        self.assertIn(b"what 1 library allocates with another malloc", done.stderr)
        self.check_said("out.pb", 1)

    def test_doctor_says_it_of_a_process(self):
        script = ("import ctypes, sys\n"
                  "assert ctypes.CDLL(None).dlmopen(ctypes.c_long(-1), sys.argv[1].encode(), 2)\n"
                  "print('open', flush=True)\n"
                  "sys.stdin.read()\n")
        process = subprocess.Popen([e2e.system_python(), "-c", script, e2e.program("deep_bound_plugin.so")],
                                   env=e2e.preloaded(self.folder / "out.pb", 0), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.assertEqual(process.stdout.readline(), b"open\n")
            said = e2e.run([e2e.COMMAND, "doctor", str(process.pid)], e2e.plain_environment()).stdout.decode()
        finally:
            process.communicate()
        self.assertRegex(" ".join(said.split()), "libraries +what 1 library allocates with another malloc .* is not seen")

    def test_what_could_not_be_opened_is_not_counted(self):
        self.check(e2e.run([e2e.program("deep_bound"), self.folder / "none.so", "apart"],
                           e2e.preloaded(self.folder / "out.pb", 0)))
        self.assertNotIn("bypassing_libraries", self.named(self.folder / "out.pb").facts)


if __name__ == "__main__":
    e2e.main()
