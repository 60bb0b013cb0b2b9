#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What real programs have in memory, in parts: the table of docs/rss.md.

usage: resident.py COMMAND LIBRARY [-r RATE] [PROGRAM...]

Starts each program with LIBRARY (libmemprof.so) preloaded and some load, looks at it from outside with
`COMMAND live PID -o`, and compares the parts with VmRSS of /proc/PID/status, which is read before and after. A program
that is not there is left out, and said so.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PYTHON = """
import sys, json
try:
    import numpy
    arrays = [numpy.ones(1_000_000) for _ in range(12)]
    zeros = numpy.zeros(4_000_000)
except ImportError:
    arrays = [bytearray(b'x') * 8_000_000 for _ in range(12)]
objects = [{'id': i, 'name': f'row {i}', 'tags': [i, i + 1]} for i in range(200_000)]
text = json.dumps(objects)
del objects[::2]
print('ready', flush=True)
sys.stdin.read()
"""
NODE = """
const kept = []; for (let i = 0; i < 300000; i++) kept.push({id: i, name: 'row ' + i, tags: [i, i + 1]});
const buffers = []; for (let i = 0; i < 40; i++) buffers.push(Buffer.alloc(1000000, 1));
console.log('ready'); process.stdin.resume(); process.stdin.on('end', () => process.exit(0));
"""
JAVA = """
import java.util.*; import java.nio.*;
public class Held { public static void main(String[] a) throws Exception {
  List<Object> kept = new ArrayList<>();
  for (int i = 0; i < 400000; i++) kept.add("row " + i);
  for (int i = 0; i < 20; i++) { ByteBuffer b = ByteBuffer.allocateDirect(1000000); while (b.hasRemaining()) b.put((byte) 1); kept.add(b); }
  System.out.println("ready"); System.in.read(); System.out.println(kept.size()); } }
"""
# A server as far as its memory goes: connections that come and go on threads, and a cache.
SERVER = r"""
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
int main() {
  std::vector<std::unordered_map<int, std::string>> caches(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&, t] {
    std::mt19937 random(t);
    for (int i = 0; i < 600000; ++i) {
      caches[t][random() % 60000] = std::string(20 + random() % 400, 'x');
      std::vector<char> request(100 + random() % 20000, 'r');
      if (request[5] != 'r') return;
    }
  });
  for (auto& thread : threads) thread.join();
  puts("ready"); fflush(stdout); getchar();
}
"""


def wait_ready(process):
    return process.stdout.readline().strip() == b"ready"


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.rows = options, folder, []
        self.environment = dict(os.environ, LD_PRELOAD=str(options.library), MEMPROF_RATE=options.rate,
                                MEMPROF_PROFILE=str(folder / "end.%p.pb.gz"), MEMPROF_FOLLOW_FORK="1", DEBUGINFOD_URLS="")

    def vm_rss(self, pid):
        for line in open(f"/proc/{pid}/status"):
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise SystemExit(f"{pid}: no VmRSS")

    def look(self, name, pid):
        path = self.folder / "now.pb.gz"
        before = self.vm_rss(pid)
        subprocess.run([self.options.command, "live", str(pid), "--raw", "--force", "-o", path], check=True, stderr=subprocess.DEVNULL)
        after = self.vm_rss(pid)
        report = json.loads(subprocess.run([self.options.command, "report", "--json", "-n", "1", "--no-debuginfod", path], check=True,
                                           stdout=subprocess.PIPE).stdout)
        m = report["resident"]
        live = report["totals"]["inuse_space"]
        m["interval_bytes"] = (live["high"] - live["low"]) / 2
        # Mapping by mapping against the sum that the system keeps.
        kinds = ("heap", "files", "shared", "stacks", "code", "runtime", "memprof", "anonymous")
        m["sum_over_rss"] = sum(m[kind + "_bytes"] for kind in kinds) / ((before + after) / 2)
        self.rows.append((name, m))

    def piped(self, name, command, environment=None):
        if shutil.which(command[0]) is None:
            print(f"{name}: {command[0]} is not there, left out", file=sys.stderr)
            return
        process = subprocess.Popen(command, env={**self.environment, **(environment or {})}, cwd=self.folder,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            if not wait_ready(process):
                print(f"{name}: did not get ready, left out", file=sys.stderr)
                return
            time.sleep(0.5)
            self.look(name, process.pid)
        finally:
            process.kill()
            process.wait()

    # ---- programs

    def python(self):
        self.piped("python3 + numpy", [self.options.python, "-c", PYTHON])

    def node(self):
        self.piped("node", ["node", "-e", NODE])

    def java(self):
        if shutil.which("javac"):
            (self.folder / "Held.java").write_text(JAVA)
            subprocess.run(["javac", "Held.java"], cwd=self.folder, check=True)
        self.piped("java", ["java", "-Xmx256m", "-cp", str(self.folder), "Held"])

    def server(self, name, library):
        source, program = self.folder / "server.cc", self.folder / f"server_{name}"
        source.write_text(SERVER)
        subprocess.run(["g++", "-O1", "-pthread", "-o", program, source, *library], check=True)
        self.piped(f"C++ server, {name}", [str(program)])

    def glibc(self):
        self.server("glibc", [])

    def jemalloc(self):
        self.server("jemalloc", ["-Wl,--no-as-needed", "-ljemalloc"])

    def tcmalloc(self):
        self.server("tcmalloc", ["-Wl,--no-as-needed", "-l:libtcmalloc_minimal.so.4"])

    def mimalloc(self):
        self.server("mimalloc", ["-Wl,--no-as-needed", "-lmimalloc"])

    def daemon(self, name, command, load, user=None):
        if shutil.which(command[0]) is None:
            print(f"{name}: {command[0]} is not there, left out", file=sys.stderr)
            return
        process = subprocess.Popen(command, env=self.environment, cwd=self.folder, user=user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            pid = load(process)
            self.look(name, pid)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def redis(self):
        socket = self.folder / "redis.sock"

        def load(process):
            for _ in range(100):
                if socket.exists():
                    break
                time.sleep(0.1)
            time.sleep(0.3)
            for size, keys in (("100", "200000"), ("2000", "20000")):
                subprocess.run(["redis-benchmark", "-s", socket, "-t", "set", "-n", keys, "-r", keys, "-d", size, "-P", "50", "-q"],
                               check=True, stdout=subprocess.DEVNULL)
            return process.pid
        self.daemon("redis", ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--daemonize", "no"], load)

    def nginx(self):
        (self.folder / "nginx.conf").write_text(f"daemon off; pid {self.folder}/nginx.pid; error_log {self.folder}/error.log;\n"
                                                "worker_processes 1; events {}\n"
                                                f"http {{ access_log off; client_body_temp_path {self.folder}; server {{ listen unix:{self.folder}/web.sock; "
                                                "location / { return 200 hello; } } }\n")

        def load(process):
            time.sleep(1)
            for _ in range(50):
                subprocess.run(["curl", "-s", "--unix-socket", self.folder / "web.sock", "http://x/"], stdout=subprocess.DEVNULL, check=False)
            return process.pid
        self.daemon("nginx", ["nginx", "-c", str(self.folder / "nginx.conf")], load)

    def postgres(self):
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        if not found:
            print("postgres: not there, left out", file=sys.stderr)
            return
        data, user = self.folder / "data", "postgres"
        data.mkdir()
        shutil.chown(data, user)
        os.chmod(self.folder, 0o755)
        plain = {k: v for k, v in os.environ.items() if not k.startswith("LC_")}
        subprocess.run([found[-1] / "initdb", "-D", data], user=user, env=plain, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def load(process):
            time.sleep(3)
            subprocess.run([found[-1] / "psql", "-h", data, "-U", user, "-c", "create table t as select i, md5(i::text) m from generate_series(1,200000) i",
                            "postgres"], user=user, env=plain, check=False, stdout=subprocess.DEVNULL)
            self.client = subprocess.Popen([found[-1] / "psql", "-h", data, "-U", user, "postgres"], user=user, env=plain, stdin=subprocess.PIPE,
                                           stdout=subprocess.DEVNULL)
            self.client.stdin.write(b"select count(*), count(distinct m) from t;\nselect pg_sleep(60);\n")
            self.client.stdin.flush()
            time.sleep(3)
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            for child in children:
                if b"pg_sleep" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes() or b"SELECT" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
            return process.pid
        self.environment["MEMPROF_PROFILE"] = str(data / "end.%p.pb.gz")
        try:
            self.daemon("postgres (a backend)", [str(found[-1] / "postgres"), "-D", str(data), "-k", str(data), "-c", "listen_addresses="], load, user)
        finally:
            self.client.kill()

    def table(self):
        megabytes = lambda n: f"{n / 1e6:.1f}"
        print("| program | RSS, MB | live ± | not in memory | slack | kept free | files | stacks | shared | runtime, code | memprof | not explained | ... by the allocator's count | mappings / RSS | fragmentation |")
        print("|---|" + "---:|" * 14)
        for name, m in self.rows:
            free = megabytes(m["free_bytes"]) if m["free_known"] else "?"
            counted = "" if "unexplained_by_count_bytes" not in m else (
                f"{megabytes(m['unexplained_by_count_bytes'])} ({100 * m['unexplained_by_count_bytes'] / m['rss_bytes']:.1f} %)")
            print(f"| {name} | {megabytes(m['rss_bytes'])} | {megabytes(m['live_bytes'])} ± {megabytes(m['interval_bytes'])} | {megabytes(m['absent_bytes'])} "
                  f"| {megabytes(m['slack_bytes'])} | {free} | {megabytes(m['files_bytes'])} | {megabytes(m['stacks_bytes'])} | {megabytes(m['shared_bytes'])} "
                  f"| {megabytes(m['runtime_bytes'] + m['code_bytes'])} | {megabytes(m['memprof_bytes'])} "
                  f"| {megabytes(m['unexplained_bytes'])} ({100 * m['unexplained_bytes'] / m['rss_bytes']:.1f} %) | {counted} | {m['sum_over_rss']:.3f} "
                  f"| {100 * m['fragmentation']:.0f} % |")


PROGRAMS = ("python", "node", "redis", "postgres", "nginx", "java", "glibc", "jemalloc", "tcmalloc", "mimalloc")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", type=pathlib.Path)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("-r", dest="rate", default="64k")
    parser.add_argument("--python", default="python3")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=" ".join(PROGRAMS))
    options = parser.parse_args()
    options.command, options.library = options.command.resolve(), options.library.resolve()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        for name in options.programs or PROGRAMS:
            if name not in PROGRAMS:
                parser.error(f"'{name}' is not one of {' '.join(PROGRAMS)}")
            getattr(bench, name)()
        bench.table()


if __name__ == "__main__":
    main()
