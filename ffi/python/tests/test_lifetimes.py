# SPDX-License-Identifier: Apache-2.0
"""How long blocks lived: HeapSnapshot.top_allocators by what was allocated, and by what was freed soon after."""
import pytest


def test_exact_at_rate_0(run):
    result = run("""
        memprof.start(0)
        def soon():
            for _ in range(50):
                bytearray(200_000)
        def held():
            return [bytearray(100_000) for _ in range(20)]
        soon()
        kept = held()
        snapshot = memprof.get_snapshot()
        day = 86_400_000_000_000
        allocated = snapshot.top_allocators(100, "allocated")
        temporary = snapshot.top_allocators(100, metric="temporary", younger_ns=day)
        one = next(row for row in allocated if row["function"] == "soon")
        same = next(row for row in temporary if row["function"] == "soon")
        live = next(row for row in snapshot.top_allocators() if row["estimated_bytes"] > 1_000_000)
        sizes = [int(row["estimated_bytes"]) for row in allocated]
        report([int(one["estimated_bytes"]), one["estimated_bytes"].is_exact, one["samples"], one["lifetime_ns"],
                int(one["temporary_bytes"]) <= int(one["allocated_bytes"]), int(same["estimated_bytes"]), same["samples"],
                int(same["estimated_blocks"]), int(same["temporary_bytes"]),
                int(live["allocated_bytes"]), int(live["temporary_bytes"]), sizes == sorted(sizes, reverse=True),
                round(sum(row["percent"] for row in allocated)), bool(one["stack"])])
    """)
    (size, exact, samples, lifetime, less, temporary, temporary_samples, blocks, again, live_allocated, live_temporary, ordered, percent,
     stack) = result.value
    assert 10_000_000 <= size < 10_200_000 and exact and samples >= 50
    assert 0 < lifetime < 60_000_000_000
    assert less and temporary == again == size and temporary_samples == samples == blocks
    assert live_allocated >= 2_000_000 and live_temporary < 100_000  # what the list was before it grew
    assert ordered and percent == 100 and stack


def test_the_time_decides(run):
    """What lived for half a second was not freed within a millisecond, and was within a day."""
    result = run("""
        import time
        memprof.start(0)
        def made():
            return bytearray(3_000_000)
        kept = made()
        time.sleep(0.5)
        del kept
        snapshot = memprof.get_snapshot()
        def bytes_within(ns):
            return sum(int(row["estimated_bytes"]) for row in snapshot.top_allocators(1000, "temporary", ns) if row["function"] == "made")
        row = next(row for row in snapshot.top_allocators(1000, "allocated") if row["function"] == "made")
        report([bytes_within(1_000_000), bytes_within(86_400_000_000_000), row["lifetime_ns"]])
    """)
    soon, ever, lifetime = result.value
    assert soon == 0 and ever >= 3_000_000
    assert lifetime >= 300_000_000  # the class from 300 ms on, or a later one


def test_estimates_have_intervals(run):
    """1,000 blocks of 20 KB at a rate of 64 KiB: 6 sigma (false alarm below 1e-8)."""
    size, low, high = run("""
        memprof.start(64)
        def soon():
            for _ in range(1000):
                bytearray(20_000)
        soon()
        rows = memprof.get_snapshot().top_allocators(10, "temporary", 86_400_000_000_000)
        row = next(row for row in rows if row["function"] == "soon")
        report([int(row["estimated_bytes"]), row["estimated_bytes"].low, row["estimated_bytes"].high])
    """).value
    truth = 1000 * 20_000
    assert low < size < high
    assert abs(size - truth) < 6 * 0.05 * truth
    assert 0.05 * size < high - size < 0.25 * size


@pytest.mark.parametrize("arguments", ["metric='bytes'", "metric=None", "younger_ns=0", "younger_ns=-5", "younger_ns=1.5",
                                       "younger_ns=True", "younger_ns='10ms'", "younger_ns=1 << 63"])
def test_wrong_arguments(run, arguments):
    said = run(f"""
        memprof.start(0)
        try:
            memprof.get_snapshot().top_allocators({arguments})
            report("")
        except ValueError as error:
            report(str(error))
    """).value
    assert said.startswith(f"top_allocators: {arguments.split('=')[0]} is ")
    assert "give " in said
