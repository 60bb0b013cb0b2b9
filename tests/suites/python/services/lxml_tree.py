# SPDX-License-Identifier: Apache-2.0
"""lxml: a tree of libxml2."""
from lxml import etree

USES = ["lxml"]


def text(count):
    return "<r>" + "".join(f"<i n='{n}'><t>text {n}</t></i>" for n in range(count)) + "</r>"


def build(source):
    return etree.fromstring(source)


source = text(60_000)
root = build(source)
print({"build": None, "text": len(source)})
