"""Open-loop plans: the intended release times that every arm of a round is given."""

from __future__ import annotations

import random
from pathlib import Path

ARRIVALS = ("poisson", "fixed")


def times(rate: int, seconds: float, seed: int, arrival: str = "poisson") -> list[int]:
    """Ascending nanoseconds after the start. The count is rate × seconds, whatever the arrivals,
    so that every round does equal work."""
    count = round(rate * seconds)
    if arrival == "fixed":
        return [i * 1_000_000_000 // rate for i in range(count)]
    if arrival != "poisson":
        raise ValueError(f"arrival is {arrival!r}; it can be {' or '.join(ARRIVALS)}")
    source, now, out = random.Random(seed), 0.0, []
    for _ in range(count):
        now += source.expovariate(rate)
        out.append(round(now * 1e9))
    return out


def text(rate: int, seconds: float, seed: int, arrival: str = "poisson") -> str:
    head = f"# apiary plan: {arrival} arrivals, {rate} per second, {seconds:g} s, seed {seed}\n"
    return head + "".join(f"{t}\n" for t in times(rate, seconds, seed, arrival))


def write(path: Path, rate: int, seconds: float, seed: int, arrival: str = "poisson") -> Path:
    path.write_text(text(rate, seconds, seed, arrival))
    return path


def read(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().splitlines() if line and not line.startswith("#")]
