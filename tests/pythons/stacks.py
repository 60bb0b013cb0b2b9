#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares memprof's Python frames with the interpreter's own, at the moment of the allocation.

usage: stacks.py LIBMEMPROF PYTHON [--every N] [--most N] [--least-share S] [--rounds N | [--seconds N] --tests [MODULE...]]

Each stack must have the same Python frames (function, file, line), leaf first; and its native frames must have one
activation of the evaluation loop for each run of Python frames, right behind it (memprof keeps them here:
MEMPROF_NATIVE_INTERPRETER=1).  Prints counts and the first differences; exit 1 where fewer than S of all are the same.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MOST_FRAMES = 200  # that the probe writes of a stack
DEPTH_LIMIT = 1  # memprof_stack.walk
MOST_SHOWN = 10
NOT_THERE = 5  # status of probed.py
LOOP = "_PyEval_EvalFrameDefault"
# What --tests alone runs: every way in which Python code is called.
TESTS = """
test_asyncio.test_tasks test_asyncio.test_streams test_asyncio.test_subprocess test_generators test_coroutines
test_asyncgen test_json test_re test_unittest test_ctypes test_threading test_contextlib test_contextlib_async
test_dataclasses test_decimal test_pickle test_xml_etree test_functools test_itertools test_typing test_sqlite3
test_subprocess test_logging test_inspect test_enum test_importlib test_import test_collections test_copy test_descr
test_dict test_exceptions test_traceback test_gc test_weakref test_sys_settrace test_sys_setprofile test_builtin
test_call test_class test_compile test_ast test_datetime test_email test_http_cookies test_httpservers test_queue
test_concurrent_futures test_multiprocessing_fork test_signal test_socket test_ssl test_tarfile test_zipfile
test_tempfile test_pathlib test_argparse test_configparser test_csv test_statistics test_random test_fractions
test_string test_format test_userdict test_ordered_dict test_abc test_super test_metaclass test_patma test_scope
test_yield_from test_raise test_with test_property test_memoryview test_io test_codecs test_minidom test_sax
test_difflib test_textwrap test_heapq test_bisect test_array test_struct test_code test_dis test_peepholer
test_monitoring
""".split()


def build_probe(python, folder, cc="cc"):
    """Path of the probe for this interpreter; None: its headers are not there."""
    code = ("import json, sysconfig as s; p = s.get_paths(); "
            "print(json.dumps([p['include'], p['platinclude'], s.get_config_var('MULTIARCH'), s.get_config_var('Py_GIL_DISABLED')]))")
    include, platform, multiarch, free_threaded = json.loads(subprocess.check_output([python, "-c", code], text=True))
    root = pathlib.Path(python).resolve()
    candidates = [pathlib.Path(include), root.parents[1] / include.lstrip("/"), root.parents[1] / "sid" / include.lstrip("/")]
    found = next((c for c in candidates if (c / "Python.h").exists() and (c / "internal").exists()), None)
    if found is None:
        return None
    flags = ["-I", found, "-I", found / "internal"]
    if multiarch and (found.parent / multiarch / found.name).exists():
        link = folder / "include"
        (link / multiarch).mkdir(parents=True, exist_ok=True)
        target = link / multiarch / found.name
        if not target.exists():
            target.symlink_to(found.parent / multiarch / found.name)
        flags += ["-I", link]
    if free_threaded:
        flags.append("-DPy_GIL_DISABLED=1")
    probe = folder / "probe.so"
    subprocess.run([cc, "-O2", "-shared", "-fPIC", "-Wall", *flags, HERE / "probe.c", "-o", probe], check=True)
    return probe


def blocks(path):
    """index -> (number behind it: walk, or is it of a sub-interpreter?; lines)"""
    found = {}
    lines = []
    for line in open(path, encoding="utf-8", errors="replace", newline="\n"):
        line = line.rstrip("\n")
        if "\t" in line:
            lines.append(line)
        else:
            index, number = map(int, line.split())
            lines = []
            found[index] = (number, lines)
    return found


def compare(truth, seen, is_cut, is_sub):
    """(Python frames the same?, each run right above the evaluation loop that executes it?)"""
    names = [line.split("\t")[1] if line.startswith("native") else None for line in seen]
    placed = True
    for i, name in enumerate(names):
        if name is None and i + 1 == len(names):
            placed = placed and is_cut
        elif name is None and names[i + 1] is not None:  # the last of a run: its loop comes next
            placed = placed and names[i + 1].startswith((LOOP, "0x"))  # 0x: a part of a function, in a stripped program
        if name == LOOP and i > 0 and names[i - 1] is not None:
            # A loop without frames: it was entered, and its function does not run yet; or not any more, and what it had
            # is dropped; or it is that of the interpreter which runs this one, whose frames are of another thread state.
            placed = placed and (None not in names[:i] or "FrameClearAndPop" in names[i - 1] or
                                 (is_sub and None not in names[i:]))
    python = [line for line, name in zip(seen, names) if name is None]
    if len(truth) >= MOST_FRAMES or is_cut:
        # One of the two ends before the root: they are the same as far as both go.
        both = min(len(truth), len(python))
        return both > 0 and truth[:both] == python[:both], placed
    return truth == python, placed


class Comparison:
    """What was found in all processes of one interpreter."""

    def __init__(self):
        self.counts = dict.fromkeys(("same", "different", "misplaced", "missing"), 0)
        self.distinct = set()
        self.cut = 0
        self.without = 0
        self.above = collections.Counter()  # native functions below a run
        self.shown = 0
        self.failed = []

    def add(self, output, title):
        """Reads the files of a process; how many stacks it had."""
        truths, seens = blocks(f"{output}.truth"), blocks(f"{output}.seen")
        for index, (is_sub, truth) in truths.items():
            walk, seen = seens.get(index, (0, []))
            is_cut = walk == DEPTH_LIMIT
            if is_cut and all(line.startswith("native") for line in seen):
                self.without += 1  # a recursion of C as deep as what is recorded: there is nothing to compare
                continue
            self.cut += is_cut or len(truth) >= MOST_FRAMES
            self.distinct.add(hash(tuple(truth)))
            same, placed = compare(truth, seen, is_cut, is_sub)
            self.counts["missing" if index not in seens else "same" if same and placed else "misplaced" if same else "different"] += 1
            if not (same and placed) and self.shown < MOST_SHOWN:
                self.shown += 1
                print(f"-- {title}, block {index}, walk {walk}: truth", *truth, "-- seen", *seen, sep="\n    ")
            for line, below in zip(seen, seen[1:]):
                if not line.startswith("native") and below.startswith("native"):
                    self.above[below.split("\t")[1]] += 1
        return len(truths)

    @property
    def compared(self):
        return sum(self.counts.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("python")
    parser.add_argument("--every", type=int, default=7)
    parser.add_argument("--most", type=int, default=20000, help="stacks of a process")
    parser.add_argument("--least-share", type=float, default=0.9999)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=60, help="after which no test of a module is begun")
    parser.add_argument("--tests", nargs="*", help="modules of the package test, each in a process of its own (90 that are chosen)")
    parser.add_argument("--keep", help="a folder for the files")
    options = parser.parse_args()
    if options.tests == []:
        options.tests = TESTS
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(options.keep or name)
        probe = build_probe(options.python, folder)
        if probe is None:
            print(f"{options.python}: no headers; not compared")
            return 77
        environment = {"LD_PRELOAD": os.path.abspath(options.library), "MEMPROF_PROFILE": str(folder / "p.pb"), "MEMPROF_RATE": "0",
                       "MEMPROF_MAX_DEPTH": "1024", "MEMPROF_MAX_STACKS": "1000000", "MEMPROF_MAX_LIVE_SAMPLES": "4000000",
                       "MEMPROF_NATIVE_INTERPRETER": "1", "MEMPROF_PYTHON": "stacks",
                       "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": f"{HERE}:{HERE.parent / 'e2e'}"}
        environment = {**os.environ, **environment}
        comparison = Comparison()
        runs = [("test", str(options.seconds), test) for test in options.tests or ()] or [("workload", str(options.rounds))]
        for what in runs:
            output, title = folder / "out", what[-1] if options.tests else what[0]
            for old in folder.glob(f"{output.name}.*"):
                old.unlink()
            with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as scratch:
                command = [options.python, HERE / "probed.py", probe, output, str(options.every), str(options.most), *what]
                try:
                    done = subprocess.run(command, env=environment, cwd=scratch, stdin=subprocess.DEVNULL, check=False,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=options.seconds * 2 + 300)
                    status, text = done.returncode, done.stdout.decode(errors="replace")
                except subprocess.TimeoutExpired as e:
                    status, text = "timeout", (e.stdout or b"").decode(errors="replace")
            if status == NOT_THERE:
                print(f"{title}: this interpreter does not have it", flush=True)
                continue
            if status != 0 or not os.path.exists(f"{output}.seen"):
                comparison.failed.append(title)
                print(f"-- {title}: status {status}:", *text.splitlines()[-20:], sep="\n    ", flush=True)
                continue
            count = comparison.add(output, title)
            if options.tests:
                print(f"{title}: {count}", flush=True)
        counts = comparison.counts
        print(f"{options.python}: {comparison.compared} stacks compared: " + ", ".join(f"{n} {what}" for what, n in counts.items()) + f"; {len(comparison.distinct)} distinct"
              f" ({comparison.cut} are deeper than is compared, {comparison.without} others have no Python within that depth)")
        print("  below runs:", ", ".join(f"{name} {n}" for name, n in comparison.above.most_common(8)))
        if comparison.failed:
            print("  did not run to their end:", *comparison.failed)
        return 0 if not comparison.failed and comparison.compared and counts["same"] >= options.least_share * comparison.compared else 1


if __name__ == "__main__":
    sys.exit(main())
