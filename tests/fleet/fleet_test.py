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
