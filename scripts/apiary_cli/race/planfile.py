"""Open-loop plans: the intended release times that every arm of a round is given."""

from __future__ import annotations

import itertools
import random


def times(rate: int, seconds: float, seed: int) -> list[int]:
    """Ascending nanoseconds after the start, by Poisson. The count is rate × seconds, so that every round does equal work."""
    source = random.Random(seed)
    gaps = (source.expovariate(rate) for _ in range(round(rate * seconds)))
    return [round(now * 1e9) for now in itertools.accumulate(gaps)]


def text(rate: int, seconds: float, seed: int) -> str:
    head = f"# apiary plan: poisson arrivals, {rate} per second, {seconds:g} s, seed {seed}"
    return "\n".join([head, *map(str, times(rate, seconds, seed)), ""])
