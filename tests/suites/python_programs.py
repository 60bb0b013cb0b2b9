# SPDX-License-Identifier: Apache-2.0
"""Programs of the kinds that users of Python write (python/*/*.py), with wheels of PyPI as they are: are the first rows of
`memprof report` theirs, are the bytes right, and what does memray say of the same program?

Each program says at its end how many bytes its functions keep, by name (None: only the run at rate 0 knows it). It has
USES, the packages that it calls, and perhaps BUILD, how its extension module is made. Of each are judged:

rows       the first three rows, of those that hold 1 % or more: lines of the program's own files or of the packages that it calls,
           `importing X` or Python's own start, with the default rate and at rate 0
truth      at rate 0: what the program says of its functions is what these hold, with what they call
intervals  with the default rate: those of the first rows hold what rate 0 has there, those of functions what the program says
memray     the line of its largest row, with --native and without: ours is the same, or further in; so of the largest row of
           mappings. A row that is larger than the process was is address space that an allocator reserves, and left out

MEMPROF_SUITES_PROGRAMS, like "numpy_arrays, pandas_csv", chooses some; MEMPROF_SUITES_VENV is a virtual environment that
has the packages already. What cannot be installed is skipped, with the reason.
"""
import ast
import json
import os
import pathlib
import shutil
import subprocess
import sysconfig
import time

import modes

SOURCE = pathlib.Path(__file__).with_name("python")
PYTHON = "/usr/bin/python3"
LIMIT_S = 600
ROWS = 3
LEAST_SHARE = 0.01  # of what the program held: a smaller row is not what anybody came for
START = "starting Python"
RATES = {"default": [], "rate 0": ["-r", "0"]}
# What a report may differ from a program's sum: allocators round sizes up, lists and dicts of the sums have tables of their own.
TRUTH_LOW, TRUTH_HIGH, TRUTH_SLACK = 0.99, 1.05, 256 * 1024
LEAST_MAPPED = 0.1  # of the process: smaller mappings are not in reports without --mmap
LEAST_COVERED_ODDS = 0.001  # so many misses of 95 % intervals are no chance


class Program:
    def __init__(self, path):
        self.name = path.stem
        self.path = path
        known = {}
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("USES", "BUILD", "MERGED", "MAPPED", "RESERVED", "FROM_THREADS"):
                known[node.targets[0].id] = ast.literal_eval(node.value)
        self.uses = known["USES"]
        self.build = known.get("BUILD")
        self.is_merged = known.get("MERGED", False)  # several processes: their profiles are one
        self.mapped = known.get("MAPPED", [])  # functions that map what they keep
        self.reserved = known.get("RESERVED", [])  # functions that map much more than they use
        self.from_threads = known.get("FROM_THREADS", [])  # functions that other threads, without Python, allocate for


class Environment:
    """An interpreter with the packages, and the folders that its code lies in."""

    def __init__(self, python, folder):
        self.folder = folder
        venv = os.environ.get("MEMPROF_SUITES_VENV")
        self.venv = pathlib.Path(venv) if venv else folder / "venv"
        self.python = self.venv / "bin/python"
        self.missing = {}
        if not self.python.exists():
            subprocess.run([python, "-m", "venv", self.venv], check=True)
        if not venv:
            self.install()
        paths = json.loads(self.said("import sysconfig, json; print(json.dumps(sysconfig.get_paths()))"))
        self.library, self.packages = pathlib.Path(paths["stdlib"]), pathlib.Path(paths["platlib"])
        self.suffix = self.said("import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))").strip()

    def said(self, code):
        return subprocess.check_output([self.python, "-c", code], text=True)

    def pip(self, *words):
        run = subprocess.run([self.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *words],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return "" if run.returncode == 0 else run.stdout.decode(errors="replace").strip().splitlines()[-1]

    def install(self):
        if self.pip("-r", SOURCE / "requirements.txt"):
            for line in (SOURCE / "requirements.txt").read_text().splitlines():
                if not line.startswith("#") and (reason := self.pip(line)):
                    self.missing[line.partition("==")[0]] = reason

    def why_not(self, program):
        """Empty: the program can run."""
        if reason := {"cython": "cython", "pybind11": "pybind11"}.get(program.build) in self.missing and "its extension's tool is missing":
            return reason
        if program.build:
            return self.made(program)
        for package in program.uses:
            run = subprocess.run([self.python, "-c", f"import {package}"], capture_output=True, text=True, check=False)
            if run.returncode:
                return self.missing.get(package) or run.stderr.strip().splitlines()[-1]
        return ""

    def made(self, program):
        """Makes its extension module; why that cannot be done."""
        module = program.uses[0]
        if program.build == "cython":
            steps = [[self.venv / "bin/cythonize", "-q", "-3", "-i", f"{module}.pyx"]]
        else:
            includes = self.said("import pybind11.commands as c, sysconfig as s; "
                                 "print('-I' + c.get_include(), '-I' + s.get_path('include'))").split()
            steps = [["c++", "-O2", "-shared", "-fPIC", "-std=c++17", *includes, f"{module}.cc", "-o", module + self.suffix]]
        for step in steps:
            run = subprocess.run(step, cwd=self.folder, capture_output=True, text=True, check=False)
            if run.returncode:
                return run.stderr.strip().splitlines()[-1]
        return ""

    def modules_of(self, packages):
        """File names of the extension modules and libraries that these packages bring."""
        return {file.name for package in packages for pattern in ("{0}/**/*.so*", "_{0}_runtime_32/**/*.so*", "{0}.libs/*.so*", "_{0}.*.so")
                for file in self.packages.glob(pattern.format(package))}

    def package_of(self, path):
        """Of a file of Python; None: of no package."""
        for root in (self.packages, self.library):
            if path.is_relative_to(root):
                return path.relative_to(root).parts[0].removesuffix(".py")
        return None


def output_of(command, **options):
    return subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=LIMIT_S, check=True,
                          **options).stdout


class Judged:
    """One program, run with memprof and with memray: what is wrong, and what the table says of it."""

    def __init__(self, program, environment):
        self.program, self.environment = program, environment
        self.wrong, self.covered = [], []  # of intervals: whether they hold the truth
        self.cells = {}
        self.files = environment.folder / "profiles" / program.name
        shutil.rmtree(self.files, ignore_errors=True)
        self.files.mkdir(parents=True)
        variables = {**modes.environment("without", self.files), "PYTHONHASHSEED": "0"}
        del variables["LC_ALL"]
        self.options = {"cwd": environment.folder, "env": variables}
        self.reports = {}
        self.truth = {}
        self.modules = environment.modules_of(program.uses)
        try:
            self.run()
        except (subprocess.SubprocessError, OSError) as error:
            self.wrong.append(f"does not run: {error}")

    def run(self):
        for rate, options in RATES.items():
            started = time.monotonic()
            profile = self.files / f"{rate}.pb.gz"
            said = output_of([modes.COMMAND, "run", *options, *["--merge"] * self.program.is_merged, "-o", profile, "--",
                              self.environment.python, "-B", f"{self.program.name}.py"], **self.options)
            self.truth = ast.literal_eval(said.decode().strip().splitlines()[-1])
            self.reports[rate] = json.loads(output_of([modes.COMMAND, "report", "--json", "--no-debuginfod", profile]))
            self.cells[f"{rate} s"] = time.monotonic() - started
            self.judge_rows(rate)
        self.judge_truth()
        self.judge_intervals()
        for native in (False, True):
            self.judge_memray(native)

    # Rows

    def first(self, rate):
        report = self.reports[rate]
        least = LEAST_SHARE * report["totals"]["peak_space"]["value"]
        return [r for r in report["rows"][:ROWS] if r["self"]["peak_space"]["value"] >= least]

    def is_own(self, row):
        return pathlib.Path(row["file"]).parent == self.environment.folder

    def judge_rows(self, rate):
        for row in self.first(rate):
            is_right = self.is_own(row) or row["module"] in self.modules or not row["file"] and (
                row["name"].startswith("importing ") or row["name"] == START)
            if not is_right and row["file"].startswith("/"):
                is_right = self.environment.package_of(pathlib.Path(row["file"])) in self.program.uses
            if not is_right:
                self.wrong.append(f"{rate}: row {place_of(row)} is of no code that the program is about")

    # Bytes

    def of_function(self, rate, name):
        rows = [r for r in self.reports[rate]["rows"] if r["name"] == name and self.is_own(r)]
        return rows[0]["cumulative"]["inuse_space"] if rows else {"value": 0, "low": 0, "high": 0}

    def judge_truth(self):
        known = {name: size for name, size in self.truth.items() if size is not None and name not in self.program.mapped}
        for name, size in known.items():
            if name in self.program.from_threads:
                continue
            held = self.of_function("rate 0", name)["value"]
            if not TRUTH_LOW * size <= held <= TRUTH_HIGH * size + TRUTH_SLACK:
                self.wrong.append(f"rate 0: {name} holds {held:,} B, the program says {size:,}")

    def judge_intervals(self):
        exact = {(r["name"], r["file"]): r["self"]["peak_space"]["value"] for r in self.reports["rate 0"]["rows"]}
        for row in self.first("default"):
            size, said = exact.get((row["name"], row["file"]), 0), row["self"]["peak_space"]
            self.covered.append(said["low"] <= size <= said["high"])
            if not self.covered[-1]:
                self.cells.setdefault("missed", []).append(f"{place_of(row)}: {said['low']:,} to {said['high']:,} B, rate 0 has {size:,}")
        for name in self.truth:
            exact_bytes, said = self.of_function("rate 0", name)["value"], self.of_function("default", name)
            if exact_bytes >= LEAST_SHARE * self.reports["rate 0"]["totals"]["inuse_space"]["value"]:
                self.covered.append(said["low"] <= exact_bytes <= said["high"])
                if not self.covered[-1]:
                    self.cells.setdefault("missed", []).append(f"in and below {name}: {said['low']:,} to {said['high']:,} B, rate 0 has {exact_bytes:,}")
        first = self.first("default")
        if first:
            said = first[0]["self"]["peak_space"]
            self.cells["first"] = place_of(first[0])
            self.cells["width"] = 100 * max(said["high"] - said["value"], said["value"] - said["low"]) / max(said["value"], 1)

    # memray

    def judge_memray(self, native):
        recording = self.files / "memray.bin"
        output_of([self.environment.python, "-m", "memray", "run", "-q", "-f", *["--native"] * native,
                   *["--follow-fork"] * self.program.is_merged, "-o", recording, f"{self.program.name}.py"], **self.options)
        recordings = sorted(self.files.glob("memray.bin*"), key=lambda path: path.stat().st_size)
        rows, mapped = json.loads(output_of([self.environment.python, SOURCE / "memray_rows.py", recordings[-1]]))
        shutil.rmtree(self.files / "memray", ignore_errors=True)
        for path in recordings:
            path.unlink()
        which = "memray --native" if native else "memray"
        # Some recordings begin with what no line of Python allocated: threads of native code.
        most = self.reports["default"]["max_resident_bytes"] or float("inf")  # of merged profiles it is not known
        largest = next((r for r in rows if r["lines"] and r["bytes"] <= most), None)
        said, self.cells[which] = self.beside(largest) if largest else (True, "no line of Python")
        if rows and not rows[0]["lines"]:
            self.cells[which] += f"; first {rows[0]['native'] or 'a thread'} without a line"
        if not said:
            self.wrong.append(f"{which}: its largest row is {self.cells[which]}")
        self.judge_mapped(which, most, next((r for r in mapped if r["lines"]), None))

    def judge_mapped(self, which, most, largest):
        """memray's largest row of mappings: among ours, where it holds as much as reports show."""
        if largest is None or not LEAST_MAPPED * most <= largest["bytes"] <= most:
            return
        command = [modes.COMMAND, "report", "--json", "--no-debuginfod", "--metric", "mapped", self.files / "rate 0.pb.gz"]
        run = subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False)
        report = json.loads(run.stdout) if run.returncode == 0 else {"rows": []}  # nothing was mapped
        function, file, _ = largest["lines"][0]
        if function in self.program.reserved:
            return
        # Where an allocator of the library mapped it, its blocks are ours.
        for row in report["rows"][:ROWS] + self.first("default"):
            if pathlib.Path(row["file"]).name == pathlib.Path(file).name and row["name"].rpartition(".")[2] == function.rpartition(".")[2]:
                self.cells[which] += "; of mappings the same"
                return
        self.wrong.append(f"{which}: its largest mapping is {function} {pathlib.Path(file).name}, {largest['bytes']:,} B; ours has no such row")

    def beside(self, largest):
        """Of memray's largest row: whether ours says as much of these bytes, and how it compares."""
        function, file, line = largest["lines"][0]
        own_files = [(f, pathlib.Path(p).name, n) for f, p, n in largest["lines"]]
        name = function.rpartition(".")[2] if function != "<module>" else function
        for number, row in enumerate(self.first("rate 0"), 1):
            where = f"row {number}" if number > 1 else "the same"
            is_same = pathlib.Path(row["file"]).name == pathlib.Path(file).name and row["name"].rpartition(".")[2] in (function, name)
            if is_same and (row["line"] in (line, 0)):
                return True, where
            caller = row["called_by"]
            if row["name"].startswith("importing ") and any("importlib" in f for f in (p for _, p, _ in largest["lines"])) and (
                    caller is None or
                    any(n == caller["line"] and pathlib.Path(caller["file"]).name == f for _, f, n in own_files) or
                    any(self.environment.package_of(pathlib.Path(p)) == row["name"].removeprefix("importing ") for _, p, _ in largest["lines"])):
                return True, f"in {row['name']}" + (f", row {number}" if number > 1 else "")
            if is_same:
                return True, f"{where}, line {line} there"
        return self.is_below(function, file, line, largest)

    def is_below(self, function, file, line, largest):
        """Is a first row of ours of a function that memray's calls?"""
        for row in self.first("rate 0"):
            caller = row["called_by"]
            if caller and caller["function"].rpartition(".")[2] == function.rpartition(".")[2] and pathlib.Path(caller["file"]).name == pathlib.Path(file).name:
                return True, f"{function}, ours is further in: {row['name']}"
        first = self.first("rate 0")[0]
        for row in self.reports["rate 0"]["rows"]:
            if pathlib.Path(row["file"]).name == pathlib.Path(file).name and row["name"].rpartition(".")[2] == function.rpartition(".")[2]:
                if row["cumulative"]["peak_space"]["value"] >= TRUTH_LOW * largest["bytes"] > row["self"]["peak_space"]["value"] and self.is_own(first):
                    return True, f"{function}, ours is further in: {first['name']}"
                return False, f"{function} {pathlib.Path(file).name}:{line}, {largest['bytes']:,} B; ours has {row['self']['peak_space']['value']:,} B"
        return False, f"{function} {pathlib.Path(file).name}:{line}, {largest['bytes']:,} B; ours has no such row"


def place_of(row):
    file = pathlib.Path(row["file"]).name
    return f"{row['name']} {file}:{row['line']}" if file else row["name"]


def odds_of_misses(count, missed, share=0.05):
    """Of so many misses or more, if each interval misses with that probability."""
    term, below = (1 - share) ** count, 0.0
    for number in range(missed):
        below += term
        term *= (count - number) / (number + 1) * share / (1 - share)
    return 1 - below


class With:
    """The programs with one interpreter."""

    def __init__(self, python):
        self.python = python
        try:
            self.version = subprocess.check_output([python, "-c", "import platform; print(platform.python_version())"], text=True).strip()
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(f"suites: {python}: {error}") from None
        self.NAME = f"Python {self.version}"

    def check(self, folder):
        """The number of failures."""
        folder = folder.resolve()
        for path in SOURCE.rglob("*.*"):
            shutil.copy(path, folder)
        environment = Environment(self.python, folder)
        chosen = [n.strip() for n in os.environ.get("MEMPROF_SUITES_PROGRAMS", "").split(",") if n.strip()]
        programs = [Program(path) for path in sorted(SOURCE.glob("*/*.py"), key=lambda path: path.name)]
        failures, covered, judged = 0, [], []
        for program in programs:
            if chosen and program.name not in chosen:
                continue
            if reason := environment.why_not(program):
                print(f"  skipped: {program.name}: {reason}", flush=True)
                continue
            result = Judged(program, environment)
            judged.append(result)
            covered += result.covered
            failures += bool(result.wrong)
            print(f"  {'FAILED' if result.wrong else 'ok'}: {program.name}: {result.cells.get('first')}; "
                  f"{result.cells.get('rate 0 s', 0):.0f} s at rate 0", flush=True)
            for text in [*result.wrong, *(f"missed: {m}" for m in result.cells.get("missed", []))]:
                print(f"    {text}")
        missed = covered.count(False)
        print(f"{self.NAME}: {len(judged)} programs, {len(judged) - failures} as they should be; "
              f"{len(covered) - missed} of {len(covered)} intervals hold the truth")
        if odds_of_misses(len(covered), missed) < LEAST_COVERED_ODDS:
            failures += 1
            print(f"  FAILED: {missed} of {len(covered)} intervals missed")
        print(table(judged))
        return failures


def table(judged):
    """A row for each program (Markdown)."""
    lines = ["| program | first row at the default rate | ± | intervals | memray's largest row | with --native |", "|---" * 6 + "|"]
    for one in judged:
        cells = one.cells
        lines.append(f"| {one.program.name} | {cells.get('first', '')} | {cells.get('width', 0):.0f} % | "
                     f"{sum(one.covered)} of {len(one.covered)} | {cells.get('memray', '')} | {cells.get('memray --native', '')} |")
    return "\n".join(lines)
