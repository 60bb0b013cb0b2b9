# SPDX-License-Identifier: Apache-2.0
"""Lines of TypeScript in profiles of node. source_maps/src is compiled by tsc 5.4 (tsc/: maps in files) and esbuild 0.21
(bundle/: one script, the map inside of it; minified/: a script of one line):

    tsc --target es2022 --module commonjs --sourceMap --outDir tsc --rootDir src --types node src/*.ts
    esbuild src/main.ts --bundle --platform=node --sourcemap=inline --sources-content=false --outfile=bundle/app.cjs
    esbuild src/main.ts --bundle --platform=node --minify --sourcemap --sources-content=false --outfile=minified/app.cjs
"""
import json
import os
import pathlib
import shutil
import unittest

import e2e

NODE = os.environ.get("MEMPROF_TEST_NODE") or shutil.which("node", path="/usr/bin:/usr/local/bin")
PROGRAM = pathlib.Path(__file__).parent / "source_maps"


def line_of(name, words):
    lines = (PROGRAM / "src" / name).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if words in line)


@unittest.skipIf(NODE is None, "node is not installed: source maps are not tested with it")
class SourceMaps(e2e.Test):
    def profile(self, script):
        # Copied: files of a checkout may be younger than the clock of a build says, and maps of other folders are tried.
        shutil.copytree(PROGRAM, self.folder / "program", dirs_exist_ok=True)
        out = self.folder / "out.pb"
        environment = {k: v for k, v in e2e.plain_environment().items() if k != "NODE_EXTRA_CA_CERTS"}
        done = e2e.run([e2e.COMMAND, "run", "-r", "4k", "--force", "-o", out, "--", NODE, self.folder / "program" / script], environment=environment)
        self.assertEqual(done.stdout, b"20 20 500000\n", done.stderr)
        return out

    def rows(self, out, *options):
        """(function, file in the folder, line) -> bytes that it allocated itself."""
        folder = f"{self.folder}/program/"
        return {(r["name"], r["file"][len(folder):], r["line"]): r["self"]["alloc_space"]["value"]
                for r in self.report(out, "--metric", "alloc", "--by", "line", *options)["rows"] if r["file"].startswith(folder)}

    def check(self, rows):
        for place, size in {("keep", "src/cache.ts", line_of("cache.ts", "// keeps large ones")): 20 * 300_000,
                            ("scratch", "src/cache.ts", line_of("cache.ts", "// keeps small ones")): 20 * 100_000}.items():
            self.assertAlmostEqual(rows.get(place, 0), size, delta=0.1 * size, msg=(place, rows))
        # A bundler may put the two calls into one line.
        calls = [line_of("main.ts", "return Buffer.concat"), line_of("main.ts", "    Buffer.alloc(")]
        in_calls = sum(size for (name, file, line), size in rows.items() if (name, file) == ("scratch", "src/main.ts") and line in calls)
        self.assertGreater(in_calls, 990_000, rows)
        self.assertLess(in_calls, 1_500_000, rows) # what node loads for the first call of its kind, too

    def test_maps_in_files(self):
        out = self.profile("tsc/main.js")
        rows = self.rows(out, "--source-maps")
        self.check(rows)
        self.assertAlmostEqual(rows["scratch", "src/main.ts", line_of("main.ts", "    Buffer.alloc(")], 500_000, delta=50_000)
        plain = self.rows(out)
        self.assertFalse([place for place in plain if place[1].endswith(".ts")], plain)
        self.assertTrue([place for place in plain if place[1] == "tsc/cache.js"], plain)

    def test_a_bundle_with_its_map_inside(self):
        out = self.profile("bundle/app.cjs")
        # The bundler calls one of the two functions scratch2: the map says what the source calls it.
        self.assertIn("scratch2", {name for name, _, _ in self.rows(out)})
        self.check(self.rows(out, "--source-maps"))

    def test_in_exports_diff_and_leaks(self):
        out = self.profile("bundle/app.cjs")
        speedscope = self.folder / "out.speedscope.json"
        self.memprof("export", out, "--source-maps", "--metric", "alloc", "-o", speedscope)
        frames = {(f["name"], f.get("file", "")) for f in json.loads(speedscope.read_text())["shared"]["frames"]}
        self.assertIn(("keep", f"{self.folder}/program/src/cache.ts"), frames)
        again = self.folder / "again.pb.gz"
        self.memprof("export", out, "--source-maps", "-o", again)
        self.check(self.rows(again))
        page = self.folder / "page.html"
        self.memprof("export", out, "--source-maps", "-o", page)
        diff = json.loads(self.memprof("diff", out, again, "--source-maps", "--metric", "alloc", "--json").stdout)
        self.assertFalse([row for row in diff["rows"] if row["name"] == "keep" and row["p_value"] is not None and row["p_value"] < 0.05])
        self.memprof("leaks", out, "--source-maps")
        self.memprof("churn", out, "--source-maps")

    def test_a_minified_script_says_so(self):
        out = self.profile("minified/app.cjs")
        done = self.memprof("report", out, "--source-maps", "--json")
        self.assertIn(b"minified/app.cjs: is minified: ", done.stderr)
        self.assertFalse([place for place in self.rows(out, "--source-maps") if place[1].endswith(".ts")])

    def test_maps_elsewhere(self):
        out = self.profile("tsc/main.js")
        maps = self.folder / "maps"
        maps.mkdir()
        for name in ("main.js.map", "cache.js.map"):
            (self.folder / "program" / "tsc" / name).rename(maps / name)
        self.assertIn(b"cache.js.map is not there", self.memprof("report", out, "--source-maps", "--json").stderr)
        self.check(self.rows(out, "--source-maps-in", maps))
        wrong = e2e.run([e2e.COMMAND, "report", out, "--source-maps-in", self.folder / "gone"])
        self.assertEqual(wrong.returncode, 2)
        self.assertIn(b"is not a folder", wrong.stderr)


if __name__ == "__main__":
    e2e.main()
