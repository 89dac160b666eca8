"""Points and metrics that many tests need, by short names."""

from __future__ import annotations

import dataclasses

from apiary_cli.race import plans
from apiary_cli.race.scenarios import SCENARIOS


def blocks(name: str, placement: str = "free", lasts: float = 0.0, **params: int | str) -> plans.Point:
    return plans.Point(SCENARIOS[name], tuple((key, str(params[key])) for key in sorted(params)), placement, lasts)


def throughput(producers: int, placement: str = "free") -> plans.Point:
    return blocks("post_throughput", placement, producers=producers, batch=1)


def latency(rate: int, seconds: float, **params: int) -> plans.Point:
    return blocks("post_latency", lasts=seconds, rate=rate, **params)


def timers(delay_us: int, pending: int, ops: int) -> plans.Point:
    return blocks("timer_lateness", delay_us=delay_us, ops=ops, pending=pending)


def with_workers(point: plans.Point, workers: int) -> plans.Point:
    return dataclasses.replace(point, params=(*point.params, ("workers", str(workers))))


def with_rivals(point: plans.Point, rivals: int) -> plans.Point:
    return dataclasses.replace(point, params=(*point.params, ("rivals", str(rivals))))


def copied(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """These, and those of each candidate's copy, as a race has them: the same figures under a second name."""
    ours = (row for row in rows if row["role"] == "candidate")
    return rows + [row | {"subject": f"{row['subject']}-aa", "role": "aa", "row_kind": "control"} for row in ours]


PINNED = tuple(point for point in plans.plan("gate").points if point.placement == "one_cpu")
POSTS = PINNED[0]
SUCCESSOR = PINNED[2]
