# SPDX-License-Identifier: Apache-2.0
"""The command without a system (tools/memprof/files_only): what reads files says the same as the whole command, byte for
byte; what needs processes is refused."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import e2e

FILES_ONLY = e2e.COMMAND.with_name("memprof_files")
PROGRAM = """
import sys, time
kept = [bytearray(5000) for _ in range(int(sys.argv[1]))]
gone = [bytearray(5000) for _ in range(500)]
del gone
time.sleep(0.3)
"""


def setUpModule():
    global FOLDER
    FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="memprof-files-only-"))
    (FOLDER / "kept.py").write_text(PROGRAM)
    for name, count, options in (("before", 800, []), ("after", 1600, []), ("every", 800, ["--every", "100ms"])):
        subprocess.run([e2e.COMMAND, "run", "-r", "16k", *options, "-o", FOLDER / f"{name}.pb.gz", "--",
                        e2e.system_python(), FOLDER / "kept.py", str(count)], env=e2e.plain_environment(), cwd=FOLDER, check=True,
                       capture_output=True, timeout=e2e.WATCHDOG_S)
    (FOLDER / "limits.toml").write_text('[[check]]\nname = "size"\nprofile = "after.pb.gz"\npeak = "1 MiB"\n')


def tearDownModule():
    shutil.rmtree(FOLDER)


class FilesOnly(e2e.Test):
    def both(self, *arguments):
        """Status and output of each command; the files that they write are called alike."""
        ends = []
        for command in (e2e.COMMAND, FILES_ONLY):
            folder = self.folder / command.name
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(FOLDER, folder)
            run = subprocess.run([command, *arguments], cwd=folder, env=e2e.plain_environment(), capture_output=True,
                                 timeout=e2e.WATCHDOG_S, check=False)
            files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if not (FOLDER / path.name).exists()}
            ends.append((run.returncode, run.stdout, run.stderr, files))
        return ends

    def test_what_reads_files_says_the_same(self):
        for arguments, status in (
                (["report", "after.pb.gz"], 0), (["report", "after.pb.gz", "--details", "--tree", "--no-debuginfod"], 0),
                (["report", "after.pb.gz", "--json"], 0), (["report", "every.pb.gz", "--sizes"], 0),
                (["report", "none.pb.gz"], 2), (["diff", "before.pb.gz", "after.pb.gz"], 0), (["leaks", "after.pb.gz"], 0),
                (["churn", "after.pb.gz"], 0), (["merge", "before.pb.gz", "after.pb.gz", "-o", "sum.pb.gz"], 0),
                (["export", "after.pb.gz", "-o", "page.html"], 0), (["export", "after.pb.gz", "-o", "calls.collapsed"], 0),
                (["export", "after.pb.gz", "-o", "one.parquet"], 0), (["export", "before.pb.gz", ".", "-o", "all.parquet"], 0),
                (["diff", "before.pb.gz", "after.pb.gz", "-o", "change.html"], 0), (["check", "--limits", "limits.toml"], 1),
                (["--help"], 0), (["report", "--help"], 0), (["report", "--no-such"], 2)):
            with self.subTest(arguments):
                whole, files_only = self.both(*arguments)
                self.assertEqual(whole, files_only)
                self.assertEqual(whole[0], status, whole[2])

    def test_what_needs_processes_is_refused(self):
        for arguments in (["run", "--", "true"], ["attach", str(os.getpid())], ["live", str(os.getpid())], ["list"], 
                          ["doctor"], ["leaks", str(os.getpid())], ["view", str(os.getpid()), "--no-open"]):
            with self.subTest(arguments):
                run = subprocess.run([FILES_ONLY, *arguments], env=e2e.plain_environment(), capture_output=True, text=True,
                                     timeout=e2e.WATCHDOG_S, check=False)
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn("this build of memprof reads files only", run.stderr)


if __name__ == "__main__":
    e2e.main()
