# SPDX-License-Identifier: Apache-2.0
"""`memprof ship --listen`: what a scraper gets is what `memprof report` says of the processes at that moment, to the byte;
it can choose a process or a service and finds both in the list of targets; who is slow, asks without end or for what is not
there stops neither other scrapers nor the shipping."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import urllib.parse

import e2e
from ship_test import Base


class Scraped(Base):
    def listen(self, *more, host="a", address="0"):
        """Starts it; gives the process, and the host and port that it says."""
        shipper = subprocess.Popen([e2e.COMMAND, "ship", "--listen", address, "--host", host, *more], stderr=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, env=e2e.plain_environment(MEMPROF_ARENA_DIR=self.host(host)))
        self.addCleanup(shipper.stderr.close)
        self.addCleanup(shipper.wait)
        self.addCleanup(shipper.kill)
        for line in shipper.stderr:
            found = re.search(r"serves http://(\S+?:\d+)/debug/pprof/heap (.*)", line.decode())
            if found:
                self.said = found[2]
                return shipper, found[1]
        self.fail("it does not say where it listens")

    def get(self, server, path, status=200, **headers):
        connection = http.client.HTTPConnection(server, timeout=e2e.WATCHDOG_S)
        self.addCleanup(connection.close)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        self.assertEqual(answer.status, status, body)
        return body

    def totals(self, server, query="", path="/debug/pprof/heap"):
        file = self.folder / "scraped.pb.gz"
        file.write_bytes(self.get(server, path + query))
        return {metric: self.report(file)["totals"][metric]["value"] for metric in e2e.METRICS}

    def test_totals(self):
        first = self.begin(OTEL_SERVICE_NAME="shop")
        _, server = self.listen()
        self.assertEqual(self.said, "to all users of this machine")
        self.work(first, 100)
        self.assertGreater(self.truth(first)["alloc_space"], 1_000_000)
        self.assertEqual(self.totals(server), self.truth(first), "of one process, without a parameter")
        second, other = self.begin(OTEL_SERVICE_NAME="shop"), self.begin(OTEL_SERVICE_NAME="a b&c")
        self.work(second, 61)
        self.work(other, 20)
        self.work(first, 10)
        for process in (first, second, other):
            self.assertEqual(self.totals(server, f"?pid={process.pid}"), self.truth(process))
        self.assertEqual(self.totals(server, "?service=shop"), self.truth(first, second))
        self.assertEqual(self.totals(server, "?debug=0&service=a+b%26c", "/debug/pprof/allocs"), self.truth(other))
        said = self.get(server, "/debug/pprof/heap", 400).decode()
        for line in ("there are 3 processes", "?service=shop  2 processes", "?service=a%20b%26c  1 process", f"?pid={other.pid}  a b&c ("):
            self.assertIn(line, said)
        # memprof itself is a scraper; so is pprof.
        read = self.memprof("report", f"http://{server}/debug/pprof/heap?pid={second.pid}", "--json")
        self.assertEqual(json.loads(read.stdout)["totals"]["inuse_space"]["value"], self.truth(second)["inuse_space"])
        profile = e2e.Profile(self.folder / "scraped.pb.gz")
        self.assertTrue(any("work" in frame.name for frames, _, _ in profile.samples for frame in frames), "names")
        other.kill()
        other.wait()
        self.assertIn("no process is like that", self.get(server, f"/debug/pprof/heap?pid={other.pid}", 404).decode())

    def test_list_of_targets(self):
        shops = [self.begin(OTEL_SERVICE_NAME="shop") for _ in range(2)]
        pod = self.begin(OTEL_SERVICE_NAME="shop", POD_NAME="shop-1")
        self.work(pod, 30)
        for more, count in (((), 2), (("--pid-label",), 3)):
            _, server = self.listen(*more)
            targets = json.loads(self.get(server, "/targets"))
            self.assertEqual(len(targets), count)
            for target in targets:
                self.assertEqual(target["targets"], [server])
                labels = target["labels"]
                self.assertEqual((labels["service_name"], labels["host"], labels["__metrics_path__"]), ("shop", "a", "/debug/pprof/heap"))
                # As a scraper makes an address of it.
                query = urllib.parse.urlencode({name[8:]: value for name, value in labels.items() if name.startswith("__param_")})
                processes = [pod] if "k8s_pod_name" in labels else shops
                if "pid" in labels:
                    processes = [process for process in (*shops, pod) if str(process.pid) == labels["pid"]]
                self.assertEqual(self.totals(server, "?" + query), self.truth(*processes))

    def test_what_is_not_there(self):
        _, server = self.listen()
        self.assertIn("no process that has memprof in it", self.get(server, "/debug/pprof/heap", 404).decode())
        self.assertEqual(json.loads(self.get(server, "/targets")), [])
        self.begin()
        for query, status, said in (("seconds=10", 400, "seconds: "), ("debug=1", 400, "debug: "), ("gc=1", 400, "gc: "),
                                    ("pid=1", 404, "?pid="), ("pod=x", 400, "there is no parameter pod"),
                                    ("pid=1&pid=2", 400, "given twice"), ("pid=%zz", 400, "hexadecimal")):
            self.assertIn(said, self.get(server, "/debug/pprof/heap?" + query, status).decode())
        self.assertIn("there are: /debug/pprof/heap", self.get(server, "/debug/pprof/goroutine", 404).decode())
        self.assertIn("this server is for this machine", self.get(server, "/debug/pprof/heap", 421, Host="evil.example").decode())
        self.get(server, "/debug/pprof/heap", Host="localhost:1")
        self.assertEqual(self.get(server, "/healthz"), b"ok\n")
        self.assertEqual(self.get(server, "/readyz"), b"ok\n")
        figures = self.get(server, "/metrics").decode()
        self.assertIn("memprof_ship_scrapes_total 1\n", figures)
        self.assertIn("memprof_ship_scrapes_failed_total 8\n", figures)
        self.assertIn("memprof_ship_processes 1\n", figures)

    def test_hostile_clients_stop_nothing(self):
        process = self.begin(OTEL_SERVICE_NAME="shop")
        store = self.server()
        shipper, server = self.listen("--to", store.url, "--every", "200ms", "--spool", self.folder / "a-spool", "--metrics",
                                      self.folder / "a.prom")
        name, port = server.split(":")

        def ask(text):
            asked = socket.create_connection((name, int(port)))
            self.addCleanup(asked.close)
            asked.sendall(text)
            return asked
        held = [ask(b"GET /debug") for _ in range(80)]
        # They never read what they get.
        held += [ask(b"GET /debug/pprof/heap HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20) for _ in range(150)]
        for bytes_sent in (b"\0" * 20_000, b"GET " + b"/" * 20_000, b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"):
            try:
                held.append(ask(bytes_sent))
            except OSError:
                pass  # it closes earlier
        before = len(store.stored)
        self.work(process, 40)
        self.wait_for(lambda: len(store.stored) >= before + 3)
        self.assertEqual(self.get(server, "/healthz"), b"ok\n")
        for connection in held:
            connection.close()
        self.assertIn("memprof_ship_target_accepted_total", self.get(server, "/metrics").decode())
        self.end(shipper)
        # The same text in both places, but for what was counted since.
        self.assertIn("memprof_ship_scrapes_total", (self.folder / "a.prom").read_text())
        self.assertEqual(store.totals(service_name="shop"), self.truth(process))

    def test_it_ends(self):
        process = self.begin()
        shipper, server = self.listen(str(process.pid))
        taken = e2e.run([e2e.COMMAND, "ship", "--listen", server])
        self.assertEqual(taken.returncode, 2)
        self.assertIn(f"{server}: cannot listen there: Address already in use", taken.stderr.decode())
        process.kill()
        process.wait()
        self.assertEqual(shipper.wait(e2e.WATCHDOG_S), 0, "it ends with them")
        shipper, server = self.listen(address="0.0.0.0:0")
        self.assertEqual(self.said, "to everyone who reaches this address: there is no password and no encryption")
        port = server.rsplit(":")[-1]
        self.assertEqual(self.get("127.0.0.1:" + port, "/healthz", Host="ship.monitoring.svc"), b"ok\n")
        for number in (signal.SIGTERM, signal.SIGINT):
            shipper, _ = self.listen()
            shipper.send_signal(number)
            self.assertEqual(shipper.wait(e2e.WATCHDOG_S), 0)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a-arenas"], "no spool")


if __name__ == "__main__":
    e2e.main()
