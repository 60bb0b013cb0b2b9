#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs under the oracle (oracle.cc) and says how many of their stacks are what libunwind finds.

usage: oracle_test.py [--library NAME] [PROGRAM...]
                       all programs by default; MEMPROF_ORACLE_PROGRAMS is the folder of the built ones

At least 99.99 % must be identical, but for the differences whose reason stands in EXPLAINED.
"""
import collections
import os
import re
import struct
import subprocess
import sys
import tempfile

import real_programs

PROGRAMS = os.environ["MEMPROF_ORACLE_PROGRAMS"]
RESULTS_BYTES = 8 * 8 + (1 << 20)
FIELDS = ("samples", "identical", "root_reached", "oracle_ended", "skipped", "frames", "most_frames", "text_used")

# A difference that matches is not counted: (pattern of its line, reason).
EXPLAINED = [
    (r"/no_tables_main after=\d+ .* reason=0 .* last_same=no_tables_main\S* our_next=libc\.so",
     "after code without tables libunwind does not know the stack pointer; the engine goes on from main to the root"),
    # V8's builtins push a frame record around a call of C++ in their middle: there is no return address in it.
    (r"/node after=(\d+) ours=\1 reason=4 .* last_same=(?:lib)?node\S* their_next=0x[0-9a-f]*[13579bdf] their_next=(?:lib)?node",
     "libunwind takes a tagged value of V8, which is odd and in no module, for a return address; the engine cuts the stack there, and says so"),
]

# Of the real programs, name -> (every n-th allocation, least samples).
REAL = {"python3": (10, 10000), "git": (5, 5000), "perl": (20, 5000), "sqlite3": (10, 5000), "cc1plus": (100, 5000),
        "clang": (100, 5000), "node": (10, 5000)}


def programs(folder):
    """name -> (every n-th allocation, least samples, command, input)."""
    yield "odd_frames", 1, 10000, [os.path.join(PROGRAMS, "odd_frames"), "150"], None
    yield "odd_frames_with_fp", 1, 10000, [os.path.join(PROGRAMS, "odd_frames_with_fp"), "150"], None
    yield "odd_frames_realigned", 1, 10000, [os.path.join(PROGRAMS, "odd_frames_realigned"), "150"], None
    yield "churn", 5, 3000, [os.path.join(PROGRAMS, "churn"), "3000", os.path.join(PROGRAMS, "churn_a.so"),
                             os.path.join(PROGRAMS, "churn_b.so")], None
    yield "no_tables", 1, 1000, [os.path.join(PROGRAMS, "no_tables_main")], None
    for name, how in real_programs.commands(folder).items():
        yield name, *REAL[name], *how


def run(folder, name, every, command, text, library):
    file = os.path.join(folder, "results")
    with open(file, "wb") as f:
        f.truncate(RESULTS_BYTES)
    environment = dict(os.environ, LD_PRELOAD=os.path.join(PROGRAMS, library), ORACLE_FILE=file,
                       ORACLE_EVERY=str(every), ORACLE_CACHE="none" if name == "churn" else "default")
    environment.pop("LD_BIND_NOW", None)
    done = subprocess.run(command, input=text, text=True, env=environment, timeout=300, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    with open(file, "rb") as f:
        data = f.read()
    results = dict(zip(FIELDS, struct.unpack_from("<8Q", data)))
    lines = data[64:64 + results["text_used"]].decode(errors="replace").splitlines()
    return done, results, [line for line in lines if line.startswith("DIFFERENT")]


def main():
    wanted = sys.argv[1:]
    library = "memprof_oracle.so"
    if wanted[:1] == ["--library"]:
        library = wanted[1]
        wanted = wanted[2:]
    total = collections.Counter()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name, every, least, command, text in programs(folder):
            if wanted and name not in wanted:
                continue
            done, results, lines = run(folder, name, every, command, text, library)
            if done.returncode != 0:
                failures.append(f"{name}: ended with {done.returncode}: {done.stderr[-500:]}")
            different = results["samples"] - results["identical"]
            explained = collections.Counter()
            unexplained = []
            for line in lines:
                reason = next((why for pattern, why in EXPLAINED if re.search(pattern, line)), None)
                if reason is None:
                    unexplained.append(line)
                else:
                    explained[reason] += 1
            # Lines beyond the file's size are lost, and count.
            bad = different - sum(explained.values())
            print(f"{name}: {results['samples']} samples, {different} different ({bad} not explained), root reached "
                  f"{results['root_reached']}, frames {results['frames'] / max(1, results['samples']):.1f} on average, "
                  f"{results['most_frames']} at most, {results['skipped']} skipped", flush=True)
            for reason, count in explained.items():
                print(f"    {count}: {reason}")
            for line, count in collections.Counter(unexplained).most_common(15):
                print(f"    {count}x {line}")
            total.update(samples=results["samples"], bad=bad)
            if results["samples"] < least:
                failures.append(f"{name}: only {results['samples']} samples: the comparison did not happen")
            if bad * 10000 > results["samples"]:
                failures.append(f"{name}: {bad} of {results['samples']} stacks are not what libunwind finds")
    print(f"all: {total['samples']} samples, {total['bad']} different without a reason")
    if not wanted and total["samples"] < 100000:
        failures.append("fewer than 100,000 samples")
    print("\n".join(failures))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
