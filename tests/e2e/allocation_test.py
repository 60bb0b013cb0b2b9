# SPDX-License-Identifier: Apache-2.0
"""Exact numbers at rate 0 for every function of the allocation family, in every way to load the library."""
import e2e


class Family(e2e.Test):
    """Lessons 16, 17, 27: the exact size at each function, and its direct caller as the leaf."""

    def check_family(self, name="family", **options):
        said, profile = self.profile_program(name, **options)
        self.check_truth(said, profile)
        self.assertEqual(profile.facts["dropped_samples"], "0")

    def test_preloaded(self):
        self.check_family()

    def test_preloaded_with_jemalloc_behind(self):
        self.check_family(behind=e2e.allocator("jemalloc"), NO_PVALLOC="1")

    def test_preloaded_with_tcmalloc_behind(self):
        self.check_family(behind=e2e.allocator("tcmalloc"))

    def test_preloaded_with_tcmalloc_minimal_behind(self):
        self.check_family(behind=e2e.allocator("tcmalloc_minimal"))

    def test_preloaded_with_mimalloc_behind(self):
        self.check_family(behind=e2e.allocator("mimalloc"))

    def check_without_preload(self, name):
        environment = e2e.plain_environment(MEMPROF_PROFILE=str(self.folder / "out.%p.pb"), MEMPROF_RATE="0")
        done = self.check(e2e.run([e2e.program(name)], environment))
        self.check_truth(done.stdout.decode(), self.named(self.only_profile()))

    def test_linked(self):
        self.check_without_preload("family_linked")

    def test_archive_linked_whole(self):
        self.check_without_preload("family_static")

    def test_linked_and_preloaded_is_seen_once(self):
        self.check_family("family_linked")


class InFront(e2e.Test):
    """An allocator that is preloaded in front of memprof has the blocks of all functions, of those that it lacks too."""

    def check_in_front(self, library, rate="0", **extra):
        order = f"{library}:{e2e.LIBRARY}"
        with self.subTest(library):
            environment = e2e.plain_environment(LD_PRELOAD=order, MEMPROF_RATE=rate, MEMPROF_PROFILE=str(self.folder / "out.%p.pb"), **extra)
            done = self.check(e2e.run([e2e.program("front_allocator")], environment))
            self.assertEqual(done.stdout, b"hello\n", "9: a block of another allocator")

    def test_one_that_lacks_functions(self):
        self.check_in_front(e2e.program("front_allocator_library.so"))

    def test_those_of_the_system(self):
        for name in ("jemalloc", "tcmalloc", "tcmalloc_minimal", "mimalloc"):
            self.check_in_front(e2e.allocator(name))
        self.check_in_front("libc_malloc_debug.so.0", MALLOC_CHECK_="3")  # its functions have hidden versions


class Exact(e2e.Test):
    """The checks of programs/exact.cc, each in a process of its own."""

    def check_all(self, name, environment, without=()):
        checks = e2e.run([e2e.program(name), "--list"], environment).stdout.decode().split()
        self.assertGreater(len(checks), 10)
        for check in set(checks) - set(without):
            with self.subTest(check):
                self.check(e2e.run([e2e.program(name), check], environment))

    def test_preloaded(self):
        self.check_all("exact", e2e.preloaded())

    def test_linked(self):
        self.check_all("exact_linked", e2e.plain_environment())

    def test_archive_linked_whole(self):
        self.check_all("exact_static", e2e.plain_environment())

    def check_behind(self, allocator, without=(), **extra):
        self.check_all("exact", e2e.preloaded(behind=e2e.allocator(allocator), EXACT_OTHER_ALLOCATOR="1", **extra),
                       without)

    def test_preloaded_with_jemalloc_behind(self):
        self.check_behind("jemalloc", NO_PVALLOC="1")

    def test_preloaded_with_tcmalloc_behind(self):
        self.check_behind("tcmalloc_minimal")

    def test_preloaded_with_mimalloc_behind(self):
        # Debian's mimalloc is plain C: its operator new calls no handler and throws nothing, it aborts.
        self.check_behind("mimalloc", without=("new_handler", "bad_alloc"))


if __name__ == "__main__":
    e2e.main()
