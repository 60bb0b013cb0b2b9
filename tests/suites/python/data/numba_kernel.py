# SPDX-License-Identifier: Apache-2.0
"""numba: arrays that compiled functions make."""
import numba
import numpy as np

USES = ["numba", "numpy", "llvmlite"]


@numba.njit
def fill(count):
    out = np.empty(count)
    for i in range(count):
        out[i] = i * 0.5
    return out


def curves(count):
    return [fill(100_000) for _ in range(count)]


fill(1)  # compiles it
held = curves(150)
print({"curves": sum(a.nbytes for a in held)})  # compiled code has no line of its own: what it allocates is its caller's
