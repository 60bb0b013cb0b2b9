# SPDX-License-Identifier: Apache-2.0
"""Servers of a master and workers, as gunicorn is one: which profile is to be looked at, how live finds them, and their threads."""
import os
import pathlib
import signal
import subprocess
import textwrap

import e2e

PYTHON = e2e.system_python()
BLOCK = 4_000_000
# A master that holds little, and two workers: the second one holds most.
SERVER = f"""\
    import os, signal, sys, threading
    def handle(blocks):
        return [bytearray({BLOCK}) for _ in range(blocks)]
    def serve(blocks):
        threading.current_thread().kept = handle(blocks)
    def work(blocks, wait):
        thread = threading.Thread(target=serve, args=(blocks,))
        thread.start()
        thread.join()
        kept = thread.kept + handle(1)
        print("ready", flush=True)
        if wait:
            signal.pause()
    master = bytearray({2 * BLOCK})
    waits = "wait" in sys.argv
    workers = []
    for blocks in (2, 10):
        worker = os.fork()
        if worker == 0:
            work(blocks, waits)
            sys.exit()
        workers.append(worker)
        if not waits:
            os.waitpid(worker, 0)
    if waits:
        signal.pause()
"""


class Servers(e2e.Test):
    def script(self):
        path = self.folder / f"server-{os.getpid()}"  # a name that nothing else has
        path.write_text(f"#!{PYTHON}\n" + textwrap.dedent(SERVER))
        path.chmod(0o755)
        return path

    def test_the_process_that_holds_the_memory_is_to_be_looked_at(self):
        done = self.memprof("run", "-r", "0", "-o", "out.%p.pb", "--", PYTHON, self.script(), cwd=self.folder)
        said = done.stderr.decode()
        path = self.folder / said.rpartition("next: memprof report ")[2].strip()
        self.assertTrue(path.is_file(), said)
        rows = {r["name"]: r["self"]["peak_space"]["value"] // BLOCK for r in self.report(path)["rows"]}
        self.assertTrue(any("handle" in name or "listcomp" in name for name, blocks in rows.items() if blocks >= 10), rows)

    def test_live_finds_a_script_with_all_its_processes(self):
        script = self.script()
        environment = e2e.preloaded(self.folder / "x.%p.pb", "64k", MEMPROF_FOLLOW_FORK="1")
        master = subprocess.Popen([script, "wait"], env=environment, stdout=subprocess.PIPE, cwd=self.folder, start_new_session=True)
        self.addCleanup(master.stdout.close)
        self.addCleanup(master.wait)
        self.addCleanup(os.killpg, master.pid, signal.SIGKILL)
        for _ in range(2):
            self.assertEqual(master.stdout.readline(), b"ready\n")
        by_process = self.memprof("live", "--name", script.name, "--by", "process").stdout.decode()
        program = pathlib.Path(os.path.realpath(PYTHON)).name
        rows = by_process.split("\n\n")[1].splitlines()
        self.assertEqual(sum(f"  {program} " in row for row in rows), 3, by_process)
        done = e2e.run([e2e.COMMAND, "live", "--name", script.name, "-o", self.folder / "now.pb"])
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"there are 3; give one of the ids", done.stderr)
        self.assertEqual(e2e.run([e2e.COMMAND, "live", "--name", script.name + "x"]).returncode, 2)

    def test_threads_are_rows(self):
        self.memprof("run", "-r", "0", "--merge", "-o", "out.pb", "--", PYTHON, self.script(), cwd=self.folder)
        rows = {r["name"]: r for r in self.report(self.folder / "out.pb", "--by", "thread")["rows"]}
        self.assertGreaterEqual(rows["serve"]["self"]["alloc_space"]["value"], 12 * BLOCK)
        self.assertTrue(rows["serve"]["file"].endswith(self.script().name))
        self.assertGreaterEqual(rows["[main thread]"]["self"]["alloc_space"]["value"], 4 * BLOCK)
        self.assertLess(rows["[main thread]"]["self"]["alloc_space"]["value"], 12 * BLOCK)
        text = self.memprof("report", self.folder / "out.pb", "--by", "thread").stdout.decode()
        self.assertIn("[main thread]", text)


if __name__ == "__main__":
    e2e.main()
