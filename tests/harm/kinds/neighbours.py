# SPDX-License-Identifier: Apache-2.0
"""Other agents in the same process, or around it: allocators, interposers, tracers, profilers, sanitizers; alone and in
pairs, before and behind memprof, inside and outside of `memprof run`.

The oracle is the same program with the same agents and without memprof. Where the program does not end as it does alone
even without memprof, the agents harm each other, and the situation is skipped.
"""
import itertools
import os
import shutil

import harm as driver
from harm import Situation, Skip

SAMPLE = 24
LIBRARIES = "/usr/lib/x86_64-linux-gnu"

# Preloaded libraries: name -> (file, environment). The first one that exists is taken.
PRELOADS = {
    "jemalloc": (("libjemalloc.so.2",), {}),
    "mimalloc": (("libmimalloc.so.2", "libmimalloc.so.2.0", "libmimalloc.so.3"), {"NEIGHBOUR_NO_HUGE": "1"}),
    "tcmalloc": (("libtcmalloc.so.4",), {}),
    "tcmalloc_minimal": (("libtcmalloc_minimal.so.4",), {}),
    "tcmalloc_debug": (("libtcmalloc_debug.so.4",), {}),
    "glibc's malloc_debug": (("libc_malloc_debug.so.0",), {"MALLOC_CHECK_": "3"}),
    "gperftools' CPU profiler": (("libprofiler.so.0",), {"CPUPROFILE": "/dev/null", "CPUPROFILE_FREQUENCY": "1000"}),
    "libfaketime": (("faketime/libfaketimeMT.so.1",), {"FAKETIME": "-1d"}),
    "libeatmydata": (("libeatmydata.so",), {}),
}
# Commands in front of the program: name -> (program to look for, arguments).
WRAPPERS = {
    "fakeroot": ("fakeroot", ["fakeroot", "--"]),
    "strace": ("strace", ["strace", "-f", "-o", "/dev/null"]),
    "gdb": ("gdb", ["gdb", "-q", "-batch", "-return-child-result", "-ex", "run", "--args"]),
    "valgrind": ("valgrind", ["valgrind", "-q", "--tool=none"]),
    "valgrind's memcheck": ("valgrind", ["valgrind", "-q", "--log-file=/dev/null"]),
    "perf": ("perf", ["perf", "record", "-q", "-o", "/dev/null", "--"]),
    "heaptrack": ("heaptrack", ["heaptrack", "-o", "FOLDER/heaptrack"]),
    "rr": ("rr", ["rr", "record", "-n", "-o", "FOLDER/rr"]),
}
# What ./dev test installs: its sample has these only, so that it is the same everywhere.
OF_TESTS = ("jemalloc", "mimalloc", "tcmalloc", "tcmalloc_minimal", "glibc's malloc_debug", "valgrind")
SANITIZERS = ("address", "thread", "undefined", "leak")
RATES = ("0", "512", "64k", "512k")


def preload(name):
    files, extra = PRELOADS[name]
    for file in files:
        for folder in (LIBRARIES, "/lib/x86_64-linux-gnu"):
            if os.path.exists(f"{folder}/{file}"):
                return f"{folder}/{file}", extra
    raise Skip(f"{name} is not installed")


class Setting:
    """Agents around one program, with memprof or without."""

    def __init__(self, harm, program, agents, memprof_first, wrapper_outside):
        self.harm, self.program, self.agents = harm, program, agents
        self.memprof_first, self.wrapper_outside = memprof_first, wrapper_outside
        self.preloads, self.extra, self.wrapper = [], {}, []
        for agent in agents:
            if agent in PRELOADS:
                file, extra = preload(agent)
                self.preloads.append(file)
                self.extra |= extra
            else:
                found, arguments = WRAPPERS[agent]
                if shutil.which(found) is None:
                    raise Skip(f"{agent} is not installed")
                self.wrapper += [part.replace("FOLDER", str(harm.folder)) for part in arguments]

    def end(self, way, rate):
        """How it ends; way: None (without memprof), preloaded, run."""
        harm, out = self.harm, self.harm.folder / "out"
        # What the program itself prints, and how it ends; wrappers print, too.
        script = f'"$@" >"{out}"; echo "status $?" >>"{out}"'
        libraries = list(self.preloads)
        extra = dict(self.extra)
        run = []
        if way == "preloaded":
            libraries.insert(0 if self.memprof_first else len(libraries), str(harm.library))
            extra["MEMPROF_RATE"] = rate
        elif way == "run":
            run = [harm.command, "run", "-r", rate, "--force", "-o", harm.folder / "out.pb.gz", "--"]
        program = ["sh", "-c", script, "sh", *self.program]
        # The same programs have the agents with memprof and without it: a wrapper outside has none.
        front = [*(["env", "LD_PRELOAD=" + ":".join(libraries)] if libraries else []), *run]
        command = [*self.wrapper, *front, *program] if self.wrapper_outside else [*front, *self.wrapper, *program]
        out.unlink(missing_ok=True)
        done = harm.run(command, harm.environment(**extra), timeout=120)
        said = out.read_text(errors="replace") if out.exists() else f"nothing; status {done.returncode}"
        return said, done.stderr.decode(errors="replace").strip()[-300:]


class Oracle:
    """How the program ends without memprof: run once for each setting of agents, and again where it is in doubt."""

    def __init__(self, harm, program):
        self.alone = Setting(harm, program, (), True, True).end(None, "0")[0]
        self.ends = {}

    def of(self, setting):
        key = (setting.agents, setting.wrapper_outside)
        if key not in self.ends:
            self.ends[key] = self.again(setting)
        return self.ends[key]

    @staticmethod
    def again(setting):
        return setting.end(None, "0")[0]


def attempt(harm, oracle, program, agents, memprof_first, wrapper_outside, way, rate):
    setting = Setting(harm, program, agents, memprof_first, wrapper_outside)
    # Status 3 is how the program ends; agents that change its sums consistently (a clock) are as they are.
    without = oracle.of(setting)
    if "status 3" not in without:
        raise Skip(f"{' and '.join(agents)}: the program does not end as it does alone, without memprof, too")
    with_it, error = setting.end(way, rate)
    # Some agents harm each other now and then (a timer's signal in a program that another one has just executed).
    if with_it == without or any(with_it == oracle.again(setting) for _ in range(20)):
        return None
    return f"{with_it!r}, without memprof {without!r} (alone {oracle.alone!r}); {error}"


def sanitized(harm, sanitizer, compiler, way, rate):
    program = harm.folder / f"sanitized {sanitizer} {compiler.rsplit('/', 1)[-1]}"
    if not program.exists():
        if shutil.which(compiler) is None:
            raise Skip(f"{compiler} is not installed")
        harm.build([compiler, "-std=c++17", "-O1", "-g", f"-fsanitize={sanitizer}", "-pthread", "-o", program,
                    harm.source / "tests/harm/programs/neighbour.cc"])
    options = {"NEIGHBOUR_NO_HUGE": "1", "ASAN_OPTIONS": "detect_leaks=0", "LSAN_OPTIONS": "detect_leaks=0"}
    command = ["setarch", "-R", program, "1"]
    without = harm.run(command, harm.environment(**options), timeout=120)
    if without.returncode != 3:
        raise Skip(f"-fsanitize={sanitizer} of {compiler}: the program does not run here alone")
    with_it = harm.run([harm.command, "run", "-r", rate, "--force", "-o", harm.folder / "out.pb.gz", "--", *command],
                       harm.environment(**options), timeout=120)
    del way
    return driver.differs(without, with_it)


def situations(harm, chance):
    program = harm.folder / "neighbour"
    harm.build([harm.cxx, "-std=c++17", "-O1", "-g", "-pthread", "-o", program, harm.source / "tests/harm/programs/neighbour.cc"])
    oracle = Oracle(harm, [program, "2"])
    names = OF_TESTS if harm.is_sample else (*PRELOADS, *WRAPPERS)
    agents = [(name,) for name in names] + list(itertools.permutations(names, 2))
    settings = [(a, first, outside, way) for a in agents for way in ("preloaded", "run") for first in (True, False)
                for outside in (True, False)
                if (way == "preloaded" or first) and (outside or any(name in WRAPPERS for name in a))]
    chance.shuffle(settings)
    if not harm.is_sample:
        for sanitizer in SANITIZERS:
            for compiler in (harm.cxx, "clang++-19"):
                for rate in RATES:
                    yield Situation(f"sanitizer {sanitizer} of {compiler.rsplit('/', 1)[-1]}, rate {rate}",
                                    lambda s=sanitizer, c=compiler, r=rate: sanitized(harm, s, c, "run", r))
    for names_of, first, outside, way in settings:
        rate = chance.choice(RATES)
        yield Situation(f"{' + '.join(names_of)}, {way}, memprof {'first' if first else 'last'}, "
                        f"wrapper {'outside' if outside else 'inside'}, rate {rate}",
                        lambda a=names_of, f=first, o=outside, w=way, r=rate: attempt(harm, oracle, [program, "2"], a, f, o, w, r))
