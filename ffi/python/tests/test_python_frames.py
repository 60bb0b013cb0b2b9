# SPDX-License-Identifier: Apache-2.0
"""A sample of what Python allocated begins with the line that did; native frames are there for who asks."""
from memprof._model import AllocationSample, StackFrame
from memprof._roles import installed_package, python_part

LINE = StackFrame(0, "load", "/srv/app.py", 4, True)
MAIN = StackFrame(0, "<module>", "/srv/app.py", 9, True)
IMPORT = StackFrame(0, "_call_with_frames_removed", "<frozen importlib._bootstrap>", 241, True)
LEAF = StackFrame(1, "PyList_New", "/usr/lib/libpython3.12.so", 0, False, "/usr/lib/libpython3.12.so")
OWN = StackFrame(2, "render", "/opt/server", 0, False, "/opt/server")
LEFT_OUT = StackFrame(3, "[frames left out]", "", 0, False)


def test_which_frames_are_shown():
    assert python_part((LEAF, LINE, LEAF, LEFT_OUT, MAIN, LEAF), "/usr/bin/python3.12") == (LINE, LEFT_OUT, MAIN)
    assert python_part((LEAF, OWN), "/usr/bin/python3.12") == (LEAF, OWN)
    # Functions of a program that embeds Python are its own.
    assert python_part((LEAF, OWN, LINE, LEAF, OWN), "/opt/server") == (OWN, LINE, OWN)


def test_the_line_that_imports():
    sample = AllocationSample(1, 1, 1.0, 1, 1, None, (IMPORT, IMPORT, LINE, MAIN))
    assert sample.python_frame is LINE
    assert AllocationSample(1, 1, 1.0, 1, 1, None, (IMPORT,)).python_frame is IMPORT
    assert AllocationSample(1, 1, 1.0, 1, 1, None, (LEAF, OWN)).python_frame is None


def test_packages():
    assert installed_package("/venv/lib/python3.12/site-packages/pandas/core/frame.py") == "pandas"
    assert installed_package("/usr/lib/python3/dist-packages/six.py") == "six"
    assert installed_package("<frozen importlib._bootstrap>") == "importlib"
    assert installed_package(StackFrame.__module__) == "" == installed_package("/srv/app.py")


def test_the_example_of_the_specification(run):
    """alloc.stack[0] is what is printed there: the Python line that allocated."""
    result = run("""
        import gc
        with memprof.MemoryProfiler(sampling_rate_kb=4, gc_tracking=True) as mp:
            kept = []
            def process_batch():
                kept.append([bytes(3000) for _ in range(100)])
                kept.append({i: str(i) for i in range(1000)})
            for _ in range(20):
                process_batch(); gc.collect()
        survivors = mp.snapshot.allocations_surviving_gc(min_epochs=3)
        inside = [s for s in survivors if "process_batch" in str(s.stack[0]) and "program.py:" in str(s.stack[0])]
        report([len(survivors), len(inside), all(s.stack[0] is s.python_frame for s in survivors),
                all(f.is_python for s in survivors for f in s.stack)])
    """)
    count, inside, same, all_python = result.value
    assert count > 1000 and same and all_python
    # The rest: some blocks of the interpreter, of gc.collect() and of the profiler's own lines.
    assert inside > 0.95 * count, (inside, count)


def test_native_frames_for_who_asks(run):
    result = run("""
        with memprof.MemoryProfiler(0, native=True) as mp:
            kept = bytearray(1_000_000)
        plain = memprof.get_snapshot()
        whole = mp.snapshot
        def of_block(snapshot):
            return next(s for s in snapshot.samples if of(s, 1_000_000))
        first, second = of_block(plain), of_block(whole)
        report([first.python_frame == second.python_frame == first.stack[0], second.stack[0].is_python,
                [f for f in second.stack if f.is_python] == list(first.stack),
                [row["estimated_bytes"] for row in plain.top_allocators(1)] == [row["estimated_bytes"] for row in whole.top_allocators(1)],
                plain.top_allocators(1)[0]["stack"][0].is_python, whole.top_allocators(1)[0]["stack"][0].is_python,
                plain.top_allocators(1)[0]["native_function"] != ""])
    """)
    assert result.value == [True, False, True, True, True, False, True]
