# SPDX-License-Identifier: Apache-2.0
"""gevent: greenlets that switch with buffers in their hands."""
import sys

import gevent

USES = ["gevent", "greenlet"]
held = {}


def receive(number):
    gevent.sleep(0)
    buffer = bytearray(40_000)
    gevent.sleep(0)
    held[number] = buffer


def decode(number):
    gevent.sleep(0)
    held[-number - 1] = [b"%08d" % n for n in range(800)]


gevent.joinall([gevent.spawn(receive, n) for n in range(500)] + [gevent.spawn(decode, n) for n in range(300)])
print({"receive": sum(sys.getsizeof(h) for h in held.values() if isinstance(h, bytearray)),
       "decode": sum(sys.getsizeof(h) + 16 + sum(map(sys.getsizeof, h)) for h in held.values() if isinstance(h, list))})
