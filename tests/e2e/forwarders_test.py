# SPDX-License-Identifier: Apache-2.0
"""A leaf function with nearly all bytes: where it only hands on what its callers ask for, rows are of these; where it
is what a reader looks for, it stays."""
import json
import pathlib
import shutil
import subprocess
import tempfile

import e2e

ANSWERS = ("new_node", "cell_alloc", "inner_or_leaf", "copy_string", "intern_token", "read_block", "cache_insert",
           "append", "map_insert", "arena_alloc", "make_tensor", "image_alloc")
# Its rows have to be those of leak_one and cache.
RUST = """
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
struct Counting;
static LIVE: AtomicUsize = AtomicUsize::new(0);
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 { LIVE.fetch_add(l.size(), Ordering::Relaxed); System.alloc(l) }
    unsafe fn dealloc(&self, p: *mut u8, l: Layout) { LIVE.fetch_sub(l.size(), Ordering::Relaxed); System.dealloc(p, l) }
}
#[global_allocator]
static A: Counting = Counting;
#[inline(never)]
fn leak_one(v: &mut Vec<Box<[u8]>>) { v.push(vec![2u8; 4000].into_boxed_slice()); }
#[inline(never)]
fn cache() -> Vec<Vec<u8>> { (0..2000).map(|_| vec![3u8; 3000]).collect() }
fn main() {
    let c = cache();
    let mut leak = Vec::new();
    for _ in 0..3000 { leak_one(&mut leak); }
    std::mem::forget((c, leak));
}
"""
WRAPPERS = {"grab": {"grab"}, "heap_alloc": {"heap_alloc"}, "upper_alloc": {"upper_alloc", "lower"}}


class Forwarders(e2e.Test):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="memprof-e2e-forwarders-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def memprof(self, *arguments):
        run = e2e.run([e2e.COMMAND, *arguments])
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout.decode()

    def rows(self, program, what, *options):
        """The rows of `program what`, largest first, and the report."""
        profile = self.folder / f"{what}.pb.gz"
        self.memprof("run", "-r", "0", "--force", "-o", profile, "--", program, what)
        report = json.loads(self.memprof("report", "--json", "--metric", "alloc", *options, profile))
        return [row for row in report["rows"] if row["self"]["alloc_space"]["value"] > 0], report

    def test_what_a_reader_looks_for_stays(self):
        for what in ANSWERS:
            rows, report = self.rows(e2e.program("busy_leaf"), what)
            self.assertEqual(rows[0]["name"], what)
            self.assertNotIn("forwarders", report, what)

    def test_what_hides_its_callers_is_left_out(self):
        for what, names in WRAPPERS.items():
            rows, report = self.rows(e2e.program("busy_leaf"), what)
            callers = [row for row in rows if row["name"].startswith("caller_")]
            self.assertGreaterEqual(len(callers), 6, what)
            self.assertTrue(rows[0]["name"].startswith("caller_"), rows[0]["name"])
            self.assertEqual({row["through"]["function"] for row in callers}, {what})
            self.assertEqual(set(report["forwarders"]), names)
            for row in callers:
                number = int(row["name"][len("caller_"):])
                size = 100 + 24 * number + (16 if what == "grab" else 0)
                self.assertEqual(row["self"]["alloc_space"]["value"], 60 * size, row["name"])

    def test_it_is_said_and_shown_on_request(self):
        rows, _ = self.rows(e2e.program("busy_leaf"), "heap_alloc", "--all-frames")
        self.assertEqual(rows[0]["name"], "heap_alloc")
        text = self.memprof("report", "--metric", "alloc", self.folder / "heap_alloc.pb.gz")
        self.assertIn("through heap_alloc", text)
        self.assertIn("heap_alloc only hands sizes on to the allocator", text)

    def test_without_symbols(self):
        stripped = self.folder / "busy_leaf"
        subprocess.run([e2e.need("strip"), "-s", "-o", stripped, e2e.program("busy_leaf")], check=True)
        # Exported names would be left of it.
        rows, _ = self.rows(stripped, "grab")
        self.assertGreater(len(rows), 12)
        rows, _ = self.rows(stripped, "copy_string")
        self.assertGreater(rows[0]["self"]["alloc_space"]["value"], 16 * 60 * 30)

    def test_the_allocator_that_a_rust_program_brings(self):
        rustc = shutil.which("rustc")
        if rustc is None or e2e.run([rustc, "--version"]).returncode != 0:
            self.skipTest("no Rust compiler here")
        source = self.folder / "counting.rs"
        source.write_text(RUST)
        done = e2e.run([rustc, "--edition", "2021", "-O", "-g", "-o", self.folder / "counting", source])
        self.assertEqual(done.returncode, 0, done.stderr)
        rows, _ = self.rows(self.folder / "counting", "")
        # Vec's own growth is leak_one's, too.
        self.assertEqual(rows[0]["name"].split("::")[-1], "leak_one")
        self.assertGreaterEqual(rows[0]["self"]["alloc_space"]["value"], 12_000_000)
        of_cache = sum(row["self"]["alloc_space"]["value"] for row in rows if "cache" in row["name"])
        self.assertGreaterEqual(of_cache, 6_000_000)
        self.assertEqual([row for row in rows if "GlobalAlloc" in row["name"]], [])

    def test_frames_that_the_reader_hides(self):
        profile = self.folder / "new_node.pb.gz"
        self.rows(e2e.program("busy_leaf"), "new_node")
        report = json.loads(self.memprof("report", "--json", "--metric", "alloc", "--hide", "^new_node$", profile))
        self.assertTrue(report["rows"][0]["name"].startswith("caller_"))
        self.assertEqual(report["hide"], "^new_node$")
        for name in ("out.collapsed", "out.html", "out.speedscope.json"):
            self.memprof("export", profile, "-o", self.folder / name, "--hide", "new_node")
            self.assertNotIn("new_node", (self.folder / name).read_text().replace("new_node.pb.gz", ""), name)
        limits = self.folder / "memprof.toml"
        limits.write_text(f'profile = "{profile}"\nhide = "^new_node$"\n[[row]]\nalloc_objects = 70\n[[site]]\n'
                          'focus = "caller_1$"\nalloc_objects = 70\n')
        self.memprof("check", "--limits", limits)


if __name__ == "__main__":
    e2e.main()
