# SPDX-License-Identifier: Apache-2.0
"""Commands read back from a Pyroscope. Against what a real one answered (tests/fleet/read_recorder.py recorded it), replayed:
host a has five looks, one of them when memory got short, host b two. A real one: tests/fleet."""
import base64
import gzip
import json
import signal
import subprocess
import urllib.request

import e2e
from pyroscope_server import Server

ANSWERS = json.loads(gzip.decompress((e2e.SOURCE / "tests/e2e/profiles/pyroscope.json.gz").read_bytes()))


class Replay(Server):
    """Knows the requests that were recorded, and no others."""

    answers = ANSWERS["answers"]

    def take(self, path, headers, body):
        status, kind, answer = self.answers.get(f"{path} {base64.b64encode(body).decode()}", (501, "text/plain", ""))
        return status, base64.b64decode(answer), {"Content-Type": kind}


class PyroscopeRead(e2e.Test):
    def setUp(self):
        super().setUp()
        self.server = self.serve()

    def serve(self, *arguments, **options):
        server = Replay(*arguments, **options)
        self.addCleanup(server.close)
        return server

    def address(self, name, server=None):
        return ("" if name == "link" else "pyroscope+") + (server or self.server).url + ANSWERS["paths"][name]

    def run_command(self, *arguments, **environment):
        return e2e.run([e2e.COMMAND, *arguments], e2e.plain_environment(HOME=str(self.folder), **environment), cwd=self.folder)

    def out_of(self, *arguments, **environment):
        done = self.run_command(*arguments, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def report_of(self, name, *arguments, **environment):
        return json.loads(self.out_of("report", "--json", self.address(name), *arguments, **environment))

    def refused(self, address, expect, *more, **environment):
        done = self.run_command("report", address, *more, **environment)
        said = done.stderr.decode()
        self.assertEqual((done.returncode, done.stdout), (2, b""), said)
        self.assertRegex(said, expect)
        self.assertEqual(said.count("\n"), 1, said)
        return said

    def totals_of(self, report):
        return {metric: report["totals"][metric]["value"] for metric in e2e.METRICS}

    def test_what_was_allocated_adds_up_and_what_is_held_does_not(self):
        first, last, whole = (self.totals_of(self.report_of(name)) for name in ("first", "last", "whole"))
        truth, after = ANSWERS["truth"], ANSWERS["last"]
        for metric in ("alloc_objects", "alloc_space"):
            self.assertEqual(first[metric], truth["a"][metric] + truth["b"][metric])
            self.assertEqual(last[metric], after[metric] - truth["a"][metric])
            self.assertEqual(whole[metric], first[metric] + last[metric])
        # One look: what it held then. Several: the mean, of a host with half of the looks a part.
        self.assertEqual(last["inuse_space"], after["inuse_space"])
        self.assertLess(first["inuse_space"], truth["a"]["inuse_space"] + truth["b"]["inuse_space"])
        self.assertGreater(first["inuse_space"], truth["a"]["inuse_space"] / 3)

    def test_the_header_says_what_it_is(self):
        report = self.report_of("first")
        self.assertEqual(report["program"], "shop")
        for words in ("from Pyroscope", "2 hosts (a, b)", "mean of 4 looks",
                      "who has fewer, down to 2, counts for a part of the time"):
            self.assertIn(words, report["origin"])
        self.assertIn("at that look", self.report_of("last")["origin"])
        self.assertIsNone(report["totals"]["inuse_space"]["low"])
        done = self.run_command("report", self.address("first"))
        self.assertIn("Values:  from Pyroscope", " ".join(done.stdout.decode().split(" ")))
        self.assertEqual(done.stderr, b"")
        self.assertIn("The values are from Pyroscope", self.out_of("report", "--details", self.address("first")))

    def test_a_link_of_its_page_is_the_same(self):
        self.assertEqual(self.report_of("link")["rows"], self.report_of("whole")["rows"])

    def test_functions_are_named(self):
        rows = self.report_of("first", "--metric", "alloc_space")["rows"]
        self.assertTrue(any("work" in row["name"] for row in rows), rows[:3])
        of_one = self.totals_of(self.report_of("a"))
        self.assertEqual(of_one["alloc_space"], ANSWERS["truth"]["a"]["alloc_space"])

    def test_other_commands(self):
        diff = json.loads(self.out_of("diff", "--json", self.address("first"), self.address("last"), "--metric", "inuse_space"))
        self.assertTrue(any("work" in row["name"] for row in diff["rows"]), diff["rows"][:3])
        said = self.run_command("diff", self.address("first"), self.address("last")).stderr.decode().splitlines()
        self.assertEqual(len(said), 2)
        self.assertTrue(said[0].startswith(f"memprof: note: {self.address('first')}: the values are from Pyroscope"), said)
        self.out_of("export", self.address("first"), "-o", "a.pb.gz")
        self.assertEqual(e2e.Profile(self.folder / "a.pb.gz").total("alloc_space"), self.totals_of(self.report_of("first"))["alloc_space"])
        self.assertIn("from Pyroscope", json.loads(self.out_of("report", "--json", "a.pb.gz"))["origin"], "a file keeps it")
        page = self.run_command("export", "--source", self.address("first"), "-o", "a.html")
        self.assertIn(b"no source text is shown: the profile comes from a server", page.stderr)
        self.out_of("merge", self.address("first"), self.address("last"), "-o", "m.pb.gz")
        self.refused_by("churn", self.address("first"), "memprof")

    def refused_by(self, command, address, expect):
        done = self.run_command(command, address)
        self.assertEqual(done.returncode, 2)
        self.assertIn(expect, done.stderr.decode())

    def test_the_page(self):
        viewer = subprocess.Popen([e2e.COMMAND, "view", self.address("first"), "--no-open"], stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.DEVNULL, env=e2e.plain_environment(HOME=str(self.folder)))
        try:
            with urllib.request.urlopen(viewer.stdout.readline().strip(), timeout=e2e.WATCHDOG_S) as answer:
                page = answer.read().decode()
        finally:
            viewer.send_signal(signal.SIGINT)
            self.assertEqual(viewer.wait(e2e.WATCHDOG_S), 0)
            viewer.stdout.close()
        self.assertIn("The values are from Pyroscope", page)
        self.assertIn("work", page)

    def test_what_is_not_there_is_said(self):
        said = self.refused(self.address("gone"), r'has nothing of \{service_name="gone"\} from .* to .*; services at that time: .*shop')
        self.assertTrue(said.startswith(f"memprof: {self.address('gone')}: "), said)
        self.refused(self.address("before"), "no service has sent anything in that time")
        self.refused("pyroscope+http://127.0.0.1:1/shop", r"pyroscope\+http://127.0.0.1:1/shop: .*connect")
        self.refused("pyroscope+http://127.0.0.1:1/shop?from=soon", "'soon' is not a time")
        self.refused(self.address("first"), "--sample-type", "--sample-type", "inuse_space")

    def test_servers_of_another_kind(self):
        for failure, expect in ((b"<html></html>", "not as Pyroscope does"), (404, "status 404; .*query API is not there"),
                                ((302, {"Location": "/"}), "status 302"), (503, "status 503$"), ("drop", "Empty reply|Recv failure|reset"),
                                (401, "wants another token: --token-file"), (403, "status 403.*token")):
            with self.subTest(failure=failure):
                server = self.serve(lambda number, failure=failure: failure)
                self.refused(self.address("first", server), expect)

    def test_answers_that_are_broken(self):
        def broken(change):
            server = self.serve()
            server.answers = {key: change(key, list(answer)) for key, answer in Replay.answers.items()}
            return self.address("first", server)

        def with_text(method, text):
            return lambda key, answer: [*answer[:2], base64.b64encode(text).decode()] if method in key else answer

        self.refused(broken(with_text("SelectMergeProfile", b"\x0a\xff\xff\xff\x07")), "first.*not|not.*pprof|damaged|broken|cut")
        self.refused(broken(with_text("SelectMergeProfile", b"")), "has nothing of")
        self.refused(broken(with_text("Series", b"[1]")), "not as Pyroscope does")
        self.refused(broken(with_text("/SelectSeries", b'{"series": [{"points": [{"value": "NaN"}]}]}')), "does not say how many looks")

    def test_secrets(self):
        token = self.folder / "token"
        token.write_text("first\n")
        self.report_of("first", "--token-file", token)
        self.assertEqual({headers["Authorization"] for headers in self.server.requests}, {"Bearer first"})
        password = self.folder / "password"
        password.write_text("me:secret\n")
        self.report_of("last", "--password-file", password)
        self.assertEqual(self.server.requests[-1]["Authorization"], "Basic bWU6c2VjcmV0")
        (self.folder / ".netrc").write_text("machine 127.0.0.1 login me password netrc\n")
        self.report_of("last")
        self.assertEqual(self.server.requests[-1]["Authorization"], "Basic bWU6bmV0cmM=")
        self.refused(self.address("first"), "exclude each other", "--token-file", token, "--password-file", password)
        self.refused(self.address("first"), "gone: cannot read it", "--token-file", "gone")

    def test_over_tls(self):
        certificate, key = self.certificate()
        server = self.serve(certificate=(certificate, key))
        address = self.address("first", server)
        self.refused(address, "certificate")
        self.out_of("report", address, "--ca-file", certificate)
        self.out_of("report", address, CURL_CA_BUNDLE=str(certificate))

    def test_proxies_are_obeyed(self):
        self.report_of("last", http_proxy="http://127.0.0.1:1", no_proxy="127.0.0.1")
        self.refused(self.address("last"), "connect", http_proxy="http://127.0.0.1:1", no_proxy="")


if __name__ == "__main__":
    e2e.main()
