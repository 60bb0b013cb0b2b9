# SPDX-License-Identifier: Apache-2.0
"""Commands read profiles from servers: an address in the place of a file."""
import gzip
import http.server
import json
import shutil
import ssl
import threading

import e2e
import page_test
import report_profiles
from view_privacy_test import profile_that_names


def setUpModule():
    global FOLDER, EXACT, SAMPLED
    FOLDER, EXACT, SAMPLED, _ = report_profiles.make()


def tearDownModule():
    shutil.rmtree(FOLDER)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        status, body, headers = self.server.pages.get(self.path, (404, b"no such page\n", {}))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass  # whoever asked has heard enough

    def log_message(self, *arguments):
        pass


class ProfileUrl(e2e.Test):
    def setUp(self):
        super().setUp()
        zipped = EXACT.read_bytes()
        self.pages = {"/exact": (200, zipped, {}), "/plain": (200, gzip.decompress(zipped), {}),
                      "/sampled.pb": (200, SAMPLED.read_bytes(), {}), "/moved": (302, b"", {"Location": "/exact"}),
                      "/local": (302, b"", {"Location": f"file://{EXACT}"}), "/page": (200, b"<html></html>", {}),
                      "/nothing": (200, b"", {}), "/round": (302, b"", {"Location": "/round"}),
                      "/down": (503, b"back soon\x1b[2J\nand more", {})}
        self.url, self.server = self.serve()

    def serve(self, certificate=None):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads, server.pages, server.asked = True, self.pages, []
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http{'s' if certificate else ''}://127.0.0.1:{server.server_address[1]}", server

    def run_command(self, *arguments, **environment):
        return e2e.run([e2e.COMMAND, *arguments], e2e.plain_environment(HOME=str(self.folder), **environment), cwd=self.folder)

    def out_of(self, *arguments, **environment):
        done = self.run_command(*arguments, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, url, expect, **environment):
        done = self.run_command("report", url, **environment)
        said = done.stderr.decode()
        self.assertEqual((done.returncode, done.stdout), (2, b""), said)
        self.assertRegex(said, expect)
        self.assertEqual(said.count("\n"), 1, said)
        return said

    def test_is_what_the_file_says(self):
        for command in (["report", "--json"], ["report", "--tree"], ["churn", "--json"]):
            expected = self.out_of(*command, EXACT)
            for page in ("/exact", "/plain", "/moved"):
                with self.subTest(command=command, page=page):
                    self.assertEqual(self.out_of(*command, self.url + page), expected)
        before, after = (json.loads(self.out_of("diff", "--json", *pair)) for pair in
                         ((EXACT, SAMPLED), (self.url + "/exact", self.url + "/sampled.pb")))
        self.assertEqual(before["rows"], after["rows"])
        for name in ("exported", "merged"):
            arguments = ["export", self.url + "/exact"] if name == "exported" else ["merge", self.url + "/exact", SAMPLED]
            self.out_of(*arguments, "-o", f"{name}.pb.gz")
            self.assertGreater(e2e.Profile(self.folder / f"{name}.pb.gz").total("alloc_space"), 0)

    def test_a_page_shows_no_source_of_it(self):
        source = self.folder / "shown.c"
        source.write_text("int a_function;\n")
        source.chmod(0o644)
        self.folder.chmod(0o755)  # root is shown what everybody can read
        named = profile_that_names(source)
        (self.folder / "named.pb.gz").write_bytes(named)
        self.pages["/named"] = (200, named, {})

        def carried(profile, *arguments):
            done = self.run_command("export", "--source", "--force", profile, "-o", "a.html", *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            facts = page_test.Block((self.folder / "a.html").read_text()).facts
            return list(facts.get("sources") or {}), b"no source text is shown: the profile comes from a server" in done.stderr

        self.assertEqual(carried("named.pb.gz"), ([str(source)], False), "of one's own file it does")
        self.assertEqual(carried(self.url + "/named"), ([], True))
        self.assertEqual(carried(self.url + "/named", "--source-root", self.folder), ([str(source)], False))

    def test_what_is_wrong_is_said(self):
        self.refused(self.url + "/gone", rf"{self.url}/gone: the server answers with status 404: no such page")
        self.assertNotIn("\x1b", self.refused(self.url + "/down", "status 503: back soon"))
        self.refused(self.url + "/page", rf"{self.url}/page: .*not")
        self.refused(self.url + "/nothing", "answer is empty")
        self.refused(self.url + "/round", "redirect")
        self.refused(self.url + "/local", r"file.* (not supported|disabled)")
        self.refused("http://127.0.0.1:1/", r"127.0.0.1:1/: .*connect")
        self.refused(self.url.replace("//", "//me:secret@") + "/exact", "netrc")
        self.assertNotIn(b"secret", self.run_command("merge", "http://me:secret@127.0.0.1:1/", "-o", "m.pb").stderr)

    def test_a_name_and_a_password(self):
        (self.folder / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
        self.out_of("report", self.url + "/exact")
        self.assertEqual(self.server.asked[-1], ("/exact", "Basic bWU6c2VjcmV0"))

    def test_over_tls(self):
        certificate, key = self.certificate()
        url, _ = self.serve((certificate, key))
        self.refused(url + "/exact", "certificate")
        expected = self.out_of("report", "--json", EXACT)
        self.assertEqual(self.out_of("report", "--json", url + "/exact", CURL_CA_BUNDLE=str(certificate)), expected)


if __name__ == "__main__":
    e2e.main()
