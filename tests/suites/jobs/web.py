# SPDX-License-Identifier: Apache-2.0
"""Servers of the web, and sshd: requests before and after they read their configuration again, or change their binary."""
import getpass
import os
import signal
import time

from jobs import job

REQUESTS = 40
WORDS = "".join(f"line {i}: {i * i}\n" for i in range(4000))


class Web(job.Job):
    """Files are in `files`; `address` is where the server listens."""

    def files(self):
        for name, text in {"a.txt": WORDS, "b.html": f"<html>{WORDS[:500]}</html>", "c.css": WORDS[:20000]}.items():
            self.write(f"files/{name}", text)
        (self.folder / "files").chmod(0o755)

    def ask(self, what, address):
        """REQUESTS of each kind; all statuses and bodies are one result."""
        answers = []
        for i in range(REQUESTS):
            for path in ("/a.txt", "/b.html", "/c.css", f"/none{i}"):
                for headers in ("", "Accept-Encoding: gzip\r\n", "Range: bytes=100-300\r\n"):
                    status, body = job.get(address, path, headers)
                    answers.append((status, job.digest(body) if status < 300 else ""))
        self.results[what] = f"{len(answers)} answers, {job.digest(repr(answers))}"


class Nginx(Web):
    NAME, PACKAGE, NEEDS, PROFILES = "nginx", "nginx-light", ("nginx",), ("nginx",)

    # Its children and its next binary have no variables but these.
    def configuration(self):
        kept = "".join(f"env {name};\n" for name in self.environment if name.startswith(("LD_PRELOAD", "MEMPROF_", "PATCHED_")))
        return f"""{"user www-data;" if os.getuid() == 0 else ""}
worker_processes 2; pid {self.folder}/nginx.pid; error_log {self.folder}/error.log notice;
{kept}events {{ worker_connections 100; }}
http {{
  access_log {self.folder}/access.log; types {{ text/html html; text/css css; text/plain txt; }}
  gzip on; gzip_min_length 100; gzip_types text/css text/plain; client_body_temp_path {self.folder}/body;
  proxy_temp_path {self.folder}/proxy; fastcgi_temp_path {self.folder}/fastcgi; uwsgi_temp_path {self.folder}/uwsgi;
  scgi_temp_path {self.folder}/scgi;
  server {{ listen unix:{self.folder}/socket; root {self.folder}/files; autoindex on; }}
}}
"""

    def work(self):
        self.files()
        path = self.write("nginx.conf", self.configuration())
        self.do("configuration", "nginx", "-t", "-q", "-c", path)
        address = str(self.folder / "socket")
        # By its whole name, which the next binary has, too; and in the background: it must not have the parent it began with.
        self.do("nginx", job.shutil.which("nginx"), "-c", path)
        self.until("nginx", lambda: job.get(address))
        old = self.adopted(self.pid_in("nginx.pid"))
        self.ask("requests", address)
        for i in range(3):
            os.kill(old, signal.SIGHUP)
            self.until("reload", lambda seen=i: self.count("reconfiguring") > seen)
        self.ask("requests after reloads", address)
        os.kill(old, signal.SIGUSR2)
        self.until("new binary", lambda: self.pid_in("nginx.pid") not in (None, old))
        new = self.adopted(self.pid_in("nginx.pid"))
        os.kill(old, signal.SIGQUIT)
        self.until("the old binary ends", lambda: not job.is_alive(old))
        self.ask("requests to the new binary", address)
        os.kill(new, signal.SIGHUP)
        self.ask("requests after its reload", address)
        os.kill(new, signal.SIGQUIT)
        self.until("the new binary ends", lambda: not job.is_alive(new))
        self.said("error.log", "[alert]", "[emerg]", "exited on signal")

    def count(self, words):
        return (self.folder / "error.log").read_text().count(words)


class Apache(Web):
    NEEDS, PACKAGE, PROFILES = ("apache2",), "apache2", ("apache2",)
    MPM = ""

    def configuration(self):
        modules = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in
                          (f"mpm_{self.MPM}", "authz_core", "mime", "dir", "deflate", "filter", "rewrite", "negotiation"))
        return f"""ServerRoot {self.folder}
ServerName x
PidFile {self.folder}/apache.pid
Listen 127.0.0.1:{self.port}
ErrorLog {self.folder}/error.log
Mutex file:{self.folder}
{modules}
{"User www-data" if os.getuid() == 0 else ""}
StartServers 2
DocumentRoot {self.folder}/files
TypesConfig /etc/mime.types
AddOutputFilterByType DEFLATE text/css text/plain
RewriteEngine on
RewriteRule ^/none3(.)$ /a.txt
"""

    def work(self):
        self.files()
        self.port = job.free_port()
        path = self.write("apache.conf", self.configuration())
        self.do("configuration", "apache2", "-t", "-f", path)
        address = ("127.0.0.1", self.port)
        server = self.start("apache", "apache2", "-f", path, "-DFOREGROUND")
        self.until("apache2", lambda: job.get(address))
        self.ask("requests", address)
        for i in range(2):
            server.send_signal(signal.SIGUSR1)
            self.until("graceful restart", lambda seen=i: (self.folder / "error.log").read_text().count("resuming") > seen + 1)
        self.ask("requests after graceful restarts", address)
        server.send_signal(signal.SIGHUP)
        self.until("restart", lambda: (self.folder / "error.log").read_text().count("resuming") > 3)
        self.ask("requests after a restart", address)
        self.stop("apache2", server)
        self.said("error.log", "exit signal", "[alert]", "[emerg]", "still did not exit")


class ApachePrefork(Apache):
    NAME, MPM = "Apache prefork", "prefork"


class ApacheEvent(Apache):
    NAME, MPM = "Apache event", "event"


class HAProxy(Web):
    NAME, PACKAGE, NEEDS, PROFILES = "HAProxy", "haproxy", ("haproxy",), ("haproxy",)

    def work(self):
        port = job.free_port()
        path = self.write("haproxy.conf", f"""global
  stats socket {self.folder}/master.socket level admin expose-fd listeners
  nbthread 2
defaults
  mode http
  timeout connect 10s
  timeout client 20s
  timeout server 20s
frontend in
  bind 127.0.0.1:{port}
  http-request return status 404 if {{ path_beg /none }}
  compression algo gzip
  compression type text/plain text/css
  use_backend files if {{ path /a.txt }}
  default_backend small
backend files
  http-request return status 200 content-type text/plain string "{WORDS[:3000].strip()}"
backend small
  http-request return status 200 content-type text/html lf-string "%[path,upper] %[path,length] %[path,sha1,hex]"
""".replace("\nline", " line"))
        self.do("configuration", "haproxy", "-c", "-q", "-f", path)
        address = ("127.0.0.1", port)
        server = self.start("haproxy", "haproxy", "-W", "-f", path)
        self.until("haproxy", lambda: job.get(address, "/a.txt"))
        self.ask("requests", address)
        for i in range(2):
            server.send_signal(signal.SIGUSR2)
            self.until("reload", lambda seen=i: (self.folder / "haproxy.log").read_text().count("New worker") > seen + 1)
            self.ask(f"requests after reload {i + 1}", address)
        self.stop("haproxy", server, signal.SIGUSR1)
        self.said("haproxy.log", "exited with code 139", "Segmentation", "signal 11", "[ALERT]")


class PhpFpm(job.Job):
    NAME, PACKAGE, NEEDS = "php-fpm", "php-fpm, libfcgi-bin", ("cgi-fcgi",)
    SERVERS = ("php-fpm8.2", "php-fpm8.3", "php-fpm8.4")
    PROFILES = ()
    SCRIPT = r"""<?php
$all = [];
for ($i = 0; $i < 20000; $i++) $all["key$i"] = ['n' => $i, 'text' => str_repeat(chr(65 + $i % 26), $i % 300)];
ksort($all);
echo $_SERVER['QUERY_STRING'], ' ', strlen(serialize($all)), ' ', sha1(json_encode($all)), ' ',
  preg_match_all('/key(\d+)7/', implode(' ', array_keys($all))), ' ', count(array_filter($all, fn($x) => $x['n'] % 3)), "\n";
"""

    @classmethod
    def server(cls):
        return next((name for name in cls.SERVERS if job.shutil.which(name)), None)

    @classmethod
    def is_there(cls):
        return super().is_there() and cls.server() is not None

    def work(self):
        self.PROFILES = (self.server(),)
        script = self.write("work.php", self.SCRIPT)
        path = self.write("fpm.conf", f"""[global]
error_log = {self.folder}/error.log
pid = {self.folder}/fpm.pid
daemonize = no
process_control_timeout = 10
[www]
{"user = www-data" if os.getuid() == 0 else ""}
listen = {self.folder}/socket
listen.mode = 0666
pm = static
pm.max_children = 3
pm.max_requests = 4
""")
        server = self.start("fpm", self.server(), "-n", "-y", path)
        self.until("php-fpm", lambda: job.connected(str(self.folder / "socket")))
        self.requests("request", script)
        server.send_signal(signal.SIGUSR2)
        self.until("reload", lambda: (self.folder / "error.log").read_text().count("ready to handle") > 1)
        self.until("php-fpm", lambda: job.connected(str(self.folder / "socket")))
        self.requests("request after reload", script)
        self.stop("php-fpm", server, signal.SIGQUIT)
        self.said("error.log", "SIGSEGV", "SIGABRT", "exited on signal", "ERROR")

    def requests(self, what, script):
        for i in range(12):
            said = self.do(f"{what} {i}", "cgi-fcgi", "-bind", "-connect", self.folder / "socket",
                           more={"SCRIPT_FILENAME": str(script), "REQUEST_METHOD": "GET", "QUERY_STRING": f"i={i}"})
            self.results[f"{what} {i}: answer"] = said.strip().splitlines()[-1] if said.strip() else ""


class Sshd(job.Job):
    NAME, PACKAGE, NEEDS, PROFILES = "sshd", "openssh-server, openssh-client", ("sshd", "ssh", "ssh-keygen"), ("sshd", "ssh", "ssh-keygen")

    def work(self):
        if os.getuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        for name in ("host", "key"):
            self.do(f"ssh-keygen {name}", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name)
        self.write("authorized", (self.folder / "key.pub").read_text(), 0o600)
        port = job.free_port()
        path = self.write("sshd.conf", f"""Port {port}
ListenAddress 127.0.0.1
HostKey {self.folder}/host
AuthorizedKeysFile {self.folder}/authorized
PidFile {self.folder}/sshd.pid
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
""")
        self.do("configuration", "sshd", "-t", "-f", path)
        server = self.start("sshd", job.shutil.which("sshd"), "-D", "-e", "-f", path)
        self.until("sshd", lambda: job.connected(("127.0.0.1", port)))
        ssh = ("-q", "-i", self.folder / "key", "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={self.folder}/known",
               "-o", "BatchMode=yes", "-F", "none")
        here = ("-p", port, f"{getpass.getuser()}@127.0.0.1")
        self.do("command", "ssh", *ssh, *here, "echo hello; seq 1 20000; exit 3", keep=True)
        self.do("much input", "ssh", *ssh, *here, "sha256sum; env | grep -c MEMPROF_", text=WORDS * 20, keep=True)
        self.do("killed command", "ssh", *ssh, *here, "kill -9 $$")
        server.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        self.until("sshd", lambda: job.connected(("127.0.0.1", port)))
        self.do("command after reload", "ssh", *ssh, *here, "seq 1 2000", keep=True)
        os.kill(self.pid_in("sshd.pid"), signal.SIGTERM)
        self.until("sshd ends", lambda: server.poll() is not None)
        self.results["sshd"] = job.status_of(server.returncode)
        self.said("sshd.log", "fatal", "Segmentation")


class Memcached(job.Job):
    NAME, PACKAGE, NEEDS, PROFILES = "memcached", "memcached", ("memcached",), ("memcached",)
    USER = "nobody"
    KEYS = 20_000

    def work(self):
        path = str(self.folder / "socket")
        server = self.start("memcached", "memcached", "-s", path, "-a", "777", "-t", "4", "-m", "32", "-o", "no_lru_crawler")
        connection = self.until("memcached", lambda: job.connected(path))
        with connection, connection.makefile("rb") as answers:
            def ask(text):
                connection.sendall(text)
                return answers.readline()

            values = [(b"k%d" % i, b"%d " % i * (i % 90 + 1)) for i in range(self.KEYS)]
            stored = [ask(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value)) for key, value in values]
            self.results["set"] = job.digest(b"".join(stored))
            got = []
            for key, _ in values[::3]:
                while True:
                    got.append(ask(b"get " + key + b"\r\n") if not got or got[-1] == b"END\r\n" else answers.readline())
                    if got[-1] == b"END\r\n":
                        break
            self.results["get"] = job.digest(b"".join(got))
            changed = [ask(b"delete k%d\r\n" % i if i % 2 else b"append k%d 0 0 4\r\nmore\r\n" % i) for i in range(0, self.KEYS, 7)]
            self.results["delete, append"] = job.digest(b"".join(changed))
            self.results["incr"] = str([ask(b"set n 0 0 2\r\n10\r\n")] + [ask(b"incr n 7\r\n") for _ in range(3)])
            self.results["flush_all"] = str([ask(b"flush_all\r\n"), ask(b"get k0\r\n")])
        self.stop("memcached", server)


PROGRAMS = (Nginx, ApachePrefork, ApacheEvent, HAProxy, PhpFpm, Sshd, Memcached)
