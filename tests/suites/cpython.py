# SPDX-License-Identifier: Apache-2.0
"""CPython's own tests, by regrtest, each module in a process of its own; the results are those of its JUnit file.

Chosen for what they do to an allocator and to a process: every module that allocates much or in many sizes, and those
that fork, execute, start threads, catch signals, load libraries, use up memory or descriptors. Left out are modules
that take long, and test_faulthandler and test_embed's like, which are not the same twice in a row here.
"""
import pathlib
import re
import subprocess
import xml.etree.ElementTree

NAME = "CPython"
PYTHON = "/usr/bin/python3"
JOBS = 2
LEAST_MODULES = 60
LIMIT_S = 900
MODULE_LIMIT_S = 600

MODULES = """
test_argparse test_array test_ast test_asyncgen test_atexit test_base64 test_binascii test_bisect test_buffer
test_builtin test_bytes test_bz2 test_code test_codecs test_collections test_compile test_contextlib test_copy
test_coroutines test_csv test_ctypes test_dataclasses test_datetime test_decimal test_deque test_descr test_dict
test_difflib test_dis test_enum test_exceptions test_faulthandler test_fcntl test_fileio test_float test_fork1
test_format test_fractions test_fstring test_functools test_gc test_generators test_gzip test_hashlib test_heapq
test_import test_importlib test_inspect test_int test_itertools test_json test_list test_long test_lzma test_marshal
test_math test_memoryio test_memoryview test_minidom test_mmap test_multiprocessing_fork test_ordered_dict test_os
test_pathlib test_pickle test_posix test_pty test_pyexpat test_queue test_random test_re test_readline test_resource
test_sax test_select test_selectors test_set test_shelve test_shutil test_signal test_ssl test_statistics
test_struct test_subprocess test_sys test_tarfile test_tempfile test_thread test_threading test_threading_local
test_threadsignals test_traceback test_tracemalloc test_tuple test_typing test_unicode test_unicodedata test_urllib
test_uuid test_wait3 test_wait4 test_weakref test_xml_etree test_xml_etree_c test_zipfile test_zlib
""".split()


# Tests that a module takes from somewhere else: their package -> the module.
OTHER_NAMES = {"datetimetester": "test_datetime", "fork_wait": "test_fork1", "builtins": "test_builtin"}


def prepare(folder):
    pass


def run(environment, folder, only=None, python=PYTHON, modules=MODULES):
    """{test: result} of all modules, or of `only` these."""
    report = folder / "junit.xml"
    report.unlink(missing_ok=True)
    # --randomize is off: the order is the same each time.
    command = [python, "-m", "test", f"-j{JOBS}", f"--timeout={MODULE_LIMIT_S}", f"--junit-xml={report}",
               f"--tempdir={folder}", *(only or modules)]
    with open(folder / "log.txt", "wb") as log:
        subprocess.run(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=log,
                       stderr=subprocess.STDOUT, timeout=LIMIT_S * 5, check=False)
    return {**of_modules((folder / "log.txt").read_text(errors="replace")), **of_tests(report)}


# Take long, and are left out where the suite runs with one interpreter after the other.
SLOW = set("""
test_buffer test_bz2 test_compile test_datetime test_decimal test_faulthandler test_gzip test_hashlib test_itertools test_lzma
test_mmap test_multiprocessing_fork test_pathlib test_pty test_random test_readline test_resource test_selectors
test_shutil test_signal test_ssl test_statistics test_subprocess test_tarfile test_tracemalloc test_unicodedata
test_urllib test_zipfile
""".split())


class With:
    """The suite with another interpreter: those of the modules that it has and that are not slow."""

    MODES = ("preloaded 0", "preloaded 4k")
    EXPLAINED = {
        **{f"test.test_fileio.{kind}AutoFileTests.test_syscalls_read": "it skips itself where LD_PRELOAD is set" for kind in ("C", "Py")},
        "test.test_sys.SysModuleTest.test_debugmallocstats":
            "CPython prints what pymalloc has only where no allocator is hooked; with -X tracemalloc it does not, either",
    }

    def __init__(self, python):
        self.python = python
        self.NAME, tests = self.ask("import platform, sysconfig as s, test; "
                                    "print(platform.python_version() + 't' * bool(s.get_config_var('Py_GIL_DISABLED')));"
                                    "print(test.__path__[0])")
        self.modules = [m for m in MODULES if m not in SLOW and any(pathlib.Path(tests, m + end).exists() for end in (".py", "/__init__.py"))]
        if len(self.modules) < LEAST_MODULES:
            raise SystemExit(f"suites: {python}: only {len(self.modules)} of {len(MODULES) - len(SLOW)} modules are in {tests}; "
                             "a distribution has them in a package of their own, like libpython3.15-testsuite")

    def ask(self, code):
        try:
            return subprocess.check_output([self.python, "-c", code], text=True).splitlines()
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(f"suites: {self.python}: {error}") from None

    def prepare(self, folder):
        pass

    def run(self, environment, folder, only=None):
        return run(environment, folder, only, self.python, self.modules)

    def again(self, test):
        return again(test)


def of_tests(report):
    """What the JUnit file says: passed, skipped, failed or error, for each test."""
    results = {}
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        kinds = sorted({child.tag for child in case} & {"failure", "error", "skipped"})
        result = ",".join(kinds) or "passed"
        name = case.get("name") or f"without a name: {case.get('classname')}"
        # Subtests, and a test that ran twice, share a name: all their results count, in any order.
        results[name] = ",".join(sorted(filter(None, [results.get(name), result])))
    return results


def of_modules(log):
    """What the main process says of a module: also that its process crashed, or took too long."""
    return {f"module {name}": result for name, result in
            re.findall(r"\[ *\d+/\d+(?:/\d+)?\] (\w+) (.*?)(?: \(.*\))?(?: -- running.*)?$", log, re.MULTILINE)}


def again(test):
    """The module to run again for a test whose result differs."""
    if test.startswith("module "):
        return test.removeprefix("module ")
    words = test.split(".")
    if words[0] == "test" and words[1].startswith("test_"):
        return words[1]
    return OTHER_NAMES.get(words[0] if words[0] != "test" else words[1], f"test_{words[0]}")
