# SPDX-License-Identifier: Apache-2.0
"""memprof beside others in one process: memprof run, ctypes, another profiler."""
import json
import os
import subprocess
import sys

import pytest


def test_start_under_memprof_run_goes_on(tmp_path, command):
    (tmp_path / "script.py").write_text("""
import sys
import memprof
memprof.start(4)
first = memprof.get_snapshot().sampling_rate_bytes
try:
    memprof.start(4)
    sys.exit("it was active")
except RuntimeError as raised:
    assert "active already" in str(raised)
kept = [bytearray(3000) for _ in range(3000)]
snapshot = memprof.get_snapshot()
assert 8_000_000 < int(snapshot.estimated_heap_bytes) < 20_000_000  # with the interpreter's own
memprof.stop()
assert memprof.is_active()
with memprof.MemoryProfiler(4) as profiler:
    pass
more = [bytearray(3000) for _ in range(3000)]
try:
    memprof.start(mappings=True)
    sys.exit("it is not recorded")
except ValueError as raised:
    assert "settled by `memprof run`" in str(raised)
print(first)
""")
    done = command("run", "-r", "16k", "-o", tmp_path / "out.pb", "--", sys.executable, tmp_path / "script.py")
    assert done.stdout.strip() == "16384"
    shown = command("report", "--by", "line", tmp_path / "out.pb").stdout
    assert "script.py:11" in shown and "script.py:18" in shown, shown


@pytest.mark.parametrize("mode", ["none", "daemon", "atexit", "shutdown", "startstop"])
def test_ends_of_a_script_under_memprof_run(tmp_path, command, mode):
    (tmp_path / "ends.py").write_text("""
import atexit, gc, sys, threading, time
import memprof
memprof.start(4)
kept = [bytearray(3000) for _ in range(3000)]
mode = sys.argv[1]
if mode == "daemon":
    def spin():
        while True:
            kept.append([bytearray(2000) for _ in range(50)])
            kept.pop()
    for _ in range(4):
        threading.Thread(target=spin, daemon=True).start()
    time.sleep(0.2)
elif mode == "atexit":
    atexit.register(lambda: print("live", memprof.get_snapshot().live_samples > 0))
elif mode == "shutdown":
    memprof.shutdown()
    kept = None
    gc.collect()
elif mode == "startstop":
    def turn():
        while True:
            for call in (memprof.stop, lambda: memprof.start(4)):
                try:
                    call()
                except RuntimeError:
                    pass
    for _ in range(3):
        threading.Thread(target=turn, daemon=True).start()
    time.sleep(0.2)
print(mode, "done")
""")
    done = command("run", "-o", tmp_path / "out.pb", "--", sys.executable, tmp_path / "ends.py", mode)
    assert f"{mode} done" in done.stdout and (mode != "atexit" or "live True" in done.stdout)
    assert (tmp_path / "out.pb").exists()


def test_ctypes_finds_the_library(run):
    """By the path that the package says, and by its name once it is loaded (musl does not look for that)."""
    result = run("""
        import ctypes, sysconfig
        by_path = ctypes.CDLL(memprof.library_path())
        by_name = ctypes.CDLL("libmemprof.so") if "musl" not in sysconfig.get_config_var("SOABI") else by_path
        address = lambda library: ctypes.cast(library.memprof_start, ctypes.c_void_p).value
        assert by_name.memprof_init(None) == 0 and by_name.memprof_start() == 0
        kept = [bytearray(100_000) for _ in range(100)]
        report([memprof.library_path(), address(by_path) == address(by_name), memprof.is_active(),
                int(memprof.get_snapshot().estimated_heap_bytes)])
    """, environment={"MEMPROF_RATE": "16k"})
    path, same, active, size = result.value
    assert path.endswith("libmemprof.so") and same and active and size > 9_000_000


def test_after_another_profiler_that_patches_imports(run):
    """memray writes over import tables, and puts back what it takes for the original."""
    pytest.importorskip("memray")
    result = run("""
        import memray, os, tempfile
        memprof.start(16)
        def keep():
            return [bytearray(5000) for _ in range(10_000)]
        first = keep()
        before = int(memprof.get_snapshot().estimated_heap_bytes)
        with memray.Tracker(os.path.join(tempfile.mkdtemp(), "x.bin")):
            pass
        second = keep()
        snapshot = memprof.get_snapshot()
        third = keep()
        report([before, int(snapshot.estimated_heap_bytes), snapshot.notes, int(memprof.get_snapshot().estimated_heap_bytes)])
    """)
    before, after, notes, last = result.value
    assert 45_000_000 < before < 56_000_000
    # What was allocated before a sample noticed it is missing, and said; from the snapshot on nothing is.
    assert after >= before and 40_000_000 < last - after < 60_000_000
    assert any("another tool in this process wrote over memprof's imports" in note for note in notes)


def test_functions_of_cython_have_rows(tmp_path, command):
    """By the name and the line that they have in the .pyx file."""
    pytest.importorskip("Cython")
    (tmp_path / "cymod.pyx").write_text("""# cython: language_level=3
from libc.stdlib cimport malloc
def cy_objects(int n):
    return [bytes(5000) for _ in range(n)]
cdef void* inner(int n):
    return malloc(n)
def cy_malloc(int n):
    cdef int i
    for i in range(n): inner(5000)
cdef class Acc:
    cdef list l
    def __init__(self): self.l = []
    def add(self, int n):
        for i in range(n): self.l.append(bytes(5000))
""")
    (tmp_path / "work.py").write_text("import cymod\nkept = [cymod.cy_objects(2000), cymod.Acc()]\n"
                                      "cymod.cy_malloc(2000)\nkept[1].add(2000)\n")
    built = subprocess.run([sys.executable, "-m", "Cython.Build.Cythonize", "-i", "cymod.pyx"], cwd=tmp_path, capture_output=True,
                           text=True, env={**os.environ, "CFLAGS": "-g -O1"}, check=False)
    if built.returncode != 0:
        pytest.skip(f"Cython cannot build here: {built.stderr[-200:]}")
    command("run", "-r", "16k", "-o", tmp_path / "out.pb", "--", sys.executable, tmp_path / "work.py")
    rows = json.loads(command("report", "--json", tmp_path / "out.pb").stdout)["rows"][:3]
    assert sorted(row["name"] for row in rows) == ["cymod.Acc.add", "cymod.cy_objects", "cymod.inner"], rows
