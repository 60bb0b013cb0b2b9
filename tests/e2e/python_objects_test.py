# SPDX-License-Identifier: Apache-2.0
"""Python's objects in real interpreters: programs/python_objects.py and programs/embed_python.c run in each.

The distribution's python3 must be there. Others are looked at where they are: pyenv's of the versions that are
supported, and those that MEMPROF_TEST_PYTHONS names (paths, separated by colons).
"""
import glob
import math
import os
import pathlib
import re
import subprocess

import e2e

INSIDE = pathlib.Path(__file__).parent / "programs" / "python_objects.py"
WHOLE = bool(os.environ.get("MEMPROF_TEST_WHOLE"))
# Of PYTHONMALLOC. "pymalloc" is the default, and "pymalloc_debug" another name of "debug".
ALLOCATORS = ("malloc", "debug", "malloc_debug") + ("pymalloc", "pymalloc_debug") * WHOLE


def interpreters():
    """One of each version: path -> (major, minor, is free-threaded).  MEMPROF_TEST_ONE_PYTHON=1 (the build of a second
    compiler): only the distribution's."""
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    paths = [e2e.system_python(), *os.environ.get("MEMPROF_TEST_PYTHONS", "").split(":")]
    if not os.environ.get("MEMPROF_TEST_ONE_PYTHON"):
        paths += sorted(glob.glob(root + "/versions/3.1[1-5]*/bin/python3"))
    found = {}
    for path in filter(None, paths):
        said = subprocess.run([path, "-c", "import sys, ctypes; print(*sys.version_info[:2], 't' in sys.abiflags)"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout.split()
        if len(said) == 3:
            found[path] = (int(said[0]), int(said[1]), said[2] == "True")
    return found


INTERPRETERS = interpreters()


class Objects(e2e.Test):
    def inside(self, python, *arguments, preload=False, start=None, expect=None, **extra):
        """Runs one check; late (import tables are patched) unless preloaded."""
        environment = e2e.plain_environment(PYTHON_OBJECTS_LIBRARY=str(e2e.LIBRARY), PYTHONDONTWRITEBYTECODE="1",
                                            PYTHON_OBJECTS_BINDING=str(pathlib.Path(__file__).parent), **extra)
        if preload:
            environment["LD_PRELOAD"] = str(e2e.LIBRARY)
        if start is not None:
            environment.update(MEMPROF_PROFILE=str(self.folder / "%p.pb"), MEMPROF_RATE=str(start))
        done = e2e.run([python, INSIDE, *arguments], environment, timeout=300)
        said = f"{python} {arguments} {extra}\n{done.stdout.decode()[-2000:]}{done.stderr.decode(errors='replace')[-3000:]}"
        self.assertEqual(done.returncode, 0, said)
        if expect is not None:
            self.assertRegex(done.stdout.decode(), expect, said)
        return done.stdout.decode()

    def each(self, every=False, first=False):
        """The distribution's interpreter and the newest; every one if asked for, and in the long form; `first`: the
        distribution's alone, but in the long form."""
        chosen = list(INTERPRETERS.items())
        if first and not WHOLE:
            chosen = chosen[:1]
        elif not every and not WHOLE:
            chosen = [chosen[0], max(chosen[1:], key=lambda c: c[1])] if len(chosen) > 1 else chosen
        for path, version in chosen:
            with self.subTest(python=".".join(map(str, version[:2])) + "t" * version[2]):
                yield path, version


class Known(Objects):
    """At rate 0 every object has one record of its size, at its address; the sums are those of sys.getsizeof."""

    def test_patched(self):
        for python, (major, minor, _) in self.each(every=True):
            self.inside(python, "known", expect="^ok 16")
            self.inside(python, "sums", expect=f"^ok 1 {major << 8 | minor:#x}")

    def test_preloaded(self):
        for python, _ in self.each():
            self.inside(python, "known", preload=True, expect="^ok 16")

    def test_from_the_start(self):
        for python, _ in self.each():
            self.inside(python, "sums", preload=True, start=0, expect="^ok 1 ")

    def test_each_allocator(self):
        for python, (_, _, free_threaded) in self.each(first=True):
            for name in ALLOCATORS:
                if free_threaded and ("malloc" in name):
                    continue  # it accepts mimalloc only
                state = 2 if name == "malloc" else 1
                with self.subTest(allocator=name):
                    self.inside(python, "sums", PYTHONMALLOC=name, preload=True, start=0, expect=f"^ok {state} ")

    def test_development_mode(self):
        for python, _ in self.each(first=True):
            self.inside(python, "sums", PYTHONDEVMODE="1", preload=True, start=0, expect="^ok 1 ")


class Estimates(Objects):
    def test_estimate_over_truth(self):
        """At 4 KiB. Of objects far smaller than the rate the estimate's variance is rate * truth: 5.5 standard
        deviations are exceeded once in 26 million. A bias of 5 % would be seen."""
        for python, _ in self.each():
            said = self.inside(python, "estimate", "4096", "10", "5")
            ratios = re.findall(r"^ratio (\S+) (\d+) (\S+)$", said, re.M)
            self.assertEqual(len(ratios), 6, said)
            for kind, truth, ratio in ratios:
                with self.subTest(kind):
                    self.assertAlmostEqual(float(ratio), 1, delta=5.5 * math.sqrt(4096 / int(truth)), msg=said)


    def test_of_each_object_that_is_a_sample(self):
        """Below 32 KiB samples stay in the pool, from there on they are malloc's."""
        for python, _ in self.each():
            self.inside(python, "sampled", "4096", expect="ok$")
            self.inside(python, "sampled", "32768", preload=True, expect="ok$")
            self.inside(python, "sampled", "65536", "4096", expect="ok$")


class Processes(Objects):
    def test_threads(self):
        for python, _ in self.each():
            self.inside(python, "threads", expect="^ok 0")

    def test_tracemalloc_before_and_after(self):
        for python, _ in self.each(first=True):
            rounds = "12" if WHOLE else "6"
            self.inside(python, "tracemalloc", expect="^ok", PYTHON_OBJECTS_ROUNDS=rounds)
            self.inside(python, "tracemalloc", "1", expect="^ok", PYTHON_OBJECTS_ROUNDS=rounds)

    def test_fork(self):
        for python, _ in self.each():
            self.inside(python, "fork", expect="^ok")
            self.inside(python, "fork", preload=True, expect="^ok")

    def test_a_child_that_is_followed(self):
        for python, _ in self.each():
            self.inside(python, "hold", "fork", preload=True, start=0, MEMPROF_FOLLOW_FORK="1")
            files = sorted(self.folder.glob("*.pb"), key=lambda p: int(p.stem))
            self.assertEqual(len(files), 2)
            parent, child = (sum(s[1]["inuse_space"] for s in e2e.Profile(f).samples) for f in files)
            self.assertGreater(parent, 20000 * 40)
            self.assertGreater(child, 20000 * (49 + 8))
            self.assertLess(child, 2050000)  # and not what it inherited, 800,000 more
            for f in files:
                f.unlink()

    def test_subinterpreters(self):
        for python, _ in self.each():
            self.inside(python, "subinterpreters", expect="^ok")

    def test_off(self):
        for python, _ in self.each():
            self.inside(python, "off", "option", expect="^ok")
            self.inside(python, "off", "variable", preload=True, start=0, MEMPROF_PYTHON="0", expect="^ok")

    def test_run_without_python(self):
        python = e2e.system_python()
        environment = e2e.plain_environment(PYTHON_OBJECTS_LIBRARY=str(e2e.LIBRARY),
                                            PYTHON_OBJECTS_BINDING=str(pathlib.Path(__file__).parent))
        bytes_of = {}
        for option in ([], ["--no-python"]):
            out = self.folder / f"{len(option)}.pb"
            self.memprof("run", "-r", "0", *option, "-o", out, "--", python, INSIDE, "hold", environment=environment)
            bytes_of[len(option)] = sum(s[1]["inuse_space"] for s in e2e.Profile(out).samples)
        self.assertGreater(bytes_of[0] - bytes_of[1], 20000 * 32)


class Embedded(Objects):
    """libpython loaded late with RTLD_LOCAL, initialized and finalized three times."""

    def test_embedded(self):
        libraries = {}
        for python, version in INTERPRETERS.items():
            names = glob.glob(str(pathlib.Path(os.path.realpath(python)).parent.parent / "lib" / "libpython3.*.so.1.0"))
            if names:
                libraries[names[0]] = version
        chosen = sorted(libraries.items(), key=lambda c: c[1])
        for library, version in chosen if WHOLE else chosen[:1] + chosen[1:][-1:]:
            for name in ("", "debug", "malloc"):
                for scope in ([], ["global"]):
                    with self.subTest(library=version, allocator=name, scope=scope):
                        environment = e2e.preloaded(self.folder / "out.%p.pb", 0, PYTHONMALLOC=name)
                        done = self.check(e2e.run([e2e.program("embed_python"), library, "3", *scope], environment), stderr=None)
                        told = re.findall(r"^bytes (\d+) state (\d)$", done.stdout.decode(), re.M)
                        self.assertEqual(len(told), 3, done.stdout)
                        for live, state in told:
                            self.assertAlmostEqual(int(live), 20000 * 36, delta=20000 * 4 + 2000)
                            self.assertEqual(state, "2" if name == "malloc" else "1")


if __name__ == "__main__":
    e2e.main()
