# SPDX-License-Identifier: Apache-2.0
"""Programs that the library cannot be preloaded into: of musl, of sanitizers, for other processors.  They run as they do
without memprof, whoever starts them, and the run says that it has nothing of them, and why."""
import os
import pathlib
import re
import subprocess

import e2e

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  for (int i = 0; i < 1000; ++i) free(malloc(i));
  const char* list = getenv("LD_PRELOAD");
  printf("fine, %s, %s\\n", list != NULL ? list : "nothing preloaded", getenv("OTHER") != NULL ? getenv("OTHER") : "none");
  return 3;
}
"""
FINE = b"fine, nothing preloaded, none\n"
# What a child that cannot have the library is, by its compiler.
SANITIZED = (("gcc", "address", "AddressSanitizer"), ("gcc", "thread", "ThreadSanitizer"), ("gcc", "leak", "LeakSanitizer"),
             ("clang-19", "address", "AddressSanitizer"), ("clang-19", "thread", "ThreadSanitizer"),
             ("clang-19", "memory", "MemorySanitizer"), ("clang-19", "leak", "LeakSanitizer"))


class Foreign(e2e.Test):
    def setUp(self):
        super().setUp()
        (self.folder / "program.c").write_text(PROGRAM)

    def compile(self, name, compiler, *options):
        subprocess.run([e2e.need(compiler), "-O1", "-fno-builtin", "-w", *options, "program.c", "-o", name], cwd=self.folder, check=True)
        return str(self.folder / name)

    def musl(self):
        return self.compile("with_musl", "musl-gcc")

    def run_(self, *command, options=(), **more):
        return e2e.run([e2e.COMMAND, "run", "--force", *options, "-o", "x.pb.gz", "--", *command], cwd=self.folder, **more)

    def check_started(self, program, why):
        """The command starts it."""
        done = self.run_(program)
        self.assertEqual((done.returncode, done.stdout), (3, FINE), done.stderr)
        self.assertRegex(done.stderr.decode(), rf"(?m)^memprof: nothing was recorded: \S+/{pathlib.Path(program).name} {why}")

    def check_child(self, program, why, also=None):
        """A profiled shell starts it."""
        shell = ["sh", "-c", f"{program}; echo status $?"]
        plain = e2e.run(shell)
        self.assertEqual(plain.stdout, FINE + b"status 3\n")
        done = self.run_(*shell)
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
        name = "|".join(filter(None, (pathlib.Path(program).name, also)))  # LeakSanitizer looks from a second process
        self.assertRegex(done.stderr.decode(), rf"(?m)^memprof: ( |warning: ran without memprof:) ({name}) \(pid \d+( and 1 more)?\) {why}")
        # And without a run, in a shell that has it preloaded.
        preloaded = e2e.run(shell, e2e.preloaded(self.folder / "shell.%p.pb", 0))
        self.assertEqual((preloaded.stdout, preloaded.stderr), (plain.stdout, b""))


class Musl(Foreign):
    def test_started_by_the_command(self):
        self.check_started(self.musl(), "uses musl, and libmemprof.so was built for glibc")

    def test_a_child(self):
        self.check_child(self.musl(), "uses musl, and libmemprof.so was built for glibc")

    def test_by_every_way_to_execute(self):
        program = self.musl()
        command = [e2e.program("executes"), "each", program]
        plain = self.check(e2e.run(command))
        self.assertEqual(plain.stdout.count(b"status 300\n") + plain.stdout.count(b"status 768\n"), 18)
        self.assertEqual(plain.stdout.count(FINE), 22)
        done = self.run_(*command)
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)

    def test_found_in_path(self):
        self.musl()
        environment = e2e.plain_environment(PATH=f"/nowhere:{self.folder}:{os.environ['PATH']}")
        command = [e2e.program("executes"), "each", "with_musl"]
        plain = e2e.run(command, environment, cwd=self.folder)
        self.assertGreaterEqual(plain.stdout.count(FINE), 8)  # by execlp, execvp, execvpe, posix_spawnp, twice each
        self.assertEqual(self.run_(*command, environment=environment).stdout, plain.stdout)

    def test_a_script(self):
        program = self.musl()
        script = self.folder / "script"
        script.write_text(f"#! {program} argument\n")
        script.chmod(0o755)
        again = self.folder / "again"  # whose interpreter is a script
        again.write_text(f"#!{script}\n")
        again.chmod(0o755)
        for path in (script, again):
            self.check_child(str(path), "", also="with_musl")  # what a look sees while it runs

    def test_what_else_is_preloaded_stays(self):
        """And the other variables, also where there are many: more than there is room for on the stack."""
        program = self.musl()
        for others in (0, 10, 5000):
            environment = e2e.plain_environment(OTHER="here", **{f"VARIABLE_{i}": "x" for i in range(others)})
            for before, after in (("", b"nothing preloaded"), ("/nowhere/a.so", b"/nowhere/a.so")):
                environment["LD_PRELOAD"] = f"{e2e.LIBRARY}:{before}" if before else str(e2e.LIBRARY)
                done = e2e.run(["sh", "-c", f"{program}; echo $VARIABLE_9"], environment)
                self.assertEqual(done.stdout.splitlines()[0], b"fine, " + after + b", here", done.stderr)

    def test_where_a_filter_of_system_calls_lets_the_file_not_be_read(self):
        """Nothing is asked then: it is executed as it is, and fails as every program does that is given what it cannot load."""
        done = self.run_(e2e.program("deny"), 1, 39, "--", self.musl())
        self.assertIn(done.returncode, (3, 127), done.stderr)


class Sanitized(Foreign):
    def each(self, check):
        for compiler, kind, name in SANITIZED:
            with self.subTest(compiler=compiler, kind=kind):
                program = self.compile(f"{kind}_of_{compiler.replace('-', '_')}", compiler, f"-fsanitize={kind}")
                check(program, f"is built with {name}, whose malloc")

    def test_started_by_the_command(self):
        self.each(self.check_started)

    def test_children(self):
        self.each(self.check_child)

    def test_with_the_runtime_linked_in(self):
        """gcc exports nothing of it: its malloc is called instead of ours."""
        for kind in ("asan", "tsan"):
            program = self.compile(f"static_{kind}", "gcc", f"-fsanitize={'address' if kind == 'asan' else 'thread'}", f"-static-lib{kind}")
            self.check_started(program, "is built with ")
            done = self.run_("sh", "-c", f"{program}; echo status $?")
            self.assertRegex(done.stdout, rb"^fine, .*\nstatus 3\n$")

    def test_one_that_is_preloaded(self):
        library = subprocess.run([e2e.need("gcc"), "-print-file-name=libasan.so"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        library = os.path.realpath(library)
        program = self.compile("plain", "gcc")
        done = self.run_(program, environment=e2e.plain_environment(LD_PRELOAD=library))
        self.assertEqual((done.returncode, done.stdout), (3, f"fine, {library}, none\n".encode()), done.stderr)
        self.assertRegex(done.stderr.decode(), rf"nothing was recorded: LD_PRELOAD has {re.escape(library)} in it")

    def test_undefined_behaviour_has_no_malloc(self):
        program = self.compile("undefined", "gcc", "-fsanitize=undefined")
        done = self.run_(program, options=["-r", "0"])
        self.assertEqual(done.returncode, 3)
        self.assertTrue((self.folder / "x.pb.gz").exists(), done.stderr)


class OtherCode(Foreign):
    def test_its_loader_does_not_complain(self):
        """A program for 32 bits, of which there is no library here: a file that says so, and nothing else of it."""
        header = bytearray(pathlib.Path(e2e.program("does_nothing")).read_bytes())
        header[4] = 1  # ELFCLASS32
        program = self.folder / "other"
        program.write_bytes(header)
        program.chmod(0o755)
        command = ["sh", "-c", f"{program}; echo status $?"]
        plain = e2e.run(command)
        self.assertEqual(self.run_(*command).stdout, plain.stdout)


class NoMemory(e2e.Test):
    def test_pointers_that_the_kernel_refuses(self):
        """execve, execveat, fexecve, posix_spawn and the others fail as they do without us, or end the program as they do."""
        for program in ("/bin/true", e2e.program("does_nothing_static")):
            command = [e2e.program("executes"), "bad", program]
            plain = self.check(e2e.run(command))
            self.assertGreater(plain.stdout.count(b"status e00\n"), 300)  # EFAULT
            self.assertEqual(e2e.run(command, e2e.preloaded(self.folder / "x.%p.pb")).stdout, plain.stdout)
            done = self.memprof("run", "-o", self.folder / "x.pb.gz", "--force", "--", *command)
            self.assertEqual(done.stdout, plain.stdout)

    def test_where_the_environment_is_copied(self):
        subprocess.run(["musl-gcc", "-x", "c", "-", "-o", self.folder / "musl"], input=b"int main(void) { return 0; }", check=True)
        command = [e2e.program("executes"), "bad", self.folder / "musl"]
        plain = self.check(e2e.run(command))
        self.assertEqual(e2e.run(command, e2e.preloaded(self.folder / "x.%p.pb")).stdout, plain.stdout)


if __name__ == "__main__":
    e2e.main()
