#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what a real Pyroscope (pyroscope.py) answers to the commands that read from it, for the server that
tests/e2e/pyroscope_read_test.py replays: two hosts, one of them looked at twice as often, and looks when memory got short.

usage: read_recorder.py       MEMPROF_E2E_* and MEMPROF_PYROSCOPE as in fleet_test.py; writes tests/e2e/profiles/pyroscope.json.gz
"""
import base64
import gzip
import http.server
import json
import pathlib
import sys
import threading
import time
import urllib.error
import urllib.request

import fleet_test

import e2e

ANSWERS = pathlib.Path(e2e.SOURCE) / "tests/e2e/profiles/pyroscope.json.gz"


class Between:
    """Passes requests on, and keeps them with their answers."""

    def __init__(self, url):
        self.kept = {}
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler(url))
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def _handler(between, url):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                kind = self.headers["Content-Type"]
                try:
                    with urllib.request.urlopen(urllib.request.Request(url + self.path, body, {"Content-Type": kind}), timeout=60) as answer:
                        status, text, kind = answer.status, answer.read(), answer.headers["Content-Type"]
                except urllib.error.HTTPError as error:
                    status, text, kind = error.code, error.read(), error.headers["Content-Type"]
                key = f"{self.path} {base64.b64encode(body).decode()}"
                between.kept[key] = [status, kind, base64.b64encode(text).decode()]
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *arguments):
                pass

        return Handler


class Record(fleet_test.Fleet):
    def test_record(self):
        server = self.start_pyroscope()
        processes = {host: self.begin(host) for host in ("a", "b")}
        for process in processes.values():
            self.work(process, 50)
        begin = int(time.time()) * 1000 // 2000 * 2000
        for look in range(4):
            for host, process in processes.items():
                if host == "a" or look % 2 == 0:
                    self.work(process, 10 + 7 * look)
                    # A look when memory got short is one like any other, but for its label.
                    self.ship(server.url, host, *(["--label", "memory_pressure=90"] if look == 2 and host == "a" else []))
            time.sleep(2)
        middle, truth = int(time.time() * 1000), {host: self.truth(process, host=host) for host, process in processes.items()}
        time.sleep(2.5)
        self.work(processes["a"], 100)
        self.ship(server.url, "a")
        end = int(time.time() * 1000) + 500
        last = self.truth(processes["a"], host="a")
        time.sleep(5)
        between = Between(server.url)
        ranges = {"whole": f"from={begin}&until={end}", "first": f"from={begin}&until={middle // 1000}",
                  "last": f"from={middle // 1000 + 1}&until={end}"}
        link = "query=memory%3Ainuse_space%3Abytes%3Aspace%3Abytes%7Bservice_name%3D%22shop%22%7D"
        paths = {name: f"/shop?{text}" for name, text in ranges.items()}
        paths |= {"link": f"/?{link}&{ranges['whole']}", "a": f"/shop?host=a&{ranges['first']}",
                  "gone": f"/gone?{ranges['whole']}", "gone_first": f"/gone?{ranges['first']}", "before": f"/shop?from={begin - 7_200_000}&until={begin - 3_600_000}"}
        for name, path in paths.items():
            scheme = "" if name == "link" else "pyroscope+"
            done = e2e.run([e2e.COMMAND, "report", "--json", scheme + between.url + path], e2e.plain_environment(HOME=str(self.folder)))
            print(name, done.returncode, done.stderr.decode(), file=sys.stderr)
        ANSWERS.write_bytes(gzip.compress(json.dumps({"paths": paths, "answers": between.kept, "truth": truth, "last": last}).encode(), mtime=0))
        print(ANSWERS, ANSWERS.stat().st_size, len(between.kept), file=sys.stderr)


if __name__ == "__main__":
    sys.argv[1:] = ["Record.test_record"]
    e2e.main()
