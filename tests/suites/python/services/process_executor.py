# SPDX-License-Identifier: Apache-2.0
"""concurrent.futures: processes that answer with lists, which the first one keeps."""
import concurrent.futures
import sys

USES = ["concurrent", "multiprocessing"]
MERGED = True


def squares(start):
    return [number * number for number in range(start, start + 40_000)]


def answers(count):
    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        return list(executor.map(squares, range(10**6, 10**6 + count * 40_000, 40_000)))


if __name__ == "__main__":
    held = answers(12)
    print({"answers": None, "squares": None})
    sys.stdout.flush()
