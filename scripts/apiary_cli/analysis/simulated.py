"""The rules of verdicts on made-up races in which every program is equal: what is claimed there is false."""

from __future__ import annotations

import random
from dataclasses import dataclass

from ..base import stats
from ..race import scenarios, sharpening
from . import comparing
from .comparing import Comparison, Pairing

ROUNDS, MOST_ROUNDS, RESAMPLES = 10, 20, 500  # as the plan publish
PEERS = ("one", "two", "three")


@dataclass(frozen=True)
class Found:
    """Of so many batches: how many are INVALID; and in how many of the others something is claimed, by verdict."""

    points: int
    noise: float
    batches: int
    invalid: int
    claiming: int
    claims: int
    tells: float  # the share of points that tell a tenth


def batch(points: int, noise: float, pick: random.Random) -> list[Comparison]:
    """Of equal programs and a slow-down of 10 %: each with `noise` as the standard deviation of a run's logarithm, a tenth of the
    runs with three times that. Points that cannot tell a tenth get further rounds, as in a race."""
    def draw() -> float:
        return pick.lognormvariate(0.0, noise * (3.0 if pick.random() < 0.1 else 1.0))

    out: list[Comparison] = []
    metric = scenarios.known_by("fib", "free")
    for number in range(points):
        runs = {name: [draw() for _ in range(ROUNDS)] for name in ("ours", "ours-aa", "ours-slow10", *PEERS)}
        while len(runs["ours"]) < MOST_ROUNDS and sharpening.told_by(copy(runs)) > stats.COARSE:
            for values in runs.values():
                values.append(draw())
        runs["ours-slow10"] = [1.1 * value for value in runs["ours-slow10"]]
        pairings = [Pairing("ours", peer, "peer") for peer in PEERS]
        pairings += [Pairing("ours-aa", "ours", "aa"), Pairing("ours-slow10", "ours", "slow10")]
        found = []
        for one in pairings:
            pairs = list(zip(runs[one.candidate], runs[one.baseline]))
            found.append(Comparison(("fib", f"n={number}", "free"), metric, one, stats.estimate(pairs, resamples=RESAMPLES), pairs))
        out += comparing.with_verdicts(found)
    comparing.void_failed_points(out)
    comparing.rank(out)
    return out


def copy(runs: dict[str, list[float]]) -> stats.Estimate:
    return stats.estimate(list(zip(runs["ours-aa"], runs["ours"])), resamples=RESAMPLES)


def simulate(points: int, noise: float, batches: int, seed: int = 1) -> Found:
    pick, invalid, claiming, claims, fine = random.Random(seed), 0, 0, 0, 0
    for _ in range(batches):
        made = batch(points, noise, pick)
        fine += sum(one.resolution <= stats.COARSE for one in made if one.claim) / len(PEERS)
        if comparing.validity(made).word == comparing.INVALID:
            invalid += 1
            continue
        false = sum(one.differs for one in made if one.claim)
        claiming, claims = claiming + bool(false), claims + false
    return Found(points, noise, batches, invalid, claiming, claims, fine / batches / points)
