# SPDX-License-Identifier: Apache-2.0
"""What tests of reports and exports read: one profile of programs/family.cc, at rate 0, with its truth; and one that
is sampled."""
import pathlib
import tempfile

import e2e


def make():
    """Returns (the folder that they lie in, the exact one, the sampled one, the truth of the exact one)."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="memprof-e2e-report-"))
    exact, sampled = folder / "exact.pb.gz", folder / "sampled.pb.gz"
    done = e2e.run([e2e.COMMAND, "run", "-r", "0", "-o", exact, "--", e2e.program("family")])
    assert done.returncode == 0, done.stderr
    truth = {line.split()[1]: dict(zip(e2e.METRICS, map(int, line.split()[3:])))
             for line in done.stdout.decode().splitlines()}
    done = e2e.run([e2e.COMMAND, "run", "-r", "64k", "-o", sampled, "--", e2e.program("known_heap")])
    assert done.returncode == 0, done.stderr
    return folder, exact, sampled, truth
