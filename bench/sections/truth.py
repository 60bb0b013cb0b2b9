# SPDX-License-Identifier: Apache-2.0
"""Whether its numbers are right: estimates over the truth, intervals, tables that age, whole stacks."""
import collections
import os
import re
import statistics
import subprocess
import sys

from sections import measure
from sections.measure import ONE_CPU, ROOT, preload, profiled, rounds, row, run, spread


def pooled_ratio(lines):
    """Mean over sites, each by what it knows; and its standard error."""
    weights = [1 / max(line["standard_error"], 1e-9) ** 2 for line in lines]
    return (sum(w * line["ratio"] for w, line in zip(weights, lines)) / sum(weights), (1 / sum(weights)) ** 0.5)


def section_estimates():
    """estimate over truth; coverage of the intervals"""
    runs = 2000 if measure.quick else 20000
    lines = run("estimate", [runs], cpus=ONE_CPU)
    how = f"`estimate {runs}`: the engine's sampler, seeded, {runs:,} runs a site"
    single = [line for line in lines if " x " in line["site"] and line["site"].endswith(" B") and
              line["site"].count(" x ") == 1 and "," not in line["site"] and "+" not in line["site"]]
    mixtures = [line for line in lines if line not in single]
    sizes = {}
    for line in single:
        sizes.setdefault((line["site"].split(" x ")[1], line["what"]), []).append(line)
    for what in ("bytes", "blocks"):
        ratios = [pooled_ratio(group) for (_, w), group in sizes.items() if w == what]
        row(f"estimate over truth, {what}, {len(ratios)} sizes from 1 B to 1 GB",
            f"{min(r for r, _ in ratios):.4f} to {max(r for r, _ in ratios):.4f}", "0.995 to 1.005",
            f"{how}; standard error at most {max(e for _, e in ratios):.4f}")
        mixed = [(line["ratio"], line["standard_error"]) for line in mixtures if line["what"] == what]
        row(f"estimate over truth, {what}, mixtures", f"{min(r for r, _ in mixed):.4f} to {max(r for r, _ in mixed):.4f}",
            "0.995 to 1.005", f"{how}; standard error at most {max(e for _, e in mixed):.4f}")
    for source in ("live samples", "running totals"):
        def coverage(group):
            return [(line["coverage"], line) for line in group if line["from"] == source]
        least, at = min(coverage(single), key=lambda c: c[0])
        row(f"95 % intervals from {source}, least coverage, 12 sizes, 1 to 100 expected samples",
            f"{100 * least:.1f} % ({at['site']}, {at['what']})", "≥ 94 %", how)
        for site in dict.fromkeys(line["site"] for line in mixtures):
            found = {line["what"]: cover for cover, line in coverage(mixtures) if line["site"] == site}
            row(f"same, mixture {site}", f"bytes {100 * found['bytes']:.1f} %, blocks {100 * found['blocks']:.1f} %",
                "≥ 94 %", how)
        most, at = max(((c, line) for c, line in coverage(lines) if not line["large"] and line["expected_samples"] >= 10),
                       key=lambda c: c[0])
        row(f"95 % intervals from {source}, most coverage, blocks ≤ R, ≥ 10 expected samples",
            f"{100 * most:.1f} % ({at['site']}, {at['what']})", "≤ 98 %", how)


def section_truth():
    """estimate over truth in a real program; nothing is left when everything is freed"""
    count, operations = rounds(15), 4000000
    lines = [run("truth", [operations], profiled(16384))[0] for _ in range(count)]
    for key in ("allocated_bytes", "allocated_blocks", "live_bytes", "live_blocks"):
        values = [line[key] for line in lines]
        error = statistics.stdev(values) / len(values) ** 0.5
        row(f"preloaded program, estimate over truth, {key.replace('_', ' ')}",
            f"{statistics.mean(values):.4f} ± {error:.4f}", "",
            f"`truth {operations}` at rate 16k, 4 threads, mean of {count} runs and its standard error")
    exact = [run("truth", [operations], profiled(1))[0]]
    row("live estimate after everything is freed",
        f"{max(abs(line['live_after']) for line in lines + exact):g} bytes, "
        f"{max(line['live_samples_after'] for line in lines + exact)} samples", "exactly 0",
        f"`truth {operations}` at rate 16k ({count} runs) and at rate 1")


def section_churn():
    """a miss on free after 10 million insert/erase pairs"""
    pairs, count = (1000000 if measure.quick else 10000000), rounds(61)
    lines = run("churn", [pairs, count], cpus=ONE_CPU)
    for part, title in (("filter", "filter, every free"), ("map", "map, when the filter says maybe")):
        ratio = [line[f"{part}_old_ns"] / line[f"{part}_new_ns"] for line in lines]
        cost = statistics.median(line[f"{part}_new_ns"] / line["questions"] for line in lines)
        row(f"a miss on free after {pairs:,} insert/erase pairs, over the start: {title}", spread(ratio),
            "0.9 to 1.1", f"`churn {pairs} {count}`: two tables asked in turn, {cost:.1f} ns a question")


def walks(pattern):
    """Samples by how their walks ended, over the profiles of the processes whose names match."""
    ends = collections.Counter()
    for path in measure.scratch.glob("stacks.*.pb"):
        data = path.read_bytes()
        at = data.index(b"#memprof.profile ")
        # Before a string of 128 to 16383 bytes: two bytes of its length. What follows may be a digit, too.
        facts = data[at:at + (data[at - 2] & 127 | data[at - 1] << 7)].decode()
        if re.match(pattern, path.name[len("stacks."):]):
            ends.update({key: int(n) for key, n in re.findall(r"walk_(\w+)=(\d+)", facts)})
        path.unlink()
    return ends


def section_stacks():
    """share of samples with a whole stack, real programs at rate 512 B"""
    sys.path.insert(0, str(ROOT / "tests/unwind/oracle"))
    import real_programs
    subprocess.run(["/usr/bin/python3", "-c", "import numpy"], check=True)  # its stacks are wanted
    # The default depth limit and the largest: the difference is what the limit cuts.
    for depth in ("512", "1024"):
        for name, (command, text) in real_programs.commands(str(measure.scratch)).items():
            environment = preload(measure.memprof, MEMPROF_RATE="512", MEMPROF_MAX_DEPTH=depth, MEMPROF_MAX_STACKS="1048576",
                                  MEMPROF_PROFILE=str(measure.scratch / "stacks.%n.%p.pb"))
            subprocess.run(command, input=text, text=True, env={**os.environ, **environment}, check=True,
                           stdout=subprocess.DEVNULL)
            ends = walks(name)
            measure.raw.append({"program": name, "depth": int(depth), "walks": dict(ends)})
            if not ends.total():
                raise RuntimeError(f"{name} left no profile with samples in it")
            cut = ", ".join(f"{key.replace('_', ' ')} {n:,}" for key, n in ends.items() if n and key != "root")
            # Both have the root's frame; of a stack that is deeper than the limit, the middle is left out.
            whole = ends["root"] + ends["middle_left_out"]
            row(f"whole stacks, {name}, rate 512 B, depth limit {depth}",
                f"{100 * whole / ends.total():.3f} % of {ends.total():,} samples" + (f" ({cut})" if cut else ""),
                "≥ 99.9 %", "`bench/run stacks`; what the program does: `tests/unwind/oracle/real_programs.py`")
