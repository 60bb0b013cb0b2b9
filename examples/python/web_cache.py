# SPDX-License-Identifier: Apache-2.0
"""A web service whose cache has no limit: memory grows with each new page that is asked for.

    python web_cache.py          # serves requests to itself, and looks at its memory between them

`/memory` is what a service in production could have: a page with the top places, as of now.
"""
import memprof
from flask import Flask

app = Flask(__name__)
cache = {}


def render(page):
    rows = [f"<tr><td>{page}</td><td>{number}</td></tr>" for number in range(500)]
    return "<table>" + "".join(rows) + "</table>"


@app.get("/page/<int:page>")
def show(page):
    if page not in cache:  # the leak: no limit, and every page is another
        cache[page] = render(page)
    return cache[page]


@app.get("/memory")
def memory():
    return memprof.get_snapshot()._repr_html_()


memprof.start(sampling_rate_kb=64)
client = app.test_client()
for page in range(100):
    client.get(f"/page/{page}")
before = memprof.get_snapshot()
for page in range(2000):
    client.get(f"/page/{page}")
after = memprof.get_snapshot()
report = client.get("/memory")
memprof.stop()

diff = memprof.snapshot_diff(before, after)
held = sum(len(text) for text in cache.values()) - sum(len(cache[page]) for page in range(100))
print(f"The cache grew by {held / 1e6:.1f} MB")
print(diff)
assert report.status_code == 200 and b"HeapSnapshot" in report.data
assert diff.top(1)[0].is_significant
assert 0.75 * held < diff.growth < 1.4 * held, (diff, held)  # 6 standard deviations of 3.3 %, and what is not the texts
