# SPDX-License-Identifier: Apache-2.0
"""pytest plugin: `--memprof`, and limits of what a test may hold or leave behind.

    @pytest.mark.limit_memory("24 MB")      # never more than that live at once
    @pytest.mark.limit_leaks("1 MB")        # no more than that left when the test is over

A limit is exceeded when the lower end of the 95 % interval is above it; the sampling rate is chosen so small
beside the limit that this interval is narrow (or 0, which is exact), so that no test fails by chance.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memprof import _profiler

if TYPE_CHECKING:
    from collections.abc import Generator

    from memprof._measure import Measured

_MEASURED = pytest.StashKey["Measured"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("memprof", "memory profiles of tests")
    group.addoption("--memprof", action="store_true", default=False,
                    help="show which tests allocate most, and where")
    group.addoption("--memprof-top", type=int, default=5, metavar="N",
                    help="with --memprof: tests to show, and places of each (default: 5)")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "limit_memory(limit): the test fails if it ever holds more live memory than this, "
                                       'like "24 MB"')
    config.addinivalue_line("markers", "limit_leaks(limit): the test fails if it leaves more live memory behind than this, "
                                       'like "1 MB"')
    top = config.getoption("--memprof-top")
    if top < 1:
        raise pytest.UsageError(f"--memprof-top: {top} is not a number of tests; give 1 or more")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A wrong limit is said before anything runs."""
    from memprof import _measure
    for item in items:
        for name in ("limit_memory", "limit_leaks"):
            for mark in item.iter_markers(name):
                try:
                    _measure.limit_of(name, mark.args, mark.kwargs)
                except ValueError as error:
                    raise pytest.UsageError(f"{item.nodeid}: {error}") from error


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    memory, leaks = item.get_closest_marker("limit_memory"), item.get_closest_marker("limit_leaks")
    if memory is None and leaks is None and not item.config.getoption("--memprof"):
        return (yield)
    from memprof import _measure
    limits = {name: _measure.limit_of(name, mark.args, mark.kwargs)
              for name, mark in (("limit_memory", memory), ("limit_leaks", leaks)) if mark is not None}
    if _profiler.is_active():
        if limits:
            pytest.fail(f"{', '.join(limits)}: memprof is active already, at a rate that was not chosen for the limit; run "
                        f"without `memprof run`, and without memprof.start() around the tests", pytrace=False)
        return (yield)
    measurement = _measure.Measurement(limits)
    try:
        result = yield
    finally:
        measured = item.stash[_MEASURED] = measurement.finish()
    problems = measured.problems()
    if problems:
        pytest.fail("\n\n".join(problems), pytrace=False)
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("--memprof"):
        return
    top = config.getoption("--memprof-top")
    measured = config.stash.get(_ALL, {})
    terminalreporter.section("memprof")
    for nodeid, one in sorted(measured.items(), key=lambda pair: -pair[1].allocated)[:top]:
        terminalreporter.line(f"{nodeid}: {one.summary()}")
        for line in one.allocated_places(top):
            terminalreporter.line(f"  {line}")
    if not measured:
        terminalreporter.line("No test was measured.")


_ALL = pytest.StashKey[dict[str, "Measured"]]()


def pytest_runtest_teardown(item: pytest.Item) -> None:
    if _MEASURED in item.stash:
        item.config.stash.setdefault(_ALL, {})[item.nodeid] = item.stash[_MEASURED]
