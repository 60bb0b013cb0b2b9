# SPDX-License-Identifier: Apache-2.0
"""pyarrow: a csv is read by its threads, and a column computed; its memory is that of its own allocator."""
import io

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

USES = ["pyarrow"]


def text(count):
    return b"a,b,c\n" + b"\n".join(b"%d,%d,%d" % (n, n * 2, n * 3) for n in range(count))


def read(source):
    return csv.read_csv(io.BytesIO(source), csv.ReadOptions(use_threads=False))


def doubled(table):
    return pc.multiply(table["a"], 2)


doubled(pa.table({"a": [1]}))  # the first time it imports pandas
table = read(text(600_000))
column = doubled(table)
print({"read": table.nbytes, "doubled": column.nbytes})
