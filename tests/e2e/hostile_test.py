# SPDX-License-Identifier: Apache-2.0
"""Files that others have made where the command looks: pipes, links, devices, arenas that are not what they say."""
import os
import pathlib
import re
import signal
import stat
import struct
import subprocess
import time

import e2e

OWN_NAMESPACE = re.search(r"\d+", os.readlink("/proc/self/ns/pid"))[0]


def arena_name(pid):
    return f"memprof-{pid}-{OWN_NAMESPACE}.arena"


class Pipes(e2e.Test):
    """A pipe that nobody writes to is waited for by who opens it."""

    def test_run_is_over_when_the_program_is(self):
        made = (f"mkfifo $MEMPROF_ARENA_DIR/{arena_name(2147483647)} $MEMPROF_ARENA_DIR/memprof-7-1.arena;"
                f"mkfifo $MEMPROF_ARENA_DIR/{arena_name(os.getpid())} ${{MEMPROF_PROFILE%/*}}/x.pb")
        out = self.folder / "out.pb"
        done = self.memprof("run", "-r", "0", "--no-follow", "-o", out, "--", "sh", "-c", made)
        self.assertNotIn(b"could not be read", done.stderr)
        self.assertGreater(len(e2e.Profile(out).samples), 0)

    def test_list_and_clean(self):
        os.mkfifo(self.folder / arena_name(2147483647))
        os.mkfifo(self.folder / arena_name(os.getpid()))
        environment = e2e.plain_environment(MEMPROF_ARENA_DIR=str(self.folder))
        self.assertIn(b"no process has memprof in it", self.memprof("list", environment=environment).stdout)
        self.assertIn(b"removed 0 files", self.memprof("clean", "--all", environment=environment).stdout)

    def test_report_of_one_that_is_named_like_an_arena(self):
        path = self.folder / arena_name(7)
        os.mkfifo(path)
        done = self.memprof("report", path, status=2)
        self.assertIn(b"not a regular file", done.stderr)


class Signals(e2e.Test):
    def start(self, output, script):
        """memprof run, and the process id of the program when it has said it."""
        run = subprocess.Popen([e2e.COMMAND, "run", "-r", "0", "-o", output, "--", "sh", "-c", script],
                               env=e2e.plain_environment(TMPDIR=str(self.folder)), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        return run, int(run.stdout.readline())

    def wait_until_gone(self, pid):
        deadline = time.monotonic() + e2e.WATCHDOG_S
        while os.path.exists(f"/proc/{pid}"):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_end_memprof_once_the_program_has_ended(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)  # it would write there, and nobody reads
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number.name):
                run, pid = self.start(fifo, "echo $$")
                self.wait_until_gone(pid)
                run.send_signal(signal.SIGUSR1)  # was the program's
                run.send_signal(number)
                self.assertEqual(run.wait(e2e.WATCHDOG_S), -number)

    def test_the_one_that_ended_the_program_may_come_twice(self):
        """As `timeout` sends it: to its child, and to the group that both are in."""
        for i in range(5):
            out = self.folder / f"{i}.pb"
            run, _ = self.start(out, "trap 'exit 3' TERM; echo $$; while :; do sleep 0.01; done")
            run.send_signal(signal.SIGTERM)
            run.send_signal(signal.SIGTERM)
            self.assertEqual(run.wait(e2e.WATCHDOG_S), 3)
            self.assertTrue(out.exists())


class Arenas(e2e.Test):
    def setUp(self):
        super().setUp()
        self.arena = self.folder / "kept.arena"
        # Of a program that was killed.
        arenas = self.folder / "arenas"
        arenas.mkdir()
        done = e2e.run(["sh", "-c", "kill -9 $$"],
                       e2e.preloaded(self.folder / "out.pb", 0, MEMPROF_ARENA_DIR=str(arenas)))
        self.check(done, -signal.SIGKILL)
        next(arenas.glob("*.arena")).rename(self.arena)

    def beginning(self, size):
        with open(self.arena, "rb") as file:  # sparse, and gigabytes long
            return file.read(size)

    def test_one_that_says_it_is_full(self):
        """The header of a real one, of whose sections none has memory but all are in use."""
        header = bytearray(self.beginning(4096))
        total = struct.unpack_from("<Q", header, 32)[0]
        size = self.arena.stat().st_size
        self.assertEqual(total, size)
        # The sections: offset, capacity, used, committed, mapped; they lie one behind the other from 64 KiB on.
        at = next(at for at in range(112, 4096, 8) if struct.unpack_from("<Q", header, at)[0] == 65536)
        sections = 0
        while True:
            offset, capacity, _, _, _ = struct.unpack_from("<5Q", header, at)
            if offset < 4096 or offset % 4096 != 0 or offset + capacity > total:
                break
            struct.pack_into("<2Q", header, at + 16, capacity, capacity)
            at += 40
            sections += 1
        self.assertGreater(sections, 5)
        hostile = pathlib.Path(e2e.ARENAS.name) / arena_name(2147483646)
        self.addCleanup(hostile.unlink)
        with open(hostile, "wb") as file:
            file.write(header)
            file.truncate(size)
        before = hostile.stat().st_blocks
        environment = e2e.plain_environment()
        self.assertIn(str(hostile).encode(), self.memprof("list", environment=environment).stdout)
        done = e2e.run([e2e.COMMAND, "report", hostile])
        self.assertIn(done.returncode, (0, 2), done.stderr)
        self.assertEqual(hostile.stat().st_blocks, before)

    def test_a_link_that_is_named_is_meant(self):
        link = self.folder / "link.arena"
        link.symlink_to(self.arena)
        self.memprof("report", link)

    def test_one_that_is_cut(self):
        begin = self.beginning(1 << 20)
        for size in (0, 100, 4096, 5000, 1 << 20):
            self.arena.write_bytes(begin[:size])
            done = e2e.run([e2e.COMMAND, "report", self.arena])
            self.assertEqual(done.returncode, 2, f"{size} {done.stderr}")


class Devices(e2e.Test):
    def test_of_a_mapping_are_not_opened(self):
        """A device without a driver: who opens it is told so, and not that it is no file."""
        if os.geteuid() != 0:
            self.skipTest("only root can make a device")
        profile = self.folder / "out.pb"
        self.check(e2e.run(["sh", "-c", "true"], e2e.preloaded(profile, 0)))
        device = self.folder / "dev"
        try:
            os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(4095, 1 << 18))
        except PermissionError:
            self.skipTest("no device can be made here")
        # A path of the same length, where a link of ours is.
        mapped = max((m["path"] for m in e2e.Profile(profile).mappings.values()), key=len)
        link = pathlib.Path(path_of_length(len(mapped)))
        link.symlink_to(device)
        self.addCleanup(link.unlink)
        hostile = self.folder / "hostile.pb"
        hostile.write_bytes(profile.read_bytes().replace(mapped.encode(), str(link).encode()))
        done = self.memprof("report", hostile)
        self.assertIn(b"not a regular file", done.stderr)


def path_of_length(length):
    """A path of that length in the folder for temporary files."""
    name = f"/tmp/memprof-e2e-{os.getpid()}-"
    return name + "x" * (length - len(name))


if __name__ == "__main__":
    e2e.main()
