# SPDX-License-Identifier: Apache-2.0
"""Servers, tools and language runtimes, each at a short job whose results are the same each time.

A program (jobs/*.py) says what it needs, which of its processes must have written a profile, and does its job: exit
statuses, hashes of what comes out, answers of a server across its reloads, workers that died, how it shuts down.
Added to them here: which of its processes have a profile, how many files of arenas are left when all have ended, and
how many of these have more memory than an arena that was given back.
MEMPROF_SUITES_PROGRAMS, like "nginx, R", chooses some.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from jobs import databases, languages, job, tools, web

NAME = "programs"
PROGRAMS = {p.NAME: p for module in (web, databases, tools, languages) for p in module.PROGRAMS}
PLACES = ("/usr/sbin", "/usr/local/sbin", "/sbin")  # where servers are, and not all users look
ENDED_LIMIT_S = 5
MUST_END = [f"{name}: job" for name in PROGRAMS]  # results that are there only where a job could not be done

# Nothing but `memprof clean` removes these files; so it is however many there are.
LEFT = "a process that has given up root may not remove its file from a folder like /dev/shm, where each removes its own only"
FILTERED = "the child before the login is in a filter of system calls: it makes none at its end, and its data stays to be read"
GO = "Go ends by the system call, without what exit() does: its profile is in its arena, for memprof run to take"
ERLANG = "inet_gethost kills its workers"
# Workers that may not remove their files give the memory back: no reason for these to have any.
EXPLAINED = {
    **{f"{name}: arenas left": LEFT for name in ("nginx", "Apache prefork", "Apache event", "php-fpm")},
    **{f"sshd: {what}": reason for what, reason in (("arenas left", LEFT), ("arenas left with memory", FILTERED))},
    **{f"{name}: {what}": reason for name, reason in (("go with cgo", GO), ("Erlang", ERLANG))
       for what in ("arenas left", "arenas left with memory")},
}
seconds = {}  # of the last run, by program

# What is left of an arena that was given back: its header (tests/e2e/process_test.py has the same bound).
MAX_EMPTY_BYTES = 128 * 1024


def chosen():
    names = [n.strip() for n in os.environ.get("MEMPROF_SUITES_PROGRAMS", "").split(",") if n.strip()]
    for name in names:
        if name not in PROGRAMS:
            raise SystemExit(f"suites: MEMPROF_SUITES_PROGRAMS: {name}: not one of {', '.join(PROGRAMS)}")
    return names or list(PROGRAMS)


def prepare(folder):
    """Says at once all that is missing, and its packages."""
    os.environ["PATH"] = os.pathsep.join([os.environ["PATH"], *PLACES])
    missing = [f"{PROGRAMS[name].PACKAGE} (for {name})" for name in chosen() if not PROGRAMS[name].is_there()]
    if missing:
        raise SystemExit(f"suites: packages are missing: {', '.join(missing)}")


def run(environment, folder, only=None):
    results = {}
    seconds.clear()
    for name in only or chosen():
        started = time.monotonic()
        found = of_program(PROGRAMS[name](), environment, folder)
        seconds[name] = time.monotonic() - started
        results.update({f"{name}: {what}": result for what, result in found.items()})
    return results


def of_program(program, environment, folder):
    """Its results. It works in a folder with a short name, which another user may enter."""
    with tempfile.TemporaryDirectory(prefix="memprof-job-", dir="/tmp") as scratch, \
            tempfile.TemporaryDirectory(prefix="memprof-arenas-", dir="/dev/shm") as arenas:
        for path in (scratch, arenas):
            os.chmod(path, 0o1777)
        before = set((folder / "profiles").glob("*.pb"))
        results = program.results
        program.begin(pathlib.Path(scratch), {**environment, "MEMPROF_ARENA_DIR": arenas, "HOME": scratch, "TMPDIR": scratch})
        try:
            program.work()
        except (job.Failed, OSError, subprocess.TimeoutExpired) as error:
            results["job"] = f"did not end: {error}"
        finally:
            program.end()
        files = left(arenas)
        results["arenas left"] = str(len(files))
        results["arenas left with memory"] = str(sum(file.stat().st_blocks * 512 > MAX_EMPTY_BYTES for file in files))
        seen = {p.name.rsplit(".", 3)[0] for p in set((folder / "profiles").glob("*.pb")) - before}
        with_memprof = "LD_PRELOAD" in environment
        results["profiles of"] = ", ".join(sorted(n for n in program.PROFILES if not with_memprof or n in seen))
        keep(pathlib.Path(scratch), folder / "last" / program.NAME)
    return results


def left(arenas):
    """The files, when processes that end have had time to."""
    deadline = time.monotonic() + ENDED_LIMIT_S
    while os.listdir(arenas) and time.monotonic() < deadline:
        time.sleep(0.1)
    return list(pathlib.Path(arenas).iterdir())


def keep(scratch, folder):
    """What the program said, for whoever looks into a difference."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in scratch.glob("*.log"):
        shutil.copyfile(path, folder / path.name)


def again(test):
    return test.split(":")[0]


def table(runs):
    """A row for each program (Markdown), of what each mode gave: {mode: (results, seconds by program)}, "without" first."""
    (_, (plain, plain_seconds)), *others = runs.items()
    lines = ["| " + " | ".join(["program", "results", *runs]) + " |", "|---" * (2 + len(runs)) + "|"]
    for name in plain_seconds:
        tests = {t for results, _ in runs.values() for t in results if again(t) == name}
        cells = [name, str(len(tests)), f"{plain_seconds[name]:.1f} s"]
        for _, (results, mode_seconds) in others:
            different = [t for t in tests if results.get(t) != plain.get(t)]
            explained = sum(t in EXPLAINED for t in different)
            said = "same" if not different else f"{explained} explained" if explained == len(different) else f"{len(different)} differ"
            cells.append(f"{said}, {mode_seconds.get(name, 0):.1f} s")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
