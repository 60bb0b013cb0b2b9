# SPDX-License-Identifier: Apache-2.0
"""json: a text is made and parsed."""
import json
import sys

USES = ["json"]


def text(count):
    return json.dumps([{"id": n, "name": f"name {n}", "tags": ["a", n * 0.5]} for n in range(count)])


def parse(source):
    return json.loads(source)


source = text(100_000)
document = parse(source)
print({"text": sys.getsizeof(source), "parse": None})
