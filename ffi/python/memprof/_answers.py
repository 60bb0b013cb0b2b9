# SPDX-License-Identifier: Apache-2.0
"""leaks and churn: the verdicts of the memprof command, of snapshots of this process and of files."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any, Protocol, Union

from memprof._command import command_path
from memprof._formats import command_environment
from memprof._library import muted

if TYPE_CHECKING:
    from memprof._library import NativeSnapshot


class Snapshot(Protocol):
    """A HeapSnapshot."""

    _native: NativeSnapshot


Source = Union[Snapshot, str, "os.PathLike[str]"]

_ROWS = ("function", "line", "file", "module")


def leaks(*profiles: Source, expect: str | None = None, by: str = "function", focus: str | None = None,
          ignore: str | None = None) -> dict[str, Any]:
    """Which places leak: those where blocks are never freed that were allocated all through the run.

    profiles: snapshots of this process, or paths of profiles and of series (memprof run --every).  Several are of one
        process at several times, in any order: what lived then counts, too, and the last is judged.
    expect: an expression (RE2); stacks with a frame that matches may grow, and are not judged
    by: what a row is of: "function", "line", "file" or "module"
    focus, ignore: only stacks with, or without, a frame that matches

    Returns what `memprof leaks --json` prints, as docs/leaks.md describes it: "suspects", how many there are, and "rows",
    the suspects first, each with "verdict", "reason" (a sentence), "growth_per_minute" and more.

    Raises ValueError with what the command says of wrong arguments, and of profiles that do not say how long blocks
    lived; OSError where the command is not there.
    """
    if not profiles:
        raise ValueError("leaks: no profile given; give snapshots, or paths of files")
    return _ask("leaks", profiles, {"expect": expect, "by": _checked_by("leaks", by), "focus": focus, "ignore": ignore})


def churn(profile: Source, younger_ns: int = 10_000_000, by: str = "function", focus: str | None = None,
          ignore: str | None = None) -> dict[str, Any]:
    """What was allocated and freed again soon after, by the place that did it, and what can be done about it.

    profile: a snapshot of this process, or the path of a profile
    younger_ns: how soon.  Lifetimes are kept in classes, two a decade (1, 3, 10 ...): the bound next to it is used
    by, focus, ignore: as in leaks()

    Returns what `memprof churn --json` prints, as docs/churn.md describes it.  Raises as leaks() does.
    """
    if isinstance(younger_ns, bool) or not isinstance(younger_ns, int) or not 0 < younger_ns < 1 << 63:
        raise ValueError(f"churn: younger_ns is {younger_ns!r}; give nanoseconds, like 10_000_000")
    options = {"younger": f"{younger_ns}ns", "by": _checked_by("churn", by), "focus": focus, "ignore": ignore}
    return _ask("churn", (profile,), options)


def _checked_by(function: str, by: str) -> str:
    if by not in _ROWS:
        raise ValueError(f"{function}: by is {by!r}; give one of {', '.join(_ROWS)}")
    return by


def _ask(command: str, profiles: tuple[Source, ...], options: dict[str, str | None]) -> dict[str, Any]:
    """Statistics live once, in the command: a process of its own, so that they cost this one neither time nor memory."""
    with muted(), tempfile.TemporaryDirectory(prefix="memprof-") as folder:
        files = []
        for number, profile in enumerate(profiles):
            if isinstance(profile, (str, os.PathLike)):
                files.append(os.path.abspath(os.fspath(profile)))  # a path may begin with '-', and '-' is a file here
                continue
            files.append(os.path.join(folder, f"snapshot-{number + 1}.pb"))
            with open(files[-1], "wb") as file:
                profile._native.write(file.fileno())
        given = [f"--{name}={value}" for name, value in options.items() if value is not None]
        done = subprocess.run([command_path(), command, *files, "--json", *given], env=command_environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if not done.stdout:  # a suspect is a status other than 0, too
            reason = done.stderr.decode("utf-8", "replace").strip().replace("memprof: ", "", 1).replace(folder + "/", "")
            raise ValueError(f"{command}: {reason or f'ended with status {done.returncode}'}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer
