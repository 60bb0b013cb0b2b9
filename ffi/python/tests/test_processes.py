# SPDX-License-Identifier: Apache-2.0
"""Threads, forks, multiprocessing, asyncio, subprocesses: nothing hangs, each process has its own numbers."""
import pytest


def test_threads(run):
    size, stats = run("""
        import threading
        memprof.start(0)
        kept, barrier = [], threading.Barrier(8)
        def work():
            barrier.wait()
            for _ in range(50):
                kept.append(bytearray(20_000))
                memprof.get_stats()
            memprof.get_snapshot().top_allocators(2)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads: t.start()
        for t in threads: t.join()
        snapshot = memprof.get_snapshot()
        mine = [s for s in snapshot.samples if of(s, 20_000)]
        report([len(mine), len({s.thread_id for s in mine})])
    """).value
    assert size == 8 * 50 and stats == 8


def test_one_snapshot_read_by_many_threads(run):
    assert run("""
        import threading
        memprof.start(4)
        kept = [bytearray(5_000) for _ in range(2000)]
        snapshot = memprof.get_snapshot(resolve=False)
        seen = []
        def work():
            snapshot.resolve()
            seen.append((len(snapshot.samples), int(snapshot.estimated_heap_bytes), repr(snapshot)))
        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads: t.start()
        for t in threads: t.join()
        report(len(set(seen)) == 1 and len(seen) == 8)
    """).value is True


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(run, method):
    result = run("""
        import multiprocessing, sys, warnings
        warnings.simplefilter("ignore")
        def child(queue):
            before = memprof.get_stats().state
            try:
                memprof.start(0)
                kept = bytearray(1_000_000)
                answer = [before, "started", memprof.get_snapshot().pid == __import__("os").getpid()]
            except RuntimeError as error:
                answer = [before, str(error), True]
            queue.put(answer)
        if __name__ == "__main__":
            method = sys.argv[1]
            context = multiprocessing.get_context(method)
            memprof.start(0)
            kept = bytearray(2_000_000)
            queue = context.Queue()
            process = context.Process(target=child, args=(queue,))
            process.start()
            answer = queue.get(timeout=60)
            process.join(60)
            report(answer + [process.exitcode, int(memprof.get_snapshot().estimated_heap_bytes) > 2_000_000])
    """, method)
    state, said, own, status, parent = result.value
    assert own and status == 0 and parent
    assert (state, said) == ("uninitialized", "started")


def test_a_fork_child_says_what_it_is_and_begins_anew(run):
    """As a server does in its post_fork: `if not is_active(): start()`."""
    assert run("""
        import os, warnings
        warnings.simplefilter("ignore")
        memprof.start(4, max_depth=20, gc_tracking=True)
        kept = [bytearray(3_000_000) for _ in range(3)]
        def child():
            assert not memprof.is_active()
            stats = memprof.get_stats()
            assert (stats.state, stats.live_samples) == ("uninitialized", 0), stats
            for call in (memprof.stop, memprof.get_snapshot):
                try:
                    call()
                except RuntimeError as error:
                    assert "memprof.start() in the child" in str(error), error
                else:
                    raise AssertionError(call)
            if not memprof.is_active():
                memprof.start(0, max_depth=30)
            assert memprof.is_active()
            kept.clear()
            own = bytearray(1_000_000)
            snapshot = memprof.get_snapshot()
            assert snapshot.pid == os.getpid()
            sizes = [s.size for s in snapshot.samples if s.size > 900_000]
            assert len(sizes) == 1, sizes
            memprof.shutdown()
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    child()
                    status = 0
                finally:
                    os._exit(status)
            assert os.waitpid(pid, 0)[1] == 0
        sizes = [s.size for s in memprof.get_snapshot().samples if s.size > 2_900_000]
        report([memprof.is_active(), len(sizes) == 3])
    """).value == [True, True]


def test_a_fork_child_starts_what_its_parent_only_imported(run):
    assert run("""
        import os, warnings
        warnings.simplefilter("ignore")
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            memprof.start(0)
            kept = [bytearray(200_000) for _ in range(10)]
            os.write(write, str(sum(of(s, 200_000) for s in memprof.get_snapshot().samples)).encode())
            os._exit(0)
        os.waitpid(pid, 0)
        memprof.start(0)
        report([os.read(read, 100).decode(), memprof.get_stats().state])
    """).value == ["10", "active"]


def test_a_fork_child_with_a_profile_of_its_own(run):
    result = run("""
        import os, warnings
        warnings.simplefilter("ignore")
        memprof.start(0, follow_fork=True)
        kept = [bytearray(300_000) for _ in range(10)]
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            mine = [bytearray(200_000) for _ in range(10)]
            snapshot = memprof.get_snapshot()
            counts = [sum(of(s, n) for s in snapshot.samples) for n in (200_000, 300_000)]
            os.write(write, json.dumps([*counts, snapshot.pid == os.getpid()]).encode())
            os._exit(0)
        os.waitpid(pid, 0)
        report(json.loads(os.read(read, 1000)))
    """)
    assert result.value == [10, 0, True]


def test_a_snapshot_of_the_parent_is_readable_in_a_fork_child(run):
    assert run("""
        import os, warnings
        warnings.simplefilter("ignore")
        memprof.start(0)
        kept = [bytearray(300_000) for _ in range(10)]
        snapshot = memprof.get_snapshot()
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            snapshot.save("child.collapsed")
            os.write(write, json.dumps(sum(of(s, 300_000) for s in snapshot.samples)).encode())
            os._exit(0)
        os.waitpid(pid, 0)
        report([json.loads(os.read(read, 1000)), os.path.getsize("child.collapsed") > 0])
    """).value == [10, True]


def test_subprocess(run):
    assert run("""
        import subprocess, sys
        memprof.start(0)
        for _ in range(5):
            assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout == b"1\\n"
        report(memprof.get_stats().state)
    """).value == "active"


def test_asyncio(run):
    assert run("""
        import asyncio
        memprof.start(0)
        kept = []
        async def work(n):
            for _ in range(10):
                await asyncio.sleep(0)
                kept.append(bytearray(30_000))
            return memprof.get_snapshot().live_samples
        async def main():
            await asyncio.gather(*(work(n) for n in range(20)))
        asyncio.run(main())
        report(sum(of(s, 30_000) for s in memprof.get_snapshot().samples))
    """).value == 200


def test_what_snapshots_allocate_is_not_counted(run):
    """A hundred snapshots, read whole and kept: nothing of them is in a later one."""
    assert run("""
        memprof.start(0)
        kept = [bytearray(10_000) for _ in range(500)]
        first = memprof.get_snapshot()
        first.samples, first.top_allocators(5), repr(first)
        before = int(memprof.get_snapshot().estimated_heap_bytes)
        snapshots = []
        for _ in range(100):
            snapshot = memprof.get_snapshot()
            snapshot.samples, snapshot.top_allocators(5), repr(snapshot), memprof.get_stats()
            snapshots.append(snapshot)
        report(int(memprof.get_snapshot().estimated_heap_bytes) - before)
    """).value < 200_000
