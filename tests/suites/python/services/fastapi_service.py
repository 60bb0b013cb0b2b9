# SPDX-License-Identifier: Apache-2.0
"""FastAPI: an endpoint that remembers what it was asked."""
import sys

from fastapi import FastAPI
from fastapi.testclient import TestClient

USES = ["fastapi", "starlette", "pydantic", "httpx", "anyio", "asyncio"]

app = FastAPI()
cache = {}


@app.get("/item/{number}")
def item(number: int):
    cache[number] = ["payload %d of item" % n for n in range(1000, 1500)]
    return {"number": number}


@app.get("/page/{number}")
async def page(number: int):
    cache[-number - 1] = bytearray(20_000)
    return {"number": number}


client = TestClient(app)
for number in range(600):
    client.get(f"/item/{number}")
    client.get(f"/page/{number}")
items = [value for key, value in cache.items() if key >= 0]
print({"item": sum(sys.getsizeof(i) + 16 + sum(map(sys.getsizeof, i)) for i in items),
       "page": sum(sys.getsizeof(value) for key, value in cache.items() if key < 0)})
