# SPDX-License-Identifier: Apache-2.0
"""`memprof ship --listen`: what scrapers get is what `memprof report` says of the processes, to the byte, with a target
and without; who asks for nothing, slowly or wrongly, stops neither scrapers nor the shipper."""
import http.client
import json
import re
import signal
import socket
import subprocess
import threading
import urllib.parse

import e2e
from ship_test import Base

HEAP = "/debug/pprof/heap"


class Listening(Base):
    def listen(self, *more, host="a", address="0", service=("--service", "shop")):
        """A shipper that listens; returns it when it says where."""
        command = [e2e.COMMAND, "ship", "--listen", address, *service, "--host", host, *more]
        process = subprocess.Popen([str(part) for part in command], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   env=e2e.plain_environment(MEMPROF_ARENA_DIR=self.host(host)))
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.said = ""
        while True:
            line = process.stderr.readline().decode()
            self.assertTrue(line, f"it ended: {self.said}")
            self.said += line
            found = re.search(r"serves http://([^/]*)/", line)
            if found:
                self.at = found[1]
                break
        # What it says later is read, or it would wait.
        rest = threading.Thread(target=lambda: setattr(self, "said", self.said + process.stderr.read().decode()))
        rest.start()
        self.addCleanup(rest.join)
        self.addCleanup(process.kill)
        self.rest = rest
        return process

    def finish(self, shipper):
        shipper.send_signal(signal.SIGTERM)
        self.assertEqual(shipper.wait(e2e.WATCHDOG_S), 0)
        self.rest.join()
        return self.said

    def connect(self):
        return socket.create_connection(("127.0.0.1", int(self.at.rsplit(":", 1)[1])), timeout=e2e.WATCHDOG_S)

    def get(self, target, status=200, **headers):
        """The body, and in `self.headers` what was said of it."""
        connection = http.client.HTTPConnection("127.0.0.1", int(self.at.rsplit(":", 1)[1]), timeout=e2e.WATCHDOG_S)
        try:
            connection.request("GET", target, headers=headers)
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        self.headers = dict(response.getheaders())
        self.assertEqual(response.status, status, f"{target}: {body[:2000]}")
        return body

    def profile(self, target):
        path = self.folder / "scraped.pb.gz"
        path.write_bytes(self.get(target))
        return e2e.Profile(path)

    def totals(self, target):
        profile = self.profile(target)
        return {metric: profile.total(metric) for metric in e2e.METRICS}

    def own(self, name):
        return int(re.search(rf"(?m)^memprof_ship_{name} (\d+)$", self.get("/metrics").decode())[1])


class Listen(Listening):
    def test_totals(self):
        first, second = self.begin(), self.begin()
        shipper = self.listen()
        self.wait_for(lambda: self.own("processes") == 2)
        for count in (30, 70):
            self.work(first, count)
            self.work(second, 2 * count)
            both = self.truth(first, second)
            self.assertGreater(both["alloc_space"], 1_000_000)
            for process in (first, second):
                self.assertEqual(self.totals(f"{HEAP}?pid={process.pid}"), self.truth(process))
            self.assertEqual(self.totals(f"{HEAP}?service=shop"), both)
            self.assertEqual(self.totals(f"{HEAP}?service=shop"), both, "not what was allocated since")
        profile = self.profile(f"{HEAP}?service=shop&debug=0")
        self.assertEqual((profile.default_type, profile.types[0]), ("inuse_space", ("alloc_objects", "count")))
        self.assertTrue(any("work" in frame.name for frames, _, _ in profile.samples for frame in frames), "names")
        self.assertEqual(self.profile("/debug/pprof/allocs?service=shop").default_type, "alloc_space")
        # Our own command is a scraper, too.
        read = self.report(f"http://{self.at}{HEAP}?pid={first.pid}")["totals"]
        truth = self.truth(first)
        self.assertEqual({metric: read[metric]["value"] for metric in e2e.METRICS}, truth)
        self.assertIn("to all users of this machine", self.finish(shipper))

    def test_choices(self):
        first = self.begin()
        shipper = self.listen("--pid-label")
        self.assertEqual(self.totals(HEAP), self.truth(first), "one process needs no parameter")
        second = self.begin()
        said = self.get(HEAP, 400).decode()
        self.assertIn("there are 2 processes; ask for one of:", said)
        for process in (first, second):
            self.assertIn(f"?pid={process.pid}  shop (", said)
        self.get(f"{HEAP}?seconds=10", 400)
        self.get(f"{HEAP}?debug=1", 400)
        self.get(f"{HEAP}?gc=1", 400)
        self.assertIn("there is no parameter process", self.get(f"{HEAP}?process=1", 400).decode())
        self.assertIn("no process is like that", self.get(f"{HEAP}?pid=1", 404).decode())
        targets = json.loads(self.get("/targets"))
        self.assertEqual(self.headers["Content-Type"], "application/json")
        self.assertEqual({target["labels"]["__param_pid"] for target in targets}, {str(first.pid), str(second.pid)})
        # As Prometheus makes an address of it.
        for target in targets:
            labels = target["labels"]
            self.assertEqual((target["targets"], labels["host"], labels["service_name"]), ([self.at], "a", "shop"))
            query = {name.removeprefix("__param_"): value for name, value in labels.items() if name.startswith("__param_")}
            process = first if labels["pid"] == str(first.pid) else second
            self.assertEqual(self.totals(labels["__metrics_path__"] + "?" + urllib.parse.urlencode(query)),
                             self.truth(process))
        first.kill()
        first.wait()
        self.assertIn("no process is like that", self.get(f"{HEAP}?pid={first.pid}", 404).decode())
        self.assertEqual(self.totals(HEAP), self.truth(second))
        self.wait_for(lambda: self.own("processes") == 1)
        self.finish(shipper)

    def test_targets_are_sets_of_labels(self):
        # Of one service; one has a label more, and the others are told from it all the same.
        shops = [self.begin(OTEL_SERVICE_NAME="a b&c") for _ in range(2)]
        pod = self.begin(OTEL_SERVICE_NAME="a b&c", POD_NAME="shop-1")
        self.work(pod, 30)
        shipper = self.listen(service=())
        targets = json.loads(self.get("/targets"))
        self.assertEqual(len(targets), 2)
        for target in targets:
            labels = target["labels"]
            # Discovery drops what has no value.
            query = {name.removeprefix("__param_"): value for name, value in labels.items() if name.startswith("__param_") and value}
            self.assertEqual(self.totals(labels["__metrics_path__"] + "?" + urllib.parse.urlencode(query)),
                             self.truth(*([pod] if "k8s_pod_name" in labels else shops)))
        self.assertEqual(self.totals(f"{HEAP}?service=a+b%26c"), self.truth(*shops, pod))
        self.finish(shipper)

    def test_what_is_not_there_is_counted(self):
        shipper = self.listen()
        self.get(HEAP, 404)
        self.begin()
        for query, status, said in (("pid=1", 404, "?pid="), ("pid=1&pid=2", 400, "given twice"), ("pid=%zz", 400, "hexadecimal")):
            self.assertIn(said, self.get(f"{HEAP}?{query}", status).decode())
        self.assertIn("there are: /debug/pprof/heap", self.get("/debug/pprof/goroutine", 404).decode())
        self.assertIn("this server is for this machine", self.get(HEAP, 421, Host="evil.example").decode())
        self.get(HEAP, Host="localhost:1")
        self.assertEqual(self.own("scrapes_total"), 1)
        self.assertEqual(self.own("scrapes_failed_total"), 4)
        self.finish(shipper)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["a-arenas"], "there is no spool")

    def test_it_ends_with_those_that_were_chosen(self):
        process, other = self.begin(), self.begin()
        shipper = self.listen(process.pid)
        self.assertEqual(self.totals(HEAP), self.truth(process))
        process.kill()
        self.assertEqual(shipper.wait(e2e.WATCHDOG_S), 0)
        self.assertIsNone(other.poll())

    def test_beside_a_target(self):
        # Scrapes take nothing from what is shipped.
        server = self.server()
        process = self.begin()
        shipper = self.listen("--to", server.url, "--spool", self.folder / "a-spool", "--every", "200ms")
        self.wait_for(lambda: server.stored)
        self.assertEqual(self.get("/readyz"), b"ok\n")
        self.assertEqual(self.get("/healthz"), b"ok\n")
        for count in range(10, 60, 10):
            self.work(process, count)
            self.assertEqual(self.totals(HEAP), self.truth(process))
        truth = self.truth(process)
        self.wait_for(lambda: server.totals() == truth)
        self.assertEqual(self.totals(HEAP), truth)
        self.assertEqual(self.own("scrapes_total"), 6)
        self.assertEqual(self.own("scrapes_failed_total"), 0)
        self.assertIn(f'memprof_ship_target_accepted_alloc_bytes_total{{target="{server.url}"}}', self.get("/metrics").decode())
        self.finish(shipper)
        self.assertEqual(server.totals()["alloc_space"], truth["alloc_space"])

    def test_slow_and_hostile_clients(self):
        server = self.server()
        process = self.begin()
        shipper = self.listen("--to", server.url, "--spool", self.folder / "a-spool", "--every", "200ms")
        self.wait_for(lambda: server.stored)
        clients = []
        self.addCleanup(lambda: [client.close() for client in clients])
        host = f"Host: {self.at}\r\n"
        for number in range(150):
            clients.append(self.connect())
            # Nothing, half a request, no HTTP, too much, and one that never reads what it asks for.
            clients[-1].sendall((b"", b"GET /debug/ppr", b"\x16\x03\x01\x00\x00\r\n\r\n", b"GET / HTTP/1.1\r\nA: " + b"a" * 9000,
                                 f"GET {HEAP} HTTP/1.1\r\n{host}\r\n".encode())[number % 5])
        looks = len(server.stored)
        self.wait_for(lambda: len(server.stored) >= looks + 3)
        self.assertEqual(self.get("/healthz"), b"ok\n")
        self.work(process, 50)
        truth = self.truth(process)
        # Those before it have their turn first; where there are too many, it is told to come again.
        seen = []
        self.wait_for(lambda: seen.append(self.scrape()) or seen[-1] is not None)
        self.assertEqual(seen[-1], truth)
        self.wait_for(lambda: server.totals() == truth)
        with open(f"/proc/{shipper.pid}/status", encoding="ascii") as status:
            peak_kb = int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1])
        self.assertLess(peak_kb, 400_000)
        self.finish(shipper)

    def scrape(self):
        connection = http.client.HTTPConnection("127.0.0.1", int(self.at.rsplit(":", 1)[1]), timeout=e2e.WATCHDOG_S)
        try:
            connection.request("GET", HEAP)
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        if response.status == 503:
            self.assertIn(b"come again", body)
            return None
        path = self.folder / "scraped.pb.gz"
        path.write_bytes(body)
        profile = e2e.Profile(path)
        return {metric: profile.total(metric) for metric in e2e.METRICS}

    def test_addresses(self):
        shipper = self.listen(address="0.0.0.0:0")
        self.assertIn("to everyone who reaches this address: there is no password and no encryption", self.said)
        self.assertEqual(self.get("/targets"), b"[]\n")
        self.assertEqual(self.get("/healthz", Host="ship.monitoring.svc"), b"ok\n")
        self.assertIn(b"no process that has memprof in it", self.get(HEAP, 404))
        port = self.at.rsplit(":", 1)[1]
        done = e2e.run([e2e.COMMAND, "ship", "--listen", port], e2e.plain_environment(MEMPROF_ARENA_DIR=self.host("b")))
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"127.0.0.1:{port}: cannot listen there: ", done.stderr.decode())
        # Nothing is begun by one that cannot listen.
        server = self.server()
        done = e2e.run([e2e.COMMAND, "ship", "--to", server.url, "--spool", self.folder / "b-spool", "--count", "1",
                        "--listen", port], e2e.plain_environment(MEMPROF_ARENA_DIR=self.host("b")))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(server.requests, [])
        self.finish(shipper)


if __name__ == "__main__":
    e2e.main()
