#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/reliability.md and docs/security.md promise is held by tests that exist: each `file::test` in them, below tests/.
Each line of tests/without_sanitizers.txt is a test, or all of a suite.

usage: promises.py ROOT         names each test that is not there, and each lesson without one; exits 1 if any
       promises.py --self-test  plants such errors, and a good document
"""
import pathlib
import re
import sys
import tempfile

from check_main import check_main

DOCUMENT = "docs/reliability.md"
OTHER = "docs/security.md"  # without lessons
LEFT_OUT = "tests/without_sanitizers.txt"
LESSONS = range(1, 29)
TEST = re.compile(r"`([\w/]+\.(?:cc|py))::([\w.]+)`")
# | 7 | what broke | tests, or why it cannot happen |
ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
IMPOSSIBLE = "Impossible: "


def exists(root, file, name):
    path = root / "tests" / file
    if not path.is_file():
        return False
    if file.endswith(".py"):
        return re.search(rf"^ +def {re.escape(name)}\(", path.read_text(), re.MULTILINE) is not None
    suite, _, test = name.partition(".")
    return re.search(rf"^TEST(?:_[FP])?\({re.escape(suite)}, {re.escape(test)}\)", path.read_text(), re.MULTILINE) is not None


def wrong_patterns(root):
    """Lines of LEFT_OUT that are of no test: one that was renamed runs again."""
    tests = {".".join(names) for path in (root / "tests").rglob("*.cc")
             for names in re.findall(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", path.read_text(), re.MULTILINE)}
    tests |= {test.split(".")[0] + ".*" for test in tests}
    lines = [line for line in (root / LEFT_OUT).read_text().splitlines() if line and not line.startswith("#")]
    return [f"{LEFT_OUT}: there is no test {line}" for line in lines if line not in tests]


def check(root, lessons=LESSONS):
    """Returns (number of tests named, what is wrong)."""
    text = (root / DOCUMENT).read_text()
    documents = {DOCUMENT: text, OTHER: (root / OTHER).read_text()}
    wrong = [f"{document}: there is no test {name} in tests/{file}" for document, content in documents.items()
             for file, name in TEST.findall(content) if not exists(root, file, name)]
    wrong += wrong_patterns(root)
    rows = {}
    for number, _, means in ROW.findall(text):
        rows[int(number)] = rows.get(int(number), "") + means
    for lesson in lessons:
        if lesson not in rows:
            wrong.append(f"{DOCUMENT}: lesson {lesson} has no row")
        elif not TEST.search(rows[lesson]) and IMPOSSIBLE not in rows[lesson]:
            wrong.append(f"{DOCUMENT}: lesson {lesson} has no test, and no reason why it is impossible")
    # A misspelt reference is no reference, and would be passed over.
    wrong += [f"{document}: {part} is not written as `file::test`" for document, content in documents.items()
              for part in re.findall(r"`[^`]*::[^`]*`", content) if not TEST.fullmatch(part)]
    return sum(len(TEST.findall(content)) for content in documents.values()), wrong


def self_test():
    good = "| 1 | it hung | `e2e/a_test.py::test_a`, `core/b_test.cc::Suite.Case` |\n| 2 | it fell | Impossible: a reason |\n"
    cases = [(good, 0), (good.replace("test_a`", "test_b`"), 1), (good.replace("a_test.py", "c_test.py"), 1),
             (good.replace("Suite.Case", "Suite.Other"), 1), (good.replace("Impossible: a reason", "none"), 1),
             (good.splitlines()[0] + "\n", 1), (good + "`core/b_test.cc::Suite/Case`\n", 1)]
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path, text in (("tests/e2e/a_test.py", "class A:\n    def test_a(self):\n"),
                           ("tests/core/b_test.cc", "TEST_F(Suite, Case) {\n")):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        (root / "docs").mkdir()
        (root / OTHER).write_text("")
        (root / LEFT_OUT).write_text("# odds\nSuite.*\n\nSuite.Case\n")
        for text, errors in cases:
            (root / DOCUMENT).write_text(text)
            found = check(root, range(1, 3))[1]
            assert len(found) == errors, (text, found)
        (root / DOCUMENT).write_text(good)
        for text, errors in (("`e2e/a_test.py::test_a`", 0), ("`e2e/a_test.py::test_b`", 1), ("`e2e/a_test.py::x y`", 1)):
            (root / OTHER).write_text(text)
            found = check(root, range(1, 3))[1]
            assert len(found) == errors, (text, found)
        (root / OTHER).write_text("")
        (root / LEFT_OUT).write_text("Suite.Old\nSuites.*\n")
        assert len(check(root, range(1, 3))[1]) == 2
    print("the planted errors were found")


if __name__ == "__main__":
    sys.exit(check_main(__doc__, check, self_test, fine=lambda count: f"the {count} tests that {DOCUMENT} and {OTHER} name exist", counted="promises"))
