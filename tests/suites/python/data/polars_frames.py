# SPDX-License-Identifier: Apache-2.0
"""polars: expressions that its threads evaluate."""
import numpy as np
import polars as pl

USES = ["polars", "numpy"]
FROM_THREADS = ["with_columns"]


def frame(count):
    return pl.DataFrame({"a": np.arange(count), "b": np.random.default_rng(3).random(count)})


def with_columns(table):
    return table.lazy().with_columns((pl.col("b") * 2).alias("c"), (pl.col("a") % 1000).cast(pl.Int64).alias("d")).collect()


pl.DataFrame({"a": np.random.default_rng(3).random(10)})  # what both keep from their first use on
table = frame(2_000_000)
wide = with_columns(table)
print({"frame": int(table.estimated_size()), "with_columns": int(wide.estimated_size() - table.estimated_size())})
