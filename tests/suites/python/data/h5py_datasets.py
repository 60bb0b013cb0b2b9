# SPDX-License-Identifier: Apache-2.0
"""h5py: datasets of a file in memory, and what was read of them."""
import h5py
import numpy as np

USES = ["h5py", "numpy"]


def store(file, count):
    file["values"] = np.arange(count, dtype="f8")


def read(file):
    return file["values"][:]


file = h5py.File("memory.h5", "w", driver="core", backing_store=False)
store(file, 2_000_000)
values = read(file)
print({"read": values.nbytes, "store": None})
