# SPDX-License-Identifier: Apache-2.0
"""pandas: a frame is grouped, and merged with another."""
import numpy as np
import pandas as pd

USES = ["pandas", "numpy", "pyarrow"]


def orders(count):
    draw = np.random.default_rng(2)
    return pd.DataFrame({"customer": draw.integers(0, 200_000, count), "amount": draw.random(count), "day": np.arange(count) % 365})


def by_customer(frame):
    return frame.groupby("customer")["amount"].agg(["sum", "mean", "count"]).reset_index()


def with_totals(frame, totals):
    return frame.merge(totals, on="customer", how="left")


frame = orders(1_000_000)
totals = by_customer(frame)
merged = with_totals(frame, totals)
own = sum(merged[name].memory_usage(index=False) for name in merged
          if not any(np.shares_memory(merged[name], frame[other]) for other in frame))
print({"orders": int(frame.memory_usage(index=False).sum()), "with_totals": int(own),
       "by_customer": int(totals.memory_usage(index=False).sum())})
