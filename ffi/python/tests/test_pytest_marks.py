# SPDX-License-Identifier: Apache-2.0
"""The marks of the pytest plugin: their keywords, which are those of pytest-memray, and what a test that fails is told."""
import re

import pytest
from test_pytest_plugin import session


def lines_after(text, start):
    """The lines of the message that begins with a line with `start`."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if start in line)
    return [line.strip() for line in lines[first:first + 8]]


# ---- What is said

def test_the_tests_own_line_and_the_way_to_the_innermost(pytester):
    pytester.makepyfile(helpers="""
def build(n):
    return inner(n)

def inner(n):
    return [bytes(1000) for _ in range(n)]

def deep(n, size):
    return bytes(size) if n == 0 else [deep(n - 1, size)]
""")
    result = session(pytester, """
import helpers, threading

@pytest.mark.limit_leaks("200 KB")
def test_leaks():
    KEEP.append(helpers.build(2000))     # line 8

@pytest.mark.limit_memory("1 MB")
def test_holds():
    x = helpers.build(3000)              # line 12

@pytest.mark.limit_leaks("200 KB")
def test_deep():
    KEEP.append(helpers.deep(30, 1_000_000))

@pytest.mark.limit_leaks("200 KB")
def test_of_a_thread():
    thread = threading.Thread(target=lambda: KEEP.append(bytes(1_000_000)))  # line 20
    thread.start()
    thread.join()
""")
    result.assert_outcomes(failed=4)
    text = result.stdout.str()
    for name, line in (("limit_leaks: the test left behind ", 8), ("limit_memory: the test held ", 12)):
        _, first, second, third, *_ = lines_after(text, name)
        function = "test_leaks" if line == 8 else "test_holds"
        assert first.endswith(f"test_the_tests_own_line_and_the_way_to_the_innermost.py:{line}") and f"MiB  {function}  " in first
        assert second.startswith("build  ") and second.endswith("helpers.py:2")
        assert third.startswith("inner") and third.endswith("helpers.py:5")
    deep = text[text.index("KiB  test_deep"):text.index("_ test_of_a_thread _")]
    assert "... 23 more calls" in deep and deep.count("  deep  ") == 8
    assert "test_of_a_thread.<locals>.<lambda>" in text and ":20" in text


def test_the_plugin_is_not_the_tests(pytester):
    """It has no thread, and what it does itself is in no place of the message."""
    result = session(pytester, """
import threading

@pytest.mark.limit_memory("1 MB")
def test_it():
    assert threading.active_count() == 1
    kept = [bytearray(100_000) for _ in range(30)]
""")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "limit_memory: the test held " in text
    for name in ("memprof/", "_bootstrap", "_pytest", "pluggy"):
        assert name not in text[text.index("limit_memory: "):text.index("short test summary")], name


def test_an_import_is_one_place(pytester):
    result = session(pytester, """
@pytest.mark.limit_leaks("50 KB")
def test_it():
    import xml.dom.minidom

@pytest.mark.limit_leaks("50 KB", warmups=1)
def test_again():
    import xml.sax.handler, http.server
""")
    result.assert_outcomes(passed=1, failed=1)
    text = result.stdout.str()
    assert "importing xml" in text and "minidom.py:" not in text
    assert "are imports: with warmups=1 the test runs once before it is measured" in text


def test_places_of_a_short_peak(pytester):
    """Nobody has to look at the right moment."""
    result = session(pytester, """
def spike():
    bytearray(40_000_000)

@pytest.mark.limit_memory("24 MB")
def test_it():
    kept = bytearray(1_000_000)
    spike()
""")
    result.assert_outcomes(failed=1)
    _, first, second, *_ = lines_after(result.stdout.str(), "limit_memory: the test held ")
    # 38.147 MiB, and about 6 KiB for each small block of that line that has a sample, too.
    mebibytes, unit, function, *_ = first.split()
    assert (unit, function) == ("MiB", "test_it") and 38.1 <= float(mebibytes) <= 38.3 and second.startswith("spike")


# ---- Keywords

def test_warmups(pytester):
    result = session(pytester, """
RUNS = []

@pytest.mark.limit_leaks("100 KB", warmups=2)
def test_fills_a_cache():
    RUNS.append(1)
    if len(RUNS) <= 2:
        KEEP.append(bytes(1_000_000))

@pytest.mark.limit_leaks("100 KB", warmups=2)
def test_leaks_each_time():
    KEEP.append(bytes(1_000_000))

def test_how_often():
    assert len(RUNS) == 3

@pytest.mark.limit_leaks("1 MB", warmups=1)
def test_fails_while_it_warms_up():
    raise KeyError("mine")
""", "-v")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*test_fills_a_cache PASSED*", "*test_leaks_each_time FAILED*", "*test_how_often PASSED*",
                                 "*test_fails_while_it_warms_up FAILED*"])
    assert "KeyError: 'mine'" in result.stdout.str()


def test_filter_fn(pytester):
    result = session(pytester, """
SEEN = []

def is_no_cache(stack):
    SEEN.append(stack)
    assert all(isinstance(frame.function, str) and isinstance(frame.filename, str) and frame.lineno >= 0 for frame in stack.frames)
    return not any(frame.function == "cache" for frame in stack.frames)

def cache(n):
    KEEP.append(bytes(n))

@pytest.mark.limit_leaks("100 KB", filter_fn=is_no_cache)
def test_caches():
    cache(1_000_000)

def test_innermost_first():
    stack = next(stack for stack in SEEN if any(frame.function == "cache" for frame in stack.frames))
    names = [frame.function for frame in stack.frames]
    assert names.index("cache") < names.index("test_caches")
    assert any(name.startswith(("Py", "_Py")) for name in names[:names.index("cache")])
    SEEN.clear()

@pytest.mark.limit_leaks("100 KB", filter_fn=is_no_cache)
def test_within_its_limit():
    cache(1000)

def test_nobody_is_asked_within_the_limit():
    assert not SEEN

@pytest.mark.limit_leaks("100 KB", filter_fn=is_no_cache)
def test_leaks_besides():
    cache(1_000_000)
    KEEP.append(bytes(500_000))

@pytest.mark.limit_leaks("100 KB", filter_fn=lambda stack: stack.nonsense)
def test_wrong_filter():
    cache(1_000_000)
""", "-v")
    result.assert_outcomes(passed=4, failed=2)
    text = result.stdout.str()
    assert re.search("left behind (48|49|50)", text) and "976.6 KiB more is left out by filter_fn" in text
    assert "AttributeError" in text and "nonsense" in text


def test_current_thread_only(pytester):
    result = session(pytester, """
import threading

def elsewhere(n):
    thread = threading.Thread(target=lambda: KEEP.append(bytes(n)))
    thread.start()
    thread.join()

@pytest.mark.limit_memory("1 MB", current_thread_only=True)
def test_memory_elsewhere():
    elsewhere(5_000_000)

@pytest.mark.limit_memory("1 MB", current_thread_only=True)
def test_memory_here():
    elsewhere(5_000_000)
    bytes(2_000_000)

@pytest.mark.limit_leaks("100 KB", current_thread_only=True)
def test_leaks_elsewhere():
    elsewhere(5_000_000)

@pytest.mark.limit_leaks("100 KB", current_thread_only=True)
def test_leaks_here():
    elsewhere(5_000_000)
    KEEP.append(bytes(1_000_000))

@pytest.mark.limit_memory("1 MB")
def test_everywhere_again():
    elsewhere(5_000_000)

@pytest.mark.limit_memory("1 MB", current_thread_only=True)
@pytest.mark.limit_leaks("1 MB")
def test_two_minds():
    pass
""", "-v")
    result.assert_outcomes(passed=2, failed=4)
    result.stdout.fnmatch_lines(["*test_memory_elsewhere PASSED*", "*test_memory_here FAILED*", "*test_leaks_elsewhere PASSED*",
                                 "*test_leaks_here FAILED*", "*test_everywhere_again FAILED*", "*test_two_minds FAILED*"])
    text = result.stdout.str()
    # What else lives is sampled: some KiB more or less.
    assert re.search(r"held (1\.9|2\.\d) MiB", text) and re.search(r"held (4\.[89]|5\.\d) MiB", text)
    assert "give current_thread_only to both of them, or to none" in text


@pytest.mark.parametrize("mark, part", [
    ('limit_memory("1 MB", warmups=1)', "limit_memory takes one size, and no 'warmups'"),
    ('limit_leaks("1 MB", warm=1)', "limit_leaks takes one size, and no 'warm'; there is warmups, filter_fn, current_thread_only"),
    ('limit_leaks("1 MB", warmups=-1)', "warmups is -1"), ('limit_leaks("1 MB", warmups=True)', "warmups is True"),
    ('limit_leaks("1 MB", filter_fn=3)', "filter_fn is 3"), ('limit_memory("1 MB", current_thread_only=1)', "current_thread_only is 1")])
def test_a_wrong_keyword_fails_its_test(pytester, mark, part):
    result = session(pytester, f"@pytest.mark.{mark}\ndef test_it(): pass\n")
    result.assert_outcomes(failed=1)
    assert part in result.stdout.str() and "Traceback" not in result.stdout.str()


def test_a_small_limit_costs_what_the_test_allocates(pytester):
    """Also where every allocation is recorded.  Of a test within its limit only stacks of blocks that are left are read."""
    session(pytester, """
from memprof import _frames

READ = []
for name in ("addresses", "stack"):
    original = getattr(_frames.Frames, name)
    setattr(_frames.Frames, name, lambda self, stack, of=original: READ.append(1) or of(self, stack))

@pytest.mark.limit_leaks("16 KiB")
def test_much():
    exec("\\n".join("def f(): return [bytes(100)]\\nf()" for i in range(3000)), {})

def test_how_many():
    import memprof
    assert memprof.get_stats().unique_stacks > 3000
    assert len(READ) < 1000
""").assert_outcomes(passed=2)
