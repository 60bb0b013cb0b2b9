# SPDX-License-Identifier: Apache-2.0
"""A leak in an extension written in C++: what no profiler of Python objects sees.

    c++ -O2 -g -shared -fPIC $(python -m pybind11 --includes) native_leak.cc -o native_leak.so
    python native_leak.py
"""
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile

import memprof
import pybind11

here = pathlib.Path(__file__).parent
with tempfile.TemporaryDirectory() as folder:
    module = pathlib.Path(folder) / "native_leak.so"
    subprocess.run([shutil.which("c++") or "g++", "-O2", "-g", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden",
                    "-I", pybind11.get_include(), "-I", sysconfig.get_path("include"), here / "native_leak.cc", "-o", module],
                   check=True)
    sys.path.insert(0, folder)
    import native_leak

    with memprof.MemoryProfiler(sampling_rate_kb=64, native=True) as profiler:
        for _ in range(200):
            native_leak.process(10_000)  # leaves 80 KB

    snapshot = profiler.snapshot.resolve(debug_info=True)  # names of functions that are not exported
print(snapshot)
leaks = [sample for sample in snapshot.samples if any("keep_buffer" in frame.function for frame in sample.stack)]
estimate = sum(sample.weight for sample in leaks)
print(f"keep_buffer holds {estimate / 1e6:.1f} MB")
assert 0.7 < estimate / (200 * 10_000 * 8) < 1.3, estimate
