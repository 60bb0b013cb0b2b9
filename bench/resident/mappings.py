#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is all anonymous memory of real programs accounted for: the table of docs/mappings.md.

usage: mappings.py COMMAND LIBRARY [PROGRAM...]

Starts each program with LIBRARY (libmemprof.so) preloaded and MEMPROF_MMAP=1, lets it write a profile by a signal when it
is ready, and compares its parts with the sum of "Anonymous:" in /proc/PID/smaps, which is read before and after.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from resident import JAVA, NODE, PYTHON, wait_ready

PARTS = ("mapped", "allocator", "malloc", "stacks", "modules", "own", "unseen")


def anonymous(pid):
    return sum(int(line.split()[1]) for line in open(f"/proc/{pid}/smaps") if line.startswith("Anonymous:")) * 1024


def measure(options, folder, name, command):
    path = folder / f"{name}.%p.pb"
    environment = dict(os.environ, LD_PRELOAD=str(options.library), MEMPROF_MMAP="1", MEMPROF_DUMP_SIGNAL="RTMIN+3",
                       MEMPROF_PROFILE=str(path), DEBUGINFOD_URLS="")
    process = subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        if not wait_ready(process):
            raise SystemExit(f"{name}: did not get ready")
        time.sleep(1)
        before = anonymous(process.pid)
        os.kill(process.pid, signal.SIGRTMIN + 3)
        dump = folder / f"{name}.{process.pid}.1.pb"
        for _ in range(300):
            if dump.exists():
                break
            time.sleep(0.1)
        after = anonymous(process.pid)
    finally:
        process.kill()
        process.wait()
    report = json.loads(subprocess.run([options.command, "report", "--json", "-n", "1", "--no-debuginfod", dump], check=True,
                                       stdout=subprocess.PIPE).stdout)
    parts = {part: report[f"anonymous_{part}_bytes"] for part in PARTS}
    smaps, whole = (before + after) / 2, sum(parts.values())
    totals = report["totals"]
    numbers = [smaps, whole, *(parts[part] for part in PARTS), totals["mapped_resident_space"]["value"], totals["mapped_space"]["value"]]
    print(f"| {name} | " + " | ".join(f"{number / 1e6:.1f}" for number in numbers[:2]) + f" | {whole / smaps - 1:+.2%} | " +
          " | ".join(f"{number / 1e6:.1f}" for number in numbers[2:]) + f" | {1 - parts['unseen'] / whole:.1%} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", type=pathlib.Path)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", default=["python", "node", "java"], help="python node java")
    parser.add_argument("--python", default="python3")
    options = parser.parse_args()
    options.command, options.library = options.command.resolve(), options.library.resolve()
    print("| program | smaps, MB | parts | difference | mapped | its allocator | malloc | stacks | modules | memprof | not seen | listed: resident | mapped | seen |")
    print("|---|" + "---:|" * 13)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if "java" in options.programs and shutil.which("javac"):
            (folder / "Held.java").write_text(JAVA)
            subprocess.run(["javac", "Held.java"], cwd=folder, check=True)
        commands = {"python": [options.python, "-c", PYTHON], "node": ["node", "-e", NODE],
                    "java": ["java", "-Xmx256m", "-cp", str(folder), "Held"]}
        for program in options.programs:
            measure(options, folder, program, commands[program])


if __name__ == "__main__":
    main()
