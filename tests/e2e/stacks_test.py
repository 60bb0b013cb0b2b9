# SPDX-License-Identifier: Apache-2.0
"""Stacks of every kind: whatever is in the registers, no sample is lost and nothing crashes."""
import re
import shutil

import e2e


class Stacks(e2e.Test):
    def test_garbage_in_the_frame_pointer(self):
        """Lesson 12: any 64-bit value; the weight is kept, and the direct caller."""
        said, profile = self.profile_program("garbage_frame")
        self.check_truth(said, profile)

    def test_coroutines(self):
        """Lesson 12: makecontext; stacks from malloc and at the end of a mapping."""
        said, profile = self.profile_program("coroutines")
        self.check_truth(said, profile)

    def test_coroutines_of_a_thread(self):
        said, profile = self.profile_program("coroutines", "thread")
        self.check_truth(said, profile)

    def check_signals(self, *arguments):
        said, profile = self.profile_program("signals", *arguments, behind=e2e.program("bump_allocator.so"))
        self.check_truth(said, profile)
        blocks = int(re.search(r"handler_blocks (\d+)", said).group(1))
        seen = profile.by_leaf().get("in_handler", dict.fromkeys(e2e.METRICS, 0))
        # In the profiler's slow path the handler is muted; elsewhere it is sampled, and never twice.
        self.assertLessEqual(seen["alloc_objects"], blocks)
        self.assertGreater(seen["alloc_objects"], 0)
        self.assertEqual(seen["alloc_space"], seen["alloc_objects"] * 160)
        self.assertEqual(seen["inuse_space"], 0)

    def test_signal_handler_that_allocates(self):
        """Lesson 19: a handler in the middle of a hook does not push the sample to its neighbour."""
        self.check_signals()

    def test_signal_handler_on_a_stack_of_its_own(self):
        self.check_signals("sigaltstack")

    def on_signal_stack(self, size, environment=None):
        # Bound at once: the loader's resolver, which some distributions leave to run in the handler, needs kilobytes of it.
        environment = {**(environment or e2e.plain_environment()), "LD_BIND_NOW": "1"}
        done = e2e.run([e2e.program("signal_stack"), size], environment)
        used = re.search(rb"of the handler (\d+)", done.stderr)
        return done, int(used.group(1)) if used else None

    def test_small_signal_stacks(self):
        """A handler that allocates on 8 KiB, as many programs give it, has room for it; where there is less, it is counted."""
        _, alone = self.on_signal_stack(65536)
        for size in (65536, 8192):
            path = self.folder / f"{size}.pb"
            done, used = self.on_signal_stack(size, e2e.preloaded(path, 0))
            self.check(done, stderr=None)
            self.check_truth(done.stdout.decode(), self.named(path))
            self.assertLess(used, max(alone, 4096) + 256)
        for size in range(8192, 4096, -128):
            if self.on_signal_stack(size)[0].returncode != 0:
                break  # too small without us
            with self.subTest(size=size):
                path = self.folder / f"small.{size}.pb"
                self.check(self.on_signal_stack(size, e2e.preloaded(path, 0))[0], stderr=None)
                profile = self.named(path)
                seen = profile.by_leaf().get("handler_leaf", {"alloc_objects": 0})["alloc_objects"]
                self.assertEqual(seen + int(profile.facts["dropped_samples"]), 50)

    def test_depth_limit_keeps_both_ends(self):
        """Lesson 26: of 1000 frames the leaf's end and 16 at the root; what is left out between them is marked."""
        said, profile = self.profile_program("many_frames")
        self.check_truth(said, profile)
        (stack,) = profile.by_leaf()["deep_leaf"]["stacks"]
        self.assertEqual(len(stack), 512)
        self.assertEqual(set(stack[1:495]), {"recurse"})
        self.assertEqual(stack[495], "[frames left out]")
        above = stack[496:]
        self.assertEqual(above[:above.index("main")], ("recurse",) * above.index("main"))
        self.assertEqual(above[-1], "_start")
        self.assertGreaterEqual(int(profile.facts["walk_middle_left_out"]), 1)
        self.assertEqual(int(profile.facts["walk_depth_limit"]), 0)
        path = self.only_profile()
        tree = self.memprof("report", "--details", "--tree", "--metric", "alloc_space", path).stdout.decode()
        self.assertNotIn("[stack cut]", tree)
        self.assertIn("% complete", tree)
        self.assertIn("without their middle: ", tree)
        collapsed = self.folder / "stacks.collapsed"
        self.memprof("export", path, "-o", collapsed)
        self.assertIn(";[frames left out];recurse", collapsed.read_text())

    def test_threads_with_the_smallest_stacks(self):
        """Room for the frames of the deepest stack does not overflow a stack of PTHREAD_STACK_MIN."""
        said, profile = self.profile_program("small_stacks")
        self.check_truth(said, profile)

    def test_depth_limit_keeps_the_leaf(self):
        """Lesson 26: a stack that is deeper than any walk."""
        said, profile = self.profile_program("many_frames", "10000")
        (stack,) = profile.by_leaf()["deep_leaf"]["stacks"]
        self.assertEqual(len(stack), 512)
        self.assertEqual(set(stack[1:]), {"recurse"})
        self.assertGreaterEqual(int(profile.facts["walk_depth_limit"]), 1)

    def test_depth_limit_from_the_environment(self):
        said, profile = self.profile_program("many_frames", MEMPROF_MAX_DEPTH="1024")
        (stack,) = profile.by_leaf()["deep_leaf"]["stacks"]
        self.assertEqual(stack[:1001], ("deep_leaf",) + ("recurse",) * 1000)
        self.assertEqual(stack[1001], "main")
        said, profile = self.profile_again("many_frames", MEMPROF_MAX_DEPTH="1")
        self.assertEqual(profile.by_leaf()["deep_leaf"]["stacks"], {("deep_leaf",)})

    def profile_again(self, *arguments, **options):
        for path in self.folder.iterdir():
            path.unlink()
        return self.profile_program(*arguments, **options)

    def test_stripped_program(self):
        """Lesson 28: module+0xoffset and a build id, never the nearest symbol that is left."""
        stripped = self.folder / "stripped"
        shutil.copy(e2e.program("many_frames_hidden"), stripped)
        path = self.folder / "out.pb"
        self.check(e2e.run([stripped], e2e.preloaded(path, 0)))
        names = {row["name"] for row in self.report(path)["rows"] if row["module"] == "stripped"}
        self.assertLessEqual({"deep_leaf", "recurse", "main"}, names)

        path.unlink()
        self.check(e2e.run([e2e.need("strip"), "--strip-all", stripped]))
        self.check(e2e.run([stripped], e2e.preloaded(path, 0)))
        self.assertTrue(e2e.Profile(path).mappings[1]["build_id"])
        rows = [row for row in self.report(path)["rows"] if row["module"] == "stripped"]
        self.assertEqual(sum(row["self"]["inuse_space"]["value"] == 8001 for row in rows), 1)
        for row in rows:
            self.assertRegex(row["name"], r"^stripped\+0x[0-9a-f]+$")

    def test_calloc_that_calls_malloc_is_counted_once(self):
        """Lesson 18."""
        said, profile = self.profile_program("calloc_site", behind=e2e.program("bump_allocator.so"))
        self.check_truth(said, profile)


if __name__ == "__main__":
    e2e.main()
