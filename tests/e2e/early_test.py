# SPDX-License-Identifier: Apache-2.0
"""The first allocations of a process, and libraries that come and go while it runs."""
import e2e


class Early(e2e.Test):
    """Lessons 2 and 5: the first malloc, and constructors that wait for a thread that allocates."""

    def check_program(self, name, *arguments, **options):
        said, profile = self.profile_program(name, *arguments, **options)
        self.check_truth(said, profile)
        return said, profile

    def test_first_malloc_lazily_bound(self):
        self.check_program("early")

    def test_first_malloc_bound_at_once(self):
        self.check_program("early_bound")

    def test_first_malloc_with_ld_bind_now(self):
        self.check_program("early", LD_BIND_NOW="1")

    def test_first_malloc_with_each_allocator_behind(self):
        for name in e2e.ALLOCATORS:
            with self.subTest(name):
                self.check_program("early", behind=e2e.allocator(name))
                self.only_profile("out.*.pb").unlink()

    def test_constructor_of_a_needed_library_joins_a_thread_that_allocates(self):
        self.check_program("constructor_thread_needed")

    def test_constructor_of_a_loaded_library_joins_a_thread_that_allocates(self):
        self.check_program("constructor_thread_dlopen", e2e.program("constructor_thread.so"))

    def test_constructor_of_a_preloaded_library_joins_a_thread_that_allocates(self):
        # It is initialised before memprof, which stands in front of it.
        said, profile = self.profile_program("many_frames", behind=e2e.program("constructor_thread.so"))
        self.check_truth(said + "truth in_constructor_thread run 101 303101 1 3001\n", profile)


class Plugins(e2e.Test):
    def test_cxx_library_in_a_c_program_in_a_scope_of_its_own(self):
        """operator new of a library that was loaded RTLD_NOW | RTLD_LOCAL, with exceptions."""
        for behind in (None, "jemalloc", "tcmalloc_minimal"):
            with self.subTest(behind):
                done = e2e.run([e2e.program("local_plugin"), e2e.program("cxx_plugin.so")],
                               e2e.preloaded(self.folder / f"{behind}.pb", 0, behind and e2e.allocator(behind)))
                self.check(done)
                self.check_truth(done.stdout.decode(), self.named(self.folder / f"{behind}.pb"))

    def check_replaced(self, first, second, *how):
        said, profile = self.profile_program("unload", e2e.program(f"{first}.so"), e2e.program(f"{second}.so"),
                                             f"{first}_site", f"{second}_site", *how)
        self.assertIn("same address 1", said)
        self.check_truth(said, profile)

    def test_library_at_the_address_of_another_one(self):
        """Lesson 9: what an unloaded library allocated is not counted for the one that took its place."""
        self.check_replaced("plugin_a", "plugin_c")

    def test_library_at_the_address_of_one_that_the_c_library_unloaded(self):
        """The same, when no dlclose of ours is called."""
        self.check_replaced("plugin_a", "plugin_c", "past")

    def test_library_at_the_address_of_one_that_is_laid_out_alike(self):
        """Lesson 9, when even the return addresses are the same."""
        self.check_replaced("plugin_a", "plugin_b")

    def test_eight_threads_sample_while_a_library_comes_and_goes(self):
        """Lesson 1: no order of locks between the loader and us."""
        said, profile = self.profile_program("dlopen_loop", e2e.program("plugin_a.so"))
        self.check_truth(said, profile)


if __name__ == "__main__":
    e2e.main()
