# SPDX-License-Identifier: Apache-2.0
"""`memprof ship` to a real Pyroscope (pyroscope.py), by `./dev fleet`: four totals of two hosts over 20 looks, a server
that is killed, and a shipper that is killed, by its query API."""
import json
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

import e2e
import pyroscope
import ship_test

LOOKS = 20


class Fleet(ship_test.Base):
    def start_pyroscope(self, port=None):
        program = pathlib.Path(os.environ["MEMPROF_PYROSCOPE"])
        server = pyroscope.Pyroscope(program, self.folder, port)
        self.addCleanup(server.close)
        return server.wait()

    def arrived(self, server, host, looks_ms):
        """Allocations of all looks; levels of the last one."""
        selector = json.dumps(host)
        selector = f'{{service_name="shop",host={selector}}}'
        whole = (looks_ms[0] - 1000, looks_ms[-1] + 60_000)
        last = (looks_ms[-1], looks_ms[-1] + 60_000)
        return {metric: server.total(metric, selector, *(whole if metric.startswith("alloc") else last))
                for metric in e2e.METRICS}

    def wait_for_totals(self, server, host, looks_ms, truth):
        end = time.monotonic() + 30  # what was pushed is seen a moment later
        while (found := self.arrived(server, host, looks_ms)) != truth and time.monotonic() < end:
            time.sleep(0.5)
        self.assertEqual(found, truth)

    def test_totals_of_two_hosts(self):
        server = self.start_pyroscope()
        processes = {host: [self.begin(host) for _ in range(2)] for host in ("a", "b")}
        looks = {host: [] for host in processes}
        for look in range(LOOKS):
            for host, of_host in processes.items():
                for number, process in enumerate(of_host):
                    self.work(process, 3 + (7 * look + number) % 40)
                time.sleep(0.05)
                looks[host].append(int(time.time() * 1000))
                self.ship(server.url, host)
        for host, of_host in processes.items():
            self.wait_for_totals(server, host, looks[host], self.truth(*of_host, host=host))
        names = server.ask("LabelNames", {"start": looks["a"][0] - 1000, "end": looks["a"][-1] + 60_000})["names"]
        self.assertLessEqual({"service_name", "host", "program"}, set(names))

    def read(self, *arguments, scheme="pyroscope+"):
        """`arguments`: the command, then the ends of addresses, and options."""
        command, *rest = arguments
        rest = [scheme + self.url + part if part[:1] == "/" else part for part in rest]
        done = e2e.run([e2e.COMMAND, command, "--json", *rest], e2e.plain_environment(HOME=str(self.folder)), timeout=90)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout)

    def total_of(self, files, metric):
        return sum(self.report(file)["totals"][metric]["value"] for file in files)

    def wait_for_read(self, path, metric, value):
        end = time.monotonic() + 30
        while (found := self.read("report", path)["totals"][metric]["value"]) != value and time.monotonic() < end:
            time.sleep(0.5)
        self.assertEqual(found, value)

    def test_read_back(self):
        """What `memprof report` says of a service and a range is what it says of the files of the same looks."""
        server = self.start_pyroscope()
        self.url = server.url
        bucket = self.folder / "bucket"
        bucket.mkdir()
        processes = {host: [self.begin(host) for _ in range(2)] for host in ("a", "b")}
        halves, seen, begin = [], [], int(time.time() * 1000)
        for half in range(2):
            for look in range(5):
                for host, of_host in processes.items():
                    for number, process in enumerate(of_host):
                        self.work(process, 3 + (7 * look + number) % 40)
                    label = ["--label", "memory_pressure=90"] if (half, look, host) == (1, 2, "b") else []
                    self.ship([server.url, str(bucket)], host, *label)
            time.sleep(1.1)
            end = int(time.time()) * 1000
            halves.append(f"from={begin}&until={end}")
            seen.append(set((bucket / "shop").glob("*.pb.gz")).difference(*seen))
            time.sleep(3)  # a range begins up to two seconds before its time
            begin = int(time.time() * 1000)
        both = halves[0].split("&")[0] + "&" + halves[1].split("&")[1]
        everything = set.union(*seen)
        self.assertEqual([len(files) for files in seen], [10, 10])
        for path, files in ((f"/shop?{both}", everything), *((f"/shop?{half}", files) for half, files in zip(halves, seen)),
                            (f"/shop?{both}&host=a", {file for file in everything if file.name.startswith("a.")})):
            for metric in ("alloc_space", "alloc_objects"):
                self.wait_for_read(path, metric, self.total_of(files, metric))
            report = self.read("report", path)
            looks = len(files) // (1 if "host=a" in path else 2)
            self.assertIn(f"mean of {looks} looks", report["origin"])
            for metric in ("inuse_space", "inuse_objects", "peak_space"):
                self.assertAlmostEqual(report["totals"][metric]["value"], self.total_of(files, metric) / looks, delta=1)
        rows = {}
        for file in everything:
            for row in self.report(file)["rows"]:
                rows[row["name"]] = rows.get(row["name"], 0) + row["self"]["alloc_space"]["value"]
        found = {row["name"]: row["self"]["alloc_space"]["value"] for row in self.read("report", f"/shop?{both}")["rows"]}
        self.assertEqual({name: value for name, value in found.items() if value}, {name: value for name, value in rows.items() if value})
        link = f'/?query=memory%3Aalloc_space%3Abytes%3Aspace%3Abytes%7Bservice_name%3D%22shop%22%7D&{both}'
        self.assertEqual(self.read("report", link, scheme="")["totals"], self.read("report", f"/shop?{both}")["totals"])
        diff = self.read("diff", *(f"/shop?{half}" for half in halves), "--metric", "inuse_space")
        totals = [self.total_of(files, "inuse_space") / 5 for files in seen]
        self.assertAlmostEqual(diff["totals"]["inuse_space"]["change"]["value"], totals[1] - totals[0], delta=2)
        page = self.folder / "page.html"
        self.memprof("export", f"pyroscope+{server.url}/shop?{both}", "-o", page)
        self.assertIn("The values are from Pyroscope", page.read_text())

    def test_both_are_killed(self):
        generator = random.Random(3)
        server = self.start_pyroscope()
        process = self.begin()
        begin = int(time.time() * 1000)
        for round_number in range(10):
            shipper = self.start(server.url, "a", "--every", "100ms")
            self.work(process, generator.randrange(5, 40))
            time.sleep(generator.uniform(0.1, 1))
            shipper.kill()
            shipper.wait()
            if round_number == 5:
                server.close()  # in order: what it had taken, it keeps
                server = self.start_pyroscope(server.port)
        self.work(process, 9)
        last = int(time.time() * 1000)
        self.ship(server.url)
        self.wait_for_totals(server, "a", [begin, last], self.truth(process))


if __name__ == "__main__":
    e2e.main()
