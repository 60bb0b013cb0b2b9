# SPDX-License-Identifier: Apache-2.0
"""Heap profiles that others wrote: jemalloc, gperftools and V8, of programs of known truth."""
import gzip
import json
import pathlib
import shutil
import tempfile

import e2e

SCRIPT = """
const kept = [];
function leak() { kept.push(new Array(1000).fill(kept.length)); }
for (let i = 0; i < 3000; i++) leak();
"""
GRABBED = sum(60 * (100 + 24 * n + 16) for n in range(16))


class ForeignProfiles(e2e.Test):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="memprof-e2e-foreign-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def memprof(self, *arguments, status=0):
        run = e2e.run([e2e.COMMAND, *arguments])
        self.assertEqual(run.returncode, status, run.stderr)
        return run.stdout.decode()

    def rows(self, path):
        report = json.loads(self.memprof("report", "--json", path))
        return {row["name"]: row["self"]["inuse_space"]["value"] for row in report["rows"]}

    def written(self, pattern):
        found = sorted(self.folder.glob(pattern))
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_gperftools(self):
        e2e.run([e2e.program("busy_leaf"), "grab"], e2e.plain_environment(
            LD_PRELOAD=e2e.allocator("tcmalloc"), HEAPPROFILE=str(self.folder / "t")))
        path = self.written("t.*.heap")
        self.assertEqual(self.rows(path)["grab"], GRABBED)
        self.assertIn("no change", self.memprof("diff", path, path))
        self.memprof("export", path, "-o", self.folder / "t.pb.gz")
        self.assertEqual(self.rows(self.folder / "t.pb.gz")["grab"], GRABBED)
        self.memprof("export", path, "-o", self.folder / "t.html")

    def test_jemalloc(self):
        jemalloc = e2e.allocator("jemalloc")
        run = e2e.run([e2e.program("busy_leaf"), "grab"], e2e.plain_environment(
            LD_PRELOAD=jemalloc, MALLOC_CONF=f"prof:true,prof_final:true,lg_prof_sample:0,prof_prefix:{self.folder}/j"))
        if b"Invalid conf" in run.stderr:
            self.skipTest("this jemalloc was built without its profiler")
        rows = self.rows(self.written("j.*.heap"))
        # In classes of sizes.
        self.assertGreater(rows["grab"], 0.98 * GRABBED)
        self.assertLess(rows["grab"], 1.25 * GRABBED)

    def test_v8(self):
        e2e.run([e2e.need("node"), "--heap-prof", f"--heap-prof-dir={self.folder}", "--heap-prof-name=n.heapprofile",
                 "-e", SCRIPT])
        rows = self.rows(self.folder / "n.heapprofile")
        self.assertEqual(max(rows, key=rows.get), "leak")
        # 3,000 arrays of 1,000 words of 8 bytes, or 4, sampled.
        self.assertGreater(rows["leak"], 8e6)
        self.assertLess(rows["leak"], 36e6)

    def forms(self):
        """A file of each form, by the rules of the formats."""
        text = "\n@ 0x1010 0x2020\n"
        for name, content in (
                ("jemalloc.heap", f"heap_v2/1{text}  t*: 3: 3000 [0: 0]\n  t0: 3: 3000 [0: 0]\n"),
                ("tcmalloc.heap", "heap profile: 3: 3000 [3: 3000] @ heapprofile\n3: 3000 [3: 3000] @ 0x1010 0x2020\n"),
                ("v8.heapprofile", json.dumps({"head": {
                    "callFrame": {"functionName": "(root)", "url": "", "lineNumber": -1}, "selfSize": 0, "id": 1,
                    "children": [{"callFrame": {"functionName": "keep", "url": "file:///a.js", "lineNumber": 2},
                                  "selfSize": 3000, "id": 2, "children": []}]}, "samples": []}))):
            path = self.folder / name
            path.write_text(content)
            packed = self.folder / (name + ".gz")
            packed.write_bytes(gzip.compress(path.read_bytes()))
            pprof = self.folder / (name + ".pb.gz")
            self.memprof("export", path, "-o", pprof)
            yield from (path, packed, pprof)

    def test_files_in_gzip_and_standard_input_and_pipes(self):
        def total(report):
            return json.loads(report)["totals"]["inuse_space"]["value"]
        for path in self.forms():
            with self.subTest(path.name):
                self.assertEqual(total(self.memprof("report", "--json", path)), 3000)
                for name in ("-", "/dev/stdin"):
                    with open(path, "rb") as stdin:
                        run = e2e.run([e2e.COMMAND, "report", "--json", name], stdin=stdin)
                        self.assertEqual(run.returncode, 0, run.stderr)
                        self.assertEqual(total(run.stdout), 3000)
                # A pipe gives each byte once, and cannot be opened twice.
                run = e2e.run(["bash", "-c", '"$0" report --json <(cat "$1")', e2e.COMMAND, path])
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertEqual(total(run.stdout), 3000)

    def test_each_command_that_reads_a_profile_reads_standard_input(self):
        packed = list(self.forms())[1]
        limits = self.folder / "limits.toml"
        limits.write_text('live = "1 GB"\n')
        for arguments in (("diff", "-", packed), ("diff", packed, "-"), ("churn", "-"), ("check", "--limits", limits, "-"),
                          ("export", "-", "-o", self.folder / "x.collapsed"), ("export", "-", "-o", self.folder / "x.html"),
                          ("merge", "-", packed, "-o", self.folder / "m.pb.gz")):
            with self.subTest(arguments[0]), open(packed, "rb") as stdin:
                run = e2e.run([e2e.COMMAND, *arguments], stdin=stdin)
                if arguments[0] == "churn":  # it reads it, and says what such a file does not have
                    self.assertEqual(run.returncode, 2)
                    self.assertIn(b"standard input", run.stderr)
                else:
                    self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sum(self.rows(self.folder / "m.pb.gz").values()), 6000)
        with open(packed, "rb") as stdin:
            run = e2e.run([e2e.COMMAND, "diff", "-", "-"], stdin=stdin)
        self.assertEqual(run.returncode, 2)
        self.assertIn(b"standard input", run.stderr)

    def test_damage_is_told(self):
        path = self.folder / "x.heap"
        path.write_text("heap_v2/524288\n@ 0x12 zz\n")
        run = e2e.run([e2e.COMMAND, "report", path])
        self.assertEqual(run.returncode, 2)
        self.assertIn(b"x.heap:2: a stack has an address", run.stderr)


if __name__ == "__main__":
    e2e.main()
