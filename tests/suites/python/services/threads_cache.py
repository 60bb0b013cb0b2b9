# SPDX-License-Identifier: Apache-2.0
"""Threads: a pool that fills a cache, and threads of the program's own."""
import concurrent.futures
import sys
import threading

USES = ["concurrent", "threading"]
cache, blocks = {}, []


def fetch(number):
    cache[number] = bytearray(30_000)


def worker(count):
    blocks.extend([str(n).zfill(100) for n in range(count)])


with concurrent.futures.ThreadPoolExecutor(4) as pool:
    list(pool.map(fetch, range(1_000)))
threads = [threading.Thread(target=worker, args=(20_000,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print({"fetch": sum(map(sys.getsizeof, cache.values())), "worker": sum(map(sys.getsizeof, blocks))})
