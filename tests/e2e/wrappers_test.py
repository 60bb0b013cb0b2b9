# SPDX-License-Identifier: Apache-2.0
"""A run of a wrapper leaves the profile of the program; small helpers are counted (docs/decisions/0137)."""
import os
import re

import e2e

HELPERS = 12
# Each a process of its own: `:` keeps bash from executing the last command in its place.
HELP = f'for n in $(seq {HELPERS}); do "$BASH" -c "x=$n; :"; done\n'
LARGE = "kept = [bytes(1000) for _ in range(20_000)]"


class Wrappers(e2e.Test):
    def start(self, script, *arguments, status=0, name="tool"):
        """Runs a wrapper in bash; returns what memprof said, and the files by their names."""
        wrapper = self.folder / "bin" / name
        wrapper.parent.mkdir(exist_ok=True)
        wrapper.write_text(f"#!{e2e.need('bash')}\n{script}\n")
        wrapper.chmod(0o755)
        out = self.folder / f"out{len(list(self.folder.iterdir()))}"
        out.mkdir()
        done = e2e.run([e2e.COMMAND, "run", "-r", "0", *arguments, "--", wrapper, e2e.system_python(), LARGE], cwd=out)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr.decode(), {path.name: path for path in out.iterdir()} if out.exists() else {}

    def programs(self, files):
        return sorted(self.report(path)["program"] for path in files.values())

    def test_a_wrapper_that_becomes_the_program(self):
        """As pyenv's: one file, named as if there were no wrapper, with the number and the sum of the others."""
        said, files = self.start(HELP + 'exec "$1" -c "$2"')
        (name, path), = files.items()
        self.assertRegex(name, r"^memprof\.tool\.\d+\.pb\.gz$")
        report = self.report(path)
        self.assertIn("python", report["program"])
        self.assertGreater(report["totals"]["peak_space"]["value"], 20_000_000)
        # The helpers, and the shell that substitutes for `seq`, which itself may be no bash by then.
        small = report["small_processes"]
        self.assertGreaterEqual(small, HELPERS)
        self.assertRegex(said, rf"memprof: wrote {re.escape(name)} \(\d+ .*small (ones|processes) have no file: "
                               r"\S+ [KM]iB allocated in all, --keep-all\); next: ")
        # What shells held before they became another program is one sum, too.
        self.assertRegex(said, r"(?m)^memprof: \d+ programs executed another one: their own \S+ \S+ allocated until then are in no profile$")
        self.assertEqual(said.count("\n"), 2, said)
        self.assertIn("small processes that allocated", self.memprof("report", path).stdout.decode())
        self.assertIn("have no profile; memprof run --keep-all.",
                      self.memprof("report", path, "--details").stdout.decode())
        # Nothing is lost in silence: the sum is that of the files that --keep-all writes.
        _, kept = self.start(HELP + 'exec "$1" -c "$2"', "--keep-all")
        self.assertEqual(len(kept), 1 + small)
        reports = [self.report(path) for path in kept.values()]
        allocated = sum(r["totals"]["alloc_space"]["value"] for r in reports if "python" not in r["program"])
        # An environment of another length, ids of other lengths.
        self.assertAlmostEqual(report["small_allocated_bytes"], allocated, delta=0.02 * allocated)
        self.assertEqual([r["small_processes"] for r in reports], [0] * len(reports))

    def test_a_wrapper_that_starts_the_program(self):
        """The program has the file, also its plain path."""
        script = HELP + '"$1" -c "$2"\n:'
        _, files = self.start(script)
        self.assertEqual(len(files), 1)
        name = os.path.basename(e2e.system_python())
        self.assertRegex(*files, rf"^memprof\.{re.escape(name)}\.\d+\.pb\.gz$")
        _, files = self.start(script, "-o", "x.pb.gz")
        self.assertEqual(list(files), ["x.pb.gz"])
        self.assertIn("python", *self.programs(files))

    def test_two_large_children(self):
        """Both have files; the shell, which is started and small, has none."""
        said, files = self.start('"$1" -c "$2"; "$1" -c "$2"\n:', "-o", "x.pb.gz")
        self.assertEqual(len(files), 2, said)
        for program in self.programs(files):
            self.assertIn("python", program)
        self.assertIn("memprof: wrote 2 profiles (1 small process has no file: ", said)

    def test_a_wrapper_that_allocates_much(self):
        said, files = self.start('x=$(head -c 20000000 /dev/zero | tr "\\0" a); "$1" -c "$2"\n:', "-o", "x.pb.gz")
        programs = self.programs(files)
        self.assertEqual(len([program for program in programs if "python" in program]), 1, programs)
        self.assertIn("bash", programs)
        self.assertEqual(self.report(files["x.pb.gz"])["program"], "bash", said)

    def test_a_helper_that_executes_what_has_no_sample(self):
        """It has not ended as far as is known, nor has one that is killed, by SIGPIPE say."""
        _, files = self.start('"$BASH" -c "kill -9 \\$\\$; :"; (exec true); exec "$1" -c "$2"', "-o", "x.pb.gz")
        self.assertEqual(list(files), ["x.pb.gz"])

    def test_a_wrapper_that_is_killed(self):
        """How the program that was started ended is of interest."""
        _, files = self.start('"$1" -c "$2"; kill -9 $$', "-o", "x.pb.gz", status=137)
        self.assertEqual([self.programs(files)[0], len(files)], ["bash", 2])
        self.assertEqual(self.report(files["x.pb.gz"])["program"], "bash")

    def test_all_in_one_file(self):
        _, files = self.start(HELP + 'exec "$1" -c "$2"', "--merge", "-o", "x.pb.gz")
        report = self.report(files["x.pb.gz"], "--by", "process")
        self.assertEqual(report["small_processes"], 0)
        self.assertGreater(len(report["rows"]), HELPERS)

    def test_a_file_that_cannot_be_written(self):
        """What the program left is kept, and named; helpers' data is not worth a word."""
        said, files = self.start(HELP + 'rm -r "$PWD"; exec "$1" -c "$2"', status=2)
        self.assertEqual(files, {})
        (kept,) = re.findall(r"memprof: the profile without names is kept: memprof report (\S+)", said)
        self.assertIn("python", self.report(kept)["program"])
        self.assertNotIn("wrote", said)
        for path in os.scandir(os.path.dirname(kept)):
            os.unlink(path)
        os.rmdir(os.path.dirname(kept))


if __name__ == "__main__":
    e2e.main()
