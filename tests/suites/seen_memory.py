# SPDX-License-Identifier: Apache-2.0
"""Programs of every kind (seen/programs.py) under `memprof run` as it is: do they say and end the same, is what memprof saw and
what it says that it did not see all of their anonymous memory, and is the first row their own code?

Of each program the largest profile is judged, that of the process that had the most anonymous memory:

same     output and status are those without memprof
sum      what the report explains of the anonymous memory, by blocks, by what allocators keep, by kinds of mappings and by runtimes
         whose heap it names, differs from it by at most 5 %, 2 MiB or the error of the blocks' estimate. Where it says that lists of free blocks were read in part,
         the rest of the allocator's memory is explained
owner    where malloc holds less than half of it, the report names the runtime or allocator
seen     the blocks are at least what LEAST_MIB has of the program
row      the first row with a name is a function of the program or of its libraries, not a wrapper of malloc, where there are
         samples and the file has symbols; printed, for people judge it better

MEMPROF_SUITES_PROGRAMS, like "ruby, vim", chooses some. What is not installed is skipped and said.
"""
import json
import os
import re
import shutil
import subprocess

import modes
from seen.programs import FILES, LEAST_MIB, PROGRAMS

NAME = "seen_memory"
LIMIT_S = 300
LARGEST_SHARE, LARGEST_BYTES = 0.05, 2 << 20
LEAST_SAMPLES = 20  # fewer tell nothing of rows
WRAPPER = re.compile(r"^(?!.*\bmake).*(\b|_)(x?malloc|x?calloc|x?realloc)\d*$|operator new", re.I)


class Judged:
    def __init__(self, name, folder):
        package, self.command, self.input, self.owner = PROGRAMS[name]
        self.name, self.folder, self.package = name, folder, package
        self.wrong, self.cells = [], {}

    def why_not(self):
        words = [self.command[0]] if self.command[0] != "sh" else []
        missing = [w for w in words if shutil.which(w) is None]
        for package in self.package.split():
            status = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package], capture_output=True, text=True, check=False)
            if status.stdout != "installed" and shutil.which(package) is None:
                missing.append(package)
        return f"not installed: {', '.join(missing)}" if missing else ""

    def run(self, command):
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
        try:
            done = subprocess.run(command, cwd=self.folder, input=self.input.encode(), env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            return "did not end", b"", b""
        return done.returncode, done.stdout, done.stderr

    def judge(self):
        self.run(self.command)  # what it builds once, and fills caches with
        plain = self.run(self.command)
        profiles = self.folder / "profiles"
        shutil.rmtree(profiles, ignore_errors=True)
        profiles.mkdir()
        profiled = self.run([modes.COMMAND, "run", "-o", profiles / "%n.%p.pb.gz", "--", *self.command])
        if profiled[:2] != plain[:2]:
            self.wrong.append(f"same: status {plain[0]} and {len(plain[1])} B of output without, {profiled[0]} and {len(profiled[1])} B with")
        self.said = profiled[2].decode(errors="replace")
        reports = [r for r in map(self.report_of, profiles.glob("*.pb.gz")) if r is not None]
        if not reports:
            if "not malloc's" not in self.said and "in memory" not in self.said:
                self.wrong.append(f"no profile with its memory; run said: {self.said.strip()[-300:]}")
            self.cells["owner"] = "run: " + self.said.strip().rpartition("\n")[2][:100]
            return
        report = max(reports, key=lambda r: r["max_resident_bytes"] or 0)
        peak = (report["peak_resident_bytes"] or 0) - (report["peak_files_bytes"] or 0)
        at_end = report.get("resident")
        if at_end and at_end["rss_bytes"] - at_end["files_bytes"] >= peak / 2:
            self.judge_memory(report)
        else:
            self.judge_peak(report)
        self.judge_row(report)
        least, seen = LEAST_MIB.get(self.name, 0), report["totals"]["peak_space"]["high"] / 2**20
        if seen < least:
            self.wrong.append(f"seen: {seen:.1f} MiB at the peak of at least {least}")

    @staticmethod
    def report_of(path):
        done = subprocess.run([modes.COMMAND, "report", "--json", "--no-debuginfod", path], capture_output=True, timeout=LIMIT_S, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def judge_peak(self, report):
        """Of a process that ended by _exit or a signal, or had little at its end: what it had at the peak, which is not split."""
        anonymous = (report["peak_resident_bytes"] or 0) - (report["peak_files_bytes"] or 0)
        seen = report["totals"]["peak_space"]["high"] + (report["peak_free_bytes"] or 0)
        unseen = report.get("unseen_heap") or {}
        self.cells.update(rss=(report["peak_resident_bytes"] or 0) / 2**20, anonymous=anonymous / 2**20,
                          live=report["totals"]["peak_space"]["value"] / 2**20, owner=unseen.get("owner", ""))
        if anonymous - seen > max(anonymous / 2, 8 << 20) and not unseen:
            self.wrong.append(f"sum: at the peak {(anonymous - seen) / 2**20:.1f} of {anonymous / 2**20:.1f} MiB are not said to be unseen")

    def judge_memory(self, report):
        resident = report["resident"]
        unseen = report.get("unseen_heap") or {}
        if resident["heap_bytes"] is None:
            self.wrong.append("sum: not known: the time for it ran out")
            return
        anonymous = sum(resident[f"{kind}_bytes"] for kind in ("heap", "runtime", "anonymous"))
        # Who keeps it is said, though not by a sum of its own.
        in_heap = resident["unexplained_heap_bytes"]
        in_mappings = resident["unexplained_bytes"] - in_heap
        unexplained = (0 if not resident["complete"] and in_heap > 0 else in_heap) + (
            0 if in_mappings > 0 and (unseen.get("owner") or resident["likely_runtime"] or not resident["free_known"]) else in_mappings)
        self.cells.update(rss=resident["rss_bytes"] / 2**20, anonymous=anonymous / 2**20, live=resident["live_bytes"] / 2**20,
                          runtime=resident["runtime_bytes"] / 2**20, other=resident["anonymous_bytes"] / 2**20, unexplained=unexplained / 2**20,
                          owner=unseen.get("owner") or resident["runtime"] or resident["likely_runtime"])
        live = report["totals"]["inuse_space"]
        error = max(live["high"] - live["value"], live["value"] - live["low"])  # of the blocks' estimate
        if abs(unexplained) > max(LARGEST_SHARE * anonymous, LARGEST_BYTES, error):
            self.wrong.append(f"sum: {unexplained / 2**20:.1f} of {anonymous / 2**20:.1f} MiB of anonymous memory are not explained")
        if unseen and not (unseen.get("owner") or resident["runtime"]):
            self.wrong.append(f"owner: {unseen['bytes'] / 2**20:.1f} of {unseen['anonymous_bytes'] / 2**20:.1f} MiB are nobody's")
        if self.owner and unseen and self.owner.lower() not in (unseen.get("owner", "") + resident["runtime"] + resident["likely_runtime"]).lower():
            self.wrong.append(f"owner: {self.cells['owner']!r} for {self.owner}")

    def judge_row(self, report):
        row = next(iter(report["rows"]), None)
        self.cells["row"] = f"{row['name']} {os.path.basename(row['module'] or row['file'])}" if row else ""
        if row and report["samples"] >= LEAST_SAMPLES and WRAPPER.search(row["name"].partition("(")[0]):
            self.wrong.append(f"row: {self.cells['row']}")


def check(folder):
    """The number of failures."""
    chosen = [n.strip() for n in os.environ.get("MEMPROF_SUITES_PROGRAMS", "").split(",") if n.strip()]
    if unknown := [n for n in chosen if n not in PROGRAMS]:
        raise SystemExit(f"suites: MEMPROF_SUITES_PROGRAMS: {unknown[0]}: not one of {', '.join(PROGRAMS)}")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    failures, judged = 0, []
    for name in chosen or PROGRAMS:
        one = Judged(name, folder)
        if reason := one.why_not():
            print(f"  skipped: {name}: {reason}", flush=True)
            continue
        one.judge()
        judged.append(one)
        failures += bool(one.wrong)
        print(f"  {'FAILED' if one.wrong else 'ok'}: {name}: {one.cells.get('row', '')} {one.cells.get('owner', '')}", flush=True)
        for text in one.wrong:
            print(f"    {text}", flush=True)
    print(f"{NAME}: {len(judged)} programs, {len(judged) - failures} as they should be")
    print(table(judged))
    return failures


def table(judged):
    """A row for each program (Markdown), in MiB."""
    kinds = ("rss", "anonymous", "live", "runtime", "other", "unexplained")
    lines = ["| program | RSS | anonymous | live blocks | runtime's heap | other mappings | not explained | owner of the unseen | first row |", "|---" * 9 + "|"]
    for one in judged:
        numbers = " | ".join(f"{one.cells[kind]:.1f}" if kind in one.cells else "" for kind in kinds)
        lines.append(f"| {one.name} | {numbers} | {one.cells.get('owner', '')} | {one.cells.get('row', '')} |")
    return "\n".join(lines)
