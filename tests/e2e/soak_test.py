# SPDX-License-Identifier: Apache-2.0
"""A process of 8 threads at rate 4k that is read from outside every 100 ms: what memprof takes in it stays as it is, and
what its counters say is consistent at each reading.  Its stacks are a million different ones: the table is full soon.

3 s; MEMPROF_TEST_WHOLE=1 (./dev endure): two hours; MEMPROF_SOAK_S: so many seconds.
"""
import ctypes
import os
import subprocess
import time

import capi_binding
import e2e

SECONDS = float(os.environ.get("MEMPROF_SOAK_S") or (7200 if os.environ.get("MEMPROF_TEST_WHOLE") else 3))
SETTLED_S = 600  # from then on nothing grows
FLAT_BYTES = 1 << 20
THREADS = 8
# Samples that may be on their way of each thread.
UNDER_WAY = 10 * THREADS


def resident_bytes(pid):
    """(of memprof: its arena, its library and that one's zeroed data; of the whole process)"""
    ours = whole = end_of_ours = 0
    is_ours = False
    with open(f"/proc/{pid}/smaps") as lines:
        for line in lines:
            words = line.split()
            if "-" in words[0] and not words[0].endswith(":"):
                begin, end = (int(address, 16) for address in words[0].split("-"))
                path = words[5] if len(words) > 5 else ""
                is_ours = ".arena" in path or "libmemprof" in path or (not path and begin == end_of_ours)
                end_of_ours = end if is_ours else end_of_ours
            elif words[0] == "Rss:":
                whole += int(words[1]) * 1024
                ours += int(words[1]) * 1024 if is_ours else 0
    return ours, whole


class Soak(e2e.Test):
    def read(self, library, path):
        """-> (stats, live records, samples allocated and freed by stack)"""
        snapshot = ctypes.c_void_p()
        self.assertEqual(library.memprof_snapshot_open(os.fsencode(path), ctypes.byref(snapshot)), 0)
        stats = capi_binding.Stats()
        stats.struct_size = ctypes.sizeof(stats)
        self.assertEqual(library.memprof_snapshot_get_stats(snapshot, ctypes.byref(stats)), 0)
        count = ctypes.c_uint64()
        library.memprof_snapshot_records(snapshot, ctypes.byref(count))
        records = count.value
        stacks = library.memprof_snapshot_stacks(snapshot, ctypes.byref(count))
        # As bytes: a million attributes in a loop take longer than 100 ms.
        words = ctypes.cast(stacks, ctypes.POINTER(ctypes.c_uint64))
        size = ctypes.sizeof(capi_binding.Stack) // 8
        view = memoryview((ctypes.c_uint64 * (count.value * size)).from_address(ctypes.addressof(words.contents))).cast("B").cast("Q")
        allocated = sum(view[capi_binding.Stack.allocated.offset // 8::size])
        freed = sum(view[capi_binding.Stack.freed.offset // 8::size])
        view.release()
        library.memprof_free_snapshot(snapshot)
        return stats, records, allocated, freed

    def check_reading(self, before, stats, records, allocated, freed):
        for name in ("samples", "frames", "folded_stacks", "cold_paths"):
            self.assertGreaterEqual(getattr(stats, name), getattr(before, name) if before else 0, name)
        self.assertEqual(stats.dropped_samples, 0)
        self.assertLessEqual(stats.live_samples + stats.freed_samples, stats.samples)
        if before is None:
            return
        # Records, stacks and counters are read one after the other, while the process goes on: what is allocated and freed
        # meanwhile is no more than what was since the reading before.
        meanwhile = UNDER_WAY + stats.samples - before.samples + stats.freed_samples - before.freed_samples
        self.assertLessEqual(abs(stats.live_samples - records), meanwhile)
        self.assertLessEqual(abs(allocated - freed - records), meanwhile)
        self.assertLessEqual(abs(stats.samples - allocated), meanwhile)

    def test_what_memprof_takes_stays_as_it_is(self):
        library = capi_binding.load(str(e2e.LIBRARY))
        process = subprocess.Popen([e2e.program("soak"), str(THREADS)], stdout=subprocess.PIPE,
                                   env=e2e.preloaded(self.folder / "x.pb", "4k", MEMPROF_ARENA_DIR=str(self.folder)))
        try:
            self.assertEqual(process.stdout.readline(), b"runs\n")
            begin = time.monotonic()
            readings, settled, before, said_at = 0, [], None, 0
            slowest = 0.0
            while time.monotonic() < begin + SECONDS:
                started = time.monotonic()
                paths = list(self.folder.glob("*.arena"))
                if paths:
                    reading = self.read(library, paths[0])
                    self.check_reading(before, *reading)
                    before = reading[0]
                    readings += 1
                    slowest = max(slowest, time.monotonic() - started)
                since = started - begin
                if since >= said_at:
                    ours, whole = resident_bytes(process.pid)
                    print(f"after {since:.0f} s: memprof {ours >> 10:,} KiB, process {whole >> 10:,} KiB; "
                          f"{before.samples if before else 0:,} samples, {before.folded_stacks if before else 0:,} stacks "
                          f"folded, {readings} readings, the slowest {slowest * 1000:.0f} ms", flush=True)
                    settled += [ours] if since >= SETTLED_S else []
                    said_at += 30 if SECONDS > 60 else 1
                time.sleep(max(0, started + 0.1 - time.monotonic()))
            self.assertIsNone(process.poll())
            self.assertGreater(readings, 0)
            self.assertGreater(before.samples, 0)
            if settled:
                self.assertLessEqual(max(settled) - min(settled), FLAT_BYTES)
        finally:
            process.kill()
            process.wait(e2e.WATCHDOG_S)
            process.stdout.close()


if __name__ == "__main__":
    e2e.main()
