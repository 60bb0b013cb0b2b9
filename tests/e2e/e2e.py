# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: where the products are, how a program is run, a reader of profiles.

The reader is written from profile.proto and docs/profile-format.md, not from our own sources: it checks them.
Paths come from the environment (tests/e2e/CMakeLists.txt sets it). A program that is missing fails the test.
"""
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

LIBRARY = pathlib.Path(os.environ["MEMPROF_E2E_LIBRARY"])
COMMAND = pathlib.Path(os.environ["MEMPROF_E2E_COMMAND"])
PROGRAMS = pathlib.Path(os.environ["MEMPROF_E2E_PROGRAMS"])
SOURCE = pathlib.Path(os.environ["MEMPROF_E2E_SOURCE"])
ARENAS = tempfile.TemporaryDirectory(prefix="memprof-e2e-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)

# What the loader finds: name of a library -> its file.
_LISTING = subprocess.run(["/sbin/ldconfig", "-p"], stdout=subprocess.PIPE, text=True, check=True).stdout
LIBRARIES = {line.split()[0]: line.split("=>")[1].strip() for line in reversed(_LISTING.splitlines())
             if "=>" in line and "x86-64" in line}
# Allocators that stand behind memprof: name -> what the loader calls the library.
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc.so.4",
              "tcmalloc_minimal": "libtcmalloc_minimal.so.4",
              "mimalloc": "libmimalloc.so.3" if "libmimalloc.so.3" in LIBRARIES else "libmimalloc.so.2"}

# A hang is a failure, and is seen long before ctest's own limit.
WATCHDOG_S = 60
NOBODY = 65534  # the id of a user without rights

METRICS = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
ALL_METRICS = METRICS + ("peak_objects", "peak_space")
# Of a file that says what was in memory, too.
FILE_METRICS = ALL_METRICS + ("inuse_resident_objects", "inuse_resident_space")


def need(program):
    """The path of a real program, which ./dev test installs."""
    path = shutil.which(program)
    if path is None:
        raise AssertionError(f"{program} is not installed; ./dev test installs what the tests need")
    return path


def system_python():
    """The distribution's python3, and no wrapper script of another one in PATH."""
    for path in ("/usr/bin/python3", need("python3")):
        if os.access(path, os.X_OK):
            return os.path.realpath(path)
    raise AssertionError("python3 is not installed; ./dev test installs what the tests need")


def allocator(name):
    """The file of an allocator, as the loader finds it; missing is a failure."""
    library = ALLOCATORS[name]
    if library in LIBRARIES:
        return LIBRARIES[library]
    raise AssertionError(f"{library} is not installed; ./dev test installs what the tests need")


def program(name):
    path = PROGRAMS / name
    if not path.exists():
        raise AssertionError(f"{path} was not built")
    return str(path)


def plain_environment(**extra):
    """Ours without anything of memprof or the loader in it."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MEMPROF_") and k != "LD_PRELOAD"}
    # A test that kills a program leaves no file behind; none is the first or the second to ask for a name.
    environment.update(LC_ALL="C.UTF-8", MEMPROF_ARENA_DIR=ARENAS.name, MEMPROF_NAME_CACHE="off")
    environment.update(extra)
    return environment


def preloaded(profile=None, rate=None, behind=None, **extra):
    """The environment of a program with the library preloaded; `behind`: an allocator's file after it."""
    environment = plain_environment(LD_PRELOAD=str(LIBRARY) + (f":{behind}" if behind else ""))
    if profile is not None:
        environment["MEMPROF_PROFILE"] = str(profile)
    if rate is not None:
        environment["MEMPROF_RATE"] = str(rate)
    environment.update(extra)
    return environment


def run(command, environment=None, timeout=WATCHDOG_S, **options):
    """Runs a program to its end and catches what it says."""
    options.setdefault("stdin", subprocess.DEVNULL if "input" not in options else None)
    if options["stdin"] is None:
        del options["stdin"]
    return subprocess.run([str(c) for c in command], env=environment or plain_environment(), check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, **options)


class Profile:
    """A decoded pprof file. `samples`: (stack of Frame, leaf first, values by metric, labels)."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        fields = list(message_fields(data))
        self.strings = [value.decode() for key, value in fields if key == 6]
        if not self.strings or self.strings[0] != "":
            raise AssertionError(f"{path}: the string table does not begin with the empty string")
        self.types = [self._value_type(v) for k, v in fields if k == 1]
        self.period_type = [self._value_type(v) for k, v in fields if k == 11]
        self.period = sum(v for k, v in fields if k == 12)
        self.time_ns = sum(v for k, v in fields if k == 9)
        self.comments = [self.strings[v] for k, v in fields if k == 13]
        self.default_type = self.strings[sum(v for k, v in fields if k == 14)]
        self.mappings = {}
        for mapping in (_last(v) for k, v in fields if k == 3):
            self.mappings[mapping[1]] = {
                "start": mapping.get(2, 0), "limit": mapping.get(3, 0), "offset": mapping.get(4, 0),
                "path": self.strings[mapping.get(5, 0)], "build_id": self.strings[mapping.get(6, 0)],
                "has_functions": mapping.get(7, 0)}
        self.functions = {f[1]: self.strings[f.get(2, 0)] for f in (_last(v) for k, v in fields if k == 5)}
        self.locations = {}
        for body in (list(message_fields(v)) for k, v in fields if k == 4):
            simple = dict((k, v) for k, v in body if k != 4)
            names = [self.functions[_last(v)[1]] for k, v in body if k == 4]
            self.locations[simple[1]] = Frame(simple.get(3, 0), self.mappings.get(simple.get(2, 0)), names)
        self.samples = [self._sample(v) for k, v in fields if k == 2]
        self.facts = {}
        for comment in self.comments:
            if comment.startswith("#memprof.profile "):
                self.facts = dict(part.split("=", 1) for part in comment.split()[1:])

    def _value_type(self, data):
        message = _last(data)
        return self.strings[message.get(1, 0)], self.strings[message.get(2, 0)]

    def _sample(self, data):
        ids, values, labels = [], [], {}
        for key, value in message_fields(data):
            if key in (1, 2):
                numbers = _varints(value) if isinstance(value, bytes) else [value]
                (ids if key == 1 else values).extend(numbers)
            elif key == 3:
                label = _last(value)
                labels[self.strings[label[1]]] = self.strings[label[2]] if 2 in label else label.get(3, 0)
        names = [name for name, unit in self.types]
        return [self.locations[i] for i in ids], dict(zip(names, values)), labels

    def total(self, metric):
        return sum(values[metric] for _, values, _ in self.samples)

    def by_leaf(self):
        """Leaf function -> sums by metric, and the set of stacks (tuples of names)."""
        table = {}
        for frames, values, _ in self.samples:
            name = frames[0].name if frames else ""
            row = table.setdefault(name, dict.fromkeys(METRICS, 0) | {"stacks": set()})
            for metric in METRICS:
                row[metric] += values[metric]
            row["stacks"].add(tuple(frame.name for frame in frames))
        return table


class Frame:
    def __init__(self, address, mapping, names):
        self.address, self.mapping, self.names = address, mapping, names

    @property
    def name(self):
        """The function that was compiled into this address: the last of inlined ones is the outermost."""
        return self.names[-1] if self.names else ""


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _varints(data):
    at, values = 0, []
    while at < len(data):
        value, at = _varint(data, at)
        values.append(value)
    return values


def message_fields(data):
    """(number, value) of each field of an encoded message."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
        elif key & 7 == 2:
            length, at = _varint(data, at)
            value, at = data[at:at + length], at + length
            if len(value) != length:
                raise AssertionError("the profile is cut off")
        else:
            raise AssertionError(f"wire type {key & 7} is not in profile.proto")
        yield key >> 3, value


def _last(data):
    return dict(message_fields(data))


class Test(unittest.TestCase):
    """A folder for each test, and the checks that most of them make."""

    maxDiff = 2000

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="memprof-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def check(self, done, status=0, stderr=b""):
        """The program ended as it should; `stderr` None: it may say what it likes."""
        said = f"{done.args}\nstatus {done.returncode}\n{done.stdout[-2000:]!r}\n{done.stderr[-4000:].decode(errors='replace')}"
        self.assertEqual(done.returncode, status, said)
        if stderr is not None:
            self.assertEqual(done.stderr, stderr, said)
        return done

    def wait_for(self, what, seconds=WATCHDOG_S):
        end = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), end, "it did not happen")
            time.sleep(0.02)

    def certificate(self):
        """A certificate for 127.0.0.1 that no authority has signed, and its key. Skips the test where openssl is not installed."""
        if not shutil.which("openssl"):
            self.skipTest("openssl, which makes the certificate, is not installed")
        certificate, key = self.folder / "certificate.pem", self.folder / "key.pem"
        self.check(run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]), stderr=None)
        return certificate, key

    def somebody_else(self):
        """The id of a user without rights. Skips the test where that user cannot reach what was built."""
        for folder in COMMAND.resolve().parents:
            if not folder.stat().st_mode & 0o001:
                self.skipTest(f"{folder} is closed to other users")
        return NOBODY

    def memprof(self, *arguments, status=0, environment=None, **options):
        done = run([COMMAND, *arguments], environment, **options)
        self.assertEqual(done.returncode, status, f"{done.args}\n{done.stderr.decode(errors='replace')}")
        return done

    def named(self, path):
        """The profile with names and all frames, as `memprof export` writes it."""
        with tempfile.TemporaryDirectory(prefix="memprof-e2e-named-") as folder:
            out = pathlib.Path(folder) / "named.pb"
            self.memprof("export", path, "-o", out, "--all-frames", "--full-names")
            return Profile(out)

    def report(self, path, *arguments):
        return json.loads(self.memprof("report", path, "--json", *arguments).stdout)

    def only_profile(self, pattern="*.pb"):
        """The one profile in the folder; no other, and nothing half-written."""
        found = sorted(self.folder.glob(pattern))
        self.assertEqual(len(found), 1, [p.name for p in self.folder.iterdir()])
        self.assertEqual([p.name for p in self.folder.iterdir() if ".tmp." in p.name], [])
        return found[0]

    def profile_program(self, name, *arguments, rate=0, behind=None, status=0, timeout=WATCHDOG_S, **extra):
        """Runs one of our programs preloaded; returns (what it printed, the profile with names)."""
        done = run([program(name), *arguments],
                   preloaded(self.folder / "out.%p.pb", rate, behind, **extra), timeout)
        self.check(done, status)
        return done.stdout.decode(), self.named(self.only_profile("out.*.pb"))

    def check_truth(self, said, profile):
        """Compares a profile with the lines that the program printed (programs/truth.h)."""
        table = profile.by_leaf()
        count = 0
        for line in said.splitlines():
            if not line.startswith("truth "):
                continue
            count += 1
            _, leaf, chain, *numbers = line.split()
            with self.subTest(leaf=leaf):
                row = table.get(leaf, dict.fromkeys(METRICS, 0) | {"stacks": set()})
                self.assertEqual({m: row[m] for m in METRICS}, dict(zip(METRICS, map(int, numbers))))
                if chain != "-":
                    expected = tuple([leaf, *chain.split("<")])
                    for stack in row["stacks"]:
                        self.assertEqual(stack[:len(expected)], expected)
        self.assertGreater(count, 0, f"no truth was told:\n{said}")


def main():
    unittest.main(verbosity=1)
