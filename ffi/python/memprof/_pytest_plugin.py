# SPDX-License-Identifier: Apache-2.0
"""pytest plugin: `--memprof`, and limits of what a test may hold or leave behind.

    @pytest.mark.limit_memory("24 MB")      # never more than that live at once
    @pytest.mark.limit_leaks("1 MB")        # no more than that left when the test is over

with the keywords of pytest-memray: current_thread_only=True counts what the test's own thread allocates; limit_leaks has
warmups=N, which runs the test N times before it is measured, and filter_fn, which says of a stack whether it counts.

The same limits may stand in memprof.toml, in the folder that pytest calls rootdir (_testing/limit_file.py); a mark counts more.

A limit is exceeded when the lower end of the 95 % interval is above it; the sampling rate is chosen by the limit
(_testing/measure.py), and is 0, which is exact, up to 16 KiB.
"""
from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memprof import _profiler
from memprof._testing import limit_file

if TYPE_CHECKING:
    from collections.abc import Generator

    from memprof._testing.measure import Measured

_MEASURED = pytest.StashKey["Measured"]()
_LIMITS = pytest.StashKey[list[limit_file.TestLimit]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("memprof", "memory profiles of tests")
    group.addoption("--memprof", action="store_true", default=False,
                    help="show which tests allocate most, and where")
    group.addoption("--memprof-top", type=int, default=5, metavar="N",
                    help="with --memprof: tests to show, and places of each (default: 5)")
    group.addoption("--memprof-limits", metavar="FILE",
                    help="limits of tests, [[test]] (default: memprof.toml in the root folder, if it is there)")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "limit_memory(limit, current_thread_only=False): the test fails if it ever holds more live "
                                       'memory than this, like "24 MB"')
    config.addinivalue_line("markers", "limit_leaks(limit, warmups=0, filter_fn=None, current_thread_only=False): the test fails if "
                                       'it leaves more live memory behind than this, like "1 MB"')
    top = config.getoption("--memprof-top")
    if top < 1:
        raise pytest.UsageError(f"--memprof-top: {top} is not a number of tests; give 1 or more")
    config.stash[_LIMITS] = _read_limits(config)
    if config.getoption("--memprof"):
        config.pluginmanager.register(_Summary(top), "memprof-summary")


def _read_limits(config: pytest.Config) -> list[limit_file.TestLimit]:
    name = config.getoption("--memprof-limits")
    path = Path(name) if name else config.rootpath / limit_file.NAME
    if not name and not path.exists():
        return []
    try:
        return limit_file.read(path, name or "")
    except (OSError, ValueError) as error:
        raise pytest.UsageError(f"--memprof-limits: {error}" if isinstance(error, OSError) else str(error)) from None


def pytest_collection_finish(session: pytest.Session) -> None:
    """A limit of a test that there is not would hold for ever.  Who chose tests has not collected all."""
    config = session.config
    is_whole = (getattr(config, "args_source", None) not in (None, pytest.Config.ArgsSource.ARGS)
                and not config.getoption("keyword", "") and not config.getoption("markexpr", "")
                and not config.getoption("collectonly", False))
    for test in config.stash[_LIMITS] if is_whole else []:
        if not any(test.matches(item.nodeid) for item in session.items):
            warnings.warn(pytest.PytestWarning(f"{test.place}: no test is called '{test.name}'"), stacklevel=1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    marks = {name: mark for name in ("limit_memory", "limit_leaks") if (mark := item.get_closest_marker(name)) is not None}
    of_file, places = limit_file.limits_of(item.nodeid, item.config.stash[_LIMITS])
    if not marks and not of_file and not item.config.getoption("--memprof"):
        return (yield)
    from memprof._testing import measure as _measure
    limits = {name: _measure.Mark(limit) for name, limit in of_file.items()}
    wrong = ""
    for name, mark in marks.items():
        try:
            limits[name] = _measure.read_mark(name, mark.args, mark.kwargs)
            places.pop(name, None)
        except ValueError as error:
            wrong = str(error)
    if len({limits[name].current_thread_only for name in marks if name in limits}) > 1:
        wrong = "limit_memory, limit_leaks: give current_thread_only to both of them, or to none"
    if wrong:
        pytest.fail(wrong, pytrace=False)
    if _profiler.is_active():
        if limits:
            pytest.fail(f"{', '.join(limits)}: memprof is active already, at a rate that was not chosen for the limit; run "
                        f"without `memprof run`, and without memprof.start() around the tests", pytrace=False)
        return (yield)
    for _ in range(max((mark.warmups for mark in limits.values()), default=0)):
        item.runtest()
    measurement = _measure.Measurement(limits, str(item.path))
    try:
        result = yield
    finally:
        measured = item.stash[_MEASURED] = measurement.finish()
    problems = [problem + (f"\n  the limit: {places[name]}" if (name := problem.partition(":")[0]) in places else "")
                for problem in measured.problems()]
    if problems:
        pytest.fail("\n\n".join(problems), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    measured = item.stash.get(_MEASURED, None)
    if call.when == "call" and measured is not None and item.config.getoption("--memprof"):
        # Of a process of pytest-xdist, the report is all that comes over: plain values.
        report.memprof = (measured.allocated, measured.summary(),  # type: ignore[attr-defined]
                          measured.allocated_places(item.config.getoption("--memprof-top")))
    return report


class _Summary:
    """What all tests took."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._tests: list[tuple[float, str, str, list[str]]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (measured := getattr(report, "memprof", None)) is not None:
            self._tests.append((measured[0], report.nodeid, measured[1], measured[2]))
            self._tests.sort(key=lambda test: -test[0])
            del self._tests[self._top:]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("memprof")
        for _, nodeid, summary, places in self._tests:
            terminalreporter.line(f"{nodeid}: {summary}")
            for line in places:
                terminalreporter.line(f"  {line}")
        if not self._tests:
            terminalreporter.line("No test was measured.")
