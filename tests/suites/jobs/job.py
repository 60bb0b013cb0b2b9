# SPDX-License-Identifier: Apache-2.0
"""What a program of the suite `programs` is made of: commands that are waited for, servers that are ended."""
import hashlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time

LIMIT_S = 60


class Failed(Exception):
    pass


def digest(data):
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()[:16]


def status_of(code):
    return f"exit status {code}" if code >= 0 else f"signal {-code}"


class Job:
    """A program: NAME, PACKAGE (what Debian calls it), NEEDS (commands), PROFILES (processes that must have one)."""

    NAME = PACKAGE = ""
    NEEDS = PROFILES = ()
    USER = None  # who runs it, where the suite is run by root

    @classmethod
    def is_there(cls):
        return all(shutil.which(command) for command in cls.NEEDS)

    def __init__(self):
        self.results = {}
        self.folder, self.environment, self.user = None, None, {}
        self.servers, self.others = [], []

    def begin(self, folder, environment):
        self.folder, self.environment = folder, environment
        if self.USER and os.getuid() == 0:
            known = pwd.getpwnam(self.USER)
            self.user = {"user": known.pw_uid, "group": known.pw_gid, "extra_groups": []}

    def work(self):
        raise NotImplementedError

    def write(self, name, text, mode=0o644):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def do(self, what, *command, text="", keep=False, limit=LIMIT_S, more=None):
        """Runs it to its end; its status and what it wrote are results. Returns its output."""
        with open(self.folder / "errors.log", "ab") as errors:
            done = subprocess.run(list(map(str, command)), env={**self.environment, **(more or {})}, cwd=self.folder,
                                  input=text if isinstance(text, bytes) else text.encode(), stdout=subprocess.PIPE,
                                  stderr=errors, timeout=limit, check=False, **self.user)
        self.results[what] = status_of(done.returncode)
        if keep:
            self.results[f"{what}: output"] = digest(done.stdout)
        return done.stdout.decode(errors="replace")

    def start(self, what, *command, more=None):
        """A server; `end` ends it, if the job has not."""
        with open(self.folder / f"{what}.log", "ab") as log:
            process = subprocess.Popen(list(map(str, command)), env={**self.environment, **(more or {})}, cwd=self.folder,
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                       start_new_session=True, **self.user)
        self.servers.append(process)
        return process

    def stop(self, what, process, number=signal.SIGTERM):
        """Sends it the signal, and its status is a result."""
        process.send_signal(number)
        try:
            self.results[what] = status_of(process.wait(LIMIT_S))
        except subprocess.TimeoutExpired:
            self.results[what] = "hangs"

    def adopted(self, pid):
        """A server that is not our child: `end` ends it, too."""
        self.others.append(pid)
        return pid

    def end(self):
        for pid in self.others:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
        for process in self.servers:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()

    def until(self, what, condition, limit=LIMIT_S):
        """Asks until it is true; some answer of a server that comes up."""
        deadline = time.monotonic() + limit
        while True:
            try:
                answer = condition()
            except (OSError, EOFError):
                answer = None
            if answer:
                return answer
            if time.monotonic() > deadline:
                raise Failed(f"{what}: not in {limit} s")
            time.sleep(0.05)

    def pid_in(self, name):
        text = (self.folder / name).read_text().strip() if (self.folder / name).exists() else ""
        return int(text.split()[0]) if text else None

    def said(self, log, *words):
        """How often a log says each of these: of workers that died."""
        text = (self.folder / log).read_text(errors="replace")
        for word in words:
            self.results[f"{log}: {word}"] = str(text.count(word))


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def connected(path):
    connection = socket.socket(socket.AF_UNIX if isinstance(path, str) else socket.AF_INET)
    connection.settimeout(LIMIT_S)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


def get(address, path="/", headers=""):
    """Status and body of an HTTP/1.0 answer: (200, b"...")."""
    with connected(address) as connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: x\r\n{headers}\r\n".encode())
        answer = b""
        while data := connection.recv(65536):
            answer += data
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/"):
        raise Failed(f"GET {path}: no answer")
    return int(head.split()[1]), body


def free_port():
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return chosen.getsockname()[1]
