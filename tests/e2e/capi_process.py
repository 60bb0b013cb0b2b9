# SPDX-License-Identifier: Apache-2.0
"""The C API from plain ctypes, in a python3 with the library preloaded.

The driver starts the file of a test again, preloaded, once for each of its methods: the life cycle is one way.
"""
import ctypes
import os
import pathlib
import resource
import sys
import unittest

import capi_binding as api

FOLDER_VARIABLE = "CAPI_TEST_FOLDER"


class Calls(unittest.TestCase):
    """What runs in the process that is profiled."""

    def setUp(self):
        self.lib = api.load(os.environ["MEMPROF_E2E_LIBRARY"])  # the same as the preloaded one
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.malloc.restype, self.libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        self.libc.free.argtypes = [ctypes.c_void_p]
        self.folder = pathlib.Path(os.environ[FOLDER_VARIABLE])

    def begin(self, rate=0, **limits):
        options = api.Options()
        self.assertEqual(self.lib.memprof_options_init(options, ctypes.sizeof(options)), api.OK)
        options.rate_bytes = rate
        for name, value in limits.items():
            setattr(options, name, value)
        self.assertEqual(self.lib.memprof_init(options), api.OK)
        self.assertEqual(self.lib.memprof_start(), api.OK)

    def stats(self):
        stats = api.Stats(struct_size=ctypes.sizeof(api.Stats))
        self.assertEqual(self.lib.memprof_get_stats(stats), api.OK)
        return stats

    def snapshot(self):
        handle = ctypes.c_void_p()
        self.assertEqual(self.lib.memprof_get_snapshot(handle), api.OK)
        self.assertTrue(handle.value)
        return handle

    def array(self, name, snapshot):
        count = ctypes.c_uint64(12345)
        pointer = getattr(self.lib, f"memprof_snapshot_{name}")(snapshot, count)
        return pointer, count.value

    def record_of(self, address):
        snapshot = self.snapshot()
        records, count = self.array("records", snapshot)
        found = [(r.size_bytes, r.weight_bytes, r.stack_id, r.thread_id) for r in records[:count]
                 if r.address == address]
        self.lib.memprof_free_snapshot(snapshot)
        self.assertLessEqual(len(found), 1)
        return found[0] if found else None


def drive(file, in_process, *others):
    """Starts `file` again for each method of `in_process`, preloaded; runs the cases `others` here."""
    import e2e

    class Ctypes(e2e.Test):
        pass

    def method(name):
        def run(self):
            environment = e2e.preloaded(**{FOLDER_VARIABLE: str(self.folder)})
            if name == "test_loaded_at_run_time":
                environment.pop("LD_PRELOAD")
            environment["MEMPROF_E2E_LIBRARY"] = str(e2e.LIBRARY)
            self.check(e2e.run([e2e.system_python(), "-B", file, f"{in_process.__name__}.{name}"], environment), stderr=None)
            for path in self.folder.glob("*.pb"):
                e2e.Profile(path)
                self.memprof("report", path)
        run.__doc__ = getattr(in_process, name).__doc__
        return run

    for name in unittest.TestLoader().getTestCaseNames(in_process):
        setattr(Ctypes, name, method(name))
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in (*others, Ctypes))
    sys.exit(not unittest.TextTestRunner().run(suite).wasSuccessful())


def main(file, in_process, *others):
    if FOLDER_VARIABLE in os.environ:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        unittest.main()
    drive(file, in_process, *others)
