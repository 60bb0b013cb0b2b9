# SPDX-License-Identifier: Apache-2.0
"""What a program held when its heap was at its highest, and what it held before it cleaned up (rate 0: exactly)."""
import json
import subprocess
import time

import e2e

CLEANS_UP = e2e.program("cleans_up")
GROWS = e2e.program("grows")
KEPT = {"hold_in_global": 1000 * 1000, "hold_in_static": 1000 * 2000, "hold_for_handler": 500000}
AT_THE_PEAK = {**KEPT, "hold_for_a_while": 1000 * 5000}


class Peak(e2e.Test):
    def profile_of(self, *command, options=("-r", "0")):
        path = self.folder / "p.pb.gz"
        result = e2e.run([e2e.COMMAND, "run", *options, "--force", "-o", path, "--", *command])
        self.assertTrue(path.exists(), result.stderr)
        return path

    def report(self, path, *options):
        result = e2e.run([e2e.COMMAND, "report", *([] if "--json" in options else ["--details"]), *options, path])
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def json(self, path):
        return json.loads(self.report(path, "--json", "--all-frames"))

    def held(self, report, metric):
        """By function that has a name in the tables above: bytes, with what it calls."""
        return {name: sum(row["cumulative"][metric]["value"] for row in report["rows"] if f"::{name}(" in row["name"])
                for name in AT_THE_PEAK}

    def test_a_program_that_ends_by_itself(self):
        for way in ("return", "exit"):
            with self.subTest(way):
                path = self.profile_of(CLEANS_UP, way)
                report = self.json(path)
                self.assertTrue(report["ended"] and report["live_is_before_end"])
                self.assertEqual(report["metric"], "peak_space")
                peak, live = self.held(report, "peak_space"), self.held(report, "inuse_space")
                for name, size in AT_THE_PEAK.items():
                    # The vectors of blocks hold a few KB as well.
                    self.assertTrue(size <= peak[name] < size + 20000, (name, size, peak))
                for name, size in KEPT.items():
                    self.assertTrue(size <= live[name] < size + 20000, (name, size, live))
                self.assertEqual(live["hold_for_a_while"], 0)
                self.assertGreater(report["peak_resident_bytes"], 1 << 20)
                self.assertGreaterEqual(report["max_resident_bytes"], report["peak_resident_bytes"])
                text = self.report(path)
                self.assertIn("Peak: ", text)
                self.assertIn("At end: ", text)
                self.assertIn("hold_for_a_while", text.split("self")[1].splitlines()[2], "the largest of the peak is first")

    def test_without_exit_handlers_nothing_was_cleaned_up(self):
        report = self.json(self.profile_of(CLEANS_UP, "quick"))
        self.assertTrue(report["ended"])
        self.assertFalse(report["live_is_before_end"])
        live = self.held(report, "inuse_space")
        for name, size in KEPT.items():
            self.assertTrue(size <= live[name] < size + 20000, (name, size, live))

    def test_one_that_is_killed_shows_what_is_live(self):
        report = self.json(self.profile_of(CLEANS_UP, "kill"))
        self.assertFalse(report["ended"])
        self.assertEqual(report["metric"], "inuse_space")
        self.assertTrue(1000 * 5000 <= self.held(report, "peak_space")["hold_for_a_while"] < 1000 * 5000 + 20000)

    def test_what_was_resident_of_one_that_is_killed_is_the_systems_figure(self):
        """No block is large enough for a sample: the library was never asked to look at what is resident."""
        script = ("import mmap, os, signal\n"
                  "memory = mmap.mmap(-1, 200 << 20)\n"
                  "memory.write(bytes(200 << 20))\n"
                  "memory.close()\n"
                  "os.kill(os.getpid(), signal.SIGKILL)\n")
        path = self.folder / "killed.pb"
        done = e2e.run([e2e.COMMAND, "run", "-r", "64k", "-o", path, "--", e2e.system_python(), "-c", script])
        self.assertEqual(done.returncode, 137, done.stderr)
        self.assertGreater(self.json(path)["max_resident_bytes"], 200 << 20)
        self.assertIn("most resident (VmHWM): ", self.report(path))

    def test_what_was_resident_at_a_peak_that_was_cut_short(self):
        """Not that of an earlier, smaller peak: of one that is killed a range, of one that runs what is now."""
        report = self.json(self.profile_of(GROWS, "kill"))
        self.assertTrue(report["peak_resident_is_before"])
        self.assertTrue(80e6 * 0.93 < report["peak_resident_bytes"] <= report["max_resident_bytes"] < 100e6, report)
        report = self.json(self.profile_of(GROWS, "large"))
        self.assertTrue(80e6 * 0.93 < report["peak_resident_bytes"] < 100e6 < report["max_resident_bytes"])
        self.assertRegex(self.report(self.folder / "p.pb.gz"), r"resident then: [0-9.]+ MiB to [0-9.]+ MiB; most resident")

    def test_what_was_resident_at_a_peak_that_is_now(self):
        environment = e2e.preloaded(self.folder / "x.%p.pb", 65536)
        with subprocess.Popen([GROWS, "wait"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), b"grown\n")
            self.memprof("live", str(process.pid), "-o", self.folder / "now.pb")
            process.stdin.close()
        report = self.json(self.folder / "now.pb")
        self.assertEqual(report["peak_resident_bytes"], report["resident"]["rss_bytes"])
        self.assertTrue(80e6 < report["peak_resident_bytes"] < 100e6, report["peak_resident_bytes"])
        self.assertFalse(report["peak_resident_is_before"])

    def test_a_python_program(self):
        script = self.folder / "script.py"
        script.write_text("kept = [bytes(10000) for _ in range(1000)]\n"
                          "more = [bytes(10000) for _ in range(3000)]\n"
                          "del more\n")
        report = self.json(self.profile_of(e2e.system_python(), script))
        self.assertTrue(report["ended"] and report["live_is_before_end"])
        peak, live = report["totals"]["peak_space"]["value"], report["totals"]["inuse_space"]["value"]
        # The objects, and what the interpreter itself holds.
        self.assertTrue(40e6 < peak < 48e6, peak)
        self.assertTrue(10e6 < live < 18e6, live)

    def test_the_file_is_what_every_reader_finds(self):
        profile = e2e.Profile(self.profile_of(CLEANS_UP, "exit"))
        names = [kind for kind, _ in profile.types]
        self.assertEqual(names, list(e2e.FILE_METRICS))
        self.assertEqual(profile.default_type, "peak_space")
        report = self.json(self.folder / "p.pb.gz")
        for metric in e2e.FILE_METRICS:
            self.assertEqual(sum(values[metric] for _, values, _ in profile.samples), report["totals"][metric]["value"])

    def test_metrics_have_short_names(self):
        path = self.profile_of(CLEANS_UP, "exit")
        for name in ("peak", "live", "alloc"):
            self.assertIn("hold_in_static", self.report(path, "--metric", name))

    def test_of_several_processes_the_largest_is_recommended(self):
        script = self.folder / "wrapper.sh"
        script.write_text(f"x=$(echo hello)\n{CLEANS_UP} return\n")
        result = e2e.run([e2e.COMMAND, "run", "-r", "0", "--keep-all", "--force", "-o", self.folder / "w.pb.gz", "--", "/bin/sh", script])
        text = result.stderr.decode()
        self.assertIn("at its peak", text)
        last = text.strip().splitlines()[-1]
        path = last.split("memprof report ")[1]
        self.assertEqual(self.json(path)["program"], "cleans_up", text)


if __name__ == "__main__":
    e2e.main()
