#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real Pyroscope, of Go's own registry, built once into a folder and started on loopback.

usage: pyroscope.py FOLDER     builds it there: 20 minutes of a processor, 5 GB of Go's cache
"""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

MODULE, VERSION, API = "github.com/grafana/pyroscope", "v1.21.0", "v1.4.0"
START_S = 120


def build(folder):
    """The program's path. Built only if it is not there."""
    folder = pathlib.Path(folder)
    program = folder / f"pyroscope-{VERSION}"
    if program.exists():
        return program
    # Without ",direct" a refusal of the proxy ends it; with it, Go would try the origin, and hang.
    environment = os.environ | {"GOPROXY": os.environ.get("GOPROXY", "https://proxy.golang.org").split(",")[0],
                                "GOFLAGS": "-p=1 -buildvcs=false"}
    found = subprocess.run(["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"], env=environment, cwd="/",
                           stdout=subprocess.PIPE, check=True)
    source = folder / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(json.loads(found.stdout)["Dir"], source)
    for path in (source, *source.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    for name in ("go.work", "go.work.sum"):
        (source / name).unlink(missing_ok=True)
    for command in (["go", "mod", "edit", "-dropreplace", f"{MODULE}/api", "-require", f"{MODULE}/api@{API}"],
                    ["nice", "go", "build", "-mod=mod", "-o", str(program), "./cmd/pyroscope"]):
        subprocess.run(command, cwd=source, env=environment, check=True)
    return program


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for one in sockets:
        one.close()
    return ports


class Pyroscope:
    def __init__(self, program, folder, port=None):
        self.folder = pathlib.Path(folder)
        http, grpc, gossip = free_ports(3)
        self.port = port or http
        self.url = f"http://127.0.0.1:{self.port}"
        rings = ["distributor.ring.store", "ring.store", "store-gateway.sharding-ring.store", "compactor.ring.store",
                 "query-scheduler.ring.store", "overrides-exporter.ring.store"]
        addresses = ["ingester.lifecycler.addr", "query-frontend.instance-addr", "query-scheduler.ring.instance-addr",
                     "distributor.ring.instance-addr", "compactor.ring.instance-addr",
                     "store-gateway.sharding-ring.instance-addr", "overrides-exporter.ring.instance-addr"]
        self.log = (self.folder / "pyroscope.log").open("ab")
        self.process = subprocess.Popen(
            [program, f"-server.http-listen-port={self.port}", "-server.http-listen-address=127.0.0.1",
             f"-server.grpc-listen-port={grpc}", "-server.grpc-listen-address=127.0.0.1", "-storage.backend=filesystem",
             f"-storage.filesystem.dir={self.folder}/store", f"-pyroscopedb.data-path={self.folder}/data",
             f"-memberlist.bind-port={gossip}", "-memberlist.bind-addr=127.0.0.1", *(f"-{part}=127.0.0.1" for part in addresses),
             *(f"-{ring}=inmemory" for ring in rings)], stdout=self.log, stderr=self.log, cwd=self.folder)

    def wait(self):
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            with contextlib.suppress(OSError), urllib.request.urlopen(self.url + "/ready", timeout=5) as answer:
                if answer.status == 200:
                    return self
            if self.process.poll() is not None:
                break
            time.sleep(0.5)
        raise AssertionError(f"Pyroscope does not start: {(self.folder / 'pyroscope.log').read_text()[-2000:]}")

    def close(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()

    def ask(self, method, question):
        request = urllib.request.Request(f"{self.url}/querier.v1.QuerierService/{method}", json.dumps(question).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def total(self, metric, selector, start_ms, end_ms):
        unit = "count" if metric.endswith("objects") else "bytes"
        answer = self.ask("SelectMergeStacktraces", {"profileTypeID": f"memory:{metric}:{unit}:space:bytes",
                                                     "labelSelector": selector, "start": start_ms, "end": end_ms})
        return int(answer.get("flamegraph", {}).get("total", 0))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(build(sys.argv[1]))
