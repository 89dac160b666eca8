"""Two result folders against each other.

Their rounds are not pairs: they ran at different times. What carries over is each scheduler's ratio
to the peers that ran beside it in the same rounds, as long as those are the same builds. So the figure
is a ratio of ratios: (ours / peers) in NEW over (ours / peers) in OLD, the peers' geometric mean taken
round by round. Without a common peer the medians are shown, and nothing is decided.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import defaultdict
from dataclasses import dataclass

from ..base import stats
from ..race import scenarios
from ..race.metrics import Metric
from . import comparing
from .comparing import Row


@dataclass(frozen=True)
class FolderComparison:
    """One scheduler at one point by one metric, NEW over OLD."""

    key: comparing.Key
    metric: Metric
    subject: str
    anchors: tuple[str, ...]
    found: stats.Estimate
    margin: float
    verdict: str
    flags: tuple[str, ...]


def logs(rows: list[Row], subject: str, anchors: list[str], metric: Metric) -> list[float]:
    """ln(subject / geometric mean of the anchors) for each round in which all of them have a value."""
    rounds: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    for row in rows:
        if value := metric.value(row):
            rounds[row["batch"], int(row["round"])][row["subject"]] = math.log(value)
    whole = [cell for _, cell in sorted(rounds.items()) if cell.keys() >= {subject, *anchors}]
    return [cell[subject] - (statistics.fmean(cell[a] for a in anchors) if anchors else 0.0) for cell in whole]


def difference(old: list[float], new: list[float]) -> stats.Estimate:
    """Trimmed mean of NEW less that of OLD; the two bootstraps are independent."""
    before, after = stats.bootstrap(old), stats.bootstrap(new, seed=stats.SEED + 1)
    # Both come sorted: pair them at random, but always the same way.
    random.Random(stats.SEED).shuffle(after)
    spread = sorted(a - b for a, b in zip(after, before))
    tail = (1 - stats.CONFIDENCE) / 2
    return stats.Estimate(
        min(len(old), len(new)), stats.trimmed_mean(new) - stats.trimmed_mean(old),
        stats.quantile(spread, tail), stats.quantile(spread, 1 - tail), tuple(spread),
    )


def half_width(rows: list[Row], key: comparing.Key, metric: Metric) -> float:
    """Of the A/A pair of that point, or 0."""
    found = [comparing.comparison(key, metric, p, rows) for p in comparing.pairings(rows) if p.kind == "aa"]
    return next((one.found.half_width for one in found if one), 0.0)


def compare(old_rows: list[Row], new_rows: list[Row]) -> list[FolderComparison]:
    """Every scheduler of ours at every point that both folders have."""
    folders = []
    for rows in map(comparing.good, (old_rows, new_rows)):
        folders.append(defaultdict(list))
        for row in rows:
            folders[-1][comparing.key_of(row)].append(row)
    old, new = folders
    out = []
    for key in sorted(old.keys() & new.keys()):
        both = old[key], new[key]
        builds = ({(r["subject"], r["subject_version"], r["build_id"]) for r in rows if r["role"] == "peer"} for rows in both)
        anchors = sorted(name for name, *_ in set.intersection(*builds))
        ours = set.intersection(*({r["subject"] for r in rows if r["role"] == "candidate"} for rows in both))
        for metric in scenarios.metrics_of(key[0], key[2]):
            out += filter(None, (between(key, metric, subject, anchors, both) for subject in sorted(ours)))
    return out


def between(
    key: comparing.Key, metric: Metric, subject: str, anchors: list[str], both: tuple[list[Row], list[Row]]
) -> FolderComparison | None:
    """`both`: the rows of this point in OLD and in NEW."""
    # A peer that has no value by this metric (too few samples for a percentile) is no anchor.
    valued = [a for a in anchors if all(any(r["subject"] == a and metric.value(r) for r in rows) for rows in both)]
    every = [logs(rows, subject, valued, metric) for rows in both]
    if not all(every):
        return None
    # As in a race: without the rounds in which the injector made a figure, unless those are more than half.
    free = ([row for row in rows if not comparing.limited(row, metric)] for rows in both)
    kept = [logs(rows, subject, valued, metric) for rows in free]
    ranked = all(map(comparing.enough, kept, every))
    count = sum(map(len, every))
    dropped = count - sum(map(len, kept))
    found, whole = difference(*(kept if ranked else every)), difference(*every) if dropped else None
    margin = stats.margin(max(half_width(rows, key, metric) for rows in both))
    verdict = stats.verdict(found, margin, metric.better)
    verdict, flags = comparing.claimed(verdict, ranked, whole, margin, metric.better)
    flags += [f"pairs_dropped={dropped}/{count}"] if dropped else []
    flags += comparing.flags_of(both[1], comparing.Pairing(subject, subject, "baseline"), metric)
    if not valued:
        verdict, flags = stats.INCONCLUSIVE, [*flags, "no_common_peer"]
    return FolderComparison(key, metric, subject, tuple(valued), found, margin, verdict, tuple(flags))


def warnings(old_env: dict, new_env: dict) -> list[str]:
    """What a reader must know before the first figure."""
    out = []
    if old_env.get("env_id") != new_env.get("env_id"):
        changed = []
        for part in ("machine", "toolchain"):
            old, new = old_env.get(part, {}), new_env.get(part, {})
            changed += [f"{part}.{name}" for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
        out.append(f"the two folders come from different environments ({', '.join(changed) or 'env_id differs'}): "
                   "a difference may be the machine's")
    if old_env.get("race", {}).get("workers") != new_env.get("race", {}).get("workers"):
        out.append("they ran with different numbers of workers")
    return out
