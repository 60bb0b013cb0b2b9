# SPDX-License-Identifier: Apache-2.0
"""A server that answers as Pyroscope 1.21 does at its Push API, and that fails as it is told to.

As seen there: one time and one set of labels are stored once; what is older than an hour, or more than 15 minutes ahead,
is answered with 400; a push that is taken, with 200 and {}.
"""
import base64
import http.server
import json
import pathlib
import ssl
import tempfile
import threading
import time

import e2e

PUSH = "/push.v1.PusherService/Push"


class Server:
    """`failures`: called with the number of the request, from 0 on; gives what goes wrong:

    None          nothing
    "close"       the push is stored, and the connection is closed without an answer
    "drop"        the connection is closed before anything is stored
    a number      the status; a pair: with a header
    bytes         another server's page, with status 200

    Another kind of server is one with another take().
    """

    def __init__(self, failures=lambda number: None, certificate=None, port=0):
        self.failures, self.lock = failures, threading.Lock()
        self.stored = {}    # (labels, time) -> e2e.Profile
        self.repeated = 0   # pushes of what was there
        self.requests = []  # headers
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self.http.handle_error = lambda *arguments: None  # a shipper that is killed waits for no answer
        self.http.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.port = self.http.server_address[1]
        self.url = f"http{'s' if certificate else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def _handler(server):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with server.lock:
                    number = len(server.requests)
                    server.requests.append(dict(self.headers))
                    failure = server.failures(number)
                    if failure not in (None, "close"):
                        return self.fail(failure)
                    answer = server.take(self.path, self.headers, body)
                if failure == "close":
                    self.close_connection = True
                    return None
                return self.answer(*answer)

            def fail(self, failure):
                if failure == "drop":
                    self.close_connection = True
                elif isinstance(failure, bytes):
                    self.answer(200, failure, {"Content-Type": "text/html"})
                elif isinstance(failure, tuple):
                    self.answer(failure[0], b"", failure[1])
                else:
                    self.answer(failure, b"", {})

            def answer(self, status, body, headers):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        return Handler

    def take(self, path, headers, body):
        """The status, the body and the headers of the answer to a request."""
        if path != PUSH:
            return 404, b"", {}
        status, answer = self.store(json.loads(body))
        return status, json.dumps(answer).encode(), {"Content-Type": "application/json"}

    def store(self, push):
        for series in push["series"]:
            labels = tuple(sorted((label["name"], label["value"]) for label in series["labels"]))
            for sample in series["samples"]:
                with tempfile.NamedTemporaryFile(suffix=".pb.gz") as file:
                    pathlib.Path(file.name).write_bytes(base64.b64decode(sample["rawProfile"], validate=True))
                    profile = e2e.Profile(file.name)
                age = time.time() - profile.time_ns / 1e9
                if age > 3600 or age < -900:
                    return 400, {"code": "invalid_argument", "message": "the profile's time is outside of what is taken"}
                if (labels, profile.time_ns) in self.stored:
                    self.repeated += 1
                else:
                    self.stored[labels, profile.time_ns] = profile
        return 200, {}

    def totals(self, **labels):
        """As its query would say: allocations of all looks, levels of the last one of each series."""
        with self.lock:
            chosen = {key: profile for key, profile in self.stored.items()
                      if all(dict(key[0]).get(name) == value for name, value in labels.items())}
        sums, last = {}, {}
        for (series, moment), profile in chosen.items():
            for metric in ("alloc_objects", "alloc_space"):
                sums[metric] = sums.get(metric, 0) + profile.total(metric)
            last[series] = max(last.get(series, 0), moment)
        for metric in ("inuse_objects", "inuse_space"):
            sums[metric] = sum(chosen[series, moment].total(metric) for series, moment in last.items())
        return sums
