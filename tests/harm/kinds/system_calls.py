# SPDX-License-Identifier: Apache-2.0
"""Filters of system calls that a program puts on itself: each call that memprof makes (the recorded list), with each answer
that a filter can give, loaded in the program, in one of its threads, and before it starts, by every way that memprof can be in it.

The program (quiet.c) checks what it allocates, and what it ends with is compared with its end under the same filter without
memprof.  Not tried: a filter from before the start that ends a process that has memprof preloaded (docs/limits.md)."""
import pathlib
import subprocess
import sys

import harm as driver
from harm import Situation

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
import system_calls  # noqa: E402

SAMPLE = 16
KILL_PROCESS, KILL_THREAD, TRAP, TRACE = 0x80000000, 0, 0x30000, 0x7ff00000
ERRORS = {"EPERM": 1, "EINTR": 4, "ENOMEM": 12, "ENOSPC": 28, "ENOSYS": 38}
ANSWERS = {"KILL_PROCESS": KILL_PROCESS, "KILL_THREAD": KILL_THREAD, "TRAP": TRAP, "TRACE": TRACE,
           **{f"ERRNO {name}": 0x50000 | number for name, number in ERRORS.items()}}
ENDS = ("KILL_PROCESS", "KILL_THREAD", "TRAP")


def differs(plain, done):
    """Of a program that the filter itself ends there is nothing to harm."""
    ended_by_itself = plain.returncode != "timeout" and plain.returncode < 0
    return None if ended_by_itself else driver.differs(plain, done)


def situations(harm, chance):
    quiet = harm.programs / "quiet"
    number = 0
    arenas = {"MEMPROF_ARENA_DIR": str(harm.folder)}  # those of processes that are ended stay

    def run_with(way, command, rate):
        if way == "preloaded":
            return harm.run(command, harm.preloaded(MEMPROF_RATE=rate, MEMPROF_PROFILE=str(harm.folder / "%p.pb"), **arenas))
        return harm.run([harm.command, "run", "--raw", "-r", rate, "--force", "-o", harm.folder / f"{number}.pb", "--", *command])

    def in_program(way, call, answer, rate, *thread):
        command = [quiet, "100", str(call), str(ANSWERS[answer]), *thread]
        return differs(harm.run(command), run_with(way, command, rate))

    def behind(way, call, answer, rate):
        filtered = [quiet, "behind", str(call), str(ANSWERS[answer])]
        plain = harm.run([*filtered, "-", quiet, "100"])
        if way == "preloaded":
            environment = harm.environment(MEMPROF_RATE=rate, MEMPROF_PROFILE=str(harm.folder / "%p.pb"), **arenas)
            return differs(plain, harm.run([*filtered, harm.library, quiet, "100"], environment))
        return differs(plain, run_with("run", [*filtered, "-", quiet, "100"], rate))

    def attached(call, answer, rate, *thread):
        command = [quiet, "2000", str(call), str(ANSWERS[answer]), *thread]
        plain = harm.run(command)
        process = subprocess.Popen([str(part) for part in command], env=harm.environment(**arenas), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            first = process.stdout.readline()
            done = harm.run([harm.command, "attach", process.pid, "-r", rate])
            rest, error = process.communicate(timeout=60)
        finally:
            process.kill()
        if done.returncode == 0:
            return f"memprof attach did not refuse: {done.stderr[-200:]!r}"
        return differs(plain, subprocess.CompletedProcess(command, process.returncode, first + rest, error))

    everything = [(call, answer, when, way) for call in system_calls.CALLS for answer in ANSWERS
                  for when, way in (("in the program", "preloaded"), ("in the program", "run"), ("in the program", "attached"),
                                    ("in a thread", "preloaded"), ("in a thread", "run"), ("in a thread", "attached"),
                                    ("before the start", "preloaded"), ("before the start", "run"))]
    chance.shuffle(everything)
    for (name, call), answer, when, way in everything:
        if when == "before the start" and answer in ENDS:
            continue
        number += 1
        rate = chance.choice(("512", "4k"))

        def attempt(call=call, answer=answer, when=when, way=way, rate=rate):
            thread = ["thread"] if when == "in a thread" else []
            if way == "attached":
                return attached(call, answer, rate, *thread)
            return behind(way, call, answer, rate) if when == "before the start" else in_program(way, call, answer, rate, *thread)

        yield Situation(f"{name} {answer}, {when}, {way}, rate {rate}", attempt)
