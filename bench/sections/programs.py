# SPDX-License-Identifier: Apache-2.0
"""Other profilers on the same programs, and whole programs of Python."""
import math
import os
import statistics

import python_programs
from sections import measure
from sections.cost import calibrated_rate
from sections.measure import HEAPTRACK, LIBRARIES, ONE_CPU, RATE, Pair, interleave, preload, profiled, rounds, row


def peers(rate):
    """(name, bare environment, profiled environment, how often slower at least): each against its own allocator."""
    jemalloc, tcmalloc = LIBRARIES / "libjemalloc.so.2", LIBRARIES / "libtcmalloc.so.4"
    quiet = {"HEAP_PROFILE_ALLOCATION_INTERVAL": str(1 << 60), "HEAP_PROFILE_INUSE_INTERVAL": str(1 << 60)}
    found = [("memprof over glibc", {}, profiled(rate), 1)]
    if jemalloc.exists():
        found.append((f"jemalloc, prof:true, lg_prof_sample:{round(math.log2(rate))}",
                      preload(jemalloc, MALLOC_CONF="prof:false"),
                      preload(jemalloc, MALLOC_CONF=f"prof:true,lg_prof_sample:{round(math.log2(rate))}"), 1))
    if tcmalloc.exists():
        found.append(("gperftools tcmalloc, TCMALLOC_SAMPLE_PARAMETER", preload(tcmalloc),
                      preload(tcmalloc, TCMALLOC_SAMPLE_PARAMETER=str(int(rate))), 1))
        found.append(("gperftools tcmalloc, HEAPPROFILE (every block)", preload(tcmalloc),
                      preload(tcmalloc, HEAPPROFILE=str(measure.scratch / "tcmalloc"), **quiet), 20))
    if HEAPTRACK.exists():
        found.append(("heaptrack over glibc (every block; to /dev/null, without its second process)", {},
                      preload(HEAPTRACK, DUMP_HEAPTRACK_OUTPUT="/dev/null"), 20))
    return found


def section_peers():
    """other profilers on the same programs, each over its own allocator without profiling"""
    count = rounds(15)
    rate = calibrated_rate("mixed")
    groups = []
    for program, arguments, rate_bytes, title in (
            ("tight", [40, 200000], RATE, "tight loop, 512k"),
            ("mixed", [40, 50000], rate, f"mixed, 1 thread, {rate / 1024:.0f}k")):
        for name, bare, subject, slower in peers(rate_bytes):
            groups.append((title, Pair(name, program, arguments, bare, subject, ONE_CPU, slower)))
    interleave([pair for _, pair in groups], count)
    for title, pair in groups:
        row(f"{title}: {pair.name}", f"{pair.figure()}; {statistics.median(pair.added_ns):+.1f} ns on "
            f"{statistics.median(pair.base_ns):.1f}; {statistics.median(pair.added_rss):+.1f} MB", "",
            f"{pair.command()}, {count} pairs with itself unprofiled")


def python_setups(count):
    for python in os.environ.get("BENCH_PYTHONS", "/usr/bin/python3").split(":"):
        yield python_programs.Setup(python, measure.memprof, measure.programs, measure.scratch, rounds(count), ONE_CPU)


def section_python():
    """CPU of pyperformance's programs over the same without memprof"""
    for setup in python_setups(9):
        for line in python_programs.programs(setup):
            row(*line)


def section_python_floor():
    """CPU of Python's programs with hooks that do nothing, and that only count"""
    for setup in python_setups(9):
        for line in python_programs.floor(setup):
            row(*line)


def section_python_peers():
    """memray and tracemalloc on the same Python programs as memprof"""
    for setup in python_setups(5):
        for line in python_programs.peers(setup):
            row(*line)


def section_python_estimates():
    """estimate over truth of known Python objects"""
    for setup in python_setups(40):
        for line in python_programs.estimates(setup):
            row(*line)


def section_python_start():
    """CPU added to an interpreter that does nothing"""
    for setup in python_setups(101):
        for line in python_programs.starts(setup):
            row(*line)
