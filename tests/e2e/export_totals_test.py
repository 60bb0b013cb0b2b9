# SPDX-License-Identifier: Apache-2.0
"""What every export adds up to is what `memprof report --json` says, to the byte: each metric that
a file can have (the program's own mappings, what is in memory and the heap of JavaScript among them), each format, folded, filtered and of increments.
And exported files keep the limits that services have by default."""
import json

import e2e

# A process with blocks that are freed soon, blocks that stay, mappings of its own, and a heap that a runtime tells of.
WORK = """
import ctypes, json, mmap, sys
class Node(ctypes.Structure):
    _fields_ = [("function", ctypes.c_char_p), ("file", ctypes.c_char_p), ("bytes", ctypes.c_uint64), ("line", ctypes.c_uint32),
                ("parent", ctypes.c_uint32)]
class Heap(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("runtime", ctypes.c_uint32), ("nodes", ctypes.POINTER(Node)), ("count", ctypes.c_uint64)] + [
        (name, ctypes.c_uint64) for name in ("resident", "used", "live", "code", "external")]
def keep(count):
    return [bytearray(200 + 7 * i % 900) for i in range(count)]
def parse():
    return [json.loads(json.dumps({"id": i, "name": "x" * (i % 90)})) for i in range(2000)]
def touched():
    area = mmap.mmap(-1, 3 << 20)
    for at in range(0, 1 << 20, 4096):
        area[at] = 1
    return area
def write(path):
    library = ctypes.CDLL(None)
    snapshot = ctypes.c_void_p()
    assert library.memprof_get_snapshot(ctypes.byref(snapshot)) == 0
    assert library.memprof_snapshot_read_resident(snapshot, 0) == 0
    nodes = (Node * 3)(Node(b"(root)", b"", 0, 0, 0), Node(b"load", b"app.js", 123457, 3, 0), Node(b"parse", b"app.js", 77771, 9, 1))
    heap = Heap(ctypes.sizeof(Heap), 2, nodes, 3, 400000, 300000, 201228, 1000, 5000)
    error = library.memprof_snapshot_write_profile(snapshot, path.encode(), 0, ctypes.byref(heap))
    assert error == 0, error
    library.memprof_free_snapshot(snapshot)
allocate = ctypes.CDLL(None).malloc
allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
of_no_bytes = [allocate(0) for _ in range(9000)]
kept = [keep(3000), touched()]
parse()
write("before.pb")
kept += [keep(2000), touched()]
parse()
write("after.pb")
"""
EVERY = set(e2e.FILE_METRICS) | {"mapped_objects", "mapped_space", "mapped_resident_objects", "mapped_resident_space", "js_space"}
# What a report of an exported file may have one more or less of.
ESTIMATED_ANEW = {"alloc_objects", "inuse_objects", "peak_objects", "inuse_space"}
WAYS = ([], ["--native-interpreter"], ["--all-frames"], ["--by", "module"])
PARTS = ([], ["--focus", "keep"], ["--ignore", "json"])


class ExportTotals(e2e.Test):
    def setUp(self):
        super().setUp()
        (self.folder / "work.py").write_text(WORK)
        environment = e2e.preloaded(self.folder / "end.pb.gz", "2k", MEMPROF_MMAP="1")
        done = e2e.run([e2e.system_python(), self.folder / "work.py"], environment, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def export(self, file, end, *arguments):
        out = self.folder / f"out{end}"
        self.memprof("export", self.folder / file, "-o", out, "--force", *arguments)
        return out

    def expected(self, path, *arguments):
        report = self.report(path, *arguments)
        return {metric: total["value"] for metric, total in report["selected" if arguments else "totals"].items()}

    def expect_formats(self, file, expected, metric, *arguments):
        """The formats that have one metric, or a view of each."""
        lines = self.export(file, ".collapsed", "--metric", metric, *arguments).read_text().splitlines()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines), expected, (metric, arguments, "collapsed"))
        heap = json.loads(self.export(file, ".heapprofile", "--metric", metric, *arguments).read_text())
        self.assertEqual(sum(sample["size"] for sample in heap["samples"]), expected, (metric, arguments, "heapprofile"))
        views = json.loads(self.export(file, ".speedscope.json", "--metric", metric, *arguments).read_text())
        view = views["profiles"][views.get("activeProfileIndex", 0)]
        self.assertEqual(view["name"].split(" ")[0], metric)
        self.assertEqual(sum(view["weights"]), expected, (metric, arguments, "speedscope"))

    def expect_totals(self, pprof, expected, *what):
        for metric, total in expected.items():
            self.assertEqual(pprof.total(metric), total, (metric, *what))

    def expect_again(self, again, expected, *what):
        for metric in EVERY:
            self.assertAlmostEqual(again[metric], expected[metric], delta=1 if metric in ESTIMATED_ANEW else 0, msg=(metric, *what))

    def test_every_metric_in_every_format(self):
        for part in PARTS:
            expected = self.expected(self.folder / "after.pb", *part)
            self.assertEqual(EVERY, set(expected))
            if not part:
                for metric in EVERY:
                    self.assertGreater(expected[metric], 0, metric)
                self.assertEqual(expected["js_space"], 123457 + 77771)
            for way in WAYS:
                pprof = e2e.Profile(self.export("after.pb", ".pb", *part, *way))
                self.expect_totals(pprof, expected, part, way)
            # Who reports of an exported file estimates anew. Blocks of folded stacks are estimated together, and sizes that share
            # leave half a byte: they differ in the digits behind the point, which one rounding may show.
            again = self.expected(self.export("after.pb", ".pb.gz", *part))
            self.expect_again(again, expected, part)
            for metric in sorted(EVERY):
                self.expect_formats("after.pb", expected[metric], metric, *part)
            points = json.loads(self.export("after.pb", ".dhat.json", *part).read_text())["pps"]
            for field, metric in (("tb", "alloc_space"), ("tbk", "alloc_objects"), ("gb", "peak_space"), ("eb", "inuse_space")):
                self.assertEqual(sum(point[field] for point in points), expected[metric], (part, metric))
        exact = json.loads(self.export("after.pb", ".json").read_text())["totals"]
        expected = self.expected(self.folder / "after.pb")
        self.assertEqual({metric: round(exact[metric]["value"]) for metric in EVERY}, expected)

    def test_increments(self):
        since = ["--since", self.folder / "before.pb"]
        pprof = e2e.Profile(self.export("after.pb", ".pb", *since))
        exact = json.loads(self.export("after.pb", ".json", *since).read_text())["totals"]
        expected = {metric: round(exact[metric]["value"]) for metric in EVERY}
        later = self.expected(self.folder / "after.pb")
        self.expect_totals(pprof, expected)
        self.expect_again(self.expected(self.folder / "out.pb"), expected)
        for metric in ("inuse_space", "peak_space", "mapped_space", "js_space", "inuse_resident_space"):
            self.assertEqual(expected[metric], later[metric], metric)
        self.assertGreater(expected["alloc_space"], 0)
        self.assertLess(expected["alloc_space"], later["alloc_space"])
        for metric in ("alloc_space", "alloc_objects", "js_space"):
            self.expect_formats("after.pb", expected[metric], metric, *since)

    def test_limits_that_services_have_by_default(self):
        """Those of Grafana Pyroscope 2 (pkg/validation): what it refuses, and what it would cut."""
        for way in WAYS:
            path = self.export("after.pb", ".pb", *way)
            pprof = e2e.Profile(path)  # its texts are UTF-8, or it would not be read
            self.assertLess(path.stat().st_size, 4 << 20)
            self.assertLessEqual(len(pprof.samples), 16000)
            self.assertLessEqual(max(len(text.encode()) for text in pprof.strings), 65535)
            self.assertTrue(all(len(stack) <= 1000 and len(labels) <= 100 for stack, _, labels in pprof.samples))
            self.assertTrue(all("-" not in name for name, _ in pprof.types), pprof.types)
            self.assertTrue(all(number != 0 for number in (*pprof.functions, *pprof.locations, *pprof.mappings)))


if __name__ == "__main__":
    e2e.main()
