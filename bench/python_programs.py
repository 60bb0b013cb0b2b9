# SPDX-License-Identifier: Apache-2.0
"""Whole Python programs with and without a profiler: the sections `python*` of bench/run.

The two of a pair begin together on one CPU, so that the scheduler lets them take turns every few milliseconds of CPU:
what else the machine does meets both. Who is started first alternates; the figure is the median over the pairs of the
ratio of their CPU times, user and system, from the kernel (wait4).
"""
import dataclasses
import json
import math
import os
import pathlib
import statistics
import subprocess

WORKER = pathlib.Path(__file__).with_name("pyperformance_worker.py")
PACKAGES = ("pyperformance==1.14.0", "pyperf==2.10.0")
PEER_PACKAGES = ("memray==1.20.0", "numpy")

# Programs of pyperformance: its folder, how often it does its work (about a second of CPU in all), which part.
BENCHMARKS = {
    "async_tree_none": ("async_tree", 1, "none"),
    "chaos": ("chaos", 14),
    "comprehensions": ("comprehensions", 36000),
    "deepcopy": ("deepcopy", 1800),
    "deltablue": ("deltablue", 280),
    "float": ("float", 10),
    "generators": ("generators", 18),
    "go": ("go", 6),
    "hexiom": ("hexiom", 140),
    "json_dumps": ("json_dumps", 60),
    "json_loads": ("json_loads", 2000),
    "logging_simple": ("logging", 15000, "simple"),
    "nbody": ("nbody", 14),
    "pickle_pure_python": ("pickle", 180, "--pure-python", "pickle"),
    "pyflate": ("pyflate", 1),
    "raytrace": ("raytrace", 3),
    "regex_compile": ("regex_compile", 5),
    "richards": ("richards", 20),
    "scimark_lu": ("scimark", 6, "lu"),
    "unpack_sequence": ("unpack_sequence", 80000),
    "xml_etree_parse": ("xml_etree", 6, "parse"),
}


@dataclasses.dataclass
class Setup:
    """What is measured, and where."""
    python: str             # an interpreter
    library: pathlib.Path   # libmemprof.so
    folder: pathlib.Path    # of virtual environments, which stay
    scratch: pathlib.Path   # what the programs write
    count: int              # pairs
    cpu: set

    def __post_init__(self):
        self.version = subprocess.run([self.python, "-VV"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[1]

    def profiled(self, profile, rate=None):
        """Without a rate: the default, which starts fine."""
        env = {"LD_PRELOAD": str(self.library), "MEMPROF_PROFILE": str(self.scratch / profile)}
        return env if rate is None else {**env, "MEMPROF_RATE": rate}

    def environment(self, *packages):
        """The interpreter of a virtual environment; pip is that of the system's, this one need have none."""
        folder, tools = self.folder / f"python-{self.version}", self.folder / "python-tools"
        if not (folder / "bin/python").exists():
            subprocess.run([self.python, "-m", "venv", "--without-pip", folder], check=True)
        if not (tools / "bin/pip").exists():
            subprocess.run(["/usr/bin/python3", "-m", "venv", tools], check=True)
            # The distribution's may be too old for newer interpreters.
            subprocess.run([tools / "bin/pip", "--quiet", "install", "--upgrade", "pip"], check=True)
        subprocess.run([tools / "bin/pip", "--quiet", "--disable-pip-version-check", "--python", folder / "bin/python",
                        "install", *packages], check=True)
        return folder / "bin/python"

    def forget(self, pattern):
        for path in self.scratch.glob(pattern):
            path.unlink()


def benchmark(python, name):
    folder, loops, *arguments = BENCHMARKS[name]
    packages = next((python.parent.parent / "lib").glob("python*/site-packages"))
    script = packages / f"pyperformance/data-files/benchmarks/bm_{folder}/run_benchmark.py"
    return [WORKER, script, "--worker", "-l", str(loops), "-w", "0", "-n", "1", *arguments]


def start(command, env, cpu):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MEMPROF_", "LD_", "PYTHON"))}
    return subprocess.Popen(list(map(str, command)), env={**clean, **env}, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                            preexec_fn=lambda: os.sched_setaffinity(0, cpu))


def finish(process):
    """CPU seconds and peak resident MB."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"failed ({process.returncode}): {process.args}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def pair(turn, base, subject, cpu):
    """base, subject: (command, environment)."""
    first, second = (base, subject) if turn % 2 == 0 else (subject, base)
    processes = [start(*first, cpu), start(*second, cpu)]
    results = [finish(process) for process in processes]
    return results if turn % 2 == 0 else results[::-1]


def quartiles(values, digits=3):
    """Median [quartiles]."""
    n, ordered = len(values), sorted(values)
    return f"{statistics.median(ordered):.{digits}f} [{ordered[n // 4]:.{digits}f}–{ordered[(3 * n) // 4]:.{digits}f}]"


def loop_seconds(path):
    """What a benchmark says of its loops, of all its parts; the file goes."""
    benchmarks = json.loads(path.read_text())["benchmarks"]
    path.unlink()
    return sum(run["values"][0] for one in benchmarks for run in one["runs"])


def geometric_mean(ratios):
    return f"{math.exp(statistics.mean(map(math.log, ratios))):.3f}"


def compare(setup, names, env, base_env=None):
    """Of each program: its name, the ratios of its loops and of the whole process with `env` over `base_env` (without
    memprof, if none is given), and the seconds of that."""
    python = setup.environment(*PACKAGES)
    told = [setup.scratch / f"{who}.json" for who in ("base", "subject")]
    for name in names:
        commands = [[python, *benchmark(python, name), "-o", path] for path in told]
        loops, wholes, base_s = [], [], []
        for turn in range(-1, setup.count):  # the first compiles, and is not counted
            (base, _), (subject, _) = pair(turn, (commands[0], base_env or {}), (commands[1], env), setup.cpu)
            setup.forget("programs.*.pb")
            loop_base, loop_subject = map(loop_seconds, told)
            if turn >= 0:
                loops.append(loop_subject / loop_base)
                wholes.append(subject / base)
                base_s.append(base)
        yield name, loops, wholes, statistics.median(base_s)


def programs(setup):
    """Rows of bench/run: pyperformance with memprof over without, of the benchmark's loops and of the whole process."""
    medians = []
    for name, loops, wholes, base_s in compare(setup, BENCHMARKS, setup.profiled("programs.%p.pb")):
        medians.append((statistics.median(loops), statistics.median(wholes)))
        yield (f"Python {setup.version}, {name}, CPU over without memprof", quartiles(loops), "≤ 1.06",
               f"`-l {' '.join(map(str, BENCHMARKS[name][1:]))}`, {setup.count} pairs; the whole process {quartiles(wholes)}; "
               f"without {base_s:.2f} s")
    of_loops, of_wholes = zip(*medians)
    yield (f"Python {setup.version}, geometric mean of {len(medians)} programs", geometric_mean(of_loops), "≤ 1.02",
           f"{PACKAGES[0].replace('==', ' ')}, default rate, objects on: the benchmark's loops, as pyperf times them, in CPU")
    yield (f"Python {setup.version}, the same, whole processes", geometric_mean(of_wholes), "",
           "a worker process a run of about a second; start, imports, end and the profile are in it")


# Where hooks cost most.
FLOOR_PROGRAMS = ("comprehensions", "json_dumps", "json_loads", "pickle_pure_python", "regex_compile")


def floor(setup):
    """Rows of bench/run: what a hook costs that does nothing, and one that only counts."""
    libraries = setup.library.parent.parent / "bench"
    for what, env in (("hooks that do nothing", {"LD_PRELOAD": str(libraries / "libpython_hop.so")}),
                      ("hooks that only count", {"LD_PRELOAD": str(libraries / "libpython_count.so")}),
                      ("memprof", setup.profiled("programs.%p.pb"))):
        for name, loops, _, _ in compare(setup, FLOOR_PROGRAMS, env):
            yield f"Python {setup.version}, {name}: {what}", quartiles(loops), "", f"CPU of its loops over without, {setup.count} pairs"


# At exit, while the program's globals are alive.
DUMP = """import atexit, os
if "BENCH_DUMP" in os.environ:
    import tracemalloc
    atexit.register(lambda: tracemalloc.take_snapshot().dump(os.environ["BENCH_DUMP"]))
"""


def profilers(setup, python):
    """Name, what stands before the program, environment."""
    (setup.scratch / "site").mkdir(exist_ok=True)
    (setup.scratch / "site/sitecustomize.py").write_text(DUMP)
    out = setup.scratch / "peer.out"
    dump = {"PYTHONPATH": str(setup.scratch / "site"), "BENCH_DUMP": str(out)}
    for rate in ("512k", "64k"):
        yield f"memprof, {rate}", [python], setup.profiled("peer.%p.pb", rate)
    for frames in (1, 25):
        yield f"tracemalloc, frames: {frames}", [python, "-X", f"tracemalloc={frames}"], dump
    for options in ((), ("--native",), ("--trace-python-allocators",), ("--native", "--trace-python-allocators")):
        yield " ".join(("memray", *options)), [python, "-m", "memray", "run", "-q", "-f", *options, "-o", out], {}


def peers(setup, names=()):
    """Rows of bench/run: memprof, tracemalloc and memray on the same programs."""
    python = setup.environment(*PACKAGES, *PEER_PACKAGES)
    known = {"objects and arrays": [pathlib.Path(__file__).with_name("objects_and_arrays.py"), 10],
             **{name: benchmark(python, name) for name in ("json_loads", "raytrace")}}
    for program in names or known:
        command = known[program]
        for name, prefix, env in profilers(setup, python):
            found = []
            for turn in range(-1, setup.count):
                setup.forget("peer.*")
                found.append(pair(turn, ([python, *command], {}), ([*prefix, *command], env), setup.cpu) +
                             [max(path.stat().st_size for path in setup.scratch.glob("peer.*")) / 1e6])  # not a child's
            found = found[1:]
            base_s, base_mb = (statistics.median(base[i] for base, _, _ in found) for i in (0, 1))
            added_mb = statistics.median(subject[1] - base[1] for base, subject, _ in found)
            yield (f"Python {setup.version}, {program}: {name}",
                   f"CPU × {quartiles([subject[0] / base[0] for base, subject, _ in found])}; peak {added_mb:+.1f} MB; "
                   f"file {statistics.median(size for _, _, size in found):.3f} MB", "",
                   f"{setup.count} pairs; without {base_s:.2f} s, {base_mb:.0f} MB")


def starts(setup):
    """Rows of bench/run: interpreters that do nothing."""
    for script in ("pass", "import json, re, logging"):
        command = [setup.python, "-c", script]
        for name, env in (("profile written at exit", setup.profiled("start.%p.pb")),
                          ("loaded, not started", {"LD_PRELOAD": str(setup.library)})):
            times = [pair(turn, (command, {}), (command, env), setup.cpu) for turn in range(setup.count)]
            setup.forget("start.*.pb")
            added = [1e3 * (subject - base) for (base, _), (subject, _) in times]
            yield (f"Python {setup.version}, CPU added to `python3 -c '{script}'`: {name}", quartiles(added, 2) + " ms", "",
                   f"{setup.count} pairs; without {1e3 * statistics.median(base for (base, _), _ in times):.1f} ms")


# Rate, bytes of each kind.
ESTIMATES = (("4k", 12000000), ("64k", 96000000))


def estimates(setup):
    """Rows of bench/run: estimates of known objects, by the function that made them, over the truth."""
    python = setup.environment("numpy")
    for rate, size in ESTIMATES:
        ratios, covered = {}, {}
        for _ in range(setup.count):
            for kind, value, low, high, truth in estimates_once(setup, python, rate, size):
                ratios.setdefault(kind, []).append(value / truth)
                covered.setdefault(kind, []).append(low <= truth <= high)
        name = f"Python {setup.version}, rate {rate}"
        for kind, found in ratios.items():
            error = statistics.stdev(found) / len(found) ** 0.5
            yield (f"{name}, estimate over truth, {kind.replace('_', ' ')}", f"{statistics.mean(found):.4f} ± {error:.4f}",
                   "0.99 to 1.01", f"`python_truth.py {size}`, mean of {len(found)} processes and its standard error; "
                   f"in {100 * statistics.mean(covered[kind]):.0f} % of them the 95 % interval covers")
        everything = [one for found in covered.values() for one in found]
        yield (f"{name}, 95 % intervals that cover", f"{100 * statistics.mean(everything):.1f} %", "≥ 94 %",
               f"of {len(everything)}, all kinds")


def estimates_once(setup, python, rate, size):
    """Of one process: (kind, estimate, its interval, truth)."""
    setup.forget("truth.*.pb")
    env = {**os.environ, **setup.profiled("truth.%p.pb", rate)}
    out = subprocess.run([python, pathlib.Path(__file__).with_name("python_truth.py"), str(size), setup.folder / "libpython_blocks.so"],
                         env=env, check=True, stdout=subprocess.PIPE, text=True,
                         preexec_fn=lambda: os.sched_setaffinity(0, setup.cpu)).stdout
    profile, = setup.scratch.glob("truth.*.pb")
    report = subprocess.run([setup.library.parent.parent / "bin/memprof", "report", "--json", "--no-debuginfod", "--focus",
                             "python_truth.py", profile], check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = {row["name"]: row["cumulative"]["inuse_space"] for row in json.loads(report)["rows"]
            if row["file"].endswith("python_truth.py")}
    return [(kind, rows[kind]["value"], rows[kind]["low"], rows[kind]["high"], truth) for kind, truth in json.loads(out).items()]
