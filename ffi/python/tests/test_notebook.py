# SPDX-License-Identifier: Apache-2.0
"""Cells by their names, and what each did: in IPython, without a notebook."""
import pytest

from memprof._notebook import cells as _cells
from memprof._notebook.cells import is_name, name_of, rename

SHELL = """
    import sys
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    def run_cell(text):
        done = shell.run_cell(text, store_history=True)
        assert done.success
        return shell.user_ns.get("_")
    run_cell("%load_ext memprof")
"""


def test_names():
    assert name_of(3) == "In[3]" and is_name("In[3]") and not is_name("In[3].py") and not is_name("/tmp/In[3]")


def test_strings_of_a_profile_are_renamed():
    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    sample = field(2, b"\x08\x01")
    profile = (field(6, b"") + sample + field(6, b"/tmp/cell.py") + field(6, b"other") + bytes([9 << 3, 0x80, 0x01])
               + bytes([10 << 3 | 1]) + bytes(8) + field(6, b"/tmp/cell.py"))
    renamed = rename(profile, {"/tmp/cell.py": "In[1]"})
    assert renamed == profile.replace(field(6, b"/tmp/cell.py"), field(6, b"In[1]")) != profile
    assert rename(profile, {}) == profile
    long = "x" * 300
    assert rename(field(6, b"a"), {"a": long}) == b"\x32\xac\x02" + long.encode()
    with pytest.raises(ValueError, match="field of type 3"):
        rename(b"\x0b", {})


def test_without_ipython_there_are_no_cells(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "IPython", None)
    assert not _cells.names()


def test_a_cell_with_its_peak_and_its_temporaries(run):
    pytest.importorskip("IPython")
    result = run(SHELL + """
    run_cell("def build(n):\\n    return [bytes(1000) for _ in range(n)]")
    measured = run_cell("%%memprof -r 0\\nkept = build(1000)\\nspike = bytes(20_000_000)\\ndel spike\\nfor i in range(100): build(10)")
    rows = {(row["file"], row["line"]): row for row in reversed(measured.places)}  # the largest of a line
    spike = rows["In[3]", 3]
    build = rows["In[2]", 2]
    graph = measured.show().html
    report([repr(measured).splitlines()[0], spike, build, measured.peak_bytes, int(measured.growth), measured.temporary_bytes,
            b"In[3]" in graph, "<iframe" in measured._repr_html_(), str(memprof.get_snapshot()).count("In[2]:2")])
""")
    header, spike, build, peak, growth, temporary, named, framed, printed = result.value
    assert header.startswith("In[3]: left +") and "peak +" in header
    assert spike["left_bytes"] == 0 and spike["peak_bytes"] >= 20_000_000 and spike["temporary_bytes"] in (0, spike["peak_bytes"])
    assert 1_000_000 < build["left_bytes"] < 1_300_000 and 900_000 < build["temporary_bytes"] < 1_400_000
    assert 21_000_000 < peak < 22_500_000 and 1_000_000 < growth < 1_500_000 and temporary > 900_000
    assert named and framed and printed == 1




def test_every_cell(run):
    pytest.importorskip("IPython")
    result = run(SHELL + """
    run_cell("%memprof on -r 0")
    run_cell("kept = bytes(5_000_000)")
    run_cell("spike = bytes(30_000_000); del spike")
    run_cell("%memprof off")
    run_cell("more = bytes(5_000_000)")
    run_cell("%memprof")
    report(memprof.is_active())
""")
    assert result.value is False
    lines = result.out.splitlines()
    one = next(line for line in lines if line.startswith("In[3]: "))
    two = next(line for line in lines if line.startswith("In[4]: "))
    assert "peak +4.8 MiB, left +4.8 MiB" in one and "peak +28." in two
    assert not any(line.startswith("In[6]: ") for line in lines)
    table = lines[-3:] if lines[-1] == "false" else lines[-4:]
    assert any(line.split()[-1] == "In[3]" for line in table) and any(line.split()[-1] == "In[4]" for line in table)
