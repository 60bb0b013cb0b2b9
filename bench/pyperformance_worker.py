# SPDX-License-Identifier: Apache-2.0
"""Runs a benchmark of pyperformance in this process, with CPU time for its clock: what it then tells of its loops is
the CPU of this process in them, without its start and its end.

    python pyperformance_worker.py RUN_BENCHMARK.py ARGUMENT...
"""
import os.path
import runpy
import sys
import time

time.perf_counter = time.process_time  # before pyperf takes it
del sys.argv[0]
sys.path[0] = os.path.dirname(sys.argv[0])  # as if it were run itself
runpy.run_path(sys.argv[0], run_name="__main__")
