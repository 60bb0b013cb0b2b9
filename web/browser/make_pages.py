#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles of real runs and their pages, for the tests of the page.

usage: make_pages.py MEMPROF FOLDER     profiles in FOLDER/profiles, pages in FOLDER
"""
import pathlib
import shutil
import subprocess
import sys

PYTHON = """
import json, xml.dom.minidom
class Store:
    def __init__(self):
        self.texts = {}
    def add(self, key, text):
        self.texts[key] = json.loads(text)
store = Store()
for i in range(%d):
    store.add(i, json.dumps({"id": i, "price": i * 1.5, "name": "x" * (i %% 90)}))
documents = [xml.dom.minidom.parseString("<a>" + "<b c='1'>t</b>" * 200 + "</a>") for _ in range(%d)]
# More rows than a screen has.
exec("".join(f"def part_{i}(): return [bytearray(100_000)] + [bytearray(100_000)] + [bytearray(100_000)]\\n" for i in range(60)))
parts = [globals()[f"part_{i}"]() for i in range(60)]
"""
THREADS = """\
import threading
kept = []
def load(rows):
    kept.append([{"id": i} for i in range(rows)])
    text = "x" * (8 << 20)
    kept.append(text)
def worker():
    load(20000)
def other():
    load(5000)
threads = [threading.Thread(target=target) for target in (worker, other)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
load(10000)
"""
IMPORTS = """\
import xml.dom.minidom, unittest.mock, http.server, email.message, models
kept = ["x" * 100_000 for _ in range(10)]
"""
MODELS = """\
import decimal, statistics
names = ["n" * 50_000 for _ in range(10)]
"""
PERL = """
my %h; for (1..20000) { $h{$_} = { a => [1..5], b => "x" x ($_ % 200) }; }
sub f { my $n = shift; return $n ? [f($n-1)] : [] } my @k = map { f(20) } 1..500;
"""
CXX = """
#include <algorithm>
#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <unordered_map>
int main() { return std::regex_match("a", std::regex("a")) ? 0 : 1; }
"""
HOSTILE = [b"<script>alert(1)</script>", b"\"'`<img src=x onerror=alert(2)>", b"a\0b", b"bad \xff\xfe utf-8", "\u202etxt.exe".encode(),
           b"long_" + b"x" * 10_000, b"</script><script>window.evil = 1</script>", b"javascript:alert(3)", b"{{7*7}} ${7*7} %s%n",
           b"\x1b[31mred"]


def field(number, content):
    """A field of a protobuf message: a number or bytes."""
    def varint(value):
        out = b""
        while value >= 0x80:
            out += bytes([value & 0x7f | 0x80])
            value >>= 7
        return out + bytes([value])
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def hostile_profile():
    """A pprof file of live bytes whose functions, files and modules have such names."""
    texts = [b"", b"inuse_space", b"bytes", b"main"] + HOSTILE
    out = field(1, field(1, 1) + field(2, 2))
    out += field(3, field(1, 1) + field(2, 0x1000) + field(3, 0x9000) + field(5, 4))
    for i in range(3, len(texts)):
        out += field(5, field(1, i) + field(2, i) + field(4, i))
        out += field(4, field(1, i) + field(2, 1) + field(3, 0x1000 + i) + field(4, field(1, i) + field(2, i)))
    for i in range(4, len(texts)):
        out += field(2, field(1, i) + field(1, 3) + field(2, 1000 * i))
    return out + b"".join(field(6, text) for text in texts)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    memprof, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    profiles = folder / "profiles"
    profiles.mkdir(parents=True, exist_ok=True)

    def run(name, rate, *command, **more):
        subprocess.run([memprof, "run", "-r", rate, "-o", profiles / name, "--force", *command], check=True,
                       stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **more)

    def page(profile, name, *options):
        subprocess.run([memprof, "export", profile, "--no-debuginfod", "-o", folder / name, "--force", *options], check=True)

    run("python.pb.gz", "64k", "--", "/usr/bin/python3", "-c", PYTHON % (40000, 40))
    run("mapped.pb.gz", "16k", "--mmap", "--", "/usr/bin/python3", "-c", "import mmap; kept = [mmap.mmap(-1, 1 << 20) for _ in range(8)]")
    run("perl.pb.gz", "8k", "--", "perl", "-e", PERL)
    run("merged.pb.gz", "16k", "--merge", "--", "g++", "-c", "-x", "c++", "-", "-o", "/dev/null", input=b"#include <map>\n")
    threads = folder / "threads.py"
    threads.write_text(THREADS)
    run("threads.pb.gz", "16k", "--", "/usr/bin/python3", threads)
    (folder / "models.py").write_text(MODELS)
    imports = folder / "imports.py"
    imports.write_text(IMPORTS)
    run("imports.pb.gz", "2k", "--", "/usr/bin/python3", imports)
    after = folder / "after.pb.gz"
    subprocess.run([memprof, "run", "-r", "64k", "-o", after, "--force", "--", "/usr/bin/python3", "-c", PYTHON % (60000, 10)],
                   check=True, stderr=subprocess.DEVNULL)
    # Stacks of different processes are different stacks.
    source, large = folder / "large.cc", folder / "large.pb.gz"
    source.write_text(CXX)
    compile_twice = 'g++ -O1 -c "$1" -o /dev/null; g++ -O2 -g -c "$1" -o /dev/null'
    subprocess.run([memprof, "run", "-r", "300", "--merge", "-o", large, "--force", "--", "sh", "-c", compile_twice, "sh", source],
                   check=True, stderr=subprocess.DEVNULL)
    page(profiles / "python.pb.gz", "python.html")
    page(profiles / "threads.pb.gz", "source.html", "--source", "--source-root", folder)
    page(profiles / "imports.pb.gz", "imports.html")
    page(large, "large.html")
    hostile = folder / "hostile.pb"
    hostile.write_bytes(hostile_profile())
    page(hostile, "hostile.html")
    # Named as one is in a folder: the page shows the names, and docs/ its picture.
    shutil.copy(profiles / "python.pb.gz", folder / "before.pb.gz")
    subprocess.run([memprof, "diff", "before.pb.gz", "after.pb.gz", "--no-debuginfod", "-o", "diff.html", "--force"], cwd=folder,
                   check=True)


if __name__ == "__main__":
    main()
