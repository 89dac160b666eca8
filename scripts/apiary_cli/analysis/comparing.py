"""From rows.csv to compare.csv: pairs, ratios, margins from the controls, verdicts; and is the batch valid."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from ..base import stats
from ..race import tables
from ..race.metrics import Metric
from ..race.scenarios import SCENARIOS

Row = dict[str, str]
Key = tuple[str, str, str]  # scenario, scenario_params, placement

COARSE = 1.25  # a control slower than this does not qualify "+10 %"

VALID, WEAK, INVALID, NONE = "VALID", "WEAK", "INVALID", "NO CONTROLS"


@dataclass(frozen=True)
class Pairing:
    """Two labels to compare, and why."""

    candidate: str
    baseline: str
    kind: str  # peer, baseline, aa, slow10, bare


@dataclass
class Comparison:
    """One row of compare.csv, with what the report needs besides."""

    key: Key
    metric: Metric
    pairing: Pairing
    found: stats.Estimate
    pairs: list[tuple[float, float]]
    margin: float = stats.LEAST_MARGIN
    aa: float | None = None
    verdict: str = stats.INCONCLUSIVE
    confirmed: str = ""
    p_bh: float | None = None
    batches: int = 1
    per_batch: list[stats.Estimate] = field(default_factory=list)
    ranked: bool = True  # False: the injector made too many of the figures
    whole: stats.Estimate | None = None  # over all pairs, where some were dropped
    flags: list[str] = field(default_factory=list)

    @property
    def ours(self) -> str:
        return self.pairing.candidate

    @property
    def other(self) -> str:
        return self.pairing.baseline

    @property
    def times(self) -> str:
        """The ratio with its interval, for people."""
        return stats.ratio_text(self.found.ratio, self.found.lo, self.found.hi)

    @property
    def control(self) -> bool:
        return self.pairing.kind in ("aa", "slow10")

    @property
    def bare(self) -> bool:
        """Against a floor, the same work without a scheduler: a distance, which nobody can win or lose."""
        return self.pairing.kind == "bare"

    @property
    def claim(self) -> bool:
        """Gets a verdict."""
        return not self.control and not self.bare


def good(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["status"] == "ok"]


def key_of(row: Row) -> Key:
    return row["scenario"], row["scenario_params"], row["placement"]


def pairings(rows: list[Row]) -> list[Pairing]:
    """Own schedulers against everybody else, the controls against what they copy, everybody against the floors."""
    role = {row["subject"]: row["role"] for row in rows}
    ours = [name for name, what in role.items() if what == "candidate"]
    others = [name for name, what in role.items() if what in ("peer", "baseline")]
    # An older build is the baseline of its own subject alone; of the others it is nothing.
    out = [
        Pairing(mine, other, role[other])
        for mine in sorted(ours)
        for other in sorted(others)
        if not other.endswith("-base") or other == f"{mine}-base"
    ]
    for name, what in sorted(role.items()):
        if what in ("aa", "slow10") and name.removesuffix(f"-{what}") in role:
            out.append(Pairing(name, name.removesuffix(f"-{what}"), what))
    bare = [name for name, what in role.items() if what == "bare"]
    out += [Pairing(name, other, "bare") for other in bare for name in sorted(ours) + sorted(others)]
    return out


def paired(rows: list[Row], pairing: Pairing, metric: Metric) -> dict[str, list[tuple[float, float]]]:
    """Batch -> the pairs of its rounds in which both sides have a value."""
    cells: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    for row in rows:
        value = metric.value(row) if row["subject"] in (pairing.candidate, pairing.baseline) else None
        if value:
            cells[row["batch"], int(row["round"])][row["subject"]] = value
    out: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for (batch, _), cell in sorted(cells.items()):
        if len(cell) == 2:
            out[batch].append((cell[pairing.candidate], cell[pairing.baseline]))
    return dict(out)


def limited(row: Row, metric: Metric) -> bool:
    """True when the injector made this percentile: shown, never ranked. Older folders have one word for all."""
    flags = row["flags"].split(";")
    percentile = metric.column.removeprefix("lat_").removesuffix("_ns")
    return "injector_limited" in flags or f"injector_limited_{percentile}" in flags


def mostly_limited(rows: list[Row], metric: Metric) -> bool:
    return 2 * sum(limited(row, metric) for row in rows) > len(rows)


def flags_of(rows: list[Row], pairing: Pairing, metric: Metric) -> list[str]:
    """What a reader must know of the rows behind a comparison; what the injector did, for each side."""
    used = [row for row in rows if row["subject"] in (pairing.candidate, pairing.baseline)]
    out = []
    for name in dict.fromkeys((pairing.candidate, pairing.baseline)):
        own = [row for row in used if row["subject"] == name]
        count = sum(limited(row, metric) for row in own)
        if count:
            out.append(f"injector_limited_{name}={count}/{len(own)}")
    for flag in ("injector_plain", "overloaded", "disturbed"):
        count = sum(flag in row["flags"].split(";") for row in used)
        if count:
            out.append(f"{flag}={count}/{len(used)}")
    unsteady = sum(row["steady"] == "0" for row in used)
    return out + ([f"unsteady={unsteady}/{len(used)}"] if unsteady else [])


def compare(rows: list[Row]) -> list[Comparison]:
    """Every comparison that the rows allow, verdicts included."""
    usable, out = good(rows), []
    by_key: dict[Key, list[Row]] = defaultdict(list)
    for row in usable:
        by_key[key_of(row)].append(row)
    for key, group in sorted(by_key.items()):
        scenario = SCENARIOS.get(key[0])
        for metric in scenario.metrics_at(key[2]) if scenario else ():
            found = [comparison(key, metric, pairing, group) for pairing in pairings(group)]
            out += with_verdicts([one for one in found if one])
    void_failed_points(out)
    rank(out)
    if gating(out) is not out:
        for one in out:
            one.flags += ["ungated"] if one.pairing.kind == "baseline" and not one.metric.gates else []
    return out


def gating(comparisons: list[Comparison]) -> list[Comparison]:
    """What decides over a change and a batch: processor time on one CPU where that was measured, else everything."""
    return [one for one in comparisons if one.metric.gates] or comparisons


def comparison(key: Key, metric: Metric, pairing: Pairing, group: list[Row]) -> Comparison | None:
    """Of the pairs in which the injector made neither figure; of all, unranked, where those are fewer than half."""
    whole = paired(group, pairing, metric)
    every = [pair for batch in sorted(whole) for pair in whole[batch]]
    if not every:
        return None
    batches = paired([row for row in group if not limited(row, metric)], pairing, metric)
    pairs = [pair for batch in sorted(batches) for pair in batches[batch]]
    flags = flags_of(group, pairing, metric)
    if len(pairs) < len(every):
        flags.insert(0, f"pairs_dropped={len(every) - len(pairs)}/{len(every)}")
    ranked = enough(pairs, every)
    if not ranked:
        batches, pairs = whole, every
    return Comparison(
        key,
        metric,
        pairing,
        stats.estimate(pairs),
        pairs,
        batches=len(batches),
        per_batch=[stats.estimate(batches[batch]) for batch in sorted(batches)],
        flags=flags,
        ranked=ranked,
        whole=stats.estimate(every) if len(pairs) < len(every) else None,
    )


def enough(left: list, every: list) -> bool:
    """Whether what the injector did not make is half at least."""
    return 2 * len(left) >= len(every)


def borne(word: str, whole: stats.Estimate | None, margin: float, better: str) -> bool:
    """Whether the ratio over all pairs, the dropped ones too, lies where the verdict puts it. A runtime that keeps the
    injector from running would lose its bad rounds: what only the dropping shows is not claimed."""
    if whole is None:
        return True
    bound = math.log1p(margin)
    worse = whole.log_ratio if better == "lower" else -whole.log_ratio
    found = {
        stats.REGRESSED: worse > bound,
        stats.IMPROVED: worse < -bound,
        stats.EQUIVALENT: abs(worse) <= stats.equal_bound(margin),
    }
    return found.get(word, True)


def claimed(
    word: str, ranked: bool, whole: stats.Estimate | None, margin: float, better: str
) -> tuple[str, list[str]]:
    """What is left of a verdict where the injector made figures, and the flag that says why."""
    if not ranked:
        return stats.INCONCLUSIVE, ["not_ranked"]
    return (word, []) if borne(word, whole, margin, better) else (stats.INCONCLUSIVE, ["dropping_decides"])


def with_verdicts(found: list[Comparison]) -> list[Comparison]:
    """The margin comes from the A/A pair of the same scenario, point and metric; and from the slow-down, where it
    was not seen. There nothing is equivalent either."""
    aa = next((one.found.half_width for one in found if one.pairing.kind == "aa"), None)
    blind = next((one.found.half_width for one in found if unseen(one)), None)
    for one in found:
        one.aa, one.margin = aa, max(stats.margin(aa), stats.margin(blind))
        one.verdict = stats.verdict(one.found, one.margin, one.metric.better)
        if blind is not None and one.claim:
            one.flags.insert(0, "ten_percent_unseen")
            if one.verdict == stats.EQUIVALENT:
                one.verdict = stats.INCONCLUSIVE
        if one.batches > 1:
            words = {stats.verdict(part, one.margin, one.metric.better) for part in one.per_batch}
            one.confirmed = "1" if words == {one.verdict} else "0"
        if one.control:
            one.flags.insert(0, "control")
        elif one.bare:
            one.verdict, one.confirmed = "", ""
            one.flags[:0] = ["bare"] if one.ranked else ["bare", "not_ranked"]
        else:
            one.verdict, why = claimed(one.verdict, one.ranked, one.whole, one.margin, one.metric.better)
            one.flags[:0] = why
    return found


def rank(comparisons: list[Comparison]) -> None:
    """Benjamini–Hochberg over everything that is claimed (controls claim nothing)."""
    claims = [one for one in comparisons if one.claim and one.found.n >= stats.LEAST_PAIRS]
    adjusted = stats.benjamini_hochberg([stats.p_value(one.found, one.margin) for one in claims])
    for one, p in zip(claims, adjusted):
        one.p_bh = p
        one.verdict = stats.after_discovery_control(one.verdict, p)


def to_row(one: Comparison, run_id: str) -> Row:
    n = tables.number
    return {
        "schema_version": str(tables.SCHEMA_VERSION),
        "run_id": run_id,
        "scenario": one.key[0],
        "scenario_params": one.key[1],
        "placement": one.key[2],
        "metric": one.metric.column,
        "unit": one.metric.unit,
        "better": one.metric.better,
        "candidate": one.pairing.candidate,
        "baseline": one.pairing.baseline,
        "n_pairs": str(one.found.n),
        "batches": str(one.batches),
        "ratio": n(one.found.ratio),
        "ci_lo": n(one.found.lo),
        "ci_hi": n(one.found.hi),
        "margin": n(one.margin),
        "aa_halfwidth": n(one.aa),
        "verdict": one.verdict,
        "confirmed": one.confirmed,
        "p_bh": n(one.p_bh),
        "flags": ";".join(one.flags),
    }


@dataclass(frozen=True)
class Validity:
    """Whether the controls did what they must, and what they did."""

    word: str
    reasons: tuple[str, ...]
    aa: tuple[Comparison, ...]
    slow10: tuple[Comparison, ...]


def label(key: Key) -> str:
    """A point as `race --point` takes it."""
    return " ".join(filter(None, (*key[:2], "" if key[2] == "free" else key[2])))


def place_name(one: Comparison) -> str:
    return label(one.key)


def differs(one: Comparison) -> bool:
    """An A/A pair that is not equal."""
    return one.pairing.kind == "aa" and one.verdict in (stats.REGRESSED, stats.IMPROVED)


def tried(one: Comparison) -> bool:
    """A built-in slow-down with enough pairs to be judged."""
    return one.pairing.kind == "slow10" and one.found.n >= stats.LEAST_PAIRS


def seen(one: Comparison) -> bool:
    """THE definition of a built-in slow-down that is seen: its whole interval lies above 1. Whether it was also large
    enough to be called REGRESSED, beyond the margin, is its verdict."""
    return tried(one) and one.found.lo > 1


def unseen(one: Comparison) -> bool:
    return tried(one) and not seen(one)


def seen_text(slow: tuple[Comparison, ...] | list[Comparison]) -> str:
    """How many built-in slow-downs were seen, in the same words wherever it is said; nothing where none was run."""
    judged = [one for one in slow if one.pairing.kind == "slow10"]
    called = sum(one.verdict == stats.REGRESSED for one in judged)
    return f"seen at {sum(map(seen, judged))} of {len(judged)} points, called REGRESSED at {called}" if judged else ""


def void_failed_points(comparisons: list[Comparison]) -> None:
    """Where the A/A pair differs nothing is decided, whatever the figure."""
    void = {(one.key, one.metric.gates) for one in comparisons if differs(one)}
    for one in comparisons:
        if (one.key, one.metric.gates) in void and one.claim:
            one.verdict = stats.INCONCLUSIVE
            one.flags.insert(0, "control_failed")


def validity(comparisons: list[Comparison]) -> Validity:
    """INVALID: A/A pairs differ at more than a quarter of the points, or the built-in slow-down was seen nowhere.
    WEAK: some pair differs, or some slow-down is not seen or only within the margin, too coarse, or in too few rounds.
    Of the controls of what gates; the others speak of their own points alone."""
    controls = [one for one in gating(comparisons) if one.control]
    aa = tuple(one for one in controls if one.pairing.kind == "aa")
    slow = tuple(one for one in controls if one.pairing.kind == "slow10")
    if not aa:
        return Validity(NONE, ("no A/A pair was run",), aa, slow)
    reasons = [
        f"A/A differs: {place_name(one)} {one.metric.what} ×{one.found.ratio:.3f}: nothing is decided there"
        for one in filter(differs, aa)
    ]
    judged = list(filter(tried, slow))
    for one in judged:
        if one.verdict == stats.REGRESSED:
            continue
        figure = f"{place_name(one)} ×{one.found.ratio:.3f} [{one.found.lo:.3f}, {one.found.hi:.3f}]"
        how = "is seen, but not beyond the margin" if seen(one) else "is not seen"
        reasons.append(
            f"the built-in +10 % {how}: {figure}: differences under {100 * one.margin:.1f} % decide nothing there"
        )
    void, points = {one.key for one in filter(differs, aa)}, {one.key for one in aa}
    if 4 * len(void) > len(points) or (judged and not any(map(seen, judged))):
        return Validity(INVALID, tuple(reasons), aa, slow)
    for one in slow:
        if one.found.ratio > COARSE:
            reasons.append(
                f"the built-in slow-down came out as ×{one.found.ratio:.2f} in {place_name(one)}: nothing shows that "
                "10 % would be seen"
            )
    uncontrolled = {one.key: one for one in aa if one.metric.gates and one.key not in {other.key for other in slow}}
    for one in uncontrolled.values() if slow else ():
        reasons.append(f"no slow-down could be calibrated in {place_name(one)}: nothing shows that 10 % would be seen")
    if not reasons and (not slow or any(one.found.n < stats.LEAST_PAIRS for one in aa + slow)):
        reasons.append("too few rounds, or no slow-down control, to qualify the batch")
    return Validity(WEAK if reasons else VALID, tuple(reasons), aa, slow)


def cost_beside(one: Comparison, comparisons: list[Comparison]) -> Comparison | None:
    """Of a latency: what the two spend at the same point, where that differs."""
    return next(
        (
            other
            for other in comparisons
            if not one.metric.spent
            and other.metric.spent
            and (other.key, other.pairing) == (one.key, one.pairing)
            and other.verdict in (stats.REGRESSED, stats.IMPROVED)
        ),
        None,
    )


def against_bare(comparisons: list[Comparison]) -> list[list[Comparison]]:
    """Of each point and metric, for each floor that it has: how far everybody stands from it."""
    out: dict[tuple[Key, Metric, str], list[Comparison]] = defaultdict(list)
    for one in comparisons:
        if one.bare:
            out[one.key, one.metric, one.pairing.baseline].append(one)
    return list(out.values())


def bare_median(rows: list[Row], one: Comparison) -> float:
    """What the floor of a comparison itself takes."""
    own = (one.metric.value(row) for row in good(rows) if row["subject"] == one.pairing.baseline and key_of(row) == one.key)
    return stats.median([value for value in own if value])


def regressions(comparisons: list[Comparison]) -> list[Comparison]:
    """Against our own baseline, by what gates, confirmed by a second batch."""
    return [
        one
        for one in gating(comparisons)
        if one.pairing.kind == "baseline" and one.verdict == stats.REGRESSED and one.confirmed != "0"
    ]


def incorrect(rows: list[Row]) -> Counter:
    """subject, status -> how many rows did wrong work or none."""
    return Counter(
        (row["subject"], row["status"]) for row in rows if row["status"] in ("wrong", "crash", "hang", "malformed")
    )
