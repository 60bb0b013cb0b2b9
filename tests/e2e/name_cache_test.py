# SPDX-License-Identifier: Apache-2.0
"""Names are kept in a folder: who asks for them again gets the same, without a look into debug info; whatever is in that
folder, and wherever it is, costs nothing but time."""
import gzip
import os
import pathlib
import shutil
import signal
import subprocess

import e2e

# Keeps something on each of many lines, so that there are stacks.
PROGRAM = """
import sys
import json, decimal, argparse, email.message
kept = [json.loads(json.dumps({str(i): [i] * 50})) for i in range(2000)]
print('ready', flush=True)
sys.stdin.readline()
"""

# Runs code that the other one does not.
OTHER_PROGRAM = """
import sys, ctypes, decimal, lzma, sqlite3, zlib
kept = [lzma.compress(bytes(1000)) for _ in range(20)], [decimal.Decimal(i).sqrt() for i in range(1000)]
base = sqlite3.connect(':memory:')
base.executescript('create table t(a); ' + 'insert into t values (1);' * 200)
print('ready', flush=True)
sys.stdin.readline()
"""


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


class NameCache(e2e.Test):
    def setUp(self):
        super().setUp()
        self.names = self.folder / "names"
        self.arenas = self.folder / "arenas"
        self.arenas.mkdir()

    def begin(self, program=PROGRAM, rate="16k"):
        process = subprocess.Popen([e2e.system_python(), "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env=e2e.preloaded(self.folder / "x.%p.pb", rate, MEMPROF_ARENA_DIR=str(self.arenas)))
        for end in (process.stdout.close, process.stdin.close, process.wait, process.kill):
            self.addCleanup(end)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        # Until it sleeps: Python allocates a little before it reads.
        stat = pathlib.Path(f"/proc/{process.pid}/stat")
        self.wait_for(lambda: stat.read_text().rpartition(")")[2].split()[0] == "S")
        return process

    def environment(self, cache=None):
        return e2e.plain_environment(MEMPROF_ARENA_DIR=str(self.arenas), MEMPROF_NAME_CACHE=str(cache or self.names))

    def ship(self, name, *more, cache=None):
        """A shipper that is started anew, as on another day: its spool is empty. Returns what it sent, its figures, what it said."""
        to = self.folder / name
        to.mkdir()
        prom = self.folder / f"{name}.prom"
        done = e2e.run([e2e.COMMAND, "ship", "--to", to, "--host", "a", "--service", "shop", "--spool", self.folder / f"{name}-spool",
                        "--metrics", prom, "--count", "1", *more], self.environment(cache), timeout=90)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        files = list(to.glob("shop/*.pb.gz"))
        self.assertEqual(len(files), 1)
        figures = {line.split()[0].removeprefix("memprof_ship_"): int(line.split()[1])
                   for line in prom.read_text().splitlines() if line.startswith("memprof_ship_name")}
        return self.content(files[0]), figures, done.stderr.decode()

    def content(self, file):
        """The bytes of a profile without its time."""
        data, rest, at = gzip.decompress(file.read_bytes()), b"", 0
        while at < len(data):
            begin = at
            key, at = varint(data, at)
            value, at = varint(data, at)
            at += value if key & 7 == 2 else 0
            if key >> 3 not in (9, 10):  # time_nanos, duration_nanos
                rest += data[begin:at]
        return rest

    def kept(self):
        return sorted(self.names.glob("*.names"))

    def test_a_shipper_that_is_started_anew_reads_no_debug_info(self):
        process = self.begin()
        without, figures, _ = self.ship("off", cache="off")
        self.assertEqual(figures, {})
        first, figures, _ = self.ship("first")
        self.assertEqual(first, without)
        self.assertGreater(figures["names_resolved_total"], 50)
        self.assertEqual(figures["names_cached_total"], 0)
        self.assertGreater(figures["name_cache_bytes"], 1000)
        self.assertEqual(self.names.stat().st_mode & 0o777, 0o700)
        for file in self.kept():
            self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        resolved = figures["names_resolved_total"]
        second, figures, _ = self.ship("second")
        self.assertEqual(second, without)
        self.assertEqual((figures["names_resolved_total"], figures["names_cached_total"]), (0, resolved))
        self.assertEqual(figures["name_cache_failures_total"], 0)
        # By an option, elsewhere.
        third, figures, _ = self.ship("third", "--name-cache", self.folder / "others")
        self.assertEqual((third, figures["names_resolved_total"]), (without, resolved))
        self.assertTrue(list((self.folder / "others").glob("*.names")))
        self.assertIsNone(process.poll())

    def test_whatever_is_in_the_folder(self):
        self.begin()
        without, _, _ = self.ship("off", cache="off")
        _, figures, _ = self.ship("first")
        resolved = figures["names_resolved_total"]
        wholes = {file: file.read_bytes() for file in self.kept()}
        for number, damage in enumerate((lambda whole: whole[:len(whole) // 2], lambda whole: b"",
                                         lambda whole: whole[:-1] + bytes([whole[-1] ^ 4]), lambda whole: os.urandom(len(whole)))):
            for file, whole in wholes.items():
                file.write_bytes(damage(whole))
            sent, figures, _ = self.ship(f"damaged{number}")
            self.assertEqual((sent, figures["names_resolved_total"]), (without, resolved))
            self.assertEqual({file: file.read_bytes() for file in self.kept()}, wholes)

    def test_a_folder_that_is_removed_meanwhile_is_made_again(self):
        self.begin()
        self.ship("first")
        count = len(self.kept())
        self.assertGreater(count, 1)
        to = self.folder / "bucket"
        to.mkdir()
        shipper = subprocess.Popen([e2e.COMMAND, "ship", "--to", to, "--spool", self.folder / "spool", "--every", "100ms",
                                    "--name-cache", self.names], env=self.environment(), stderr=subprocess.DEVNULL)
        self.addCleanup(shipper.wait)
        self.addCleanup(shipper.kill)
        self.wait_for(lambda: list(to.glob("*/*.pb.gz")))
        shutil.rmtree(self.names)
        self.begin(OTHER_PROGRAM, "1k")
        looks = len(list(to.glob("*/*.pb.gz")))
        self.wait_for(lambda: len(list(to.glob("*/*.pb.gz"))) > looks + 2)
        shipper.send_signal(signal.SIGTERM)
        self.assertEqual(shipper.wait(e2e.WATCHDOG_S), 0)
        self.assertTrue(self.kept())

    def test_a_folder_that_cannot_be_used_costs_a_line(self):
        self.begin()
        without, _, _ = self.ship("off", cache="off")
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        link, file, foreign = (self.folder / name for name in ("link", "file", "foreign"))
        link.symlink_to(elsewhere)
        file.write_text("")
        foreign.mkdir(mode=0o777)
        foreign.chmod(0o777)
        for number, (place, why) in enumerate(((link, "Not a directory"), (file, "Not a directory"),
                                               (foreign, "belongs to another user, or others may write to it"),
                                               (self.folder / "gone" / "names", "No such file or directory"))):
            sent, figures, said = self.ship(f"bad{number}", cache=place)
            self.assertEqual(sent, without)
            self.assertGreater(figures["name_cache_failures_total"], 0)
            self.assertEqual(figures["names_cached_total"], 0)
            line = f"memprof: ship: names are not kept for the next start: {place}"
            self.assertEqual(said.count("names are not kept"), 1, said)
            self.assertIn(line if place.parent == self.folder else line.rpartition("/")[0], said)
            self.assertIn(why, said)
        self.assertEqual(list(elsewhere.iterdir()), [])
        self.assertEqual(list(foreign.iterdir()), [])

    def test_a_full_disk(self):
        if os.geteuid() != 0:
            self.skipTest("to fill a file system takes root, who may mount one")
        full = self.folder / "full"
        full.mkdir(mode=0o700)
        mounted = e2e.run(["mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "tmpfs", full])
        if mounted.returncode != 0:
            self.skipTest(f"no file system can be mounted here: {mounted.stderr.decode()}")
        self.addCleanup(e2e.run, ["umount", full])
        self.begin()
        without, _, _ = self.ship("off", cache="off")
        for number in range(2):
            sent, figures, said = self.ship(f"full{number}", cache=full / "names")
            self.assertEqual(sent, without)
            self.assertGreater(figures["name_cache_failures_total"], 0)
            self.assertIn("No space left on device", said)
        self.assertEqual([file.name for file in (full / "names").iterdir() if file.name.startswith(".")], [])

    def test_reports_of_a_raw_profile_take_them_too(self):
        profile = self.folder / "raw.pb.gz"
        e2e.run([e2e.system_python(), "-c", "import json; kept = [json.loads('[1, 2]') for _ in range(20000)]"],
                e2e.preloaded(profile, "4k"))
        without = self.memprof("report", profile, "--json", environment=self.environment("off")).stdout
        first = self.memprof("report", profile, "--json", environment=self.environment()).stdout
        names = {file: file.stat().st_mtime_ns for file in self.kept()}
        self.assertTrue(names)
        second = self.memprof("report", profile, "--json", environment=self.environment()).stdout
        self.assertEqual((first, second), (without, without))
        self.assertEqual({file: file.stat().st_mtime_ns for file in self.kept()}, names)

    def test_wrong_words(self):
        done = e2e.run([e2e.COMMAND, "ship", "--to", self.folder, "--name-cache", "here"], self.environment())
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (2, "memprof: --name-cache: 'here' is neither the absolute path of a folder nor off\n"))
        done = e2e.run([e2e.COMMAND, "--version"], self.environment("here"))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.decode(), "memprof: MEMPROF_NAME_CACHE: 'here' is neither the absolute path of a folder nor "
                                               "off; names are not kept\n")


if __name__ == "__main__":
    e2e.main()
