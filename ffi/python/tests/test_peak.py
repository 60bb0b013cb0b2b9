# SPDX-License-Identifier: Apache-2.0
"""HeapSnapshot.peak: the heap at its highest."""


def test_exact_at_rate_0(run):
    result = run("""
        import time
        began = time.time_ns()
        memprof.start(0)
        def hold():
            return [bytearray(1_000_000) for _ in range(20)]
        kept = hold()[:5]
        peak = memprof.get_snapshot().peak
        first = peak.sites[0]
        report([int(peak.bytes), peak.bytes.is_exact, int(peak.blocks), first.frame.function, int(first.bytes), first.bytes.is_exact,
                began <= peak.timestamp_ns <= time.time_ns(), peak.resident_bytes or 0, peak.max_resident_bytes or 0,
                sum(int(site.bytes) for site in peak.sites)])
    """)
    size, exact, blocks, function, first, first_exact, in_time, resident, most, total = result.value
    assert exact and first_exact and in_time
    assert 20_000_000 <= size < 20_300_000 and blocks >= 20
    assert function.endswith("hold") or function.endswith("<listcomp>")
    assert 20_000_000 <= first <= size == total
    assert 10_000_000 < resident <= most


def test_of_a_heap_that_never_fell_it_is_what_is_live(run):
    result = run("""
        memprof.start(64)
        kept = [bytearray(5000) for _ in range(4000)]
        snapshot = memprof.get_snapshot()
        live, peak = snapshot.estimated_heap_bytes, snapshot.peak.bytes
        report([int(live), live.low, live.high, int(peak), peak.low, peak.high])
    """)
    live, low, high, peak, peak_low, peak_high = result.value
    # What Python frees in between may close it: then what is still there counts as it does among what is live.
    assert abs(live - peak) <= 0.08 * live
    assert abs(low - peak_low) <= 0.12 * live and abs(high - peak_high) <= 0.12 * live


def test_estimates_are_unbiased_and_covered(run):
    """40 peaks of 20 MB in blocks of 50 KB at a rate of 256 KiB, each of a life cycle of its own: the mean deviates by
    less than 6 sigma of the halves' estimate (false alarm below 1e-8); the intervals hold the truth in at least 28
    (expected 38; false alarm below 1e-6)."""
    result = run("""
        import ctypes
        from memprof._library import lib
        truth = 400 * 50_001
        memprof.start(256)
        values = []
        for _ in range(40):
            lib.memprof_reset_peak()
            kept = [bytearray(50_000) for _ in range(400)]
            del kept
            peak = memprof.get_snapshot().peak
            values.append((int(peak.bytes) / truth, peak.bytes.low / truth, peak.bytes.high / truth))
        report(values)
    """)
    values = result.value
    mean = sum(value for value, _, _ in values) / len(values)
    # Of one estimate at twice the rate: sqrt((1-p)/p/n) with p = 1 - exp(-50000/524288) is 0.158.
    assert abs(mean - 1) < 6 * 0.158 / 40 ** 0.5, mean
    assert sum(low <= 1.0 <= high for _, low, high in values) >= 28


def test_places_by_what_they_held_at_the_peak(run):
    """Every row has peak_bytes; metric="peak" orders by it, and is what HeapSnapshot.peak says."""
    result = run("""
        memprof.start(0)
        def gone():
            return [bytearray(1_000_000) for _ in range(20)]
        def kept():
            return [bytearray(100_000) for _ in range(30)]
        keep = kept()
        gone()
        snapshot = memprof.get_snapshot()
        rows = snapshot.top_allocators(1000, metric="peak")
        held = snapshot.peak.sites
        live = snapshot.top_allocators(1)[0]
        soon = snapshot.top_allocators(1, metric="allocated")[0]
        report([rows[0]["function"], int(rows[0]["estimated_bytes"]), int(rows[0]["peak_bytes"]), rows[0]["estimated_bytes"].is_exact,
                rows[0]["samples"], [int(row["estimated_bytes"]) for row in rows] == [int(site.bytes) for site in held],
                round(sum(row["percent"] for row in rows)), live["function"], int(live["peak_bytes"]), int(live["estimated_bytes"]),
                int(soon["peak_bytes"])])
    """)
    function, size, same, exact, samples, as_peak, percent, live_function, live_peak, live, soon_peak = result.value
    assert function.startswith("gone") and exact and samples >= 20
    assert 20_000_000 <= size == same < 20_200_000 and soon_peak == size
    assert as_peak and percent == 100
    assert live_function.startswith("kept") and 3_000_000 <= live_peak < 3_200_000 and abs(live - live_peak) < 100_000


def test_reset_peak_begins_it_anew(run):
    result = run("""
        try:
            memprof.reset_peak()
            said = ""
        except RuntimeError as error:
            said = str(error)
        memprof.start(0)
        kept = [bytearray(1_000_000) for _ in range(20)]
        del kept
        before = memprof.get_snapshot().peak
        memprof.reset_peak()
        kept = [bytearray(1_000_000) for _ in range(5)]
        del kept
        after = memprof.get_snapshot().peak
        report([said, int(before.bytes), int(after.bytes), before.timestamp_ns < after.timestamp_ns, memprof.get_stats().peak_heap_bytes])
    """)
    said, before, after, later, counted = result.value
    assert said == "memprof.reset_peak: there is no peak yet; call memprof.start() first"
    assert 20_000_000 <= before < 20_300_000 and 5_000_000 <= after < 5_300_000 and later
    assert 5_000_000 <= counted < 5_500_000
