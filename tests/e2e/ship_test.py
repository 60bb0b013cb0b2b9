# SPDX-License-Identifier: Apache-2.0
"""`memprof ship`: what arrives is what `memprof report` says of the processes, to the byte, whatever the network does and
whenever the shipper is killed; what is lost or sent again is counted. Against pyroscope_server.py; a real Pyroscope:
tests/fleet."""
import json
import os
import pathlib
import random
import signal
import subprocess
import time

import e2e
from pyroscope_server import Server

# Allocates on each line, and keeps a part of it.
PROGRAM = """
import sys
kept = []
def work(n):
    gone = [bytearray(20_000) for _ in range(n)]
    kept.extend(gone[::3])
print('ready', flush=True)
for line in sys.stdin:
    work(int(line))
    print('done', flush=True)
"""


class Base(e2e.Test):
    def host(self, name):
        """A folder of arenas, which is all that a shipper sees of a machine."""
        folder = self.folder / f"{name}-arenas"
        folder.mkdir(exist_ok=True)
        return str(folder)

    def begin(self, host="a", rate="32k", **extra):
        return self.begin_program([e2e.system_python(), "-c", PROGRAM], host, rate, **extra)

    def begin_program(self, command, host="a", rate="32k", **extra):
        """Says that it is ready, and reads from then on."""
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env=e2e.preloaded(self.folder / "x.%p.pb", rate, MEMPROF_ARENA_DIR=self.host(host), **extra))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_for_answer(process, b"ready\n")
        return process

    def work(self, process, count):
        process.stdin.write(f"{count}\n".encode())
        process.stdin.flush()
        self.wait_for_answer(process, b"done\n")

    def wait_for_answer(self, process, answer):
        """Until it sleeps, which it does only to read the next line: Python allocates a little between its answer and that."""
        self.assertEqual(process.stdout.readline(), answer)
        stat = pathlib.Path(f"/proc/{process.pid}/stat")
        self.wait_for(lambda: stat.read_text().rpartition(")")[2].split()[0] == "S")

    def server(self, *arguments, **options):
        server = Server(*arguments, **options)
        self.addCleanup(server.close)
        return server

    def command(self, to, host="a", *more):
        targets = [part for target in ([to] if isinstance(to, str) else to) for part in ("--to", target)]
        return [e2e.COMMAND, "ship", *targets, "--host", host, "--service", "shop", "--spool", self.folder / f"{host}-spool",
                "--metrics", self.folder / f"{host}.prom", *more]

    def ship(self, to, host="a", *more, status=0):
        """Looks once, or as often as `more` says."""
        more = more if "--count" in more else ("--count", "1", *more)
        done = e2e.run(self.command(to, host, *more), e2e.plain_environment(MEMPROF_ARENA_DIR=self.host(host)), timeout=90)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stderr.decode()

    def start(self, to, host="a", *more):
        process = subprocess.Popen(self.command(to, host, *more), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   env=e2e.plain_environment(MEMPROF_ARENA_DIR=self.host(host)))
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def end(self, shipper):
        shipper.send_signal(signal.SIGTERM)
        self.assertEqual(shipper.wait(e2e.WATCHDOG_S), 0)

    def truth(self, *processes, host="a"):
        """The four totals that `memprof report` says of the processes now."""
        sums = {}
        for process in processes:
            path = self.folder / f"{process.pid}.pb.gz"
            self.memprof("live", str(process.pid), "-o", path, "--force",
                         environment=e2e.plain_environment(MEMPROF_ARENA_DIR=self.host(host)))
            for metric in e2e.METRICS:
                sums[metric] = sums.get(metric, 0) + self.report(path)["totals"][metric]["value"]
        return sums

    def said_of(self, other):
        """What a shipper says whose target is a server of another kind."""
        shipper = self.start(other.url, "a", "--every", "1h")
        self.wait_for(lambda: other.requests)
        self.end(shipper)
        return shipper.stderr.read().decode()

    def figures(self, host="a"):
        lines = (self.folder / f"{host}.prom").read_text().splitlines()
        return {line.split("{")[0].split()[0].removeprefix("memprof_ship_"): int(float(line.split()[-1]))
                for line in lines if not line.startswith("#")}


class Ship(Base):
    def test_totals_of_two_hosts(self):
        server = self.server()
        folder = self.folder / "bucket"
        folder.mkdir()
        first, second, third = self.begin("a"), self.begin("a"), self.begin("b")
        for look in range(4):
            for number, process in enumerate((first, second, third)):
                self.work(process, 20 + 31 * look + 7 * number)
            for host in ("a", "b"):
                self.ship([server.url, str(folder)], host)
        for host, processes in (("a", (first, second)), ("b", (third,))):
            truth = self.truth(*processes, host=host)
            self.assertGreater(truth["alloc_space"], 2_000_000)
            self.assertEqual(server.totals(host=host, service_name="shop"), truth)
            # The same in the folder, by memprof itself.
            files = sorted((folder / "shop").glob(f"{host}.*.pb.gz"))
            self.assertEqual(len(files), 4)
            totals = [self.report(file)["totals"] for file in files]
            for metric in ("alloc_objects", "alloc_space"):
                self.assertEqual(sum(total[metric]["value"] for total in totals), truth[metric])
            self.assertEqual(totals[-1]["inuse_space"]["value"], truth["inuse_space"])
            self.assertEqual(self.figures(host)["target_accepted_alloc_bytes_total"], truth["alloc_space"])
        self.assertEqual(len(server.stored), 8)
        fleet = json.loads(self.memprof("fleet", folder, "--json").stdout)
        self.assertEqual((fleet["looks"], fleet["hosts"], len(fleet["services"])), (8, 2, 1))
        self.assertEqual(fleet["services"][0]["alloc_space"], sum(server.totals(host=host)["alloc_space"] for host in ("a", "b")))
        self.assertIn("shop: ", self.memprof("fleet", folder).stdout.decode())
        labels, profile = next((dict(key[0]), profile) for key, profile in server.stored.items())
        self.assertEqual(labels, {"__name__": "memory", "__delta__": "false", "service_name": "shop", "host": "a",
                                  "program": os.path.basename(e2e.system_python())})
        self.assertTrue(any("work" in frame.name for frames, _, _ in profile.samples for frame in frames), "names")
        self.assertEqual([], list((self.folder / "a-spool/looks").iterdir()))

    def test_whatever_the_server_does(self):
        # A look that is refused is lost, and counted; everything else arrives once.
        answers = [503, "drop", "close", (429, {"Retry-After": "1"}), None, 400, None, "close"]
        server = self.server(lambda number: answers[number] if number < len(answers) else None)
        process = self.begin()
        said = ""
        for look in range(5):
            self.work(process, 30 + 10 * look)
            said += self.ship(server.url)
        figures, truth = self.figures(), self.truth(process)
        self.assertEqual(figures["target_refused_total"], 1)
        self.assertGreater(figures["target_refused_alloc_bytes_total"], 0)
        self.assertEqual(figures["target_accepted_alloc_bytes_total"] + figures["target_refused_alloc_bytes_total"],
                         truth["alloc_space"])
        self.assertEqual(server.totals()["alloc_space"], figures["target_accepted_alloc_bytes_total"])
        self.assertEqual(server.totals()["inuse_space"], truth["inuse_space"])
        self.assertEqual(server.repeated, 2)
        # "drop", too, may have been stored, as far as the shipper sees; a status says that it was not.
        self.assertGreaterEqual(figures["target_repeats_total"], server.repeated)
        self.assertIn("dropped a look", said)
        self.assertIn("status 503", said)
        self.assertIn("takes looks again", said)

    def test_killed_at_any_moment(self):
        generator = random.Random(5)
        server = self.server(lambda number: generator.choice((None, None, "close", 500)))
        process = self.begin()
        for _ in range(12):
            shipper = self.start(server.url, "a", "--every", "100ms")
            self.work(process, generator.randrange(5, 60))
            time.sleep(generator.uniform(0.02, 0.6))
            shipper.kill()
            shipper.wait()
        server.failures = lambda number: None
        self.work(process, 17)
        self.ship(server.url, "a", "--spool-age", "1h")
        truth = self.truth(process)
        self.assertEqual(server.totals(), truth)
        self.assertEqual(self.figures()["target_accepted_alloc_bytes_total"], truth["alloc_space"])
        self.assertGreaterEqual(self.figures()["target_repeats_total"], server.repeated)

    def test_a_server_that_is_away(self):
        server = self.server()
        server.close()
        process = self.begin()
        shipper = self.start(server.url, "a", "--every", "100ms")
        self.wait_for(lambda: len(list((self.folder / "a-spool").glob("looks/*"))) >= 3)
        self.work(process, 50)
        self.end(shipper)
        said = shipper.stderr.read().decode()
        self.assertIn("it is tried again", said)
        self.assertIn("is sent by the next memprof ship", said)
        self.work(process, 30)
        again = self.server(port=server.port)
        self.ship(again.url)
        self.assertEqual(again.totals(), self.truth(process))
        self.assertEqual(self.figures()["target_repeats_total"], 0, "nothing could have arrived")

    def test_what_waits_too_long_is_counted(self):
        away = self.server()
        away.close()
        process = self.begin()
        self.work(process, 50)
        shipper = self.start(away.url, "a", "--every", "1h")
        self.wait_for(lambda: list((self.folder / "a-spool").glob("looks/0*")))
        self.end(shipper)
        time.sleep(1.1)
        self.work(process, 50)
        server = self.server(port=away.port)
        self.ship(server.url, "a", "--spool-age", "1s")
        figures = self.figures()
        self.assertGreaterEqual(figures["target_expired_total"], 1)
        self.assertEqual(figures["target_expired_alloc_bytes_total"] + figures["target_accepted_alloc_bytes_total"],
                         self.truth(process)["alloc_space"])

    def test_a_process_that_ends(self):
        server = self.server()
        process = self.begin()
        shipper = self.start(server.url, "a", "--every", "1h")
        self.wait_for(lambda: server.stored)
        self.work(process, 100)
        truth = self.truth(process)
        process.stdin.close()
        self.assertEqual(process.wait(e2e.WATCHDOG_S), 0)
        self.end(shipper)
        totals = server.totals()
        self.assertGreaterEqual(totals["alloc_space"], truth["alloc_space"])
        self.assertLess(totals["alloc_space"], truth["alloc_space"] + 5_000_000, "only the interpreter's end is more")
        self.assertEqual(totals["inuse_space"], 0)
        self.assertEqual(self.figures()["lost_ends_total"], 0)

    def test_a_program_that_executes_another_one(self):
        # In a run each has an arena of its own; what the former one held is no more.
        again = ("import os, sys; kept = [bytearray(20_000) for _ in range(400)]; print('ready', flush=True); sys.stdin.readline(); "
                 "os.execv(sys.executable, [sys.executable, '-S', '-c', 'print(1, flush=True); input()'])")
        process = subprocess.Popen([e2e.COMMAND, "run", "-r", "32k", "-o", self.folder / "x.pb.gz", "--", e2e.system_python(), "-c",
                                    again], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   env=e2e.plain_environment(MEMPROF_ARENA_DIR=self.host("a")))
        for cleanup in (process.stdout.close, process.stdin.close, process.wait, process.kill):
            self.addCleanup(cleanup)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        server = self.server()
        shipper = self.start(server.url, "a", "--every", "200ms")
        self.wait_for(lambda: server.stored and server.totals()["inuse_space"] > 6_000_000)
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"1\n")
        self.wait_for(lambda: server.totals()["inuse_space"] < 6_000_000)
        self.assertGreater(server.totals()["alloc_space"], 6_000_000)
        self.end(shipper)

    def test_a_preloaded_shell_that_executes_its_program(self):
        # As a container's entry point: both arenas have one name.
        code = "kept = [bytearray(20_000) for _ in range(400)]; print(1, flush=True); input()"
        process = subprocess.Popen(["/bin/sh", "-c", 'echo 0; read line; exec "$0" -S -c "$1"', e2e.system_python(), code],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env=e2e.preloaded(self.folder / "x.pb.gz", "1", MEMPROF_ARENA_DIR=self.host("a")))
        for cleanup in (process.stdout.close, process.stdin.close, process.wait, process.kill):
            self.addCleanup(cleanup)
        self.assertEqual(process.stdout.readline(), b"0\n")
        server = self.server()
        shipper = self.start(server.url, "a", "--every", "200ms")
        self.wait_for(lambda: server.stored)
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"1\n")
        self.wait_for(lambda: server.totals()["inuse_space"] > 6_000_000)
        self.end(shipper)
        programs = {dict(labels)["program"] for labels, _ in server.stored}
        self.assertEqual(len(programs), 2, programs)
        self.assertLess(server.totals()["alloc_space"], 20_000_000)

    def test_no_room(self):
        if os.geteuid() != 0:
            self.skipTest("to fill a file system takes root, who may mount one")
        spool = self.folder / "a-spool"
        spool.mkdir()
        mounted = e2e.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", spool])
        if mounted.returncode != 0:
            self.skipTest(f"no file system can be mounted here: {mounted.stderr.decode()}")
        self.addCleanup(e2e.run, ["umount", spool])
        server = self.server()
        process = self.begin()
        self.ship(server.url)
        filler = spool / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(512))
            except OSError:
                pass
        self.work(process, 40)
        self.assertIn("a look is delayed", self.ship(server.url))
        self.assertEqual(self.figures()["delayed_total"], 1)
        filler.unlink()
        self.work(process, 40)
        self.ship(server.url)
        self.assertEqual(server.totals(), self.truth(process))

    def test_tokens_are_read_again(self):
        token = self.folder / "token"
        token.write_text("old\n")
        server = self.server(lambda number: None if server.requests[-1].get("Authorization") == "Bearer new" else 401)
        self.begin()
        shipper = self.start(server.url, "a", "--every", "1h", "--token-file", token)
        self.wait_for(lambda: server.requests)
        token.write_text("new\n")
        self.wait_for(lambda: server.stored)
        self.end(shipper)
        self.assertIn("it wants another token", shipper.stderr.read().decode())
        password = self.folder / "password"
        password.write_text("me:secret\n")
        server.failures = lambda number: None
        self.ship(server.url, "a", "--password-file", password)
        self.assertEqual(server.requests[-1]["Authorization"], "Basic bWU6c2VjcmV0")

    def test_an_authority_of_ones_own(self):
        certificate, key = self.certificate()
        server = self.server(certificate=(certificate, key))
        process = self.begin()
        shipper = self.start(server.url, "a", "--every", "1h")
        self.wait_for(lambda: list((self.folder / "a-spool").glob("looks/0*")))
        self.end(shipper)
        self.assertRegex(shipper.stderr.read().decode(), "(?i)certificate")
        self.assertEqual(server.stored, {}, "nobody is trusted who is not known")
        self.ship(server.url, "a", "--ca-file", certificate)
        self.assertEqual(server.totals(), self.truth(process))

    def test_another_server_loses_nothing(self):
        other = self.server(lambda number: b"<html>hello</html>")
        process = self.begin()
        self.assertIn("not as Pyroscope does", self.said_of(other))
        server = self.server()
        self.ship(server.url)
        self.assertEqual(server.totals(), self.truth(process), "a target that is new gets what waits")

    def test_two_shippers(self):
        server = self.server()
        shipper = self.start(server.url, "a", "--every", "1h")
        self.wait_for(lambda: (self.folder / "a.prom").exists())
        for spool in ("a-spool", "other-spool"):
            done = e2e.run([e2e.COMMAND, "ship", "--to", server.url, "--spool", self.folder / spool],
                           e2e.plain_environment(MEMPROF_ARENA_DIR=self.host("a")))
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"another memprof ship (process {shipper.pid}", done.stderr.decode())
        self.end(shipper)

    def test_only_these(self):
        server = self.server()
        chosen, other = self.begin(), self.begin()
        shipper = self.start(server.url, "a", "--every", "200ms", "--pid-label", str(chosen.pid))
        self.wait_for(lambda: server.stored)
        self.assertEqual({dict(labels)["pid"] for labels, _ in server.stored}, {str(chosen.pid)})
        chosen.kill()
        self.assertEqual(shipper.wait(e2e.WATCHDOG_S), 0, "it ends with them")
        plan = e2e.run([e2e.COMMAND, "ship", "--dry-run", "--label", "region=eu"],
                       e2e.plain_environment(MEMPROF_ARENA_DIR=self.host("a"))).stdout.decode()
        self.assertIn(f"({other.pid}): holds ", plan)
        self.assertIn('region="eu"', plan)


if __name__ == "__main__":
    e2e.main()
