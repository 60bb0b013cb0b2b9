# SPDX-License-Identifier: Apache-2.0
"""What memprof costs: instructions, CPU, memory, time to start."""
import os
import shutil
import statistics
import subprocess

from sections import measure
from sections.measure import (LIBRARIES, ONE_CPU, RATE, ROOT, SAMPLES_PER_SECOND, Pair, interleave, noop, profiled, rounds,
                              row, run, spread)


def callgrind(env, pairs, loop="tight_loop", program=None):
    """Instructions inside `loop` for a pair, which for tight_loop is a malloc and a free of 64 bytes."""
    out = measure.scratch / "callgrind.out"
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", f"--toggle-collect={loop}",
                    *(program or [measure.programs / "tight", "1", str(pairs), "64"])], env={**os.environ, **env}, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    total = next(line for line in out.read_text().splitlines() if line.startswith(("totals:", "summary:")))
    measure.raw.append({"program": "callgrind", "loop": loop, "env": env, "pairs": pairs, "instructions": int(total.split()[1])})
    return int(total.split()[1]) / pairs


def section_instructions():
    """instructions of a malloc/free pair"""
    pairs = 100000 if measure.quick else 1000000
    alone = callgrind({}, pairs)
    how = f"`valgrind --tool=callgrind --toggle-collect=tight_loop tight 1 {pairs} 64`, minus the same alone"
    row("instructions added to a 64-byte malloc/free pair, on at 512k", f"{callgrind(profiled(), pairs) - alone:.1f}",
        "≤ 14", how + f" ({alone:.0f}); its samples are in it")
    row("same, loaded but stopped", f"{callgrind(profiled(mode='stopped'), pairs) - alone:.1f}", "≤ 14", how)
    row("same, no-op interposer", f"{callgrind(noop(), pairs) - alone:.1f}", "", how)


def section_reports():
    """instructions of a report by an allocator of the program's own"""
    pairs = 100000 if measure.quick else 1000000
    def loop(way):
        return callgrind({}, pairs, f"report_loop_{way}", [measure.programs / "report", way, str(pairs)])
    empty = loop("none")
    for way, what in (("inline", "inline forms"), ("call", "functions")):
        row(f"instructions of a report of a block and of its end, without a sample: {what}", f"{loop(way) - empty:.1f}", "",
            f"`valgrind --tool=callgrind --toggle-collect=report_loop_{way} report {way} {pairs}`, minus the empty loop")


def section_tight():
    """CPU of the tight loop over the no-op interposer"""
    arguments = [100, 200000]
    pairs = [Pair("memprof on at 512k", "tight", arguments, noop(), profiled(), ONE_CPU),
             Pair("memprof loaded, stopped", "tight", arguments, noop(), profiled(mode="stopped"), ONE_CPU),
             Pair("program alone", "tight", arguments, noop(), {}, ONE_CPU),
             # The same setting on both sides: what the machine alone makes of 1.
             Pair("control, the no-op over itself", "tight", arguments, noop(), noop(), ONE_CPU)]
    count = rounds(25)
    interleave(pairs, count)
    for pair, target in zip(pairs, ["≤ 1.03", "≤ 1.03", "", ""]):
        row(f"tight malloc/free loop, CPU over the no-op: {pair.name}", pair.figure(), target,
            f"{pair.command()}, {count} pairs; no-op {statistics.median(pair.base_ns):.1f} ns")


def section_objects():
    """CPU of making and dropping Python objects over hooks that do nothing"""
    libraries = {"BENCH_NOOP": str(measure.programs / "libobject_noop.so"), "BENCH_LIBRARY": str(measure.memprof), "MEMPROF_ARENA_DIR": ""}
    script = ROOT / "bench/objects.py"
    count = rounds(9)
    for python in os.environ.get("BENCH_PYTHONS", "/usr/bin/python3").split(":"):
        version = subprocess.run([python, "-VV"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[1]
        pairs = []
        for kind, operations in (("ints", 100000), ("tuples", 100000), ("slots", 60000), ("dicts", 50000), ("loop", 300000)):
            arguments = [script, operations, 40, kind]
            for subject, base in (("memprof", "noop"), ("memprof", "none")):
                pairs.append(Pair(f"{kind}: {subject} over {base}", python, arguments, {**libraries, "BENCH_OBJECTS": base},
                                  {**libraries, "BENCH_OBJECTS": subject}, ONE_CPU))
        interleave(pairs, count)
        for pair in pairs:
            row(f"Python {version}, {pair.name}", pair.figure(), "≤ 1.04" if "noop" in pair.name and "loop" not in pair.name else "",
                f"`objects.py`, {count} pairs; base {statistics.median(pair.base_ns):.1f} ns")


def calibrated_rate(program):
    """The rate at which the program is sampled SAMPLES_PER_SECOND times in a second of CPU."""
    trial = Pair("trial", program, [30, 50000, 1], noop(), profiled(65536), ONE_CPU)
    interleave([trial], 3)
    return 65536 * statistics.median(trial.samples_per_second) / SAMPLES_PER_SECOND


def section_mixed():
    """CPU of the mixed program over the no-op interposer"""
    pairs = []
    for program, title in (("mixed", "with frame pointers"), ("mixed_without_fp", "without frame pointers")):
        rate = calibrated_rate(program)
        for threads in (1, 4):
            pairs.append(Pair(f"{threads} thread{'s' * (threads > 1)}, {title}", program, [60, 50000, threads], noop(),
                              profiled(rate), ONE_CPU if threads == 1 else None))
    pairs.append(Pair("control, the no-op over itself", "mixed", [60, 50000, 1], noop(), noop(), ONE_CPU))
    count = rounds(21)
    interleave(pairs, count)
    for pair in pairs:
        is_control = pair.name.startswith("control")
        row(f"mixed sizes, 100,000 live blocks, CPU over the no-op: {pair.name}", pair.figure(),
            "" if is_control else "≤ 1.04",
            f"{pair.command()}, {count} pairs; no-op {statistics.median(pair.base_ns):.0f} ns" +
            ("" if is_control else f", {statistics.median(pair.samples_per_second):,.0f} samples a CPU second"))


def section_memory():
    """resident memory"""
    def added(arguments, env, key="rss_kib"):
        base, subject = [], []
        for _ in range(rounds(9)):
            base.append(run("rss", arguments, {})[0])
            subject.append(run("rss", arguments, env)[0])
        if arguments and any(s["live_samples"] < arguments[0] or s["dropped_samples"] for s in subject):
            raise RuntimeError("the profiler has not all the samples that are measured")
        return (statistics.median(s["rss_kib"] for s in subject) - statistics.median(b["rss_kib"] for b in base)) / 1024

    how = "Rss of smaps_rollup, minus the same program alone"
    row("resident memory added after start", f"{added([], profiled()):.2f} MB", "≤ 2 MB", f"`rss`, {how}")
    row("resident memory added by 10,000 live samples of 1,000 stacks, side by side",
        f"{added([10000, 64], profiled(1)):.2f} MB", "≤ 8 MB", f"`rss 10000 64` at rate 1, {how}")
    row("same, spread over 5 GB", f"{added([10000, RATE], profiled(1)):.2f} MB", "≤ 8 MB",
        f"`rss 10000 {RATE}` at rate 1, {how}")


def section_start():
    """time added to `true`"""
    count = rounds(1000)
    names = ["no-op", "memprof, no output", "memprof, profile written at exit"]
    settings = ["-", f"LD_PRELOAD={measure.programs / 'libnoop.so'}", f"LD_PRELOAD={measure.memprof}",
                f"LD_PRELOAD={measure.memprof},MEMPROF_PROFILE={measure.scratch}/true.%p.pb"]
    times = {}
    for line in run("spawn", [count, "/bin/true", *settings], cpus=ONE_CPU):
        times.setdefault(line["setting"], []).append(line)
    for setting, (name, target) in enumerate(zip(names, ["", "≤ 1 ms", ""]), start=1):
        wall = [(s["wall_ns"] - b["wall_ns"]) / 1e6 for b, s in zip(times[0], times[setting])]
        cpu = [(s["cpu_ns"] - b["cpu_ns"]) / 1e6 for b, s in zip(times[0], times[setting])]
        row(f"time added to `true`: {name}", f"{spread(wall, '{:.2f}')} ms wall, {statistics.median(cpu):.2f} ms CPU",
            target, f"`spawn {count} /bin/true`: posix_spawn to wait, in turn with the bare program")


def section_patch():
    """memprof_start() at run time, in a process of 200 modules with 1 GB live"""
    names = ["libsqlite3.so.0", "libcrypto.so.3", "libperl.so.5.36", "libstdc++.so.6", "libssl.so.3", "libz.so.1",
             "liblzma.so.5", "libelf.so.1"]
    found = [LIBRARIES / name for name in names if (LIBRARIES / name).exists()]
    copies = []
    for i in range(200):
        copy = measure.scratch / f"{i}-{found[i % len(found)].name}"  # another file: another module
        shutil.copyfile(found[i % len(found)], copy)
        copies.append(copy)
    # Each page that is made constant again has to be told to the processors that the other threads run on.
    for threads, meanwhile in ((1, "one thread that allocates"), (2, "two threads that allocate")):
        lines = [run("patch", [measure.memprof, 1, threads, *copies])[0] for _ in range(rounds(25))]
        how = f"`patch`: {lines[0]['modules']} modules, {lines[0]['slots']} slots, beside {meanwhile}"
        row(f"first memprof_start() after dlopen, beside {meanwhile}", f"{spread([l['cpu_ms'] for l in lines], '{:.1f}')} ms CPU, "
            f"{spread([l['first_ms'] for l in lines], '{:.1f}')} ms wall", "≤ 20 ms", how)
        row("a later one", f"{spread([l['second_ms'] for l in lines], '{:.1f}')} ms wall", "", how)
        row("longest malloc and free of the other threads: during the start / in 0.3 s before",
            f"{spread([l['longest_ms'] for l in lines], '{:.1f}')} / {spread([l['longest_before_ms'] for l in lines], '{:.1f}')} ms",
            "no pause", how)
    for copy in copies:
        copy.unlink()


def section_cold():
    """the parts of a sample"""
    for line in run("cold", [rounds(41)], cpus=ONE_CPU):
        row(f"cold path: {line['part']}", f"{line['ns']:.0f} ns [{line['low']:.0f}–{line['high']:.0f}]", "", "`cold`")
