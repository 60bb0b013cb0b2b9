# SPDX-License-Identifier: Apache-2.0
"""What `memprof export` writes of a Python program: the frames and the totals of `memprof report`, in every format, also of
increments, with names that are made to break files."""
import json
import xml.etree.ElementTree

import e2e

NAMES = ["<script>alert(1)</script>", "a\"b'c&d;e", "x\u202ey\u2066z", "nul\0end", "n" * 10000, "line\nbreak\x1b[1m", "]]>"]
WORK = """
import json
NAMES = %r
def keep(size):
    return bytearray(size)
kept = []
for name in NAMES:
    function = lambda: kept.append(keep(300_000))
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    function()
parsed = [json.loads(json.dumps({"id": i, "name": "x" * (i %% 90)})) for i in range(3000)]
print(len(kept))
""" % NAMES
SVG = "{http://www.w3.org/2000/svg}"
METRICS = e2e.ALL_METRICS


class Exports(e2e.Test):
    def setUp(self):
        super().setUp()
        (self.folder / "work.py").write_text(WORK)
        self.profile = self.folder / "profile.pb.gz"
        self.memprof("run", "-r", "4k", "--native-interpreter", "-o", self.profile, "--", e2e.system_python(), self.folder / "work.py")

    def export(self, end, *arguments):
        out = self.folder / f"out{end}"
        self.memprof("export", self.profile, "-o", out, "--force", *arguments)
        return out

    def totals(self, path, *arguments):
        report = self.report(path, *arguments)
        return {metric: round(report["selected" if arguments else "totals"][metric]["value"]) for metric in METRICS}

    def heapprofile(self, *arguments):
        profile = json.loads(self.export(".heapprofile", *arguments).read_text())
        total, open_nodes = 0, [profile["head"]]
        while open_nodes:
            node = open_nodes.pop()
            total += node["selfSize"]
            open_nodes += node["children"]
        self.assertEqual(total, sum(sample["size"] for sample in profile["samples"]))
        return total

    def test_totals_are_those_of_reports(self):
        for arguments in ([], ["--focus", "json"], ["--ignore", "json"], ["--process", "python"]):
            expected = self.totals(self.profile, *arguments)
            self.assertGreater(expected["alloc_space"], 0)
            for more in ([], ["--native-interpreter"], ["--all-frames"], ["--by", "module"]):
                profile = e2e.Profile(self.export(".pb", *arguments, *more))
                # Each metric is rounded once, with what is left carried on.
                for metric in METRICS:
                    self.assertAlmostEqual(profile.total(metric), expected[metric], delta=1, msg=(arguments, more, metric))
            for metric in METRICS:
                lines = self.export(".collapsed", "--metric", metric, *arguments).read_text().splitlines()
                self.assertAlmostEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines), expected[metric], delta=1)
                self.assertAlmostEqual(self.heapprofile("--metric", metric, *arguments), expected[metric], delta=1)
            points = json.loads(self.export(".dhat.json", *arguments).read_text())["pps"]
            for field, metric in (("tb", "alloc_space"), ("tbk", "alloc_objects"), ("gb", "peak_space"), ("eb", "inuse_space")):
                self.assertAlmostEqual(sum(point[field] for point in points), expected[metric], delta=1)

    def test_frames_are_those_of_reports(self):
        expected = [(row["name"], row["self"]["alloc_space"]) for row in self.report(self.profile, "--metric", "alloc")["rows"]]
        exported = self.report(self.export(".pb.gz"), "--metric", "alloc")["rows"]
        self.assertEqual(sorted(name for name, _ in expected), sorted(row["name"] for row in exported))
        values = {}
        for name, estimate in expected:
            values.setdefault(name, []).append(estimate["value"])
        for row in exported:
            self.assertTrue(any(abs(row["self"]["alloc_space"]["value"] - value) <= 1 for value in values[row["name"]]), row)
            self.assertIsNotNone(row["self"]["alloc_space"]["low"])
        collapsed = self.export(".collapsed", "--metric", "alloc").read_text()
        # Where no Python frame was seen, at its start and end, the interpreter's own are what there is.
        self.assertNotIn("PyEval", "".join(line for line in collapsed.splitlines() if "<module>" in line))
        # The distribution's interpreter may have no names: its frames are more all the same.
        whole = self.export(".collapsed", "--metric", "alloc", "--native-interpreter").read_text()
        self.assertGreater(whole.count(";"), 2 * collapsed.count(";"))

    def test_statistics_are_a_small_part_of_the_file(self):
        profile = e2e.Profile(self.export(".pb"))
        statistics = [comment for comment in profile.comments if comment.startswith("#memprof.stack")]
        self.assertTrue(all(len(comment) < 65536 for comment in statistics))
        # A comment for each stack was two thirds and more, without lifetimes. With these it is about a third now; how many
        # classes of them there are depends on how fast the machine is.
        self.assertLess(sum(map(len, statistics)), (self.folder / "out.pb").stat().st_size / 2)

    def test_a_picture_is_xml_whatever_names_are(self):
        self.assertEqual(len(NAMES), 7)
        path = self.export(".svg", "--metric", "live")
        data = path.read_bytes()
        root = xml.etree.ElementTree.fromstring(data)
        self.assertEqual(root.tag, SVG + "svg")
        self.assertEqual({element.tag for element in root.iter()},
                         {SVG + tag for tag in ("svg", "title", "style", "rect", "g", "text")})
        for bad in ("<script", "\u202e", "\u2066", "http://", "https://", "href", "url("):
            self.assertNotIn(bad, data.decode().replace('xmlns="http://www.w3.org/2000/svg"', ""))
        titles = [element.text for element in root.iter(SVG + "title")]
        self.assertTrue(any(title.startswith("<script>alert(1)</script>\n") for title in titles), titles)
        self.assertTrue(all(len(title) < 1200 for title in titles))
        self.assertTrue(any("95 %" in title for title in titles))
        self.assertLess(len(data), 2 << 20)

    def test_increments_add_up(self):
        """What was allocated until a dump, and since, is what was allocated."""
        script = self.folder / "steps.py"
        script.write_text("import os, signal, time\nkept = []\n"
                          "for step in range(3):\n"
                          "    kept += [bytearray(1000) for _ in range(3000)]\n"
                          f"    os.system(f'{e2e.COMMAND} live {{os.getpid()}} -o step{{step}}.pb.gz')\n")
        environment = e2e.preloaded(self.folder / "end.%p.pb", "1k")
        done = e2e.run([e2e.system_python(), script], environment, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        steps = [self.folder / f"step{step}.pb.gz" for step in range(3)]
        totals = [self.totals(step) for step in steps]
        for metric in ("alloc_space", "alloc_objects"):
            for earlier, later in ((0, 1), (1, 2), (0, 2)):
                out = self.folder / f"{earlier}{later}.pb"
                self.memprof("export", steps[later], "--since", steps[earlier], "-o", out, "--force")
                increment = e2e.Profile(out).total(metric)
                self.assertGreater(increment, 0)
                self.assertAlmostEqual(increment, totals[later][metric] - totals[earlier][metric], delta=2)
                self.assertAlmostEqual(increment, self.totals(out)[metric], delta=1)
                self.assertAlmostEqual(self.totals(out)["inuse_space"], totals[later]["inuse_space"], delta=1)


if __name__ == "__main__":
    e2e.main()
