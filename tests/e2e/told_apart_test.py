# SPDX-License-Identifier: Apache-2.0
"""Processes of one program in a run are told apart by their command lines (docs/decisions/0114)."""
import gzip
import pathlib
import re

import e2e


class ToldApart(e2e.Test):
    def start(self, *arguments):
        return self.check(e2e.run([e2e.COMMAND, "run", *arguments], cwd=self.folder), stderr=None)

    def test_children_of_one_program_are_told_apart(self):
        """By what they were executed with, of which the profiles have no more than that."""
        for module in ("mail", "worker"):
            (self.folder / f"{module}.py").write_text("kept = bytearray(4_000_000)\n")
        (self.folder / "main.py").write_text(
            "import subprocess, sys\n"
            "for module in ('mail', 'worker'):\n"
            "    subprocess.run([sys.executable, '-m', module, '--key=unspoken'], check=True)\n")
        python = e2e.system_python()
        name = re.escape(pathlib.Path(python).resolve().name)
        # 4 MB in samples of 64 KiB: odds of none 1 to 10^26.
        done = self.start("-r", "64k", "-o", "out.%p.pb.gz", "--", python, "main.py")
        said = done.stderr.decode()
        for part in ("main.py", "-m mail", "-m worker"):
            (path, pid), = re.findall(rf"(?m)^memprof:   (\S+)  {name} {part}, pid (\d+): ", said)
            shown = self.memprof("report", str(self.folder / path)).stdout.decode()
            self.assertRegex(shown, rf"\A{name} {part} \(pid {pid}\), ")
            for place in ("unspoken", "command_line"):
                self.assertNotIn(place.encode(), gzip.decompress((self.folder / path).read_bytes()))
        done = self.start("-r", "64k", "--merge", "-o", "all.pb.gz", "--", python, "main.py")
        rows = self.report(self.folder / "all.pb.gz", "--by", "process")["rows"]
        self.assertEqual(sorted(re.sub(r" \d+: ", " ", row["name"]) for row in rows),
                         sorted(f"{pathlib.Path(python).resolve().name} {part}" for part in ("main.py", "-m mail", "-m worker")))
        # What it matches stays "NAME PID", with more behind it.
        rows = self.report(self.folder / "all.pb.gz", "--by", "process", "--process", r"\d+: -m mail$")["rows"]
        self.assertEqual([row["name"].split(": ")[1] for row in rows if row["self"]["alloc_space"]["value"] > 0], ["-m mail"])

    def test_a_worker_is_told_by_the_title_that_it_gave_itself(self):
        """A forked one, whose command line is its parent's: by the system's name, also where it came after samples."""
        (self.folder / "main.py").write_text(
            "import ctypes, os\n"
            "kept = bytearray(4_000_000)\n"
            "if os.fork() == 0:\n"
            "    mine = bytearray(4_000_000)\n"
            "    ctypes.CDLL(None).prctl(15, b'flusher', 0, 0, 0)\n"  # PR_SET_NAME
            "else:\n    os.wait()\n")
        done = self.start("-r", "64k", "-o", "out.%p.pb.gz", "--", e2e.system_python(), "main.py")
        self.assertRegex(done.stderr.decode(), r"(?m)^memprof:   \S+  \S+ flusher, pid \d+: ")


if __name__ == "__main__":
    e2e.main()
