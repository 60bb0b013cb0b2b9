# SPDX-License-Identifier: Apache-2.0
"""`memprof live --record` and `memprof run --every`: memory over time, of a process that grows, and what becomes of its looks."""
import gzip
import json
import signal
import subprocess
import time

import e2e
import live_page_test

# Takes 10 MB more with each line that it reads, and keeps it.
GROWER = """
import sys
held = []
def keep():
    for _ in range(10):
        held.append(bytearray(1_000_000))
    print('more', flush=True)
keep()
for line in sys.stdin:
    keep()
"""
MORE_BYTES = 10_000_000


class Series(e2e.Test):
    def begin(self):
        process = subprocess.Popen([e2e.system_python(), "-c", GROWER], env=e2e.preloaded(self.folder / "x.%p.pb", "16k"),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"more\n")
        return process

    def more(self, process):
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"more\n")

    def record(self, process, *arguments):
        recorder = subprocess.Popen([e2e.COMMAND, "live", str(process.pid), "--record", "x.series", "--every", "200ms", *arguments],
                                    env=e2e.plain_environment(), stderr=subprocess.PIPE, cwd=self.folder)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        return recorder

    def wait_for_looks(self, count, is_wanted=lambda look: True):
        """At least so many of those that are wanted."""
        until = time.monotonic() + e2e.WATCHDOG_S
        while time.monotonic() < until:
            if (self.folder / "x.series").exists() and sum(map(is_wanted, self.series()["looks"])) >= count:
                return
            time.sleep(0.05)
        self.fail("no look was taken")

    def series(self, name="x.series"):
        return json.loads(self.memprof("report", self.folder / name, "--json").stdout)

    def live(self, *arguments):
        return self.report(self.folder / "x.series", *arguments)["totals"]["inuse_space"]["value"]

    def test_a_process_that_grows(self):
        process = self.begin()
        recorder = self.record(process)
        self.wait_for_looks(1)
        for _ in range(4):
            self.more(process)
        self.wait_for_looks(len(self.series()["looks"]) + 2)
        recorder.send_signal(signal.SIGINT)
        said = recorder.communicate()[1].decode()
        self.assertEqual(recorder.returncode, 0, said)
        self.assertIn("next: memprof report x.series", said)
        series = self.series()
        self.assertEqual(series["pid"], process.pid)
        self.assertEqual(series["cut_bytes"], 0)
        first, last = series["looks"][0], series["looks"][-1]
        # Odds against an error of 7 standard deviations: 1 to 10^11.
        deviation = 7 * (50e6 * 16384) ** 0.5
        growth = last["totals"]["inuse_space"]["value"] - first["totals"]["inuse_space"]["value"]
        self.assertAlmostEqual(growth, 4 * MORE_BYTES, delta=2 * deviation)
        self.assertGreater(last["system"]["rss_bytes"], 5 * MORE_BYTES)
        self.assertEqual(last["sites"][0]["function"], "keep")
        # The looks themselves, by their moments, are what their figures say.
        for moment, look in (("first", first), ("last", last)):
            self.assertAlmostEqual(self.live("--at", moment), look["totals"]["inuse_space"]["value"], delta=1)
        self.assertEqual(self.live("--at", "+0.01s"), self.live("--at", "first"))
        text = self.memprof("report", self.folder / "x.series").stdout.decode()
        self.assertIn("resident (RSS)", text)
        self.assertIn("keep", text)
        out = self.folder / "look.pb.gz"
        self.memprof("export", self.folder / "x.series", "--at", "last", "-o", out)
        self.assertAlmostEqual(e2e.Profile(out).total("inuse_space"), last["totals"]["inuse_space"]["value"], delta=1)
        diff = json.loads(self.memprof("diff", str(self.folder / "x.series@first"), str(self.folder / "x.series@last"), "--json").stdout)
        self.assertAlmostEqual(diff["totals"]["inuse_space"]["change"]["value"], growth, delta=2)

    def test_the_end_of_the_process_is_the_last_look(self):
        process = self.begin()
        recorder = self.record(process)
        self.wait_for_looks(1)
        self.more(process)
        process.stdin.close()
        said = recorder.communicate()[1].decode()
        self.assertEqual(recorder.returncode, 0, said)
        self.assertIn(f"process {process.pid} has ended", said)
        last = self.series()["looks"][-1]
        self.assertGreater(last["totals"]["inuse_space"]["value"], 1.5 * MORE_BYTES)
        self.assertNotIn("rss_bytes", last["system"])

    def test_a_page_follows_what_is_recorded(self):
        process = self.begin()
        recorder = self.record(process)
        self.wait_for_looks(1)
        viewer = subprocess.Popen([e2e.COMMAND, "view", "x.series", "--no-open"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True, env=e2e.plain_environment(), cwd=self.folder)
        self.addCleanup(viewer.stdout.close)
        self.addCleanup(viewer.wait)
        self.addCleanup(viewer.send_signal, signal.SIGINT)
        watching = live_page_test.Viewer(viewer.stdout.readline().strip())
        self.addCleanup(watching.close)
        before = watching.next().total("inuse_space")
        self.assertEqual(before, self.live("--at", "first"))
        self.more(process)
        after = watching.until(lambda told: isinstance(told, live_page_test.Live) and told.total("inuse_space") > before + 0.9 * MORE_BYTES)
        timeline = after.facts["live"]["timeline"]
        self.assertEqual({len(column) for column in timeline.values()}, {len(timeline["seconds"])})
        self.assertEqual(timeline["seconds"], sorted(timeline["seconds"]))
        self.assertGreater(timeline["live"][-1], timeline["live"][0] + 0.9 * MORE_BYTES)
        self.assertGreater(timeline["resident"][0], 0)

        # What changed between the first look and that one, as the page asks for it.
        last = round(1000 * timeline["seconds"][-1])
        watching.connection.close()
        watching.connection.request("GET", watching.url.path + f"{after.facts['live']['between']}0-{last}")
        answer = watching.connection.getresponse()
        self.assertEqual(answer.status, 200)
        difference = json.loads(self.memprof("diff", "x.series@first", "x.series@last", "--json", cwd=self.folder).stdout)
        self.assertIn("keep", [row["name"] for row in difference["rows"]])
        facts = gzip.decompress(answer.read())
        self.assertIn(b'"name":"keep"', facts)
        watching.connection.close()

        recorder.send_signal(signal.SIGINT)
        recorder.communicate()
        later = live_page_test.Viewer(watching.url.geturl())
        self.addCleanup(later.close)
        self.assertIn("the recording has ended", later.until(lambda told: isinstance(told, dict) and told["ending"])["ending"])
        self.assertEqual(later.live.total("inuse_space"), self.live("--at", "last"))

    def test_a_run_of_several_processes(self):
        script = self.folder / "two.py"
        script.write_text("import subprocess, sys, time\n"
                          "held = [bytearray(1_000_000) for _ in range(10)]\n"
                          "child = 'import sys; held = [bytearray(1_000_000) for _ in range(20)]; sys.stdin.read()'\n"
                          "subprocess.run([sys.executable, '-c', child])\n")
        run = subprocess.Popen([e2e.COMMAND, "run", "-r", "16k", "--every", "100ms", "--record", "x.series", "-o", "out.pb.gz", "--",
                                e2e.system_python(), script], env=e2e.plain_environment(), stdin=subprocess.PIPE,
                               stderr=subprocess.PIPE, cwd=self.folder)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        # What both hold. Odds against an error of 7 standard deviations: 1 to 10^11.
        self.wait_for_looks(1, lambda look: look["processes"] == 2 and look["totals"]["inuse_space"]["value"] >
                            30e6 - 7 * (30e6 * 16384) ** 0.5)
        said = run.communicate()[1].decode()
        self.assertEqual(run.returncode, 0, said)
        self.assertIn("next: memprof report x.series", said)
        most = max(look["totals"]["inuse_space"]["value"] for look in self.series()["looks"])
        self.assertLess(most, 30e6 + 7 * (30e6 * 16384) ** 0.5 + 4e6)
        rows = self.report(self.folder / "x.series", "--at", "peak", "--by", "process")["rows"]
        self.assertEqual(len(rows), 2)

    def test_wrong_use(self):
        process = self.begin()
        (self.folder / "mine.series").write_text("mine")
        for arguments, what in ((["live", str(process.pid), "--record", "x.pb.gz"], "must end in .series"),
                                (["live", str(process.pid), "--every", "5s"], "add --record FILE.series"),
                                (["live", str(process.pid), "--record", "x.series", "--tree"], "--tree: not with --record"),
                                (["live", str(process.pid), "--record", "mine.series"], "file already exists"),
                                (["report", "mine.series", "--at", "last"], "is no series"),
                                (["run", "--limit", "1m", "true"], "add --every TIME"),
                                (["run", "--every", "1ms", "true"], "from 100ms to 31d")):
            done = self.memprof(*arguments, status=2, cwd=self.folder)
            self.assertIn(what, done.stderr.decode())
        self.assertEqual((self.folder / "mine.series").read_text(), "mine")
        self.memprof("live", str(process.pid), "-o", "now.pb.gz", cwd=self.folder)
        done = self.memprof("report", "now.pb.gz@last", status=2, cwd=self.folder)
        self.assertIn("now.pb.gz@last", done.stderr.decode())

    def test_an_option_of_one_look_names_what_to_do(self):
        process = self.begin()
        recorder = self.record(process)
        self.wait_for_looks(1)
        recorder.send_signal(signal.SIGTERM)
        recorder.communicate()
        done = self.memprof("report", "x.series", "--tree", status=2, cwd=self.folder)
        self.assertIn("add --at MOMENT", done.stderr.decode())
        done = self.memprof("report", "x.series", "--at", "01:00 yesterday", status=2, cwd=self.folder)
        self.assertIn("is no moment of a series", done.stderr.decode())


if __name__ == "__main__":
    e2e.main()
