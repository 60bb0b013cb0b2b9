# SPDX-License-Identifier: Apache-2.0
"""What one look of a shipper takes that is started anew, at processes of nine programs: names not kept, nothing kept yet, kept.

usage: ship_start.py MEMPROF LIBRARY PROCESSES [--instructions]    CPU; or instructions, by callgrind
"""
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PYTHON = """
import json, decimal, argparse, email.message, random, time, logging.config, unittest, xml.dom.minidom
kept = [json.loads(json.dumps({str(i): [i] * 50})) for i in range(3000)]
tree = xml.dom.minidom.parseString('<a>' + '<b c="1">x</b>' * 500 + '</a>')
time.sleep(900)
"""
PERL = 'my %h; $h{"k$_"} = [1..20] for 1..20000; use POSIX; use Data::Dumper; my $s = Dumper([values %h]); sleep 900'
RUBY = "k = (1..20000).map { |i| JSON.parse(JSON.generate({i.to_s => [i] * 10})) }; s = Set.new(k); sleep 900"
PHP = '$k = []; for ($i = 0; $i < 20000; $i++) $k[] = json_decode(json_encode(["a$i" => range(1, 20)]), true); sleep(900);'
LUA = "k = {} for i = 1, 20000 do k[i] = {tostring(i), {i, i}} end os.execute('sleep 900')"
AWK = 'BEGIN { for (i = 0; i < 50000; i++) k[i] = sprintf("%d-%s", i, "abcdefghijklmnop"); system("sleep 900") }'
NODE = """
const kept = [], buffers = [];
for (let i = 0; i < 20000; i++) kept.push(JSON.parse(JSON.stringify({a: Array(20).fill(i)})));
for (let i = 0; i < 300; i++) buffers.push(Buffer.alloc(20000));
setTimeout(() => {}, 900000);
"""
TCL = "for {set i 0} {$i < 20000} {incr i} {set k($i) [list $i [expr {$i * 2}] abc]}\nafter 900000\n"
SQL = ("create table t(a, b, c); with recursive r(i) as (select 1 union all select i + 1 from r where i < 20000) "
       "insert into t select i, i * 2, hex(randomblob(40)) from r; create index x on t(c);\n")
# Each with what it reads.
PROGRAMS = [(["/usr/bin/python3", "-c", PYTHON], ""), (["perl", "-e", PERL], ""), (["ruby", "-rjson", "-rset", "-e", RUBY], ""),
            (["php", "-r", PHP], ""), (["lua5.4", "-e", LUA], ""), (["tclsh"], TCL), (["gawk", AWK], ""),
            (["sqlite3", ":memory:"], SQL), (["node", "-e", NODE], "")]


def start(library, arenas, count):
    environment = dict(os.environ, LD_PRELOAD=library, MEMPROF_PROFILE=f"{arenas}/none.%p.pb.gz", MEMPROF_ARENA_DIR=arenas,
                       MEMPROF_RATE="64k")
    processes = []
    for i in range(count):
        command, text = PROGRAMS[i % len(PROGRAMS)]
        process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        if text:
            process.stdin.write(text)
            process.stdin.flush()
        processes.append(process)
    time.sleep(10 + count / 4)
    return processes


def look(memprof, folder, arenas, names, processes, counts_instructions):
    for name in ("to", "spool"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "to").mkdir()
    command = [memprof, "ship", "--to", folder / "to", "--spool", folder / "spool", "--count", "1", "--name-cache", names,
               "--metrics", folder / "figures", *[str(process.pid) for process in processes if process.poll() is None]]
    if counts_instructions:
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=dict(os.environ, MEMPROF_ARENA_DIR=arenas), stderr=subprocess.PIPE, check=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if counts_instructions:
        collected = re.search(r"Collected : (\d+)", done.stderr)
        took = f"{int(collected[1]) / 1e6:,.0f} million instructions"
    else:
        took = f"{after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime:.2f} s"
    lookups = re.findall(r"^memprof_ship_names_(\w+)_total (\d+)$", (folder / "figures").read_text(), re.MULTILINE)
    return took, ", ".join(f"{name} {value}" for name, value in lookups)


def main():
    memprof, library, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    arenas = tempfile.mkdtemp(prefix="memprof-start-", dir="/dev/shm")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="memprof-start-"))
    processes = start(library, arenas, count)
    try:
        for what, names in (("names not kept", "off"), ("nothing kept yet", folder / "names"), ("kept", folder / "names")):
            took, lookups = look(memprof, folder, arenas, names, processes, "--instructions" in sys.argv)
            print(f"{what:18} {took:32} {lookups}", flush=True)
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)  # what it started as well
            process.wait()
        shutil.rmtree(arenas)
        shutil.rmtree(folder)


main()
