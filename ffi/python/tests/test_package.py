# SPDX-License-Identifier: Apache-2.0
"""The package as such: names, docstrings, types, and how long the import takes."""
import importlib.metadata
import inspect
import os
import re
import subprocess
import sys

import memprof


def test_everything_public_is_there_and_documented():
    for name in memprof.__all__:
        value = getattr(memprof, name)
        assert value.__doc__, name
        if inspect.isclass(value):
            for member, function in inspect.getmembers(value, lambda m: inspect.isfunction(m) or isinstance(m, property)):
                if not member.startswith("_"):
                    assert function.__doc__, f"{name}.{member}"
    assert set(memprof.__all__) <= set(dir(memprof))


def test_an_unknown_name_is_an_attribute_error():
    try:
        memprof.nonsense
    except AttributeError as error:
        assert "nonsense" in str(error)
    else:
        raise AssertionError


def test_the_wheel_is_for_every_python():
    files = importlib.metadata.files("libmemprof")
    tags = re.findall(r"Tag: (\S+)", importlib.metadata.distribution("libmemprof").read_text("WHEEL"))
    assert tags and all(tag.startswith("py3-none-") for tag in tags)
    assert any(str(file) == "memprof/py.typed" for file in files)
    assert memprof.__version__ == importlib.metadata.version("libmemprof")


def test_import_is_quick():
    """10 ms, on a machine where `import decimal, json` takes 10: as a ratio, the best of ten, so that a slow or a busy
    machine does not matter."""
    def best(modules):
        times = []
        for _ in range(10):
            code = f"import time; t = time.perf_counter(); import {modules}; print(time.perf_counter() - t)"
            times.append(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout))
        return min(times)

    best("memprof")  # its compiled files are there from now on
    ours, theirs = best("memprof"), best("json, inspect, logging")
    print(f"import memprof {ours * 1e3:.1f} ms; json, inspect, logging {theirs * 1e3:.1f} ms")
    assert ours < theirs, (ours, theirs)


def test_import_starts_nothing(tmp_path):
    code = "import memprof, threading; print(memprof.get_stats().state, memprof.get_stats().hooks, threading.active_count())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert out == "uninitialized none 1\n"
    assert os.listdir(tmp_path) == []


def test_notebook_magic(run):
    result = run("""
        class Result:
            def raise_error(self):
                pass
        class Shell:
            kept = []
            def register_magic_function(self, function, magic_kind, magic_name):
                self.magic, self.how = function, (magic_kind, magic_name)
            def run_cell(self, cell):
                exec(cell, {"kept": self.kept})
                return Result()
        shell = Shell()
        memprof.load_ipython_extension(shell)
        diff = shell.magic("-r 0", "kept.append(bytearray(2_000_000))")
        try:
            shell.magic("-q", "")
        except ValueError as error:
            said = str(error)
        report([shell.how, int(diff.growth), said, memprof.is_active()])
    """)
    how, growth, said, active = result.value
    assert how == ["cell", "memprof"] and 2_000_000 <= growth < 2_300_000 and "-r KIB" in said and not active
