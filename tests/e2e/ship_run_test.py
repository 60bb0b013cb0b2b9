# SPDX-License-Identifier: Apache-2.0
"""`memprof run --ship`: what arrives is what the run's profiles say, of long and of short processes; a server that is away
changes neither the program nor its profiles, and what was lost is said."""
import threading

import e2e
import otlp_server
import ship_test

# Runs children of which most end between two looks, and allocates itself.
TREE = """
import subprocess, sys, time
kept = []
for step in range(6):
    kept += [bytearray(20_000) for _ in range(40)]
    subprocess.run([sys.executable, '-S', '-c', 'a = [bytearray(30_000) for _ in range(50)]'], check=True)
    time.sleep(0.15)
print('out')
sys.exit(7)
"""


class ShipRun(ship_test.Base):
    def run_shipped(self, *arguments, code=TREE, status=7):
        done = e2e.run([e2e.COMMAND, "run", "-r", "32k", "-o", "out.pb.gz", "--force", "--host", "a", "--service", "shop",
                        *arguments, "--", e2e.system_python(), "-c", code], e2e.plain_environment(), cwd=self.folder, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (status, b"out\n"), done.stderr.decode())
        return done.stderr.decode()

    def test_all_of_a_tree_arrives_once(self):
        for every in ("200ms", "1h"):
            with self.subTest(every):
                server, folder = self.server(), self.folder / f"bucket-{every}"
                folder.mkdir()
                said = self.run_shipped("--ship", server.url, "--ship", str(folder), "--ship-every", every, "--keep-all")
                files = list(self.folder.glob("out*.pb.gz"))
                self.assertGreater(len(files), 6)
                totals = server.totals(service_name="shop", host="a")
                for metric in ("alloc_objects", "alloc_space"):
                    self.assertEqual(totals[metric], sum(self.report(file)["totals"][metric]["value"] for file in files))
                for file in files:
                    file.unlink()
                self.assertRegex(said, rf"shipped \d+ looks? \(.* allocated\) to {server.url}\n")
                files = sorted((folder / "shop").glob("a.*.pb.gz"))
                self.assertEqual(len(files), len(server.stored))
                self.assertEqual(sum(self.report(file)["totals"]["alloc_space"]["value"] for file in files), totals["alloc_space"])
                self.assertEqual(len(files) == 1, every == "1h")

    def test_the_last_look_is_what_the_program_held(self):
        server = otlp_server.Server()
        self.addCleanup(server.close)
        self.run_shipped("--ship", server.url, "--pid-label",
                         code="kept = [bytearray(20_000) for _ in range(200)]\nprint('out', flush=True)\nimport os; os._exit(3)", status=3)
        self.assertEqual(server.wrong, [])
        report = self.report(self.folder / "out.pb.gz")["totals"]
        totals = server.totals()
        self.assertEqual({metric: totals[metric] for metric in e2e.METRICS},
                         {metric: report[metric]["value"] for metric in e2e.METRICS})
        self.assertGreater(totals["inuse_space"], 3_000_000)
        self.assertIn("process.pid", server.looks[0][0].attributes)

    def test_a_server_that_is_away(self):
        away = self.server()
        away.close()
        said = self.run_shipped("--ship", away.url, "--ship-every", "200ms", "--merge")
        self.assertRegex(said, rf"warning: --ship: \d+ of \d+ looks \(.* allocated\) did not arrive: {away.url}: .*[Cc]onnect")
        self.assertIn("wrote out.pb.gz", said)
        self.assertGreater(self.report(self.folder / "out.pb.gz")["totals"]["alloc_space"]["value"], 1_000_000)

    def test_a_server_that_never_answers_holds_nobody(self):
        answer = threading.Event()
        server = self.server(lambda number: answer.wait() and None)
        self.addCleanup(answer.set)
        said = self.run_shipped("--ship", server.url, "--ship-every", "200ms")
        self.assertIn("did not arrive", said)  # and the run is over, while the server still has not answered

    def test_wrong_use(self):
        for arguments, expected in ((("--ship", "nowhere"), "--ship: 'nowhere' is no target"),
                                    (("--ship", "/gone/folder"), "--ship: /gone/folder: there is no such folder"),
                                    (("--ship-every", "1s"), "--ship-every: nothing is sent without --ship")):
            done = e2e.run([e2e.COMMAND, "run", *arguments, "--", "echo", "ran"], e2e.plain_environment(), cwd=self.folder)
            self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
            self.assertIn(expected, done.stderr.decode())
        self.assertEqual(list(self.folder.glob("*.pb.gz")), [])


if __name__ == "__main__":
    e2e.main()
