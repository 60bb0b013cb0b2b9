#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attaches to a real Python by its own interface (`memprof attach --python`), again and again, under threads and signals.

usage: attach.py MEMPROF PYTHON [ROUNDS]     exit 1 where a round failed, a signal was lost or the program ended badly;
                                             77: this Python has no such interface (before 3.14)
"""
import os
import signal
import subprocess
import sys
import tempfile

PROGRAM = """
import signal, sys, threading
count, over = 0, False
def on_signal(*_):
    global count
    count += 1
signal.signal(signal.SIGUSR1, on_signal)
def allocate():
    kept = []
    while not over:
        kept.append(bytearray(3000))
        if len(kept) > 1000: kept.clear()
threads = [threading.Thread(target=allocate) for _ in range(3)]
def end():
    global over
    sys.stdin.read()
    over = True
threads.append(threading.Thread(target=end))
for thread in threads: thread.start()
print('ready', flush=True)
while not over: sum(range(1000))
for thread in threads: thread.join()
print(count)
"""


def main(memprof, python, rounds="50"):
    if subprocess.run([python, "-c", "import sys; sys.exit(sys.version_info < (3, 14))"], check=False).returncode != 0:
        return 77
    with tempfile.TemporaryDirectory() as folder:
        with subprocess.Popen([python, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            failed = []
            for _ in range(int(rounds)):
                for command in (["attach", "--python", "-r", "64k"], ["live", "-o", os.path.join(folder, "x.pb.gz"), "--force"],
                                ["attach", "--stop", "--python"]):
                    done = subprocess.run([memprof, *command, str(process.pid)], capture_output=True, text=True, check=False)
                    if done.returncode != 0:
                        failed.append(done.stderr)
                process.send_signal(signal.SIGUSR1)
            said, _ = process.communicate(timeout=60)
    # Two that come while the first is not handled yet are one; here each round takes much longer.
    print(f"{python}: {rounds} rounds, {len(failed)} failed, {said.strip()} signals, status {process.returncode}")
    print(*failed[:3], sep="", end="")
    return int(bool(failed) or said.strip() != rounds or process.returncode != 0)


sys.exit(main(*sys.argv[1:]))
