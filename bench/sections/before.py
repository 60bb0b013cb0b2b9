# SPDX-License-Identifier: Apache-2.0
"""This build of the library over another one, both profiling: what a change costs."""
import dataclasses
import os
import pathlib
import statistics

import python_programs
from sections import measure
from sections.cost import calibrated_rate, callgrind
from sections.measure import ONE_CPU, RATE, Pair, interleave, preload, profiled, rounds, row
from sections.programs import python_setups


def section_before():
    """this library over another build of it: BENCH_BEFORE, the path of its libmemprof.so (without it: left out)"""
    if not os.environ.get("BENCH_BEFORE"):
        measure.say("  BENCH_BEFORE names no libmemprof.so to compare with: left out")
        return
    before = pathlib.Path(os.environ["BENCH_BEFORE"]).resolve(strict=True)
    count = rounds(21)

    def over(name, program, arguments, rate):
        base = preload(before, BENCH_PROFILER="on", BENCH_RATE=str(int(rate)))
        return Pair(name, program, arguments, base, profiled(rate), ONE_CPU)

    often = calibrated_rate("mixed")
    pairs = [over("tight, 512k", "tight", [60, 200000], RATE), over("mixed, 512k", "mixed", [60, 50000, 1], RATE),
             over(f"mixed, {often / 1024:.0f}k", "mixed", [60, 50000, 1], often)]
    pairs.append(Pair("control, mixed, this build over itself", "mixed", [60, 50000, 1], profiled(often), profiled(often), ONE_CPU))
    interleave(pairs, count)
    for pair in pairs:
        row(f"this build over the one before: {pair.name}", pair.figure(), "" if pair.name.startswith("control") else "≤ 1.01",
            f"{pair.command()}, {count} pairs; before {statistics.median(pair.base_ns):.1f} ns")
    for name, program, loop in (("tight", ["tight", 1, 1000000, 64], "tight_loop"), ("mixed", ["mixed", 20, 50000, 1], "main")):
        arguments = [measure.programs / program[0], *map(str, program[1:])]
        old, new = (callgrind({"LD_PRELOAD": str(library), "BENCH_PROFILER": "on", "BENCH_RATE": str(int(RATE))}, 1, loop, arguments)
                    for library in (before, measure.memprof))
        row(f"the same, {name}, 512k, instructions", f"{new / old:.4f}", "≤ 1.01",
            f"`valgrind --tool=callgrind --toggle-collect={loop} {' '.join(map(str, program))}`; before {old:,.0f}")
    for setup in python_setups(9):
        old = dataclasses.replace(setup, library=before)
        medians = []
        for name, loops, wholes, _ in python_programs.compare(setup, python_programs.FLOOR_PROGRAMS,
                                                              setup.profiled("programs.%p.pb"), old.profiled("programs.%p.pb")):
            medians.append(statistics.median(loops))
            row(f"the same, Python {setup.version}, {name}", python_programs.quartiles(loops), "",
                f"{setup.count} pairs; the whole process {python_programs.quartiles(wholes)}")
        row(f"the same, Python {setup.version}, geometric mean", python_programs.geometric_mean(medians), "≤ 1.01", "of these programs' loops")
