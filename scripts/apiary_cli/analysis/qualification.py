"""What a qualification finds: a trial for each comparison of copies of one program, the rates of false alarms and of
detection, and qualify.csv."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

from ..base import stats
from ..race import plans, tables
from . import comparing

PAIRS = 3  # tested pairs in a batch, beside the one that sets the margin
SLOW = {"slow5": 1.05, "slow10": 1.10}
COLUMNS = "batch,scenario,scenario_params,placement,kind,n_pairs,ratio,ci_lo,ci_hi,margin,verdict".split(",")


def points(placement: str = "one_cpu") -> tuple[plans.Point, ...]:
    """Two of those that gate, or two free ones."""
    return tuple(point for point in plans.plan("gate").points if point.placement == placement)[:2]


@dataclass(frozen=True)
class Trial:
    """One comparison of a batch: what was built in, and what the race would have said."""

    batch: int
    point: plans.Point
    kind: str  # aa, slow5, slow10
    found: stats.Estimate
    margin: float
    verdict: str


def interval(hits: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a rate."""
    if n == 0:
        return 0.0, 1.0
    z = 1.959964
    rate, z2 = hits / n, z * z
    middle = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = z * math.sqrt(rate * (1 - rate) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def judge(rows: list[dict[str, str]], batch: int, raced: tuple[plans.Point, ...]) -> list[Trial]:
    """What a race would say of this batch."""
    out = []
    for point in raced:
        where = point.scenario.name, point.params_text, point.placement
        group = [r for r in comparing.good(rows) if comparing.key_of(r) == where]
        metric = point.metric

        def estimate(one: str, other: str) -> stats.Estimate | None:
            pairs = comparing.paired(group, comparing.Pairing(one, other, "aa"), metric)
            flat = [pair for found in pairs.values() for pair in found]
            return stats.estimate(flat) if flat else None

        reference = estimate("margin0", "margin1")
        margin = stats.margin(reference.half_width if reference else None)
        tested = [("aa", f"pair{i}a", f"pair{i}b") for i in range(PAIRS)] + [(k, k, "margin0") for k in SLOW]
        for kind, one, other in tested:
            found = estimate(one, other)
            if found:
                verdict = stats.verdict(found, margin, metric.better)
                out.append(Trial(batch, point, kind, found, margin, verdict))
    return out


def lines(trials: list[Trial]) -> list[str]:
    """The result in words."""
    out = []
    for kind in ("aa", *SLOW):
        mine = [t for t in trials if t.kind == kind]
        if not mine:
            continue
        alarm = (stats.REGRESSED, stats.IMPROVED) if kind == "aa" else (stats.REGRESSED,)
        hits = sum(t.verdict in alarm for t in mine)
        lo, hi = interval(hits, len(mine))
        what = "equal copies called different" if kind == "aa" else f"{kind[4:]} % built in, called REGRESSED"
        margins = [100 * t.margin for t in mine]
        ratios = [t.found.ratio for t in mine]
        out.append(
            f"{what}: {hits} of {len(mine)} ({100 * hits / len(mine):.1f} %, interval {100 * lo:.1f} to "
            f"{100 * hi:.1f} %); median ratio ×{stats.median(ratios):.3f}, margin median "
            f"{stats.median(margins):.1f} %, most {max(margins):.1f} %"
        )
    return out


def alarm_rate(trials: list[Trial]) -> float:
    aa = [t for t in trials if t.kind == "aa"]
    return sum(t.verdict in (stats.REGRESSED, stats.IMPROVED) for t in aa) / max(1, len(aa))


def to_row(trial: Trial) -> dict[str, str]:
    n = tables.number
    return {
        "batch": str(trial.batch),
        "scenario": trial.point.scenario.name,
        "scenario_params": trial.point.params_text,
        "placement": trial.point.placement,
        "kind": trial.kind,
        "n_pairs": str(trial.found.n),
        "ratio": n(trial.found.ratio),
        "ci_lo": n(trial.found.lo),
        "ci_hi": n(trial.found.hi),
        "margin": n(trial.margin),
        "verdict": trial.verdict,
    }


def read(path: Path) -> list[Trial]:
    """The lines of qualify.csv; the bootstrap's distribution is not kept there."""
    known = [*points("one_cpu"), *points("free"), *(replace(one, placement="one_cpu") for one in points("free"))]
    point = {(one.scenario.name, one.params_text, one.placement): one for one in known}
    return [
        Trial(
            int(row["batch"]),
            point[row["scenario"], row["scenario_params"], row["placement"]],
            row["kind"],
            stats.Estimate(int(row["n_pairs"]), *(math.log(float(row[name])) for name in ("ratio", "ci_lo", "ci_hi"))),
            float(row["margin"]),
            row["verdict"],
        )
        for row in tables.read(path, COLUMNS)
    ]
