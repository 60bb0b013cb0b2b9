# SPDX-License-Identifier: Apache-2.0
"""OpenCV: frames, and what filters make of them."""
import cv2
import numpy as np

USES = ["cv2", "numpy"]


def frames(count):
    return [np.full((1000, 1000, 3), number, dtype=np.uint8) for number in range(count)]


def blurred(pictures):
    return [cv2.GaussianBlur(picture, (9, 9), 0) for picture in pictures]


def resized(pictures):
    return [cv2.resize(picture, None, fx=0.5, fy=0.5) for picture in pictures]


pictures = frames(6)
soft = blurred(pictures)
small = resized(pictures)
print({"frames": 6 * 3_000_000, "blurred": 6 * 3_000_000, "resized": 6 * 750_000})
