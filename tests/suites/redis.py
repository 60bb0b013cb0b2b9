# SPDX-License-Identifier: Apache-2.0
"""redis-server under load: its answers, its data, and what it saves, are the same.

One client sends 60,000 commands that a seed draws (strings, lists, hashes, sets, sorted sets, streams, Lua, values of 1 byte
to 200 KB, expiry that is long) and keeps a sum of the answers to each thousand; meanwhile redis-benchmark loads another
database with 50 connections, and the server forks to save. The digest of the data is asked after that, after a reload
from the saved file, and of a second server that reads the log of commands.
"""
import hashlib
import os
import random
import socket
import subprocess
import time

NAME = "Redis"
LIMIT_S = 120
COMMANDS = 60_000
SEED = 20
BENCHMARK = "ping_inline,ping_mbulk,set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,lrange_100,lrange_300,mset"


def prepare(folder):
    pass


class Server:
    """A redis-server on a socket in its folder, with one connection."""

    def __init__(self, environment, folder):
        self.path = folder / "redis.socket"
        self.log = open(folder / "server.log", "ab")
        command = ["redis-server", "--port", "0", "--unixsocket", self.path, "--dir", folder, "--save", "", "--appendonly",
                   "yes", "--enable-debug-command", "yes", "--activedefrag", "no", "--maxclients", "200", "--io-threads", "2"]
        self.process = subprocess.Popen(list(map(str, command)), env=environment, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + LIMIT_S
        while True:
            self.connection = socket.socket(socket.AF_UNIX)
            self.connection.settimeout(LIMIT_S)
            try:
                self.connection.connect(str(self.path))
                self.answers = self.connection.makefile("rb")
                if not self.ask("PING").startswith(b"-LOADING"):
                    return
            except OSError:
                pass
            self.connection.close()
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"redis-server does not come up: status {self.process.poll()}")
            time.sleep(0.05)

    def answer(self):
        line = self.answers.readline()
        if not line:
            raise RuntimeError("redis-server closed the connection")
        count = int(line[1:]) if line[:1] in b"$*" else 0
        if line[:1] == b"$" and count >= 0:
            return line + self.answers.read(count + 2)
        return line + b"".join(self.answer() for _ in range(count)) if line[:1] == b"*" else line

    def ask(self, *words):
        self.connection.sendall(encoded(words))
        return self.answer()

    def end(self):
        """Its exit status."""
        self.connection.sendall(encoded(["SHUTDOWN", "NOSAVE"]))
        try:
            return self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "hangs"
        finally:
            self.log.close()


def encoded(words):
    words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def commands(number):
    """The same ones each time; none whose answer is chance or the time of day."""
    draw = random.Random(SEED)
    for i in range(number):
        key = f"k{draw.randrange(4000)}"
        value = draw.randbytes(int(10 ** draw.uniform(0, 4 if draw.random() < 0.99 else 5.3)))
        yield draw.choice([
            ["SET", "s" + key, value], ["APPEND", "s" + key, value[:2000]], ["GET", "s" + key], ["DEL", "s" + key],
            ["SETRANGE", "s" + key, draw.randrange(3000), value[:100]], ["EXPIRE", "s" + key, 100_000],
            ["RPUSH", "l" + key, value[:3000], i, i + 1], ["LPOP", "l" + key], ["LRANGE", "l" + key, 0, 20],
            ["LINSERT", "l" + key, "BEFORE", i + 1, "between"], ["HSET", "h" + key, f"f{i % 700}", value[:500]],
            ["HGET", "h" + key, f"f{i % 700}"], ["HDEL", "h" + key, f"f{i % 700}"], ["SADD", "m" + key, i % 5000, "x"],
            ["SISMEMBER", "m" + key, i % 5000], ["ZADD", "z" + key, i % 977, f"member{i % 3000}"],
            ["ZRANGEBYSCORE", "z" + key, 100, 300], ["ZINCRBY", "z" + key, 2, f"member{i % 3000}"],
            ["XADD", "x" + key, f"{i + 1}-0", "field", value[:300]], ["XTRIM", "x" + key, "MAXLEN", 50],
            ["RENAME", "s" + key, "s" + key + "r"], ["COPY", "h" + key, "h" + key + "c", "REPLACE"],
            ["EVAL", "local t = {} for i = 1, 300 do t[i] = ARGV[1] .. i end return #table.concat(t)", 0, key],
            ["SORT", "l" + key, "ALPHA", "LIMIT", 0, 5]])


def run(environment, folder, only=None):
    results = {}
    for name in os.listdir(folder / "data") if (folder / "data").exists() else ():
        subprocess.run(["rm", "-rf", folder / "data" / name], check=True)
    (folder / "data").mkdir(exist_ok=True)
    server = Server(environment, folder / "data")
    load = subprocess.Popen(["redis-benchmark", "-s", str(server.path), "--dbnum", "1", "-n", "8000", "-c", "50", "-P", "4",
                             "-r", "10000", "-d", "300", "--csv", "-t", BENCHMARK],
                            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    pending, digest = 0, hashlib.sha256()
    for i, words in enumerate(commands(COMMANDS), 1):
        server.connection.sendall(encoded(words))
        pending += 1
        if pending == 20:
            for _ in range(pending):
                digest.update(server.answer())
            pending = 0
        if i % 1000 == 0:
            results[f"answers to {i}"] = digest.hexdigest()
        if i in (20_000, 50_000):
            results[f"BGSAVE after {i}"] = server.ask("BGSAVE", "SCHEDULE")[:1].decode()
        if i == 35_000:
            results[f"BGREWRITEAOF after {i}"] = server.ask("BGREWRITEAOF")[:1].decode()
    said = load.communicate(timeout=LIMIT_S)[0].decode(errors="replace")
    results["redis-benchmark"] = f"exit status {load.returncode}"
    # The tests that ended, without their times.
    results["redis-benchmark ran"] = ",".join(sorted(line.split('","')[0] for line in said.splitlines() if '","' in line))
    server.ask("SELECT", 1), server.ask("FLUSHDB"), server.ask("SELECT", 0)
    results["DBSIZE"] = server.ask("DBSIZE").decode().strip()
    results["digest"] = server.ask("DEBUG", "DIGEST").decode().strip()
    results["reload"] = server.ask("DEBUG", "RELOAD").decode().strip()
    results["digest after a reload"] = server.ask("DEBUG", "DIGEST").decode().strip()
    results["saves failed"] = str(b"rdb_last_bgsave_status:ok" not in server.ask("INFO", "persistence"))
    results["server"] = f"exit status {server.end()}"
    second = Server(environment, folder / "data")
    results["digest from the log"] = second.ask("DEBUG", "DIGEST").decode().strip()
    results["second server"] = f"exit status {second.end()}"
    return results


def again(test):
    return NAME
