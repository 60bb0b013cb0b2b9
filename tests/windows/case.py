# SPDX-License-Identifier: Apache-2.0
"""What the tests under wine share: a folder, a prefix of wine, runs by memprof.exe, and reports of their profiles."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import wine

BIN = pathlib.Path(os.environ.get("MEMPROF_WINDOWS_BIN", wine.FOLDER / "bin"))
COMMAND = os.environ.get("MEMPROF_E2E_COMMAND", wine.ROOT / "build/release/bin/memprof")
ROUNDS = os.environ.get("MEMPROF_WINDOWS_ROUNDS", "100")
LONG_SECONDS = 1200  # of rounds, on a busy machine
FOLDER = pathlib.Path(tempfile.gettempdir()) / f"memprof-windows-{os.getpid()}"
WINE = wine.Wine()


def set_up():
    FOLDER.mkdir(mode=0o700)
    WINE.prepare()
    for name in ("memprof.exe", "memprof.dll"):
        shutil.copy(BIN / name, FOLDER)


def tear_down():
    WINE.close()
    shutil.rmtree(FOLDER)


def mapped(values):
    """Mappings and bytes of a row, or of all."""
    return [values.get(key, {"value": 0})["value"] for key in ("mapped_objects", "mapped_space")]


class Case(unittest.TestCase):
    maxDiff = None

    def record(self, command, rate="0", debug="-all", status=None, extra=None, options=(), **more):
        """A run by memprof.exe: (status, standard output, standard error, path of the profile)."""
        profile = FOLDER / f"{self.id().rsplit('.', 1)[1]}-{len(list(FOLDER.iterdir()))}.pb.gz"
        done = WINE.run([FOLDER / "memprof.exe", "run", "-r", rate, "-o", profile.name, *options, "--", *command], debug=debug, cwd=FOLDER,
                        status=status, extra=extra, **more)
        self.assertTrue(profile.exists(), done)
        return (*done, profile)

    def report(self, profile):
        environment = {**os.environ, "WINEPREFIX": str(WINE.prefix)}
        done = subprocess.run([COMMAND, "report", "--json", "-n", "100000", "--all-frames", profile], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)

    def check_truth(self, out, report):
        """Lines `NAME live-blocks live-bytes allocated-blocks allocated-bytes` against the functions of the profile."""
        rows = {row["name"]: row["cumulative"] for row in report["rows"]}
        truths = [line.split() for line in out.splitlines() if re.fullmatch(r"\w+( \d+){4}", line)]
        self.assertGreater(len(truths), 2)
        zero = {"value": 0}
        for name, *numbers in truths:
            row = rows.get(name, {})
            found = [row.get(key, zero)["value"] for key in ("inuse_objects", "inuse_space", "alloc_objects", "alloc_space")]
            self.assertEqual(found, [int(number) for number in numbers], name)

    def check_program(self, program, arguments=(), status=0, without=True):
        """Exact counts, and what the program does is what it does alone."""
        got, out, err, profile = self.record([program, *arguments])
        self.assertEqual(got, status, err)
        report = self.report(profile)
        self.check_truth(out, report)
        self.assertEqual(report["dropped_samples"], 0)
        self.assertEqual(report["muted_bytes"], 0)
        if without:
            alone = WINE.run([program, *arguments], cwd=FOLDER)
            ours = [line for line in err.splitlines() if line.startswith("memprof: ")]
            self.assertEqual(len(ours), 1, err)
            self.assertEqual((got, out, err.replace(ours[0] + "\n", "")), alone)
        return report
