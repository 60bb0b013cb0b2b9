# SPDX-License-Identifier: Apache-2.0
"""Programs that a process executes: they get what they are given, and those without memprof are counted, however short
they live (no look at /proc sees one that ends at once)."""

import e2e


class Executed(e2e.Test):
    def run_(self, *command, options=(), **more):
        done = e2e.run([e2e.COMMAND, "run", "--force", *options, "-o", "x.pb.gz", "--", *command], cwd=self.folder, timeout=300, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def unseen(self):
        return self.report(self.folder / "x.pb.gz")["unseen_processes"]

    def test_each_way_gives_what_it_gives_without_us(self):
        plain = self.check(e2e.run([e2e.program("executes"), "ways"]))
        self.assertEqual(plain.stdout.count(b"WAY "), 22)
        self.assertEqual(plain.stdout.count(b"status 512\n"), 36)  # ENOENT
        for rate in ("0", "512k"):
            done = self.run_(e2e.program("executes"), "ways", options=["-r", rate])
            self.assertEqual(done.stdout, plain.stdout)
            # Those that got another environment: execle, execve, execvpe and posix_spawnp, twice each.
            self.assertEqual(self.unseen(), 8, done.stderr)
            self.assertRegex(done.stderr.decode(), r"memprof: warning: 8 processes ran without memprof, among them\n"
                                                   r"memprof:   executes \(pid \d+.*\) was started without LD_PRELOAD")

    def test_static_programs_that_end_at_once(self):
        done = self.run_(e2e.program("executes"), "often", 200, e2e.program("does_nothing_static"), options=["-r", "1T"])
        self.assertEqual(self.unseen(), 400, done.stderr)
        self.assertRegex(done.stderr.decode(), r"does_nothing_static \(pid \d+ and \d+ more\) is statically linked")
        self.assertNotIn("had no sample", done.stderr.decode().splitlines()[-1])

    def test_others_are_not_among_them(self):
        done = self.run_(e2e.program("executes"), "often", 200, e2e.program("does_nothing"), options=["-r", "1T"])
        self.assertEqual(self.unseen(), 0, done.stderr)
        self.assertIn("(400 more processes had no sample)", done.stderr.decode())

    def test_in_shells(self):
        """Which fork, and execute programs in the child; one of three does not exist."""
        program, static = e2e.program("does_nothing"), e2e.program("does_nothing_static")
        script = f"for i in 1 2 3 4 5 6 7 8 9 10; do {program}; {static}; env -i {program}; /nowhere/nothing; done 2> /dev/null; exit 0"
        done = self.run_("sh", "-c", script, options=["-r", "1T"])
        self.assertEqual(self.unseen(), 20, done.stderr)
        self.assertIn("(10 more processes had no sample)", done.stderr.decode())

    def test_the_last_program_of_a_process(self):
        """Where it is not ours, the process is not one without a sample."""
        static = e2e.program("does_nothing_static")
        done = self.run_("sh", "-c", f"(exec {static}); (exec sh -c 'exec {static}'); exit 0", options=["-r", "1T"])
        self.assertEqual(self.unseen(), 2, done.stderr)
        self.assertNotIn("1 more process had", done.stderr.decode())

    def test_what_still_runs_is_none_of_them(self):
        """A program that is only beginning when the run ends."""
        sleep = e2e.need("sleep")
        for _ in range(10):
            done = self.run_("sh", "-c", f"{sleep} 0.3 > /dev/null 2>&1 & exit 0")
            self.assertNotIn("without memprof", done.stderr.decode())

    def test_python(self):
        static = e2e.program("does_nothing_static")
        program = "import os, subprocess\n" \
                  "for i in range(20):\n" \
                  f"    subprocess.run(['{static}'])\n" \
                  f"    os.waitpid(os.posix_spawn('{static}', ['x'], os.environ), 0)\n" \
                  f"    subprocess.run(['{e2e.program('does_nothing')}'], env={{}})\n"
        done = self.run_(e2e.system_python(), "-c", program)
        self.assertEqual(self.unseen(), 60, done.stderr)

    def test_in_a_sandbox_nothing_is_noted(self):
        """A call that the filter does not know may end the process.  Of the first process the kernel knows the name,
        unless a look saw it while it lived."""
        done = self.run_(e2e.program("deny"), 1, 39, "--", e2e.program("does_nothing_static"))
        self.assertRegex(done.stderr, rb"^memprof: nothing was recorded: (\S+/deny executed does_nothing_st, which|"
                                      rb"does_nothing_static \(pid \d+\) is statically linked)")


if __name__ == "__main__":
    e2e.main()
