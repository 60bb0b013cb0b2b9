#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tests of a build did: counted by cases, with what failed, how long each took, and what goes over its budget.

usage: results.py BUILD                 says what failed; the last line is PASSED FAILED SKIPPED
       results.py --slowest BUILD...    the 30 slowest tests of these builds, and the budgets of CONTRIBUTING.md
       results.py --failed BUILD...     what failed in these builds, a few lines each
       results.py --self-test

BUILD has results.xml of ctest (--output-junit). A program of unit tests is one test there; its cases are in
tests/cases/NAME.xml, as googletest writes them. A program that died has no such file, or an old one (which is
removed before the tests): it counts as one failure.
"""
import contextlib
import io
import pathlib
import re
import sys
import tempfile
import xml.etree.ElementTree as tree

SLOWEST = 30
MAX_LINES = 150  # of what a failed test printed
BRIEF_LINES = 6  # where all that failed is listed


class Case:
    def __init__(self, name, state, seconds, said=""):
        self.name, self.state, self.seconds, self.said = name, state, seconds, said


def unit_cases(path, prefix):
    """The cases of one program; none where the program did not write them whole."""
    try:
        root = tree.parse(path).getroot()
    except (OSError, tree.ParseError):
        return []
    cases = []
    for case in root.iter("testcase"):
        if case.get("status") == "notrun" and case.get("result") not in ("suppressed", "skipped"):
            continue
        said = "\n".join(failure.get("message", "") for failure in case.iter("failure"))
        skipped = case.get("result") in ("skipped", "suppressed") or case.find("skipped") is not None
        state = "failed" if said else "skipped" if skipped else "passed"
        cases.append(Case(f"{prefix}{case.get('classname')}.{case.get('name')}", state, float(case.get("time", 0)), said))
    return cases


def cases_of(build):
    """All cases of a build; None where ctest wrote no results."""
    try:
        root = tree.parse(build / "results.xml").getroot()
    except (OSError, tree.ParseError):
        return None
    cases = []
    for test in root.iter("testcase"):
        name, seconds = test.get("name"), float(test.get("time", 0))
        state = {"run": "passed", "fail": "failed"}.get(test.get("status"), "skipped")
        said = test.findtext("system-out", "")
        inner = unit_cases(build / "tests" / "cases" / f"{name.rsplit('/', 1)[-1]}.xml", name.rsplit("/", 1)[0] + "/")
        failed_inside = any(case.state == "failed" for case in inner)
        if not inner or (state == "failed") != failed_inside:
            # A test by itself; or a program that ended otherwise than its cases say.
            cases.append(Case(name, state, seconds, said))
        cases += inner
    return cases


def say(build):
    cases = cases_of(build)
    if not cases:
        print("no test ran")
        print(0, 1, 0)
        return 1
    for case in cases:
        if case.state == "failed":
            lines = case.said.rstrip().splitlines()
            print(f"---- FAILED {case.name} ({case.seconds:.1f} s)")
            print("\n".join(lines[-MAX_LINES:]))
    counts = [sum(case.state == state for case in cases) for state in ("passed", "failed", "skipped")]
    print(*counts)
    return 0


def failed(builds):
    for build in builds:
        for case in cases_of(build) or []:
            if case.state == "failed":
                print(f"FAILED: {build.name}: {case.name}")
                lines = [line.strip()[:120] for line in case.said.splitlines() if line.strip()]
                # Errors first: what follows them is often only the end of the test.
                errors = [line for line in lines if re.search(r"error|assert|fail|expected|actual", line, re.IGNORECASE)]
                print("\n".join(f"    {line}" for line in (errors or lines)[-BRIEF_LINES:]))
    return 0


def budgets(page):
    """Prefix of tests -> seconds, from the table of CONTRIBUTING.md: `| `harm/` | 3 min |`."""
    return {prefix: 60 * float(minutes)
            for prefix, minutes in re.findall(r"^\| `([a-z0-9]+/)` \| (\d+) min \|", page.read_text(), re.MULTILINE)}


def slowest(builds, page):
    cases = []
    for build in builds:
        cases += [Case(f"{build.name}: {c.name}", c.state, c.seconds) for c in cases_of(build) or []]
    cases.sort(key=lambda case: -case.seconds)
    print(f"The {min(SLOWEST, len(cases))} slowest tests, in seconds:")
    for case in cases[:SLOWEST]:
        print(f"{case.seconds:7.1f}  {case.name}")
    over = 0
    for prefix, limit in budgets(page).items():
        taken = sum(case.seconds for case in cases if case.name.split(": ", 1)[1].startswith(prefix))
        if taken > limit:
            over = 1
            print(f"OVER BUDGET: {prefix} took {taken:.0f} s of {limit:.0f} s (CONTRIBUTING.md)")
    return over


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder, "release")
        (build / "tests" / "cases").mkdir(parents=True)
        assert cases_of(build) is None
        (build / "results.xml").write_text(
            '<testsuite><testcase name="core/core.1" status="fail" time="5"><system-out>all of it</system-out></testcase>'
            '<testcase name="core/core.2" status="fail" time="1"><system-out>Segmentation fault</system-out></testcase>'
            '<testcase name="core/core.3" status="fail" time="1"><system-out>leaked at its end</system-out></testcase>'
            '<testcase name="e2e/early" status="run" time="90"/>'
            '<testcase name="e2e/late" status="notrun" time="0"/></testsuite>')
        (build / "tests" / "cases" / "core.1.xml").write_text(
            '<testsuites><testsuite><testcase name="A" classname="S" status="run" result="completed" time="0.5"/>'
            '<testcase name="B" classname="S" status="run" result="completed" time="4"><failure message="1 is not 2"/></testcase>'
            '<testcase name="C" classname="S" status="run" result="skipped" time="0"/>'
            '</testsuite></testsuites>')
        (build / "tests" / "cases" / "core.3.xml").write_text(
            '<testsuites><testsuite><testcase name="D" classname="S" status="run" result="completed" time="0.5"/></testsuite></testsuites>')
        found = {case.name: (case.state, case.said) for case in cases_of(build)}
        assert found == {"core/S.A": ("passed", ""), "core/S.B": ("failed", "1 is not 2"), "core/S.C": ("skipped", ""),
                         "core/core.2": ("failed", "Segmentation fault"), "core/core.3": ("failed", "leaked at its end"),
                         "core/S.D": ("passed", ""), "e2e/early": ("passed", ""), "e2e/late": ("skipped", "")}, found
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            failed([build])
        assert said.getvalue().splitlines()[:2] == ["FAILED: release: core/S.B", "    1 is not 2"], said.getvalue()
        assert said.getvalue().count("FAILED") == 3, said.getvalue()
        page = pathlib.Path(folder, "CONTRIBUTING.md")
        page.write_text("| `e2e/` | 1 min |\n| `harm/` | 3 min |\n")
        assert slowest([build], page) == 1
        page.write_text("| `e2e/` | 2 min |\n")
        assert slowest([build], page) == 0
    print("self-test: passed")
    return 0


def main():
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        return self_test()
    if arguments[:1] == ["--slowest"] and len(arguments) > 1:
        return slowest([pathlib.Path(build) for build in arguments[1:]],
                       pathlib.Path(__file__).resolve().parent.parent / "CONTRIBUTING.md")
    if arguments[:1] == ["--failed"] and len(arguments) > 1:
        return failed([pathlib.Path(build) for build in arguments[1:]])
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    return say(pathlib.Path(arguments[0]))


if __name__ == "__main__":
    sys.exit(main())
