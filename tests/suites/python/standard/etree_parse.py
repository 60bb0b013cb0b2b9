# SPDX-License-Identifier: Apache-2.0
"""xml.etree: a document as a tree, and an index of it."""
import xml.etree.ElementTree as tree

USES = ["xml"]


def document(count):
    return "<all>" + "".join(f'<item id="{i}"><name>name {i}</name></item>' for i in range(count)) + "</all>"


def parsed(source):
    return tree.fromstring(source)


def index(root):
    return {item.get("id"): item for item in root}


source = document(60_000)
root = parsed(source)
by_id = index(root)
print({"document": len(source) + 49, "parsed": None, "index": None})
