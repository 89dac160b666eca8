"""Two result folders against each other.

Their rounds are not pairs: they ran at different times. What carries over is each scheduler's ratio
to the peers that ran beside it in the same rounds, as long as those are the same builds. So the figure
is a ratio of ratios: (ours / peers) in NEW over (ours / peers) in OLD, the peers' geometric mean taken
round by round. Without a common peer the medians are shown, and nothing is decided.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from dataclasses import dataclass

from ..base import stats
from ..race.metrics import Metric
from ..race.scenarios import SCENARIOS
from . import comparing

Row = dict[str, str]


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


def identity(row: Row) -> tuple[str, str, str]:
    return row["subject"], row["subject_version"], row["build_id"]


def by_round(rows: list[Row], metric: Metric) -> dict[tuple[str, int], dict[str, float]]:
    """(batch, round) -> subject -> value."""
    out: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    for row in rows:
        value = metric.value(row)
        if value:
            out[row["batch"], int(row["round"])][row["subject"]] = value
    return out


def logs(rows: list[Row], subject: str, anchors: list[str], metric: Metric) -> list[float]:
    """ln(subject / geometric mean of the anchors) for each round in which all of them have a value."""
    out = []
    for _, cell in sorted(by_round(rows, metric).items()):
        if subject in cell and all(anchor in cell for anchor in anchors):
            base = sum(math.log(cell[a]) for a in anchors) / len(anchors) if anchors else 0.0
            out.append(math.log(cell[subject]) - base)
    return out


def difference(old: list[float], new: list[float]) -> stats.Estimate:
    """Trimmed mean of NEW less that of OLD; the two bootstraps are independent."""
    before, after = stats.bootstrap(old), stats.bootstrap(new, seed=stats.SEED + 1)
    # Both come sorted: pair them at random, but always the same way.
    random.Random(stats.SEED).shuffle(after)
    spread = sorted(a - b for a, b in zip(after, before))
    tail = (1 - stats.CONFIDENCE) / 2
    return stats.Estimate(
        min(len(old), len(new)),
        stats.trimmed_mean(new) - stats.trimmed_mean(old),
        stats.quantile(spread, tail),
        stats.quantile(spread, 1 - tail),
        tuple(spread),
    )


def half_width(rows: list[Row], key: comparing.Key, metric: Metric) -> float:
    """Of the A/A pair of that point, or 0."""
    group = [row for row in rows if comparing.key_of(row) == key]
    found = [comparing.comparison(key, metric, p, group) for p in comparing.pairings(group) if p.kind == "aa"]
    return next((one.found.half_width for one in found if one), 0.0)


def compare(old_rows: list[Row], new_rows: list[Row]) -> list[FolderComparison]:
    """Every scheduler of ours at every point that both folders have."""
    old, new = comparing.good(old_rows), comparing.good(new_rows)
    out = []
    for key in sorted({comparing.key_of(r) for r in old} & {comparing.key_of(r) for r in new}):
        before, after = ([r for r in rows if comparing.key_of(r) == key] for rows in (old, new))
        common = {identity(r) for r in before if r["role"] == "peer"} & {
            identity(r) for r in after if r["role"] == "peer"
        }
        anchors = sorted(name for name, _, _ in common)
        ours = {r["subject"] for r in before if r["role"] == "candidate"} & {
            r["subject"] for r in after if r["role"] == "candidate"
        }
        scenario = SCENARIOS.get(key[0])
        for metric in scenario.metrics_at(key[2]) if scenario else ():
            for subject in sorted(ours):
                one = between(key, metric, subject, anchors, before, after, (old, new))
                out += [one] if one else []
    return out


def between(
    key: comparing.Key,
    metric: Metric,
    subject: str,
    anchors: list[str],
    before: list[Row],
    after: list[Row],
    both: tuple[list[Row], list[Row]],
) -> FolderComparison | None:
    # A peer that has no value by this metric (too few samples for a percentile) is no anchor.
    valued = [
        a
        for a in anchors
        if all(any(r["subject"] == a and metric.value(r) for r in rows) for rows in (before, after))
    ]
    every = [logs(rows, subject, valued, metric) for rows in (before, after)]
    if not all(every):
        return None
    # As in a race: without the rounds in which the injector made a figure, unless those are more than half.
    kept = [
        logs([row for row in rows if not comparing.limited(row, metric)], subject, valued, metric)
        for rows in (before, after)
    ]
    ranked = all(map(comparing.enough, kept, every))
    used = kept if ranked else every
    dropped = sum(map(len, every)) - sum(map(len, kept))
    found, whole = difference(*used), difference(*every) if dropped else None
    margin = stats.margin(max(half_width(rows, key, metric) for rows in both))
    flags = comparing.flags_of(after, comparing.Pairing(subject, subject, "baseline"), metric)
    if dropped:
        flags.insert(0, f"pairs_dropped={dropped}/{sum(map(len, every))}")
    verdict = stats.verdict(found, margin, metric.better)
    verdict, why = comparing.claimed(verdict, ranked, whole, margin, metric.better)
    flags[:0] = why
    if not valued:
        verdict, flags = stats.INCONCLUSIVE, [*flags, "no_common_peer"]
    return FolderComparison(key, metric, subject, tuple(valued), found, margin, verdict, tuple(flags))


def warnings(old_env: dict, new_env: dict) -> list[str]:
    """What a reader must know before the first figure."""
    out = []
    if old_env.get("env_id") != new_env.get("env_id"):
        changed = [
            f"{part}.{name}"
            for part in ("machine", "toolchain")
            for name in sorted(set(old_env.get(part, {})) | set(new_env.get(part, {})))
            if old_env.get(part, {}).get(name) != new_env.get(part, {}).get(name)
        ]
        out.append(
            f"the two folders come from different environments ({', '.join(changed) or 'env_id differs'}): "
            "a difference may be the machine's"
        )
    if old_env.get("race", {}).get("workers") != new_env.get("race", {}).get("workers"):
        out.append("they ran with different numbers of workers")
    return out
