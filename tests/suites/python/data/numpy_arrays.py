# SPDX-License-Identifier: Apache-2.0
"""NumPy: a large array of random numbers, a table, and many small arrays."""
import numpy as np

USES = ["numpy"]


def prices(count):
    return np.random.default_rng(1).normal(size=count)


def table(count):
    return np.zeros((count, 4)) + 1


def windows(count):
    return [np.full(200, number) for number in range(count)]


held = {"prices": prices(5_000_000), "table": table(600_000), "windows": windows(6_000)}
print({"prices": held["prices"].nbytes, "table": held["table"].nbytes, "windows": sum(a.nbytes for a in held["windows"])})
