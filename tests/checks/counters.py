#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each counter of src/format/counters.h stands where no compiler looks: in memprof.h, the bindings that tests have by
hand, and the pages that describe the formats.

usage: counters.py ROOT         names each place that lacks a counter, exits 1 if there is one
       counters.py --self-test  takes a counter out of each place, and sees it missed
"""
import pathlib
import re
import shutil
import sys
import tempfile

from check_main import check_main

LIST = "src/format/counters.h"
LINE = re.compile(r"\b(COUNTER|FILED|FACT)\(([^()]*)\)\s*\\?$", re.M)
# File -> what it must have of a line: pattern of a regular expression, with the name in place of NAME.
OF_STATS = {"capi/include/memprof.h": r"\buint64_t NAME;", "tests/e2e/programs/layout.c": r"FIELD\(memprof_stats, NAME\)",
            "tests/e2e/capi_binding.py": r'\("NAME", c_uint64\)'}
OF_COMMENT = {"docs/profile-format.md": r"[` ]NAME=\S"}
OF_JSON = {"docs/profile-json.md": r"^\|.*`NAME`.*\|.*\|$"}
OF_REPORT = {"docs/report-json.md": r"^\|.*`NAME`.*\|.*\|$"}


def required(text):
    """[(file, pattern, name)] that follow from the list."""
    found = []
    body = text.split("#define MEMPROF_COUNTERS", 1)[1].split("// clang-format on", 1)[0]
    for kind, arguments in LINE.findall(body):
        arguments = [a.strip() for a in arguments.split(",")]
        key = json = arguments[0]
        if kind == "FACT":
            key, json = (a.strip('"') for a in arguments[2:4])
        wanted = [(OF_STATS, arguments[0])] if kind != "FACT" else []
        if kind != "COUNTER":
            wanted.append((OF_COMMENT, key))
            if json != "nullptr":
                wanted.append((OF_JSON, json))
            if arguments[-1] == "kReported":
                wanted.append((OF_REPORT, json))
        found += [(file, pattern.replace("NAME", name), name) for files, name in wanted for file, pattern in files.items()]
    return found


def check(root):
    """Returns (number of things looked for, what is missing)."""
    texts = {}
    wanted = required((root / LIST).read_text())
    missing = []
    for file, pattern, name in wanted:
        text = texts.setdefault(file, (root / file).read_text())
        if not re.search(pattern, text, re.M):
            missing.append(f"{file} lacks {name} of {LIST}")
    return len(wanted), missing


def self_test():
    root = pathlib.Path(__file__).resolve().parents[2]
    wanted = required((root / LIST).read_text())
    files = {file for file, _, _ in wanted} | {LIST}
    with tempfile.TemporaryDirectory() as name:
        copy = pathlib.Path(name)
        for file in files:
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / file, copy / file)
        planted = 0
        for file in files - {LIST}:
            text = (copy / file).read_text()
            pattern, counter = [(p, n) for f, p, n in wanted if f == file][-1]
            (copy / file).write_text(re.sub(pattern, lambda m, name=counter: m.group().replace(name, "gone"), text, flags=re.M))
            if check(copy)[1] != [f"{file} lacks {counter} of {LIST}"]:
                sys.exit(f"{counter} was taken out of {file}, and check() says {check(copy)[1]}")
            (copy / file).write_text(text)
            planted += 1
        grown = (copy / LIST).read_text().replace("  COUNTER(hooks", "  FILED(new_one, LATER, kMissing, kSum, kReported) \\\n  COUNTER(hooks")
        (copy / LIST).write_text(grown)
        if len(check(copy)[1]) != len(OF_STATS) + len(OF_COMMENT) + len(OF_JSON) + len(OF_REPORT):
            sys.exit(f"a new counter: {check(copy)[1]}")
    print(f"{planted} counters taken out were missed, and a new one in each place")


if __name__ == "__main__":
    sys.exit(check_main(__doc__, check, self_test,
                        fine=lambda count: f"{count} mentions of counters found", min_count=50, counted=f"mentions of counters of {LIST}"))
