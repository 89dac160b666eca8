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

    @property
    def alarm(self) -> bool:
        """Copies called different, or a slow-down called one."""
        return self.verdict == stats.REGRESSED or (self.kind == "aa" and self.verdict == stats.IMPROVED)


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
    tested = [("aa", f"pair{i}a", f"pair{i}b") for i in range(PAIRS)] + [(kind, kind, "margin0") for kind in SLOW]
    out = []
    for point in raced:
        group, metric = [row for row in comparing.good(rows) if comparing.key_of(row) == point.key], point.metric

        def estimate(one: str, other: str) -> stats.Estimate | None:
            batches = comparing.paired(group, comparing.Pairing(one, other, "aa"), metric)
            return stats.estimate([pair for pairs in batches for pair in pairs]) if batches else None

        reference = estimate("margin0", "margin1")
        margin = stats.margin(reference)
        for kind, one, other in tested:
            if found := estimate(one, other):
                out.append(Trial(batch, point, kind, found, margin, stats.verdict(found, margin, metric.better)))
    return out


def lines(trials: list[Trial]) -> list[str]:
    """The result in words."""
    out = []
    for kind in ("aa", *SLOW):
        mine = [trial for trial in trials if trial.kind == kind]
        if mine:
            hits, n = sum(trial.alarm for trial in mine), len(mine)
            lo, hi = interval(hits, n)
            what = "equal copies called different" if kind == "aa" else f"{kind[4:]} % built in, called REGRESSED"
            margins = [100 * trial.margin for trial in mine]
            out.append(
                f"{what}: {hits} of {n} ({100 * hits / n:.1f} %, interval {100 * lo:.1f} to {100 * hi:.1f} %); median ratio "
                f"×{stats.median([trial.found.ratio for trial in mine]):.3f}, margin median {stats.median(margins):.1f} %, "
                f"most {max(margins):.1f} %"
            )
    return out


def alarm_rate(trials: list[Trial]) -> float:
    aa = [trial.alarm for trial in trials if trial.kind == "aa"]
    return sum(aa) / max(1, len(aa))


def to_row(trial: Trial) -> dict[str, str]:
    found = (trial.found.ratio, trial.found.lo, trial.found.hi, trial.margin)
    cells = (str(trial.batch), *trial.point.key, trial.kind, str(trial.found.n), *map(tables.number, found), trial.verdict)
    return dict(zip(COLUMNS, cells, strict=True))


def read(path: Path) -> list[Trial]:
    """The lines of qualify.csv; the bootstrap's distribution is not kept there."""
    known = [*points("one_cpu"), *points("free"), *(replace(one, placement="one_cpu") for one in points("free"))]
    point, out = {one.key: one for one in known}, []
    for row in tables.read(path, COLUMNS):
        logs = (math.log(float(row[name])) for name in ("ratio", "ci_lo", "ci_hi"))
        found = stats.Estimate(int(row["n_pairs"]), *logs)
        out.append(Trial(int(row["batch"]), point[comparing.key_of(row)], row["kind"], found, float(row["margin"]), row["verdict"]))
    return out
