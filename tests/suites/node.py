# SPDX-License-Identifier: Apache-2.0
"""Node's own tests (test/parallel), each file in a process of its own; its result is the exit status.

Chosen for what they do to an allocator and to a process: Buffers and what holds memory outside V8's heap, workers, children,
clusters, V8's own profilers and snapshots, signals, ends of all kinds, servers. All are in the source of Node 18, 20 and 22,
and pass there in less than three seconds. The files are those of Debian's source package of the version, or of the
newest before it (another version's tests fail here and there, without memprof as with it).
"""
import concurrent.futures
import hashlib
import itertools
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import urllib.request

JOBS = 2
LIMIT_S = 120
SKIPPED = re.compile(rb"^1\.\.0 # Skipped", re.MULTILINE)
FLAGS = re.compile(r"^// Flags: (.*)$", re.MULTILINE)

POOL = "http://deb.debian.org/debian/pool/main/n/nodejs/"
SOURCES = {  # major version: (file, SHA-256)
    18: ("nodejs_18.20.4+dfsg.orig.tar.xz", "6ce58062c71eae37d9c5ac31eeaeff9c2d48561d21c2849179d056c9c1bd9ebc"),
    20: ("nodejs_20.19.2+dfsg.orig.tar.xz", "5e5559381ad031d245a8efa403458abbb73755f74c3e6380f185a4dd342b7949"),
    22: ("nodejs_22.22.2+dfsg+~cs22.19.15.orig.tar.xz", "f1a6dfca7ffe7f9f42942274adf9f0a12733977a4744a53f41b20836907c449b"),
}

FILES = pathlib.Path(__file__).with_name("node_files.txt").read_text().split()


class With:
    """The suite with one Node."""

    MODES = ("preloaded 0", "preloaded 4k")
    EXPLAINED = {}

    def __init__(self, node):
        try:
            self.version = subprocess.check_output([node, "-p", "process.versions.node"], text=True).strip()
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(f"suites: {node}: {error}") from None
        self.node, self.NAME = node, f"Node {self.version}"
        self.tests = None

    def prepare(self, folder):
        """Fetches the tests, once."""
        major = int(self.version.split(".")[0])
        name, digest = SOURCES[max((m for m in SOURCES if m <= major), default=min(SOURCES))]
        self.tests = folder.parent / "node source" / name.partition("_")[2].partition("+")[0]
        if not self.tests.exists():
            self.tests.parent.mkdir(exist_ok=True)
            fetch(name, digest, self.tests)
        missing = [f for f in FILES if not (self.tests / "test/parallel" / f).exists()]
        if missing:
            raise SystemExit(f"suites: {name} does not have {', '.join(missing)}")

    def run(self, environment, folder, only=None):
        numbers = itertools.count()
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            return dict(pool.map(lambda file: (file, self.result_of(file, environment, folder, next(numbers))), only or FILES))

    def result_of(self, file, environment, folder, number):
        path = self.tests / "test/parallel" / file
        flags = [f for line in FLAGS.findall(path.read_text(errors="replace")) for f in shlex.split(line)]
        temporary = tempfile.mkdtemp(dir=folder)
        environment = {**environment, "NODE_TEST_DIR": temporary, "TEST_SERIAL_ID": str(number), "TEST_THREAD_ID": str(number)}
        # A session of its own: what it leaves behind is ended with it.
        process = subprocess.Popen([self.node, *flags, path], cwd=self.tests, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            output, _ = process.communicate(timeout=LIMIT_S)
            result = {0: "skipped" if SKIPPED.search(output) else "passed"}.get(process.returncode, f"failed, {process.returncode}")
        except subprocess.TimeoutExpired:
            output, result = b"", "did not end"
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        if result.startswith("failed"):
            (folder / f"{file}.txt").write_bytes(output)
        shutil.rmtree(temporary, ignore_errors=True)
        return result

    def again(self, test):
        return test


def fetch(name, digest, to):
    """The folder `test` of a source package."""
    with tempfile.TemporaryDirectory(dir=to.parent) as folder:
        archive = pathlib.Path(folder, name)
        with urllib.request.urlopen(POOL + name) as answer, open(archive, "wb") as out:
            shutil.copyfileobj(answer, out)
        if hashlib.sha256(archive.read_bytes()).hexdigest() != digest:
            raise SystemExit(f"suites: {POOL}{name} is not what it was: its SHA-256 is another one")
        subprocess.run(["tar", "-xf", archive, "-C", folder, "--strip-components=1", "--wildcards", "*/test/*"], check=True)
        os.rename(folder, to)
        os.mkdir(folder)  # for whoever removes it
