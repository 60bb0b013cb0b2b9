# SPDX-License-Identifier: Apache-2.0
"""Snapshots and profiles of the C API from plain ctypes (capi_process.py)."""
import ctypes
import gc
import os
import threading

import capi_binding as api
import capi_process


class InProcess(capi_process.Calls):
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


if __name__ == "__main__":
    capi_process.main(__file__, InProcess)
