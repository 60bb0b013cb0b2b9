# SPDX-License-Identifier: Apache-2.0
"""`memprof view` beside other users of the machine: who learns the address of the page, and whose files a profile shows.
The pprof files are written here, by hand: somebody else's."""
import contextlib
import gzip
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request

import e2e
import page_test

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def varint(number):
    out = b""
    while number > 0x7f:
        out += bytes([number & 0x7f | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def profile_that_names(path):
    """A profile of one function, whose source is the file `path`."""
    strings = ["", "inuse_space", "bytes", "a_function", str(path)]
    return gzip.compress(
        field(1, field(1, 1) + field(2, 2)) +
        field(2, field(1, varint(1)) + field(2, varint(1000))) +
        field(4, field(1, 1) + field(4, field(1, 1) + field(2, 1))) +
        field(5, field(1, 1) + field(2, 3) + field(3, 3) + field(4, 4)) +
        b"".join(field(6, text.encode()) for text in strings))


def answer(url):
    """(status, body)"""
    try:
        with OPENER.open(url, timeout=e2e.WATCHDOG_S) as got:
            return got.status, got.read()
    except urllib.error.HTTPError as refused:
        return refused.code, b""


def wait_until(is_so):
    end = time.monotonic() + e2e.WATCHDOG_S
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError("not within the time")
        time.sleep(0.01)


class ViewPrivacy(e2e.Test):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)

    def write(self, name, content, mode=0o644, owner=None):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        if owner is not None:
            os.chown(path, owner, owner)
        return path

    @contextlib.contextmanager
    def view(self, *arguments, options=("--no-open",), **environment):
        """The page's address while it is served."""
        with open(self.folder / "said", "w+", encoding="utf-8") as said:
            server = subprocess.Popen([e2e.COMMAND, "view", *map(str, arguments), *options], text=True, stderr=said,
                                      stdout=subprocess.PIPE, env=e2e.plain_environment(**environment))
            try:
                url = server.stdout.readline().strip()
                said.seek(0)
                self.said = said.read()
                self.assertRegex(url, r"^http://127\.0\.0\.1:\d+/[0-9a-f]{32}/$", self.said)
                self.server = server
                yield url
            finally:
                server.send_signal(signal.SIGINT)
                status = server.wait(e2e.WATCHDOG_S)
                server.stdout.close()
            self.assertEqual(status, 0)

    def source(self, url, path):
        status, text = answer(f"{url}source-{str(path).encode().hex()}")
        return None if status != 200 else "\n".join(json.loads(text)["lines"].values())

    def carried(self, profile, *arguments):
        """The lines that an exported page has, by file."""
        page = self.folder / "page.html"
        self.memprof("export", profile, "--source", "--force", "-o", page, *arguments)
        sources = page_test.Block(page.read_text()).facts.get("sources") or {}
        return {path: text["lines"] for path, text in sources.items()}

    def test_no_other_user_learns_the_address_when_a_browser_is_opened(self):
        """Nothing that is started has it among its arguments or in its environment, which tells who it was."""
        bin_folder = self.folder / "bin"
        told = self.folder / "told"
        told.mkdir()
        spy = ('#!/bin/sh\ntr "\\0" "\\n" </proc/$$/cmdline >{told}/{name}.cmdline\ntr "\\0" "\\n" </proc/$$/environ >{told}/{name}.environ\n'
               '{end}\n')
        for name, end in (("sh", 'exec /bin/sh "$@"'),
                          ("xdg-open", f'cp "$1" {told}/page.new; stat -c %a "$1" "$(dirname "$1")" >{told}/modes;'
                                       f' mv {told}/page.new {told}/page.html')):
            self.write(f"bin/{name}", spy.format(told=told, name=name, end=end), 0o755)
        temporary = self.folder / "tmp"
        temporary.mkdir()
        profile = self.write("p.pb.gz", profile_that_names("/x.c"))
        with self.view(profile, options=(), DISPLAY=":0", TMPDIR=str(temporary),
                       PATH=f"{bin_folder}:{os.environ['PATH']}") as url:
            token = url.split("/")[3]
            wait_until(lambda: (told / "page.html").exists())
            commands = {path.name: path.read_text() for path in told.glob("*.*") if path.suffix in (".cmdline", ".environ")}
            self.assertEqual(sorted(commands), ["sh.cmdline", "sh.environ", "xdg-open.cmdline", "xdg-open.environ"])
            for which in ("cmdline", "environ"):
                commands[f"memprof.{which}"] = pathlib.Path(f"/proc/{self.server.pid}/{which}").read_text()
            for name, text in commands.items():
                self.assertNotIn(token, text, name)
            self.assertEqual((told / "modes").read_text(), "600\n700\n")
            # The browser reads the file, and is led to the page.
            target = re.search(r'content="0;url=([^"]*)"', (told / "page.html").read_text())
            self.assertEqual(target.group(1), url)
            self.assertEqual(answer(target.group(1))[0], 200)
            self.assertEqual(len(list(temporary.iterdir())), 1)
        self.assertEqual(list(temporary.iterdir()), [], "removed in the end")

    def test_without_a_temporary_folder_the_address_is_printed(self):
        profile = self.write("p.pb.gz", profile_that_names("/x.c"))
        with self.view(profile, options=(), DISPLAY=":0", TMPDIR=str(self.folder / "missing")) as url:
            self.assertEqual(answer(url)[0], 200)
            wait_until(lambda: "no browser is opened" in (self.folder / "said").read_text())

    def test_a_profile_shows_sources_and_no_other_files(self):
        source, key = self.write("x.c", "int x;\n"), self.write("private.txt", "secret\n")
        link = self.folder / "link.c"
        link.symlink_to(key)
        for path, text in ((source, "int x;"), (key, None), (link, None), (pathlib.Path("/etc/passwd"), None)):
            with self.subTest(path=path):
                with self.view(self.write("p.pb.gz", profile_that_names(path))) as url:
                    self.assertEqual(self.source(url, path), text)
                carried = self.carried(self.folder / "p.pb.gz")
                self.assertEqual(carried.get(str(path)), None if text is None else {"1": text})

    def test_a_profile_that_others_made_shows_the_chosen_folder_alone(self):
        source = self.write("src/x.c", "int secret;\n")
        profile = self.write("p.pb.gz", profile_that_names(source), 0o666)
        with self.view(profile) as url:
            self.assertIsNone(self.source(url, source))
            self.assertIn("note: no source text is shown", self.said)
        other = self.write("other/y.c", "int y;\n").parent
        with self.view(profile, "--source-root", other) as url:
            self.assertIsNone(self.source(url, source))
        with self.view(profile, "--source-root", self.folder / "src") as url:
            self.assertEqual(self.source(url, source), "int secret;")
            self.assertNotIn("note", self.said)
        with self.view(profile, "--source-root", other, "--source-root", self.folder) as url:
            self.assertEqual(self.source(url, source), "int secret;")
        self.assertEqual(self.carried(profile), {})
        self.assertEqual(self.carried(profile, "--source-root", self.folder), {str(source): {"1": "int secret;"}})

    def test_root_does_not_show_what_only_root_can_read(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        source = self.write("closed/x.c", "int secret;\n", 0o600)
        profile = self.write("p.pb.gz", profile_that_names(source))
        with self.view(profile) as url:
            self.assertIsNone(self.source(url, source))
        os.chown(profile, e2e.NOBODY, e2e.NOBODY)
        with self.view(profile) as url:
            self.assertIsNone(self.source(url, source))
            self.assertIn("another user", self.said)
        with self.view(profile, "--source-root", source.parent) as url:
            self.assertEqual(self.source(url, source), "int secret;")


if __name__ == "__main__":
    e2e.main()
