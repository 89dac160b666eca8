"""Open-loop plans: the intended release times that every arm of a round is given."""

from __future__ import annotations

import random


def times(rate: int, seconds: float, seed: int) -> list[int]:
    """Ascending nanoseconds after the start, by Poisson. The count is rate × seconds, so that every round does equal work."""
    source, now, out = random.Random(seed), 0.0, []
    for _ in range(round(rate * seconds)):
        now += source.expovariate(rate)
        out.append(round(now * 1e9))
    return out


def text(rate: int, seconds: float, seed: int) -> str:
    head = f"# apiary plan: poisson arrivals, {rate} per second, {seconds:g} s, seed {seed}\n"
    return head + "".join(f"{t}\n" for t in times(rate, seconds, seed))
