# SPDX-License-Identifier: Apache-2.0
"""`memprof export` on real profiles; pprof opens what we write."""
import json
import re
import shutil

import e2e
import report_profiles

SPEEDSCOPE_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def setUpModule():
    global FOLDER, EXACT, SAMPLED, TRUTH
    FOLDER, EXACT, SAMPLED, TRUTH = report_profiles.make()


def tearDownModule():
    shutil.rmtree(FOLDER)


class Export(e2e.Test):
    def test_pprof_again(self):
        out = self.folder / "again.pb"
        self.memprof("export", EXACT, "-o", out)
        before, after = e2e.Profile(EXACT), e2e.Profile(out)
        for profile in (before, after):
            self.assertEqual([name for name, _ in profile.types], list(e2e.FILE_METRICS))
            self.assertEqual([unit for _, unit in profile.types], ["count", "bytes"] * 4)
            self.assertEqual(profile.period_type, [("space", "bytes")])
            self.assertEqual(profile.default_type, "peak_space")
        for metric in e2e.FILE_METRICS:
            self.assertEqual(before.total(metric), after.total(metric))
        self.assertEqual(self.report(out)["rows"], self.report(EXACT)["rows"])

    def test_speedscope(self):
        out = self.folder / "x.speedscope.json"
        self.memprof("export", SAMPLED, "-o", out)
        data = json.loads(out.read_text())
        self.assertEqual(data["$schema"], SPEEDSCOPE_SCHEMA)
        self.assertRegex(data["exporter"], r"^memprof")
        frames = data["shared"]["frames"]
        self.assertEqual(len({(f["name"], f.get("file")) for f in frames}), len(frames))
        totals = self.report(SAMPLED)["totals"]
        self.assertEqual(len(data["profiles"]), len(e2e.ALL_METRICS))
        for profile in data["profiles"]:
            self.assertEqual(profile["type"], "sampled")
            self.assertIn(profile["unit"], ("bytes", "none"))
            self.assertEqual(len(profile["samples"]), len(profile["weights"]))
            self.assertTrue(all(0 <= frame < len(frames) for stack in profile["samples"] for frame in stack))
            self.assertTrue(all(weight >= 0 for weight in profile["weights"]))
            self.assertEqual(profile["startValue"], 0)
            self.assertAlmostEqual(profile["endValue"], sum(profile["weights"]), delta=1)
            # Root first.
            self.assertTrue(any(frames[stack[-1]]["name"].startswith("site_") for stack in profile["samples"]))
        ends = sorted(round(profile["endValue"]) for profile in data["profiles"])
        values = sorted(totals[metric]["value"] for metric in e2e.ALL_METRICS)
        for end, value in zip(ends, values):
            self.assertLessEqual(abs(end - value), 2)

    def test_collapsed(self):
        for metric in e2e.METRICS:
            out = self.folder / f"{metric}.collapsed"
            self.memprof("export", SAMPLED, "-o", out, "--metric", metric)
            total = 0
            for line in out.read_text().splitlines():
                found = re.fullmatch(r"(\S.*) (\d+)", line)
                self.assertIsNotNone(found, line)
                total += int(found.group(2))
            self.assertLessEqual(abs(total - self.report(SAMPLED)["totals"][metric]["value"]), 2)
        self.assertIn(";run;site_16 ", (self.folder / "alloc_space.collapsed").read_text())

    def test_json(self):
        out = self.folder / "x.json"
        self.memprof("export", EXACT, "-o", out)
        json.loads(out.read_text())

    def test_standard_output(self):
        out = self.folder / "x.speedscope.json"
        self.memprof("export", EXACT, "-o", out)
        said = self.memprof("export", EXACT, "-o", "-", "--format", "speedscope").stdout
        self.assertEqual(json.loads(said), json.loads(out.read_bytes()))
        binary = self.memprof("export", EXACT, "-o", "-", "--format", "pb").stdout
        (self.folder / "piped.pb").write_bytes(binary)
        self.assertEqual(e2e.Profile(self.folder / "piped.pb").total("alloc_space"),
                         e2e.Profile(EXACT).total("alloc_space"))

    def test_wrong_ways(self):
        (self.folder / "there.pb").write_text("mine")
        for arguments, part in (([EXACT], "-o"), ([EXACT, "-o", "x.unknown"], "x.unknown"),
                                ([EXACT, "-o", "-"], "--format"), ([EXACT, "-o", "there.pb"], "there.pb"),
                                ([EXACT, "-o", "no/x.pb"], "no"), (["-o", "x.pb"], "no profile given"),
                                ([EXACT, "-o", "x.pb", "--format", "gif"], "gif"),
                                ([EXACT, "-o", "x.json", "--metric", "inuse_space"], "--metric"),
                                ([EXACT, "-o", "x.collapsed", "--metric", "bytes"], "bytes"),
                                ([EXACT, "-o", "x.pb", "--wrong"], "--wrong"), ([EXACT, EXACT, "-o", "x.pb"], "")):
            with self.subTest(arguments):
                done = e2e.run([e2e.COMMAND, "export", *arguments], cwd=self.folder)
                said = done.stderr.decode()
                self.assertEqual((done.returncode, said.count("\n")), (2, 1), said)
                self.assertIn(part, said)
        self.assertEqual([p.name for p in self.folder.iterdir()], ["there.pb"])
        self.assertEqual((self.folder / "there.pb").read_text(), "mine")
        self.memprof("export", EXACT, "-o", self.folder / "there.pb", "--force")
        e2e.Profile(self.folder / "there.pb")

    def test_help(self):
        for arguments in (["--help"], [], ["run", "--help"], ["report", "--help"], ["export", "-h"], ["--version"]):
            said = self.memprof(*arguments).stdout.decode()
            self.assertTrue(said.endswith("\n"), arguments)
            self.assertTrue("memprof" in said and all(len(line) <= 120 for line in said.splitlines()), said)


class Pprof(e2e.Test):
    """The test of a format is the viewer itself."""

    def pprof(self, *arguments):
        environment = e2e.plain_environment(PPROF_TMPDIR=str(self.folder), HOME=str(self.folder))
        # The last of an option counts.
        done = e2e.run([e2e.program("pprof"), "-symbolize=none", *arguments], environment, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()

    def top(self, path, index):
        return self.pprof("-nodecount=1000", "-nodefraction=0", "-unit=B", f"-sample_index={index}", "-top", path)

    def test_pprof_shows_the_truth(self):
        for metric in ("inuse_space", "alloc_space"):
            said = self.top(EXACT, metric)
            self.assertIn(f"Type: {metric}", said)
            flat = {}
            for line in said.splitlines():
                found = re.match(r"\s*(\d+)B?\s+\S+%\s+\S+%\s+\d+B?\s+\S+%\s+(.*)", line)
                if found:
                    flat[found.group(2).strip()] = int(found.group(1))
            for site, truth in TRUTH.items():
                if truth[metric]:
                    self.assertEqual(flat.get(site), truth[metric], f"{site}\n{said}")

    def test_pprof_agrees_on_callers_and_callees(self):
        """Its peek shows, above a function, its callers with the bytes through them, and below, its callees."""
        for function in ("main", *(site for site, truth in TRUTH.items() if truth["alloc_space"])):
            said = self.pprof("-nodecount=1000", "-nodefraction=0", "-edgefraction=0", "-unit=B",
                              "-sample_index=alloc_space", f"-peek=^{function}$", EXACT)
            edges, where = {"callers": {}, "callees": {}}, "callers"
            for line in said.splitlines():
                if re.search(rf"%\s+\|\s{function}$", line) and not re.search(r"\|   ", line):
                    where = "callees"
                edge = re.match(r"\s+(\d+)B?\s+[\d.]+%\s+\|   (\S.*)", line)
                if edge:
                    edges[where][edge.group(2)] = int(edge.group(1))
            calls = self.report(EXACT, "--callers", function, "--callees", function, "--metric", "alloc_space", "--all-frames")
            for name, expected in edges.items():
                rows = {row["name"]: row["values"]["alloc_space"]["value"] for row in calls[name]["rows"]
                        if row["name"][0] != "[" and row["values"]["alloc_space"]["value"] != 0}
                self.assertEqual(rows, expected, said)
            self.assertTrue(edges["callers"], said)

    def test_pprof_agrees_on_focus_and_ignore(self):
        for focus, ignore in (("site_m", None), (None, "site_[a-m]"), ("family", "realloc|^site_c"), ("libc", None)):
            arguments = [f"-{name}={text}" for name, text in (("focus", focus), ("ignore", ignore)) if text]
            said = self.pprof("-nodecount=1000", "-nodefraction=0", "-unit=B", "-sample_index=alloc_space", *arguments,
                              "-top", EXACT)
            shown, total = re.search(r"accounting for (\d+)B?, .* of (\d+)B? total", said).groups()
            report = self.report(EXACT, *(f"-{argument}" for argument in arguments))
            self.assertEqual(report["totals"]["alloc_space"]["value"], int(total))
            self.assertEqual(report["selected"]["alloc_space"]["value"], int(shown), said)
            self.assertEqual(sum(row["self"]["alloc_space"]["value"] for row in report["rows"]), int(shown))

    def test_pprof_default_is_the_peak_of_what_has_ended(self):
        said = self.pprof("-top", SAMPLED)
        self.assertIn("Type: peak_space", said)

    def test_pprof_shows_names_in_brackets(self):
        """As it is called by its users: with -symbolize=none it leaves names alone."""
        script = self.folder / "app.py"
        script.write_text("held = [(lambda: bytearray(1_000_000))() for _ in range(20)]\n")
        path, raw = self.folder / "python.pb.gz", self.folder / "raw.pb"
        self.memprof("run", "-r", "0", "-o", path, "--", e2e.system_python(), script)
        self.memprof("run", "-r", "0", "--raw", "-o", raw, "--", e2e.system_python(), script)
        for profile in path, raw:
            said = self.pprof("-symbolize=local", "-nodecount=5000", "-nodefraction=0", "-sample_index=alloc_space", "-top", profile)
            for name in ("<module>", "<lambda>"):
                self.assertRegex(said, rf"(?m)\s{name}$")
            names = {row["name"] for row in self.report(profile, "--metric", "alloc_space", "--imports")["rows"]}
            self.assertLessEqual({"<module>", "<lambda>"}, names)

    def test_pprof_shows_raw_profiles(self):
        path = self.folder / "raw.pb"
        self.check(e2e.run([e2e.program("family")], e2e.preloaded(path, 0)))
        self.assertIn("inuse_space", self.top(path, "inuse_space"))


if __name__ == "__main__":
    e2e.main()
