# SPDX-License-Identifier: Apache-2.0
"""pydantic and orjson: a text is parsed, and validated into models."""
import sys

import orjson
import pydantic

USES = ["pydantic", "orjson"]


class Order(pydantic.BaseModel):
    number: int
    customer: str
    amounts: list[float]


def text(count):
    return orjson.dumps([{"number": n, "customer": f"customer {n}", "amounts": [n * 0.5, n * 0.25]} for n in range(count)])


def parse(source):
    return orjson.loads(source)


def validate(documents):
    return [Order.model_validate(document) for document in documents]


source = text(40_000)
documents = parse(source)
orders = validate(documents)
print({"text": sys.getsizeof(source), "parse": None, "validate": None})
