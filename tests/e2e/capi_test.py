# SPDX-License-Identifier: Apache-2.0
"""The life cycle, options and statistics of the C API from plain ctypes (capi_process.py), and its layout."""
import ctypes
import gc
import mmap
import os
import re
import threading

import capi_binding as api
import capi_process


class InProcess(capi_process.Calls):
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

    def test_collections_are_counted(self):
        lib = self.lib
        gc.collect()
        self.assertEqual(lib.memprof_get_gc_epoch(), 0)
        gc.disable()
        try:
            callbacks = len(gc.callbacks)
            for _ in range(3):  # once, however often it is asked for
                self.assertEqual(lib.memprof_enable_gc_tracking(), api.OK)
            self.assertEqual(len(gc.callbacks), callbacks + 1)
            self.assertEqual(lib.memprof_get_gc_epoch(), 0)
            for i in range(3):
                gc.collect(i)
            self.assertEqual(lib.memprof_get_gc_epoch(), 3)
            thread = threading.Thread(target=lambda: (lib.memprof_enable_gc_tracking(), gc.collect()))
            thread.start()
            thread.join()
            self.assertEqual(lib.memprof_get_gc_epoch(), 4)
        finally:
            gc.enable()

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


def layout():
    import e2e

    class Layout(e2e.Test):
        def test_the_binding_is_as_the_compiler_lays_it_out(self):
            said = self.check(e2e.run([e2e.program("layout")])).stdout.decode()
            self.assertEqual(said.splitlines(), api.layout())

        def test_the_binding_names_every_function(self):
            header = (e2e.SOURCE / "capi/include/memprof.h").read_text()
            declared = re.findall(r"^MEMPROF_API .*?\b(memprof_\w+)\(", header, re.MULTILINE)
            self.assertEqual(sorted(declared), sorted(api.NAMES))

    return Layout


if __name__ == "__main__":
    capi_process.main(__file__, InProcess, *([] if capi_process.FOLDER_VARIABLE in os.environ else [layout()]))
