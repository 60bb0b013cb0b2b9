# SPDX-License-Identifier: Apache-2.0
"""Start, work, look: the whole of the API that most programs need.

It ends with status 1 if the picture is wrong, so that it can be a test.
"""
import memprof

memprof.start(sampling_rate_kb=512)

try:
    import numpy as np
    data = np.random.randn(1000, 10000)  # 80 MB
except ImportError:
    data = [bytearray(10_000_000) for _ in range(8)]  # 80 MB as well

snapshot = memprof.get_snapshot()
print(f"Estimated heap: {snapshot.estimated_heap_bytes / 1e6:.0f} MB")
print(f"Live samples: {snapshot.live_samples}")
for site in snapshot.top_allocators(5):
    size = site["estimated_bytes"]
    print(f"{site['function']}: {size / 1e6:.1f} MB (95 %: {size.low / 1e6:.1f} to {size.high / 1e6:.1f})")
memprof.stop()

with memprof.MemoryProfiler() as mp:
    more = [bytearray(2_000_000) for _ in range(10)]

mp.snapshot.save("memory_profile.json", format="speedscope")
print("Open memory_profile.json at https://www.speedscope.app")

grown = memprof.snapshot_diff(snapshot, mp.snapshot).growth
assert 75e6 < snapshot.estimated_heap_bytes < 110e6, snapshot
assert 14e6 < grown < 26e6, grown  # 6 standard deviations of 4.7 %; a 95 % interval would miss in 5 % of runs
