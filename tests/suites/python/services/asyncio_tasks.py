# SPDX-License-Identifier: Apache-2.0
"""asyncio: tasks that wait with buffers in their hands."""
import asyncio
import sys

USES = ["asyncio"]
held = []


async def receive(number):
    buffer = bytearray(50_000)
    await asyncio.sleep(0)
    held.append(buffer)
    await done.wait()


async def decode(number):
    await asyncio.sleep(0)
    held.append([b"%08d" % n for n in range(500)])


async def main():
    global done
    done = asyncio.Event()
    tasks = [asyncio.create_task(receive(n)) for n in range(600)]
    await asyncio.gather(*(decode(n) for n in range(600)))
    await asyncio.sleep(0.01)
    print({"receive": sum(sys.getsizeof(h) for h in held if isinstance(h, bytearray)),
           "decode": sum(sys.getsizeof(h) + 16 + sum(map(sys.getsizeof, h)) for h in held if isinstance(h, list))})
    done.set()
    await asyncio.gather(*tasks)


asyncio.run(main())
