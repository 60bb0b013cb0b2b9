# SPDX-License-Identifier: Apache-2.0
"""`memprof ship --serve-debuginfo`: clients of debuginfod get the files that watched processes run, byte for byte, and names
come back to a profile whose program is gone; nothing else is served, whoever asks and however."""
import ctypes
import gzip
import http.client
import os
import pathlib
import re
import shutil
import socket
import subprocess
import unittest

import e2e
from ship_listen_test import Listening

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) char* hold_orders(size_t size) {
  char* order = malloc(size);
  order[0] = 1;
  return order;
}
int main(void) {
  char* orders[200];
  for (int i = 0; i < 200; ++i) orders[i] = hold_orders(100000);
  puts("ready");
  fflush(stdout);
  getchar();
  for (int i = 0; i < 200; ++i) free(orders[i]);
  return 0;
}
"""
TOO_MANY = 20


class Debuginfo(Listening):
    def id_of(self, file):
        notes = subprocess.run(["readelf", "-n", file], check=True, capture_output=True, text=True).stdout
        return re.search(r"Build ID: (\w+)", notes)[1]

    def build(self, name="shop"):
        """A program with debug info, and its build id."""
        source = self.folder / f"{name}.c"
        source.write_text(SOURCE)
        program = self.folder / name
        subprocess.run([os.environ.get("MEMPROF_E2E_CC", "cc"), "-O1", "-g", "-Wl,--build-id=sha1", source, "-o", program],
                       check=True)
        return program, self.id_of(program)

    def strip(self, program):
        """What the program has not any more."""
        debug = program.with_suffix(".debug")
        subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
        subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", program], check=True)
        return debug

    def end_program(self, process):
        process.stdin.write(b"\n")
        process.stdin.flush()
        self.assertEqual(process.wait(e2e.WATCHDOG_S), 0)
        return self.folder / f"x.{process.pid}.pb"

    def ask(self, method, target):
        """Status, headers and body."""
        connection = http.client.HTTPConnection("127.0.0.1", int(self.at.rsplit(":", 1)[1]), timeout=e2e.WATCHDOG_S)
        try:
            connection.putrequest(method, target)
            connection.endheaders()
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def known(self, build_id):
        self.wait_for(lambda: self.ask("HEAD", f"/buildid/{build_id}/executable")[0] == 200)

    def client(self, **more):
        return e2e.plain_environment(DEBUGINFOD_URLS=f"http://{self.at}", DEBUGINFOD_CACHE_PATH=str(self.folder / "cache"), **more)

    def test_files(self):
        program, build_id = self.build()
        whole = program.read_bytes()
        process = self.begin_program([program], rate="16k")
        shipper = self.listen("--serve-debuginfo")
        self.assertIn("and files of programs by build id", self.said)
        self.known(build_id)
        for part in ("executable", "debuginfo"):
            status, headers, body = self.ask("GET", f"/buildid/{build_id}/{part}")
            self.assertEqual((status, body), (200, whole))
            self.assertEqual(headers["Content-Type"], "application/octet-stream")
            self.assertEqual(headers["X-DEBUGINFOD-SIZE"], str(len(whole)))
            self.assertEqual(headers["X-DEBUGINFOD-FILE"], "shop", "no folder of this machine")
            status, head, body = self.ask("HEAD", f"/buildid/{build_id.upper()}/{part}")
            self.assertEqual((status, head, body), (200, headers, b""))
        # The C library is mapped, too.
        libc = next(line.split()[-1] for line in pathlib.Path(f"/proc/{process.pid}/maps").read_text().splitlines()
                    if "/libc" in line and " r-xp " in line)
        status, _, body = self.ask("GET", f"/buildid/{self.id_of(libc)}/executable")
        self.assertEqual((status, body), (200, pathlib.Path(libc).read_bytes()))
        self.assertEqual(self.own("debuginfo_served_total"), 3)
        self.assertEqual(self.own("debuginfo_bytes_total"), 2 * len(whole) + len(body))
        self.end_program(process)
        self.assertEqual(self.ask("GET", f"/buildid/{build_id}/executable")[2], whole, "its process has ended")
        program.unlink()
        self.assertEqual(self.ask("GET", f"/buildid/{build_id}/executable")[0], 404)
        self.finish(shipper)

    def test_what_is_not_served(self):
        program, build_id = self.build()
        # Not mapped by a process that is watched.
        _, other_id = self.build("other")
        self.begin_program([program], rate="16k")
        shipper = self.listen("--serve-debuginfo")
        self.known(build_id)
        missing = self.own("debuginfo_not_found_total")
        self.assertNotEqual(other_id, build_id)
        self.assertEqual(self.ask("GET", f"/buildid/{other_id}/executable")[0], 404)
        self.assertEqual(self.own("debuginfo_not_found_total"), missing + 1)
        for target, status in ((f"/buildid/{build_id}/source{self.folder}/shop.c", 404), (f"/buildid/{build_id}/section/.text", 404),
                               (f"/buildid/{build_id}", 400), (f"/buildid/{build_id}/", 404), ("/buildid/", 400), ("/buildid/..", 400),
                               ("/buildid/../../../../etc/passwd", 400), ("/buildid/%2e%2e/executable", 400),
                               ("/buildid//etc/passwd/executable", 400), (f"/buildid/{build_id}0/executable", 400),
                               (f"/buildid/{build_id[:6]}/executable", 400), (f"/buildid/{'ab' * 65}/executable", 400),
                               (f"/buildid/{build_id}/executable/../../..", 404), ("/buildid/*/debuginfo", 400)):
            found, _, body = self.ask("GET", target)
            self.assertEqual(found, status, target)
            self.assertNotIn(b"root:", body)
        self.assertEqual(self.ask("POST", f"/buildid/{build_id}/executable")[0], 405)
        # A web site that a browser of this machine shows.
        self.get(f"/buildid/{build_id}/executable", 421, Host="evil.example")
        self.assertEqual(self.own("debuginfo_refused_total"), 14)
        self.finish(shipper)

    def test_replaced(self):
        program, build_id = self.build()
        process = self.begin_program([program], rate="16k")
        shipper = self.listen("--serve-debuginfo")
        self.known(build_id)
        self.end_program(process)
        copy = self.folder / "new"
        shutil.copy("/bin/true", copy)
        copy.rename(program)
        status, _, body = self.ask("GET", f"/buildid/{build_id}/executable")
        self.assertEqual((status, body), (404, b"the file with this build id was replaced\n"))
        self.assertEqual(self.own("debuginfo_replaced_total"), 1)
        self.finish(shipper)

    def test_debug_file(self):
        program, build_id = self.build()
        debug = self.strip(program)
        self.begin_program([program], rate="16k")
        shipper = self.listen("--serve-debuginfo")
        self.known(build_id)
        status, headers, body = self.ask("GET", f"/buildid/{build_id}/debuginfo")
        self.assertEqual((status, headers["X-DEBUGINFOD-FILE"], body), (200, "shop.debug", debug.read_bytes()))
        self.assertEqual(self.ask("GET", f"/buildid/{build_id}/executable")[2], program.read_bytes())
        debug.unlink()
        self.assertEqual(self.ask("GET", f"/buildid/{build_id}/debuginfo")[0], 404, "a stripped program says nothing")
        self.finish(shipper)

    def test_names_come_back(self):
        # Of a program that runs on another machine, stripped, with its debug file beside it.
        program, build_id = self.build()
        self.strip(program)
        profile = self.end_program(self.begin_program([program], rate="16k"))
        self.begin_program([program], rate="16k")
        shipper = self.listen("--serve-debuginfo")
        self.known(build_id)
        raw = self.away(profile, program)
        without = self.memprof("report", raw, "--by", "line", "--no-debuginfod", environment=self.client()).stdout.decode()
        self.assertNotIn("hold_orders", without)
        if not self.has_library():
            self.skipTest("libdebuginfod is not installed")
        there = self.memprof("report", raw, "--by", "line", environment=self.client()).stdout.decode()
        self.assertIn("hold_orders", there)
        self.assertRegex(there, r"shop\.c:5")
        self.finish(shipper)

    @staticmethod
    def has_library():
        try:
            ctypes.CDLL("libdebuginfod.so.1")
        except OSError:
            return False
        return True

    def away(self, profile, program):
        """The profile with another path of the same length instead of the program's."""
        raw = profile.read_bytes()
        raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        name = str(program).encode()
        self.assertIn(name, raw)
        path = self.folder / "away.pb"
        path.write_bytes(raw.replace(name, name[:-4] + b"gone"))
        return path

    @unittest.skipUnless(shutil.which("debuginfod-find"), "debuginfod-find is not installed")
    def test_debuginfod_find(self):
        program, build_id = self.build()
        self.begin_program([program], rate="16k")
        shipper = self.listen("--serve-debuginfo")
        self.known(build_id)
        for part in ("debuginfo", "executable"):
            done = e2e.run(["debuginfod-find", part, build_id], self.client())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(pathlib.Path(done.stdout.decode().strip()).read_bytes(), program.read_bytes())
        self.assertNotEqual(e2e.run(["debuginfod-find", "source", build_id, "/shop.c"], self.client()).returncode, 0)
        self.finish(shipper)

    def test_clients_that_go_away(self):
        program, build_id = self.build()
        with program.open("ab") as file:
            file.truncate(program.stat().st_size + (64 << 20))  # more than sockets hold
        process = self.begin_program([program], rate="16k")
        shipper = self.listen("--serve-debuginfo")
        self.known(build_id)
        request = f"GET /buildid/{build_id}/executable HTTP/1.1\r\nHost: {self.at}\r\n\r\n".encode()
        clients = []
        self.addCleanup(lambda: [client.close() for client in clients])
        for _ in range(TOO_MANY):
            clients.append(self.connect())
            clients[-1].sendall(request)
        answers = [client.recv(16) for client in clients]
        self.assertEqual(sum(answer.startswith(b"HTTP/1.1 503") for answer in answers), TOO_MANY - 8)
        self.assertEqual(self.get("/healthz"), b"ok\n", "the others are answered")
        for client in clients:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
            client.close()
        self.wait_for(lambda: self.own("debuginfo_broken_total") == 8)
        self.assertEqual(len(self.ask("GET", f"/buildid/{build_id}/executable")[2]), program.stat().st_size)
        # Cut while it is on its way.
        self.end_program(process)
        client = self.connect()
        clients.append(client)
        client.sendall(request)
        size = len(client.recv(1000))
        os.truncate(program, 1 << 20)
        while part := client.recv(1 << 20):
            size += len(part)
        self.assertLess(size, 64 << 20)
        self.assertEqual(self.own("debuginfo_broken_total"), 9)
        self.finish(shipper)

    def test_wrong_use(self):
        for more in ((), ("--to", self.folder)):
            done = e2e.run([e2e.COMMAND, "ship", "--serve-debuginfo", *more], e2e.plain_environment())
            self.assertEqual((done.returncode, done.stderr.decode()),
                             (2, "memprof: --serve-debuginfo: no address to serve at; add --listen PORT\n"))
        program, build_id = self.build()
        self.begin_program([program], rate="16k")
        shipper = self.listen()
        self.assertEqual(self.ask("GET", f"/buildid/{build_id}/executable")[0], 404, "only where it is asked for")
        self.assertNotIn("debuginfo", self.get("/metrics").decode())
        self.finish(shipper)


if __name__ == "__main__":
    e2e.main()
