# SPDX-License-Identifier: Apache-2.0
"""`memprof attach` to programs whose threads allocate by an allocator inside a module all the while.

At rate 0 the numbers are the truth. Where the machine refuses ptrace these tests are skipped.
"""
import os
import pathlib
import platform
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

import attaching
import e2e

ROUNDS = int(os.environ.get("MEMPROF_LATE_HOOKS_ROUNDS", "4"))

MIMALLOC = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.mi_malloc.restype = ctypes.c_void_p
library.mi_malloc.argtypes = [ctypes.c_size_t]
library.mi_free.argtypes = [ctypes.c_void_p]
def hold():
    return [library.mi_malloc(1000 + i) for i in range(500)]
held = hold()
print("ready", flush=True)
for line in sys.stdin:
    if line == "keep\\n":
        held += hold()
    else:
        while held: library.mi_free(held.pop())
    print("done", flush=True)
print("ok")
"""


@unittest.skipUnless(platform.machine() == "x86_64", "hooks are written for x86-64")
class LateHooks(attaching.Test):
    def begin_late(self, *arguments):
        return self.begin(e2e.program("inner_late"), *arguments)

    def ask(self, process, line):
        process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()
        return [int(n) for n in process.stdout.readline().split()[1:]]

    def look(self, process):
        path = self.folder / "look.pb"
        path.unlink(missing_ok=True)
        self.memprof("live", str(process.pid), "-o", path)
        return path

    def kept(self, process, pattern="keep(_|$)"):
        """Bytes and blocks that are live in functions whose names begin so."""
        rows = [row for row in self.report(self.look(process), "-n", "1000")["rows"]
                if re.match(pattern, row["name"])]
        return [sum(row["self"][metric]["value"] for row in rows) for metric in ("inuse_space", "inuse_objects")]

    def heaps(self, process):
        return {row["name"]: row["self"] for row in self.report(self.look(process), "--by", "heap")["rows"]}

    def wait_until_tried(self, process):
        """Until the first call of the allocator has shown what it is: what comes then is seen."""
        for _ in range(200):
            if "rpmalloc in inner_late" in self.heaps(process):
                return
            time.sleep(0.02)
        self.fail("the allocator is not seen")

    def test_exact_while_threads_allocate(self):
        process = self.begin_late()
        before = self.ask(process, "keep 100")
        said = self.attach(process, "-r", "0")
        self.assertIn("rpmalloc in inner_late is hooked", said)
        self.wait_until_tried(process)
        truth = self.ask(process, "keep 200")
        self.assertEqual(self.kept(process), [a - b for a, b in zip(truth, before)])
        self.ask(process, "free")  # also what nobody has seen coming
        self.assertEqual(self.kept(process), [0, 0])
        self.assertIn("stopped in", self.attach(process, "--stop"))
        self.assertEqual(self.ask(process, "keep 10")[1], 30)
        self.assertEqual(self.kept(process), [0, 0])
        self.assertNotIn("hooked", self.attach(process, "-r", "0"))  # they are there
        self.ask(process, "free")
        self.assertEqual(self.ask(process, "keep 10")[1], 30)
        self.assertEqual(self.kept(process)[1], 30)
        self.check_end(process)

    def test_again_and_again_while_libraries_are_loaded_and_children_forked(self):
        process = self.begin_late("fork", "reload", e2e.program("inner_plugin.so"))
        self.attach(process, "-r", "0")
        for _ in range(ROUNDS):
            self.attach(process, "--stop")
            self.attach(process, "-r", "0")
        self.wait_until_tried(process)
        truth = self.ask(process, "keep 100")
        self.assertEqual(self.kept(process), truth)
        self.check_end(process)

    def test_new_processes(self):
        """The first attach, which writes the jumps, to a process at any moment."""
        for _ in range(ROUNDS):
            process = self.begin_late("reload", e2e.program("inner_plugin.so"))
            self.assertIn("rpmalloc in inner_late is hooked", self.attach(process, "-r", "0"))
            self.wait_until_tried(process)
            truth = self.ask(process, "keep 10")
            self.assertEqual(self.kept(process), truth)
            self.check_end(process)

    def test_a_library_that_is_loaded_after_it(self):
        process = self.begin_late()
        self.attach(process, "-r", "0")
        truth = self.ask(process, f"load {e2e.program('inner_plugin.so')} 100")
        self.assertEqual(self.kept(process, "plugin_keep")[0], truth[0])
        self.assertIn("rpmalloc in inner_plugin.so", self.heaps(process))
        self.check_end(process)

    def test_names_in_a_debug_file_alone(self):
        place = pathlib.Path("/usr/lib/debug")
        if not place.is_dir() or e2e.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", place]).returncode != 0:
            self.skipTest("nothing may be mounted there")
        program, debug = self.folder / "stripped", self.folder / "stripped.debug"
        shutil.copy2(e2e.program("inner_late"), program)
        for command in (["objcopy", "--only-keep-debug", program, debug], ["strip", "--strip-all", program]):
            subprocess.run(command, check=True)
        notes = subprocess.run(["readelf", "-n", program], check=True, stdout=subprocess.PIPE, text=True).stdout
        identity = re.search("Build ID: ([0-9a-f]+)", notes)[1]
        folder = place / ".build-id" / identity[:2]
        process = self.begin("unshare", "--mount", "sh", "-c",
                             f"mount -t tmpfs none {place} && mkdir -p {folder} && cp {debug} {folder}/{identity[2:]}.debug && exec {program}")
        self.assertIn("rpmalloc in stripped is hooked", self.attach(process, "-r", "0"))
        for _ in range(200):
            if "rpmalloc in stripped" in self.heaps(process):
                break
            time.sleep(0.02)
        before = self.heaps(process)["rpmalloc in stripped"]["inuse_objects"]["value"]
        truth = self.ask(process, "keep 2000")
        kept = self.heaps(process)["rpmalloc in stripped"]["inuse_objects"]["value"]
        self.assertAlmostEqual(kept - before, truth[1], delta=truth[1] / 5)  # its threads hold some, now more, now less
        self.check_end(process)

    def test_names_that_lie(self):
        process = self.begin_late()
        lying = f"load {e2e.program('inner_lying.so')} 100"
        self.assertEqual(self.ask(process, lying), [500])
        self.attach(process, "-r", "0")
        self.assertEqual(self.ask(process, lying), [500])
        self.assertNotIn("rpmalloc in inner_lying.so", self.heaps(process))
        self.check_end(process)

    def test_off(self):
        process = self.begin_late()
        code = self.code_of(process)
        self.assertNotIn("hooked", self.attach(process, "-r", "0", "--no-inline-hooks"))
        self.ask(process, "keep 10")
        self.assertEqual(self.kept(process), [0, 0])
        self.assertEqual(self.code_of(process), code)
        self.attach(process, "--stop")
        self.assertIn("rpmalloc in inner_late is hooked", self.attach(process, "-r", "0"))
        self.assertNotEqual(self.code_of(process), code)
        self.check_end(process)

    def code_of(self, process):
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
            start, end = next(line.split()[0].split("-") for line in maps if " r-xp " in line and "inner_late" in line)
        with open(f"/proc/{process.pid}/mem", "rb") as memory:
            memory.seek(int(start, 16))
            return memory.read(int(end, 16) - int(start, 16))

    def test_the_command_is_killed(self):
        """At any moment; the program goes on, and the next one does all of it."""
        random.seed(1)
        process = self.begin_late()
        for _ in range(ROUNDS):
            command = subprocess.Popen([e2e.COMMAND, "attach", str(process.pid), "-r", "0"], stderr=subprocess.DEVNULL,
                                       env=e2e.plain_environment())
            time.sleep(random.uniform(0.01, 0.15))
            command.send_signal(signal.SIGKILL)
            command.wait()
        time.sleep(2.5)  # the thread that makes the calls waits 2 s for a command that is gone
        done = e2e.run([e2e.COMMAND, "attach", str(process.pid), "-r", "0"])
        self.assertTrue(done.returncode == 0 or b"at work there already" in done.stderr, done.stderr)
        self.attach(process, "--stop")
        self.attach(process, "-r", "0")
        self.wait_until_tried(process)
        truth = self.ask(process, "keep 100")
        self.assertEqual(self.kept(process), truth)
        self.check_end(process)

    def test_mimalloc(self):
        process = self.begin(e2e.system_python(), "-c", MIMALLOC, e2e.allocator("mimalloc"))
        self.assertRegex(self.attach(process, "-r", "0"), r"mimalloc in libmimalloc\S* is hooked")
        heap = lambda: next((h for name, h in self.heaps(process).items() if name.startswith("mimalloc in")), None)
        self.ask(process, "keep")
        # The first block shows what the functions are, and is seen with the others.
        self.assertEqual((heap()["inuse_objects"]["value"], heap()["inuse_space"]["value"]), (500, 500 * 1000 + 499 * 250))
        self.ask(process, "free")
        self.assertEqual(heap()["inuse_objects"]["value"], 0)
        self.check_end(process)


if __name__ == "__main__":
    e2e.main()
