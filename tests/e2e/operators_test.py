# SPDX-License-Identifier: Apache-2.0
"""Programs that replace some forms of operator new and delete: the other forms still call those.

Any of them in any module: tests/harm/kinds/operators.py.
"""
import attaching
import e2e

TOLD = b"taken 700, ended 700\n"


class Operators(e2e.Test):
    def check_program(self, name, environment, told=TOLD):
        done = self.check(e2e.run([e2e.program(name)], environment))
        self.assertEqual(done.stdout, told)

    def test_preloaded(self):
        self.check_program("own_operators", e2e.preloaded())

    def test_preloaded_and_recording(self):
        for rate in (0, 4096):
            with self.subTest(rate):
                self.check_program("own_operators", e2e.preloaded(self.folder / f"{rate}.pb", rate))

    def test_preloaded_with_an_allocator_behind(self):
        """Which brings operators of its own: forms that the program does not replace are those."""
        for name in e2e.ALLOCATORS:
            with self.subTest(name):
                program, allocator = e2e.program("own_operators_malloc"), e2e.allocator(name)
                alone = e2e.run([program], e2e.plain_environment(LD_PRELOAD=allocator))
                done = e2e.run([program], e2e.preloaded(self.folder / f"{name}.pb", 0, allocator))
                self.assertEqual((done.returncode, done.stdout), (alone.returncode, alone.stdout))
                self.assertIn(b"ended ", done.stdout)

    def test_by_the_command(self):
        done = self.memprof("run", "-r", "0", "--no-inline-hooks", "-o", self.folder / "out.pb", "--", e2e.program("own_operators"))
        self.assertEqual(done.stdout, TOLD)

    def test_trials_end_a_block_by_the_delete_of_its_new(self):
        """Where allocators inside programs are hooked: an aligned block may be of another pool than the others."""
        for name in ("own_operators", "own_operators_aligned", "own_operators_only_delete", "own_operators_own_malloc"):
            with self.subTest(name):
                done = self.memprof("run", "-r", "0", "-o", self.folder / f"{name}.pb", "--", e2e.program(name))
                self.assertIn(b"taken ", done.stdout)

    def test_linked(self):
        self.check_program("own_operators_linked", e2e.plain_environment())

    def test_linked_in_place_of_the_standard_library(self):
        """Its forms are memprof's, and call what the standard library's would."""
        self.check_program("own_operators_static_library", e2e.plain_environment())

    def test_only_delete(self):
        self.check_program("own_operators_only_delete", e2e.preloaded(self.folder / "out.pb", 0), b"taken 0, ended 700\n")

    def test_malloc_is_replaced_too(self):
        self.check_program("own_operators_own_malloc", e2e.preloaded())

    def test_library_that_calls_its_own_in_a_c_program(self):
        """What it does not define it finds in the standard library, and that finds the library's."""
        done = e2e.run([e2e.program("local_plugin"), e2e.program("own_operators_plugin.so")], e2e.preloaded(self.folder / "out.pb", 0))
        self.check(done)

    def test_blocks_that_end_in_malloc_are_counted_once(self):
        out = self.folder / "out.pb"
        self.check_program("own_operators_malloc", e2e.preloaded(out, 0))
        profile = self.named(out)
        mine = [(values, [frame.name for frame in frames]) for frames, values, _ in profile.samples
                if any("all_forms" in frame.name for frame in frames)]
        large = [values for values, _ in mine if values["alloc_space"] == 100 * 4001]
        self.assertEqual(len(large), 3, mine)
        for metric, truth in (("alloc_objects", 700), ("inuse_objects", 0), ("inuse_space", 0)):
            self.assertEqual(sum(values[metric] for values, _ in mine), truth, metric)
        self.assertEqual(profile.facts["replaced_samples"], "0")


class Attached(attaching.Test):
    def check_attached(self, name):
        process = self.begin(e2e.program(name), "loop")
        self.memprof("attach", process.pid, "-r", "0")
        self.memprof("attach", "--stop", process.pid)
        self.memprof("attach", process.pid, "-r", "4096")
        out, _ = process.communicate(timeout=e2e.WATCHDOG_S)
        self.assertEqual((process.returncode, out), (0, b"ok\n"))

    def test_attached_and_stopped(self):
        self.check_attached("own_operators")

    def test_attached_where_only_delete_is_replaced(self):
        self.check_attached("own_operators_only_delete")


if __name__ == "__main__":
    e2e.main()
