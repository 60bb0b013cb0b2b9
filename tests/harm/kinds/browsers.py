# SPDX-License-Identifier: Apache-2.0
"""Chromium and Firefox without a display, loading pages of a server of this kind: frames of two sites, so that each browser
has several content processes, which compute, allocate, draw, and post what came out.

The oracle is the same browser without memprof: the same posts, the same exit status, and no process that a signal ended
which none ends there.  All its processes are looked at (process_ends.py).
"""
import collections
import http.server
import os
import shutil
import signal
import threading
import time

from harm import Situation, Skip
from process_ends import ProcessEnds

SAMPLE = 0  # ./dev test has no browsers
FRAMES = 6
RATES = ("512", "64k", "512k")
WAYS = ("run", "run", "preloaded")
BROWSERS = {
    "chromium": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--site-per-process",
                 "--user-data-dir=PROFILE", "--virtual-time-budget=20000", "--dump-dom", "URL"],
    "firefox-esr": ["--headless", "--no-remote", "--profile", "PROFILE", "--screenshot", "PROFILE/page.png", "URL"],
}
FATAL = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGTRAP, signal.SIGFPE, signal.SIGSYS)

FRAME = """<!doctype html><canvas id=c width=200 height=200></canvas><script>
const seed = Number(new URLSearchParams(location.search).get("frame"));
let words = new Map(), kept = [], sum = seed;
for (let i = 0; i < 60000; ++i) {
  sum = (sum * 1103515245 + 12345) % 2147483648;
  const word = "w" + (sum % 5000);
  words.set(word, (words.get(word) || 0) + i);
  if (i % 100 == 0) kept.push(new Uint8Array(sum % 20000).fill(i));
}
const parsed = JSON.parse(JSON.stringify([...words]));
const draw = document.getElementById("c").getContext("2d");
for (let i = 0; i < 200; ++i) { draw.fillStyle = "rgb(" + i + ",7,9)"; draw.fillRect(i, i, 20, 20); }
const pixels = draw.getImageData(0, 0, 200, 200).data;
for (const p of pixels) sum = (sum * 31 + p) % 2147483648;
for (const k of kept) sum = (sum * 31 + k.length) % 2147483648;
const post = new XMLHttpRequest();
post.open("POST", "/sum", false);
post.send(seed + " " + parsed.length + " " + sum);
</script>"""


class Site(http.server.ThreadingHTTPServer):
    """Two sites, by two names of this machine; `posts` is what frames have said."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Pages)
        self.posts = collections.Counter()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, host="127.0.0.1"):
        return f"http://{host}:{self.server_address[1]}/"


class Pages(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def send(self, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path.startswith("/frame"):
            return self.send(FRAME)
        frames = "".join(f'<iframe src="{self.server.url(("127.0.0.1", "localhost")[i % 2])}frame?frame={i}"></iframe>'
                         for i in range(FRAMES))
        return self.send(f"<!doctype html><title>page</title>{frames}")

    def do_POST(self):
        self.server.posts[self.rfile.read(int(self.headers["Content-Length"])).decode()] += 1
        self.send("")


def end_of(harm, browser, front, environment):
    """(exit status, posts, signals that ended its processes)."""
    profile = harm.folder / "profile"
    shutil.rmtree(profile, ignore_errors=True)
    profile.mkdir()
    (profile / "user.js").write_text('user_pref("browser.shell.checkDefaultBrowser", false);\n'
                                     'user_pref("datareporting.policy.dataSubmissionEnabled", false);\n')
    site = Site()
    try:
        command = [browser, *(word.replace("PROFILE", str(profile)).replace("URL", site.url()) for word in BROWSERS[browser])]
        with ProcessEnds() as ends:
            done = harm.run([*front, *command], environment, timeout=180, cwd=profile)
            time.sleep(0.3)  # its processes end after it
        signals = ends.by_signal(os.getpid())
    finally:
        site.shutdown()
        site.server_close()
    return done.returncode, dict(site.posts), {number: signals[number] for number in FATAL if number in signals}


def attempt(harm, browser, way, rate):
    if shutil.which(browser) is None:
        raise Skip(f"{browser} is not installed")
    home = {"HOME": str(harm.folder), "XDG_RUNTIME_DIR": str(harm.folder), "MOZ_CRASHREPORTER_DISABLE": "1"}
    try:
        plain = end_of(harm, browser, [], harm.environment(**home))
    except PermissionError as error:
        raise Skip(f"the kernel's process events: {error}") from error
    if sum(plain[1].values()) != FRAMES:
        raise Skip(f"{browser} does not load the page here: {plain}")
    if way == "run":
        front = [harm.command, "run", "-r", rate, "--force", "-o", harm.folder / "out.pb.gz", "--"]
        found = end_of(harm, browser, front, harm.environment(**home))
    else:
        found = end_of(harm, browser, [], harm.preloaded(MEMPROF_RATE=rate, MEMPROF_PROFILE=str(harm.folder / "%p.pb.gz"), **home))
        for path in harm.folder.glob("*.pb.gz"):
            path.unlink()
    return None if found == plain else f"{found}, without memprof {plain}"


def situations(harm, chance):
    number = 0
    while True:
        number += 1
        for browser in BROWSERS:
            way, rate = chance.choice(WAYS), chance.choice(RATES)
            yield Situation(f"{number}: {browser}, {way}, rate {rate}", lambda b=browser, w=way, r=rate: attempt(harm, b, w, r))
