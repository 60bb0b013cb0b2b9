# SPDX-License-Identifier: Apache-2.0
"""Lists of dicts, strings and NumPy arrays, made, looked through, kept and dropped: a program of the section
`python_peers` of bench/run.

usage: objects_and_arrays.py TURNS
"""
import sys

import numpy


def records(count, turn):
    return [{"id": i, "name": f"name {turn} {i}", "value": i * 0.5, "tags": [f"tag {i % 100}", i]} for i in range(count)]


def table(rows):
    """Through text and back, as CSV goes."""
    text = "\n".join(",".join(map(str, row.values())) for row in rows)
    return [line.split(",") for line in text.splitlines()]


def arrays(count, length):
    base = numpy.arange(length, dtype=float)
    made = [base * k + 1 for k in range(count)]
    return made, sum(float((a - base).sum()) for a in made)


def main():
    kept = []
    for turn in range(int(sys.argv[1])):
        rows = records(30000, turn)
        by_name = {row["name"]: row for row in rows}
        cells = table(rows)
        made, total = arrays(200, 5000 + 500 * (turn % 10))
        kept.append((rows[::6], cells[::10], made[:20], total, len(by_name)))
        if len(kept) > 10:
            del kept[0]
    print(len(kept), sum(k[3] for k in kept))


main()
