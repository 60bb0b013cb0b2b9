#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws pictures of terminals with real runs: report.svg of the program that docs/python.md shows, live.svg (the view on a
terminal) and diff.svg of that of docs/series.md. The pictures of the page come from browsers: web/browser.

usage: make_pictures.py [FOLDER]    FOLDER has the memprof command (default: build/release/bin)

Nothing in the picture is written by hand: the text is what the commands printed.
"""
import html
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/e2e"))
import terminal  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = 104
CHARACTER_PX, LINE_PX, MARGIN_PX, BAR_PX = 8.4, 19, 16, 32
REPORT = ["memprof run -r 64k -o service.pb.gz -- python3 service.py", "memprof report service.pb.gz -n 4"]


RECORD = "memprof run -r 64k --every 300ms --record server.series -o server.pb.gz -- python3 server.py"
DIFF = ["memprof diff server.series@first server.series@peak -n 4"]
LIVE_ROWS = 16


def program_of(page, name):
    """The text of a program, as the page shows it."""
    block = re.search(rf"<!-- file: {re.escape(name)} -->\n+```python\n(.*?)```", page.read_text(), re.DOTALL)
    return block.group(1)


def run(commands, folder, environment):
    """The lines of a terminal: each command and what it printed, standard error included."""
    lines = []
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        lines += [f"$ {command}", *done.stdout.splitlines(), ""]
    return lines[:-1]


def live(folder, environment):
    """What `memprof live` shows of a server that keeps what it should not."""
    library = pathlib.Path(environment["PATH"].split(":")[0], "../lib/libmemprof.so").resolve()
    sampled = {**environment, "LD_PRELOAD": str(library), "MEMPROF_RATE": "64k", "MEMPROF_PROFILE": "live.pb.gz"}
    server = subprocess.Popen(["/usr/bin/python3", "server.py"], cwd=folder, env=sampled)
    try:
        while subprocess.run(["memprof", "live", str(server.pid), "--count", "1"], env=environment, capture_output=True, check=False).returncode:
            pass  # it begins
        screen = terminal.Terminal(["memprof", "live", str(server.pid), "--interval", "0.5"], environment, COLUMNS, LIVE_ROWS)
        try:
            shown = screen.wait(lambda text: re.search(r"\+\d\.\d MiB", text) and "handle" in text)
        finally:
            screen.close()
    finally:
        server.kill()
        server.wait()
    return [f"$ memprof live {server.pid}", *(line.rstrip() for line in shown.splitlines())]


def kind_of(line):
    if line.startswith("$ "):
        return "command"
    if line.startswith("memprof:"):
        return "message"
    return "numbers" if re.match(r"(Peak|At end|Live|Allocated):", line) else "text"


def svg(lines, label):
    width = round(COLUMNS * CHARACTER_PX + 2 * MARGIN_PX)
    height = BAR_PX + len(lines) * LINE_PX + MARGIN_PX
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
           f' role="img" aria-label="{label}">',
           "<style>text { font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #d4d8de; white-space: pre }"
           " .command { fill: #8fd3a8 } .message { fill: #9aa4b2 } .numbers { fill: #ffd37a }</style>",
           f'<rect width="{width}" height="{height}" rx="8" fill="#1c2128"/>']
    out += [f'<circle cx="{20 + 18 * i}" cy="16" r="6" fill="{colour}"/>'
            for i, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))]
    for i, line in enumerate(lines):
        if line:
            y = BAR_PX + (i + 1) * LINE_PX - 5
            # A length for each line: columns stay in place in any font.
            out.append(f'<text class="{kind_of(line)}" x="{MARGIN_PX}" y="{y}" xml:space="preserve"'
                       f' textLength="{len(line) * CHARACTER_PX:.1f}">{html.escape(line, quote=False)}</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    command_folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/bin").resolve()
    environment = {"PATH": f"{command_folder}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "COLUMNS": str(COLUMNS),
                   "HOME": os.environ.get("HOME", "/")}
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent, "shop")
        folder.mkdir()
        pathlib.Path(folder, "service.py").write_text(program_of(ROOT / "docs/python.md", "service.py"))
        report = run(REPORT, folder, environment)
        pathlib.Path(folder, "server.py").write_text(program_of(ROOT / "docs/series.md", "server.py"))
        run([RECORD], folder, environment)
        pictures = {"report": (report, "memprof run, then memprof report"),
                    "diff": (run(DIFF, folder, environment), "memprof diff of two moments of a series"),
                    "live": (live(folder, environment), "memprof live on a terminal")}
    for name, (lines, label) in pictures.items():
        (ROOT / f"docs/pictures/{name}.svg").write_text(svg(lines, label))
        print("\n".join(lines))


if __name__ == "__main__":
    main()
