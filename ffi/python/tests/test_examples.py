# SPDX-License-Identifier: Apache-2.0
"""The examples, as a user runs them: each ends with an error if what it shows is wrong."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "python"


@pytest.mark.parametrize("name, needs, program", [
    ("first_look.py", None, None), ("numpy_leak.py", "numpy", None), ("web_cache.py", "flask", None),
    ("native_leak.py", "pybind11", "c++")])
def test_example(name, needs, program, tmp_path):
    if needs and importlib.util.find_spec(needs) is None:
        pytest.skip(f"{needs} is not there for this interpreter")
    if program and shutil.which(program) is None:
        pytest.skip(f"{program} is not there")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MEMPROF_")}
    done = subprocess.run([sys.executable, EXAMPLES / name], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          timeout=300, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_limits_example(pytester):
    shutil.copy(EXAMPLES / "test_limits.py", pytester.path)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--memprof")
    result.assert_outcomes(passed=2)
    assert "test_limits.py::test_a_buffer_at_a_time: allocated" in result.stdout.str()


def test_every_example_is_run():
    programs = {path.name for path in EXAMPLES.glob("*.py")}
    assert programs == {"first_look.py", "numpy_leak.py", "web_cache.py", "native_leak.py", "test_limits.py"}
