# SPDX-License-Identifier: Apache-2.0
"""What all sections of bench/run share: where things are, what was measured, and pairs of processes that take turns."""
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
HEAPTRACK = pathlib.Path("/usr/lib/heaptrack/libheaptrack_preload.so")
RATE = 512 * 1024
SAMPLES_PER_SECOND = 45000
ONE_CPU = {max(os.sched_getaffinity(0))}

rows = []    # (what, figure, target, how)
raw = []     # everything that was measured, for --json
scratch = pathlib.Path()
programs = pathlib.Path()
memprof = pathlib.Path()
quick = False


def say(text):
    print(text, file=sys.stderr, flush=True)


def row(what, figure, target, how):
    rows.append((what, figure, target, how))
    say(f"  {what}: {figure}" + (f"   (target: {target})" if target else ""))


def rounds(full):
    return max(3, full // 5) if quick else full


def start(name, arguments=(), env=None, cpus=None, descriptors=()):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MEMPROF_", "BENCH_", "MALLOC_", "LD_"))}
    process = subprocess.Popen([programs / name, *map(str, arguments)], env={**clean, **(env or {})}, cwd=scratch,
                               stdout=subprocess.PIPE, text=True, pass_fds=descriptors,
                               preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None)
    return process, {"program": name, "arguments": list(map(str, arguments)), "env": env or {}}


def finish(started):
    """The JSON lines that a program of bench/ printed."""
    process, what = started
    output = process.communicate()[0]  # short: it fits the pipe while the other process is waited for
    if process.returncode != 0:
        raise RuntimeError(f"{what['program']} failed ({process.returncode}): {what}")
    # A peer may write between the lines.
    what["lines"] = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    raw.append(what)
    return what["lines"]


def run(*arguments, **named):
    return finish(start(*arguments, **named))


def preload(library, **variables):
    return {"LD_PRELOAD": str(library), **variables}


def noop():
    return preload(programs / "libnoop.so")


def profiled(rate=RATE, mode="on"):
    return preload(memprof, BENCH_PROFILER=mode, BENCH_RATE=str(int(rate)))


def spread(values, form="{:.3f}"):
    """Median [quartiles]."""
    ordered = sorted(values)
    n = len(ordered)
    return (form + " [" + form + "–" + form + "]").format(statistics.median(ordered), ordered[n // 4],
                                                          ordered[(3 * n) // 4])


class Pair:
    """Two settings of one program, which run slice by slice in turn: CPU time per operation of each."""

    def __init__(self, name, program, arguments, base, subject, cpus=None, slower=1):
        """arguments: SLICES, OPERATIONS_A_SLICE, ...; the subject does 1/slower of the operations."""
        self.name, self.program, self.cpus, self.base, self.subject = name, program, cpus, base, subject
        self.base_arguments = arguments
        self.subject_arguments = [arguments[0], arguments[1] // slower, *arguments[2:]]
        self.ratios, self.added_ns, self.base_ns, self.samples_per_second, self.added_rss = [], [], [], [], []

    def step(self, turn):
        """One pair of processes; who begins changes with the turn."""
        a_in, a_out = os.pipe()  # what is written to a_out comes from B to A
        b_in, b_out = os.pipe()
        first = a_out if turn % 2 == 0 else b_out
        a = start(self.program, self.base_arguments, {**self.base, "BENCH_TURNS": f"{a_in},{b_out}"}, self.cpus,
                  (a_in, b_out))
        b = start(self.program, self.subject_arguments, {**self.subject, "BENCH_TURNS": f"{b_in},{a_out}"}, self.cpus,
                  (b_in, a_out))
        os.write(first, b"x")
        for fd in (a_in, a_out, b_in, b_out):
            os.close(fd)  # only the two hold them now: if one fails, the other reads the end of its pipe
        base, subject = finish(a)[0], finish(b)[0]
        per_base = base["operations"] / len(base["slices_ns"])
        per_subject = subject["operations"] / len(subject["slices_ns"])
        # The first slices bind symbols and fill tables and caches.
        times = [(x / per_base, y / per_subject) for x, y in zip(base["slices_ns"], subject["slices_ns"])][3:]
        self.ratios.append(statistics.median(y / x for x, y in times))
        self.added_ns.append(statistics.median(y - x for x, y in times))
        self.base_ns.append(statistics.median(x for x, _ in times))
        self.samples_per_second.append(subject["samples"] / (sum(subject["slices_ns"]) / 1e9))
        self.added_rss.append((subject["rss_kib"] - base["rss_kib"]) / 1024)

    def figure(self):
        return spread(self.ratios)

    def command(self):
        return f"`{self.program} {' '.join(map(str, self.base_arguments))}`"


def interleave(pairs, count):
    for turn in range(count):
        for pair in pairs:
            pair.step(turn)
