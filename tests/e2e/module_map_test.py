# SPDX-License-Identifier: Apache-2.0
"""The library as it is where the C library has no _dl_find_object (glibc before 2.35, musl).

tests/e2e/CMakeLists.txt links it a second time, with MEMPROF_MODULE_MAP.
"""
import e2e

PYTHON = """
import json, re, sqlite3, ssl
import numpy
for i in range(30):
    json.loads(json.dumps({str(k): list(range(k % 30)) for k in range(500)}))
    re.sub(r'(a+)(b*)', lambda m: m.group(2) * 600, 'aab' * 200)
    a = numpy.random.rand(60, 60)
    numpy.sort(numpy.char.add(numpy.array(['x'] * 50), 'y'))
    numpy.linalg.svd(a)
"""


class ModuleMap(e2e.Test):
    def test_it_does_not_ask_the_c_library(self):
        self.assertNotIn(b"_dl_find_object", e2e.LIBRARY.read_bytes())

    def test_whole_stacks_of_python_and_numpy(self):
        """Modules that are loaded while it runs, from their constructors on."""
        path = self.folder / "out.pb"
        done = e2e.run([e2e.system_python(), "-c", PYTHON], e2e.preloaded(path, 4096, PYTHONMALLOC="malloc", MEMPROF_MAX_DEPTH="1000"))
        self.check(done)
        profile = e2e.Profile(path)
        whole = int(profile.facts["walk_root"])
        samples = int(profile.facts["samples"])
        print(f"{whole} of {samples} stacks are whole")
        self.assertGreater(samples, 2000)
        self.assertGreaterEqual(whole, 0.99 * samples)
        # Each frame has its module, and each module its build id.
        frames = {frame.address: frame for stack, values, labels in profile.samples for frame in stack}
        without = [hex(address) for address, frame in frames.items() if address != 0 and frame.mapping is None]
        self.assertLessEqual(len(without), 0.001 * len(frames), without)
        paths = {mapping["path"] for mapping in profile.mappings.values()}
        self.assertTrue(any("_multiarray_umath" in p for p in paths), paths)

    def test_library_at_the_address_of_another_one(self):
        """Lesson 9, laid out differently and alike."""
        for second in ("plugin_c", "plugin_b"):
            said, profile = self.profile_program("unload", e2e.program("plugin_a.so"), e2e.program(f"{second}.so"),
                                                 "plugin_a_site", f"{second}_site")
            self.assertIn("same address 1", said)
            self.check_truth(said, profile)
            self.only_profile().unlink()

    def test_eight_threads_sample_while_a_library_comes_and_goes(self):
        """Lesson 1: no order of locks between the loader and us."""
        said, profile = self.profile_program("dlopen_loop", e2e.program("plugin_a.so"))
        self.check_truth(said, profile)


if __name__ == "__main__":
    e2e.main()
