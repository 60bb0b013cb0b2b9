# SPDX-License-Identifier: Apache-2.0
"""What sections 2.1 and 11 of the specification give as expected, measured as they say it: a program that allocates a
million blocks a second, 10 MB, 100 MB or 1 GB of them, at the rates of their table; and a product of two matrices."""
import os
import resource
import statistics
import subprocess

from sections import measure
from sections.cost import callgrind
from sections.measure import ONE_CPU, Pair, interleave, noop, preload, profiled, rounds, row, spread

ALLOCATIONS_A_SECOND = 1_000_000
LOADS = {"10 MB": 10, "100 MB": 100, "1 GB": 1000}  # a second; bytes of a block
RATES_KIB = (64, 256, 512, 1024, 4096)
NO_SAMPLE = 1 << 40
FINE = 64 * 1024
MATRIX = "import numpy; a = numpy.ones((%d, %d)); print((a @ a)[0, 0])"


def section_specification():
    """sections 2.1 and 11 of the specification: a million allocations a second at its rates"""
    by_instructions()
    by_time()


def by_instructions():
    """Of one operation: without a sample, and what a sample adds, each by callgrind; the rates of the table follow."""
    count = 20000 if measure.quick else 100000
    for load, size in LOADS.items():
        def of(env):
            return callgrind(env, count, "steady_loop", [measure.programs / "steady", "1", str(count), str(size)])
        alone = of({})
        path = of(profiled(NO_SAMPLE)) - alone
        fine = max(256, size * 10)  # a sample for each ten operations, or fewer
        a_sample = (of(profiled(fine)) - alone - path) * fine / size
        shares = ", ".join(f"{rate}k {(path + a_sample * size / (rate * 1024)) / alone:.2%}" for rate in RATES_KIB)
        row(f"instructions added to a program of {load} and a million allocations a second: without a sample / by a sample",
            f"{path:.1f} / {a_sample:,.0f}; of the program's own: {shares}", "",
            f"`valgrind --tool=callgrind --toggle-collect=steady_loop steady 1 {count} {size}`; alone {alone:.0f} an operation")


def by_time():
    """Share of a core. A slice at a coarse rate has no sample, so that its median would not see what samples cost: it is
    what the path without one takes, and a fine rate's run says what a sample takes."""
    count = rounds(15)
    pairs = {}
    for load, size in LOADS.items():
        arguments = [40, 20000, size]
        for name, subject in (("noop", noop()), ("none", profiled(NO_SAMPLE)), ("fine", profiled(FINE))):
            pairs[load, name] = Pair(name, "steady", arguments, {}, subject, ONE_CPU)
    pairs["", "control"] = Pair("control", "steady", [40, 20000, 100], {}, {}, ONE_CPU)
    interleave(pairs.values(), count)
    a_second = ALLOCATIONS_A_SECOND / 1e9 * 100  # ns an operation to % of a core
    for load, size in LOADS.items():
        path, fine = (statistics.median(pairs[load, name].added_ns) for name in ("none", "fine"))
        samples = size / FINE
        a_sample = max(0, fine - path) / samples
        shares = ", ".join(f"{rate}k {(path + a_sample * size / (rate * 1024)) * a_second:.2f}" for rate in RATES_KIB)
        row(f"% of a core added to a program of {load} and a million allocations a second", shares,
            "≤ 0.1 at 512k",
            f"`steady 40 20000 {size}`, {count} pairs; alone {statistics.median(pairs[load, 'none'].base_ns) * a_second:.1f} %; "
            f"without a sample {spread([x * a_second for x in pairs[load, 'none'].added_ns], '{:.2f}')}, "
            f"a sample {a_sample:.0f} ns, the no-op {spread([x * a_second for x in pairs[load, 'noop'].added_ns], '{:.2f}')}")
    row("% of a core, control: the program over itself", spread([x * a_second for x in pairs["", "control"].added_ns], "{:.2f}"), "",
        "`steady 40 20000 100`")


def section_matrices():
    """a product of two matrices by NumPy, 10,000 by 10,000"""
    size, count = (1000, 3) if measure.quick else (10000, 9)
    settings = {"alone": {}, "512k": {"MEMPROF_RATE": "512k"}, "64k": {"MEMPROF_RATE": "64k"}}
    seconds = {name: [] for name in settings}
    for turn in range(count):
        for name in list(settings) if turn % 2 == 0 else reversed(settings):
            variables = settings[name]
            env = {k: v for k, v in os.environ.items() if not k.startswith(("MEMPROF_", "BENCH_", "LD_"))}
            if variables:
                env.update(preload(measure.memprof, MEMPROF_PROFILE=str(measure.scratch / "matrix.%p.pb"), **variables))
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([os.environ.get("BENCH_NUMPY_PYTHON", "/usr/bin/python3"), "-c", MATRIX % (size, size)], env=env,
                           check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    for name in ("512k", "64k"):
        row(f"NumPy, {size:,} x {size:,}, whole process, CPU at {name} over without",
            spread([b / a for a, b in zip(seconds["alone"], seconds[name])]), "",
            f"{count} in turn; alone {statistics.median(seconds['alone']):.1f} s; `python3 -c '{MATRIX % (size, size)}'`")
