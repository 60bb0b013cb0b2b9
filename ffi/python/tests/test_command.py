# SPDX-License-Identifier: Apache-2.0
"""The command of the wheel, and Python programs under it."""
import json
import os
import shutil
import subprocess
import sys
import sysconfig


def test_python_m_memprof_is_the_command(command):
    import memprof
    assert memprof.__version__ in command("--version").stdout
    assert "usage: memprof COMMAND" in command("--help").stdout
    assert "bogus" in command("bogus", status=2).stderr


def test_the_console_script(tmp_path):
    script = os.path.join(sysconfig.get_path("scripts"), "memprof")
    assert "usage: memprof COMMAND" in subprocess.run([script, "--help"], capture_output=True, text=True, check=True).stdout


def test_run_a_script(command, tmp_path):
    (tmp_path / "app.py").write_text("import sys\nkept = [bytearray(10_000) for _ in range(1000)]\n"
                                     "print(sys.executable, sys.argv[1:])\nsys.exit(3)\n")
    done = command("run", "-r", "4k", "-o", "out.pb.gz", "app.py", "-m", "--force", status=3)
    assert done.stdout == f"{sys.executable} ['-m', '--force']\n"
    assert "wrote out.pb.gz" in done.stderr
    report = json.loads(command("report", "out.pb.gz", "--json").stdout)
    assert 9e6 < report["totals"]["alloc_space"]["value"] < 40e6


def test_run_a_module(command, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "module.py").write_text("import sys\nprint(__name__, sys.argv[1:])\nkept = bytearray(3_000_000)\n")
    done = command("run", "-r", "0", "-o", "out.pb", "-m", "package.module", "a", "--", "-r")
    assert done.stdout == "__main__ ['a', '--', '-r']\n"
    assert "no module given" in command("run", "-m", status=2).stderr


def test_a_program_can_use_what_run_has_started(command, tmp_path):
    (tmp_path / "app.py").write_text(
        "import memprof\nkept = [bytearray(1_000_000) for _ in range(5)]\ns = memprof.get_snapshot()\n"
        "memprof.start()\ntry:\n    memprof.start()\nexcept RuntimeError as error:\n    print(error)\n"
        "print(memprof.get_stats().hooks, int(s.estimated_heap_bytes) > 5_000_000)\n")
    out = command("run", "-r", "0", "-o", "out.pb", "app.py").stdout.splitlines()
    assert "active already" in out[0] and out[1] == "interposed True"


def test_the_wheel_needs_nothing_else(tmp_path):
    """The command runs without this environment, from another folder."""
    import memprof
    native = shutil.copytree(os.path.join(os.path.dirname(memprof.__file__), "_native"), tmp_path / "moved")
    done = subprocess.run([native / "bin" / "memprof", "run", "-r", "0", "-o", tmp_path / "x.pb", "true"], env={"PATH": "/bin"},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
