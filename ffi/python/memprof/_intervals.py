# SPDX-License-Identifier: Apache-2.0
"""Estimates of sums of samples, with 95 % intervals: src/profile/estimate and missed_mass, for live samples.

Behind n samples of blocks of `step` bytes, each sampled with probability p, hide step * NegativeBinomial(n, p)
that were not.  Steps that are small beside the standard deviation of the sum make a shifted gamma with the same
three cumulants; larger ones are convolved exactly.  docs/decisions/0007 has the derivation; the tests compare
every number with what the command says of the same profile.
"""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from memprof._model import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    Atoms = list[tuple[float, float]]  # value, probability; ascending
    Group = tuple[float, float, float]  # step, probability, samples

_TAIL = 0.025
_EXTRA_SHARE = 0.7
_FINE = 0.1
_FINE_AMONG_SEVERAL = 0.2
_FEW_STEPS = 2
_MOST_CONVOLVED = 8
_MOST_ATOMS = 256
_NEGLIGIBLE = 1e-7


def probability(size_bytes: int, rate_bytes: int) -> float:
    """Of a block being sampled."""
    return 1.0 if rate_bytes <= 1 else -math.expm1(-max(size_bytes, 1) / rate_bytes)


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z * math.sqrt(0.5))


def _gamma_p(shape: float, x: float) -> float:
    """The regularised lower incomplete gamma function: a series below the mean, a continued fraction above."""
    if x <= 0:
        return 0.0
    factor = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        term = total = 1 / shape
        n = shape
        while term > total * 1e-15:
            n += 1
            term *= x / n
            total += term
        return min(1.0, factor * total)
    b = x + 1 - shape
    c = 1e300
    d = h = 1 / b
    for i in range(1, 10000):
        a = -i * (i - shape)
        b += 2
        d = 1 / ((a * d + b) or 1e-300)
        c = (b + a / c) or 1e-300
        h *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return max(0.0, 1 - factor * h)


def _shifted_gamma(mean: float, variance: float, third: float, normal_shape: float) -> Callable[[float], float]:
    """Its distribution function.  From `normal_shape` on a normal one of the cube root stands in."""
    if not variance > 0:
        return lambda x: 1.0 if x >= mean else 0.0
    deviation = math.sqrt(variance)
    if not third > 0:
        return lambda x: _normal_cdf((x - mean) / deviation)
    shape = 4 * variance ** 3 / third ** 2
    scale = third / (2 * variance)
    shift = mean - shape * scale

    def cdf(x: float) -> float:
        standard = (x - shift) / scale
        if standard <= 0:
            return 0.0
        if shape > normal_shape:
            return _normal_cdf(((standard / shape) ** (1 / 3) - 1 + 1 / (9 * shape)) * 3 * math.sqrt(shape))
        return _gamma_p(shape, standard)

    return cdf


def _merged(atoms: Atoms, least_width: float) -> Atoms:
    atoms.sort()
    spread = atoms[-1][0] - atoms[0][0]
    limit = max(least_width, 1e-9 * spread)
    while True:
        kept = [atoms[0]]
        begins = atoms[0][0]
        for at, chance in atoms[1:]:
            if at - begins <= limit:
                last_at, last = kept[-1]
                kept[-1] = (last_at + (at - last_at) * (chance / (last + chance)), last + chance)
            else:
                kept.append((at, chance))
                begins = at
        atoms = kept
        if len(atoms) <= _MOST_ATOMS:
            return atoms
        limit = max(2 * limit, spread / (2 * _MOST_ATOMS))


def _convolved(atoms: Atoms, group: Group) -> Atoms:
    step, p, samples = group
    terms: list[float] = []
    term = p ** samples
    total = 0.0
    while len(terms) < _MOST_ATOMS and total < 1 - _NEGLIGIBLE:
        k = len(terms)
        terms.append(term)
        total += term
        term *= (1 - p) * (samples + k) / (k + 1)
    return _merged([(at + k * step, chance * term) for at, chance in atoms for k, term in enumerate(terms)
                    if chance * term > _NEGLIGIBLE * 0.1], 0)


def _mixture(atoms: Atoms, rest: Callable[[float], float] | None) -> Callable[[float], float]:
    def cdf(x: float) -> float:
        total = 0.0
        for at, chance in atoms:
            if at > x:
                break
            total += chance * (rest(x - at) if rest else 1.0)
        return total

    return cdf


def _crossing(excess: Callable[[float], float], above: float, tolerance: float) -> tuple[float, float]:
    """Where `excess`, which does not decrease, becomes 0 or more, from 0 on."""
    below = 0.0
    at_below = excess(below)
    if at_below >= 0:
        return below, below
    at_above = excess(above)
    for _ in range(60):
        if at_above >= 0:
            break
        below, at_below = above, at_above
        above *= 2
        at_above = excess(above)
    for i in range(100):
        if above - below <= tolerance:
            break
        middle = 0.5 if i % 3 == 2 else -at_below / (at_above - at_below)
        at = below + (above - below) * min(max(middle, 0.02), 0.98)
        value = excess(at)
        if value >= 0:
            above, at_above = at, value
        else:
            below, at_below = at, value
    return below, above


def _cumulants(group: Group) -> tuple[float, float, float]:
    step, p, samples = group
    q, unit = 1 - p, step / p
    return samples * q * unit, samples * q * unit ** 2, samples * q * (1 + q) * unit ** 3


def _missed(groups: list[Group]) -> tuple[float, float, float]:
    """Mean of what was missed, and the ends of its interval."""
    hazard = missed_hazard = largest_mean = largest_step = 0.0
    for step, p, samples in groups:
        if p >= 1:
            hazard = math.inf
            continue
        part = -math.log1p(-p) * samples
        hazard += part
        if step > 0:
            mean = step * (1 - p) / p
            missed_hazard += part * mean / step
            if mean > largest_mean:
                largest_mean, largest_step = mean, step
    groups = [group for group in groups if group[1] < 1 and group[0] > 0]
    mean, variance, third = (sum(parts) for parts in zip(*map(_cumulants, groups))) if groups else (0.0, 0.0, 0.0)
    if not variance > 0:
        return 0.0, 0.0, 0.0
    deviation = math.sqrt(variance)
    fine = _FINE * deviation
    felt = [group for group in groups if group[0] > fine]
    if len(felt) > _FEW_STEPS:
        fine = _FINE_AMONG_SEVERAL * deviation
        felt = [group for group in felt if group[0] > fine]
    felt = sorted(felt, key=lambda group: -_cumulants(group)[1])[:_MOST_CONVOLVED]
    rest = [mean, variance, third]
    atoms: Atoms = [(0.0, 1.0)]
    for group in sorted(felt):
        rest = [all_of - part for all_of, part in zip(rest, _cumulants(group))]
        atoms = _convolved(atoms, group)
    has_rest = not felt or rest[1] > 1e-9 * variance
    is_mixed = has_rest and bool(felt)
    normal_shape = 20.0 if is_mixed else 200.0
    if is_mixed:
        atoms = _merged(atoms, _FINE * deviation)
    missed = _mixture(atoms, _shifted_gamma(rest[0], rest[1], rest[2], normal_shape) if has_rest else None)

    extra: Group = (largest_step, largest_step / (largest_step + largest_mean), 1.0)
    if largest_step > fine:
        with_extra = _mixture(_convolved(list(atoms), extra),
                              _shifted_gamma(rest[0], rest[1], rest[2], normal_shape) if has_rest else None)
    else:
        more = [a + b for a, b in zip(rest if has_rest else (0.0, 0.0, 0.0), _cumulants(extra))]
        with_extra = _mixture(atoms, _shifted_gamma(more[0], more[1], more[2], normal_shape))

    tolerance = (1e-4 if has_rest else 1e-7) * deviation
    per_unit = missed_hazard / mean
    low, _ = _crossing(lambda x: missed(x) - _TAIL * -math.expm1(-hazard - per_unit * x), mean, tolerance)
    _, high = _crossing(lambda x: (1 - _EXTRA_SHARE) * missed(x) + _EXTRA_SHARE * with_extra(x) - (1 - _TAIL),
                        mean + 2 * deviation + largest_mean, tolerance)
    return mean, low, high


class Sum:
    """Samples of any stacks, added up.  Samples of one size and rate are kept as one number."""

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: dict[tuple[int, int], int] = {}

    def add(self, size_bytes: int, rate_bytes: int) -> None:
        """One live sample."""
        key = (size_bytes, rate_bytes)
        self._samples[key] = self._samples.get(key, 0) + 1

    def value(self) -> float:
        """Estimated bytes, without the cost of the interval."""
        return sum(n * size / probability(size, rate) for (size, rate), n in self._samples.items())

    def bytes(self) -> Estimate:
        """Bytes that the samples stand for."""
        return self._estimate(lambda size: float(size))

    def blocks(self) -> Estimate:
        """Blocks that the samples stand for."""
        return self._estimate(lambda size: 1.0)

    def _estimate(self, step: Callable[[int], float]) -> Estimate:
        # Groups of one step and probability: blocks of 0 bytes weigh nothing.
        groups = [(step(size), probability(size, rate), float(n)) for (size, rate), n in self._samples.items()]
        certain = sum(size * n for size, _, n in groups)
        mean, low, high = _missed(groups)
        return Estimate(certain + mean, certain + low, certain + high)


def _groups_of(totals: Any) -> tuple[list[Group], list[Group]]:
    """What is known of the samples behind running totals (memprof_totals): groups for blocks and for bytes, as
    src/profile/model/estimate.cc makes them."""
    n, size = float(totals.samples), float(totals.size_bytes)
    missed_count, missed_bytes = totals.weight_count - n, totals.weight_bytes - size
    most = totals.max_missed_count
    if n == 0 or not most > 0:
        return [(1.0, 1.0, n)], [(size, 1.0, 1.0)]
    if abs(most * n - missed_count) <= 1e-6 * missed_count + 1e-12 * totals.weight_count:
        p = 1 / (1 + most)
        return [(1.0, p, n)], [(size / n, p, n)]
    c1, s1 = 1 + most, totals.max_missed_bytes / most
    below = s1 * c1 * n + totals.weight_bytes - s1 * totals.weight_count - c1 * size
    n1 = (totals.weight_bytes * n - size * totals.weight_count) / below if below else 0.0
    n2 = n - n1
    if n1 > 0 and n2 > 0 and totals.weight_count > n1 * c1:
        s2, p2 = (size - n1 * s1) / n2, n2 / (totals.weight_count - n1 * c1)
        if s2 > s1 and 0 < p2 <= 1:
            return [(1.0, 1 / c1, n1), (1.0, p2, n2)], [(s1, 1 / c1, n1), (s2, p2, n2)]
    # Of moments alone: blocks of one small step with the same mean and variance.
    return ([_with_moments(missed_count, totals.variance_count), (n, 1.0, 1.0)],
            [_with_moments(missed_bytes, totals.variance_bytes), (size, 1.0, 1.0)])


def _with_moments(mean: float, variance: float) -> Group:
    return (variance / (2 * mean), 0.5, 2 * mean ** 2 / variance) if mean > 0 and variance > 0 else (0.0, 0.5, 0.0)


class Totals:
    """Running totals of any stacks (memprof_totals), added up."""

    __slots__ = ("_blocks", "_bytes", "_certain_blocks", "_certain_bytes", "_value")

    def __init__(self) -> None:
        self._blocks: list[Group] = []
        self._bytes: list[Group] = []
        self._certain_blocks = self._certain_bytes = self._value = 0.0

    def add(self, totals: Any) -> None:
        """Of one stack."""
        blocks, size = _groups_of(totals)
        self._blocks += blocks
        self._bytes += size
        self._certain_blocks += totals.samples
        self._certain_bytes += totals.size_bytes
        self._value += totals.weight_bytes

    def value(self) -> float:
        """Estimated bytes, without the cost of the interval."""
        return self._value

    def bytes(self) -> Estimate:
        """Bytes that the samples stand for."""
        return self._estimate(self._certain_bytes, self._bytes)

    def blocks(self) -> Estimate:
        """Blocks that the samples stand for."""
        return self._estimate(self._certain_blocks, self._blocks)

    @staticmethod
    def _estimate(certain: float, groups: list[Group]) -> Estimate:
        together: dict[tuple[float, float], float] = {}
        for step, p, samples in groups:
            together[step, p] = together.get((step, p), 0.0) + samples
        mean, low, high = _missed([(step, p, samples) for (step, p), samples in together.items()])
        return Estimate(certain + mean, certain + low, certain + high)
