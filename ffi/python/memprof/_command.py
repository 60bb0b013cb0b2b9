# SPDX-License-Identifier: Apache-2.0
"""The `memprof` command of this package: the console script and `python -m memprof`."""
from __future__ import annotations

import os
import sys

# What `memprof run script.py` and `memprof run -m module` run under.
INTERPRETER_VARIABLE = "MEMPROF_PYTHON_PROGRAM"


def command_path() -> str:
    """The program; FileNotFoundError where this package was installed without it."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native", "bin", "memprof")
    if not os.access(path, os.X_OK):
        raise FileNotFoundError(f"{path}: the memprof command is not there or cannot be executed; install libmemprof again")
    return path


def main() -> None:
    """Becomes the command."""
    try:
        path = command_path()
        if sys.executable:
            os.environ.setdefault(INTERPRETER_VARIABLE, sys.executable)
        os.execv(path, ["memprof", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"memprof: {error}")
