#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is all anonymous memory of real programs accounted for: the table of docs/mappings.md.

usage: mappings.py COMMAND LIBRARY [--python PYTHON] [PROGRAM...]

Starts each program with LIBRARY (libmemprof.so) preloaded and MEMPROF_MMAP=1, lets it write a profile by a signal when it
is ready, and compares its parts with the sum of "Anonymous:" in /proc/PID/smaps, which is read before and after. PYTHON has
polars, duckdb, pandas and pyarrow. Another program that is not there is left out, and said so.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from resident import JAVA, NODE, PYTHON, wait_ready

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "attaching"))
import servers  # noqa: E402

ALL = ("python", "polars", "duckdb", "pandas", "node", "java", "go", "ffmpeg", "redis", "postgres")
PARTS = ("mapped", "allocator", "malloc", "stacks", "modules", "own", "unseen")
WAIT = "\nprint('ready', flush=True); import sys; sys.stdin.read()"
POLARS = """
import polars
frame = polars.DataFrame({"k": range(3_000_000)}).with_columns(polars.col("k").mod(1000).alias("g"), (polars.col("k") * 3).cast(polars.String).alias("s"))
kept = [frame.group_by("g").agg(polars.col("s").max(), polars.col("k").sum()), frame.sort("s")]
""" + WAIT
DUCKDB = """
import duckdb
base = duckdb.connect()
base.execute("set enable_progress_bar = false")
base.execute("create table t as select i, i % 1000 as g, 'row ' || (i * 7919 % 1000003) as s from range(4000000) r(i)")
kept = base.execute("select s, count(*), max(i) from t group by s order by 2 desc, s limit 100000").fetchall()
""" + WAIT
PANDAS = """
import io, pandas, pyarrow, pyarrow.parquet
table = pyarrow.table({"k": list(range(1_000_000)), "s": [f"row {i * 7919 % 10007}" for i in range(1_000_000)]})
frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
out = io.BytesIO()
pyarrow.parquet.write_table(table, out)
kept = [frame.groupby("s").sum(), frame.sort_values("s"), pyarrow.parquet.read_table(io.BytesIO(out.getvalue()))]
""" + WAIT
GO = """package main

// #define _GNU_SOURCE
// #include <dlfcn.h>
// #include <stdlib.h>
// static int write_profile(const char* path) {
//   int (*write)(const char*, unsigned) = dlsym(RTLD_DEFAULT, "memprof_write_profile");
//   return write != NULL ? write(path, 0) : -1;
// }
import "C"
import ("bufio"; "fmt"; "os")

func main() {
	kept := map[int]string{}
	for i := 0; i < 1000000; i++ { kept[i] = fmt.Sprintf("row %d", i) }
	for i := 0; i < 100; i++ { C.malloc(100000) }
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	path, _ := in.ReadString('\\n')
	fmt.Println(C.write_profile(C.CString(path[:len(path)-1])))
	in.ReadString('\\n')
	fmt.Println(len(kept))
}
"""


class Program:
    """Says "ready" when it holds what it is to hold, and waits for the end of its standard input."""

    def __init__(self, before, command, folder):
        self.process = subprocess.Popen([*before, *command], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        if not wait_ready(self.process):
            raise SystemExit(f"{command[:2]}: did not get ready")

    def end(self):
        self.process.kill()
        self.process.communicate()


class Go(Program):
    """It takes all signals for itself, so it is asked to write."""

    def write_profile(self, path):
        self.process.stdin.write(bytes(path) + b"\n")
        self.process.stdin.flush()


class Encoder(Program):
    """ffmpeg, in the middle of its work."""

    def __init__(self, before, folder):
        self.process = subprocess.Popen([*before, "ffmpeg", "-v", "quiet", "-f", "lavfi", "-i", "testsrc2=size=1920x1080", "-c:v", "libx264", "-f", "null", "-"],
                                        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.pid = self.process.pid
        time.sleep(5)


def anonymous(pid):
    return sum(int(line.split()[1]) for line in open(f"/proc/{pid}/smaps") if line.startswith("Anonymous:")) * 1024


def measure(options, folder, name, begin):
    settings = {"LD_PRELOAD": options.library, "MEMPROF_MMAP": 1, "MEMPROF_FOLLOW_FORK": 1, "MEMPROF_DUMP_SIGNAL": "RTMIN+3",
                "MEMPROF_PROFILE": folder / f"{name}.%p.pb", "DEBUGINFOD_URLS": ""}
    program = begin(["env", *(f"{key}={value}" for key, value in settings.items())])
    try:
        time.sleep(1)
        before = anonymous(program.pid)
        dump = folder / f"{name}.{program.pid}.1.pb"
        if isinstance(program, Go):
            program.write_profile(dump)
        else:
            os.kill(program.pid, signal.SIGRTMIN + 3)
        for _ in range(300):
            if dump.exists():
                break
            time.sleep(0.1)
        after = anonymous(program.pid)
    finally:
        program.end()
    report = json.loads(subprocess.run([options.command, "report", "--json", "-n", "1", "--no-debuginfod", dump], check=True,
                                       stdout=subprocess.PIPE).stdout)
    parts = {part: report[f"anonymous_{part}_bytes"] for part in PARTS}
    smaps, whole = (before + after) / 2, sum(parts.values())
    totals = report["totals"]
    numbers = [smaps, whole, *(parts[part] for part in PARTS), totals["mapped_resident_space"]["value"], totals["mapped_space"]["value"]]
    print(f"| {name} | " + " | ".join(f"{number / 1e6:.1f}" for number in numbers[:2]) + f" | {whole / smaps - 1:+.2%} | " +
          " | ".join(f"{number / 1e6:.1f}" for number in numbers[2:]) + f" | {1 - parts['unseen'] / whole:.1%} |", flush=True)


def programs(options, folder):
    """{name: function of the words in front of the command, which begins it}"""
    def python(text, interpreter=options.python):
        return lambda before: Program(before, [interpreter, "-c", text], folder)
    found = {"python": python(PYTHON, "python3"), "polars": python(POLARS), "duckdb": python(DUCKDB), "pandas": python(PANDAS)}
    if shutil.which("node"):
        found["node"] = lambda before: Program(before, ["node", "-e", NODE], folder)
    if shutil.which("javac"):
        (folder / "Held.java").write_text(JAVA)
        subprocess.run(["javac", "Held.java"], cwd=folder, check=True)
        found["java"] = lambda before: Program(before, ["java", "-Xmx256m", "-cp", str(folder), "Held"], folder)
    if shutil.which("go"):
        (folder / "held.go").write_text(GO)
        subprocess.run(["go", "build", "-o", "held", "held.go"], cwd=folder, check=True)
        found["go"] = lambda before: Go(before, [folder / "held"], folder)
    if shutil.which("ffmpeg"):
        found["ffmpeg"] = lambda before: Encoder(before, folder)
    return found | {name.split("-")[0].split()[0]: begin for name, begin in servers.all_of().items() if "nginx" not in name}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", type=pathlib.Path)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=" ".join(ALL))
    parser.add_argument("--python", default="python3")
    options = parser.parse_args()
    options.command, options.library = options.command.resolve(), options.library.resolve()
    print("| program | smaps, MB | parts | difference | mapped | its allocator | malloc | stacks | modules | memprof | not seen | listed: resident | mapped | seen |")
    print("|---|" + "---:|" * 13)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        known = programs(options, folder)
        for program in options.programs or ALL:
            if program in known:
                measure(options, folder, program, known[program])
            else:
                print(f"{program}: not there", file=sys.stderr)


if __name__ == "__main__":
    main()
