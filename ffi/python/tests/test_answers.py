# SPDX-License-Identifier: Apache-2.0
"""leaks, churn, and what of each block is in memory."""
import gzip

import pytest

import memprof

PROGRAM = """
    import time
    kept, cache = [], {}
    def leak(size): kept.append(bytearray(size))
    def temporary(size): return len(bytearray(size))
    def warm_up(): cache.update((i, bytearray(5000)) for i in range(40))
    memprof.start(4)
    warm_up()
    snapshots = []
    for number in range(1500):
        leak(3000)
        temporary(20_000)
        time.sleep(0.001)
        if number in (500, 1000):
            snapshots.append(memprof.get_snapshot())
    last = memprof.get_snapshot()
"""


def test_leaks_and_churn_of_snapshots_and_files(run, tmp_path):
    path = tmp_path / "heap.pb.gz"
    result = run(PROGRAM + f"""
    one = last.leaks()
    several = memprof.leaks(*snapshots, last, by="line")
    expected = last.leaks(expect="leak$|<module>")
    churn = last.churn(younger_ns=10_000_000)
    last.save({str(path)!r})
    verdict = lambda answer: {{row["name"].split(" ")[0]: row["verdict"] for row in answer["rows"]}}
    report([one["suspects"], verdict(one), one["rows"][0]["reason"], several["profiles"], several["suspects"],
            expected["suspects"], churn["rows"][0]["name"], verdict(memprof.leaks({str(path)!r})) == verdict(one)])
    """)
    suspects, verdicts, reason, profiles, of_several, of_expected, most, is_same = result.value
    assert suspects == 1 and verdicts["leak"] == "leak" and verdicts.get("warm_up") != "leak"
    assert "never freed" in reason or "nearly no block of this place is freed" in reason
    assert (profiles, of_several, of_expected) == (3, 1, 0)
    assert most == "temporary" and is_same


def test_what_cannot_be_asked(tmp_path):
    with pytest.raises(ValueError, match="leaks: no profile given"):
        memprof.leaks()
    with pytest.raises(ValueError, match="leaks: by is 'color'; give one of function"):
        memprof.leaks("heap.pb.gz", by="color")
    with pytest.raises(ValueError, match="churn: younger_ns is 0"):
        memprof.churn("heap.pb.gz", younger_ns=0)
    with pytest.raises(ValueError, match="leaks: .*nothing.pb.gz"):
        memprof.leaks(tmp_path / "nothing.pb.gz")
    odd = tmp_path / "odd.pb.gz"
    odd.write_bytes(gzip.compress(b"no profile"))
    with pytest.raises(ValueError, match="churn: .*odd.pb.gz"):
        memprof.churn(odd)


def test_share_of_each_sample_that_is_in_memory(run):
    result = run("""

        def untouched(): return bytes(64 << 20)
        memprof.start(0)
        full, empty = bytearray(b"x") * (8 << 20), untouched()
        snapshot = memprof.get_snapshot()
        before = [sample.resident_share for sample in snapshot.samples]
        snapshot.resident_memory()
        shares = {sample.size >> 20: sample.resident_share for sample in snapshot.samples if sample.size > 4 << 20}
        report([before.count(None) == len(before), shares])
    """)
    unknown, shares = result.value
    shares = {int(size): share for size, share in shares.items()}
    assert unknown
    assert shares[8] > 0.99
    assert shares[64] < 0.5  # bytes(n) is calloc: huge pages may give it some
