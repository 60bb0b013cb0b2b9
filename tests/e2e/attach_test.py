# SPDX-License-Identifier: Apache-2.0
"""`memprof attach`: real programs, into which the library is loaded while they run; they go on as if nothing had been.

Where the machine refuses ptrace these tests are skipped.
"""
import os
import pathlib
import platform
import shutil
import signal
import struct
import subprocess
import time

import attaching
import e2e

PYTHON = """
import hashlib, json, sys, threading
over = []
def wait():
    sys.stdin.read()
    over.append(1)
threads = [threading.Thread(target=wait)]
def work():
    kept = []
    while not over:
        text = json.dumps({str(j): [j] * (j % 7) for j in range(50)}, sort_keys=True)
        assert hashlib.md5(text.encode()).hexdigest() == "DIGEST", text
        kept = kept[-100:] + [json.loads(text)]
threads += [threading.Thread(target=work) for _ in range(2)]
for t in threads: t.start()
print("ready", flush=True)
work()
for t in threads: t.join()
print("ok")
"""

# Says "ready"; on a line of input it holds 40 MB more and says so.
HOLDER = """
import sys
def hold():
    return [bytearray(1_000_000) for _ in range(40)]
held = hold()
print('ready', flush=True)
for line in sys.stdin:
    held += hold()
    print('more', flush=True)
print('ok')
"""

# On a line of input it maps 24 MiB that it keeps, and says so; what it had mapped before goes.
MAPPER = """
import mmap, sys
MIB = 1 << 20
def before():
    return mmap.mmap(-1, 40 * MIB)
def grow():
    kept = [mmap.mmap(-1, 16 * MIB), mmap.mmap(-1, 8 * MIB)]
    mmap.mmap(-1, 5 * MIB).close()
    return kept
old, kept = before(), []
print('ready', flush=True)
for line in sys.stdin:
    kept += grow()
    old.close()
    print('more', flush=True)
print('ok')
"""

NODE = """
let over = false;
process.stdin.on('end', () => { over = true; }).resume();
function work() {
  const text = JSON.stringify(Array.from({length: 500}, (_, i) => ({i, s: 'x'.repeat(i)})));
  if (JSON.parse(text)[7].s !== 'xxxxxxx') throw new Error('wrong');
  if (over) console.log('ok'); else setImmediate(work);
}
console.log('ready');
work();
"""

ALLOWED = 0x7fff0000
KILLS = 0x80000000


def filters_itself(number, result):
    """A Python program that puts a filter on itself: one system call has that result."""
    instructions = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, result), (6, 0, 0, ALLOWED)]
    code = b"".join(struct.pack("HBBI", *i) for i in instructions)
    return f"""
import ctypes, struct, sys
libc = ctypes.CDLL(None)
code = ctypes.create_string_buffer({code!r})
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("HxxxxxxQ", {len(instructions)}, ctypes.addressof(code)), 0, 0) == 0
print("ready", flush=True)
sys.stdin.read()
print("ok")
"""


class Attach(attaching.Test):
    def storm(self, process, rounds):
        for _ in range(rounds):
            self.assertIn("attached to", self.attach(process))
            self.assertIn("stopped in", self.attach(process, "--stop"))

    def test_threads_that_allocate(self):
        process = self.begin(e2e.program("attached"), "malloc")
        self.storm(process, 20)
        self.check_end(process)

    def test_loops_of_loading_forking_and_threads(self):
        for what in (["dlopen", "libresolv.so.2"], ["fork"], ["spawn"], ["threads"], ["traps"]):
            with self.subTest(what[0]):
                process = self.begin(e2e.program("attached"), *what)
                self.storm(process, 5)
                self.check_end(process)

    def test_waits_go_on(self):
        waits = ["nanosleep", "clock_nanosleep", "futex", "poll", "ppoll", "select"]
        if platform.machine() == "x86_64":  # elsewhere one in some hundred ends with EINTR, as after SIGSTOP
            waits += ["epoll_wait", "sigtimedwait", "semtimedop", "receive"]
        for wait in waits:
            with self.subTest(wait):
                process = self.begin(e2e.program("attached"), wait)
                self.storm(process, 3)
                self.check_end(process)

    def test_python_that_works_in_threads(self):
        digest = e2e.run([e2e.system_python(), "-c",
                          "import hashlib, json; print(hashlib.md5(json.dumps({str(j): [j] * (j % 7) for j in range(50)},"
                          " sort_keys=True).encode()).hexdigest())"]).stdout.decode().strip()
        process = self.begin(e2e.system_python(), "-c", PYTHON.replace("DIGEST", digest))
        self.storm(process, 5)
        self.check_end(process)

    def test_node(self):
        process = self.begin(e2e.need("node"), "-e", NODE)
        self.storm(process, 5)
        self.check_end(process)

    def test_a_program_that_executes_itself(self):
        process = subprocess.Popen([e2e.program("attached"), "exec", "400", "0"], stdout=subprocess.PIPE, env=e2e.plain_environment())
        said = set()
        while process.poll() is None:
            done = e2e.run([e2e.COMMAND, "attach", str(process.pid)])
            self.assertIn(done.returncode, (0, 1), done.stderr)
            said.add(done.stderr[:30])
        self.assertEqual((process.returncode, process.stdout.read()), (0, b"ok 0\n"), said)
        process.stdout.close()

    def test_a_budget_begins_with_a_rate_of_its_own(self):
        process = self.begin(e2e.program("attached"), "malloc")
        self.assertIn("; a rate within the budget; recording allocations", self.attach(process, "--budget", "0.5%"))

    def test_within_a_budget(self):
        process = self.begin(e2e.program("attached"), "malloc")
        self.assertRegex(self.attach(process, "-r", "16k", "--budget", "1%"), "rate 16.0 KiB at first, within the budget")
        time.sleep(0.5)
        path = self.folder / "now.pb.gz"
        self.memprof("live", str(process.pid), "-o", path)
        self.assertEqual(self.report(path)["budget_ppm"], 10000)
        self.assertIn("stopped in", self.attach(process, "--stop"))
        self.assertIn("keeps the budget that it had", self.attach(process, "--budget", "2%", status=1))
        self.assertIn("attached to", self.attach(process))
        self.check_end(process)

    def test_several_at_once(self):
        """One comes first; each of the others says why it does not."""
        process = self.begin(e2e.program("attached"), "malloc")
        for _ in range(10):
            attaches = [subprocess.Popen([e2e.COMMAND, "attach", str(process.pid)], stderr=subprocess.PIPE, text=True,
                                         env=e2e.plain_environment()) for _ in range(4)]
            said = [(one.communicate()[1], one.returncode) for one in attaches]
            self.assertEqual([status for _, status in said].count(0), 1, said)
            for text, status in said:
                if status != 0:
                    self.assertRegex(text, "is at work there already|is traced by process|may not be traced", said)
            self.assertIn("stopped in", self.attach(process, "--stop"))
        self.check_end(process)

    def test_what_is_seen(self):
        """What was there before is not known; what comes is, with Python's functions, until it is stopped."""
        process = self.begin(e2e.system_python(), "-c", HOLDER)
        time.sleep(1.1)  # a process that memprof was in at its start is not told from a younger one
        self.assertIn("rate 64.0 KiB; recording allocations from now on", self.attach(process, "-r", "64k"))
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"more\n")
        path = self.folder / "now.pb.gz"
        self.memprof("live", str(process.pid), "-o", path)
        # 40 MB; odds against an error of 7 standard deviations: 1 to 10^11.
        report = self.report(path)
        self.assertAlmostEqual(report["totals"]["inuse_space"]["value"], 40_000_000, delta=7 * (41e6 * 65536) ** 0.5 + 1_000_000)
        self.assertRegex(self.memprof("report", "--details", path).stdout.decode(), r"Seen since the process had run for \d+\.\d s: what it alloc")
        self.assertTrue(any("hold" in str(row) for row in report["rows"][:3]), report["rows"][:3])
        self.assertIn("is at work there already", self.attach(process, status=1))
        self.attach(process, "--stop")
        self.assertIn("is not at work there", self.attach(process, "--stop", status=1))
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"more\n")
        later = self.folder / "later.pb.gz"
        self.memprof("live", str(process.pid), "-o", later)
        # The 40 MB that came after the stop are not in it. Blocks of the interpreter may have been freed in between: at 64k some of
        # 64 KiB each, of which 1 MB would be 15.
        self.assertAlmostEqual(self.report(later)["totals"]["inuse_space"]["value"], report["totals"]["inuse_space"]["value"], delta=1_000_000)
        self.check_end(process)

    def map_more(self, process):
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"more\n")

    def mapped_by_grow(self, process):
        path = self.folder / "now.pb.gz"
        self.memprof("live", str(process.pid), "-o", path, "--force")
        rows = {row["name"]: row for row in self.report(path, "--metric", "mapped_space")["rows"]}
        self.assertNotIn("before", rows)
        return rows["grow"]["cumulative"]["mapped_space"]["value"] / (1 << 20)

    def test_mappings(self):
        """Exactly what is mapped from then on, but not while it is stopped."""
        process = self.begin(e2e.system_python(), "-c", MAPPER)
        self.attach(process, "--mmap")
        self.map_more(process)
        self.assertEqual(self.mapped_by_grow(process), 24)
        self.attach(process, "--stop")
        self.map_more(process)
        self.assertEqual(self.mapped_by_grow(process), 24)
        self.attach(process, "--mmap")
        self.map_more(process)
        self.assertEqual(self.mapped_by_grow(process), 48)
        self.check_end(process)
        other = self.begin(e2e.system_python(), "-c", MAPPER)
        self.attach(other)
        self.attach(other, "--stop")
        self.assertIn("was begun there without --mmap", self.attach(other, "--mmap", status=1))
        self.check_end(other)

    def test_for_a_while(self):
        process = self.begin(e2e.system_python(), "-c", HOLDER)
        path = self.folder / "out.%p.pb.gz"
        done = subprocess.Popen([e2e.COMMAND, "attach", str(process.pid), "-r", "64k", "--for", "30s", "-o", path],
                                stderr=subprocess.PIPE, env=e2e.plain_environment())
        self.assertIn(b"attached to", done.stderr.readline())
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"more\n")
        done.send_signal(signal.SIGINT)  # does not wait for all of the 30 s
        _, said = done.communicate(timeout=e2e.WATCHDOG_S)
        self.assertEqual(done.returncode, 0, said)
        written = self.folder / f"out.{process.pid}.pb.gz"
        self.assertIn(f"wrote {written}".encode(), said)
        self.assertAlmostEqual(self.report(written)["totals"]["inuse_space"]["value"], 40_000_000,
                               delta=7 * (41e6 * 65536) ** 0.5 + 1_000_000)
        self.assertIn("is not at work there", self.attach(process, "--stop", status=1))
        self.assertIn("already exists", self.attach(process, "--for", "1s", "-o", str(written), status=2))
        self.check_end(process)

    def test_a_process_that_ends_meanwhile(self):
        process = self.begin(e2e.system_python(), "-c", HOLDER)
        path = self.folder / "out.pb.gz"
        done = subprocess.Popen([e2e.COMMAND, "attach", str(process.pid), "-r", "64k", "--for", "10m", "-o", path],
                                stderr=subprocess.PIPE, env=e2e.plain_environment())
        self.assertIn(b"attached to", done.stderr.readline())
        process.stdin.write(b"\n")
        self.check_end_after_more(process)
        _, said = done.communicate(timeout=e2e.WATCHDOG_S)
        self.assertEqual(done.returncode, 0, said)
        self.assertIn(b"has ended; the profile is as of then", said)
        self.assertGreater(self.report(path)["totals"]["alloc_space"]["value"], 30_000_000)

    def check_end_after_more(self, process):
        said, _ = process.communicate(timeout=e2e.WATCHDOG_S)
        self.assertEqual((process.returncode, said), (0, b"more\nok\n"))

    def test_filters_of_system_calls(self):
        madvise, openat, ftruncate = (28, 257, 77) if platform.machine() == "x86_64" else (233, 56, 46)
        for number, result, refused in ((madvise, KILLS, "ends it for madvise"), (openat, KILLS, "ends it for openat"),
                                        (madvise, 0x50001, None), (ftruncate, 0x50001, None)):
            with self.subTest(number=number, result=result):
                process = self.begin(e2e.system_python(), "-c", filters_itself(number, result))
                done = e2e.run([e2e.COMMAND, "attach", str(process.pid)])
                said = done.stderr.decode()
                if refused is not None and "cannot be read from here" not in said:
                    self.assertIn(refused, said)
                self.assertEqual(done.returncode, 1 if refused or "cannot be read" in said else 0, said)
                self.check_end(process)

    def test_a_process_that_sees_other_files(self):
        hide, folder = self.other_files()
        program = shutil.copy2(e2e.program("attached"), folder)
        outer = self.begin(*hide, program, "malloc")
        pid = self.only_child(outer)
        for _ in range(3):
            self.memprof("attach", pid)
            self.assertIn("memfd:libmemprof.so", pathlib.Path(f"/proc/{pid}/maps").read_text())
            self.memprof("live", pid, "-n", "1", "--interval", "0.1")
            self.memprof("attach", "--stop", pid)
        self.assertEqual([f for f in os.listdir(f"/proc/{pid}/fd") if "memfd" in os.readlink(f"/proc/{pid}/fd/{f}")], [])
        self.check_end(outer)

    def test_live_says_how(self):
        process = self.begin(e2e.program("attached"), "nanosleep")
        done = self.memprof("live", str(process.pid), status=2)
        self.assertIn(f"`memprof attach {process.pid}` starts it there", done.stderr.decode())
        self.assertIn(f"memprof attach {process.pid}", self.memprof("doctor", str(process.pid), status=1).stdout.decode())
        self.attach(process)
        self.memprof("live", str(process.pid), "--interval", "0.1")
        self.check_end(process)


if __name__ == "__main__":
    e2e.main()
