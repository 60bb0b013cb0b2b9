# SPDX-License-Identifier: Apache-2.0
"""The installed wheel is tested, not the source tree.  Each test that starts the profiler does so in a process of its
own (`run`): its life cycle ends with the process."""
import json
import os
import subprocess
import sys
import textwrap

import pytest

pytest_plugins = ["pytester"]


PRELUDE = """import json, memprof
def report(value): print(json.dumps(value), flush=True)
# The block of bytearray(n): n and an end, or (3.15) the head of a bytes object as well.
def of(sample, n): return n < sample.size <= n + 64
"""


def _environment(**more):
    # COLUMNS, which pytest-xdist sets: reports are cut to that width.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMPROF_") and name != "COLUMNS"}
    return {**environment, "PYTHONWARNINGS": "error", **more}


class Result:
    """What a program printed; its last line is JSON."""

    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    @property
    def value(self):
        assert self.status == 0, self.err or self.out
        return json.loads(self.out.strip().splitlines()[-1])


@pytest.fixture
def run(tmp_path):
    """Runs a program; `report(value)` in it is what Result.value gives."""

    def run(program, *arguments, environment=(), options=(), timeout=120):
        source = PRELUDE + textwrap.dedent(program)
        path = tmp_path / "program.py"
        path.write_text(source)
        done = subprocess.run([sys.executable, *options, str(path), *map(str, arguments)], capture_output=True, text=True,
                              env=_environment(**dict(environment)), cwd=tmp_path, timeout=timeout, check=False)
        return Result(done)

    return run


@pytest.fixture
def command(tmp_path):
    """Runs the memprof command of the wheel."""

    def command(*arguments, status=0):
        done = subprocess.run([sys.executable, "-m", "memprof", *map(str, arguments)], capture_output=True, text=True,
                              env=_environment(), cwd=tmp_path, timeout=120, check=False)
        assert done.returncode == status, done.stderr
        return done

    return command
