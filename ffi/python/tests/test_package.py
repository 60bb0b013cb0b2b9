# SPDX-License-Identifier: Apache-2.0
"""The package as such: names, docstrings, types, and how long the import takes."""
import importlib.metadata
import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest

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


def test_statistics_have_every_counter():
    """The struct of the binding is made of memprof.h when the wheel is built; the list of counters is the library's."""
    from memprof._library import ffi
    text = (pathlib.Path(__file__).resolve().parents[3] / "src/format/counters.h").read_text()
    counters = re.findall(r"^  (?:COUNTER|FILED)\((\w+),", text, re.M)
    assert len(counters) > 20
    members = dict(ffi.typeof("memprof_stats").fields)
    assert {name for name in counters if name not in members or members[name].type.kind != "primitive"} == set()
    assert all(ffi.sizeof(members[name].type) == 8 for name in counters)


def test_endings_of_walks_are_the_librarys():
    from memprof import _model
    from memprof._library import lib
    assert _model._MIDDLE_LEFT_OUT == lib.MEMPROF_WALK_MIDDLE_LEFT_OUT
    assert len(_model._CUTS) == lib.MEMPROF_WALK_REASONS
    assert [i for i in range(lib.MEMPROF_WALK_REASONS) if _model.is_whole(i)] == [lib.MEMPROF_WALK_ROOT,
                                                                                  lib.MEMPROF_WALK_MIDDLE_LEFT_OUT]


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
    pytest.importorskip("IPython")
    result = run("""
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        shell.run_line_magic("load_ext", "memprof")
        done = shell.run_cell("%%memprof -r 0\\nkept = bytearray(2_000_000)")
        assert done.success and "kept" in shell.user_ns
        growth = int(shell.user_ns["_"].growth)
        print("@@ help")
        assert shell.run_cell("%%memprof --help\\npass").success
        print("@@ wrong")
        assert not shell.run_cell("%%memprof -q\\npass").success
        print("@@ raises")
        failed = shell.run_cell("%%memprof\\n1/0").error_in_exec
        assert isinstance(failed.__cause__, ZeroDivisionError)
        print("@@ syntax")
        assert not shell.run_cell("%%memprof\\n1 +").success
        print("@@ end")
        report([growth, memprof.is_active()])
    """)
    growth, active = result.value
    assert 2_000_000 <= growth < 2_300_000 and not active
    parts = result.out.split("@@ ")
    help_text, wrong, raises, syntax = parts[1:5]
    assert "-r KIB" in help_text and "Traceback" not in help_text
    assert "Traceback" not in wrong and "-r KIB" in wrong + result.err
    assert raises.count("division by zero") == 1
    assert syntax.count("invalid syntax") == 1



def test_subinterpreter(run):
    """Where cffi can be in one, it works; else the error says what to do."""
    result = run("""
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        memprof.start(0)
        code = "import memprof; assert memprof.is_active()"
        try:
            # 3.13 and newer return the exception, older ones raise it.
            said = interpreters.run_string(interpreters.create(), code)
        except Exception as error:
            said = error
        report(str(said))
    """)
    assert result.value == "None" or "import and start it in the main interpreter" in result.value


@pytest.mark.skipif(not os.environ.get("MEMPROF_TEST_WHOLE"), reason="takes 40 s: MEMPROF_TEST_WHOLE=1 (./dev test all)")
def test_one_file_of_pyinstaller(tmp_path):
    """The program brings the library and the command with it."""
    pytest.importorskip("PyInstaller")
    (tmp_path / "app.py").write_text(
        "import memprof\nmemprof.start(0)\nkept = [bytearray(1000) for _ in range(1000)]\n"
        "snapshot = memprof.get_snapshot()\nprint(snapshot)\nsnapshot.save('app.pb.gz')\n")
    built = subprocess.run([sys.executable, "-m", "PyInstaller", "--onefile", "--log-level", "ERROR", "app.py"], cwd=tmp_path,
                           capture_output=True, text=True, check=False)
    if built.returncode != 0 and "shared library" in built.stderr:
        pytest.skip("PyInstaller needs an interpreter with a shared library")
    assert built.returncode == 0, built.stderr
    packed = (tmp_path / "build" / "app" / "PYZ-00.toc").read_text()
    assert "('memprof'" in packed and "('IPython" not in packed  # which %memprof needs, and only a notebook has
    done = subprocess.run([tmp_path / "dist" / "app"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "HeapSnapshot" in done.stdout and "app.py:3" in done.stdout, done.stdout + done.stderr
    assert (tmp_path / "app.pb.gz").stat().st_size > 1000
