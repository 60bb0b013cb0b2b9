# SPDX-License-Identifier: Apache-2.0
"""MEMPROF_MMAP=1: the mappings that a program makes itself, against what it did (programs/mappings.c) and against smaps.

Mapped and resident bytes are exact, not sampled. Where others share the process (python3, node), what is accounted for is
compared with what the kernel says of all anonymous memory.
"""
import os
import unittest

import e2e

MIB = 1 << 20
PARTS = ("mapped", "allocator", "malloc", "stacks", "modules", "own", "unseen")


class Mappings(e2e.Test):

    def told(self, said):
        truth, smaps = {}, None
        for line in said.splitlines():
            if line.startswith("truth "):
                _, name, mapped, resident = line.split()
                truth[name] = (int(mapped), int(resident))
            elif line.startswith("smaps "):
                smaps = int(line.split()[1])
        self.assertTrue(truth, said)
        return truth, smaps

    def record(self, *command, rate="512k", **extra):
        done = e2e.run(command, e2e.preloaded(self.folder / "out.%p.pb", rate, MEMPROF_MMAP="1", **extra))
        self.check(done)
        return done.stdout.decode(), self.only_profile("out.*.pb")

    def rows(self, path):
        report = self.report(path, "--metric", "mapped_space")
        return report, {row["name"]: (row["cumulative"]["mapped_space"]["value"],
                                      row["cumulative"]["mapped_resident_space"]["value"]) for row in report["rows"]}

    def anonymous(self, report):
        return sum(report[f"anonymous_{part}_bytes"] for part in PARTS)

    def check_seen(self, report, smaps, least):
        anonymous = self.anonymous(report)
        # memprof's own pages come and go; what the program says, it says before its end.
        parts = {part: report[f"anonymous_{part}_bytes"] for part in PARTS}
        self.assertLess(abs(anonymous - smaps), 0.01 * smaps + MIB, parts)
        self.assertGreaterEqual(1 - report["anonymous_unseen_bytes"] / anonymous, least, parts)

    def test_what_each_function_maps_is_exact(self):
        said, path = self.record(e2e.program("mappings"))
        truth, smaps = self.told(said)
        report, rows = self.rows(path)
        self.assertEqual({name: rows.get(name) for name in truth}, truth)
        self.assertNotIn("churn", rows, "all that it mapped, it unmapped")
        self.assertEqual(report["dropped_mappings"], 0)
        self.assertEqual(report["totals"]["mapped_space"]["value"], sum(mapped for mapped, _ in truth.values()))
        self.check_seen(report, smaps, 0.98)

    def test_nothing_of_it_is_in_a_sum_of_blocks(self):
        said, path = self.record(e2e.program("mappings"), rate="0")
        totals = self.report(path)["totals"]
        # The program allocates a stream and little else.
        for metric in ("alloc_space", "inuse_space", "peak_space"):
            self.assertLess(totals[metric]["value"], MIB, metric)
        profile = e2e.Profile(path)
        for metric in e2e.ALL_METRICS + ("mapped_space", "mapped_resident_space"):
            self.assertEqual(profile.total(metric), totals[metric]["value"], metric)
        self.assertIn("[heap mmap]", self.memprof("report", path, "--mmap", "--tree").stdout.decode())
        # What is read and written again is the same.
        again = self.folder / "again.pb"
        self.memprof("export", path, "-o", again, "--all-frames", "--full-names")
        self.assertEqual(self.report(again)["totals"], totals)

    def test_mappings_are_shown_where_no_block_was_sampled(self):
        _, path = self.record(e2e.program("mappings"), rate="1T")
        self.assertEqual(self.report(path)["samples"], 0)
        shown = self.memprof("report", path, "--mmap", "--details").stdout.decode()
        self.assertRegex(shown, r"MiB +\d+ .* grow +\S*mappings\.c:\d+")
        self.assertNotIn("No allocation was sampled", shown)
        self.assertIn("No allocation was sampled", self.memprof("report", path).stdout.decode())

    def test_a_full_table_is_said(self):
        said, path = self.record(e2e.program("mappings"), "many", "3000", MEMPROF_MAX_STACKS="1000")
        self.assertGreater(self.report(path)["dropped_mappings"], 1000)
        self.assertTrue(self.told(said))

    def test_what_nobody_measured_is_no_zero(self):
        """A process that is killed has not looked at what its mappings have in memory."""
        path = self.folder / "killed.pb"
        code = "import mmap, os; kept = mmap.mmap(-1, 30 << 20); kept.write(bytes(20 << 20)); os.kill(os.getpid(), 9)"
        self.memprof("run", "--mmap", "-o", path, "--", e2e.system_python(), "-c", code, status=137)
        types = [name for name, _ in e2e.Profile(path).types]
        self.assertIn("mapped_space", types)
        self.assertNotIn("mapped_resident_space", types)
        shown = self.memprof("report", path, "--mmap", "--details").stdout.decode()
        self.assertRegex(shown, r"(?m)^Mapped: .*; how much of it was resident was not measured")
        self.assertRegex(shown, r"(?m)^ *30\.0 MiB ")
        self.assertNotIn("0 B of it", shown)
        failed = self.memprof("report", path, "--metric", "mapped_resident", status=2)
        self.assertIn(b"has no mapped_resident_space", failed.stderr)

    def test_without_it_nothing_is_recorded(self):
        done = e2e.run([e2e.program("mappings")], e2e.preloaded(self.folder / "out.%p.pb", "0"))
        self.check(done)
        path = self.only_profile("out.*.pb")
        self.assertNotIn("mapped_space", [name for name, _ in e2e.Profile(path).types])
        failed = self.memprof("report", path, "--mmap", status=2)
        self.assertIn(b"has no mapped_resident_space", failed.stderr)

    def test_followed_children_have_their_own(self):
        self.memprof("run", "--mmap", "-r", "0", "--raw", "-o", self.folder / "run.pb", e2e.program("mappings"))
        _, rows = self.rows(self.folder / "run.pb")
        self.assertEqual(rows["in_constructor"], (4 * MIB, MIB))
        self.assertEqual(rows["plain"][0], 36 * MIB)
        children = [p for p in self.folder.glob("run.*.pb")]
        self.assertEqual(len(children), 1, list(self.folder.iterdir()))
        _, of_child = self.rows(children[0])
        self.assertEqual(of_child["plain"], (50 * MIB, MIB))
        self.assertNotIn("in_constructor", of_child)

    def test_numpy(self):
        script = ("import mmap, numpy\n"
                  "arrays = [numpy.ones(1000000) for _ in range(8)]\n"
                  "def view():\n"
                  "    return mmap.mmap(-1, 30 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
                  "held = view()\n"
                  "held[:20 << 20] = b'x' * (20 << 20)\n"
                  "strings = [str(i) for i in range(100000)]\n"
                  "print('smaps', sum(int(l.split()[1]) for l in open('/proc/self/smaps') if l.startswith('Anonymous:')) * 1024)\n")
        if e2e.run([e2e.system_python(), "-c", "import numpy"]).returncode != 0:
            raise AssertionError("numpy is not installed; ./dev test installs what the tests need")
        said, path = self.record(e2e.system_python(), "-c", script)
        smaps = int(said.split()[1])
        report, rows = self.rows(path)
        self.assertEqual(rows["view"][0], 30 * MIB)
        self.assertLess(abs(rows["view"][1] - 20 * MIB), MIB)
        self.assertGreater(report["anonymous_allocator_bytes"], MIB, "pymalloc's arenas, whose objects are seen")
        self.check_seen(report, smaps, 0.95)

    def test_what_python_held_at_its_end(self):
        script = ("import mmap\n"
                  "def view():\n"
                  "    return mmap.mmap(-1, 30 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
                  "held = view()\n"
                  "held[:] = b'x' * len(held)\n")
        _, path = self.record(e2e.system_python(), "-c", script)
        _, rows = self.rows(path)
        self.assertEqual(rows["view"], (30 * MIB, 30 * MIB))

    def test_python_needs_no_option_where_they_are_much(self):
        script = self.folder / "app.py"
        script.write_text("import mmap, sys\n"
                          "def load():\n"
                          "    return mmap.mmap(-1, 64 << 20)\n"
                          "held = load()\n"
                          "held[:int(sys.argv[1]) << 20] = bytes(int(sys.argv[1]) << 20)\n")
        for touched, end in ((32, "exits"), (32, "is killed"), (1, "exits")):
            path = self.folder / f"{touched}.{end[:2]}.pb.gz"
            code = script.read_text() + ("import os; os.kill(os.getpid(), 9)" if end == "is killed" else "")
            self.memprof("run", "-o", path, "--", e2e.system_python(), "-c", code, str(touched),
                         status=137 if end == "is killed" else 0)
            shown = self.memprof("report", path).stdout.decode()
            if touched == 32 and end == "exits":
                self.assertRegex(shown, r"(?m)^ *32\.0 MiB .* load ")
                self.assertIn("The program itself also mapped memory: 32.0 MiB", shown)
            else:  # of what was killed nobody knows what was in memory
                self.assertNotIn("mapped memory", shown)
                self.assertNotIn("mapped_space", [name for name, _ in e2e.Profile(path).types])
        for switch in ("0", ""):
            path = self.folder / f"switch{switch}.pb.gz"
            done = e2e.run([e2e.COMMAND, "run", "-o", path, "--", e2e.system_python(), script, "32"],
                           dict(os.environ, MEMPROF_MMAP=switch))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("mapped_space" in [name for name, _ in e2e.Profile(path).types], switch == "")

    def test_node(self):
        node = e2e.need("node")
        script = ("const kept = []; for (let i = 0; i < 300000; ++i) kept.push({i, s: 'x' + i});\n"
                  "const buffer = Buffer.alloc(20 << 20, 1);\n"
                  # By another process, so that the look needs no memory of this one.
                  "const command = `awk '/^Anonymous:/ { sum += $2 } END { print sum * 1024 }' /proc/${process.pid}/smaps`;\n"
                  "const sum = require('child_process').execSync(command, {env: {PATH: process.env.PATH}});\n"
                  "process.stdout.write('smaps ' + sum); process.reallyExit(0);\n")
        said, path = self.record(node, "-e", script)
        report, _ = self.rows(path)
        self.check_seen(report, int(said.split()[1]), 0.95)
        self.assertGreater(report["anonymous_mapped_bytes"], 20 * MIB, "V8's heap")

    def test_what_python_shares_or_maps_of_a_file_is_its_lines(self):
        script = self.folder / "shares.py"
        script.write_text("""\
import mmap, os
from multiprocessing import shared_memory
MIB = 1 << 20
def share():
    block = shared_memory.SharedMemory(create=True, size=8 * MIB)
    block.buf[:] = bytes(8 * MIB)
    return block
def of_file(access):
    with open("table.bin", "r+b") as file:
        table = mmap.mmap(file.fileno(), 0, access=access)
    return table, sum(table[page] for page in range(0, 4 * MIB, mmap.PAGESIZE))
with open("table.bin", "wb") as file:
    file.truncate(16 * MIB)
block = share()
kept = of_file(mmap.ACCESS_READ)
copied = of_file(mmap.ACCESS_COPY)
block.unlink()
os._exit(0)
""")
        out = self.folder / "shares.pb"
        self.memprof("run", "--mmap", "-r", "0", "-o", out, "--", e2e.system_python(), script, cwd=self.folder)
        rows = [row for row in self.report(out, "--mmap", "--by", "line")["rows"] if row["self"]["mapped_space"]["value"] >= 8 << 20]
        shared = next(row for row in rows if row["name"] == "SharedMemory.__init__")
        self.assertEqual(shared["self"]["mapped_space"]["value"], 8 << 20)
        self.assertEqual(shared["called_by"], {"function": "share", "file": str(script), "line": 5})
        file = next(row for row in rows if row["name"] == "of_file")
        self.assertEqual((file["line"], file["self"]["mapped_objects"]["value"]), (10, 1), "a copy is private: the file's")
        self.assertEqual(file["self"]["mapped_space"]["value"], 16 << 20)
        self.assertGreaterEqual(file["self"]["mapped_resident_space"]["value"], 4 << 20)
        text = self.memprof("report", out).stdout.decode()
        self.assertIn("The program itself also mapped memory", text)


if __name__ == "__main__":
    e2e.main()
