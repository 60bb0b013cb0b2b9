# SPDX-License-Identifier: Apache-2.0
"""Processes that see other process ids or other files than memprof does: what containers are made of.

They need namespaces, which a test may not be allowed to make: then it is skipped.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess

import e2e

NEW_IDS = ["unshare", "--fork", "--pid", "--kill-child", "--mount-proc"]

# Holds 40 MB, says which process it is, and forks a child that allocates nothing of its own.
HOLDER = """
import os, sys
held = [bytearray(1_000_000) for _ in range(40)]
child = os.fork()
if child == 0:
    import signal
    signal.pause()
print(os.getpid(), child, flush=True)
sys.stdin.readline()
os.kill(child, 9)
"""


def inside(pid):
    """The id of a process in its own namespace."""
    return pathlib.Path(f"/proc/{pid}/status").read_text().split("NSpid:")[1].splitlines()[0].split()[-1]


class Container(e2e.Test):
    def setUp(self):
        super().setUp()
        e2e.need("unshare")
        tried = e2e.run([*NEW_IDS, "true"])
        if tried.returncode != 0:
            self.skipTest(f"no namespace may be made here: {tried.stderr.decode().strip()}")

    def begin(self, command, environment, **options):
        """The process that says "ready" or two numbers, as (Popen, its first line)."""
        process = subprocess.Popen(list(map(str, command)), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, process.stdout.readline().decode()

    def below(self, pid):
        """The processes below one, outermost first."""
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(c) for c in children] + [d for c in children for d in self.below(int(c))]

    def test_process_with_another_id(self):
        environment = e2e.preloaded(self.folder / "x.%p.pb", "64k")
        process, said = self.begin([*NEW_IDS, e2e.system_python(), "-c", HOLDER], environment)
        self.assertEqual(said, "1 2\n")
        holder, child = self.below(process.pid)
        self.assertEqual((inside(holder), inside(child)), ("1", "2"))
        shown = self.memprof("live", str(holder)).stdout.decode()
        self.assertIn(f"(pid {holder})", shown)
        self.assertRegex(shown, r"Live: (3[89]|4[0-3])\.\d MiB")
        self.memprof("live", str(holder), "-o", str(self.folder / "now.%p.pb"))
        written = self.report(self.folder / f"now.{holder}.pb")
        # 40 MB and what the interpreter holds; odds against an error of 7 standard deviations: 1 to 10^11.
        self.assertAlmostEqual(written["totals"]["inuse_space"]["value"], 41_500_000, delta=7 * (42e6 * 65536) ** 0.5 + 2_000_000)
        # Its parent's data are not the child's, though it has them mapped.
        done = e2e.run([e2e.COMMAND, "live", str(child)])
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"has no memprof data", done.stderr)
        # The list knows that it runs, and nobody cleans it away.
        listed = self.memprof("list").stdout.decode()
        self.assertRegex(listed, r"\b1 +python3\S* +runs ")
        self.memprof("clean", "--all")
        self.memprof("live", str(holder))
        os.kill(holder, signal.SIGKILL)
        process.wait()
        self.assertRegex(self.memprof("list").stdout.decode(), r"\b1 +python3\S* +in a container\? ")
        self.memprof("clean", "--all")

    def test_run(self):
        """Of a process that was killed in there, and one that ended; neither "still runs"."""
        for ending, status in (("os._exit(3)", 3), ("os.kill(os.getpid(), 9)", 137)):
            with self.subTest(ending):
                path = self.folder / "out.pb"
                script = f"import os; held = [bytearray(1_000_000) for _ in range(40)]; os.fork() or {ending}; {ending}"
                # A shell is 1: nobody's signals but the kernel's end that one.
                done = e2e.run([e2e.COMMAND, "run", "-r", "64k", "--force", "-o", path, "--", *NEW_IDS, "sh", "-c",
                                f"{e2e.system_python()} -c '{script}'; exit $?"])
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertNotIn(b"still runs", done.stderr)
                self.assertNotIn(b"could not be read", done.stderr)
                # Odds as above.
                total = max(self.report(p)["totals"]["inuse_space"]["value"] for p in self.folder.glob("out*.pb"))
                self.assertAlmostEqual(total, 41_500_000, delta=7 * (42e6 * 65536) ** 0.5 + 2_000_000)

    def test_many_short_ones_are_collected_while_the_run_goes_on(self):
        script = " ".join(f"{' '.join(NEW_IDS)} {e2e.program('ending')} return;" for _ in range(5))
        arenas = self.folder / "arenas"
        arenas.mkdir()
        process, _ = self.begin([e2e.COMMAND, "run", "-r", "0", "-o", self.folder / "out.%p.pb", "--", "sh", "-c",
                                 f"{script} echo ready; read line"],
                                e2e.plain_environment(MEMPROF_ARENA_DIR=str(arenas)), stderr=subprocess.DEVNULL)
        left = None
        for _ in range(100):
            left = [p.name for p in arenas.rglob("memprof-*.arena")]
            if len(left) <= 1:  # that of the shell
                break
            subprocess.run(["sleep", "0.1"], check=True)
        self.assertLessEqual(len(left), 1, left)
        process.communicate(b"\n", timeout=e2e.WATCHDOG_S)

    def test_process_with_another_root(self):
        """Its files, the library and its names among them, are not where ours are."""
        if os.getuid() != 0:
            self.skipTest("needs root, for chroot")
        root = self.folder / "root"
        for path in (e2e.program("publishes_truth"), e2e.LIBRARY):
            listed = subprocess.run(["ldd", path], stdout=subprocess.PIPE, text=True, check=True).stdout
            for file in {str(path), *re.findall(r"(/\S+) \(0x", listed)}:
                # Ours where only that root has them.
                to = root / ("inside" if file == str(path) else os.path.dirname(file)[1:])
                to.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, to)
        (root / "tmp").mkdir()
        environment = e2e.preloaded("/tmp/x.%p.pb", "0")
        environment.update(LD_PRELOAD=f"/inside/{os.path.basename(e2e.LIBRARY)}", MEMPROF_ARENA_DIR="/tmp")
        (root / "truth").touch()
        process = subprocess.Popen([*NEW_IDS[:-1], "chroot", root, "/inside/publishes_truth", "/truth"], env=environment,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for _ in range(200):
            if list((root / "tmp").glob("*.arena")) and self.below(process.pid):
                break
            subprocess.run(["sleep", "0.05"], check=True)
        (target,) = self.below(process.pid)
        self.assertFalse(os.path.exists("/inside"))
        subprocess.run(["sleep", "0.5"], check=True)
        self.memprof("live", str(target), "-o", str(self.folder / "now.pb"))
        names = {row["name"] for row in self.report(self.folder / "now.pb", "--metric", "alloc_space")["rows"]}
        self.assertIn("site_0", names)
        self.assertIn("(pid %d)" % target, self.memprof("live", str(target)).stdout.decode())
        os.kill(target, signal.SIGKILL)


if __name__ == "__main__":
    e2e.main()
