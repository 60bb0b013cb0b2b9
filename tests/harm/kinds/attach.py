# SPDX-License-Identifier: Apache-2.0
"""Attach and its end, with something wrong at each step: the command is late, stopped or killed, the process gets signals, is
stopped or ends, and the system calls that the process is made to make are answered with errors. The programs check themselves."""
import os
import platform
import subprocess

from harm import Situation, Skip

SAMPLE = 40
STEPS = 64  # of a first start; a stop has fewer, and a step that there is not is an attach with nothing wrong
FEW_LOOKS = 20  # in place of half a second: some milliseconds
FAULTS = ("late", "kill", "stopped", "signal", "pause", "none")
WHATS = ("registers", "waits", "signals", "mixed")
ERRNO, TRACE = 0x00050000, 0x7FF00000
# What the process is made to call, and what loading makes: none of these may end it.
CALLS = {"x86_64": {"rt_sigtimedwait": 128, "munmap": 11, "memfd_create": 319, "sigaltstack": 131, "ftruncate": 77,
                    "membarrier": 324, "madvise": 28},
         "aarch64": {"rt_sigtimedwait": 137, "munmap": 215, "memfd_create": 279, "sigaltstack": 132, "ftruncate": 46,
                     "membarrier": 283, "madvise": 233}}
FILTERS = [(call, answer) for call in ("rt_sigtimedwait", "munmap", "memfd_create", "sigaltstack", "ftruncate", "membarrier", "madvise")
           for answer in (ERRNO | 1, ERRNO | 11, ERRNO | 4, ERRNO | 38, TRACE)]


def can_trace():
    """Whether this machine lets a process trace its child."""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as file:
            return int(file.read()) < 2 or os.geteuid() == 0
    except FileNotFoundError:
        return True


class Target:
    """A program that checks itself, which was told nothing of memprof, or was started with it."""

    def __init__(self, harm, arguments, is_preloaded):
        environment = harm.preloaded(MEMPROF_ACTIVE="0") if is_preloaded else harm.environment()
        self.process = subprocess.Popen([str(harm.programs / "attach_target"), *arguments], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if self.process.stdout.readline() != "ready\n":
            raise Skip("no seccomp here" if len(arguments) > 1 else "the program does not start")

    def end(self):
        """What it says at its end; what is wrong with that, or None."""
        try:
            said, error = self.process.communicate("", timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return "it hangs"
        if self.process.returncode != 0 or said != "ok\n":
            return f"status {self.process.returncode}, printed {said!r} {error[-200:]!r}"
        return None


def attach(harm, target, way, fault, step, looks):
    """The status of the driver; None where it was killed as it should."""
    command = [str(harm.programs / "attach_driver"), str(harm.library), str(target.process.pid), way, fault, str(step), str(looks)]
    done = subprocess.run(command, env=harm.environment(), check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120)
    return done.returncode, done.stdout.strip()


def attempt(harm, what, is_preloaded, filtered, first, fault, step, looks):
    """Attached, stopped and attached again, with one thing wrong in between; then all is well once more."""
    call, answer = filtered if filtered else (None, None)
    numbers = CALLS.get(platform.machine(), {})
    arguments = [what] + ([str(numbers[call]), str(answer)] if call else [])
    target = Target(harm, arguments, is_preloaded)
    said = []
    try:
        before = [] if first == "start" else [("start", "none", 0)]
        behind = [("stop", None, 0), ("start", "none", 0), ("stop", "none", 0)]
        for way, wrong, at in before + [(first, fault, step)] + behind:
            status, text = attach(harm, target, way, wrong or "none", at, looks)
            said.append(f"{way}: {status} {text}")
            if target.process.poll() is not None:
                return f"it ended: {target.end()}; {said}"
            # What is answered with an error may be refused; who is stopped by a signal, too.
            # Of a late command, another thread's results are lost.
            is_lost = wrong in ("late", "stopped") and "try again" in text
            may_be_refused = call is not None or wrong in ("kill", "pause", None) or is_lost
            if status != 0 and not (may_be_refused and status == 1) and not (wrong == "kill" and status == -9):
                return f"the command failed: {said}"
        wrong = target.end()
        return wrong and f"{wrong}; {said}"
    finally:
        if target.process.poll() is None:
            target.process.kill()
            target.process.communicate()


def situations(harm, chance):
    """Each step with each fault once, in an order by chance; then by chance for ever."""
    all_steps = [(fault, step) for fault in FAULTS for step in range(STEPS)]
    chance.shuffle(all_steps)
    number = 0
    while True:
        if number < len(all_steps):
            fault, step = all_steps[number]
        else:
            fault, step = chance.choice(FAULTS), chance.randrange(STEPS)
        number += 1
        # A signal cuts a transfer short, without memprof as well.
        has_transfers = not harm.is_sample and fault not in ("signal", "pause")
        what = chance.choice(WHATS + ("transfers",) if has_transfers else WHATS)
        is_preloaded = chance.random() < 0.3
        filtered = chance.choice(FILTERS) if chance.random() < 0.4 else None
        first = chance.choice(("start", "start", "stop"))
        # In real time where it is a whole run: the thread waits for half a second and more.
        looks = 0 if not harm.is_sample and chance.random() < 0.04 else FEW_LOOKS
        name = (f"{number}: {what}{', preloaded' if is_preloaded else ''}, {first}, {fault} at step {step}"
                f"{f', {filtered[0]} answered {filtered[1]:#x}' if filtered else ''}{', real time' if looks == 0 else ''}")

        def run(arguments=(what, is_preloaded, filtered, first, fault, step, looks)):
            if not can_trace():
                raise Skip("ptrace is refused here")
            return attempt(harm, *arguments)

        yield Situation(name, run)
