# SPDX-License-Identifier: Apache-2.0
"""`memprof view PID`: what its server tells of a process that runs, put together by a reader written from
docs/page-data.md. In a browser: web/browser/live.mjs. Requests of the page: page_test.py."""
import base64
import gzip
import http.client
import json
import signal
import subprocess
import urllib.parse

import e2e
import page_test

# Grows by 8 MiB of one block for each line; what "more" allocates has a stack of its own.
PROGRAM = """
import sys
kept = []
def grow():
    kept.append(bytearray(8 << 20))
print("ready", flush=True)
for line in sys.stdin:
    if line == "drop\\n":
        kept.clear()
    elif line == "more\\n":
        exec("def more():\\n    kept.append(bytearray(8 << 20))\\nmore()")
    else:
        grow()
    print("done", flush=True)
"""


class Live(page_test.Block):
    """What a viewer knows, look after look."""

    def __init__(self):
        self.sizes = dict.fromkeys("texts frames sites nodes kinds labels stacks".split(), 0)
        self.texts, self.frames, self.sites, self.parents, self.leaves = [], [], [], [], []
        self.nodes, self.kinds, self.labels, self.stack_labels, self.values = [], [], [], [], []

    def take_look(self, data, is_first):
        if is_first:
            self.__init__()
        self.data, self.at = gzip.decompress(base64.b64decode(data)), 0
        self.facts = json.loads(self.take(self.varint()))
        begins = [self.varint() for _ in self.sizes]
        known = (self.texts, self.frames, self.sites, self.nodes, self.kinds, self.labels, self.leaves)
        assert begins == [len(table) for table in known], (begins, [len(table) for table in known])
        sizes = self.column(self.varint())
        self.texts += [self.take(size) for size in sizes]
        self.frames += self.rows("name shown symbol file module shown_module path package line flags")
        self.sites += self.rows("frame role")
        for node in self.rows("site steps"):
            self.parents.append(len(self.nodes) - node.steps if node.steps else None)
            self.nodes.append(node)
        self.kinds += self.rows("size rate share")
        self.labels += self.rows("process heap flags")
        for stack in self.rows("node label"):
            self.leaves.append(stack.node)
            self.stack_labels.append(stack.label)
            self.values.append(None)
        self.read_changed()
        assert self.at == len(self.data) and None not in self.values
        return self

    def read_changed(self):
        place, places = 0, []
        for step in self.column(self.varint()):
            place += step
            places.append(place)
        all_values, self.values = self.values, []
        self.read_holdings(len(places))
        for place, values in zip(places, self.values):
            all_values[place] = values
        self.values = all_values


class Viewer:
    """One that watches."""

    def __init__(self, url, **headers):
        self.url = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=e2e.WATCHDOG_S)
        self.connection.request("GET", self.url.path + "events", headers=headers)
        self.answer = self.connection.getresponse()
        self.live, self.looks, self.last_id = Live(), 0, None

    def event(self):
        """The next one: (type, data)."""
        fields = {}
        for line in iter(self.answer.readline, b""):
            if line == b"\n" and fields:
                self.last_id = fields.get("id", self.last_id)
                return fields["event"], fields["data"]
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                fields[name] = value
        raise AssertionError("the server ended the events")

    def next(self):
        """The next look, or the next state."""
        kind, data = self.event()
        if kind == "state":
            return json.loads(data)
        self.looks += 1
        return self.live.take_look(data, kind == "first")

    def until(self, is_it):
        while True:
            told = self.next()
            if is_it(told):
                return told

    def close(self):
        self.answer.close()
        self.connection.close()


class LivePage(e2e.Test):
    def begin(self, rate="64k"):
        environment = e2e.preloaded(self.folder / "x.%p.pb", rate)
        process = subprocess.Popen([e2e.system_python(), "-c", PROGRAM], env=environment, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.end_later(process, process.stdin, process.stdout)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def end_later(self, process, *files):
        for file in files:
            self.addCleanup(file.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def ask(self, process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "done\n")

    def view(self, *arguments):
        """The server, and the page's address."""
        self.errors = open(self.folder / "errors", "a+")
        server = subprocess.Popen([e2e.COMMAND, "view", "--no-open", "--no-debuginfod", *map(str, arguments)], text=True,
                                  stdout=subprocess.PIPE, stderr=self.errors, env=e2e.plain_environment())
        self.end_later(server, server.stdout, self.errors)
        url = server.stdout.readline().strip()
        self.errors.seek(0)
        self.assertTrue(url, self.errors.read())
        return server, url

    def watch(self, url, **headers):
        viewer = Viewer(url, **headers)
        self.addCleanup(viewer.close)
        return viewer

    def get(self, url):
        place = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=e2e.WATCHDOG_S)
        connection.request("GET", place.path)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content

    def test_looks_are_what_the_process_holds(self):
        process = self.begin()
        server, url = self.view(process.pid)
        viewer = self.watch(url)
        self.assertEqual(viewer.answer.getheader("Content-Type"), "text/event-stream")
        before = viewer.next().total("inuse_space")
        for line in ("grow", "more", "grow"):
            self.ask(process, line)
        # 8 MiB of one block: at this rate it is sampled for certain. What the interpreter frees meanwhile is far less.
        look = viewer.until(lambda told: isinstance(told, Live) and told.total("inuse_space") - before > 20 << 20)
        self.assertGreater(viewer.looks, 1)
        names = {name for name, _, _ in look.rows_of("inuse_space", False)}
        self.assertLessEqual({"grow", "more"}, names)
        self.ask(process, "drop")
        look = viewer.until(lambda told: isinstance(told, Live) and told.total("inuse_space") - before < 4 << 20)
        # Nothing happens any more: the next look is that of now, and the file that can be saved is the same one.
        look = viewer.until(lambda told: isinstance(told, Live))
        status, profile = self.get(url + "profile.pb.gz")
        self.assertEqual(status, 200)
        saved = self.folder / "saved.pb.gz"
        saved.write_bytes(profile)
        report = json.loads(self.memprof("report", saved, "--json", "--imports", "--no-debuginfod").stdout)
        for metric in e2e.METRICS:
            self.assertEqual(look.total(metric), report["totals"][metric]["value"], metric)
        rows = look.rows_of("alloc_space", False)
        for row in report["rows"]:
            known = rows[row["name"], row["file"], row["module"]]
            self.assertEqual(known, (row["self"]["alloc_space"]["value"], row["cumulative"]["alloc_space"]["value"]))
        server.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(e2e.WATCHDOG_S), 0)

    def test_what_changed_in_a_part_of_its_time(self):
        """As the page asks for it: between two looks that viewers were told before the last one."""
        process = self.begin()
        _, url = self.view(process.pid)
        viewer = self.watch(url)
        ends = []
        for line in ("grow", "more", "grow"):
            before = viewer.until(lambda told: isinstance(told, Live)).total("inuse_space")
            self.ask(process, line)
            look = viewer.until(lambda told: isinstance(told, Live) and told.total("inuse_space") > before + (7 << 20))
            ends.append(round(1000 * look.facts["live"]["timeline"]["seconds"][-1]))
        status, content = self.get(f"{url}{look.facts['live']['between']}{ends[0]}-{ends[1]}")
        self.assertEqual(status, 200)
        change = gzip.decompress(content)
        self.assertIn(b'"name":"more"', change)
        self.assertNotIn(b'"name":"grow"', change)
        self.assertIn(b'"name":"grow"', gzip.decompress(self.get(f"{url}between-0-{ends[2]}")[1]))
        self.assertEqual(self.get(f"{url}between-x-{ends[2]}")[0], 404)

    def test_the_last_look_stays(self):
        process = self.begin()
        server, url = self.view(process.pid)
        viewer = self.watch(url)
        self.assertEqual(viewer.until(lambda told: isinstance(told, dict)), {"ending": "", "problem": ""})
        for _ in range(2):
            self.ask(process, "grow")
        process.stdin.close()
        self.assertEqual(process.wait(e2e.WATCHDOG_S), 0)
        end = viewer.until(lambda told: isinstance(told, dict))
        self.assertEqual(end["ending"], f"process {process.pid} has ended")
        # What it held at its end, also if it grew after the look before.
        self.assertGreater(viewer.live.rows_of("peak_space", False)["grow", "<string>", "[Python]"][0], 15 << 20)
        later = self.watch(url)
        self.assertEqual(later.until(lambda told: isinstance(told, dict)), end)
        self.assertEqual(later.live.total("peak_space"), viewer.live.total("peak_space"))
        status, page = self.get(url)
        self.assertEqual(status, 200)
        self.assertEqual(page_test.Block(page.decode()).total("peak_space"), later.live.total("peak_space"))
        self.assertIsNone(server.poll())
        self.errors.seek(0)
        self.assertIn("has ended; the page shows the last look", self.errors.read())

    def test_viewers_do_not_depend_on_each_other(self):
        process = self.begin()
        _, url = self.view(process.pid)
        one = self.watch(url)
        first = one.next().total("inuse_space")
        self.ask(process, "grow")
        one.until(lambda told: isinstance(told, Live) and told.total("inuse_space") - first > 6 << 20)
        # The second one gets the look that growth is counted from, and what changed since.
        other = self.watch(url)
        self.assertEqual(other.next().total("inuse_space"), first)
        other.until(lambda told: isinstance(told, Live) and told.total("inuse_space") - first > 6 << 20)
        # Who comes back goes on after his last event.
        known, sizes = one.last_id, len(one.live.leaves)
        one.close()
        back = self.watch(url, **{"Last-Event-ID": known})
        back.live = one.live
        self.ask(process, "more")
        back.until(lambda told: isinstance(told, Live) and told.total("inuse_space") - first > 14 << 20)
        self.assertGreater(len(back.live.leaves), sizes)
        self.assertNotEqual(back.last_id, known)

    def test_processes_of_a_run(self):
        # A program and its child, which says its number when it is ready.
        inner = "import os, sys; kept = bytearray(8 << 20); print(os.getpid(), flush=True); sys.stdin.read()"
        outer = f"import subprocess, sys; kept = bytearray(8 << 20); subprocess.run([sys.executable, '-c', {inner!r}])"
        process = subprocess.Popen([e2e.COMMAND, "run", "-r", "64k", "-o", self.folder / "%p.pb", "--", e2e.system_python(), "-c", outer],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   env=e2e.plain_environment())
        self.end_later(process, process.stdin, process.stdout)
        _, url = self.view(process.stdout.readline().strip(), "--run")
        viewer = self.watch(url)
        look = viewer.next()
        labels = {look.text(label.process) for label in look.labels}
        self.assertGreaterEqual(len(labels), 2, labels)
        self.assertIn("2 processes: ", look.facts["live"]["who"])
        process.stdin.close()
        self.assertIn("ended", viewer.until(lambda told: isinstance(told, dict) and told["ending"])["ending"])

    def test_records_what_it_looks_at(self):
        process = self.begin()
        series = self.folder / "x.series"
        server, url = self.view(process.pid, "--record", series, "--every", "500ms")
        viewer = self.watch(url)
        self.ask(process, "grow")
        self.assertEqual(viewer.next().facts["live"]["recording"], str(series))
        process.stdin.close()
        viewer.until(lambda told: isinstance(told, dict) and told["ending"])
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(e2e.WATCHDOG_S), 0)
        self.errors.seek(0)
        self.assertRegex(self.errors.read(), r"wrote .*x\.series: \d+ looks; next: ")
        self.assertIn(b"grow", self.memprof("report", series).stdout)

    def test_bad_input(self):
        process = self.begin()
        _, url = self.view(process.pid)
        place = urllib.parse.urlsplit(url)
        wrong = f"http://{place.netloc}/{'0' * 32}/"
        for address in (wrong + "events", wrong + "profile.pb.gz", f"http://{place.netloc}/events", url + "events/x"):
            self.assertEqual(self.get(address)[0], 404, address)
        taken = self.memprof("view", str(process.pid), "--port", str(place.port), "--no-open", status=2)
        self.assertIn(b"cannot listen there", taken.stderr)
        for arguments, text in ((["999999999"], b"999999999"), ([str(process.pid), "no.such.pb"], b"'no.such.pb' is no process id"),
                                ([str(process.pid), "--listen", "here"], b"'here' is not an IP address"),
                                ([str(process.pid), "--record", "x.pb"], b"must end in .series"),
                                ([str(process.pid), "--every", "1s"], b"--record"), ([str(process.pid), "--force"], b"--force")):
            failed = self.memprof("view", "--no-open", *arguments, status=2)
            self.assertIn(text, failed.stderr)
        self.assertEqual(self.get(url)[0], 200)

    def test_another_address_is_warned_of(self):
        process = self.begin()
        server, url = self.view(process.pid, "--listen", "0.0.0.0")
        port = urllib.parse.urlsplit(url).port
        path = urllib.parse.urlsplit(url).path
        viewer = self.watch(f"http://127.0.0.1:{port}{path}")
        self.assertIsInstance(viewer.next(), Live)
        server.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(e2e.WATCHDOG_S), 0)
        self.errors.seek(0)
        self.assertIn("warning: --listen 0.0.0.0: ", self.errors.read())


if __name__ == "__main__":
    e2e.main()
