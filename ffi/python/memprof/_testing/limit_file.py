# SPDX-License-Identifier: Apache-2.0
"""The limits of tests in memprof.toml, which `memprof check` reads for programs (docs/check.md).

    [[test]]
    name = "tests/test_cache.py::*"     # ids of tests, as fnmatch has them; the first that matches counts
    peak = "24 MB"                      # as limit_memory
    live = "1 MB"                       # as limit_leaks

Sizes are those of the command, B, KB, MB, GB: powers of 1024.
"""
from __future__ import annotations

import dataclasses
import difflib
import fnmatch
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

NAME = "memprof.toml"
_UNITS = "kmgtp"
_SIZE = re.compile(rf"(\d+(?:\.\d+)?) ?(?:([{_UNITS}])i?)?b?", re.IGNORECASE)
_KEYS = ("name", "peak", "live")
_LISTS = ("check", "test", "site", "row")  # of tables, at the top level
_MARKS = {"peak": "limit_memory", "live": "limit_leaks"}


@dataclasses.dataclass(frozen=True)
class TestLimit:
    """One [[test]]."""

    name: str
    limits: dict[str, int]  # by the name of the mark that it stands for, in bytes
    place: str  # "memprof.toml:12"

    def matches(self, nodeid: str) -> bool:
        """Whether a test, with or without its parameters, is called so."""
        return any(name == self.name or fnmatch.fnmatchcase(name, self.name) for name in (nodeid, nodeid.partition("[")[0]))


def _parse_size(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f'{value!r} is no size; write a number and a unit in quotes, like "24 MB" or "512 KiB" '
                         f"(B, KB, MB, GB: powers of 1024)")
    power = _UNITS.index(match.group(2).lower()) + 1 if match.group(2) else 0
    return int(float(match.group(1)) * 1024 ** power)


def _nearest(key: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(key, known, n=1)
    return f"did you mean '{found[0]}'?" if found else f"there are {', '.join(known)}"


class _Lines:
    """Where what stands: tomllib does not say it."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._tests = [i for i, line in enumerate(self._lines) if re.match(r"\s*\[\[\s*test\s*\]\]", line)]

    def of_test(self, index: int, key: str = "") -> int:
        if index >= len(self._tests):  # test = [{...}]
            return 1
        start = self._tests[index]
        for i in range(start + 1, len(self._lines)):
            if re.match(r"\s*\[", self._lines[i]):
                break
            if key and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*=""", self._lines[i]):
                return i + 1
        return start + 1

    def of_table(self, key: str) -> int:
        return next((i + 1 for i, line in enumerate(self._lines)
                     if re.match(rf"""\s*(\[+\s*)?["']?{re.escape(key)}["']?\s*[\]=.]""", line)), 1)


def parse(text: str, name: str = NAME) -> list[TestLimit]:
    """The [[test]]s of the file.  ValueError, "memprof.toml:12: ...", for what is wrong in them."""
    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{name}: not TOML: {error}") from None
    lines = _Lines(text)
    for key, value in whole.items():  # the values are those of `memprof check`
        if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(part, dict) for part in value)):
            if key not in _LISTS:
                raise ValueError(f"{name}:{lines.of_table(key)}: '{key}' is no table; {_nearest(key, _LISTS)}")
    tests = whole.get("test", [])
    if not isinstance(tests, list) or not all(isinstance(test, dict) for test in tests):
        raise ValueError(f"{name}:{lines.of_table('test')}: test: write it as a table in a list: [[test]]")
    return [_read(test, name, lines, i) for i, test in enumerate(tests)]


def _read(test: dict[str, object], file: str, lines: _Lines, index: int) -> TestLimit:
    for key in test:
        if key not in _KEYS:
            raise ValueError(f"{file}:{lines.of_test(index, key)}: '{key}' is no key [[test]]; {_nearest(key, _KEYS)}")
    place = f"{file}:{lines.of_test(index)}"
    name = test.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError(f'{place}: which tests is not said; give name, like "tests/test_cache.py::*"')
    limits = {}
    for key, mark in _MARKS.items():
        if key in test:
            try:
                limits[mark] = _parse_size(test[key])
            except ValueError as error:
                raise ValueError(f"{file}:{lines.of_test(index, key)}: {key}: {error}") from None
    if not limits:
        raise ValueError(f"{place}: the test has no limit; give peak or live")
    return TestLimit(name, limits, place)


def read(path: Path, name: str = "") -> list[TestLimit]:
    """As parse().  OSError where it cannot be read."""
    try:
        return parse(path.read_text(encoding="utf-8"), name or path.name)
    except UnicodeDecodeError:
        raise ValueError(f"{name or path.name}: not TOML: it is not UTF-8") from None


def limits_of(nodeid: str, tests: list[TestLimit]) -> tuple[dict[str, int], dict[str, str]]:
    """The limits of a test, and where each stands."""
    limits: dict[str, int] = {}
    places: dict[str, str] = {}
    for test in tests:
        if test.matches(nodeid):
            for mark, limit in test.limits.items():
                if mark not in limits:
                    limits[mark], places[mark] = limit, test.place
    return limits, places
