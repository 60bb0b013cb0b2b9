# SPDX-License-Identifier: Apache-2.0
"""pandas: a csv file of 150,000 lines is read; a column is made of two."""
import os
import tempfile

import pandas as pd

USES = ["pandas", "numpy", "pyarrow"]


def write(path, count):
    with open(path, "w", encoding="ascii") as out:
        out.write("day,price,volume,weight\n")
        out.writelines(f"{n},{n * 0.25},{n * 3},{n / 7:.6f}\n" for n in range(count))


def load(path):
    return pd.read_csv(path)


def turnover(frame):
    return frame["price"] * frame["volume"]


with tempfile.TemporaryDirectory() as folder:
    write(os.path.join(folder, "prices.csv"), 150_000)
    frame = load(os.path.join(folder, "prices.csv"))
product = turnover(frame)
print({"load": int(frame.memory_usage(index=False).sum()), "turnover": int(product.memory_usage(index=False))})
