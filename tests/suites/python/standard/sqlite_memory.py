# SPDX-License-Identifier: Apache-2.0
"""sqlite3: a database in memory, and the rows of a query."""
import sqlite3

USES = []


def base(count):
    connection = sqlite3.connect(":memory:")
    connection.execute("create table t (id integer primary key, name text, price real)")
    connection.executemany("insert into t values (?, ?, ?)", ((i, f"name {i}" * 4, i * 0.5) for i in range(count)))
    return connection


def rows(connection):
    return connection.execute("select name, price from t").fetchall()


connection = base(200_000)
held = rows(connection)
print({"base": None, "rows": None})
