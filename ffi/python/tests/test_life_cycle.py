# SPDX-License-Identifier: Apache-2.0
"""start, stop, shutdown: what is allowed when, and what is said about the rest."""
import pytest


def error_of(run, statements, expected):
    result = run(f"""
        try:
            {statements}
        except Exception as error:
            report([type(error).__name__, str(error)])
        else:
            report(["no error", ""])
    """)
    kind, text = result.value
    assert kind == expected, text
    return text


def test_start_stop_start_shutdown(run):
    result = run("""
        states = [memprof.get_stats().state]
        for step in (memprof.start, memprof.stop, memprof.start, memprof.stop, memprof.shutdown, memprof.shutdown):
            step()
            states.append(memprof.get_stats().state)
        report(states)
    """)
    assert result.value == ["uninitialized", "active", "stopped", "active", "stopped", "terminated", "terminated"]


@pytest.mark.parametrize("statements, text", [
    ("memprof.start(); memprof.start()", "active already"),
    ("memprof.stop()", "not active"),
    ("memprof.start(); memprof.stop(); memprof.stop()", "not active"),
    ("memprof.get_snapshot()", "call memprof.start() first"),
    ("memprof.shutdown()", "never started"),
    ("memprof.start(); memprof.shutdown(); memprof.start()", "shut down"),
    ("memprof.start(); memprof.shutdown(); memprof.stop()", "not active"),
])
def test_calls_that_do_not_fit(run, statements, text):
    assert text in error_of(run, statements, "RuntimeError")


@pytest.mark.parametrize("rate, kind", [("-1", "ValueError"), ("2**60", "ValueError"), ("1.5", "TypeError"),
                                        ("512.0", "TypeError"), ("'512'", "TypeError"),
                                        ("True", "TypeError")])
def test_wrong_rates(run, rate, kind):
    for call in (f"memprof.start({rate})", f"memprof.MemoryProfiler({rate})"):
        text = error_of(run, call, kind)
        assert "sampling_rate_kb" in text and "512" in text


@pytest.mark.parametrize("budget", ["'5'", "'x%'", "0", "-0.1", "0.6", "'51%'", "True", "[]", "'nan%'"])
def test_wrong_budgets(run, budget):
    text = error_of(run, f"memprof.start(budget={budget})", "TypeError" if budget in ("True", "[]") else "ValueError")
    assert "budget" in text and "'0.5%'" in text


def test_a_budget_settles_the_rate(run):
    result = run("""
        memprof.start(8, budget="0.5%")
        kept = [bytearray(100_000) for _ in range(50)]
        rates = memprof.get_snapshot().rates
        memprof.stop()
        memprof.start(budget=0.005)
        report([[use.rate_bytes for use in rates], rates[0].seconds >= 0, sum(use.allocated_bytes for use in rates)])
    """)
    rates, counts, allocated = result.value
    assert rates[0] == 16384 and rates == sorted(rates) and counts and 3_000_000 < allocated < 12_000_000


@pytest.mark.parametrize("option", ["max_depth=0", "memory_limit_bytes=1000", "max_depth=2000", "max_stacks=-1", "max_live_samples=0"])
def test_wrong_limits(run, option):
    assert option.split("=")[0] in error_of(run, f"memprof.start({option})", "ValueError")


def test_options_are_settled_by_the_first_start(run):
    text = error_of(run, "memprof.start(); memprof.stop(); memprof.start(follow_fork=True)", "ValueError")
    assert "follow_fork" in text


def test_the_rate_may_change(run):
    result = run("""
        rates = []
        for rate in (512, 1, 0, 1 << 40):
            memprof.start(rate)
            rates.append(memprof.get_stats().sampling_rate_bytes)
            memprof.stop()
        report(rates)
    """)
    assert result.value == [512 << 10, 1 << 10, 0, 1 << 50]


def test_without_a_rate_it_starts_fine(run):
    result = run("""
        memprof.start()
        rates = [memprof.get_stats().sampling_rate_bytes]
        kept = [bytearray(3000) for _ in range(10_000)]
        snapshot = memprof.get_snapshot()
        seen = [use.rate_bytes for use in snapshot.rates]
        memprof.stop()
        memprof.start(64)
        rates.append(memprof.get_stats().sampling_rate_bytes)
        memprof.stop()
        memprof.start(None)
        rates.append(memprof.get_stats().sampling_rate_bytes)
        report([rates, seen, snapshot.sampling_rate_bytes, str(snapshot).splitlines()[0]])
    """)
    rates, seen, now, header = result.value
    assert rates == [8 << 10, 64 << 10, 8 << 10]
    assert seen[0] == 8 << 10 < now <= seen[-1] <= 512 << 10
    assert "one sample each 8.0 KiB to " in header


def test_snapshots_after_shutdown_show_that_moment(run):
    result = run("""
        memprof.start(0)
        kept = [bytearray(100_000) for _ in range(50)]
        memprof.shutdown()
        before = int(memprof.get_snapshot().estimated_heap_bytes)
        more = [bytearray(100_000) for _ in range(50)]
        report([before, int(memprof.get_snapshot().estimated_heap_bytes)])
    """)
    before, after = result.value
    assert before == after >= 5_000_000


def test_the_context_manager(run):
    result = run("""
        profiler = memprof.MemoryProfiler(sampling_rate_kb=0)
        none = profiler.snapshot
        try:
            with profiler as same:
                kept = bytearray(3_000_000)
                raise KeyError("x")
        except KeyError:
            pass
        report([none, same is profiler, int(profiler.snapshot.estimated_heap_bytes), memprof.get_stats().state])
    """)
    none, same, size, state = result.value
    assert (none, same, state) == (None, True, "stopped") and 3_000_000 <= size < 6_000_000


def test_stats(run):
    result = run("""
        memprof.start(0)
        kept = [bytearray(100_000) for _ in range(50)]
        snapshot, stats = memprof.get_snapshot(), memprof.get_stats()
        del kept
        later = memprof.get_stats()
        report([stats.estimated_heap_bytes - int(snapshot.estimated_heap_bytes), stats.total_samples >= stats.live_samples,
                stats.sampling_rate_bytes, stats.unique_stacks > 0, 0 < stats.heap_map_load_percent < 1,
                later.freed_samples - stats.freed_samples >= 50, later.estimated_heap_bytes < 3_000_000,
                later.peak_heap_bytes >= 5_000_000, stats.collisions])
    """).value
    assert abs(result[0]) < 100_000 and result[1:] == [True, 0, True, True, True, True, True, 0]


def test_stop_inside_of_the_context(run):
    assert run("""
        with memprof.MemoryProfiler() as profiler:
            memprof.stop()
        report(profiler.snapshot.total_samples >= 0)
    """).value is True


def test_blocks_freed_after_stop_are_no_leaks(run):
    assert run("""
        memprof.start(0)
        kept = [bytearray(100_000) for _ in range(50)]
        memprof.stop()
        del kept
        report(int(memprof.get_snapshot().estimated_heap_bytes))
    """).value < 1_000_000


def test_a_second_copy_is_refused(run, tmp_path):
    result = run("""
        import ctypes, os, shutil
        copy = shutil.copy(os.path.join(os.path.dirname(memprof.__file__), "_native/lib/libmemprof.so"), "copy.so")
        other = ctypes.CDLL(os.path.abspath(copy))
        assert other.memprof_init(None) == 0
        try:
            memprof.start()
        except RuntimeError as error:
            report(str(error))
    """)
    assert "another copy" in result.value


def test_ten_thousand_starts_and_stops(run):
    assert run("""
        for _ in range(10_000):
            memprof.start()
            memprof.stop()
        report(memprof.get_stats().state)
    """).value == "stopped"
