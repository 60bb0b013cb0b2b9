# SPDX-License-Identifier: Apache-2.0
"""No package: objects, an index of them, text."""
import sys

USES = []


class Node:
    def __init__(self, number):
        self.number, self.next, self.data = number, None, {"key": number}


def chain(count):
    return [Node(number) for number in range(count)]


def index(nodes):
    return {str(node.number): node for node in nodes}


nodes = chain(80_000)
by_name = index(nodes)
print({"index": sys.getsizeof(by_name) + 16 + sum(map(sys.getsizeof, by_name)), "Node.__init__": None})
