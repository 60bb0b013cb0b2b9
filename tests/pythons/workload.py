# SPDX-License-Identifier: Apache-2.0
"""Every way that Python code is called: what stacks are compared on where the standard library's tests are not at hand."""
import abc
import ast
import asyncio
import collections
import contextlib
import contextvars
import copy
import dataclasses
import functools
import gc
import itertools
import json
import operator
import pickle
import re
import threading
import types
import weakref


def recursion(n):
    return [n] if n == 0 else [n] + recursion(n - 1)


def through_c(n):
    return sorted([2, 1], key=lambda x: (through_c(n - 1), x)[1]) if n else [str(n)]


def generators():
    def numbers(n):
        for i in range(n):
            yield str(i) * 3

    def chained(n):
        yield from numbers(n)
        yield from (x + "!" for x in numbers(n))
    return list(chained(20)), [list(group) for _, group in itertools.groupby(map(str, range(9)), len)]


class Catching:
    def __iter__(self):
        try:
            yield "a"
            yield [1]
        except ValueError:
            yield [str(i) for i in range(3)]


def throw():
    """An exception that goes through generators which wait for another one: they have no evaluation loop then."""
    def through(n):
        return (yield from (through(n - 1) if n else Catching()))
    made = through(4)
    return next(made), made.throw(ValueError()), made.close()


async def coroutine(n):
    if n == 0:
        await asyncio.sleep(0)
        return ["leaf"]
    async with gate():
        return [x async for x in agen(n)] + await coroutine(n - 1)


@contextlib.asynccontextmanager
async def gate():
    yield [1, 2]


async def agen(n):
    for i in range(n):
        yield {"i": str(i)}


class Meta(type):
    def __new__(mcs, name, bases, space, **keywords):
        space["made"] = [name] * 3
        return super().__new__(mcs, name, bases, space)


class Special(metaclass=Meta):
    def __init__(self, *args, **keywords):
        self.args, self.keywords = args, dict(keywords)

    def __getattr__(self, name):
        return [name]

    def __del__(self):
        self.trace = ["gone"]

    def __call__(self, *args):
        return Special(*args, a=1)

    def __add__(self, other):
        return Special(self, other)

    def __eq__(self, other):
        return list(self.args) == list(other.args)

    def __hash__(self):
        return hash(tuple(map(id, [self])))

    def __iter__(self):
        return iter([self.args] * 2)

    def __contains__(self, x):
        return x in [str(i) for i in range(3)]

    @property
    def value(self):
        return {"x": [1]}

    @functools.cached_property
    def cached(self):
        return dict.fromkeys(range(5))

    @classmethod
    def build(cls, n):
        return [cls(i) for i in range(n)]


@dataclasses.dataclass(order=True)
class Record:
    name: str
    items: list = dataclasses.field(default_factory=lambda: [0] * 4)


@functools.lru_cache(maxsize=64)
def cached(n):
    return "x" * n


@functools.singledispatch
def dispatch(x):
    return [x]


@dispatch.register
def _(x: int):
    return {x: str(x)}


def exceptions(n):
    try:
        if n == 0:
            raise ValueError([str(n)])
        exceptions(n - 1)
    except ValueError as e:
        try:
            raise KeyError(dict(a=n)) from e
        except KeyError:
            if n < 5:
                raise ValueError("again") from None
    finally:
        [n, n]


def match(x):
    match x:
        case {"a": [first, *rest]}:
            return [first, rest[:]]
        case Record(name=name):
            return {name: 1}
        case str() as s if len([s]) > 0:
            return s.upper()
    return None


def dynamic(i):
    space = {}
    exec(compile(f"def made_{i}(x):\n\n\n    y = [x] * 3\n    return [y, (lambda z: [z, str(z)])(x)]\nvalue = made_{i}({i})",
                 f"<made {i}>", "exec"), space)
    return space["value"], eval("[str(k) for k in range(4)]"), types.FunctionType(space[f"made_{i}"].__code__, {"str": str})(1)


def closures():
    cells = [[]]

    def add(x):
        def inner(y):
            cells.append([x, y])
            return functools.partial(operator.add, [x])
        return inner
    return [add(i)(i)([i]) for i in range(5)]


def many_locals(a, b, c, d, e, f, g, h, *args, key=None, **keywords):
    return [(lambda: a)(), args, keywords, [x for x in (b, c, d, e, f, g, h)], key]


def collectable():
    class Node:
        def __del__(self):
            self.x = [str(i) for i in range(3)]
    a, b = Node(), Node()
    a.other, b.other = b, a
    w = weakref.finalize(a, lambda: [1, 2, 3])
    del a, b
    gc.collect()
    return w.alive


def ünïcode_fünction(名前):
    return [名前 * 2, {"ключ": 名前}]


def one_round(i):
    recursion(40)
    through_c(6)
    generators()
    throw()
    asyncio.run(coroutine(3))
    Special.build(4)[0](1)(2) + Special(3)
    list(Special(1)), "1" in Special(), Special().value, Special().cached, Special().nothing, {Special(1): 1}
    sorted([Record(str(k)) for k in range(6)], reverse=True)
    copy.deepcopy({"a": [Record("x"), {"b": (1, [2])}]})
    cached(i % 90), dispatch(1), dispatch("s")
    exceptions(9)
    match({"a": [1, 2, 3]}), match(Record("r")), match("s")
    dynamic(i)
    closures()
    many_locals(*range(12), key=[1], **{"z": 1})
    collectable()
    ünïcode_fünction("é" * 3)
    json.loads(json.dumps({"k": [1, {"n": None}] * 5}), object_hook=lambda d: dict(d, seen=[1]))
    re.sub(r"(\w+)", lambda m: m.group(1).upper() * 2, "some words to change %d" % i)
    pickle.loads(pickle.dumps([Record("p"), collections.OrderedDict(a=1)]))
    ast.unparse(ast.parse("def f(x):\n    return [y for y in x if y]\n"))
    abc.ABCMeta("Made", (), {"x": [i]})
    contextvars.copy_context().run(recursion, 5)
    threads = [threading.Thread(target=recursion, args=(20,)) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def main(rounds):
    for i in range(rounds):
        one_round(i)
