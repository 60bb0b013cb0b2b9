# SPDX-License-Identifier: Apache-2.0
"""Runs inside the interpreter that python_objects_test.py looks at: python_objects.py CHECK [ARGUMENT...].

Known objects are made, and what the library knows of them is compared: by address, by sum, by estimate.
"""
import bisect
import ctypes
import gc
import math
import os
import sys
import threading

sys.path.insert(0, os.environ["PYTHON_OBJECTS_BINDING"])
import capi_binding as api  # noqa: E402  (from tests/e2e)

COUNT = 1000


class Library:
    def __init__(self):
        self.lib = api.load(os.environ["PYTHON_OBJECTS_LIBRARY"])

    def start(self, rate=0, **options):
        given = api.Options()
        assert self.lib.memprof_options_init(given, ctypes.sizeof(given)) == api.OK
        given.rate_bytes, given.private_memory, given.max_live_samples = rate, 1, 1 << 23
        for name, value in options.items():
            setattr(given, name, value)
        assert self.lib.memprof_init(given) == api.OK
        assert self.lib.memprof_start() == api.OK

    def stats(self):
        stats = api.Stats(struct_size=ctypes.sizeof(api.Stats))
        assert self.lib.memprof_get_stats(stats) == api.OK
        return stats

    def snapshot(self):
        handle = ctypes.c_void_p()
        assert self.lib.memprof_get_snapshot(handle) == api.OK
        return handle

    def live(self):
        """Estimates of what is live: bytes and blocks."""
        handle = self.snapshot()
        info = api.Info(struct_size=ctypes.sizeof(api.Info))
        assert self.lib.memprof_snapshot_get_info(handle, info) == api.OK
        self.lib.memprof_free_snapshot(handle)
        return info.live_weight_bytes, info.live_weight_count

    def blocks(self):
        """Sorted (address, size) of what is recorded as live.  The answer itself is not recorded."""
        self.lib.memprof_stop()
        handle, count = self.snapshot(), ctypes.c_uint64()
        records = self.lib.memprof_snapshot_records(handle, count)
        size = ctypes.sizeof(api.Record)
        words = memoryview(ctypes.string_at(records, count.value * size)).cast("Q").tolist()
        found = sorted(zip(words[0::size // 8], words[1::size // 8]))  # address, size_bytes
        self.lib.memprof_free_snapshot(handle)
        self.lib.memprof_start()
        return found


def block_at(blocks, address):
    """Those that contain an address: one, unless something is counted twice."""
    at = bisect.bisect_right(blocks, (address, 1 << 63))
    found = []
    for start, size in blocks[at - 8 if at > 8 else 0:at]:  # begun at or before the address: half of these tests' time
        if address < start + size or address == start:
            found.append((start, size))
    return found


def shrunk_bytes(size):
    """bytes that were larger than pymalloc serves, and shrink to `size` by realloc."""
    read, write = os.pipe()
    try:
        os.write(write, b"x" * size)
        return os.read(read, 4096)
    finally:
        os.close(read)
        os.close(write)


def address_of_buffer(buffer):
    return ctypes.addressof((ctypes.c_char * 1).from_buffer(buffer))


def shrunk_bytearray():
    array = bytearray(5000)
    del array[100:]  # less than half: it is reallocated
    return array


class WithSlots:
    __slots__ = ("a", "b", "c")


# Kind -> (make one, size of the block that the object's address lies in, or None: at least what it holds).
HEADER = 0 if sys.version_info >= (3, 13) and not getattr(sys, "_is_gil_enabled", lambda: True)() else 16
KINDS = {
    "int": (lambda i: 1 << 40 | i, sys.getsizeof),
    "large int": (lambda i: 1 << 6000 | i, sys.getsizeof),
    "float": (lambda i: i + 0.5, sys.getsizeof),
    "complex": (lambda i: complex(i, 1), sys.getsizeof),
    "str": (lambda i: "str %d" % i, sys.getsizeof),
    "wide str": (lambda i: "\u20ac %d" % i, sys.getsizeof),
    "large str": (lambda i: "str %d" % i * 200, sys.getsizeof),
    "bytes": (lambda i: b"bytes %d" % i, sys.getsizeof),
    "large bytes": (lambda i: bytes(600 + i), sys.getsizeof),
    "tuple": (lambda i: (None, True, i % 5), sys.getsizeof),
    "list": (lambda i: [], sys.getsizeof),
    "dict": (lambda i: {}, sys.getsizeof),
    "set": (lambda i: set(), sys.getsizeof),
    "slots": (lambda i: WithSlots(), sys.getsizeof),
    "shrunk bytes": (lambda i: shrunk_bytes(10 + i % 400), sys.getsizeof),
    "bytearray": (lambda i: bytearray(100), lambda o: o.__sizeof__() - o.__alloc__()),
}


def check_known():
    """Each object has one record, of its size; when it is gone, none."""
    mp = Library()
    mp.start()
    gc.collect()
    gc.disable()
    for kind, (make, size_of) in KINDS.items():
        keep = [make(i) for i in range(3000)]  # empties the free list of the type
        count = COUNT if "shrunk" not in kind else 200
        objects = [make(1000 + i) for i in range(count)]
        blocks = mp.blocks()
        for o in objects:
            found = block_at(blocks, id(o))
            assert len(found) == 1, (kind, hex(id(o)), found)
            assert found[0][1] in (size_of(o), size_of(o) - HEADER + 16), (kind, found, size_of(o))
        addresses = [id(o) for o in objects]
        del keep, objects, o
        blocks = mp.blocks()
        left = sum(bool(block_at(blocks, a)) for a in addresses)
        assert left <= count // 4 + 100, (kind, left)  # what a free list keeps is still allocated
    buffers()
    print("ok", len(KINDS))


def check_sampled(rate, then=None):
    """Of many objects as many have a record as it should be, of their size; when they are gone, none has, whether
    the pool kept the samples or malloc gave them."""
    mp = Library()
    mp.start(rate=int(rate))
    if then:  # the rate becomes small
        mp.lib.memprof_set_rate(ctypes.c_uint64(int(then)))
    gc.disable()
    rate = int(then or rate)
    for kind in ("int", "str", "tuple", "dict", "bytes", "shrunk bytes"):
        make, size_of = KINDS[kind]
        count = 30000 if "shrunk" not in kind else 10000
        objects = [make(1000 + i) for i in range(count)]
        blocks, seen, expected = mp.blocks(), 0, 0.0
        for o in objects:
            found = block_at(blocks, id(o))
            assert len(found) <= 1 and all(f[1] in (size_of(o), size_of(o) - HEADER + 16) for f in found), (kind, found)
            seen += len(found)
            expected += 1 - math.exp(-size_of(o) / rate)
        assert abs(seen - expected) < 5.5 * math.sqrt(expected) + 0.02 * expected, (kind, seen, expected)
        addresses = [id(o) for o in objects]
        del objects, o
        blocks = mp.blocks()
        left = sum(bool(block_at(blocks, a)) for a in addresses)
        assert left <= 100, (kind, left)
        print(kind, seen, round(expected), left)
    print("ok")


def buffers():
    """What objects hold outside of themselves."""
    mp = Library()
    lists = [[i] * n for i, n in enumerate((1, 5, 64, 65, 1000))]
    arrays = [bytearray(n) for n in (1, 500, 511, 512, 513, 100000)] + [shrunk_bytearray() for _ in range(50)]
    c_buffers = [ctypes.create_string_buffer(n) for n in (100, 512, 513, 70000)]
    blocks = mp.blocks()
    for l in lists:
        pointer = ctypes.c_void_p.from_address(id(l) + 24).value  # ob_item
        if HEADER:
            assert [s for _, s in block_at(blocks, pointer)] == [len(l) * 8], (len(l), block_at(blocks, pointer))
    for a in arrays:
        found = block_at(blocks, address_of_buffer(a))
        assert [s for _, s in found] == [a.__alloc__()], (len(a), a.__alloc__(), found)
    for b in c_buffers:
        found = block_at(blocks, ctypes.addressof(b))
        assert len(found) == 1 and found[0][1] == len(b), (len(b), found)
    try:
        import numpy
    except ImportError:
        return
    for n in (10, 100, 5000, 300000):
        array = numpy.ones(n)
        found = block_at(mp.blocks(), array.ctypes.data)
        assert [s for _, s in found] == [n * 8], (n, found)


def make_kind(kind, count, shift=0):
    make, _ = KINDS[kind]
    return [make(shift + i) for i in range(count)]


def truth_of(kind, objects):
    """Of a list that make_kind() made, itself left out; `bytearray`: its buffer, too."""
    return sum(sys.getsizeof(o) for o in objects)


def check_sums():
    """What lives more after objects were made is their size, not a byte for each more or less; and it goes."""
    mp = Library()
    if not mp.stats().state == api.ACTIVE:
        mp.start()
    gc.collect()
    gc.disable()
    for kind in KINDS:
        if kind == "shrunk bytes":
            continue
        make_kind(kind, 3000)  # warms up, fills free lists
        keep = make_kind(kind, 3000)  # and empties them
        holder = [None] * 5000
        mp.live()
        before, blocks_before = mp.live()
        make = KINDS[kind][0]
        for i in range(5000):
            holder[i] = make(1000 + i)
        after, blocks_after = mp.live()
        truth = truth_of(kind, holder)
        blocks = 5000 * (2 if kind in ("bytearray", ) else 1)
        assert abs(after - before - truth) <= 4096, (kind, after - before, truth)
        assert abs(blocks_after - blocks_before - blocks) <= 40, (kind, blocks_after - blocks_before)
        del holder, keep, i
        end, _ = mp.live()
        assert end - before <= 120000, (kind, end - before)  # the rest: free lists
    print("ok", mp.stats().python_objects, hex(mp.stats().python_version))


def check_estimate(rate="4096", megabytes="24", runs="10"):
    """Prints the estimate over the truth, for each kind."""
    mp = Library()
    if not mp.stats().state == api.ACTIVE:
        mp.start(int(rate))
    gc.disable()
    for kind in ("int", "str", "tuple", "list", "large bytes", "bytearray"):
        count = int(float(megabytes) * 1e6 / sys.getsizeof(KINDS[kind][0](5)))
        truth = estimate = 0
        for _ in range(int(runs)):
            holder = [None] * count
            make = KINDS[kind][0]
            before, _ = mp.live()
            for i in range(count):
                holder[i] = make(i % 1000 + 1000)
            estimate += mp.live()[0] - before
            truth += truth_of(kind, holder)
            del holder
        print("ratio", kind.replace(" ", "_"), truth, estimate / truth)


def check_threads():
    """Started late while threads make and drop objects; nothing is left when they are done, and nothing breaks."""
    mp = Library()
    stop = threading.Event()

    def work():
        while not stop.is_set():
            keep = [[i, str(i), (i, i), {i: i}, bytearray(i)] for i in range(300)]
            del keep
    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    mp.start(0)
    for _ in range(200):
        assert mp.lib.memprof_stop() == api.OK
        assert mp.lib.memprof_start() == api.OK
    for _ in range(10):
        mp.live()
    stop.set()
    for t in threads:
        t.join()
    before, _ = mp.live()
    keep = make_kind("int", 20000)
    after, _ = mp.live()
    truth = truth_of("int", keep) + 160000
    assert abs(after - before - truth) < 40000, (after - before, truth)
    print("ok", mp.stats().replaced_samples)


def check_tracemalloc():
    """The interpreter's own wrapper, begun before and after; no object is counted twice."""
    import tracemalloc
    mp = Library()
    before_start = len(sys.argv) > 2
    if before_start:
        tracemalloc.start()
    mp.start()

    def seen():
        gc.collect()
        keep = make_kind("int", 300)
        objects = [None] * 3000
        blocks = mp.blocks()
        for i in range(3000):
            objects[i] = 1 << 41 | i
        blocks = mp.blocks()
        found = [block_at(blocks, id(o)) for o in objects]
        assert max(map(len, found)) <= 1
        del keep
        return sum(len(f) == 1 and f[0][1] == sys.getsizeof(o) for f, o in zip(found, objects))
    assert seen() == 3000
    for _ in range(int(os.environ.get("PYTHON_OBJECTS_ROUNDS", "6"))):
        tracemalloc.start()
        assert seen() == 3000
        tracemalloc.stop()
        mp.blocks()  # malloc: the change is noticed at the latest now
        assert seen() == 3000
    print("ok")


def check_fork():
    """Children: not profiled by default, and none is broken."""
    mp = Library()
    mp.start()
    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            keep = make_kind("int", 5000) + make_kind("large bytes", 100)
            del keep
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    keep = bytes(1000)
    assert block_at(mp.blocks(), id(keep))
    print("ok")


def check_subinterpreters():
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    mp = Library()
    mp.start()
    for _ in range(5):
        one = interpreters.create()
        interpreters.run_string(one, "keep = [1 << 40 | i for i in range(20000)]")
        with_it, _ = mp.live()
        interpreters.destroy(one)
        without, _ = mp.live()
        assert with_it - without > 20000 * 36, (with_it, without)
    print("ok")


def check_off(by):
    mp = Library()
    if by == "option":
        mp.start(python=1)
    objects = make_kind("int", 1000)
    large = [bytes(10000) for _ in range(10)]
    blocks = mp.blocks()
    assert not any(block_at(blocks, id(o)) for o in objects)
    if HEADER:  # else mimalloc's
        assert all(block_at(blocks, id(o)) for o in large)
    assert mp.stats().python_objects == api.PYTHON_NONE
    print("ok")


def hold():
    """For a profile at the end of the process."""
    global kept
    kept = make_kind("int", 20000)
    if len(sys.argv) > 2 and os.fork() == 0:
        kept += make_kind("str", 20000)
        sys.stdout.flush()
        os._exit(0)
    if len(sys.argv) > 2:
        os.wait()
    os._exit(0)


if __name__ == "__main__":
    globals().get("check_" + sys.argv[1], hold)(*sys.argv[2:] if sys.argv[1] in ("estimate", "off", "sampled") else ())
