#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The frames of the toy runtime in what the command says of a profile. usage: toy_command_test.py TOY_PROGRAM MEMPROF"""
import pathlib
import subprocess
import sys
import tempfile


def main():
    program, memprof = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder, "toy.pb")
        subprocess.run([program, profile], check=True)
        folded = pathlib.Path(folder, "toy.collapsed")
        subprocess.run([memprof, "export", "--format", "collapsed", "-o", folded, profile], check=True)
        stacks = [line for line in folded.read_text().splitlines() if "leaf" in line]
        assert len(stacks) == 1, folded.read_text()
        expected = "main;main;fill;toy::run_leaf();leaf;toy::allocate() 64"  # the first is that of C++
        assert stacks[0].endswith(expected), stacks[0]

        def report(*arguments):
            return subprocess.run([memprof, "report", *arguments, profile], check=True, capture_output=True, text=True).stdout

        rows = report()
        for place in ("outer.toy:25", "inner.toy:42", "outer.toy:2"):
            assert place in rows, rows
        rows = report("--by", "module")
        assert "[Toy]" in rows and "Python" not in rows, rows


if __name__ == "__main__":
    main()
