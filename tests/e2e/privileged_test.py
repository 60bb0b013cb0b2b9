# SPDX-License-Identifier: Apache-2.0
"""Programs that run with more rights than who called them: nothing in them obeys the caller's environment."""
import os
import pathlib
import shutil
import struct

import e2e


def set_user(path):
    os.chown(path, 0, 0)
    os.chmod(path, 0o4755)


def set_group(path):
    os.chown(path, e2e.NOBODY, 0)
    os.chmod(path, 0o2755)


def set_capability(path):
    os.chmod(path, 0o755)
    net_raw = 1 << 13  # linux/capability.h: revision 2, effective; permitted, inheritable; the same of the high half
    os.setxattr(path, "security.capability", struct.pack("<5I", 0x02000001, net_raw, 0, 0, 0))


class Privileged(e2e.Test):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can make a program that has more rights than its caller")
        if os.statvfs(self.folder).f_flag & os.ST_NOSUID:
            self.skipTest(f"{self.folder} is mounted nosuid")
        if "NoNewPrivs:\t1" in pathlib.Path("/proc/self/status").read_text():
            self.skipTest("no program can get rights here (no_new_privs)")
        self.nobody = self.somebody_else()
        self.folder.chmod(0o755)
        self.callers = self.folder / "callers"
        self.callers.mkdir()
        os.chown(self.callers, self.nobody, self.nobody)

    def run_by_nobody(self, name, give_rights):
        """What the program says, line by line, and what is in the caller's folder after it."""
        copy = self.folder / name
        shutil.copyfile(e2e.program(name), copy)
        give_rights(copy)
        environment = e2e.plain_environment(
            MEMPROF_PROFILE=str(self.callers / "out.pb"), MEMPROF_RATE="1", MEMPROF_ARENA_DIR=str(self.callers),
            MEMPROF_DUMP_PATH=str(self.callers / "dump.pb"), MEMPROF_DUMP_INTERVAL="1", TMPDIR=str(self.callers))
        done = self.check(e2e.run([copy], environment, user=self.nobody, group=self.nobody, extra_groups=[]))
        return done.stdout.decode().splitlines(), sorted(p.name for p in self.callers.iterdir())

    def test_without_rights_of_its_own_it_obeys(self):
        said, left = self.run_by_nobody("privileged", lambda path: path.chmod(0o755))
        self.assertIn("secure 0", said)
        self.assertEqual(left, ["out.pb"])
        files = [line for line in said if line.startswith("file ")]
        self.assertTrue(files, said)
        self.assertEqual([line for line in files if str(self.callers) not in line], [])

    def test_with_them_it_does_not(self):
        for give_rights in (set_user, set_group, set_capability):
            for name in ("privileged", "privileged_api"):
                with self.subTest(program=name, rights=give_rights.__name__):
                    said, left = self.run_by_nobody(name, give_rights)
                    self.assertIn("secure 1", said)
                    self.assertIn("state 2", said, "its own call is obeyed")
                    self.assertEqual([line for line in said if line.startswith("file ")], [], "private memory only")
                    self.assertEqual(left, [])

    def test_what_it_starts_does_not_obey_either(self):
        """A program that becomes root altogether and starts another: that one sees no difference any more."""
        said, _ = self.run_by_nobody("privileged", set_user)
        self.assertEqual([line for line in said if line.startswith("passed on ")], [])


if __name__ == "__main__":
    e2e.main()
