# SPDX-License-Identifier: Apache-2.0
"""scikit-learn: a forest is fitted; its trees are Cython's."""
import numpy as np
from sklearn.ensemble import RandomForestClassifier

USES = ["sklearn", "numpy", "scipy", "joblib", "threading"]


def samples(count):
    return np.random.default_rng(4).random((count, 40))


def fit(data):
    noise = np.random.default_rng(5).random(len(data)) > 0.7
    return RandomForestClassifier(n_estimators=20, random_state=1).fit(data, (data[:, 0] > 0.5) ^ noise)


data = samples(20_000)
forest = fit(data)
print({"samples": data.nbytes, "fit": None})
