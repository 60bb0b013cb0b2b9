# SPDX-License-Identifier: Apache-2.0
"""Servers under load, for bench/attaching/run; their clients check what they answer. See targets.py."""
import glob
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

NGINX = """daemon off; master_process on; worker_processes 1; user root; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{ access_log off; gzip on; gzip_types text/plain; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen unix:{folder}/socket; location / {{ root {folder}/www; }} }} }}
"""
# Asks for a file, packed and plain, and says "ok" where each answer was the same.
ASKS = """
import gzip, select, socket, sys
def ask(header):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(b"GET /text.txt HTTP/1.0\\r\\n" + header + b"\\r\\n")
    answer = b"".join(iter(lambda: s.recv(65536), b""))
    head, body = answer.split(b"\\r\\n\\r\\n", 1)
    return gzip.decompress(body) if b"gzip" in head else body
expected = open(sys.argv[2], "rb").read()
while not select.select([sys.stdin], [], [], 0)[0]:
    assert ask(b"Accept-Encoding: gzip\\r\\n") == expected and ask(b"") == expected
print("ok")
"""
POSTGRES = """create table over (n int); create table t as select n, repeat(md5(n::text), n % 7) as text from generate_series(1, 2000) n;
"""
# A backend that works until there is a row in `over`.
WORKS = """select pg_backend_pid();
do $$ declare expected text := null; found text; begin
  while not exists (select 1 from over) loop
    select md5(string_agg(k || ':' || c || ':' || l, ',' order by k)) into found
      from (select n % 97 as k, count(*) as c, sum(length(upper(text))) as l from t group by 1) g;
    if found <> coalesce(expected, found) then raise exception 'wrong'; end if;
    expected := found;
  end loop; end $$;
\\echo ok
"""


def connects(path):
    with socket.socket(socket.AF_UNIX) as to:
        try:
            to.connect(str(path))
            return True
        except OSError:
            return False


def until(holds, what):
    for _ in range(200):
        if holds():
            return
        time.sleep(0.05)
    raise SystemExit(f"{what}: does not start")


class Target:
    rounds_of_a_process = 25
    options = ()

    def warms_up_s(self):
        return 0.3

    def check(self, folder):
        return ""


class Server(Target):
    stop_signal = signal.SIGTERM

    def __init__(self, before):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.server = self.client = None
        self.begin(before)

    def end(self):
        wrong = self.end_client()
        self.server.send_signal(self.stop_signal)
        try:
            self.server.wait(60)
        except subprocess.TimeoutExpired:
            self.server.kill()
            wrong = "it hangs"
        self.temporary.cleanup()
        return wrong or ("" if self.server.returncode == 0 else f"status {self.server.returncode}")

    def client_says(self):
        """What the client prints until it ends: its last word is "ok"."""
        try:
            said, _ = self.client.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.client.kill()
            return "its client hangs"
        return "" if said.split()[-1:] == ["ok"] else f"its client said {said!r}"


class Redis(Server):
    def begin(self, before):
        self.socket = str(self.folder / "socket")
        self.server = subprocess.Popen([*before, "redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "", "--dir",
                                        str(self.folder)], stdout=subprocess.DEVNULL)
        self.pid = self.server.pid
        until(lambda: self.ask("PING") == "PONG", "redis-server")
        self.client = subprocess.Popen(["redis-benchmark", "-s", self.socket, "-l", "-q", "-t", "set,get,lpush,lpop", "-r", "10000"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, *words):
        return subprocess.run(["redis-cli", "-s", self.socket, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              timeout=60, check=False).stdout.strip()

    def end_client(self):
        wrong = "" if self.client.poll() is None else "its client ended"
        self.client.kill()
        self.client.wait()
        self.ask("SET", "key", "value")
        return wrong if self.ask("GET", "key") == "value" else "it does not answer"


class Nginx(Server):
    """One worker, attached to."""

    def begin(self, before):
        (self.folder / "www").mkdir()
        text = self.folder / "www/text.txt"
        text.write_text("".join(f"line {n * 7919 % 1009}\n" for n in range(5000)))
        config = self.folder / "nginx.conf"
        config.write_text(NGINX.format(folder=self.folder))
        self.server = subprocess.Popen([*before, "nginx", "-p", str(self.folder), "-c", str(config)], stderr=subprocess.DEVNULL)
        until(lambda: connects(self.folder / "socket") and self.workers(), "nginx")
        self.pid = int(self.workers()[0])
        self.client = subprocess.Popen([sys.executable, "-c", ASKS, str(self.folder / "socket"), str(text)], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)

    def workers(self):
        return pathlib.Path(f"/proc/{self.server.pid}/task/{self.server.pid}/children").read_text().split()

    def end_client(self):
        wrong = self.client_says()
        if "exited on signal" in (self.folder / "error.log").read_text():
            wrong = "a worker crashed"
        return wrong


class Postgres(Server):
    """The backend of one session; root only, as its server refuses to be root."""
    stop_signal = signal.SIGINT

    @staticmethod
    def place():
        return next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)), None)

    def begin(self, before):
        shutil.chown(self.folder, "postgres")
        place, data = self.place(), self.folder / "data"
        self.psql = [f"{place}/psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", str(self.folder), "-U", "postgres", "postgres"]
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        subprocess.run([*as_user, f"{place}/initdb", "-D", data, "-A", "trust", "-U", "postgres", "-N", "--locale=C"],
                       stdout=subprocess.DEVNULL, check=True)
        self.server = subprocess.Popen([*before, *as_user, f"{place}/postgres", "-D", data, "-k", self.folder, "-c", "listen_addresses="],
                                       stderr=(self.folder / "log").open("w"))
        until(lambda: connects(self.folder / ".s.PGSQL.5432") and self.ask("select 1;") == "1", "postgres")
        self.ask(POSTGRES)
        self.client = subprocess.Popen(self.psql, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.client.stdin.write(WORKS)
        self.client.stdin.flush()
        self.pid = int(self.client.stdout.readline())

    def ask(self, text):
        return subprocess.run(self.psql, input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60,
                              check=False).stdout.strip()

    def end_client(self):
        self.ask("insert into over values (1);")
        wrong = self.client_says()
        if "terminated by signal" in (self.folder / "log").read_text():
            wrong = "a backend crashed"
        return wrong


def all_of():
    found = {}
    if shutil.which("redis-server") and shutil.which("redis-benchmark"):
        found["redis-server"] = Redis
    if shutil.which("nginx"):
        found["nginx worker"] = Nginx
    if Postgres.place() is not None and os.getuid() == 0:
        found["postgres backend"] = Postgres
    return found
