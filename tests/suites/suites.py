#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the test suites of other projects without memprof and with it (modes.py), and compares them test by test.

usage: suites.py FOLDER [SUITE...]      (./dev suites sets the environment; SUITE: cpython, sqlite, redis, node, programs,
                                         python_programs, seen_memory, cpython=PYTHON, node=NODE, python_programs=PYTHON)
       suites.py --self-test            plants differences, which must be found

All but python_programs and seen_memory where none is named: the wheels of the one take 6.5 GB, the packages of the other 4 GB.

cpython=PYTHON: with that interpreter, preloaded at rate 0 and 4k, its objects and stacks included.
node: with the node in PATH; node=NODE: with that one. Preloaded at rate 0 and 4k, stacks and heap of JavaScript included.

A test that differs is run again, its module alone, three times without and with: one that differs from itself without
memprof, or is then the same all three times, is unsteady (named, and no failure); else it is a failure. A crash, a hang
(each suite has a limit for a process) and a missing test are differences like any other. Exits 1 if there is a failure.
"""
import collections
import importlib
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import modes

SUITES = ("cpython", "sqlite", "redis", "node", "programs")
WHERE_NAMED = ("python_programs", "seen_memory")
# Those that any interpreter can run, and which is taken where none is named; None: the suite's own.
INTERPRETERS = {"cpython": None, "node": "node", "python_programs": "/usr/bin/python3"}
REPEATS = 3
KINDS = ("passed", "Ok", "skipped", "failure", "error", "failed")


class Run:
    """One suite in one mode: its results, and how many processes wrote a profile."""

    def __init__(self, suite, mode, folder, only=None):
        profiles = folder / "profiles"
        profiles.mkdir()
        profiles.chmod(0o1777)  # some tests become another user
        started = time.monotonic()
        try:
            self.results = suite.run(modes.environment(mode, profiles), folder, only)
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            self.results = {"the suite": f"did not end: {error}"}
        self.seconds = time.monotonic() - started
        self.seconds_of_parts = dict(getattr(suite, "seconds", {}))
        self.profiles = sorted(profiles.glob("*.pb"), key=lambda p: p.stat().st_size, reverse=True)
        self.count = len(self.profiles)
        # Kept, for whoever looks into a difference.
        if only is None:
            (folder / f"results of {mode}.json").write_text(json.dumps(self.results, indent=0, sort_keys=True))
        self.unread = [] if mode == "without" else self.that_cannot_be_read()
        shutil.rmtree(profiles)

    def that_cannot_be_read(self):
        """Of the largest ten profiles; and it is wrong if there is none."""
        wrong = [p.name for p in self.profiles[:10] if subprocess.run(
            [modes.COMMAND, "report", "--json", "--no-debuginfod", p], stdout=subprocess.DEVNULL, check=False).returncode]
        return wrong or ([] if self.profiles else ["no process wrote a profile"])

    def tally(self):
        """How many of each kind, where there are kinds and no values."""
        kinds = collections.Counter(r.split(",")[0] for r in self.results.values())
        known = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common() if kind in KINDS)
        return f" ({known})" if known else ""


def differences(one, other):
    return sorted(t for t in one.keys() | other.keys() if one.get(t) != other.get(t))


class Again:
    """A part of a suite, run alone REPEATS times without memprof and with it."""

    def __init__(self, suite, mode, folder, name):
        runs = [(Run(suite, "without", folder, [name]).results, Run(suite, mode, folder, [name]).results)
                for _ in range(REPEATS if name is not None else 0)]
        self.plain, self.profiled = [one for one, _ in runs], [other for _, other in runs]

    def is_unsteady(self, test, before):
        """Not the same each time without memprof (`before` included), or now the same each time with it."""
        plain = {before, *(r.get(test) for r in self.plain)}
        return bool(self.plain) and (len(plain) > 1 or plain == {r.get(test) for r in self.profiled})

    def counted(self, test):
        def times(runs):
            return ", ".join(f"{n}x {result}" for result, n in collections.Counter(r.get(test) for r in runs).most_common())
        return f"again: {times(self.plain)} without, {times(self.profiled)} with" if self.plain else "not run again"


def explained_of(suite, different):
    """{test: why it cannot be the same}; a module's result, too, if nothing else of it differs."""
    known = getattr(suite, "EXPLAINED", {})
    explained = {test: known[test] for test in different if test in known}
    for test in different:
        if test.startswith("module "):
            tests = [t for t in different if t != test and suite.again(t) == suite.again(test)]
            if tests and all(t in explained for t in tests):
                explained[test] = "by what differs in it"
    return explained


def compare(suite, folder):
    """Runs all modes; the number of failures."""
    suite.prepare(folder)
    failures = 0
    plain = None
    runs = {}
    for mode in modes.wanted(*([suite.MODES] if hasattr(suite, "MODES") else [])):
        run = Run(suite, mode, folder)
        if plain is None:
            plain = run
        runs[mode] = (run.results, run.seconds_of_parts)
        different = differences(plain.results, run.results)
        print(f"{suite.NAME:8} {mode:14} {len(run.results):6} results{run.tally()}, {len(different)} differ; "
              f"{run.count} profiles; {run.seconds:.0f} s", flush=True)
        for name in run.unread:
            failures += 1
            print(f"  FAILED: profile: {name}")
        known = {}
        explained = explained_of(suite, different)
        for test in different:
            if test in explained:
                print(f"  explained: {test}: {plain.results.get(test)} without, {run.results.get(test)} {mode}: {explained[test]}")
                continue
            what = f"{test}: {plain.results.get(test)} without, {run.results.get(test)} {mode}"
            part = suite.again(test)
            if part not in known:
                known[part] = Again(suite, mode, folder, part)
            unsteady = known[part].is_unsteady(test, plain.results.get(test))
            failures += not unsteady
            print(f"  {'unsteady' if unsteady else 'FAILED'}: {what}; {known[part].counted(test)}", flush=True)
    ends_early = {test: result for test, result in plain.results.items() if test in getattr(suite, "MUST_END", ())}
    if not plain.results or "the suite" in plain.results or ends_early:
        failures += 1
        print(f"  FAILED: {suite.NAME} does not run without memprof: {ends_early or plain.results}")
    if hasattr(suite, "table"):
        print(suite.table(runs))
    return failures


class Planted:
    """A suite whose results are what a test of ours says, without memprof and with it."""

    NAME = "planted"

    def __init__(self, plain, profiled):
        self.plain, self.profiled, self.runs = plain, profiled, 0

    def prepare(self, folder):
        pass

    def run(self, environment, folder, only=None):
        self.runs += 1
        if "LD_PRELOAD" not in environment:
            return dict(self.plain)
        (folder / "profiles/x.pb").touch()
        return self.profiled(self.runs)

    def again(self, test):
        return test


def self_test():
    modes.COMMAND = "true"  # reads any profile
    good = {"a": "passed", "b": "skipped"}
    cases = {"the same": (lambda run: good, 0), "a failure": (lambda run: {**good, "a": "failure"}, 4),
             "a test that is missing": (lambda run: {"a": "passed"}, 4), "one more": (lambda run: {**good, "c": "passed"}, 4),
             "no result": (lambda run: {}, 8), "unsteady": (lambda run: {**good, "a": "failure" if run == 2 else "passed"}, 0),
             "one that fails now and then with us only": (lambda run: {**good, "a": "failure" if run % 4 == 0 else "passed"}, 1)}
    for name, (profiled, expected) in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            found = compare(Planted(good, profiled), pathlib.Path(folder))
        assert found == expected, f"{name}: {found} instead of {expected}"
    Planted.MUST_END = ["job"]
    with tempfile.TemporaryDirectory() as folder:
        broken = {"job": "did not end"}
        assert compare(Planted(broken, lambda run: broken), pathlib.Path(folder)) == 1, "the same with and without, and broken"
    del Planted.MUST_END
    Planted.EXPLAINED = {"a": "because"}
    with tempfile.TemporaryDirectory() as folder:
        assert compare(Planted(good, lambda run: {"a": "failure", "b": "failure"}), pathlib.Path(folder)) == 4, "only b"
    del Planted.EXPLAINED
    modes.COMMAND = "false"  # reads none
    with tempfile.TemporaryDirectory() as folder:
        assert compare(Planted(good, lambda run: good), pathlib.Path(folder)) == 4
        assert compare(Planted({}, lambda run: {}), pathlib.Path(folder)) > 0
    print("self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    if len(sys.argv) < 2 or not all(n in SUITES + WHERE_NAMED or n.partition("=")[0] in INTERPRETERS for n in sys.argv[2:]):
        sys.exit(__doc__)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)
    failures = 0
    for name in sys.argv[2:] or SUITES:
        name, _, interpreter = name.partition("=")
        suite = importlib.import_module(name)
        interpreter = interpreter or INTERPRETERS.get(name)
        if interpreter is not None:
            suite = suite.With(interpreter)
            name += f" {suite.NAME}"
        folder = pathlib.Path(sys.argv[1]).resolve() / name
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder / "profiles", ignore_errors=True)
        failures += suite.check(folder) if hasattr(suite, "check") else compare(suite, folder)
    print(f"{failures} failures")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
