# SPDX-License-Identifier: Apache-2.0
"""Programs that have little of something, or run out of it at any point: address space, data, locked memory, descriptors,
processes, file size, shared memory, the memory of a control group, and the file system that has memprof's tables.

The program (bounded.c) does without what it is refused, checks itself, and ends the same with whatever it is given; so it
is compared with its end under the same limit without memprof.  Near the least with which it starts at all the two differ
legitimately: the library needs some address space of its own to be loaded (docs/limits.md), so limits on memory begin at
what a preloaded program that records nothing needs.  A control group has the program's memory and what memprof may take
of the limit (decision 0069).

All steps are tried: each amount from 0 to 2 MiB of shared memory in pages, each way; each limit below."""
import contextlib
import itertools
import os
import resource
import shutil
import subprocess
import tempfile
import time

from harm import Situation, Skip, differs

SAMPLE = 24
PAGE = 4096
RATES = ("0", "512", "64k")
OF_MEMPROF = 6 << 20
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


def ends_well(harm, kind, value, way, rate):
    """(How the program ends alone, how with memprof)."""
    command = [harm.programs / "bounded"]
    options = {"preexec_fn": limit(kind, value)}
    if way == "preloaded":
        environment = harm.preloaded(MEMPROF_RATE=rate, MEMPROF_PROFILE=str(harm.folder / "%p.pb"), MEMPROF_ARENA_DIR=str(harm.folder))
        return harm.run(command, **options), harm.run(command, environment, **options)
    # The limit is the program's: of the command it is known that it needs more.
    inner = ["prlimit", f"--{NAMES[kind]}={value}:{value}", *command]
    return harm.run(inner), harm.run([harm.command, "run", "--raw", "-r", rate, "--force", "-o", harm.folder / "x.pb", "--", *inner])


def least(harm, kind, way):
    """Of a limit on memory, the smallest in pages with which the program starts with the library, each time of several."""
    low, high = 0, 1 << 30
    while high - low > PAGE:
        middle = (low + high) // 2 // PAGE * PAGE
        low, high = (low, middle) if ends_well(harm, kind, middle, way, "512k")[1].returncode == 7 else (middle, high)
    while any(ends_well(harm, kind, high, way, "512k")[1].returncode != 7 for _ in range(5)):
        high += PAGE
    return high


def under(harm, kind, value, way, rate):
    return differs(*ends_well(harm, kind, value, way, rate))


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



class ControlGroup:
    """One of version 1 with a limit of memory; shells write themselves into `tasks`."""
    HIERARCHY = "/sys/fs/cgroup/memory"

    def __init__(self, limit_bytes):
        if os.geteuid() != 0 or not os.path.exists(f"{self.HIERARCHY}/memory.limit_in_bytes"):
            raise Skip("no control groups of version 1 can be made here")
        self.folder = f"{self.HIERARCHY}/memprof-harm-{os.getpid()}"
        try:
            os.makedirs(self.folder, exist_ok=True)
            self.write("memory.limit_in_bytes", limit_bytes)
        except OSError as error:
            raise Skip(f"no control group with a limit can be made here: {error.strerror}") from error
        with contextlib.suppress(OSError):  # not every kernel counts swap
            self.write("memory.memsw.limit_in_bytes", limit_bytes)

    def write(self, name, value):
        with open(f"{self.folder}/{name}", "w", encoding="ascii") as file:
            file.write(str(value))

    def __enter__(self):
        return ["sh", "-c", f'echo $$ > {self.folder}/tasks && exec "$@"', "sh"]

    def __exit__(self, *_):
        for _ in range(200):  # a process that was killed may not be gone yet
            try:
                return os.rmdir(self.folder)
            except OSError:
                time.sleep(0.01)


def least_of_group(harm):
    """In pages, with which the program ends as it does alone."""
    low, high = 0, 64 << 20
    while high - low > PAGE:
        middle = (low + high) // 2 // PAGE * PAGE
        with ControlGroup(middle) as front:
            low, high = (low, middle) if harm.run([*front, harm.programs / "bounded"]).returncode == 7 else (middle, high)
    return high


def in_group(harm, least_bytes, more, way, rate):
    # The library's own data, and what decision 0069 lets its tables take: a 64th, 4 MiB at least.
    allowed = least_bytes + OF_MEMPROF + more
    command = [harm.programs / "bounded"]
    folder = tempfile.mkdtemp(dir="/dev/shm", prefix="memprof-harm-")  # its pages count
    try:
        with ControlGroup(allowed) as front:
            plain = harm.run([*front, *command])
            if way == "preloaded":
                environment = [f"LD_PRELOAD={harm.library}", f"MEMPROF_RATE={rate}", f"MEMPROF_PROFILE={harm.folder}/%p.pb",
                               f"MEMPROF_ARENA_DIR={folder}"]
                return differs(plain, harm.run([*front, "env", *environment, *command]))
            return differs(plain, harm.run([harm.command, "run", "--raw", "-r", rate, "--force", "-o", harm.folder / "x.pb", "--",
                                            *front, *command]))
    finally:
        shutil.rmtree(folder)


# Behind `unshare -m sh -c`: a small ext4 of which so much is left.
IN_A_FILE_SYSTEM = """truncate -s 16M {image} && mkfs.ext4 -q -m 0 {image} && mkdir -p {folder} &&
mount -o loop {image} {folder} || exit 99
left=$(df --output=avail -B1 {folder} | tail -n 1)
head -c $((left - {left})) /dev/zero > {folder}/full
exec "$@"
"""


def file_system(harm, left, way, rate):
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None or harm.run(["unshare", "-m", "true"]).returncode != 0:
        raise Skip("no file system of its own can be had here")
    folder, command = harm.folder / "tables", [harm.programs / "bounded"]
    shell = ["unshare", "-m", "sh", "-c", IN_A_FILE_SYSTEM.format(image=harm.folder / "image", folder=folder, left=left), "sh"]
    variables = [f"MEMPROF_RATE={rate}", f"MEMPROF_ARENA_DIR={folder}", f"MEMPROF_PROFILE={harm.folder}/%p.pb"]
    started = ["env", *variables, f"LD_PRELOAD={harm.library}"] if way == "preloaded" else \
        ["env", *variables, harm.command, "run", "--raw", "-r", rate, "--force", "-o", harm.folder / "x.pb", "--"]
    done = harm.run([*shell, *started, *command])
    if done.returncode == 99:
        raise Skip("no file system can be mounted here")
    return differs(harm.run(command), done)


def situations(harm, chance):
    lows = {}

    def memory(name, more, way, rate):
        kind = MEMORY[name]
        if (name, way) not in lows:
            lows[name, way] = least(harm, kind, way)
        return under(harm, kind, lows[name, way] + more, way, rate)

    def of_memory(name, more, way):
        rate = chance.choice(RATES)
        return Situation(f"{name}, {more} more than it needs, {way}, rate {rate}", lambda: memory(name, more, way, rate))

    def of_counts(name, value, way):
        rate = chance.choice(RATES)
        return Situation(f"{name} {value}, {way}, rate {rate}", lambda: under(harm, COUNTS[name][0], value, way, rate))

    def of_shared_memory(left, way, runs_out):
        rate = chance.choice(("0", "512", "512", "64k"))
        what = ", which runs out" if runs_out else ""
        return Situation(f"{left} bytes of shared memory{what}, {way}, rate {rate}",
                         lambda: shared_memory(harm, left, way, rate, runs_out))

    def group(more, way, rate):
        if "group" not in lows:
            lows["group"] = least_of_group(harm)
        return in_group(harm, lows["group"], more, way, rate)

    def of_groups(more, way):
        rate = chance.choice(RATES)
        return Situation(f"control group, {more} more than both need, {way}, rate {rate}", lambda: group(more, way, rate))

    def of_file_systems(left, way):
        rate = chance.choice(RATES)
        return Situation(f"{left} bytes of a file system, {way}, rate {rate}", lambda: file_system(harm, left, way, rate))

    two, three = ("preloaded", "run"), ("preloaded", "run", "attached")
    steps = [PAGE * i for i in range(513)]
    grids = [
        [of_shared_memory(left, way, False) for left in steps for way in three],
        [of_memory(name, more, way) for name in sorted(MEMORY) for more in [*steps[:65], *steps[65::16], *(PAGE * i for i in range(600, 4096, 100))]
         for way in two],
        [of_counts(name, value, way) for name in sorted(COUNTS) for value in COUNTS[name][1] for way in two],
        [of_shared_memory(left, way, True) for left in steps[::16] for way in three],
        [of_groups(more, way) for more in (*steps[:16], *steps[16::64]) for way in two],
        [of_file_systems(left, way) for left in (*steps[:8], *steps[8::32]) for way in two]]
    for grid in grids:
        chance.shuffle(grid)
    # Of each in turn, so that any part of all has of all.
    for row in itertools.zip_longest(*grids):
        yield from (situation for situation in row if situation is not None)
