# SPDX-License-Identifier: Apache-2.0
"""`memprof ship --relabel` and `memprof run --ship ... --relabel`: labels are changed and processes left out by rules, and
what is shipped of the others is what it is without them."""
import re
import subprocess

import e2e
import ship_test

RULES = """
[[relabel]]
source_labels = ["__env_TEAM", "program"]
regex = "(.+);python.*"
target_label = "service_name"
replacement = "${1}-workers"

[[relabel]]
source_labels = ["__build_id"]
target_label = "build_id"

[[relabel]]
source_labels = ["__env_TEAM"]
regex = "none"
action = "drop"

[[relabel]]
regex = "program"
action = "labeldrop"
"""


class ShipRelabel(ship_test.Base):
    def rules(self, text=RULES):
        path = self.folder / "rules.toml"
        path.write_text(text)
        return str(path)

    def test_labels_are_changed_and_processes_left_out(self):
        server = self.server()
        shipped, left_out = self.begin(TEAM="red"), self.begin(TEAM="none")
        self.work(shipped, 50)
        self.work(left_out, 70)
        self.ship(server.url, "a", "--relabel", self.rules())
        labels = {key: value for key, value in dict(next(iter(server.stored))[0]).items() if not key.startswith("__")}
        build_id = re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", f"/proc/{shipped.pid}/exe"],
                                                               capture_output=True, text=True, check=True).stdout)
        self.assertEqual(labels, {"service_name": "red-workers", "host": "a"} | ({"build_id": build_id[1]} if build_id else {}))
        totals = server.totals(service_name="red-workers")
        self.assertEqual(totals, self.truth(shipped))
        plan = e2e.run([e2e.COMMAND, "ship", "--dry-run", "--relabel", self.rules()],
                       e2e.plain_environment(MEMPROF_ARENA_DIR=self.host("a"))).stdout.decode()
        self.assertEqual((f"({shipped.pid})" in plan, f"({left_out.pid})" in plan), (True, False), plan)

    def test_of_a_run(self):
        """Children that end before a look have the same rules."""
        code = ("import subprocess\nkept = bytearray(9_000_000)\n"
                "subprocess.run(['perl', '-e', 'my @kept = map { \"x\" x 1000 } 1..5000'], check=True)")
        rules = '[[relabel]]\nsource_labels = ["program"]\nregex = "python.*"\naction = "keep"\n'
        for relabel, shipped in (([], ["perl", "python"]), (["--relabel", self.rules(rules)], ["python"])):
            with self.subTest(shipped):
                folder = self.folder / f"bucket-{len(shipped)}"
                folder.mkdir()
                done = e2e.run([e2e.COMMAND, "run", "-r", "32k", "-o", "out.pb.gz", "--force", "--ship", str(folder), *relabel,
                                "--", e2e.system_python(), "-c", code], e2e.plain_environment(), cwd=self.folder)
                self.assertEqual(done.returncode, 0, done.stderr.decode())
                self.assertEqual(sorted(path.name[:6] for path in folder.iterdir()), shipped)

    def test_a_rule_that_is_wrong_ships_nothing(self):
        server = self.server()
        for command in ("ship", "run"):
            with self.subTest(command):
                to = ["--to", server.url] if command == "ship" else ["--ship", server.url]
                program = [] if command == "ship" else ["--", "true"]
                done = e2e.run([e2e.COMMAND, command, *to, "--relabel", self.rules("[[relabel]]\naction = 'hashmod'\n"), *program],
                               e2e.plain_environment(MEMPROF_ARENA_DIR=self.host("a")), cwd=self.folder)
                self.assertEqual(done.returncode, 2)
                self.assertIn("rules.toml:2: action: 'hashmod' is not replace, keep, drop, labeldrop or labelkeep", done.stderr.decode())
        self.assertFalse(server.stored)


if __name__ == "__main__":
    e2e.main()
