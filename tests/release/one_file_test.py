#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command as one static file, in roots that have nothing but it and a program."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import roots

COMMAND = pathlib.Path(os.environ["MEMPROF_ONE_FILE"])
CC = os.environ.get("MEMPROF_E2E_CC", "cc")


class OneFile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="memprof-one-file-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.program = cls.compiled("holds")

    @classmethod
    def compiled(cls, name):
        program = pathlib.Path(cls.folder.name) / name
        subprocess.run([CC, "-g", "-O1", "-o", program, pathlib.Path(__file__).parent / f"programs/{name}.c"], check=True)
        return program

    def root(self, *folders):
        root = roots.Root(tempfile.mkdtemp(dir=self.folder.name))
        root.add(COMMAND, "/memprof")
        root.add_program(self.program, "/holds")
        root.make("/out", *folders)
        return root

    def test_it_is_static(self):
        headers = subprocess.run(["readelf", "--program-headers", "--dynamic", "--wide", COMMAND], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertNotIn("INTERP", headers)
        self.assertNotIn("NEEDED", headers)

    def test_every_verb_in_an_empty_root(self):
        root = self.root("/proc", "/tmp")
        roots.try_run(root, "/memprof", "/holds")
        unpacked = list((root.path / "tmp").glob("memprof-*/*/libmemprof.so"))
        self.assertEqual(len(unpacked), 1)
        roots.try_attach(root, "/memprof", "/holds")
        roots.try_view(root, "/memprof")
        self.assertIn("memprof ", root.run("/memprof", "--version"))
        self.assertEqual(list((root.path / "tmp").glob("memprof-*/*/libmemprof.so")), unpacked)

    def test_every_verb_as_on_linux_4_4(self):
        root = self.root("/proc", "/tmp")
        root.add_program(self.compiled("old_kernel"), "/old_kernel")
        root.through = ("/old_kernel",)
        roots.try_run(root, "/memprof", "/holds")
        roots.try_attach(root, "/memprof", "/holds")
        roots.try_view(root, "/memprof")
        self.assertIn("memprof works here", root.run("/memprof", "doctor"))

    def test_attach_from_another_root(self):
        # As a container beside that of the program.
        root = self.root("/proc", "/tmp")
        (root.path / "memprof").unlink()
        beside = self.root("/proc", "/tmp")
        (beside.path / "holds").unlink()
        roots.try_attach(root, "/memprof", "/holds", command_root=beside)

    def test_without_a_folder_for_temporary_files(self):
        root = self.root("/proc")
        roots.try_run(root, "/memprof", "/holds")

    def test_without_proc_the_program_runs_and_it_is_said_what_was_recorded(self):
        root = self.root("/tmp")
        said = root.run("/memprof", "run", "-r", "0", "-o", "/out/x.pb.gz", "--", "/holds")
        if "nothing was recorded" not in said:  # the look was in time
            self.assertIn("wrote /out/x.pb.gz", said)
            self.assertIn("hold", root.run("/memprof", "report", "/out/x.pb.gz"))

    def test_a_root_that_cannot_be_written(self):
        root = self.root("/proc", "/dev/shm")
        root.is_read_only = True
        # What is mounted writable is noexec, as /dev/shm of a container is: the library comes from memory.
        said = root.run("/memprof", "run", "-r", "0", "-o", "/out/x.pb.gz", "--", "/holds")
        self.assertIn("wrote /out/x.pb.gz", said)

    def test_a_folder_that_will_not_do_is_named(self):
        root = self.root("/proc")
        said = root.run("/memprof", "run", "-o", "/out/x.pb.gz", "--", "/holds", status=None, MEMPROF_CACHE_DIR="/nowhere")
        self.assertIn("MEMPROF_CACHE_DIR: /nowhere: No such file or directory; name a folder", said)
        self.assertFalse((root.path / "out/x.pb.gz").exists())

    def test_one_of_another_version_beside_it_is_not_taken(self):
        root = self.root("/proc", "/tmp")
        (root.path / "libmemprof.so").write_bytes(b"of another version")
        roots.try_run(root, "/memprof", "/holds")


if __name__ == "__main__":
    why = roots.can_enter()
    if why:
        print(f"skipped: {why}")
        sys.exit(77)
    unittest.main(verbosity=2)
