"""Further rounds for points that could not tell a tenth yet, by a rule that is fixed beforehand: by the width of a program's own
A/A pair alone, never by a ratio to another program. So no round is added because of what it might show."""

from __future__ import annotations

from typing import Iterable

from ..base import stats
from .plans import Point


def told_by(copy: stats.Estimate) -> float:
    """The least difference that a point of this A/A pair lets tell, by the pair's width alone."""
    return stats.resolution(max(stats.LEAST_MARGIN, 2 * copy.half_width), copy, None)


def pair(rows: list[dict[str, str]], point: Point, name: str) -> stats.Estimate | None:
    """This program's A/A pair at a point; None where there are too few pairs to say."""
    values: dict[str, dict[str, float]] = {name: {}, f"{name}-aa": {}}
    for row in rows:
        if row["subject"] in values and row["status"] == "ok" and (value := point.metric.value(row)):
            values[row["subject"]][row["round"]] = value
    one, copy = values.values()
    pairs = [(copy[number], one[number]) for number in one if number in copy]
    return stats.estimate(pairs) if len(pairs) >= stats.LEAST_PAIRS else None


def blunt(rows: list[dict[str, str]], points: Iterable[Point], batch: int) -> list[Point]:
    """The points of this batch at which some program's own pair is too wide to tell a tenth."""
    out = []
    for point in points:
        there = [row for row in rows if row["batch"] == str(batch)
                 and (row["scenario"], row["scenario_params"], row["placement"]) == point.key]
        copied = sorted({row["subject"].removesuffix("-aa") for row in there if row["role"] == "aa"})
        pairs = filter(None, (pair(there, point, name) for name in copied))
        if any(told_by(found) > stats.COARSE for found in pairs):
            out.append(point)
    return out
