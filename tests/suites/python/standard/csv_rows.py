# SPDX-License-Identifier: Apache-2.0
"""csv: a dict for each line of a file in memory."""
import csv
import io

USES = ["csv"]


def text(count):
    return "id,name,price\n" + "".join(f"{i},name {i},{i * 0.5}\n" for i in range(count))


def read(source):
    return list(csv.DictReader(io.StringIO(source)))


source = text(60_000)
held = read(source)
print({"text": len(source) + 49, "read": None})
