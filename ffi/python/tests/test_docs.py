# SPDX-License-Identifier: Apache-2.0
"""The examples of the pages that need this package (tests/checks/docs.py runs all others, and checks the pages)."""
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def checker():
    spec = importlib.util.spec_from_file_location("memprof_docs", ROOT / "tests" / "checks" / "docs.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass asks for the module it is in
    spec.loader.exec_module(module)
    return module


def examples():
    docs = checker()
    found = []
    for path in docs.pages(ROOT, docs.TAUGHT):
        blocks = docs.blocks_of(path.read_text(), [])
        found += [pytest.param(block, id=f"{path.stem}:{block.line}") for block in blocks if block.package]
    return found


@pytest.mark.parametrize("block", examples())
def test_example(block, tmp_path):
    (tmp_path / "example.py").write_text(block.text)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MEMPROF_")}
    done = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for word in block.expected:
        assert word in done.stdout


def test_there_are_examples():
    assert examples()
