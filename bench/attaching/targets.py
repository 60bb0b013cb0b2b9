# SPDX-License-Identifier: Apache-2.0
"""What bench/attaching/run attaches to. A target has a `pid`, works until end() is called, and checks what it computes:
end() says what was wrong, check() what is wrong with the profile; "": nothing."""
import json
import pathlib
import random
import re
import shutil
import subprocess

import servers

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMMAND = ROOT / "build/release/bin/memprof"

PYTHON = """
import hashlib, json, sys, threading
def text():
    return json.dumps({str(j): [j] * (j % 7) for j in range(50)}, sort_keys=True)
expected = hashlib.md5(text().encode()).hexdigest()
over = []
def work():
    while not over:
        value = text()
        assert json.loads(value)["9"] == [9, 9] and hashlib.md5(value.encode()).hexdigest() == expected
    over.append(1)
def wait():
    sys.stdin.read()
    over.append(1)
threads = [threading.Thread(target=wait)] + [threading.Thread(target=work) for _ in range(int(sys.argv[1]) - 1)]
for t in threads: t.start()
print("ready", flush=True)
work()
for t in threads: t.join()
print("ok" if len(over) == int(sys.argv[1]) + 1 else "wrong")
"""
SLEEPING = """
import sys, threading, time
over = []
def wait():
    sys.stdin.read()
    over.append(1)
threading.Thread(target=wait).start()
print("ready", flush=True)
while not over:
    before = time.monotonic()
    time.sleep(0.05)
    assert 0.05 <= time.monotonic() - before
print("ok")
"""
NODE = """
const crypto = require('crypto');
const text = () => JSON.stringify(Array.from({length: 200}, (_, i) => ({i, s: 'x'.repeat(i)})));
const hash = t => crypto.createHash('md5').update(t).digest('hex');
const expected = hash(text());
let over = false;
process.stdin.on('end', () => { over = true; }).resume();
function work() {
  for (let i = 0; i < 50; i++) if (hash(JSON.stringify(JSON.parse(text()))) !== expected) throw new Error('wrong');
  if (over) console.log('ok'); else setImmediate(work);
}
console.log('ready');
work();
"""
JAVA = """
import java.util.zip.*;
public class Busy {
  static volatile boolean over;
  static String work() throws Exception {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 2000; i++) text.append(Integer.toString(i * 7919, 36));
    byte[] in = text.toString().getBytes(), packed = new byte[in.length], out = new byte[in.length];
    Deflater deflater = new Deflater();
    deflater.setInput(in);
    deflater.finish();
    int length = deflater.deflate(packed);
    deflater.end();
    Inflater inflater = new Inflater();
    inflater.setInput(packed, 0, length);
    inflater.inflate(out);
    inflater.end();
    return new String(out);
  }
  static void loop(String expected) {
    try {
      while (!over) if (!work().equals(expected)) throw new Exception("wrong");
    } catch (Exception error) {
      System.out.println(error);
      System.exit(1);
    }
  }
  public static void main(String[] arguments) throws Exception {
    String expected = work();
    Thread other = new Thread(() -> loop(expected));
    other.start();
    System.out.println("ready");
    while (System.in.read() >= 0) { }
    over = true;
    other.join();
    System.out.println("ok");
  }
}
"""


class Program(servers.Target):
    """Says "ready", works until its standard input ends, and says "ok"."""

    def __init__(self, command, before):
        self.process = subprocess.Popen([*before, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        if self.process.stdout.readline() != b"ready\n":
            raise SystemExit(f"{command}: does not start")

    def end(self):
        try:
            said, _ = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "it hangs"
        said = said.decode().strip()
        return "" if self.process.returncode == 0 and said.startswith("ok") else f"status {self.process.returncode}, said {said!r}"


class Passing(Program):
    """Executes itself again and again, or lives for some milliseconds, and ends by itself: a new one each round."""
    rounds_of_a_process = 1

    def __init__(self, command, before):
        self.process = subprocess.Popen([*before, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid

    def warms_up_s(self):
        return random.uniform(0, 0.08)


class Inside(Program):
    """tests/e2e/programs/inner_late.c"""
    rounds_of_a_process = 1
    options = ("-r", "0")

    def ask(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        return [int(n) for n in self.process.stdout.readline().split()[1:]]

    def check(self, folder):
        """What it keeps from now on, against the profile."""
        path = folder / "kept.pb"
        for _ in range(100):  # until the first call has shown that it is an allocator
            path.unlink(missing_ok=True)
            self.report(["live", str(self.pid), "-o", str(path)])
            if any(" in inner_late" in row["name"] for row in self.rows(path, "--by", "heap")):
                break
        truth = self.ask(b"keep 100")
        path.unlink()
        self.report(["live", str(self.pid), "-o", str(path)])
        kept = [row["self"] for row in self.rows(path, "-n", "1000") if re.match("keep(_|$)", row["name"])]
        seen = [sum(row[metric]["value"] for row in kept) for metric in ("inuse_space", "inuse_objects")]
        return "" if seen == truth else f"it keeps {truth}, seen are {seen}"

    @staticmethod
    def report(arguments):
        return subprocess.run([str(COMMAND), *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout

    def rows(self, path, *options):
        return json.loads(self.report(["report", "--json", *options, str(path)]))["rows"]


def compiled(source, target, *options):
    subprocess.run(["cc", "-O1", "-g", "-pthread", "-o", target, *options, source, "-ldl"], check=True)
    return str(target)


def all_of(folder):
    """{name: function of the words in front of its command, which begins it}"""
    tests = ROOT / "tests"
    attached = compiled(tests / "tools/memprof/fixtures/attached.c", folder / "attached")
    inside = compiled(tests / "e2e/programs/inner_late.c", folder / "inner_late")
    plugin = compiled(tests / "e2e/programs/inner_plugin.c", folder / "inner_plugin.so", "-shared", "-fPIC")
    script = {name: folder / name for name in ("busy.py", "sleeping.py", "busy.js", "Busy.java")}
    for path, text in zip(script.values(), (PYTHON, SLEEPING, NODE, JAVA)):
        path.write_text(text)
    found = {
        "malloc in 4 threads": lambda before: Program([attached, "malloc"], before),
        "dlopen loop": lambda before: Program([attached, "dlopen", "libresolv.so.2"], before),
        "fork loop": lambda before: Program([attached, "fork"], before),
        "exec loop": lambda before: Passing([attached, "exec", "8", str(random.randrange(40000))], before),
        "end": lambda before: Passing([attached, "short", str(random.randrange(250))], before),
        "epoll_wait": lambda before: Program([attached, "epoll_wait"], before),
        "allocator inside, 8 threads": lambda before: Inside([inside], before),
        "allocator inside, fork, dlopen": lambda before: Inside([inside, "fork", "reload", plugin], before),
        "python3": lambda before: Program(["/usr/bin/python3", str(script["busy.py"]), "1"], before),
        "python3, 4 threads": lambda before: Program(["/usr/bin/python3", str(script["busy.py"]), "4"], before),
        "python3 sleeping": lambda before: Program(["/usr/bin/python3", str(script["sleeping.py"])], before),
    }
    if shutil.which("node"):
        found["node"] = lambda before: Program(["node", str(script["busy.js"])], before)
    if shutil.which("javac"):
        subprocess.run(["javac", "-d", folder, script["Busy.java"]], check=True)
        found["java"] = lambda before: Program(["java", "-cp", str(folder), "Busy"], before)
    return found | servers.all_of()
