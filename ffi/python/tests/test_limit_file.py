# SPDX-License-Identifier: Apache-2.0
"""memprof.toml, as the pytest plugin reads it."""
import pytest
from memprof._testing import limit_file


def test_tests_and_what_is_the_commands():
    tests = limit_file.parse('peak = "1 GB"\n[[check]]\nname = "x"\n\n[[test]]\nname = "a*"\npeak = "24 MB"\nlive = 100\n')
    assert [(test.name, test.limits, test.place) for test in tests] == [
        ("a*", {"limit_memory": 24 << 20, "limit_leaks": 100}, "memprof.toml:5")]
    assert limit_file.parse("") == []


@pytest.mark.parametrize("text, size", [("5", 5), ("64k", 65536), ("64 KiB", 65536), ("1.5 MB", 3 << 19), ("2G", 2 << 30),
                                        ("7B", 7)])
def test_sizes_are_those_of_the_command(text, size):
    assert limit_file.parse(f'[[test]]\nname = "a"\npeak = "{text}"\n')[0].limits["limit_memory"] == size


@pytest.mark.parametrize("text, message", [
    ('[[test]]\nname = "a"\npeek = 1', "memprof.toml:3: 'peek' is no key [[test]]; did you mean 'peak'?"),
    ('[[test]]\nname = "a"\npeak = 1\n[[test]]\nname = "b"\nlive = "5 XB"', "memprof.toml:6: live: '5 XB' is no size"),
    ('[[test]]\nname = "a"\nlive = true', "True is no size"),
    ('[[test]]\nname = "a"\nlive = -1', "-1 is no size"),
    ('[[test]]\npeak = 1', "memprof.toml:1: which tests is not said"),
    ('[[test]]\nname = "a"', "the test has no limit"),
    ('peak = 1\n[[tset]]\nname = "a"', "memprof.toml:2: 'tset' is no table; did you mean 'test'?"),
    ('[test]\nname = "a"', "[[test]]"),
    ('peak = ', "memprof.toml: not TOML: ")])
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(ValueError) as caught:
        limit_file.parse(text)
    assert message in str(caught.value) and str(caught.value).startswith("memprof.toml:")


def test_the_first_that_matches_counts():
    tests = limit_file.parse('[[test]]\nname = "t.py::a"\npeak = 1\n[[test]]\nname = "*"\npeak = 2\nlive = 3\n')
    assert limit_file.limits_of("t.py::a[5]", tests) == ({"limit_memory": 1, "limit_leaks": 3},
                                                         {"limit_memory": "memprof.toml:1", "limit_leaks": "memprof.toml:4"})
    assert limit_file.limits_of("t.py::b", tests)[0] == {"limit_memory": 2, "limit_leaks": 3}
