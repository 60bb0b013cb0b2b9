#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rate 0 beside memray: the CPU time of whole commands, and their largest process, in turn.

    bench/rate_zero.py PYTHON MEMPROF [MEMPROF ...] [--rounds N] [--code CODE]

PYTHON has pandas (or whatever CODE imports) and memray.  Several MEMPROFs, such as that of another build, are compared
in one interleaved run.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile


def measure(command):
    """CPU seconds of the command with its children, and the megabytes of the largest of them."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}\n{errors.decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python")
    parser.add_argument("memprof", nargs="+")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--code", default="import pandas")
    options = parser.parse_args()
    program = [options.python, "-c", options.code]
    with tempfile.TemporaryDirectory() as folder:
        memray = [options.python, "-m", "memray", "run", "--trace-python-allocators", "-q", "-f", "-o",
                  f"{folder}/memray.bin", "-c", options.code]
        commands = {path: [path, "run", "-r", "0", "--force", "-o", f"{folder}/x.pb.gz", *program]
                    for path in options.memprof}
        commands["memray"] = memray
        commands["alone"] = program
        figures = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, command in commands.items():
                figures[name].append(measure(command))
    for name, runs in figures.items():
        cpu = statistics.median(run[0] for run in runs)
        over = statistics.median(run[0] / other[0] for run, other in zip(runs, figures["memray"]))
        print(f"{name}: {cpu:.2f} s, {over:.2f} of memray, at most {max(run[1] for run in runs):.0f} MB")


if __name__ == "__main__":
    main()
