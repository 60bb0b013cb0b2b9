# SPDX-License-Identifier: Apache-2.0
"""`memprof doctor -- CMD` of real programs, and that `memprof run` then sees, or does not see, what it said."""
import os
import pathlib
import platform
import shutil
import subprocess
import unittest

import doctor
import e2e

# An allocator in the program.
ALLOCATOR = """
#include <stddef.h>
static char pool[1 << 26];
static size_t used;
__attribute__((noinline)) void* malloc(size_t n) { void* p = pool + used; used += (n + 15) & ~(size_t)15; return p; }
static volatile int freed;
void free(void* p) { freed += p != NULL; }
void* calloc(size_t a, size_t b) { return malloc(a * b); }
void* realloc(void* p, size_t n) {
  char* q = malloc(n);
  for (size_t i = 0; p != NULL && i < n; ++i) q[i] = ((char*)p)[i];
  return q;
}
"""
CALLS_MALLOCX = """
#include <stddef.h>
void* mallocx(size_t, int);
void dallocx(void*, int);
int main(void) {
  for (int i = 0; i < 20000; ++i) {
    void* p = mallocx(1000, 0);
    if (p == NULL) return 1;
    dallocx(p, 0);
  }
  return 0;
}
"""
CALLS_MI_MALLOC = """
#include <stddef.h>
void* mi_malloc(size_t);
void mi_free(void*);
int main(void) { void* p = mi_malloc(1000); mi_free(p); return p == NULL; }
"""


class Programs(doctor.Doctor):
    def program(self, path, stops=False, **options):
        return self.doctor("--", path, "an argument", status=1 if stops else 0, **options)

    def test_programs_of_the_system(self):
        for name in ("sh", "sqlite3", "git", "perl", "node"):
            with self.subTest(name):
                checks = self.program(e2e.need(name))
                self.assertEqual((checks["allocator"][0], checks["stacks"][0]), ("yes", "yes"), checks)

    def test_python(self):
        """What it says of the system's interpreter, and that a profile of it then has just that."""
        version = e2e.run([e2e.system_python(), "-c", "import platform; print(platform.python_version())"]).stdout.decode().strip()
        for variables, verdict, part, functions, objects in (
                ({}, "yes", "are seen by hooks", True, True),
                ({"PYTHONMALLOC": "malloc"}, "yes", "come from malloc (PYTHONMALLOC)", True, True),
                ({"MEMPROF_PYTHON": "stacks"}, "note", "are not seen (MEMPROF_PYTHON=stacks)", True, False),
                ({"MEMPROF_PYTHON": "0"}, "note", "is left alone (MEMPROF_PYTHON=0)", False, False)):
            with self.subTest(variables):
                checks = self.program(e2e.system_python(), environment=e2e.plain_environment(**variables))
                self.assertEqual(checks["Python"][0], verdict)
                self.assertTrue(checks["Python"][1].startswith(f"CPython {version}"), checks["Python"])
                self.assertIn(part, checks["Python"][1])
                self.assertEqual(self.seen_of_python(variables), (functions, objects))

    def seen_of_python(self, variables):
        """Whether a profile has a function, and the small objects that it made."""
        program = "def make():\n  return [(i, i) for i in range(20000)]\nkept = make()\nimport os; os._exit(0)"
        path = self.folder / "python.pb"
        path.unlink(missing_ok=True)
        e2e.run([e2e.system_python(), "-c", program], e2e.preloaded(path, 0, **variables))
        profile = e2e.Profile(path)
        return any(frame.name == "make" for stack, *_ in profile.samples for frame in stack), profile.total("inuse_objects") >= 20000

    def test_ordinary(self):
        path = self.compile("plain")
        self.assertEqual(self.program(path)["allocator"][0], "yes")
        self.assertGreater(self.recorded(path), 20_000_000)

    def test_static(self):
        path = self.compile("static", "-static")
        verdict, found, to_do = self.program(path, stops=True)["program"]
        self.assertEqual(verdict, "no")
        self.assertIn("statically linked", found)
        self.assertIn("libmemprof.a", to_do)
        self.assertIsNone(self.recorded(path))

    def test_allocators_that_are_libraries(self):
        for name in e2e.ALLOCATORS:
            with self.subTest(name):
                path = self.compile(name, "-Wl,--no-as-needed", e2e.allocator(name))
                verdict, found, _ = self.program(path)["allocator"]
                self.assertEqual(verdict, "yes")
                self.assertIn(f"that of {e2e.ALLOCATORS[name].split('.so')[0]}.so", found)
                self.assertGreater(self.recorded(path), 20_000_000)

    def test_allocator_that_is_preloaded(self):
        environment = e2e.plain_environment(LD_PRELOAD=e2e.allocator("jemalloc"))
        checks = self.program(self.compile("plain"), environment=environment)
        self.assertIn("that of libjemalloc.so.2", checks["allocator"][1])
        self.assertIn("memprof is loaded before it", checks["LD_PRELOAD"][1])

    def test_allocator_in_the_program(self):
        exported = self.compile("exported", source=doctor.PROGRAM + ALLOCATOR)
        verdict, found, _ = self.program(exported)["allocator"]
        self.assertEqual(verdict, "yes")
        self.assertIn("contains malloc, 4 functions: hooked", found)
        self.assertGreater(self.recorded(exported), 20_000_000)
        hidden = self.compile("hidden", "-fvisibility=hidden", source=doctor.PROGRAM + ALLOCATOR)
        verdict, found, _ = self.program(hidden)["allocator"]
        self.assertEqual(verdict, "yes")
        self.assertIn("contains malloc, 4 functions: hooked", found)
        self.assertGreater(self.recorded(hidden), 20_000_000)

    def test_jemalloc_in_the_program(self):
        path = self.compile("jemalloc", "-Wl,-Bstatic", "-ljemalloc", "-Wl,-Bdynamic", "-lpthread", "-lm", "-ldl", "-lstdc++")
        verdict, found, _ = self.program(path)["allocator"]
        self.assertEqual(verdict, "yes")
        self.assertRegex(found, r"contains jemalloc, \d+ functions: hooked")
        self.assertGreater(self.recorded(path), 20_000_000)

    def test_interface_of_an_allocator(self):
        path = self.compile("mi_malloc", "-lmimalloc", source=CALLS_MI_MALLOC)
        verdict, found, to_do = self.program(path)["own interface"]
        self.assertEqual(verdict, "note")
        self.assertIn("calls mi_malloc of", found)
        self.assertIn("memprof_report_alloc", to_do)

    @unittest.skipUnless(platform.machine() == "x86_64", "hooks are written for x86-64")
    def test_the_interface_of_a_jemalloc_is_hooked(self):
        path = self.compile("mallocx", "-ljemalloc", source=CALLS_MALLOCX)
        self.assertNotIn("own interface", self.program(path))
        self.assertGreater(self.recorded(path), 20_000_000)

    def test_address_sanitizer(self):
        """gcc's is a library, or linked in by an option; clang's the other way round."""
        for compiler, option in (("gcc", "-g"), ("gcc", "-static-libasan"), ("clang-19", "-g"), ("clang-19", "-shared-libasan")):
            with self.subTest(compiler=compiler, option=option):
                path = self.compile("asan", "-fsanitize=address", option, compiler=e2e.need(compiler))
                verdict, found, _ = self.program(path, stops=True)["allocator"]
                self.assertEqual(verdict, "no")
                self.assertIn("AddressSanitizer", found)
                # Of clang's own beginning something is seen, of the program's 20 MB nothing.  (A leak would have it start
                # llvm-symbolizer.)
                environment = e2e.plain_environment(ASAN_OPTIONS="detect_leaks=0")
                self.assertLess(self.recorded(path, environment=environment) or 0, 5_000_000)

    def test_memprof_in_the_program(self):
        for name in ("family_static", "family_linked"):
            self.assertEqual(self.program(e2e.program(name))["allocator"][0], "yes", name)

    def test_unwind_tables(self):
        self.assertEqual(self.program(e2e.program("many_frames"))["stacks"][0], "yes")
        verdict, found, to_do = self.program(e2e.program("no_unwind_tables"))["stacks"]
        self.assertEqual(verdict, "note")
        self.assertIn("frame pointers", found)
        self.assertIn("-fasynchronous-unwind-tables", to_do)

    def test_names(self):
        debug = self.compile("debug", "-g", "-Wl,--build-id=sha1")
        self.assertEqual(self.program(debug)["names"][0], "yes")
        separate = self.folder / "separate"
        shutil.copy(debug, separate)
        for command in (["objcopy", "--only-keep-debug", separate, f"{separate}.debug"],
                        ["objcopy", "--strip-all", f"--add-gnu-debuglink={separate}.debug", separate]):
            subprocess.run([e2e.need(command[0]), *command[1:]], check=True)
        self.assertEqual(self.program(str(separate))["names"][0], "yes")
        os.unlink(f"{separate}.debug")
        verdict, found, to_do = self.program(str(separate))["names"]
        self.assertEqual(verdict, "note")
        self.assertIn("is stripped", found)
        self.assertIn("DEBUGINFOD_URLS", to_do)
        asked = self.program(str(separate), environment=e2e.plain_environment(DEBUGINFOD_URLS="http://localhost:1"))
        self.assertIn("may come from the servers", asked["names"][1])
        self.assertIn("functions, but no files", self.program(self.compile("plain"))["names"][1])

    def test_scripts(self):
        for first, elf in (("#!/bin/sh", "/bin/sh"), (f"#!/usr/bin/env {e2e.system_python()}", e2e.system_python()),
                           ("echo", "/bin/sh")):
            with self.subTest(first):
                script = self.folder / "script"
                script.write_text(f"{first}\n")
                script.chmod(0o755)
                self.assertIn(f"{script}, executed by {elf}:", self.program(script)["program"][1])

    def test_what_cannot_be_started(self):
        shell = pathlib.Path("/bin/sh").read_bytes()
        for name, at, value, part in (("narrow", 4, 1, "a 32-bit program"), ("foreign", 18, 0xb7, "for another processor")):
            data = bytearray(shell)
            data[at] = value
            path = self.folder / name
            path.write_bytes(data)
            path.chmod(0o755)
            self.assertIn(part, self.program(path, stops=True)["program"][1])
        (self.folder / "text").write_text("x")
        for path, part in ((self.folder / "absent", "no such file"), (self.folder / "text", "permission denied"),
                           ("no-such-program", "not found in PATH"), (self.folder, "is a directory")):
            self.assertIn(part, self.program(path, stops=True)["program"][1])

    def test_set_uid(self):
        if os.getuid() != 0:
            self.skipTest("needs root, to give a file away")
        path = self.compile("plain")
        self.folder.chmod(0o755)
        os.chown(path, 12345, 12345)
        os.chmod(path, 0o4755)
        verdict, found, to_do = self.program(path, stops=True)["program"]
        self.assertEqual(verdict, "no")
        self.assertIn("is set-uid", found)
        self.assertTrue(to_do)
        self.assertIsNone(self.recorded(path))


if __name__ == "__main__":
    e2e.main()
