# SPDX-License-Identifier: Apache-2.0
"""No package: arrays, bytes, sets, deques, decimals, moments, compiled expressions."""
import array
import collections
import datetime
import decimal
import io
import re
import sys

USES = ["re"]


def numbers(count):
    return array.array("d", range(count))


def buffer(count):
    held = io.BytesIO()
    for _ in range(count):
        held.write(b"x" * 1000)
    return held


def names(count):
    return collections.deque(f"name {i}" for i in range(count))


def prices(count):
    return {decimal.Decimal(i) / 7 for i in range(count)}


def days(count):
    first = datetime.datetime(2026, 1, 1)
    return [first + datetime.timedelta(minutes=i) for i in range(count)]


def expressions(count):
    return [re.compile(f"(a{i}|b{i})+[0-9]{{{i % 9 + 1}}}") for i in range(count)]


held = [numbers(1_000_000), buffer(6_000), names(50_000), prices(30_000), days(60_000), expressions(300)]
print({"numbers": sys.getsizeof(held[0]), "buffer": None, "names": None, "prices": None, "days": None, "expressions": None})
