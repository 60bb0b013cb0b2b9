# SPDX-License-Identifier: Apache-2.0
"""`memprof export -o page.html`, `memprof view` and `memprof diff -o page.html`: what is in the page is what `memprof report`
says. The reader of the data block is written from docs/page-data.md, not from our own sources."""
import base64
import collections
import gzip
import html
import itertools
import json
import math
import os
import pathlib
import re
import signal
import struct
import subprocess
import urllib.error
import urllib.request

import e2e

WORK = """
import json
def keep(count):
    return [json.loads(json.dumps({"id": i, "name": "x" * (i % 90)})) for i in range(count)]
kept = keep(COUNT)
big = [bytearray(1 << 20) for _ in range(3)]
print(len(kept))
"""
FAMILIES = ("inuse", "alloc", "peak", "mapped", "mapped_resident", "temporary", "inuse_resident", "js")
TEMPORARY = ("temporary_objects", "temporary_space")
OWN, ALLOCATION, WRAPPER, LIBRARY, IMPORT, NAMELESS, GAP = range(7)


class Block:
    """The data block of a page: docs/page-data.md."""

    def __init__(self, page):
        data = re.search(r'<script type="application/octet-stream" id="data">([^<]*)</script>', page).group(1)
        self.data, self.at = gzip.decompress(base64.b64decode(data)), 0
        self.facts = json.loads(self.take(self.varint()))
        sizes = self.column(self.varint())
        self.texts = [self.take(size) for size in sizes]
        columns = "name shown symbol file module shown_module path package line flags"
        self.frames = self.rows(columns)
        self.sites = self.rows("frame role")
        self.nodes = self.rows("site up")
        self.parents, path = [], []
        for node in self.nodes:
            del path[len(path) - node.up:]
            self.parents.append(path[-1] if path else None)
            path.append(len(self.parents) - 1)
        self.kinds = self.rows("size rate share")
        self.labels = self.rows("process heap flags")
        self.read_stacks()
        assert self.at == len(self.data)

    def take(self, size):
        self.at += size
        return self.data[self.at - size:self.at]

    def varint(self):
        number = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7

    def real(self):
        return struct.unpack("<d", self.take(8))[0]

    def column(self, count):
        return [self.varint() for _ in range(count)]

    def rows(self, names):
        count = self.varint()
        kind = collections.namedtuple("Row", names)
        return [kind(*row) for row in zip(*(self.column(count) for _ in kind._fields))]

    def read_stacks(self):
        count = self.varint()
        steps, self.stack_labels = self.column(count), self.column(count)
        self.leaves = list(itertools.accumulate(steps))
        self.read_holdings(count)

    def read_holdings(self, count):
        entries = {}
        for family in FAMILIES:
            sizes = self.column(count)
            kinds = [self.column(size) for size in sizes]
            samples = [self.column(size) for size in sizes]
            entries[family] = [list(zip(*pair)) for pair in zip(kinds, samples)]
        # (bytes, blocks) by family, of each stack.
        self.values = [dict.fromkeys(FAMILIES, (0.0, 0.0)) for _ in range(count)]
        for special in (0, 1):
            for stack in range(count):
                for family in FAMILIES:
                    for kind, _ in entries[family][stack]:
                        if kind == special:
                            self.add(stack, family, *self.special(kind))
        for family in FAMILIES:
            for stack in range(count):
                for kind, samples in entries[family][stack]:
                    if kind >= 2:
                        own = self.kinds[kind - 2]
                        drawn = -math.expm1(-max(own.size, 1) / own.rate) if own.rate > 1 else 1
                        blocks = samples * own.share / drawn
                        self.add(stack, family, blocks * own.size, blocks)

        self.lifetimes = []  # by stack: (class, bytes, blocks)
        for size in self.column(count):
            columns = [self.column(size) for _ in range(3)]
            self.lifetimes.append(list(zip(*columns)))

    def special(self, kind):
        if kind == 1:
            return self.real(), self.real()
        self.varint()
        numbers = [self.real() for _ in range(6)]
        return numbers[0], numbers[1]

    def add(self, stack, family, size, blocks):
        old = self.values[stack][family]
        self.values[stack][family] = (old[0] + size, old[1] + blocks)

    def value(self, stack, metric):
        family, what = metric.rsplit("_", 1)
        return self.values[stack][family][0 if what == "space" else 1]

    def text(self, index):
        return self.texts[index].decode(errors="replace")

    def sites_of(self, stack):
        """Leaf first."""
        node = self.leaves[stack]
        while node is not None:
            yield self.sites[self.nodes[node].site]
            node = self.parents[node]

    def frames_of(self, stack, all_frames):
        """The frames that a report has, leaf first: (name, file, module)."""
        seen, own, allocation = [], [], None
        for site in self.sites_of(stack):
            role, is_interpreter = site.role & 7, bool(site.role & 8)
            frame = self.frames[site.frame]
            key = (self.text(frame.name), self.text(frame.file), self.text(frame.module))
            if is_interpreter and not all_frames:
                continue
            if not seen and role == ALLOCATION:
                allocation = key
                continue
            if role == GAP and not own:
                own = list(seen)
            seen.append(key)
            is_folded = role in (LIBRARY, IMPORT, NAMELESS) or role in (ALLOCATION, WRAPPER) and not own
            if is_interpreter or not is_folded:
                own.append(key)
        return (seen if all_frames or not own else own) or [allocation]

    def total(self, metric, stacks=None):
        return round(sum(self.value(stack, metric) for stack in (range(len(self.leaves)) if stacks is None else stacks)))

    def rows_of(self, metric, all_frames):
        self_sums, sums = collections.Counter(), collections.Counter()
        for stack in range(len(self.leaves)):
            frames = self.frames_of(stack, all_frames)
            self_sums[frames[0]] += self.value(stack, metric)
            for frame in set(frames):
                sums[frame] += self.value(stack, metric)
        return {frame: (round(self_sums[frame]), round(sums[frame])) for frame in sums}

    def matching(self, expression):
        """Stacks with a frame that matches."""
        pattern = re.compile(expression)
        result = set()
        for stack in range(len(self.leaves)):
            label, is_leaf = self.labels[self.stack_labels[stack]], True
            texts = {label.process, label.heap}
            for site in self.sites_of(stack):
                frame = self.frames[site.frame]
                if is_leaf and frame.flags & 1:
                    continue
                is_leaf = False
                texts.add(frame.path)
                texts |= set() if frame.flags & 1 else {frame.name, frame.shown, frame.file}
                texts |= set() if frame.flags & 2 else {frame.symbol}
            if any(pattern.search(self.text(text)) for text in texts if text):
                result.add(stack)
        return result


class Page(e2e.Test):
    def profile(self, name="p.pb.gz", count=8000, program="python3"):
        path = self.folder / name
        command = [e2e.need("perl"), "-e", program]
        if program == "python3":
            command = [e2e.system_python(), "-c", WORK.replace("COUNT", str(count))]
        self.memprof("run", "-r", "16k", "-o", path, "--", *command)
        return path

    def page(self, profile, *arguments):
        out = self.folder / "page.html"
        self.memprof("export", profile, "-o", out, "--force", *arguments)
        return out.read_text()

    def report(self, profile, *arguments):
        return json.loads(self.memprof("report", profile, "--json", *arguments).stdout)

    def test_sums_are_those_of_the_report(self):
        programs = ("python3", "sub f { my $n = shift; return $n ? [f($n - 1)] : [] } my @k = map { f(20) } 1 .. 2000; print 1")
        for program in programs:
            profile = self.profile(f"{len(program)}.pb.gz", program=program)
            block = Block(self.page(profile))
            self.assertEqual(set(block.facts["metrics"]), set(e2e.FILE_METRICS + TEMPORARY))
            for arguments, all_frames in ((("--imports",), False), (("--all-frames",), True)):
                report = self.report(profile, "--younger", "10ms", *arguments)
                self.assertEqual(block.facts["metric"], report["metric"])
                self.assertGreater(len(report["rows"]), 10)
                for metric in block.facts["metrics"]:
                    self.assert_same(metric, [block.total(metric)], [report["totals"][metric]["value"]])
                    rows = block.rows_of(metric, all_frames)
                    for row in report["rows"]:
                        self.assert_same(metric, rows[row["name"], row["file"], row["module"]],
                                         (row["self"][metric]["value"], row["cumulative"][metric]["value"]))
            self.assert_lifetimes(block)

    def assert_same(self, metric, own, theirs):
        # What is temporary is a sum over parts of stacks, whose halves may be rounded the other way.
        for one, other in zip(own, theirs, strict=True):
            self.assertLessEqual(abs(one - other), 1 if metric in TEMPORARY else 0, (metric, own, theirs))

    def assert_lifetimes(self, block):
        within = round(math.log10(block.facts["temporary_ns"] / 1000)) * 2 + 1  # classes: docs/page-data.md
        self.assertEqual(block.facts["temporary_ns"], 10_000_000)
        everything = [lifetime for stack in block.lifetimes for lifetime in stack]
        young = sum(size for number, size, _ in everything if number < within)
        self.assertGreater(young, 0)
        self.assertLessEqual(abs(young - block.total("temporary_space")), len(everything))

    def test_focus_and_ignore_select_the_same_stacks(self):
        profile = self.profile()
        block = Block(self.page(profile))
        for focus, ignore in (("keep", ""), ("json", "dumps"), ("libc", ""), ("", "decoder|python3"), ("nowhere", "")):
            arguments = (["--focus", focus] if focus else []) + (["--ignore", ignore] if ignore else [])
            stacks = block.matching(focus) if focus else set(range(len(block.leaves)))
            stacks -= block.matching(ignore) if ignore else set()
            report = self.report(profile, *arguments)
            for metric in e2e.ALL_METRICS:
                self.assertEqual(block.total(metric, stacks), report["selected"][metric]["value"], (focus, ignore, metric))

    def test_a_profile_of_others_keeps_its_values(self):
        # pprof's difference: some of the values are negative.
        base, profile, plain = self.profile("a.pb.gz"), self.profile("b.pb.gz", 4000), self.folder / "plain.pb.gz"
        subprocess.run([e2e.program("pprof"), "-proto", "-diff_base", base, "-output", plain, profile], check=True,
                       stderr=subprocess.DEVNULL)
        block = Block(self.page(plain))
        report = self.report(plain)
        self.assertEqual(block.facts["has_intervals"], report["totals"][report["metric"]]["low"] is not None)
        self.assertLess(min(block.value(stack, "alloc_space") for stack in range(len(block.leaves))), 0)
        for metric in block.facts["metrics"]:
            self.assertEqual(block.total(metric), report["totals"][metric]["value"])

    def test_who_has_no_javascript_sees_the_largest_rows(self):
        profile = self.profile()
        page = self.page(profile)
        report = self.report(profile)
        largest = max(report["rows"], key=lambda row: row["self"][report["metric"]]["value"])
        rows = re.findall(r"<tr><td>[^<]*</td><td>[^<]*</td><td>([^<]*)</td>", page)
        held = [row for row in report["rows"] if row["cumulative"][report["metric"]]["value"] > 0]
        self.assertEqual(len(rows), min(50, len(held)))
        self.assertEqual(html.unescape(rows[0]), largest["name"])
        self.assertIn("JavaScript", re.search("<noscript>(.*?)</noscript>", page).group(1))

    def test_a_difference_has_both_profiles(self):
        before, after = self.profile("a.pb.gz", 4000), self.profile("b.pb.gz", 12000)
        out = self.folder / "diff.html"
        self.memprof("diff", before, after, "-o", out)
        block = Block(out.read_text())
        self.assertEqual([side["program"] for side in block.facts["sides"]], [self.report(before)["program"]] * 2)
        for side, profile in enumerate((before, after)):
            stacks = [i for i, label in enumerate(block.stack_labels) if bool(block.labels[label].flags & 2) == bool(side)]
            for metric in e2e.ALL_METRICS:
                self.assertEqual(block.total(metric, stacks), self.report(profile)["totals"][metric]["value"])
        diff = json.loads(self.memprof("diff", before, after, "--json").stdout)
        significant = {row["name"] for row in diff["rows"] if row["significant"]}
        self.assertTrue(significant)
        self.assertEqual({row["name"] for row in block.facts["changes"][diff["metric"]]["rows"]}, significant)
        failed = self.memprof("diff", before, after, "-o", self.folder / "x.html", "--json", status=2)
        self.assertIn(b"a page is neither JSON nor Markdown", failed.stderr)
        failed = self.memprof("diff", "--before", before, before, "--after", after, "-o", self.folder / "x.html", status=2)
        self.assertIn(b"a page compares two profiles", failed.stderr)

    def test_mapped_metrics_are_those_of_the_report(self):
        profile = self.folder / "mapped.pb.gz"
        program = "import mmap\nkept = [mmap.mmap(-1, 1 << 20) for _ in range(8)]\nkept[0].write(b'x' * 100000)\n"
        self.memprof("run", "--mmap", "-r", "16k", "-o", profile, "--", e2e.system_python(), "-c", program)
        block, report = Block(self.page(profile)), self.report(profile)
        mapped = [metric for metric in block.facts["metrics"] if metric.startswith("mapped")]
        self.assertEqual(len(mapped), 4)
        self.assertGreaterEqual(block.total("mapped_space"), 8 << 20)
        for metric in set(block.facts["metrics"]) - set(TEMPORARY):
            self.assertEqual(block.total(metric), report["totals"][metric]["value"], metric)

    def test_view_serves_the_page_of_export(self):
        profile = self.profile()
        page = self.page(profile)
        viewer = subprocess.Popen([e2e.COMMAND, "view", profile, "--no-open"], stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.DEVNULL, env=e2e.plain_environment())
        try:
            url = viewer.stdout.readline().strip()
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            served = opener.open(url, timeout=e2e.WATCHDOG_S).read().decode()
            # But for the source text that it may ask its server for.
            block, known = Block(served), Block(page)
            self.assertEqual(block.facts.pop("source_address"), "source-")
            self.assertEqual(block.facts, known.facts)
            self.assertEqual(block.rows_of("inuse_space", False), known.rows_of("inuse_space", False))
            self.assertIn("; connect-src 'self'; ", served)
            self.assertNotIn("connect-src", page)
            # Of the profile's own files, and of no others.
            for path in {block.texts[frame.file].decode() for frame in block.frames}:
                if not os.path.isfile(path):
                    continue
                lines = json.load(opener.open(f"{url}source-{path.encode().hex()}", timeout=e2e.WATCHDOG_S))["lines"]
                self.assertEqual(len(lines), pathlib.Path(path).read_bytes().count(b"\n"))
                break
            else:
                self.fail("the profile names no file that is here")
            with self.assertRaises(urllib.error.HTTPError) as refused:
                opener.open(f"{url}source-{b'/etc/passwd'.hex()}", timeout=e2e.WATCHDOG_S)
            self.assertEqual(refused.exception.code, 404)
            with self.assertRaises(urllib.error.HTTPError) as refused:
                opener.open(url.rsplit("/", 2)[0] + "/", timeout=e2e.WATCHDOG_S)
            self.assertEqual(refused.exception.code, 404)
        finally:
            viewer.send_signal(signal.SIGINT)
            self.assertEqual(viewer.wait(e2e.WATCHDOG_S), 0)
            viewer.stdout.close()

    def test_view_hides_frames_as_export_does(self):
        profile = self.profile()
        whole = Block(self.page(profile)).rows_of("inuse_space", False)
        known = Block(self.page(profile, "--hide", "decode"))
        viewer = subprocess.Popen([e2e.COMMAND, "view", profile, "--no-open", "--hide", "decode"], stdout=subprocess.PIPE,
                                  text=True, stderr=subprocess.DEVNULL, env=e2e.plain_environment())
        try:
            url = viewer.stdout.readline().strip()
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            rows = Block(opener.open(url, timeout=e2e.WATCHDOG_S).read().decode()).rows_of("inuse_space", False)
            self.assertEqual(rows, known.rows_of("inuse_space", False))
            self.assertNotEqual(rows, whole)
        finally:
            viewer.send_signal(signal.SIGINT)
            self.assertEqual(viewer.wait(e2e.WATCHDOG_S), 0)
            viewer.stdout.close()

    def test_view_of_a_process_looks_anew_at_each_request(self):
        program = "import sys\nkept = []\nprint('ready', flush=True)\nfor line in sys.stdin:\n" \
                  "    kept.append(bytearray(8 << 20))\n    print('more', flush=True)\n"
        process = subprocess.Popen([e2e.system_python(), "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, env=e2e.preloaded(self.folder / "x.%p.pb", "64k"))
        viewer = None
        try:
            self.assertEqual(process.stdout.readline(), "ready\n")
            viewer = subprocess.Popen([e2e.COMMAND, "view", str(process.pid), "--no-open"], stdout=subprocess.PIPE, text=True,
                                      stderr=subprocess.DEVNULL, env=e2e.plain_environment())
            url = viewer.stdout.readline().strip()
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            look = lambda: Block(opener.open(url, timeout=e2e.WATCHDOG_S).read().decode()).total("inuse_space")
            before = look()
            process.stdin.write("\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "more\n")
            after = look()
            # 8 MiB of one block: at this rate it is sampled for certain. What the interpreter frees meanwhile is far less.
            self.assertGreater(after - before, 6 << 20)
            process.stdin.close()
            process.wait(e2e.WATCHDOG_S)
            self.assertGreater(look(), 0)  # the last look
        finally:
            for child in filter(None, (viewer, process)):
                child.kill()
                child.wait(e2e.WATCHDOG_S)
                child.stdout.close()
            process.stdin.close()


if __name__ == "__main__":
    e2e.main()
