# SPDX-License-Identifier: Apache-2.0
"""pickle and copy: records, their bytes, and copies of them."""
import copy
import pickle

USES = ["copy"]


class Record:
    def __init__(self, number):
        self.number = number
        self.tags = [f"tag {number}", "common"]


def records(count):
    return [Record(number) for number in range(count)]


def packed(some):
    return pickle.dumps(some)


def unpacked(data):
    return pickle.loads(data)


def copied(some):
    return copy.deepcopy(some)


first = records(30_000)
data = packed(first)
second = unpacked(data)
third = copied(first)
# What is packed gets the dicts of its attributes then, which CPython makes when they are asked for.
print({"packed": None, "unpacked": None, "copied": None})
