# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin, in sessions of its own."""
import pytest


def session(pytester, source, *arguments):
    pytester.makepyfile("import pytest\nKEEP = []\n" + source)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments)


def test_limits_that_hold_and_limits_that_do_not(pytester):
    result = session(pytester, """
@pytest.mark.limit_memory("24 MB")
def test_within():
    kept = [bytearray(100_000) for _ in range(200)]

@pytest.mark.limit_memory("24 MB")
def test_over():
    kept = [bytearray(100_000) for _ in range(300)]

@pytest.mark.limit_memory("24 MB")
def test_over_for_a_moment():
    bytearray(40_000_000)

@pytest.mark.limit_memory("24 MB")
def test_much_but_never_at_once():
    for _ in range(1000):
        bytearray(1_000_000)

@pytest.mark.limit_leaks("1 MB")
def test_leaks():
    KEEP.extend(bytearray(1000) for _ in range(2000))

@pytest.mark.limit_leaks("1 MB")
def test_leaves_nothing():
    kept = [bytearray(1000) for _ in range(20_000)]

@pytest.mark.limit_leaks("100 KB")
def test_leaks_little():
    KEEP.extend(bytearray(1000) for _ in range(150))

@pytest.mark.limit_leaks("100 KB")
@pytest.mark.limit_memory("10 MiB")
def test_both():
    kept = [bytearray(1000) for _ in range(2000)]
""", "-v")
    result.assert_outcomes(passed=4, failed=4)
    result.stdout.fnmatch_lines(["*test_within PASSED*", "*test_over FAILED*", "*test_over_for_a_moment FAILED*",
                                 "*test_much_but_never_at_once PASSED*",
                                 "*test_leaks FAILED*", "*test_leaves_nothing PASSED*", "*test_leaks_little FAILED*",
                                 "*test_both PASSED*"])
    text = result.stdout.str()
    assert "limit_memory: the test held 2" in text and "more than its limit of 24,000,000 bytes (22.9 MiB)" in text
    assert "limit_leaks: the test left behind " in text and "limit of 1,000,000 bytes (976.6 KiB)" in text


def test_it_is_not_flaky(pytester):
    """60 tests that hold 90 % of their limit pass, 60 that hold 115 % of it fail: 18 sigma and more away."""
    result = session(pytester, """
@pytest.mark.parametrize("n", range(60))
@pytest.mark.limit_memory("10 MB")
def test_within(n):
    kept = [bytearray(1_000) for _ in range(8_500)]

@pytest.mark.parametrize("n", range(60))
@pytest.mark.limit_memory("10 MB")
def test_over(n):
    kept = [bytearray(1_000) for _ in range(11_500)]
""")
    result.assert_outcomes(passed=60, failed=60)


@pytest.mark.parametrize("mark, part", [
    ('limit_memory("24 XB")', "'24 XB' is no size"), ('limit_memory("MB")', "is no size"),
    ("limit_memory(24)", "24 is no size"), ("limit_memory()", "takes one size"),
    ('limit_leaks("1 MB", "2 MB")', "takes one size"), ('limit_leaks("-1 MB")', "is no size"),
    ('limit_leaks(size="1 MB")', "takes one size")])
def test_a_bad_limit_fails_its_test_and_no_other(pytester, mark, part):
    result = session(pytester, f"def test_other(): pass\n@pytest.mark.{mark}\ndef test_it(): pass\n")
    result.assert_outcomes(passed=1, failed=1)
    text = result.stdout.str()
    assert part in text and mark.partition("(")[0] in text and "Traceback" not in text and "During handling" not in text
    assert 'like "24 MB"' in text or "takes one size" in text


def test_an_empty_test_leaves_nothing(pytester):
    """Rate 0: what pytest and the plugin keep while it runs is not the test's."""
    session(pytester, """
@pytest.mark.limit_leaks("1 B")
@pytest.mark.parametrize("n", range(5))
def test_it(n):
    pass

@pytest.mark.limit_leaks("1 B")
def test_leaks():
    KEEP.append(bytearray(1000))
""").assert_outcomes(passed=5, failed=1)


def test_only_what_the_test_recorded_is_read(pytester):
    """Its cost is the test's: stacks from before are not turned into Python's objects."""
    session(pytester, """
from memprof import _frames, _profiler

READ = []
original = _frames.Frames.addresses
_frames.Frames.addresses = lambda self, stack: READ.append(1) or original(self, stack)

def test_much():
    exec("\\n".join(f"def f{i}(): KEEP.append(bytearray(100_000))\\nf{i}()" for i in range(2000)))

def test_little():
    READ.clear()
    bytearray(1_000_000)

def test_how_many():
    assert _profiler.get_stats().unique_stacks > 1000
    assert 0 < len(READ) < 100
""", "--memprof").assert_outcomes(passed=3)


def test_summary_of_processes_of_xdist(pytester):
    pytest.importorskip("xdist")
    result = session(pytester, """
@pytest.mark.parametrize("n", range(4))
def test_it(n):
    kept = bytearray(30_000_000)
""", "--memprof", "-n", "2")
    result.assert_outcomes(passed=4)
    text = result.stdout.str().partition(" memprof ")[2]
    assert text.count("test_it[") == 4 and "allocated 28" in text and "No test was measured" not in text


def test_summary_of_a_session(pytester):
    result = session(pytester, """
def test_large():
    kept = [bytearray(1_000_000) for _ in range(30)]

def test_small():
    kept = bytearray(200_000)

def test_fails():
    kept = bytearray(5_000_000)
    assert False
""", "--memprof", "--memprof-top", "2")
    result.assert_outcomes(passed=2, failed=1)
    text = result.stdout.str().partition(" memprof ")[2]
    assert "test_large: allocated 2" in text and "test_fails: allocated" in text and "test_small" not in text
    result = session(pytester, "def test_it(): pass", "--memprof", "--memprof-top", "0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_without_marks_nothing_is_measured(pytester):
    session(pytester, """
import memprof
def test_it():
    assert memprof.get_stats().state == "uninitialized"
""").assert_outcomes(passed=1)


def test_a_failing_test_keeps_its_own_error(pytester):
    result = session(pytester, """
@pytest.mark.limit_memory("1 MB")
def test_it():
    raise KeyError("mine")
""")
    result.assert_outcomes(failed=1)
    assert "KeyError: 'mine'" in result.stdout.str()


def test_an_active_profiler_is_in_the_way(pytester):
    result = session(pytester, """
import memprof
memprof.start()
@pytest.mark.limit_memory("1 MB")
def test_it():
    pass
""")
    result.assert_outcomes(failed=1)
    assert "active already" in result.stdout.str()


LIMITS = """
peak = "1 GB"                  # for memprof check

[[test]]
name = "*::test_over"
peak = "24 MB"

[[test]]
name = "*::test_[lm]*"
peak = "24 MB"
live = "1 MB"
"""


def test_limits_of_a_file(pytester):
    pytester.makefile(".toml", memprof=LIMITS)
    result = session(pytester, """
def test_over():
    kept = [bytearray(100_000) for _ in range(300)]

@pytest.mark.parametrize("n", [100, 300])
def test_many(n):
    kept = [bytearray(100_000) for _ in range(n)]

def test_leaks():
    KEEP.extend(bytearray(1000) for _ in range(2000))

@pytest.mark.limit_memory("64 MB")
def test_mark_counts_more():
    kept = [bytearray(100_000) for _ in range(300)]

def test_other():
    kept = [bytearray(100_000) for _ in range(300)]
""", "-v")
    result.assert_outcomes(passed=3, failed=3)
    result.stdout.fnmatch_lines(["*test_over FAILED*", "*test_many?100? PASSED*", "*test_many?300? FAILED*",
                                 "*test_leaks FAILED*", "*test_mark_counts_more PASSED*", "*test_other PASSED*"])
    text = result.stdout.str()
    # Sizes are the command's: powers of 1024.
    assert "more than its limit of 25,165,824 bytes (24.0 MiB)" in text and "the limit: memprof.toml:3" in text
    assert "limit_leaks: the test left behind" in text and "the limit: memprof.toml:7" in text


def test_a_limit_of_no_test_is_said(pytester):
    pytester.makefile(".toml", memprof='[[test]]\nname = "*::test_misspelt"\npeak = "1 MB"\n')
    source = "def test_it(): pass\n"
    result = session(pytester, source)
    result.assert_outcomes(passed=1, warnings=1)
    assert "memprof.toml:1: no test is called '*::test_misspelt'" in result.stdout.str()
    session(pytester, source, "-k", "it").assert_outcomes(passed=1)


def test_another_file_of_limits(pytester):
    pytester.makefile(".toml", other='[[test]]\nname = "*"\npeak = 1000\n')
    source = "def test_it():\n    kept = bytearray(100_000)\n"
    session(pytester, source).assert_outcomes(passed=1)
    session(pytester, source, "--memprof-limits", "other.toml").assert_outcomes(failed=1)
    result = session(pytester, source, "--memprof-limits", "none.toml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR and "none.toml" in result.stderr.str()
