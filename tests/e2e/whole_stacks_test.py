# SPDX-License-Identifier: Apache-2.0
"""Whole stacks of programs that make it hard: exceptions, code without tables, small stacks, libraries that come and go,
coroutines of boost.context, Rust and Go around C.

At rate 0 each allocation is a sample, so a wrong stack is a wrong number.
"""
import collections
import pathlib
import platform
import re
import sys
import unittest

import e2e

# Where a process, a thread, or a library's constructor begins.
ROOTS = {"_start", "clone3", "__clone3", "clone", "__clone", "_dl_start_user"}
# Where a coroutine of boost.context begins, and a goroutine.
COROUTINE_ROOTS = {"make_fcontext"}
GO_ROOTS = {"runtime.goexit", "runtime.goexit.abi0"}


class WholeStacks(e2e.Test):
    def check_whole(self, profile, roots=frozenset()):
        self.assertGreater(int(profile.facts["samples"]), 0)
        self.assertEqual(profile.facts["walk_root"], profile.facts["samples"], profile.facts)
        self.assertLessEqual({frames[-1].name for frames, _, _ in profile.samples}, ROOTS | roots)

    def through(self, profile, *leaf_first, of=""):
        """(blocks, bytes) whose stacks begin with these functions; `of`: without those that do not match it."""
        blocks = size = 0
        for frames, values, _ in profile.samples:
            names = [frame.name for frame in frames if re.match(of, frame.name)]
            if tuple(names[:len(leaf_first)]) == leaf_first:
                blocks, size = blocks + values["alloc_objects"], size + values["alloc_space"]
        return blocks, size

    def test_exceptions_through_sampled_frames(self):
        said, profile = self.profile_program("exceptions")
        self.check_truth(said, profile)
        self.check_whole(profile)
        # One stack for each depth, and none besides: also while the frames above are taken down.
        whole = [("through",) * n + ("rethrows", "catches", "main") for n in range(1, 8)]
        for leaf in ("before_throw", "in_destructor"):
            stacks = profile.by_leaf()[leaf]["stacks"]
            self.assertEqual(sorted(stack[1:stack.index("main") + 1] for stack in stacks), sorted(whole))

    def test_exceptions_of_a_libgcc_inside_the_program(self):
        """Linked statically, and memprof, too: what registers unwind tables is libgcc's own."""
        out = self.folder / "out.pb"
        done = self.check(e2e.run([e2e.program("exceptions_static")],
                                  e2e.plain_environment(MEMPROF_PROFILE=str(out), MEMPROF_RATE="0")))
        profile = self.named(out)
        self.check_truth(done.stdout.decode(), profile)
        self.check_whole(profile)

    def test_thread_with_a_stack_of_64_kb(self):
        """And one of little more than the system's least: the walk itself fits."""
        said, profile = self.profile_program("small_stack", MEMPROF_MAX_DEPTH="1024")
        self.check_truth(said, profile)
        self.check_whole(profile)
        (stack,) = profile.by_leaf()["small_leaf"]["stacks"]
        self.assertEqual(stack[:43], ("small_leaf",) + ("small_deep",) * 41 + ("small_run",))

    def test_no_unwind_tables(self):
        """-fno-asynchronous-unwind-tables: by frame pointers through the program, by tables through libc."""
        said, profile = self.profile_program("no_unwind_tables")
        self.check_truth(said, profile)
        self.check_whole(profile)
        (stack,) = profile.by_leaf()["bare_leaf"]["stacks"]
        self.assertEqual(stack[:8], ("bare_leaf",) + ("bare_middle",) * 6 + ("main",))

    def test_no_unwind_tables_and_no_frame_pointers(self):
        """Nothing leads on: each block with its direct caller, no invented frame, and not called whole."""
        said, profile = self.profile_program("no_unwind_tables_without_fp")
        self.check_truth(said, profile)
        truth = ("bare_leaf",) + ("bare_middle",) * 6 + ("main",)
        for stack in profile.by_leaf()["bare_leaf"]["stacks"]:
            remaining = iter(truth)
            self.assertTrue(all(name in remaining for name in stack if name not in ROOTS | {
                "__libc_start_call_main", "__libc_start_main", "__libc_start_main_impl"}), stack)
        complete = sum(frames[-1].name == "_start" for frames, _, _ in profile.samples)
        self.assertLessEqual(int(profile.facts["walk_root"]), complete)

    def test_two_libraries_at_one_address(self):
        """10,000 times dlopen and dlclose while eight threads sample: no rule of the one is used for the other."""
        said, profile = self.profile_program("churn", "10000", e2e.program("churn_a.so"), e2e.program("churn_b.so"),
                                             rate=512)
        self.assertRegex(said, "^10000 rounds, ")
        self.check_whole(profile)
        inside = {"work": 4, "main": 3}
        counts = collections.Counter()
        for frames, values, _ in profile.samples:
            names = [frame.name for frame in frames]
            if "churn_function" in names:
                caller = names[names.count("churn_function") + 1]
                self.assertEqual(names[:inside[caller] + 2],
                                 ["allocate"] + ["churn_function"] * inside[caller] + [caller])
                modules = {frame.mapping["path"].rsplit("/", 1)[1] for frame in frames[1:inside[caller] + 1]}
                self.assertEqual(len(modules), 1, modules)
                counts[modules.pop()] += values["alloc_objects"]
        self.assertEqual(set(counts), {"churn_a.so", "churn_b.so"})

    def test_fibers_of_boost_context(self):
        said, profile = self.profile_program("fibers")
        self.check_truth(said, profile)
        self.check_whole(profile, COROUTINE_ROOTS)
        for stack in profile.by_leaf()["in_fiber"]["stacks"]:
            # boost's own, which is the outermost on a fiber's stack
            self.assertTrue(any("fiber_entry" in name for name in stack[6:]), stack)
            self.assertNotIn("main", stack)

    def need_built(self, name, language):
        if not (e2e.PROGRAMS / name).exists():
            print(f"skipped: {name} was not built, because cmake found no {language} compiler", file=sys.stderr)
            raise unittest.SkipTest(f"no {language} compiler")

    def test_rust_calls_c(self):
        self.need_built("calls_c_rust", "Rust")
        said, profile = self.profile_program("calls_c_rust")
        self.assertEqual(said, "rounds 200\n")
        self.check_whole(profile)
        self.assertEqual(self.through(profile, "c_leaf", "c_entry", "rust_work"), (200, 200 * 701))
        self.assertEqual(self.through(profile, "c_leaf", "c_entry", "rust_callback", "c_calls_back", "rust_work"),
                         (200, 200 * 702))
        # Five frames that a panic takes down, each of which allocates in its guard. (drop may be inlined.)
        for depth in range(1, 6):
            panics = ("rust_panics",) * depth + ("rust_work",)
            self.assertEqual(self.through(profile, "c_leaf", "c_entry", *panics, of="c_|rust_"), (200, 200 * 703), depth)
        vectors = [(values["alloc_objects"], values["alloc_space"]) for frames, values, _ in profile.samples
                   if "rust_vector" in [frame.name for frame in frames]]
        self.assertEqual((sum(n for n, _ in vectors), sum(size for _, size in vectors)), (200, 200 * 70400))

    def test_go_calls_c(self):
        """C runs on a stack that Go switched to: the walk goes on to the goroutine's, and back to C that called Go."""
        self.need_built("calls_c_go", "Go")
        said, profile = self.profile_program("calls_c_go")
        both = collections.Counter()
        for frames, values, _ in profile.samples:
            names = [frame.name for frame in frames]
            if names[0] != "c_leaf":
                continue
            self.assertEqual(names[:3], ["c_leaf", "c_middle", "c_entry"])
            self.assertRegex(names[3], "^_cgo_.*_Cfunc_c_entry$")
            self.assertRegex(names[4], r"^runtime\.asmcgocall")
            self.assertIn("main.work", names)
            self.assertIn(names[-1], GO_ROOTS)
            is_back = "calledBack" in names  # the stub in C; Go may inline its own
            self.assertEqual("c_calls_back" in names, is_back, names)
            if is_back:
                self.assertLess(names.index("calledBack"), names.index("c_calls_back"))
                self.assertLess(names.index("c_calls_back"), names.index("main.work"))
            both[is_back] += values["alloc_objects"]
            both["bytes"] += values["alloc_space"]
        self.assertEqual(both, {False: 9000, True: 9000, "bytes": 9000 * (801 + 802)})

    @unittest.skipUnless(platform.machine() == "x86_64", "its code is x86-64's")
    def test_code_made_at_run_time(self):
        """Without tables, with frame pointers and return addresses that no call pushed, as the JVM's interpreter."""
        said, profile = self.profile_program("made_code")
        self.check_truth(said, profile)
        self.check_whole(profile)
        (stack,) = profile.by_leaf()["made_leaf"]["stacks"]
        self.assertEqual((stack[:2], stack[4:6]), (("made_leaf", "in_made_code"), ("calls_made_code", "main")))

    def check_made_tables(self, said, profile):
        self.check_truth(said, profile)
        self.check_whole(profile)
        for stack in profile.by_leaf()["tables_leaf"]["stacks"]:
            self.assertEqual((stack[:2], stack[4:6]), (("tables_leaf", "in_made_tables"), ("calls_made_tables", "made_tables_work")))

    @unittest.skipUnless(platform.machine() == "x86_64", "its code is x86-64's")
    def test_tables_that_are_registered(self):
        """Code without frame pointers, each time with other frames at the same addresses, and tables for it."""
        self.check_made_tables(*self.profile_program("made_tables"))

    @unittest.skipUnless(platform.machine() == "x86_64", "its code is x86-64's")
    def test_tables_that_are_registered_in_a_scope_of_its_own(self):
        """Only the library that makes the code needs libgcc_s, as a wheel with LLVM in it."""
        self.check_made_tables(*self.profile_program("made_tables_loader", e2e.program("made_tables_library.so")))

    def test_code_of_llvms_jit(self):
        """lli: libLLVM registers the tables of what it compiles."""
        source = pathlib.Path(__file__).parent / "programs" / "made_by_llvm.ll"
        out = self.folder / "out.pb"
        self.check(e2e.run([e2e.need("lli-19"), source], e2e.preloaded(out, 0)))
        profile = e2e.Profile(out)
        self.assertEqual(profile.facts["walk_root"], profile.facts["samples"], profile.facts)
        below = collections.Counter()
        for frames, values, _ in profile.samples:
            made = [frame.mapping is None for frame in frames]
            if made[0]:
                # made_leaf, so many calls of made_deep and one, main; then LLVM
                depth = made.index(False) - 3
                self.assertEqual(sum(made), depth + 3)
                below[depth] += values["alloc_objects"]
                self.assertEqual(values["alloc_space"], 4001 * values["alloc_objects"])
        self.assertEqual(below, {depth: 56 if depth < 5 else 55 for depth in range(9)})


if __name__ == "__main__":
    e2e.main()
