# SPDX-License-Identifier: Apache-2.0
"""The whole C API from plain ctypes, in a python3 with the library preloaded.

The driver starts this file again, preloaded, once for each method of InProcess: the life cycle is one way.
"""
import ctypes
import gc
import mmap
import os
import pathlib
import resource
import sys
import threading
import unittest

import capi_binding as api

FOLDER_VARIABLE = "CAPI_TEST_FOLDER"


class InProcess(unittest.TestCase):
    def setUp(self):
        self.lib = api.load(os.environ["MEMPROF_E2E_LIBRARY"])  # the same as the preloaded one
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.malloc.restype, self.libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        self.libc.free.argtypes = [ctypes.c_void_p]
        self.folder = pathlib.Path(os.environ[FOLDER_VARIABLE])

    # ---- helpers

    def begin(self, rate=0, **limits):
        options = api.Options()
        self.assertEqual(self.lib.memprof_options_init(options, ctypes.sizeof(options)), api.OK)
        options.rate_bytes = rate
        for name, value in limits.items():
            setattr(options, name, value)
        self.assertEqual(self.lib.memprof_init(options), api.OK)
        self.assertEqual(self.lib.memprof_start(), api.OK)

    def stats(self):
        stats = api.Stats(struct_size=ctypes.sizeof(api.Stats))
        self.assertEqual(self.lib.memprof_get_stats(stats), api.OK)
        return stats

    def snapshot(self):
        handle = ctypes.c_void_p()
        self.assertEqual(self.lib.memprof_get_snapshot(handle), api.OK)
        self.assertTrue(handle.value)
        return handle

    def array(self, name, snapshot):
        count = ctypes.c_uint64(12345)
        pointer = getattr(self.lib, f"memprof_snapshot_{name}")(snapshot, count)
        return pointer, count.value

    def record_of(self, address):
        snapshot = self.snapshot()
        records, count = self.array("records", snapshot)
        found = [(r.size_bytes, r.weight_bytes, r.stack_id, r.thread_id) for r in records[:count]
                 if r.address == address]
        self.lib.memprof_free_snapshot(snapshot)
        self.assertLessEqual(len(found), 1)
        return found[0] if found else None

    # ---- the tests

    def test_version_and_errors(self):
        self.assertRegex(self.lib.memprof_version().decode(), r"^\d+\.\d+\.\d+$")
        texts = [self.lib.memprof_strerror(error).decode() for error in range(0, -8, -1)]
        self.assertEqual(len(set(texts)), 8, texts)
        for text in texts + [self.lib.memprof_strerror(-1000).decode(), self.lib.memprof_strerror(1000).decode()]:
            self.assertTrue(text)
            self.assertNotIn("\n", text)

    def test_options(self):
        options = api.Options(max_depth=7)
        self.assertEqual(self.lib.memprof_options_init(options, ctypes.sizeof(options)), api.OK)
        self.assertEqual((options.struct_size, options.rate_bytes), (ctypes.sizeof(options), 524288))
        self.assertEqual((options.max_depth, options.max_live_samples, options.max_stacks), (0, 0, 0))
        self.assertEqual(self.lib.memprof_options_init(None, 32), api.INVALID)
        self.assertEqual(self.lib.memprof_options_init(options, 4), api.INVALID)
        for name, value in (("rate_bytes", (1 << 50) + 1), ("max_depth", 1025), ("max_stacks", 1 << 62),
                            ("max_live_samples", 1 << 62), ("struct_size", 8)):
            self.lib.memprof_options_init(options, ctypes.sizeof(options))
            setattr(options, name, value)
            self.assertEqual(self.lib.memprof_init(options), api.INVALID, name)
        self.assertEqual(self.stats().state, api.UNINITIALIZED)

    def test_options_of_a_newer_header(self):
        """A caller that was compiled with a larger struct, or with a smaller one."""
        class Newer(ctypes.Structure):
            _fields_ = [("options", api.Options), ("unknown", ctypes.c_uint64)]
        newer = Newer(unknown=0x1234)
        options = ctypes.cast(ctypes.pointer(newer), ctypes.POINTER(api.Options))
        self.assertEqual(self.lib.memprof_options_init(options, ctypes.sizeof(newer)), api.OK)
        self.assertEqual(newer.unknown, 0)
        newer.unknown = 0x1234
        self.assertEqual(self.lib.memprof_init(options), api.OK)
        self.assertEqual(newer.unknown, 0x1234)
        stats = api.Stats(struct_size=16, samples=4711)
        self.assertEqual(self.lib.memprof_get_stats(stats), api.OK)
        self.assertEqual((stats.state, stats.rate_bytes, stats.samples), (api.INITIALIZED, 524288, 4711))

    def test_life_cycle(self):
        lib = self.lib
        self.assertEqual(self.stats().state, api.UNINITIALIZED)
        for call in (lib.memprof_start, lib.memprof_stop, lib.memprof_shutdown):
            self.assertEqual(call(), api.STATE)
        handle = ctypes.c_void_p(1)
        self.assertEqual(lib.memprof_get_snapshot(handle), api.STATE)
        self.assertEqual(lib.memprof_write_profile(bytes(self.folder / "x.pb"), 0), api.STATE)
        self.assertEqual(lib.memprof_init(None), api.OK)
        self.assertEqual(self.stats().state, api.INITIALIZED)
        self.assertEqual(lib.memprof_init(None), api.OK)
        self.assertEqual(lib.memprof_stop(), api.STATE)
        for _ in range(3):
            self.assertEqual(lib.memprof_start(), api.OK)
            self.assertEqual(lib.memprof_start(), api.STATE)
            self.assertEqual(self.stats().state, api.ACTIVE)
            self.assertEqual(lib.memprof_stop(), api.OK)
            self.assertEqual(lib.memprof_stop(), api.STATE)
            self.assertEqual(self.stats().state, api.STOPPED)
        self.assertEqual(lib.memprof_start(), api.OK)
        self.assertEqual(lib.memprof_shutdown(), api.OK)
        self.assertEqual(self.stats().state, api.TERMINATED)
        self.assertEqual(lib.memprof_shutdown(), api.OK)
        for call in (lib.memprof_start, lib.memprof_stop):
            self.assertEqual(call(), api.STATE)
        self.assertEqual(lib.memprof_init(None), api.STATE)
        self.assertEqual(lib.memprof_write_profile(bytes(self.folder / "after.pb"), 0), api.OK)

    def test_records(self):
        self.begin()
        address = self.libc.malloc(12345)
        size, weight, stack, thread = self.record_of(address)
        self.assertEqual((size, weight, thread), (12345, 12345.0, threading.get_native_id()))
        self.libc.free(address)
        self.assertIsNone(self.record_of(address))
        # Stopped: nothing new, but frees are followed.
        first = self.libc.malloc(111)
        self.assertEqual(self.lib.memprof_stop(), api.OK)
        second = self.libc.malloc(222)
        self.assertEqual(self.record_of(first)[0], 111)
        self.assertIsNone(self.record_of(second))
        self.libc.free(first)
        self.assertIsNone(self.record_of(first))

    def check_lifetimes(self, snapshot, stacks, stack_count):
        bound_count = ctypes.c_uint64()
        bounds = self.lib.memprof_lifetime_bounds(bound_count)[:bound_count.value]
        self.assertEqual((len(bounds), bounds[0], bounds[8]), (27, 1000, 10_000_000))
        self.assertEqual(bounds, sorted(bounds))
        lifetimes, count = self.array("lifetimes", snapshot)
        order = [(one.stack_id, one.lifetime_class) for one in lifetimes[:count]]
        self.assertEqual(order, sorted(set(order)))
        freed, young = {}, {}
        for one in lifetimes[:count]:
            self.assertLess(one.lifetime_class, 28)
            freed[one.stack_id] = freed.get(one.stack_id, 0) + one.size_bytes
            if one.lifetime_class <= 8:
                young[one.stack_id] = young.get(one.stack_id, 0) + one.size_bytes
        totals = (api.Totals * stack_count)()
        used = ctypes.c_uint64()
        younger = self.lib.memprof_snapshot_younger
        self.assertEqual(younger(snapshot, 11_000_000, totals, stack_count, used), api.OK)
        self.assertEqual(used.value, 10_000_000)
        for i in range(stack_count):
            self.assertEqual(stacks[i].freed.size_bytes, freed.get(i, 0))
            self.assertEqual((totals[i].size_bytes, totals[i].weight_bytes), (young.get(i, 0), young.get(i, 0)))
        self.assertGreater(sum(freed.values()), 1000 * 250)
        self.assertEqual(younger(snapshot, 11_000_000, totals, stack_count, None), api.OK)
        self.assertEqual(younger(snapshot, 0, totals, stack_count, used), api.INVALID)
        self.assertEqual(younger(snapshot, 1, totals, stack_count + 1, used), api.INVALID)
        self.assertEqual(younger(None, 1, totals, 0, used), api.INVALID)

    def test_arrays_fit_together(self):
        self.begin()
        blocks = [self.libc.malloc(1000 + i % 7) for i in range(500)]
        for block in blocks[::2]:
            self.libc.free(block)
        junk = [bytearray(5000) for _ in range(100)]
        before = self.stats()
        snapshot = self.snapshot()
        after = self.stats()
        del junk
        records, record_count = self.array("records", snapshot)
        stacks, stack_count = self.array("stacks", snapshot)
        frames, frame_count = self.array("frames", snapshot)
        modules, module_count = self.array("modules", snapshot)
        strings, string_bytes = self.array("strings", snapshot)
        text = ctypes.string_at(strings, string_bytes)
        self.assertEqual(text[:1], b"\0")
        self.assertEqual(text[-1:], b"\0")
        info = api.Info(struct_size=ctypes.sizeof(api.Info))
        self.assertEqual(self.lib.memprof_snapshot_get_info(snapshot, info), api.OK)
        self.assertEqual((info.pid, info.rate_bytes), (os.getpid(), 0))
        self.assertLess(info.start_ns, info.time_ns)
        self.assertGreater(info.time_unix_ns, 1_600_000_000_000_000_000)

        order = [(r.stack_id, r.size_bytes, r.rate_bytes) for r in records[:record_count]]
        self.assertEqual(order, sorted(order))
        self.assertEqual(info.live_weight_bytes, sum(r.weight_bytes for r in records[:record_count]))
        self.assertEqual(info.live_weight_count, record_count)
        self.assertTrue(before.live_samples - 50 < record_count < after.live_samples + 50)
        live = {}
        for r in records[:record_count]:
            self.assertLess(r.stack_id, stack_count)
            self.assertTrue(info.start_ns <= r.time_ns <= info.time_ns)
            live[r.stack_id] = live.get(r.stack_id, 0) + r.size_bytes
        allocated_samples = 0
        for i in range(stack_count):
            stack = stacks[i]
            self.assertLessEqual(stack.first_frame + stack.frame_count, frame_count)
            self.assertLess(stack.walk, 6)
            allocated, freed = stack.allocated, stack.freed
            allocated_samples += allocated.samples
            self.assertEqual(allocated.weight_bytes, allocated.size_bytes)
            self.assertEqual(allocated.weight_count, allocated.samples)
            self.assertEqual((allocated.variance_bytes, allocated.max_missed_bytes), (0, 0))
            # Lesson 23: live is allocated minus freed, for each stack.
            self.assertEqual(allocated.size_bytes - freed.size_bytes, live.get(i, 0))
            if freed.samples:
                self.assertLessEqual(stack.min_lifetime_ns, stack.lifetime_ns / freed.weight_count)
                self.assertLessEqual(stack.lifetime_ns / freed.weight_count, stack.max_lifetime_ns * 1.000001)
        self.assertTrue(before.samples <= allocated_samples <= after.samples)
        self.check_lifetimes(snapshot, stacks, stack_count)
        paths = []
        for module in modules[:module_count]:
            self.assertLess(module.start, module.limit)
            self.assertLess(module.path_offset, string_bytes)
            paths.append(text[module.path_offset:text.index(b"\0", module.path_offset)].decode())
            self.assertLessEqual(module.build_id_size, 32)
            self.assertEqual(module.flags, 0)
        self.assertIn(os.path.realpath("/proc/self/exe"), [os.path.realpath(p) for p in paths])
        self.assertFalse([p for p in paths if "libmemprof" in p], "a frame of our own library is in a stack")
        python, python_count = self.array("runtime_frames", snapshot)
        native = [frames[i] for i in range(frame_count) if not frames[i] >> 63]
        indices = {frames[i] ^ 1 << 63 for i in range(frame_count) if frames[i] >> 63}
        self.assertEqual(indices, set(range(python_count)), "each place is in a stack")
        names = {text[f.name_offset:text.index(b"\0", f.name_offset)].decode() for f in python[:python_count]}
        self.assertIn("InProcess.test_arrays_fit_together", names)
        for f in python[:python_count]:
            self.assertEqual(f.runtime, 1)
            self.assertTrue(f.line == 0 or f.line >= f.function_line > 0, (f.line, f.function_line))
        inside = sum(any(m.start <= address < m.limit for m in modules[:module_count]) for address in native)
        self.assertGreater(inside, len(native) * 0.95)
        self.lib.memprof_free_snapshot(snapshot)

    def test_wrong_arguments(self):
        lib = self.lib
        self.begin()
        for name in ("records", "stacks", "frames", "modules", "strings", "symbols"):
            count = ctypes.c_uint64(7)
            self.assertFalse(getattr(lib, f"memprof_snapshot_{name}")(None, count), name)
            self.assertEqual(count.value, 0, name)
        self.assertEqual(lib.memprof_get_snapshot(None), api.INVALID)
        self.assertEqual(lib.memprof_get_stats(None), api.INVALID)
        self.assertEqual(lib.memprof_get_stats(api.Stats(struct_size=4)), api.INVALID)
        self.assertEqual(lib.memprof_snapshot_get_info(None, api.Info(struct_size=56)), api.INVALID)
        self.assertEqual(lib.memprof_resolve_symbols(None), api.INVALID)
        self.assertEqual(lib.memprof_set_rate((1 << 50) + 1), api.INVALID)
        self.assertEqual(lib.memprof_write_profile(None, 0), api.INVALID)
        self.assertEqual(lib.memprof_write_profile(b"x.pb", 2), api.INVALID)
        self.assertEqual(lib.memprof_write_profile(b"", 0), api.INVALID)
        self.assertEqual(lib.memprof_write_profile(b"/tmp/%q.pb", 0), api.INVALID)
        self.assertEqual(lib.memprof_write_profile(b"/" + b"x" * 5000 + b".pb", 0), api.INVALID)
        self.assertEqual(lib.memprof_write_profile_fd(-1), api.INVALID)
        lib.memprof_free_snapshot(None)

    def test_snapshots_outlive_everything(self):
        """Freed in any order, from another thread, after shutdown."""
        self.begin()
        keep = self.libc.malloc(54321)
        snapshots = [self.snapshot() for _ in range(5)]
        self.libc.free(keep)
        self.assertEqual(self.lib.memprof_shutdown(), api.OK)
        snapshots.append(self.snapshot())

        def check(snapshot):
            records, count = self.array("records", snapshot)
            return sum(r.size_bytes == 54321 for r in records[:count])
        self.assertEqual([check(s) for s in snapshots], [1, 1, 1, 1, 1, 0])
        for i in (2, 0, 5):
            self.lib.memprof_free_snapshot(snapshots[i])
        self.assertEqual([check(snapshots[i]) for i in (1, 3, 4)], [1, 1, 1])
        thread = threading.Thread(target=lambda: [self.lib.memprof_free_snapshot(snapshots[i]) for i in (4, 1, 3)])
        thread.start()
        thread.join()

    def test_resolve_symbols(self):
        self.begin()
        block = self.libc.malloc(777777)
        snapshot = self.snapshot()
        _, frame_count = self.array("frames", snapshot)
        self.assertEqual(self.array("symbols", snapshot)[1], 0)
        before = self.stats().samples
        named = self.lib.memprof_resolve_symbols(snapshot)
        self.assertTrue(0 < named <= frame_count, (named, frame_count))
        symbols, count = self.array("symbols", snapshot)
        self.assertEqual(count, frame_count)
        strings, size = self.array("strings", snapshot)
        text = ctypes.string_at(strings, size)
        names = [text[s.name_offset:text.index(b"\0", s.name_offset)].decode() for s in symbols[:count]]
        self.assertEqual(sum(name != "" for name in names), named)
        self.assertIn("Py_BytesMain", names)  # exported by every python3, at the root of its stacks
        frames, _ = self.array("frames", snapshot)
        for i, (symbol, name) in enumerate(zip(symbols[:count], names)):
            self.assertEqual(symbol.symbol_offset != 0, name != "" and not frames[i] >> 63)
        self.assertLess(self.stats().samples - before, 5000)  # ours here; the loader's are not sampled
        self.assertEqual(self.lib.memprof_resolve_symbols(snapshot), named)
        self.lib.memprof_free_snapshot(snapshot)
        self.libc.free(block)

    def test_write_profile(self):
        self.begin()
        self.libc.malloc(31337)
        target = self.folder / "p.pb"
        write = lambda path, flags=0: self.lib.memprof_write_profile(bytes(path), flags)
        self.assertEqual(write(target), api.OK)
        self.assertEqual(target.stat().st_mode & 0o777, 0o600)
        first = target.read_bytes()
        self.assertEqual(write(target), api.EXISTS)
        self.assertEqual(target.read_bytes(), first)
        self.libc.malloc(31338)
        self.assertEqual(write(target, api.OVERWRITE), api.OK)
        self.assertNotEqual(target.read_bytes(), first)
        self.assertEqual(write(self.folder / "a%%b.%p.%n.pb"), api.OK)
        program = os.path.basename(os.readlink("/proc/self/exe"))
        self.assertTrue((self.folder / f"a%b.{os.getpid()}.{program}.pb").exists())
        ctypes.set_errno(0)
        self.assertEqual(write(self.folder / "no" / "such" / "folder.pb"), api.SYSTEM)
        self.assertEqual(ctypes.get_errno(), 2)
        (self.folder / "folder.pb").mkdir()
        self.assertEqual(write(self.folder / "folder.pb"), api.EXISTS)
        self.assertEqual(write(self.folder / "folder.pb", api.OVERWRITE), api.SYSTEM)
        (self.folder / "folder.pb").rmdir()
        for name in ("x", "x.json", "x.html", "x.svg"):
            self.assertEqual(write(self.folder / name), api.INVALID)
        self.assertEqual(write(self.folder / "p.pb.gz"), api.OK)
        self.assertEqual((self.folder / "p.pb.gz").read_bytes()[:2], b"\x1f\x8b")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()),
                         sorted(["p.pb", "p.pb.gz", f"a%b.{os.getpid()}.{program}.pb"]))

    def test_write_profile_fd(self):
        self.begin()
        with open(self.folder / "fd.pb", "xb") as file:
            self.assertEqual(self.lib.memprof_write_profile_fd(file.fileno()), api.OK)
            self.assertGreater(os.fstat(file.fileno()).st_size, 100)  # and it is still open
        ctypes.set_errno(0)
        self.assertEqual(self.lib.memprof_write_profile_fd(file_number := os.open("/dev/full", os.O_WRONLY)),
                         api.SYSTEM)
        self.assertEqual(ctypes.get_errno(), 28)
        os.close(file_number)
        self.assertEqual(self.lib.memprof_write_profile_fd(file_number), api.SYSTEM)
        self.assertEqual(ctypes.get_errno(), 9)
        read, write = os.pipe()
        received = []
        reader = threading.Thread(target=lambda: received.append(open(read, "rb").read()))
        reader.start()
        self.assertEqual(self.lib.memprof_write_profile_fd(write), api.OK)
        os.close(write)
        reader.join()
        (self.folder / "pipe.pb").write_bytes(received[0])

    def test_set_rate_and_stats(self):
        self.begin(rate=1 << 20)
        self.assertEqual(self.stats().rate_bytes, 1 << 20)
        self.assertEqual(self.lib.memprof_set_rate(0), api.OK)
        address = self.libc.malloc(99)
        self.assertIsNotNone(self.record_of(address))
        self.assertEqual(self.lib.memprof_set_rate(1 << 50), api.OK)
        other = self.libc.malloc(98)
        self.assertIsNone(self.record_of(other))
        stats = self.stats()
        self.assertEqual(stats.rate_bytes, 1 << 50)
        self.assertEqual(sum(stats.walks), stats.samples)
        self.assertEqual(stats.dropped_samples, stats.dropped_live_table + stats.dropped_stack_table)
        self.assertGreater(stats.arena_bytes, stats.arena_used_bytes)
        self.assertGreaterEqual(stats.cold_paths, stats.samples)
        self.assertGreater(stats.min_depth, 0)

    def test_limits_are_kept_and_counted(self):
        """Tables that are too small: refused, counted, and the program runs on."""
        self.begin(max_live_samples=1, max_stacks=1, max_depth=1)
        blocks = [self.libc.malloc(64) for _ in range(200_000)]
        stats = self.stats()
        self.assertGreater(stats.dropped_samples, 0)
        self.assertGreater(stats.dropped_weight_bytes, 0)
        self.assertGreater(stats.walks[1], 0)
        self.assertEqual(self.lib.memprof_write_profile(bytes(self.folder / "full.pb"), 0), api.OK)
        for block in blocks:
            self.libc.free(block)

    def test_nothing_is_left_after_everything_is_freed(self):
        """Lesson 22."""
        self.begin()
        gc.disable()
        addresses = [self.libc.malloc(i) for i in range(1, 20000)]
        wanted = set(addresses)
        for address in addresses:
            self.libc.free(address)
        self.assertEqual(self.lib.memprof_stop(), api.OK)
        snapshot = self.snapshot()
        records, count = self.array("records", snapshot)
        # The interpreter may have got some of these addresses since.
        self.assertLess(sum(r.address in wanted for r in records[:count]), 100)
        self.lib.memprof_free_snapshot(snapshot)

    def test_fork_child(self):
        self.begin()
        kept = self.libc.malloc(4242)
        samples = self.stats().samples
        child = os.fork()
        if child == 0:
            status = 1
            try:
                handle = ctypes.c_void_p()
                results = [self.lib.memprof_get_snapshot(handle), self.lib.memprof_start(), self.lib.memprof_stop(),
                           self.lib.memprof_shutdown(),
                           self.lib.memprof_write_profile(bytes(self.folder / "child.pb"), 0),
                           self.lib.memprof_write_profile_fd(1)]
                self.libc.free(kept)
                blocks = [self.libc.malloc(100) for _ in range(1000)]
                status = 0 if results == [api.FORKED] * 6 and all(blocks) else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertIsNotNone(self.record_of(kept))  # its free in the child was the child's
        self.assertFalse((self.folder / "child.pb").exists())
        self.assertGreaterEqual(self.stats().samples, samples)

    def test_multiprocessing(self):
        self.begin()
        import multiprocessing
        with multiprocessing.get_context("fork").Pool(2) as pool:
            self.assertEqual(pool.map(_square, range(100)), [i * i for i in range(100)])
        self.assertIsNotNone(self.record_of(self.libc.malloc(31)))

    def test_loaded_at_run_time(self):
        """The library in a process that does not call it: the driver runs this one without LD_PRELOAD."""
        lib = self.lib
        self.assertEqual(lib.memprof_init(None), api.OK)
        self.assertEqual(self.stats().hooks, api.HOOKS_NONE)
        self.assertEqual(lib.memprof_rescan_imports(), api.STATE)
        self.assertEqual(lib.memprof_start(), api.OK)
        self.assertEqual(self.stats().hooks, api.HOOKS_IMPORTS)
        self.assertEqual(lib.memprof_rescan_imports(), api.OK)
        self.assertEqual(lib.memprof_stop(), api.OK)
        handle = ctypes.c_void_p()
        self.assertEqual(lib.memprof_get_snapshot(handle), api.OK)
        lib.memprof_free_snapshot(handle)
        # Lesson 10: it cannot be unloaded.
        dlclose = ctypes.CDLL(None).dlclose
        dlclose.argtypes = [ctypes.c_void_p]
        for _ in range(3):
            dlclose(lib._handle)
        self.assertRegex(lib.memprof_version().decode(), r"\d")

    def test_resident_memory(self):
        """At most 2 MB after start, 8 MB with 10,000 live samples (the Must-show table of the engine)."""
        def resident_kb():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * mmap.PAGESIZE // 1024
        block = ctypes.c_char * 8
        junk = [self.libc.malloc(64) for _ in range(10_000)]
        before = resident_kb()
        self.begin(rate=1 << 50)
        self.assertLess(resident_kb() - before, 2048)
        self.lib.memprof_set_rate(0)
        junk += [self.libc.malloc(64) for _ in range(10_000)]
        self.lib.memprof_set_rate(1 << 50)
        self.assertLess(resident_kb() - before, 8192 + 2048)
        self.assertGreaterEqual(self.stats().live_samples, 10_000)
        del junk, block


def _square(x):
    return x * x


def drive():
    import e2e

    class Layout(e2e.Test):
        def test_the_binding_is_as_the_compiler_lays_it_out(self):
            said = self.check(e2e.run([e2e.program("layout")])).stdout.decode()
            self.assertEqual(said.splitlines(), api.layout())

        def test_the_binding_names_every_function(self):
            header = (e2e.SOURCE / "capi/include/memprof.h").read_text()
            import re
            declared = re.findall(r"^MEMPROF_API .*?\b(memprof_\w+)\(", header, re.MULTILINE)
            self.assertEqual(sorted(declared), sorted(api.NAMES))

    class Ctypes(e2e.Test):
        pass

    def method(name):
        def run(self):
            environment = e2e.preloaded(**{FOLDER_VARIABLE: str(self.folder)})
            if name == "test_loaded_at_run_time":
                environment.pop("LD_PRELOAD")
            environment["MEMPROF_E2E_LIBRARY"] = str(e2e.LIBRARY)
            self.check(e2e.run([e2e.system_python(), "-B", __file__, f"InProcess.{name}"], environment), stderr=None)
            for path in self.folder.glob("*.pb"):
                e2e.Profile(path)
                self.memprof("report", path)
        run.__doc__ = getattr(InProcess, name).__doc__
        return run

    for name in unittest.TestLoader().getTestCaseNames(InProcess):
        setattr(Ctypes, name, method(name))
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in (Layout, Ctypes))
    sys.exit(not unittest.TextTestRunner().run(suite).wasSuccessful())


if __name__ == "__main__":
    if FOLDER_VARIABLE in os.environ:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        unittest.main()
    drive()
