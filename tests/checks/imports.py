#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package: no circle of imports, also of those that only types or a call need; at most 20 files.

usage: imports.py SOURCE_FOLDER     prints each violation, exits 1 if there is one
       imports.py --self-test       plants violations and checks that each is found
"""
import ast
import pathlib
import sys
import tempfile

from check_main import check_main
from ladder import circles

PACKAGE = "ffi/python/memprof"
NAME = "memprof"
MOST_FILES = 20


def imported(text, modules):
    """The modules of the package that a source imports, wherever it does; the package itself is __init__."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module == NAME:
            found |= {alias.name if alias.name in modules else "__init__" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(NAME + "."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.level:
            found.add("__init__" if not node.module else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith(NAME + ".")}
    return found & modules


def check(root):
    """Returns (number of modules, violations)."""
    folder = root / PACKAGE
    sources = {path.stem: path.read_text() for path in folder.glob("*.py")}
    edges = {name: imported(text, set(sources)) for name, text in sources.items()}
    found = [f"a circle of imports: {' '.join(circle)}" for circle in circles(edges)]
    found += [f"{name} imports itself" for name, targets in sorted(edges.items()) if name in targets]
    files = sum(path.is_file() for path in folder.iterdir())
    if files > MOST_FILES:
        found.append(f"{PACKAGE}: {files} files, more than {MOST_FILES}")
    return len(sources), found


LATE = "def f():\n    from memprof._a import x\n"
TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from memprof._a import X\n"
CASES = [
    ({"_a": "import os\n", "_b": "from memprof._a import x\n"}, 0),
    ({"_a": "from memprof import _b\n", "_b": "from memprof._c import x\n", "_c": ""}, 0),
    ({"_a": "from memprof import _b\n", "_b": "import memprof._a\n"}, 1),
    ({"_a": "from memprof._b import x\n", "_b": LATE}, 1),
    ({"_a": "from memprof._b import x\n", "_b": TYPES}, 1),
    ({"_a": "from . import _b\n", "__init__": "from memprof._a import x\n", "_b": ""}, 1),
    ({"_a": "from memprof import start\n", "__init__": "from memprof._a import x\n"}, 1),
    ({f"_{i}": "" for i in range(21)}, 1),
]


def self_test():
    for sources, expected in CASES:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name, PACKAGE)
            folder.mkdir(parents=True)
            for module, text in sources.items():
                (folder / f"{module}.py").write_text(text)
            _, found = check(pathlib.Path(name))
            if len(found) != expected:
                sys.exit(f"{sources}: {len(found)} violations, expected {expected}: {found}")
    print(f"{len(CASES)} cases are as expected")


if __name__ == "__main__":
    sys.exit(check_main(__doc__, check, self_test,
                        fine=lambda count: f"{count} modules of the package import each other in one direction", min_count=5, counted="modules"))
