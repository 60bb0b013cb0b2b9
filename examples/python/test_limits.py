# SPDX-License-Identifier: Apache-2.0
"""Limits of memory as tests: pytest --memprof test_limits.py"""
import pytest

cache = {}


def squares(n):
    return [i * i for i in range(n)]


@pytest.mark.limit_memory("24 MB")
def test_a_buffer_at_a_time():
    for _ in range(100):
        assert len(bytearray(10_000_000)) == 10_000_000  # 1 GB in all, 10 MB at once


@pytest.mark.limit_leaks("1 MB")
def test_the_cache_stays_small():
    for n in range(200):
        cache[n % 10] = squares(1000)
