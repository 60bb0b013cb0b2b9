# SPDX-License-Identifier: Apache-2.0
"""DuckDB: a table in memory, and what a query fetches."""
import duckdb

USES = ["duckdb"]


def table(rows):
    base = duckdb.connect(config={"threads": 1})  # else threads of its own allocate, without a line of Python
    base.execute(f"create table t as select i as id, i * 0.5 as price, 'name ' || i as name from range({rows}) r(i)")
    return base


def fetched(base):
    return base.execute("select id, price, name from t where id % 4 = 0").fetchall()


base = table(1_000_000)
rows = fetched(base)
print({"table": None, "fetched": None})
