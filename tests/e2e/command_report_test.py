# SPDX-License-Identifier: Apache-2.0
"""`memprof report` on real profiles and on hostile files."""
import fcntl
import gzip
import json
import os
import pathlib
import pty
import random
import re
import shutil
import struct
import subprocess
import termios

import e2e
import report_profiles


def setUpModule():
    global FOLDER, EXACT, SAMPLED, TRUTH
    FOLDER, EXACT, SAMPLED, TRUTH = report_profiles.make()


def tearDownModule():
    shutil.rmtree(FOLDER)


class Report(e2e.Test):
    def test_json_tells_the_truth(self):
        report = self.report(EXACT)
        self.assertEqual((report["program"], report["rate_bytes"], report["dropped_samples"]), ("family", 0, 0))
        rows = {row["name"]: row for row in report["rows"]}
        for site, truth in TRUTH.items():
            with self.subTest(site):
                row = rows[site]
                self.assertEqual({m: row["self"][m]["value"] for m in e2e.METRICS}, truth)
                self.assertEqual(row["module"], "family")
                for metric in e2e.METRICS:  # exact: no interval
                    self.assertEqual(len(set(row["self"][metric].values())), 1)
        everything = rows["main"]["cumulative"]
        for metric in e2e.METRICS:
            self.assertGreaterEqual(everything[metric]["value"], sum(t[metric] for t in TRUTH.values()))
            self.assertGreaterEqual(report["totals"][metric]["value"], everything[metric]["value"])
        self.assertEqual(sum(row["self"]["alloc_space"]["value"] for row in report["rows"]),
                         report["totals"]["alloc_space"]["value"])

    def test_json_rows_are_ordered_and_limited(self):
        for metric in e2e.METRICS:
            rows = self.report(EXACT, "--metric", metric)["rows"]
            values = [row["self"][metric]["value"] for row in rows]
            self.assertEqual(values, sorted(values, reverse=True))
            self.assertEqual(self.report(EXACT, "--metric", metric, "-n", "3")["rows"], rows[:3])

    def test_grouping(self):
        modules = {row["name"]: row for row in self.report(EXACT, "--by", "module")["rows"]}
        self.assertIn("family", modules)
        for by in ("function", "line", "file", "module"):
            report = self.report(EXACT, "--by", by)
            self.assertEqual(sum(row["self"]["inuse_space"]["value"] for row in report["rows"]),
                             report["totals"]["inuse_space"]["value"], by)

    def test_text(self):
        said = self.memprof("report", EXACT, "-n", "5").stdout.decode()
        self.assertNotIn("\x1b", said)
        header, table, footer = said.strip().split("\n\n")[:3]
        self.assertRegex(header, r"family \(pid \d+\)")
        self.assertRegex(header, r"124 samples|\d+ samples")
        self.assertLessEqual(len(header.splitlines()), 4)  # the answer comes first
        self.assertIn("3.0 GiB", header)
        details = self.memprof("report", EXACT, "-n", "5", "--details").stdout.decode().strip().split("\n\n")
        self.assertIn("complete", details[0])
        self.assertEqual(details[1:3], [table, footer])
        self.assertIn("leave out --details", self.memprof("report", EXACT, "--details", "--json", status=2).stderr.decode())
        self.assertIn("3.0 GiB", table.splitlines()[2])  # at the peak
        self.assertIn("site_malloc_1g", table.splitlines()[2])
        self.assertEqual(len(table.splitlines()), 2 + 5)
        self.assertIn("exact", footer)
        for line in said.splitlines():
            self.assertLessEqual(len(re.sub(r"/\S*$", "", line)), 120)  # no terminal: paths are whole
            self.assertEqual(line, line.rstrip())

    def test_the_tree_tells_the_truth(self):
        tree = self.report(EXACT, "--tree", "--min-percent", "0", "--metric", "alloc_space")["tree"]["nodes"]
        found = {}
        for node in tree:
            if node["frames"][-1]["name"] in TRUTH:
                sums = found.setdefault(node["frames"][-1]["name"], dict.fromkeys(e2e.METRICS, 0))
                for metric in e2e.METRICS:
                    sums[metric] += node["self"][metric]["value"]
        self.assertEqual(found, TRUTH)
        for node in tree:
            if node["parent"] is not None:
                parent = tree[node["parent"]]
                self.assertGreaterEqual(parent["cumulative"]["alloc_space"]["value"],
                                        node["cumulative"]["alloc_space"]["value"])

    def test_callers_tell_the_truth(self):
        for site, truth in TRUTH.items():
            calls = self.report(EXACT, "--callers", site, "--callees", site)
            self.assertEqual(calls["callers"]["matched"], [site])
            itself = [row["values"] for row in calls["callees"]["rows"] if row["name"] == "[itself]"]
            for metric in e2e.METRICS:
                for edges in (calls["callers"], calls["callees"]):
                    self.assertEqual(sum(row["values"][metric]["value"] for row in edges["rows"]),
                                     edges["cumulative"][metric]["value"])
                self.assertEqual(sum(values[metric]["value"] for values in itself), truth[metric])

    def test_a_terminal(self):
        """As wide as it is, in colours; a dumb one without."""
        for columns, extra, has_color in ((80, {"TERM": "xterm"}, True), (132, {"TERM": "dumb"}, False),
                                          (50, {"TERM": "xterm", "NO_COLOR": "1"}, False)):
            for arguments in ((), ("--tree",), ("--callers", "main", "--callees", "main")):
                said = self.on_terminal(columns, extra, "report", SAMPLED, "--no-pager", "--metric", "alloc_space", *arguments)
                self.assertEqual("\x1b[" in said, has_color)
                plain = re.sub(r"\x1b\[\d*m", "", said)
                self.assertIn("known_heap", plain)
                for line in plain.splitlines():
                    self.assertLessEqual(len(line), columns, plain)

    def on_terminal(self, columns, extra, *arguments):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = e2e.plain_environment(**extra)
        environment.pop("COLUMNS", None)
        with subprocess.Popen([e2e.COMMAND, *arguments], env=environment, stdout=slave) as process:
            os.close(slave)
            said = b""
            try:
                while part := os.read(master, 65536):
                    said += part
            except OSError:  # the other end is closed
                pass
        os.close(master)
        self.assertEqual(process.returncode, 0)
        return said.decode().replace("\r\n", "\n")

    def test_the_first_row_is_what_one_looks_for(self):
        """Not the containers that allocate for it; and nothing is lost."""
        path = self.folder / "cache.pb.gz"
        self.memprof("run", "-r", "0", "-o", path, "--", e2e.program("leaking_cache"))
        said = self.memprof("report", path).stdout.decode()
        table = said.split("\n\n")[1].splitlines()
        self.assertRegex(table[2], r"SessionCache::insert\(int\) +\S*leaking_cache\.cc:\d+$")
        self.assertNotRegex(said, r"std::|__gnu_cxx::|_start\b|__libc_start|void fill|fill<SessionCache>")
        self.assertIn("fill<>(SessionCache&, int)", said)
        everything = self.memprof("report", path, "--all-frames", "-n", "1000").stdout.decode()
        self.assertIn("std::", everything)
        self.assertIn("void fill<SessionCache>", self.memprof("report", path, "--full-names").stdout.decode())
        own, whole = self.report(path), self.report(path, "--all-frames")
        self.assertEqual(own["totals"], whole["totals"])
        for report in own, whole:
            self.assertEqual(sum(row["self"]["inuse_space"]["value"] for row in report["rows"]),
                             report["totals"]["inuse_space"]["value"])
        # What is left out of the tables is found by those who ask for it.
        self.assertGreater(self.report(path, "--focus", "std::vector<int")["selected"]["inuse_space"]["value"], 5000 * 400)
        self.assertTrue(any("push_back" in name for name in self.report(path, "--callers", "push_back")["callers"]["matched"]))
        collapsed = self.folder / "cache.collapsed"
        self.memprof("export", path, "-o", collapsed)
        self.assertNotIn("std::", collapsed.read_text())
        self.memprof("export", path, "-o", collapsed, "--force", "--all-frames")
        self.assertIn("std::", collapsed.read_text())

    def test_text_of_a_sampled_profile(self):
        said = self.memprof("report", SAMPLED, "--metric", "alloc_space").stdout.decode()
        for word in ("known_heap", "64 KiB", "site_16", "±", "95 %"):
            self.assertIn(word, said)

    def test_standard_input(self):
        self.assertEqual(self.memprof("report", "-", "--json", input=EXACT.read_bytes()).stdout,
                         self.memprof("report", EXACT, "--json").stdout)

    def test_closed_and_full_standard_output(self):
        with open("/dev/full", "w") as full:

            done = subprocess.run([e2e.COMMAND, "report", EXACT], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr.decode(), r"^memprof: standard output: no space left.*\n$")

    def check_refused(self, path, *parts, command=("report",), status=2):
        done = e2e.run([e2e.COMMAND, *command, path])
        said = done.stderr.decode()
        self.assertEqual(done.returncode, status, said)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(said.count("\n"), 1, said)
        self.assertTrue(said.startswith("memprof: "), said)
        for part in (str(path), *parts):
            self.assertIn(part, said)

    def cut_inside_a_message(self, plain):
        """About half of a profile. Cut between two messages it would be a whole one, of fewer of them."""
        for size in (len(plain) // 2, len(plain) // 2 + 1):
            try:
                list(e2e.message_fields(plain[:size]))
            except (AssertionError, IndexError):
                return plain[:size]
        self.fail("both cuts lie between messages")

    def test_bad_files(self):
        good = EXACT.read_bytes()
        plain = gzip.decompress(good)
        cases = {"empty": b"", "text": b"hello, world\n" * 100, "truncated.gz": good[:len(good) // 2],
                 "truncated.pb": self.cut_inside_a_message(plain), "zeros": bytes(10000), "ones": b"\xff" * 10000,
                 "elf": pathlib.Path(e2e.program("ending")).read_bytes(),
                 "bomb.gz": gzip.compress(bytes(200 << 20), 1), "flipped.gz": bytes(b ^ 0x55 for b in good),
                 "json": b'{"program": 1}'}
        for name, content in cases.items():
            with self.subTest(name):
                path = self.folder / name
                path.write_bytes(content)
                self.check_refused(path)
        self.check_refused(self.folder / "missing", "o such file")
        self.check_refused(self.folder)
        self.check_refused("/proc/self/mem")

    def test_bombs_take_little_memory(self):
        """4 MB that unpack to 4 GB, of bytes that are no pprof file, of fields that one could have, of a text's blanks."""
        for name, unit, said in (("zeros", bytes(1 << 26), "not a pprof profile"),
                                 ("text", b"heap_v2/1\n" + b" " * (1 << 26), "gzip -dc FILE > FILE.pb"),
                                 ("strings", b"\x32\0" * (1 << 25), "gzip -dc FILE > FILE.pb")):
            member = gzip.compress(unit, 9)
            path = self.folder / name
            path.write_bytes(member * ((4 << 20) // len(member)))
            for command in (("report", path), ("view", path, "--no-open"), ("export", path, "-o", self.folder / "x.json"),
                            ("diff", path, EXACT), ("merge", path, EXACT, "-o", self.folder / "x.pb.gz")):
                with self.subTest(name, command=command[0]):
                    process = subprocess.Popen([e2e.COMMAND, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                               env=e2e.plain_environment(), text=True)
                    error = process.stderr.read()
                    process.stderr.close()
                    _, status, usage = os.wait4(process.pid, 0)
                    process.returncode = os.waitstatus_to_exitcode(status)
                    self.assertEqual(process.returncode, 2, error)
                    self.assertIn(said, error)
                    self.assertLess(usage.ru_maxrss, 512 << 10, "KiB")

    def test_what_has_no_end_is_refused(self):
        for arguments, name in ((("/dev/zero",), "/dev/zero"), (("-",), "standard input")):
            with self.subTest(name), open("/dev/zero", "rb") as zeros:
                done = e2e.run([e2e.COMMAND, "report", *arguments], stdin=zeros)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stderr.decode(), f"memprof: {name}: not a pprof profile, or a truncated one\n")

    def test_hostile_files(self):
        """Random damage to a real profile: a line, or a report; never a crash, never a hang."""
        plain = gzip.decompress(EXACT.read_bytes())
        generator = random.Random(20)
        refused = 0
        for number in range(60):
            data = bytearray(plain)
            for _ in range(generator.choice((1, 3, 30))):
                at = generator.randrange(len(data))
                data[at:at + generator.choice((0, 1, 4))] = generator.randbytes(generator.choice((0, 1, 4)))
            path = self.folder / "hostile.pb"
            path.write_bytes(bytes(data))
            done = e2e.run([e2e.COMMAND, "report", path, "--json"])
            self.assertIn(done.returncode, (0, 2), (number, done.stderr))
            refused += done.returncode == 2
            if done.returncode == 0:
                json.loads(done.stdout)
            else:
                # The last line is the reason; warnings may stand before it.
                self.assertRegex(done.stderr.decode().splitlines()[-1], r"^memprof: ")
        self.assertGreater(refused, 0)
        self.assertLess(refused, 60)


if __name__ == "__main__":
    e2e.main()
