# SPDX-License-Identifier: Apache-2.0
"""multiprocessing: each worker keeps what it made; the parent keeps the answers."""
import multiprocessing
import sys

USES = ["multiprocessing", "pickle"]
MERGED = True
kept = []


def worker(number):
    kept.append(bytearray(400_000))
    return bytes(60_000)


def collect(pool, count):
    return pool.map(worker, range(count))


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        answers = collect(pool, 200)
        pool.close()
        pool.join()
    print({"worker": 200 * 400_057})
