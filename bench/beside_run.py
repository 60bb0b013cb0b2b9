# SPDX-License-Identifier: Apache-2.0
"""What `memprof run` itself takes of a processor while its program sleeps: now, and with 600 more processes.

usage: beside_run.py MEMPROF
"""

import os
import subprocess
import sys
import tempfile
import time

SECONDS = 10
BEGINNING_S = 2.5


def used_s(process):
    tasks = f"/proc/{process}/task"
    total_ns = 0
    for task in os.listdir(tasks):
        with open(f"{tasks}/{task}/schedstat") as file:
            total_ns += int(file.read().split()[0])
    return total_ns / 1e9


def measure(memprof, folder):
    command = [memprof, "run", "--force", "-o", f"{folder}/x.pb.gz", "--", "sleep", str(SECONDS + 4)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    time.sleep(BEGINNING_S)
    before = used_s(process.pid)
    time.sleep(SECONDS)
    share = (used_s(process.pid) - before) / SECONDS
    process.wait()
    return share


def main():
    memprof = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        print(f"alone: {measure(memprof, folder):.3%} of a core")
        others = [subprocess.Popen(["sleep", "60"]) for _ in range(600)]
        print(f"600 more processes: {measure(memprof, folder):.3%} of a core")
        for other in others:
            other.kill()
            other.wait()


main()
