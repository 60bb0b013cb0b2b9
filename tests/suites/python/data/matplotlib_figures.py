# SPDX-License-Identifier: Apache-2.0
"""matplotlib: figures that nobody closes."""
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

USES = ["matplotlib", "numpy", "copy"]
RESERVED = ["inv"]  # OpenBLAS, for its threads


def values(count):
    return np.linspace(0, 1, count)


def figures(data, count):
    open_ones = []
    for _ in range(count):
        figure, axes = plt.subplots(figsize=(8, 6), dpi=100)
        axes.plot(data, np.sin(20 * data))
        figure.canvas.draw()
        open_ones.append(figure)
    return open_ones


data = values(500_000)
left = figures(data, 8)
print({"values": data.nbytes, "figures": None})
