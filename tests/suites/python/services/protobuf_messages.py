# SPDX-License-Identifier: Apache-2.0
"""protobuf: messages of upb, parsed from bytes."""
from google.protobuf import struct_pb2

USES = ["google"]


def message(number):
    one = struct_pb2.Struct()
    one.update({"id": number, "name": f"name {number}", "tags": ["a", "b", "c"]})
    return one


def messages(count):
    return [message(number) for number in range(count)]


def parsed(data, count):
    return [struct_pb2.Struct.FromString(data) for _ in range(count)]


first = messages(4_000)
second = parsed(first[0].SerializeToString(), 20_000)
print({"messages": None, "parsed": None})
