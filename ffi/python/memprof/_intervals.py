# SPDX-License-Identifier: Apache-2.0
"""Sums of samples as estimates with 95 % intervals, which the library computes (memprof.h, "Estimates")."""
from __future__ import annotations

from typing import Any

from memprof._library import check, ffi, lib
from memprof._model import Estimate

_NOT_ASKED = ffi.NULL


def _rounded(estimate: Any) -> Estimate:
    return Estimate(estimate.value, estimate.low, estimate.high)


class Sum:
    """Live samples of any stacks, added up.  Samples of one size and rate are kept as one number."""

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: dict[tuple[int, int], int] = {}

    def add(self, size_bytes: int, rate_bytes: int, count: int = 1) -> None:
        """Live samples of one size and rate."""
        key = (size_bytes, rate_bytes)
        self._samples[key] = self._samples.get(key, 0) + count

    def _groups(self) -> Any:
        return ffi.new("memprof_sample_group[]", [(size, rate, n) for (size, rate), n in self._samples.items()])

    def bytes(self) -> Estimate:
        """Bytes that the samples stand for."""
        size = ffi.new("memprof_estimate*")
        check(lib.memprof_estimate_samples(self._groups(), len(self._samples), size, _NOT_ASKED), "memprof")
        return _rounded(size)

    def blocks(self) -> Estimate:
        """Blocks that the samples stand for."""
        blocks = ffi.new("memprof_estimate*")
        check(lib.memprof_estimate_samples(self._groups(), len(self._samples), _NOT_ASKED, blocks), "memprof")
        return _rounded(blocks)

    def growth_since(self, before: Sum) -> Estimate:
        """Bytes that these samples stand for, less those of `before`: samples of other blocks."""
        growth = ffi.new("memprof_estimate*")
        check(lib.memprof_estimate_difference(before._groups(), len(before._samples), self._groups(), len(self._samples),
                                              growth, _NOT_ASKED), "memprof")
        return _rounded(growth)


class Totals:
    """Running totals of any stacks (memprof_totals), added up."""

    __slots__ = ("_totals", "_value")

    def __init__(self) -> None:
        self._totals: list[bytes] = []
        self._value = 0.0

    def add(self, totals: Any) -> None:
        """Of one stack."""
        self._totals.append(ffi.buffer(ffi.addressof(totals))[:])
        self._value += totals.weight_bytes

    def value(self) -> float:
        """Estimated bytes, without the cost of the interval."""
        return self._value

    def _array(self) -> Any:
        return ffi.from_buffer("memprof_totals[]", b"".join(self._totals))

    def bytes(self) -> Estimate:
        """Bytes that the samples stand for."""
        size = ffi.new("memprof_estimate*")
        check(lib.memprof_estimate_totals(self._array(), len(self._totals), size, _NOT_ASKED), "memprof")
        return _rounded(size)

    def blocks(self) -> Estimate:
        """Blocks that the samples stand for."""
        blocks = ffi.new("memprof_estimate*")
        check(lib.memprof_estimate_totals(self._array(), len(self._totals), _NOT_ASKED, blocks), "memprof")
        return _rounded(blocks)
