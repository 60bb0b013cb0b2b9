# SPDX-License-Identifier: Apache-2.0
"""Files: each format is what the command reads or other tools expect, and numbers are the same everywhere."""
import gzip
import json
import pathlib

import pytest

PROGRAM = """
    import sys
    memprof.start({rate})
    kept = [bytearray(size) for size in (100, 5_000, 70_000, 1_000_000) for _ in range(3_000_000 // size)]
    snapshot = memprof.get_snapshot()
"""


def test_every_format(run, tmp_path):
    result = run(PROGRAM.format(rate=64) + """
    for format in ("speedscope", "pprof", "pb.gz", "pb", "collapsed", "json", "html"):
        snapshot.save("out." + format, format)
    snapshot.save(__import__("pathlib").Path("end.json"))
    for name in ("end.pb.gz", "end.pprof", "end.pb", "end.collapsed", "end.speedscope.json", b"bytes.pb"):
        snapshot.save(name)
    report(int(snapshot.estimated_heap_bytes))
    """)
    size = result.value
    assert json.loads((tmp_path / "out.speedscope").read_text())["$schema"].startswith("https://www.speedscope.app")
    assert (tmp_path / "end.speedscope.json").read_text() == (tmp_path / "out.speedscope").read_text()
    assert (tmp_path / "end.json").read_text() == (tmp_path / "out.json").read_text()
    assert (tmp_path / "end.pprof").read_bytes() == (tmp_path / "end.pb.gz").read_bytes()
    assert gzip.decompress((tmp_path / "out.pprof").read_bytes())
    assert (tmp_path / "out.html").read_text().lower().startswith("<!doctype html>")
    assert (tmp_path / "end.pb").read_bytes() == gzip.decompress((tmp_path / "end.pb.gz").read_bytes())
    collapsed = (tmp_path / "out.collapsed").read_text().splitlines()
    assert collapsed and sum(int(line.rpartition(" ")[2]) for line in collapsed) == pytest.approx(size, abs=len(collapsed))
    profile = json.loads((tmp_path / "out.json").read_text())
    assert profile["format"] == "memprof-profile"
    assert profile["totals"]["inuse_space"]["value"] == pytest.approx(size, abs=1)


@pytest.mark.parametrize("end", [".pb.gz", ".pprof", ".pb", ".json", ".speedscope.json", ".collapsed", ".html", ".svg",
                                 ".heapprofile", ".dhat.json", ".parquet"])
def test_a_name_means_what_the_command_makes_of_it(run, command, tmp_path, end):
    run(PROGRAM.format(rate=64) + f"    snapshot.save('all.pb'); snapshot.save('python{end}'); report(0)\n").value
    command("export", tmp_path / "all.pb", "-o", tmp_path / f"command{end}")
    ours, theirs = ((tmp_path / f"{who}{end}").read_bytes() for who in ("python", "command"))

    def kind(data):
        if data[:2] == b"\x1f\x8b":
            return "gzip"
        if data[:1] == b"<":
            return data.split()[0]
        if data[:1] != b"{":
            return "collapsed" if b";" in data and data.isascii() else "pprof"
        return json.loads(data).get("format") or json.loads(data).get("$schema") or sorted(json.loads(data))
    assert kind(ours) == kind(theirs)


def test_a_file_is_replaced(run, tmp_path):
    (tmp_path / "out.collapsed").write_text("old")
    run(PROGRAM.format(rate=0) + "    snapshot.save('out.collapsed'); snapshot.save('out.collapsed'); report(0)\n").value
    assert "old" not in (tmp_path / "out.collapsed").read_text()


@pytest.mark.parametrize("call, kind, parts", [
    ("save('x', format='gif')", "ValueError", ["'gif'", "speedscope", "collapsed"]),
    ("save('x', format=3)", "ValueError", ["3"]),
    ("save('x')", "ValueError", ["'x'", ".pb.gz", ".speedscope.json", "format="]),
    ("save('x.gif')", "ValueError", ["x.gif", ".collapsed or .json"]),
    ("save('no/such/folder/x.json')", "FileNotFoundError", ["no/such/folder"]),
    ("save('.')", "IsADirectoryError", ["."]),
    ("save('')", "FileNotFoundError", ["empty"]),
    ("save('program.py/x')", "NotADirectoryError", ["program.py"]),
    ("save(3.5)", "TypeError", ["float"]),
])
def test_bad_paths_and_formats(run, call, kind, parts):
    result = run(PROGRAM.format(rate=512) + f"""
    try:
        snapshot.{call}
    except Exception as error:
        report([type(error).__name__, str(error)])
    """)
    name, text = result.value
    assert name == kind, text
    assert all(part in text for part in parts), text


def test_a_path_may_begin_with_a_dash(run, tmp_path):
    run(PROGRAM.format(rate=512) + "    snapshot.save('-o.json'); report(0)\n").value
    assert (tmp_path / "-o.json").exists()


@pytest.mark.parametrize("rate", [0, 4, 64, 1024])
def test_intervals_are_those_of_the_command(run, command, tmp_path, rate):
    """The same samples, by the code of the report and by ours: of the whole, and of each stack with all of its frames."""
    result = run(PROGRAM.format(rate=rate) + """
    from memprof._intervals import Sum
    with open("p.pb", "wb") as file:
        snapshot._native.write(file.fileno())
    whole = snapshot.estimated_heap_bytes, snapshot.estimated_heap_blocks
    native = snapshot._native
    by_stack = {}
    for i in range(native.record_count):
        r = native.records[i]
        by_stack.setdefault(r.stack_id, Sum()).add(r.size_bytes, r.rate_bytes)
    ends = lambda e: [int(e), e.low, e.high]
    report([list(map(ends, whole)), sorted(ends(s.bytes()) for s in by_stack.values()),
            sorted(ends(s.blocks()) for s in by_stack.values())])
    """)
    (size, blocks), by_bytes, by_blocks = result.value
    command("export", tmp_path / "p.pb", "-o", tmp_path / "p.json", "--all-frames", "--native-interpreter")
    profile = json.loads((tmp_path / "p.json").read_text())

    def ends(metrics, name):
        return [metrics[name][end] for end in ("value", "low", "high")]

    def same(ours, theirs):
        # The ends are found to 1e-4 of a standard deviation, from either side.
        slack = 1 + 2e-3 * (theirs[2] - theirs[1])
        return all(abs(a - b) <= slack for a, b in zip(ours, theirs))

    assert same(size, ends(profile["totals"], "inuse_space"))
    assert same(blocks, ends(profile["totals"], "inuse_objects"))
    for ours, name in ((by_bytes, "inuse_space"), (by_blocks, "inuse_objects")):
        theirs = sorted(ends(stack["metrics"], name) for stack in profile["stacks"] if stack["live"])
        assert len(ours) == len(theirs)
        # Sorted by value; equal values may have changed places, which the sums do not mind.
        assert all(abs(a[0] - b[0]) <= 1 for a, b in zip(ours, theirs))
        for end in (1, 2):
            assert sum(a[end] for a in ours) == pytest.approx(sum(b[end] for b in theirs), rel=2e-3, abs=len(ours))


def test_a_missing_command_is_said(run):
    assert "_native/bin/memprof" in run(PROGRAM.format(rate=512) + """
    import memprof._command as c, memprof._formats as f
    def missing():
        raise FileNotFoundError("/x/_native/bin/memprof: not there")
    f.command_path = missing
    try:
        snapshot.save("x.json")
    except OSError as error:
        report(str(error))
    """).value


def test_show(run, tmp_path):
    opener = tmp_path / "opener"
    opener.write_text(f"#!/bin/sh\necho \"$1\" > {tmp_path}/opened\n")
    opener.chmod(0o755)
    result = run(PROGRAM.format(rate=64) + f"""
    import base64, html, os, re
    os.environ["BROWSER"] = "{opener} %s"
    page = snapshot.show(height=345)
    drawn = page._repr_html_()
    address = re.search(r'src="data:text/html;charset=utf-8;base64,([^"]*)"', drawn).group(1)
    refused = []
    for height in (0, -1, "tall", True, 1.5):
        try:
            snapshot.show(height)
        except ValueError as error:
            refused.append(str(error))
    snapshot.save("saved.html")
    report([str(page.open()), repr(page), drawn.replace(address, ""), base64.b64decode(address) == page.html,
            open("saved.html", "rb").read() == page.html, refused])
    """)
    path, text, drawn, is_same, is_saved, refused = result.value
    assert is_same and is_saved and "open()" in text
    assert 'sandbox="allow-scripts' in drawn and "height: 345px" in drawn and "allow-same-origin" not in drawn
    assert (tmp_path / "opened").read_text().strip() == pathlib.Path(path).as_uri()
    assert pathlib.Path(path).stat().st_mode & 0o077 == 0
    pathlib.Path(path).unlink()
    assert refused == [f"show: height {height!r} is no number of pixels" for height in (0, -1, "tall", True, 1.5)]
