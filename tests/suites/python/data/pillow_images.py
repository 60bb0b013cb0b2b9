# SPDX-License-Identifier: Apache-2.0
"""Pillow: images, turned."""
from PIL import Image

USES = ["PIL"]


def images(count):
    return [Image.new("RGB", (1000, 1000)) for _ in range(count)]


def turned(pictures):
    return [picture.rotate(30) for picture in pictures]


pictures = images(6)
copies = turned(pictures[:3])
print({"images": 6 * 4_000_000, "turned": 3 * 4_000_000})
