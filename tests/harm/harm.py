#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes situations in which memprof could harm a program, and compares each with the same program without memprof.

usage: harm.py [KIND...] [--seconds N] [--seed N] [--only SITUATION]
       harm.py --sample KIND...     a fixed part of them, as ./dev test runs it
       harm.py --self-test          a kind that does harm, and one that stops by itself

A kind is a module of kinds/: `situations(harm, random)` yields situations for as long as it has any. It is given a
random.Random with a fixed seed, so that --seed and --only make one situation again. `SAMPLE` of the module says
how many of them ./dev test tries; 0: what they need is not installed there. Exits 1 if a program was harmed.
"""
import argparse
import collections
import dataclasses
import importlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing

HERE = pathlib.Path(__file__).resolve().parent
WATCHDOG_S = 60
PROGRESS_S = 300


@dataclasses.dataclass
class Situation:
    """`run` tries it: None if the program was as it is without memprof, else what differed, in a line.

    A situation that memprof documents as refused is tried, too: that it was refused is what `run` checks.
    """
    name: str
    run: typing.Callable[[], typing.Optional[str]]


class Skip(Exception):
    """A situation that this machine cannot make; its text says what is missing. Counted, and said."""


class Harm:
    """What kinds share: the product, compilers, a scratch folder, a way to run a program."""

    def __init__(self, folder, sample):
        self.library = pathlib.Path(os.environ["MEMPROF_E2E_LIBRARY"])
        self.command = pathlib.Path(os.environ["MEMPROF_E2E_COMMAND"])
        self.programs = pathlib.Path(os.environ["MEMPROF_E2E_PROGRAMS"])
        self.source = pathlib.Path(os.environ.get("MEMPROF_E2E_SOURCE", HERE.parent.parent))
        self.cc = os.environ.get("MEMPROF_E2E_CC", "cc")
        self.cxx = os.environ.get("MEMPROF_E2E_CXX", "c++")
        self.folder = pathlib.Path(folder)
        self.is_sample = sample

    def environment(self, **extra):
        """This process's environment without memprof and the loader's variables."""
        plain = {k: v for k, v in os.environ.items() if not k.startswith("MEMPROF_") and k != "LD_PRELOAD"}
        return plain | {"LC_ALL": "C.UTF-8"} | extra

    def preloaded(self, **extra):
        return self.environment(LD_PRELOAD=str(self.library), **extra)

    def run(self, command, environment=None, timeout=WATCHDOG_S, input=None, **options):
        """The ended process: status, standard output and error as bytes. A hang is status "timeout", and what hangs is killed
        with all that it has started."""
        options.setdefault("stdin", subprocess.DEVNULL if input is None else subprocess.PIPE)
        command = [str(part) for part in command]
        with subprocess.Popen(command, env=environment or self.environment(), start_new_session=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as process:
            try:
                out, error = process.communicate(input, timeout)
                return subprocess.CompletedProcess(command, process.returncode, out, error)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, error = process.communicate()
                return subprocess.CompletedProcess(command, "timeout", out, error)

    def build(self, command):
        """Runs a compiler. A failure is an error of the kind, not harm."""
        done = self.run(command, timeout=300)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr.decode(errors='replace')[-3000:]}")


def differs(without, with_it):
    """What a program's end says of harm: its status and what it printed. Standard error may have lines of memprof's."""
    if without.returncode != with_it.returncode:
        error = with_it.stderr.decode(errors="replace").strip()[-300:]
        return f"status {with_it.returncode}, {without.returncode} without memprof; {error}"
    if without.stdout != with_it.stdout:
        return f"printed {with_it.stdout[-200:]!r}, {without.stdout[-200:]!r} without memprof"
    return None


@dataclasses.dataclass
class Tally:
    tried: int = 0
    harmed: list = dataclasses.field(default_factory=list)
    skipped: collections.Counter = dataclasses.field(default_factory=collections.Counter)


def try_kind(name, module, harm, seed, until, limit, only):
    """Tries situations of a kind until a time (time.monotonic) or a number of them; says each harm at once."""
    tally = Tally()
    said = time.monotonic()
    for situation in module.situations(harm, random.Random(f"{name} {seed}")):
        if only is not None and situation.name != only:
            continue
        if (limit is not None and tally.tried >= limit) or (until is not None and time.monotonic() > until):
            break
        try:
            wrong = situation.run()
        except Skip as reason:
            tally.skipped[str(reason)] += 1
            continue
        except (OSError, RuntimeError) as error:  # of the kind itself: said, and a failure; the rest is tried all the same
            wrong = f"could not be tried: {error}"
        tally.tried += 1
        if time.monotonic() > said + PROGRESS_S:
            said = time.monotonic()
            print(f"{name}: {tally.tried} so far", flush=True)
        if wrong is not None:
            tally.harmed.append(situation.name)
            print(f"HARMED {name}: {situation.name}: {wrong}\n       again: harm.py {name} --seed {seed} --only '{situation.name}'",
                  flush=True)
        if only is not None:
            break
    return tally


def kinds():
    return sorted(path.stem for path in (HERE / "kinds").glob("[a-z]*.py"))


def self_test():
    class Harmful:
        @staticmethod
        def situations(harm, chance):
            del harm
            for i in range(10):
                yield Situation(f"{i} of {chance.random()}", lambda i=i: "harmed" if i == 3 else None)

    tally = try_kind("self", Harmful, None, 1, None, None, None)
    assert tally.tried == 10 and len(tally.harmed) == 1, tally
    again = try_kind("self", Harmful, None, 1, None, None, tally.harmed[0])
    assert again.tried == 1 and again.harmed == tally.harmed, again
    assert try_kind("self", Harmful, None, 1, None, 3, None).tried == 3
    assert kinds(), "no kinds"
    print("self-test: passed")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(kinds()))
    parser.add_argument("--seconds", type=float, help="for all kinds together; each has the same share")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="the one situation of this name")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    if "MEMPROF_E2E_LIBRARY" not in os.environ:
        parser.error("run `./dev harm`, which builds what is tried and sets the environment")
    unknown = set(arguments.kinds) - set(kinds())
    if unknown:
        parser.error(f"no kind {', '.join(sorted(unknown))}; there are {', '.join(kinds())}")
    sys.path.insert(0, str(HERE))
    sys.modules["harm"] = sys.modules["__main__"]  # kinds import it by that name
    chosen = arguments.kinds or kinds()
    harmed = 0
    for name in chosen:
        module = importlib.import_module(f"kinds.{name}")
        if arguments.sample and module.SAMPLE == 0:
            print(f"{name}: not in the sample")
            continue
        folder = tempfile.mkdtemp(prefix=f"memprof-harm-{name}-")
        started = time.monotonic()
        until = started + arguments.seconds / len(chosen) if arguments.seconds else None
        limit = module.SAMPLE if arguments.sample else None
        try:
            tally = try_kind(name, module, Harm(folder, arguments.sample), arguments.seed, until, limit, arguments.only)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        harmed += len(tally.harmed)
        print(f"{name}: {tally.tried} situations tried, {len(tally.harmed)} harmed, "
              f"{sum(tally.skipped.values())} skipped, {time.monotonic() - started:.0f} s", flush=True)
        for reason, count in tally.skipped.most_common():
            print(f"  skipped {count}: {reason}")
        if tally.tried == 0 and not tally.skipped:
            print(f"{name}: no situation was tried")
            harmed += 1
    return 1 if harmed else 0


if __name__ == "__main__":
    sys.exit(main())
