"""THE statistics: paired log ratios, trimmed mean, bootstrap interval, verdict, false-discovery control.

A round gives a pair (candidate, baseline), or two or three. The estimate is the 20 % trimmed mean of
ln(candidate / baseline) over pairs; its interval is the percentile bootstrap over pairs.
"""

from __future__ import annotations

import bisect
import functools
import math
from dataclasses import dataclass
from typing import Sequence

TRIM = 0.20
RESAMPLES = 4000
SEED = 20240229
CONFIDENCE = 0.95
LEAST_MARGIN = 0.03
MOST_EQUIVALENT = 0.10  # a wider interval is never called equivalent
COARSE = 0.10  # a resolution wider than this does not tell the difference that people ask about
LEAST_PAIRS = 5
FALSE_DISCOVERY = 0.05

IMPROVED, REGRESSED, EQUIVALENT, INCONCLUSIVE = "IMPROVED", "REGRESSED", "EQUIVALENT", "INCONCLUSIVE"


def trimmed_mean(values: Sequence[float], trim: float = TRIM) -> float:
    """The mean without the lowest and the highest `trim` share."""
    ordered = sorted(values)
    cut = math.floor(trim * len(ordered))
    kept = ordered[cut : len(ordered) - cut]
    return math.fsum(kept) / len(kept)


def median(values: Sequence[float]) -> float:
    return quantile(values, 0.5)


def quantile(values: Sequence[float], q: float) -> float:
    """Linear interpolation between order statistics (type 7)."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def coefficient_of_variation(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    if len(values) < 2 or mean == 0:
        return 0.0
    return math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)) / abs(mean)


@functools.lru_cache(maxsize=16)
def resample_indices(n: int, resamples: int, seed: int):
    """The same resamples for every row of the same length: rows differ by data, not by luck. They are those that Python's
    own generator of this seed would draw: numpy has the same twister, seeded by the words of a number."""
    import numpy  # here, so that setup runs without it

    number = seed * 1_000_003 + n
    words = [number >> shift & 0xFFFFFFFF for shift in range(0, number.bit_length(), 32)]
    return (numpy.random.RandomState(words).random_sample((resamples, n)) * n).astype(numpy.intp)


def bootstrap(values: Sequence[float], resamples: int = RESAMPLES, seed: int = SEED) -> list[float]:
    """The sorted bootstrap distribution of the trimmed mean."""
    return list(distribution_of(tuple(values), resamples, seed))


@functools.lru_cache(maxsize=4096)
def distribution_of(values: tuple[float, ...], resamples: int, seed: int) -> tuple[float, ...]:
    """Kept, because a race compares its rows several times: for a second batch, its tables, its report."""
    import numpy

    n, cut = len(values), math.floor(TRIM * len(values))
    drawn = numpy.sort(numpy.array(values)[resample_indices(n, resamples, seed)], axis=1)
    return tuple(numpy.sort(drawn[:, cut : n - cut].mean(axis=1)).tolist())


@dataclass(frozen=True)
class Estimate:
    """A log ratio with its interval; the bootstrap distribution is kept for p-values."""

    n: int
    log_ratio: float
    log_lo: float
    log_hi: float
    distribution: tuple[float, ...] = ()

    @property
    def ratio(self) -> float:
        return math.exp(self.log_ratio)

    @property
    def lo(self) -> float:
        return math.exp(self.log_lo)

    @property
    def hi(self) -> float:
        return math.exp(self.log_hi)

    @property
    def log_half_width(self) -> float:
        return (self.log_hi - self.log_lo) / 2

    @property
    def half_width(self) -> float:
        """As a share: 0.02 means plus or minus two per cent."""
        return math.exp(self.log_half_width) - 1


def estimate(pairs: Sequence[tuple[float, float]], resamples: int = RESAMPLES, seed: int = SEED) -> Estimate:
    """Of (candidate, baseline); a value that is not positive is an error of the caller."""
    d = [math.log(candidate / baseline) for candidate, baseline in pairs]
    distribution = distribution_of(tuple(d), resamples, seed)
    tail = (1 - CONFIDENCE) / 2
    return Estimate(len(d), trimmed_mean(d), quantile(distribution, tail), quantile(distribution, 1 - tail),
                    distribution)


def margin(copy: Estimate | None) -> float:
    """By the A/A pair: max(3 %, twice its half-width, |estimate| + half-width). So what a program showed against its own
    copy is never called a difference."""
    if copy is None:
        return LEAST_MARGIN
    return max(LEAST_MARGIN, 2 * copy.half_width, math.expm1(abs(copy.log_ratio) + copy.log_half_width))


def resolution(m: float, copy: Estimate, slow: Estimate | None) -> float:
    """The least difference that would have been told at margin m: one whose interval, as wide as that of the A/A pair or of the
    built-in slow-down, lies beyond m. A slow-down that was not told itself says so: no less than it may have been."""
    noise = max([copy.log_half_width, *([slow.log_half_width] if slow else [])])
    least = math.log1p(m) + noise
    return math.expm1(max(least, slow.log_hi) if slow and slow.log_lo <= math.log1p(m) else least)


def copy_differs(found: Estimate) -> bool:
    """THE test of an A/A pair, by nothing but itself: its whole interval excludes 1, and its estimate is more than 3 % away."""
    excludes = found.log_lo > 0 or found.log_hi < 0
    return found.n >= LEAST_PAIRS and excludes and abs(found.log_ratio) > math.log1p(LEAST_MARGIN)


def toward_worse(found: Estimate, better: str) -> tuple[float, float]:
    """The interval on an axis where positive is worse."""
    if better == "lower":
        return found.log_lo, found.log_hi
    if better == "higher":
        return -found.log_hi, -found.log_lo
    raise ValueError(f"better is {better!r}; it can be lower or higher")


def equal_bound(m: float) -> float:
    """Noise makes no two programs equal: beyond a tenth a wide margin says only that nothing was seen."""
    return math.log1p(min(m, MOST_EQUIVALENT))


def verdict(found: Estimate, m: float, better: str) -> str:
    """The candidate against the baseline at margin m."""
    if found.n < LEAST_PAIRS:
        return INCONCLUSIVE
    low, high = toward_worse(found, better)
    bound = math.log1p(m)
    if low > bound:
        return REGRESSED
    if high < -bound:
        return IMPROVED
    equal = equal_bound(m)
    if -equal <= low and high <= equal:
        return EQUIVALENT
    return INCONCLUSIVE


def verdict_of_copy(found: Estimate, m: float, better: str) -> str:
    """An A/A pair that differs says on which side; the margin, which is made of it, can say nothing else of it."""
    return verdict(found, 0.0 if copy_differs(found) else m, better)


def p_value(found: Estimate, m: float) -> float:
    """Two-sided bootstrap p of 'the difference lies outside the margin on neither side'."""
    bound, size = math.log1p(m), len(found.distribution)
    above = (1 + bisect.bisect_right(found.distribution, bound)) / (size + 1)
    below = (1 + size - bisect.bisect_left(found.distribution, -bound)) / (size + 1)
    return min(1.0, 2 * min(above, below))


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given."""
    n = len(p_values)
    adjusted, running = [0.0] * n, 1.0
    for rank, index in sorted(enumerate(sorted(range(n), key=p_values.__getitem__), start=1), reverse=True):
        running = min(running, p_values[index] * n / rank)
        adjusted[index] = running
    return adjusted


def adjusted(found: Sequence[tuple[Estimate, float]]) -> list[float]:
    """Of (estimate, margin): the p-values after the correction. The resamples give none below 2 in (resamples + 1), with which a
    lone difference among many would never be told, whatever its size. Where that is so, a fitted tail says how far it is beyond."""
    plain = [p_value(one, m) for one, m in found]
    finer = [min(p, 2 * fitted_tail(one, m)) if p_adjusted > FALSE_DISCOVERY and p <= 2 / (len(one.distribution) + 1) else p
             for (one, m), p, p_adjusted in zip(found, plain, benjamini_hochberg(plain))]
    return benjamini_hochberg(finer)


def fitted_tail(found: Estimate, m: float) -> float:
    """The tail within the margin of Student's t through the resamples, with the degrees of freedom of the pairs that trimming
    leaves (Yuen): a normal one would make too much of few pairs. A bound from above, next to it where it is small."""
    import numpy

    freedom, spread = found.n - 2 * math.floor(TRIM * found.n) - 1, float(numpy.std(found.distribution))
    if freedom < 1 or spread < 1e-12:  # nothing that could be fitted
        return 1.0
    t = (abs(float(numpy.mean(found.distribution))) - math.log1p(m)) / spread
    x, a = freedom / (freedom + t * t), freedom / 2
    log_beta = math.lgamma(a) + math.lgamma(0.5) - math.lgamma(a + 0.5)
    return math.exp(a * math.log(x) - log_beta) / (2 * a * math.sqrt(1 - x))


def after_discovery_control(word: str, p_adjusted: float) -> str:
    """A difference that does not survive the correction over rows is not claimed."""
    if word in (REGRESSED, IMPROVED) and p_adjusted > FALSE_DISCOVERY:
        return INCONCLUSIVE
    return word


def modes(values: Sequence[float], gap: float = 0.15) -> int:
    """How many clusters, where a relative step above `gap` between neighbours separates two,
    each of at least a fifth of the values."""
    ordered = sorted(values)
    steps = [i for i, (before, after) in enumerate(zip(ordered, ordered[1:]), 1) if after > before * (1 + gap)]
    groups = [end - begin for begin, end in zip([0, *steps], [*steps, len(ordered)])]
    return max(1, sum(group >= max(2, len(ordered) / 5) for group in groups))


MODES_APART = 1.5  # how far apart the middles of two modes are, at least
MODE_SHARE, MODE_LEAST, MODE_SAMPLES = 0.10, 4, 20
TOGETHER = 2.6  # standard deviations below the expected number of stretches
WITHIN = 0.02  # how seldom chance puts all slow figures into so short a time


def one_mode(arms: Sequence[Sequence[float]]) -> bool:
    """Whether there are enough figures to tell one mode from two, and they are in one."""
    return sum(map(len, arms)) >= MODE_SAMPLES and not two_modes(arms)


def two_modes(arms: Sequence[Sequence[float]]) -> tuple[list[float], list[float]] | None:
    """The two modes of equal programs' figures (each arm in the order of time), or None: two groups that do not stand
    together in time, which is the machine's doing."""
    found = two_groups([value for arm in arms for value in arm])
    return None if found and stand_together([[value >= found[1][0] for value in arm] for arm in arms]) else found


def two_groups(values: Sequence[float]) -> tuple[list[float], list[float]] | None:
    """Two groups, each of a tenth of the figures and of four at least, with a gap between them that is wider than either
    group (its 10th to its 90th percentile, on the logarithmic axis), and with middles ×1.5 apart; or None."""
    known = sorted(values)
    ordered = list(map(math.log, known))
    n = len(ordered)
    least = max(MODE_LEAST, math.ceil(MODE_SHARE * n))
    if n < MODE_SAMPLES:
        return None
    at = max(range(least, n - least + 1), key=lambda i: ordered[i] - ordered[i - 1])
    low, high = ordered[:at], ordered[at:]
    gap = high[0] - low[-1]
    if gap <= max(quantile(group, 0.9) - quantile(group, 0.1) for group in (low, high)):
        return None
    if median(high) - median(low) < math.log(MODES_APART):
        return None
    return known[:at], known[at:]


def stand_together(arms: Sequence[Sequence[bool]]) -> bool:
    """Whether slow figures form fewer stretches than chance would make of them (Wald and Wolfowitz), or all lie within so
    few rounds that chance would seldom put them there: within them the machine may be slow and quick by turns."""
    slow = [is_slow for arm in arms for is_slow in arm]
    n, count = len(slow), sum(slow)
    stretches = 1 + sum(a != b for a, b in zip(slow, slow[1:]))
    mean = 1 + 2 * count * (n - count) / n
    deviation = math.sqrt((mean - 1) * (mean - 2) / (n - 1)) if mean > 2 else 0.0
    rounds = [number for arm in arms for number, is_slow in enumerate(arm) if is_slow]
    most = min(n, len(arms) * (max(rounds) - min(rounds) + 1))
    return stretches < mean - TOGETHER * deviation or all_within(most, count, n) < WITHIN


def all_within(most: int, count: int, n: int) -> float:
    """How probable it is that `count` of n, drawn by chance, lie within some `most` neighbours."""
    return (math.comb(most, count) + (n - most) * math.comb(most - 1, count - 1)) / math.comb(n, count)


def ratio_text(ratio: float, lo: float | None = None, hi: float | None = None) -> str:
    """For people: two decimals, and two digits at least, or a small one's interval would look empty; with it when there is one."""
    decimals = max(2, 1 - math.floor(math.log10(ratio))) if ratio > 0 else 2
    interval = "" if lo is None or hi is None else f" [{lo:.{decimals}f}, {hi:.{decimals}f}]"
    return f"{ratio:.{decimals}f}{interval}"
