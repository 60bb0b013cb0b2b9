# SPDX-License-Identifier: Apache-2.0
"""What a snapshot says, and that it stays."""
import json
import sysconfig


def test_exact_at_rate_0(run):
    result = run("""
        memprof.start(0)
        empty = int(memprof.get_snapshot().estimated_heap_bytes)
        kept = [bytearray(1_000_000) for _ in range(20)]
        snapshot = memprof.get_snapshot()
        size = snapshot.estimated_heap_bytes
        report([int(size) - empty, size.is_exact, snapshot.sampling_rate_bytes,
                sum(s.size > 1_000_000 for s in snapshot.samples)])
    """)
    size, exact, rate, large = result.value
    assert exact and rate == 0 and large == 20
    assert 20_000_000 <= size < 20_300_000  # an empty byte at the end of each, and what Python itself allocates


def test_estimates_are_unbiased_and_covered(run):
    """80 estimates of 20 MB in blocks of 50 KB at a rate of 256 KiB: the mean deviates by less than 5 sigma (false alarm
    below 1e-6); the intervals hold the truth in at least 80 % (expected 95 %; false alarm below 1e-6)."""
    result = run("""
        truth = 400 * 50_001
        values = []
        for _ in range(80):
            memprof.start(256)
            before = memprof.get_snapshot()
            kept = [bytearray(50_000) for _ in range(400)]
            growth = memprof.snapshot_diff(before, memprof.get_snapshot()).growth
            memprof.stop()
            values.append((int(growth) / truth, growth.low / truth, growth.high / truth))
            del kept
        report(values)
    """)
    values = result.value
    mean = sum(value for value, _, _ in values) / len(values)
    # Of one estimate: sqrt((1-p)/p/n) with p = 1 - exp(-50000/262144) is 0.109.
    assert abs(mean - 1) < 5 * 0.109 / 80 ** 0.5, mean
    assert sum(low <= 1.0 <= high for _, low, high in values) >= 64


def test_samples(run):
    result = run("""
        import time
        began = time.time_ns()
        memprof.start(0)
        kept = [bytearray(123_456) for _ in range(3)]
        snapshot = memprof.get_snapshot()
        mine = [s for s in snapshot.samples if of(s, 123_456)]
        s = mine[0]
        report([len(mine), s.weight == s.size, s.estimated_bytes == s.size, s.lifetime_ns, began <= s.timestamp_ns <= time.time_ns(),
                began <= snapshot.timestamp_ns <= time.time_ns(), s.estimated_blocks, s.rate_bytes, s.gc_epoch,
                len(s.stack) > 0, all(f.function for f in s.stack), mine[1].stack is mine[2].stack,
                snapshot.live_samples == len(snapshot.samples) <= snapshot.total_samples,
                sum(s.weight for s in snapshot.samples) == int(snapshot.estimated_heap_bytes)])
    """)
    assert result.value == [3, True, True, None, True, True, 1, 0, None, True, True, True, True, True]


def test_a_snapshot_does_not_change(run):
    assert run("""
        import gc
        memprof.start(0)
        kept = [bytearray(100_000) for _ in range(30)]
        snapshot = memprof.get_snapshot()
        before = int(snapshot.estimated_heap_bytes), snapshot.samples
        del kept
        more = [bytearray(50_000) for _ in range(100)]
        memprof.stop(); memprof.shutdown(); gc.collect()
        same = (int(snapshot.estimated_heap_bytes), snapshot.samples) == before
        for name in ("samples", "live_samples", "estimated_heap_bytes", "timestamp_ns"):
            try:
                setattr(snapshot, name, 1)
                same = False
            except AttributeError:
                pass
        try:
            snapshot.samples[0].size = 1
            same = False
        except AttributeError:
            pass
        report(same)
    """).value is True


def test_top_allocators(run):
    result = run("""
        memprof.start(0)
        kept = [bytearray(1_000_000) for _ in range(20)]
        top = memprof.get_snapshot().top_allocators(3)
        first = top[0]
        report([len(top), sorted(first), first["samples"] >= 20, int(first["estimated_bytes"]), first["percent"],
                [int(row["estimated_bytes"]) for row in top]])
    """)
    count, names, enough, size, percent, sizes = result.value
    assert 1 <= count <= 3 and enough and size >= 20_000_000 and percent > 80
    assert sizes == sorted(sizes, reverse=True)
    assert {"function", "file", "line", "estimated_bytes", "estimated_blocks", "stack", "is_python"} <= set(names)


def test_wrong_numbers_of_places(run):
    assert run("""
        memprof.start(0)
        errors = 0
        for n in (-1, 1.5, "3", True):
            try:
                memprof.get_snapshot().top_allocators(n)
            except ValueError as error:
                errors += repr(n) in str(error)
        report([errors, memprof.get_snapshot().top_allocators(0)])
    """).value == [4, []]


def test_resolve(run):
    result = run("""
        memprof.start(0)
        kept = bytearray(1_000_000)
        snapshot = memprof.get_snapshot(resolve=False, native=True)
        def native():
            sample = next(s for s in snapshot.samples if s.size > 1_000_000)
            return [f.function for f in sample.stack if not f.is_python]
        raw = native()
        same = snapshot.resolve() is snapshot
        named = native()
        snapshot.resolve(debug_info=True)
        report([raw, same, named, native()])
    """)
    raw, same, named, by_debug_info = result.value
    assert same and all(name.startswith("0x") for name in raw)
    assert any(name.startswith(("Py", "_Py")) for name in named)
    assert any(name.startswith(("Py", "_Py")) for name in by_debug_info)


def test_text_and_html(run):
    result = run("""
        memprof.start(64)
        kept = [bytearray(1_000_000) for _ in range(20)]
        snapshot = memprof.get_snapshot()
        report([repr(snapshot), snapshot._repr_html_()])
    """)
    text, page = result.value
    lines = text.splitlines()
    assert lines[0].startswith("HeapSnapshot: ") and "MiB (95 %:" in lines[0] and "one sample each 64.0 KiB" in lines[0]
    assert lines[1].split() == ["live", "95", "%", "%", "function", "file:line"]
    assert page.startswith("<div>") and page.count("<tr>") >= 2 and "<script" not in page


def test_an_empty_snapshot_says_so(run):
    text = run("""
        memprof.start(1 << 30)
        report(repr(memprof.get_snapshot()))
    """).value
    assert "0 of 0 samples" in text and "smaller sampling_rate_kb" in text


def test_html_escapes_names():
    from memprof import _text
    from memprof._model import Estimate, StackFrame

    class Site:
        frame = StackFrame(1, "<script>alert(1)</script>", "<b>", 1, True)
        stack = (frame,)
        bytes = Estimate(1, 1, 1)
        percent = 100.0

    class Sites:
        all = [Site()]

        def top(self, n):
            return self.all

    class Snapshot:
        sampling_rate_bytes = 0
        rates = ()
        live_samples = total_samples = 1
        notes = ()
        estimated_heap_bytes = Estimate(1, 1, 1)

        def sites(self):
            return Sites()

    page = _text.snapshot_html(Snapshot())
    assert "<script>" not in page and "&lt;script&gt;" in page


def test_health(run):
    health = run("""
        memprof.start(0)
        kept = [bytearray(1000) for _ in range(1000)]
        h = memprof.get_snapshot().frame_pointer_health
        report([h.total_native_stacks, h.avg_native_depth, h.min_native_depth, h.truncation_rate, h.confidence,
                h.recommendation])
    """).value
    assert health[0] >= 1000 and health[1] > health[2] >= 1 and health[3] < 0.05 and health[4:] == ["high", None]


def test_what_is_missing_is_said(run):
    text = run("""
        memprof.start(0, max_live_samples=1)
        kept = [bytearray(10_000) for _ in range(5000)]
        snapshot = memprof.get_snapshot()
        assert memprof.get_stats().dropped_samples >= snapshot.dropped_samples > 0
        report(repr(snapshot))
    """).value
    assert "samples were dropped for want of room (max_live_samples" in text


def test_a_full_table_is_said(run):
    text, live, truth = run("""
        memprof.start(0, max_live_samples=1024)
        kept = [bytearray(10_000) for _ in range(5000)]
        snapshot = memprof.get_snapshot()
        report((repr(snapshot), int(snapshot.estimated_heap_bytes), sum(len(block) for block in kept)))
    """).value
    assert "the table of live blocks was full: " in text and "left it to others of a higher rate" in text
    # A thousand samples, of which some hundreds stand for these: 5 standard errors are less than a third.
    assert 0.66 * truth < live < 1.5 * truth


def test_health_advice():
    from memprof import FramePointerHealth
    assert FramePointerHealth(10, 100, 9.0, 2, 0.10).confidence == "medium"
    low = FramePointerHealth(30, 100, 9.0, 2, 0.30, (70, 0, 0, 0, 30, 0))
    assert low.confidence == "low"
    assert "30.0%" in low.recommendation and "without unwind rules" in low.recommendation
    assert "-fasynchronous-unwind-tables" in low.recommendation
    deep = FramePointerHealth(30, 100, 9.0, 2, 0.30, (60, 30, 0, 0, 10, 0))
    assert "depth limit" in deep.recommendation and "unwind" not in deep.recommendation
    whole = FramePointerHealth(0, 100, 182.0, 2, 0.0, (19, 0, 0, 0, 0, 81))
    assert whole.confidence == "high"
    assert "81.0%" in whole.recommendation and "max_depth=1024" in whole.recommendation
    assert "unwind" not in whole.recommendation


def test_a_stack_with_both_ends_is_complete(run):
    health = run("""
        memprof.start(0, max_depth=64, native_interpreter=True)
        def deeper(n):
            return deeper(n - 1) if n else [bytearray(600) for _ in range(500)]
        kept = deeper(200)
        h = memprof.get_snapshot().frame_pointer_health
        report([h.shallow_stack_warnings, h.middle_left_out_rate, h.confidence, h.recommendation])
    """).value
    assert health[0] == 0 and health[1] > 0.20 and health[2] == "high" and "max_depth" in health[3]


def test_gc_epochs(run):
    result = run("""
        import gc
        gc.disable()
        with memprof.MemoryProfiler(0, gc_tracking=True) as profiler:
            old = bytearray(200_000)
            for _ in range(3):
                gc.collect()
            new = bytearray(300_000)
        snapshot = profiler.snapshot
        def sizes(n):
            return [size for size in (200_000, 300_000) if any(of(s, size) for s in snapshot.allocations_surviving_gc(n))]
        report([snapshot.gc_epochs_during_profile, sizes(0), sizes(1), sizes(3), sizes(4)])
    """)
    assert result.value == [3, [200000, 300000], [200000], [200000], []]


def test_gc_epochs_need_tracking(run):
    assert "gc_tracking" in run("""
        memprof.start(0)
        try:
            memprof.get_snapshot().allocations_surviving_gc()
        except RuntimeError as error:
            report(str(error))
    """).value


def test_estimate_is_an_int_with_ends():
    import pickle

    from memprof import Estimate
    size = Estimate(1000.6, 900.2, 1200.9)
    assert (int(size), size.low, size.high, size.is_exact) == (1001, 900, 1201, False)
    assert f"{size / 1e3:.2f}" == "1.00" and str(size) == "1001" and json.dumps(size) == "1001"
    copy = pickle.loads(pickle.dumps(size))
    assert (int(copy), copy.low, copy.high) == (1001, 900, 1201)


def test_the_header_and_the_library_agree(run):
    """Struct sizes as the library fills them: a member that cffi read at a wrong place would be nonsense."""
    result = run("""
        memprof.start(4)
        kept = [bytearray(10_000) for _ in range(1000)]
        s = memprof.get_snapshot()
        n = s._native
        report([n.info.pid, __import__("os").getpid(), n.stats.struct_size, n.info.rate_bytes,
                all(r.stack_id < n.stack_count and 0 < r.size_bytes <= r.weight_bytes + 1 for r in
                    (n.records[i] for i in range(n.record_count)))])
    """)
    pid, real, _, rate, sane = result.value
    assert pid == real and rate == 4096 and sane


def test_resident_memory_in_parts(run):
    result = run("""
        memprof.start(16)
        kept = [bytearray(b"x") * 1000 for _ in range(20_000)]
        kept.append(bytes(50_000_000))  # of calloc: pages that nobody touched
        m = memprof.get_snapshot().resident_memory()
        parts = m.heap_bytes + m.files_bytes + m.shared_bytes + m.stacks_bytes + m.code_bytes + m.runtime_bytes + m.memprof_bytes
        report([m.rss_bytes, parts + m.anonymous_bytes, m.live_bytes, m.absent_bytes, m.free_bytes is not None, m.fragmentation])
    """)
    rss, parts, live, absent, knows_free, fragmentation = result.value
    assert abs(parts - rss) < 0.05 * rss
    assert 60_000_000 < live < 90_000_000 and absent > 40_000_000 and 0 <= fragmentation < 1
    assert knows_free == ("musl" not in sysconfig.get_config_var("SOABI"))  # glibc's lists alone are read
