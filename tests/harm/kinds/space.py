# SPDX-License-Identifier: Apache-2.0
"""Programs that have little of something, or run out of it at any point: address space, data, locked memory, descriptors,
processes, file size, and shared memory.

The program (bounded.c) does without what it is refused, checks itself, and ends the same with whatever it is given; so it
is compared with its end under the same limit without memprof.  Near the least with which it starts at all the two differ
legitimately: the library needs some address space of its own to be loaded (docs/limits.md), so limits on memory begin at
what a preloaded program that records nothing needs."""
import os
import resource
import subprocess
import time

from harm import Situation, Skip, differs

SAMPLE = 24
PAGE = 4096
RATES = ("0", "512", "64k")
SHARED_MEMORY = 4 << 20  # bytes of the private one; how much of it is left is tried in pages
MEMORY = {"address space": resource.RLIMIT_AS, "data": resource.RLIMIT_DATA}
COUNTS = {"locked memory": (resource.RLIMIT_MEMLOCK, [0, PAGE - 1, PAGE, PAGE + 1, 1 << 16, 1 << 20]),
          "descriptors": (resource.RLIMIT_NOFILE, list(range(3, 24))),
          "processes": (resource.RLIMIT_NPROC, [0, 1, 2, 3, 5, 8]),
          "file size": (resource.RLIMIT_FSIZE, [0, 1, PAGE - 1, PAGE, PAGE + 1, 1 << 16, 1 << 20, 1 << 24, 1 << 28, 1 << 32])}


def limit(kind, value):
    def apply():
        resource.setrlimit(kind, (value, value))
    return apply


def least(harm, kind):
    """Of a limit on memory, the smallest in pages with which the program starts with the library."""
    low, high = 0, 1 << 30
    while high - low > PAGE:
        middle = (low + high) // 2 // PAGE * PAGE
        done = harm.run([harm.programs / "bounded"], harm.preloaded(MEMPROF_ARENA_DIR=str(harm.folder)), preexec_fn=limit(kind, middle))
        low, high = (low, middle) if done.returncode == 7 else (middle, high)
    return high


def under(harm, kind, value, way, rate):
    command = [harm.programs / "bounded"]
    options = {"preexec_fn": limit(kind, value)}
    plain = harm.run(command, **options)
    if way == "preloaded":
        environment = harm.preloaded(MEMPROF_RATE=rate, MEMPROF_PROFILE=str(harm.folder / "%p.pb"), MEMPROF_ARENA_DIR=str(harm.folder))
        return differs(plain, harm.run(command, environment, **options))
    # The limit is the program's: of the command it is known that it needs more.
    inner = ["prlimit", f"--{NAMES[kind]}={value}:{value}", *command]
    return differs(harm.run(inner), harm.run([harm.command, "run", "--raw", "-r", rate, "--force", "-o", harm.folder / "x.pb", "--", *inner]))


NAMES = {resource.RLIMIT_AS: "as", resource.RLIMIT_DATA: "data", resource.RLIMIT_MEMLOCK: "memlock",
         resource.RLIMIT_NOFILE: "nofile", resource.RLIMIT_NPROC: "nproc", resource.RLIMIT_FSIZE: "fsize"}

# Behind `unshare -m sh -c`: shared memory of which so much is left; the program runs, or is attached to.
IN_LITTLE = """mount -t tmpfs -o size={size} none /dev/shm || exit 99
head -c {full} /dev/zero > /dev/shm/full
exec "$@"
"""


def shared_memory(harm, left, way, rate, runs_out):
    if os.geteuid() != 0:
        raise Skip("only root has a /dev/shm of its own")
    if harm.run(["unshare", "-m", "true"]).returncode != 0:
        raise Skip("no mounts of its own can be had here (a chroot)")
    command = [harm.programs / "bounded", *(["1"] if runs_out or way == "attached" else [])]
    plain = harm.run(command)
    shell = ["unshare", "-m", "sh", "-c", IN_LITTLE.format(size=SHARED_MEMORY, full=SHARED_MEMORY - left), "sh"]
    environment = harm.environment(MEMPROF_RATE=rate, MEMPROF_PROFILE=str(harm.folder / "%p.pb"), MEMPROF_ARENA_DIR="/dev/shm")
    if way == "preloaded":
        started = ["env", f"LD_PRELOAD={harm.library}", *command]
    elif way == "run":
        started = [harm.command, "run", "--raw", "-r", rate, "--force", "-o", harm.folder / "x.pb", "--", *command]
    else:
        started = command
    process = subprocess.Popen([str(part) for part in [*shell, *started]], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        first = b""
        if way == "attached" or runs_out:
            first = process.stdout.readline()
        if way == "attached":
            harm.run([harm.command, "attach", process.pid, "-r", rate])
        if runs_out:
            time.sleep(0.2)
            fill = f"head -c {SHARED_MEMORY} /dev/zero > /dev/shm/more"
            harm.run(["nsenter", "-t", process.pid, "-m", "sh", "-c", fill])
        rest, error = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    if process.returncode == 99:
        raise Skip("no file system can be mounted here")
    return differs(plain, subprocess.CompletedProcess(command, process.returncode, first + rest, error))


def situations(harm, chance):
    lows = {}

    def memory(name, more, way, rate):
        kind = MEMORY[name]
        if name not in lows:
            lows[name] = least(harm, kind)
        return under(harm, kind, lows[name] + more, way, rate)

    def of_memory():
        name = chance.choice(sorted(MEMORY))
        more, way, rate = PAGE * chance.choice((0, 1, 2, chance.randrange(4096))), chance.choice(("preloaded", "run")), chance.choice(RATES)
        return Situation(f"{name}, {more} more than it needs, {way}, rate {rate}", lambda: memory(name, more, way, rate))

    def of_counts():
        name = chance.choice(sorted(COUNTS))
        kind, values = COUNTS[name]
        value, way, rate = chance.choice(values), chance.choice(("preloaded", "run")), chance.choice(RATES)
        return Situation(f"{name} {value}, {way}, rate {rate}", lambda: under(harm, kind, value, way, rate))

    def of_shared_memory():
        left, way = PAGE * chance.randrange(513), chance.choice(("preloaded", "run", "attached"))
        rate, runs_out = chance.choice(("0", "512", "512", "64k")), chance.random() < 0.3
        what = ", which runs out" if runs_out else ""
        return Situation(f"{left} bytes of shared memory{what}, {way}, rate {rate}",
                         lambda: shared_memory(harm, left, way, rate, runs_out))

    while True:
        for make in (of_shared_memory, of_memory, of_counts):
            yield make()
