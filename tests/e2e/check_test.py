# SPDX-License-Identifier: Apache-2.0
"""`memprof check`: our own command within the limits of the repository's memprof.toml, and programs of known truth."""
import json
import subprocess

import e2e

PROFILE = e2e.SOURCE / "tests/e2e/profiles/json.pb.gz"

# Each call of work() makes two blocks and frees them; each of remember() keeps one.
LOOP = """
import sys
kept = []
def work():
    return len([bytearray(3000), bytearray(3000)])
def remember():
    kept.append(bytearray(10000))
for i in range(int(sys.argv[1])):
    work()
    work()
    remember()
"""


class Check(e2e.Test):
    def judge(self, limits, *arguments, **environment):
        """The finished process, and what --json says; `limits` is the text of memprof.toml, or its path."""
        path = limits
        if isinstance(limits, str):
            path = self.folder / "memprof.toml"
            path.write_text(limits)
        run = subprocess.run([e2e.COMMAND, "check", "--limits", path, "--json", "--no-debuginfod", *arguments], check=False,
                             cwd=self.folder, env=e2e.plain_environment(**environment), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, timeout=e2e.WATCHDOG_S, text=True)
        return run, json.loads(run.stdout) if run.stdout else None

    def verdicts(self, report):
        return {f"{limit['name']} {limit['limit']}".strip(): limit["verdict"]
                for check in report["checks"] for limit in check["limits"]}

    def test_our_own_command_keeps_its_limits(self):
        command = ["--", e2e.COMMAND, "report", PROFILE]
        run, report = self.judge(e2e.SOURCE / "memprof.toml", *command)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(set(self.verdicts(report).values()), {"pass"})
        self.assertIn("JSONDecoder.raw_decode", run.stderr)
        # And would not keep a hundredth of them.
        run, report = self.judge('peak = "80 KB"\nalloc = "240 KB"\nrate = 0\n', *command)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual(set(self.verdicts(report).values()), {"fail"})
        for limit in report["checks"][0]["limits"]:
            self.assertTrue(limit["sites"], limit)

    def loop(self, more, counts="[20, 70]", rate=0):
        (self.folder / "loop.py").write_text(LOOP)
        return self.judge(f"""
[[check]]
name = "loop"
command = ["{e2e.system_python()}", "-I", "loop.py", "{{n}}"]
iterations = {counts}
rate = {rate}
{more}""")

    def test_growth_in_an_iteration_is_what_lies_between_two_runs(self):
        # 10,000 bytes and the head of a bytearray (57), and of the list eight; nothing of what starts the interpreter.
        run, report = self.loop("growth_per_iteration = 10100\n")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        value = report["checks"][0]["limits"][0]["estimate"]["value"]
        self.assertTrue(10_000 < value < 10_100, value)
        run, report = self.loop("growth_per_iteration = 10000\n")
        self.assertEqual(run.returncode, 1, run.stderr)
        sites = report["checks"][0]["limits"][0]["sites"]
        self.assertEqual((sites[0]["name"], sites[0]["line"]), ("remember", 7), sites)

    def test_allocations_in_a_call_of_a_function(self):
        site = '[[check.site]]\nfocus = "^work$"\ncalls = 2\nallocations_per_call = {}\nalloc_per_call = 6200\n'
        run, report = self.loop(site.format(6))
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        limits = {limit["limit"]: limit["estimate"]["value"] for limit in report["checks"][0]["limits"]}
        # Two objects, their bytes, and the list with its pointers; a free list may save some.
        self.assertTrue(2 <= limits["allocations_per_call"] <= 6, limits)
        self.assertTrue(6000 <= limits["alloc_per_call"] <= 6200, limits)
        run, report = self.loop(site.format(1.5))
        self.assertEqual((run.returncode, self.verdicts(report)["^work$ allocations_per_call"]), (1, "fail"))
        # A function that is renamed is no pass.
        run, report = self.loop(site.format(6).replace("work", "wrk"))
        self.assertEqual((run.returncode, set(self.verdicts(report).values())), (2, {"none"}))

    def test_growth_at_a_rate(self):
        # 5 MB more; at 16k a standard deviation is 0.3 MB, so that 3 MB are 7 away and 20 MB far.
        for limit, status in (("6 KB", 1), ("40 KB", 0)):
            run, report = self.loop(f'growth_per_iteration = "{limit}"\n', counts="[10, 510]", rate='"16k"')
            self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        self.assertEqual(self.verdicts(report), {"growth_per_iteration": "pass"})

    def test_each_process_is_held_to_the_limits(self):
        perl = e2e.need("perl")
        script = f"{perl} -e 'my $x = \"x\" x 30_000_000'; {perl} -e 'my $x = \"x\" x 50_000_000'; true"
        run, report = self.judge('peak = "160 MB"\nrate = "64k"\n', "--", "sh", "-c", script)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("processes perl", report["checks"][0]["limits"][0]["what"])
        run, report = self.judge('peak = "40 MB"\nrate = "64k"\n', "--", "sh", "-c", script)
        self.assertEqual(run.returncode, 1, run.stderr)

    def test_a_program_that_fails_or_is_killed_fails(self):
        run, report = self.judge('peak = "64 MB"\n', "--", "sh", "-c", "exit 3")
        self.assertEqual((run.returncode, report["checks"][0]["exit_status"]), (1, 3), run.stderr)
        run, report = self.judge('peak = "1 GB"\n', "--", e2e.need("perl"), "-e",
                                 'my $x = "x" x 30_000_000; kill KILL => $$')
        self.assertEqual((run.returncode, report["checks"][0]["exit_status"]), (1, 137), run.stderr)
        self.assertEqual(self.verdicts(report), {"peak": "pass"})

    def test_a_program_that_is_not_there_has_no_verdict(self):
        run, report = self.judge('peak = "64 MB"\n', "--", "/nonexistent")
        self.assertEqual(run.returncode, 2)
        self.assertIn("/nonexistent", report["checks"][0]["error"])

    def test_a_baseline(self):
        old = self.folder / "old.pb.gz"
        (self.folder / "loop.py").write_text(LOOP)
        self.memprof("run", "-r", "0", "-o", old, "--", e2e.system_python(), "-I", self.folder / "loop.py", "100")
        # 0.1 MB more, and 0.4 MB of the pool's own tables: at rate 0 they come while an object is recorded, and are counted apart.
        limits = 'baseline = "old.pb.gz"\nfail_on = ["growth > 1m"]\n'
        command = ["--", e2e.system_python(), "-I", self.folder / "loop.py"]
        run, _ = self.judge(limits, *command, "110")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        run, report = self.judge(limits, *command, "250")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual(report["checks"][0]["limits"][0]["sites"][0]["name"], "remember")

    def test_annotations_stand_at_the_source(self):
        (self.folder / "loop.py").write_text(LOOP)
        summary = self.folder / "summary.md"
        run, _ = self.judge('live = "100 KB"\nrate = 0\n', "--", e2e.system_python(), "-I", "loop.py", "200",
                            GITHUB_ACTIONS="true", GITHUB_WORKSPACE=str(self.folder), GITHUB_STEP_SUMMARY=str(summary))
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("::error file=loop.py,line=7,title=memprof check", run.stderr)
        self.assertIn("**FAIL**", summary.read_text())


if __name__ == "__main__":
    e2e.main()
