# SPDX-License-Identifier: Apache-2.0
"""SciPy: sparse matrices, their product, and a decomposition."""
import scipy.sparse as sparse
from scipy.sparse import linalg

USES = ["scipy", "numpy"]


def matrix(size):
    return sparse.random(size, size, density=0.002, format="csr", random_state=1)


def factors(one):
    return linalg.splu((one + 50 * sparse.identity(one.shape[0], format="csr")).tocsc())


def product(one):
    return one @ one


one = matrix(20_000)
two = product(one)
three = factors(matrix(1_200))
print({"matrix": None, "product": two.data.nbytes + two.indices.nbytes + two.indptr.nbytes, "factors": None})
