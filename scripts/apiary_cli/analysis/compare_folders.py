"""Two result folders against each other.

Their rounds are not pairs: they ran at different times. What carries over is each scheduler's ratio
to the peers that ran beside it in the same rounds, as long as those are the same builds. So the figure
is a ratio of ratios: (ours / peers) in NEW over (ours / peers) in OLD, the peers' geometric mean taken
round by round; a peer counts that has a value in nine of ten of the scheduler's rounds, in both folders.
Without a common peer the medians are shown, and nothing is decided. The controls of both
folders decide as in a race: by the wider margin, also of a built-in slow-down that was not seen, nothing
where an A/A pair differs or is missing, and Benjamini–Hochberg over all that is claimed. Figures of other
numbers of workers decide nothing.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import defaultdict
from dataclasses import dataclass, field

from ..base import stats
from ..race import scenarios, tables
from ..race.metrics import Metric
from . import comparing
from .comparing import Comparison, Row


ANCHOR_SHARE = 0.9  # of the rounds of a scheduler


@dataclass
class FolderComparison:
    """One scheduler at one point by one metric, NEW over OLD."""

    key: comparing.Key
    metric: Metric
    subject: str
    anchors: tuple[str, ...]
    found: stats.Estimate
    margin: float
    verdict: str
    flags: list[str]
    copies: list[Comparison] = field(default_factory=list)  # the A/A pairs of both folders that judge it
    p_bh: float | None = None

    @property
    def claim(self) -> bool:
        """Gets a verdict."""
        return bool(self.anchors)


def rounds_of(rows: list[Row], subject: str, metric: Metric) -> list[dict[str, float]]:
    """The logarithms of all values, by subject, of each round in which this one has a value."""
    rounds: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    for row in rows:
        if value := metric.value(row):
            rounds[row["batch"], int(row["round"])][row["subject"]] = math.log(value)
    return [cell for _, cell in sorted(rounds.items()) if subject in cell]


def logs(rows: list[Row], subject: str, anchors: list[str], metric: Metric) -> list[float]:
    """ln(subject / geometric mean of the anchors) for each round in which all of them have a value."""
    whole = [cell for cell in rounds_of(rows, subject, metric) if cell.keys() >= set(anchors)]
    return [cell[subject] - (statistics.fmean(cell[a] for a in anchors) if anchors else 0.0) for cell in whole]


def beside(anchor: str, rounds: list[dict[str, float]]) -> bool:
    """Whether it has a value in nearly all rounds of the subject: one that hung in the third would take all later ones with it."""
    return bool(rounds) and sum(anchor in cell for cell in rounds) / len(rounds) >= ANCHOR_SHARE


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


Judge = tuple[Comparison | None, list[str], float]


def judge(key: comparing.Key, metric: Metric, subject: str, rows: list[Row], lined_up: set[str]) -> Judge:
    """The A/A pair that judges a scheduler in one folder; the flag where that is not its own, or where there is none; and the
    half-width of the built-in slow-down where it was not seen, else 0."""
    pairings = (pairing for pairing in comparing.pairings(rows) if pairing.kind in ("aa", "slow10"))
    found = list(filter(None, (comparing.comparison(key, metric, pairing, rows) for pairing in pairings)))
    there = comparing.copies(found)
    name, flags = comparing.judge(comparing.Pairing(subject, subject, "baseline"), there, lined_up)
    return there.get(name), flags, next((one.found.half_width for one in found if comparing.unseen(one)), 0.0)


def compare(old_rows: list[Row], new_rows: list[Row]) -> list[FolderComparison]:
    """Every scheduler of ours at every point that both folders have."""
    folders, lined_up = [], [comparing.with_a_copy(rows) for rows in (old_rows, new_rows)]
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
            for subject in sorted(ours):
                judges = [judge(key, metric, subject, rows, names) for rows, names in zip(both, lined_up)]
                out += filter(None, [between(key, metric, subject, anchors, both, judges)])
    void_failed_points(out)
    comparing.rank(out)
    return out


def void_failed_points(found: list[FolderComparison]) -> None:
    """As in a race: where an A/A pair differs in either folder nothing is decided, whatever the figure."""
    void = {(one.key, one.metric.gates, one.subject) for one in found if any(stats.copy_differs(copy.found) for copy in one.copies)}
    for one in found:
        if (one.key, one.metric.gates, one.subject) in void:
            one.verdict = stats.INCONCLUSIVE
            one.flags.insert(0, comparing.CONTROL_FAILED)


def between(
    key: comparing.Key, metric: Metric, subject: str, anchors: list[str], both: tuple[list[Row], list[Row]], judges: list[Judge],
) -> FolderComparison | None:
    """`both`: the rows of this point in OLD and in NEW; `judges`: of each, the A/A pair that judges, and its flags."""
    # A peer that has no value by this metric (too few samples for a percentile), or in too few rounds, is no anchor.
    asked = [rounds_of(rows, subject, metric) for rows in both]
    valued = [a for a in anchors if all(beside(a, rounds) for rounds in asked)]
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
    copies = [copy for copy, _, _ in judges if copy]
    blind = max(unseen for _, _, unseen in judges)
    margin = max(2 * blind, *(stats.margin(copy and copy.found) for copy, _, _ in judges))
    verdict = stats.verdict(found, margin, metric.better)
    verdict, flags = comparing.claimed(verdict, ranked, whole, margin, metric.better)
    missing = sum(map(len, asked)) - count
    flags += [f"pairs_missing={missing}/{missing + count}"] if missing else []
    flags += [f"pairs_dropped={dropped}/{count}"] if dropped else []
    flags += comparing.flags_of(both[1], comparing.Pairing(subject, subject, "baseline"), metric)
    if len(copies) < len(judges):
        verdict = stats.INCONCLUSIVE
    if blind:
        flags.insert(0, "ten_percent_unseen")
        verdict = stats.INCONCLUSIVE if verdict == stats.EQUIVALENT else verdict
    if len({frozenset(r["workers"] for r in rows if r["subject"] == subject) for rows in both}) > 1:
        verdict, flags = stats.INCONCLUSIVE, ["other_workers", *flags]
    flags[:0] = dict.fromkeys(flag for _, told, _ in judges for flag in told)
    if not valued:
        verdict, flags = stats.INCONCLUSIVE, [*flags, "no_common_peer"]
    return FolderComparison(key, metric, subject, tuple(valued), found, margin, verdict, flags, copies)


def lost(old_rows: list[Row], new_rows: list[Row]) -> list[str]:
    """Points at which OLD has figures of a scheduler of ours and NEW has none: nothing is compared there. Folders without a
    common point are of two plans, and NEW has lost nothing."""
    old, new = (
        dict.fromkeys((row["subject"], comparing.key_of(row)) for row in comparing.good(rows) if row["role"] == "candidate")
        for rows in (old_rows, new_rows)
    )
    if {key for _, key in old}.isdisjoint(map(comparing.key_of, new_rows)):
        return []
    return [f"NEW has no figure of {subject} in {tables.label_of(key)}, and OLD has" for subject, key in old if (subject, key) not in new]


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
