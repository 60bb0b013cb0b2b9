# SPDX-License-Identifier: Apache-2.0
"""Generators: a pipeline whose stages keep what passed."""
import sys

USES = []


class Stage:
    def __init__(self):
        self.seen = []

    def lines(self, count):
        for number in range(count):
            line = f"line {number} " * 8
            self.seen.append(line)
            yield line

    def parsed(self, lines):
        for line in lines:
            parts = line.split()
            self.seen.append(parts)
            yield parts


first, second = Stage(), Stage()
total = sum(len(parts) for parts in second.parsed(first.lines(20_000)))
lines = sum(map(sys.getsizeof, first.seen))
print({"Stage.lines": lines,  # runs below the stage that asks for them
       "Stage.parsed": lines + sum(sys.getsizeof(p) + 16 + sum(map(sys.getsizeof, p)) for p in second.seen)})
