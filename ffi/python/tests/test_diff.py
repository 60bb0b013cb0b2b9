# SPDX-License-Identifier: Apache-2.0
"""snapshot_diff: exact where everything is recorded, silent about what did not change."""


def test_growth_is_exact_at_rate_0(run):
    result = run("""
        memprof.start(0)
        stays = [bytearray(50_000) for _ in range(100)]
        goes = [bytearray(70_000) for _ in range(10)]
        before = memprof.get_snapshot()
        del goes
        new = [bytearray(100_000) for _ in range(30)]
        diff = memprof.snapshot_diff(before, memprof.get_snapshot())
        g = diff.growth
        report([int(g), g.is_exact, [r.is_significant for r in diff.top(1)],
                sum(r.new_samples for r in diff.top(9)) >= 30, sum(r.gone_samples for r in diff.top(9)) >= 10, repr(diff), diff._repr_html_()])
    """)
    growth, exact, significant, new, gone, text, page = result.value
    assert exact and abs(growth - (30 * 100_001 - 10 * 70_001)) < 100_000
    assert significant == [True] and new and gone
    assert text.startswith("SnapshotDiff: +2.") and "significant" in text and page.startswith("<div>")


def test_nothing_changed(run):
    result = run("""
        memprof.start(64)
        stays = [bytearray(50_000) for _ in range(1000)]
        memprof.stop()
        a, b = memprof.get_snapshot(), memprof.get_snapshot()
        diff = memprof.snapshot_diff(a, b)
        report([int(diff.growth), diff.growth.low, diff.growth.high, len(diff.rows), repr(diff)])
    """)
    assert result.value[:4] == [0, 0, 0, 0] and "Nothing has changed" in result.value[4]


def test_less_is_negative(run):
    """The 95 % interval drawn out threefold holds the truth: odds of a false alarm below 1e-7."""
    growth, low, high = run("""
        memprof.start(64)
        goes = [bytearray(100_000) for _ in range(200)]
        before = memprof.get_snapshot()
        del goes
        growth = memprof.snapshot_diff(before, memprof.get_snapshot()).growth
        report([int(growth), growth.low, growth.high])
    """).value
    assert low < growth < high < -15_000_000
    assert growth - 3 * (growth - low) < -20_000_000 < growth + 3 * (high - growth)


def test_wrong_arguments(run):
    assert run("""
        memprof.start()
        try:
            memprof.snapshot_diff(memprof.get_snapshot(), None)
        except TypeError as error:
            report(str(error))
    """).value == "snapshot_diff: after is a NoneType, not a HeapSnapshot"


def test_pandas_is_optional(run):
    name, text = run("""
        import sys
        sys.modules["pandas"] = None
        memprof.start(0)
        a = memprof.get_snapshot()
        try:
            a.to_pandas()
        except ImportError as error:
            report([type(error).__name__, str(error)])
    """).value
    assert "pip install pandas" in text


def test_to_pandas(run):
    result = run("""
        try:
            import pandas
        except ImportError:
            import types
            class DataFrame:
                def __init__(self, rows, columns):
                    self.rows, self.columns = rows, columns
                def __len__(self):
                    return len(self.rows)
            sys = __import__("sys")
            sys.modules["pandas"] = types.SimpleNamespace(DataFrame=DataFrame)
        memprof.start(0)
        a = memprof.get_snapshot()
        kept = [bytearray(100_000) for _ in range(30)]
        b = memprof.get_snapshot()
        frame, diff = b.to_pandas(), memprof.snapshot_diff(a, b).to_pandas()
        report([list(frame.columns), len(frame) == len(b.sites().all) > 0, list(diff.columns), len(diff) > 0])
    """)
    columns, whole, diff_columns, some = result.value
    assert whole and some and "bytes_low" in columns and "growth_high" in diff_columns


def test_intervals_are_those_of_the_library(run):
    """A place with one new sample, and none before, is no significant growth: it may have held blocks that were not sampled."""
    one, many, mirrored = run("""
        memprof.start()
        from memprof._intervals import Sum
        def samples(n):
            sum = Sum()
            for _ in range(n): sum.add(64, 65536)
            return sum
        ends = lambda e: [e.low, int(e), e.high]
        report([ends(samples(1).growth_since(Sum())), ends(samples(20).growth_since(Sum())), ends(Sum().growth_since(samples(20)))])
    """).value
    assert one[0] < 0 < one[1] < one[2]
    assert 0 < many[0] < many[1] < many[2] and abs(many[1] - 20 * 65536) < 20 * 64
    assert mirrored[1] == -many[1] and mirrored[2] < 0
