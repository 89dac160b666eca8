"""From rows.csv to compare.csv: pairs, ratios, margins from the controls, verdicts; and is the batch valid."""

from __future__ import annotations

import math
import operator
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from ..base import stats
from ..race import scenarios, tables
from ..race.metrics import Metric

Row = dict[str, str]
Key = tuple[str, str, str]  # scenario, scenario_params, placement

BAD_LUCK = 0.01  # copies that differ are chance, unless chance makes so many less often than this

FAILED = ("wrong", "crash", "hang", "malformed")  # a row did wrong work, or none

NO_CONTROL, BORROWED, CONTROL_FAILED = "no_control", "borrowed_control", "control_failed"  # flags of what is claimed

VALID, INVALID, NONE = "VALID", "INVALID", "NO CONTROLS"


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
    copied: str = ""  # whose A/A pair judges it; none: nothing does
    aa: float | None = None  # half-width of that pair
    resolution: float | None = None  # the least difference that would have been told here; None: nothing is, for want of a copy
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
    def differs(self) -> bool:
        return self.verdict in (stats.REGRESSED, stats.IMPROVED)

    @property
    def control(self) -> bool:
        return self.pairing.kind in ("aa", "slow10")

    @property
    def bare(self) -> bool:
        """Against a floor, the same work without a scheduler: a distance, which nobody can win or lose."""
        return self.pairing.kind == "bare"

    @property
    def pairs_of_a_batch(self) -> float:
        """Of each batch, before the injector's were dropped."""
        return (self.whole or self.found).n / self.batches

    @property
    def claim(self) -> bool:
        """Gets a verdict."""
        return not self.control and not self.bare

    @property
    def coarse(self) -> bool:
        """Claims nothing, and could not have told a tenth. (A difference that is wider than a coarse resolution is told all the
        same: to leave it out would hide the largest losses.)"""
        return self.claim and self.verdict == stats.INCONCLUSIVE and (self.resolution is None or self.resolution > stats.COARSE)


def good(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["status"] == "ok"]


def key_of(row: Row) -> Key:
    return row["scenario"], row["scenario_params"], row["placement"]


def by_size(key: Key) -> tuple:
    """To sort keys by: as they are, but numbers by size, so that 16 workers follow 4."""
    words = key[1].replace("=", ";").split(";")
    return key[0], [(False, int(word)) if word.isdigit() else (True, word) for word in words], key[2]


def pairings(rows: list[Row]) -> list[Pairing]:
    """Own schedulers against everybody else, the controls against what they copy, everybody against the floors."""
    role = {row["subject"]: row["role"] for row in rows}
    ours = sorted(name for name, what in role.items() if what == "candidate")
    others = sorted(name for name, what in role.items() if what in ("peer", "baseline"))
    copies = [(name, name.removesuffix(f"-{what}"), what) for name, what in sorted(role.items()) if what in ("aa", "slow10")]
    # An older build is the baseline of its own subject alone; of the others it is nothing.
    against = [(mine, other) for mine in ours for other in others if not other.endswith("-base") or other == f"{mine}-base"]
    floors = [floor for floor, what in role.items() if what == "bare"]
    return [
        *(Pairing(mine, other, role[other]) for mine, other in against),
        *(Pairing(*copy) for copy in copies if copy[1] in role),
        *(Pairing(name, floor, "bare") for floor in floors for name in ours + others),
    ]


def paired(rows: list[Row], pairing: Pairing, metric: Metric) -> list[list[tuple[float, float]]]:
    """For each batch the pairs of its rounds in which both sides have a value."""
    both, cells = (pairing.candidate, pairing.baseline), defaultdict(dict)
    for row in rows:
        if row["subject"] in both and (value := metric.value(row)):
            cells[row["batch"], int(row["round"])][row["subject"]] = value
    out: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for (batch, _), cell in sorted(cells.items()):
        if len(cell) == 2:
            out[batch].append(tuple(cell[name] for name in both))
    return list(out.values())


def limited(row: Row, metric: Metric) -> bool:
    """True when the injector made this percentile: shown, never ranked. Older folders have one word for all."""
    percentile = metric.column.removeprefix("lat_").removesuffix("_ns")
    return not {"injector_limited", f"injector_limited_{percentile}"}.isdisjoint(tables.flags_of(row))


def mostly_limited(rows: list[Row], metric: Metric) -> bool:
    return 2 * sum(limited(row, metric) for row in rows) > len(rows)


def flags_of(rows: list[Row], pairing: Pairing, metric: Metric) -> list[str]:
    """What a reader must know of the rows behind a comparison; what the injector did, for each side."""
    both = dict.fromkeys((pairing.candidate, pairing.baseline))
    used = [row for row in rows if row["subject"] in both]
    told = [(f"injector_limited_{name}", [limited(row, metric) for row in used if row["subject"] == name]) for name in both]
    told += [(flag, [flag in tables.flags_of(row) for row in used]) for flag in ("injector_plain", "overloaded", "disturbed")]
    told.append(("unsteady", [row["steady"] == "0" for row in used]))
    return [f"{name}={sum(of)}/{len(of)}" for name, of in told if any(of)]


def compare(rows: list[Row]) -> list[Comparison]:
    """Every comparison that the rows allow, verdicts included."""
    by_key: dict[Key, list[Row]] = defaultdict(list)
    ran: dict[Key, dict[str, set[tuple[str, str]]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        ran[key_of(row)][row["subject"]].add((row["batch"], row.get("round", "")))
        if row["status"] == "ok":
            by_key[key_of(row)].append(row)
    out, lined_up = [], with_a_copy(rows)
    for key, group in sorted(by_key.items(), key=lambda one: by_size(one[0])):
        for metric in scenarios.metrics_of(key[0], key[2]):
            found = (comparison(key, metric, pairing, group, ran[key]) for pairing in pairings(group))
            out += with_verdicts([one for one in found if one], lined_up)
    void_failed_points(out)
    rank(out)
    if any(one.metric.gates for one in out):
        for one in out:
            one.flags += ["ungated"] if one.pairing.kind == "baseline" and not one.metric.gates else []
    return out


def gating(comparisons: list[Comparison]) -> list[Comparison]:
    """What decides over a change and a batch: processor time on one CPU where that was measured, else everything."""
    return [one for one in comparisons if one.metric.gates] or comparisons


def comparison(
    key: Key, metric: Metric, pairing: Pairing, group: list[Row], ran: dict[str, set[tuple[str, str]]] | None = None,
) -> Comparison | None:
    """Of the pairs in which the injector made neither figure; of all, unranked, where those are fewer than half. `ran`: in which
    rounds each subject did, with a figure or without."""
    whole = paired(group, pairing, metric)
    every = [pair for batch in whole for pair in batch]
    if not every:
        return None
    batches = paired([row for row in group if not limited(row, metric)], pairing, metric)
    pairs = [pair for batch in batches for pair in batch]
    flags, dropped = flags_of(group, pairing, metric), len(every) - len(pairs)
    if dropped:
        flags.insert(0, f"pairs_dropped={dropped}/{len(every)}")
    both = (ran[pairing.candidate] & ran[pairing.baseline]) if ran else ()
    if len(both) > len(every):
        flags.insert(0, f"pairs_missing={len(both) - len(every)}/{len(both)}")
    ranked = enough(pairs, every)
    if not ranked:
        batches, pairs = whole, every
    return Comparison(
        key, metric, pairing, stats.estimate(pairs), pairs, batches=len(batches), per_batch=list(map(stats.estimate, batches)),
        flags=flags, ranked=ranked, whole=stats.estimate(every) if len(pairs) < len(every) else None,
    )


def enough(left: list, every: list) -> bool:
    """Whether what the injector did not make is half at least."""
    return 2 * len(left) >= len(every)


def claimed(word: str, ranked: bool, whole: stats.Estimate | None, margin: float, better: str) -> tuple[str, list[str]]:
    """What is left of a verdict where the injector made figures, and the flag that says why. A runtime that keeps the
    injector from running would lose its bad rounds: what only the dropping shows, and not the ratio over all pairs, is
    not claimed."""
    if not ranked:
        return stats.INCONCLUSIVE, ["not_ranked"]
    if whole is None:
        return word, []
    bound, worse = math.log1p(margin), whole.log_ratio if better == "lower" else -whole.log_ratio
    borne = {
        stats.REGRESSED: worse > bound,
        stats.IMPROVED: worse < -bound,
        stats.EQUIVALENT: abs(worse) <= stats.equal_bound(margin),
    }
    return (word, []) if borne.get(word, True) else (stats.INCONCLUSIVE, ["dropping_decides"])


def with_a_copy(rows: list[Row]) -> set[str]:
    """The programs that raced with a copy of themselves, whether or not it left a figure."""
    return {row["subject"].removesuffix("-aa") for row in rows if row["role"] == "aa"}


def copies(found: list[Comparison]) -> dict[str, Comparison]:
    """The A/A pairs of a point and metric, by the program that is copied."""
    return {one.other: one for one in found if one.pairing.kind == "aa"}


def judge(pairing: Pairing, there: dict[str, Comparison], lined_up: set[str]) -> tuple[str, list[str]]:
    """Whose A/A pair judges a comparison, and the flag where it is not its own program's. (The settings of a sweep are the
    program of their baseline.) In an older folder one copy stood for all candidates: it goes on judging them, and the flag
    says so. Without any nothing is decided."""
    own = next((name for name in (pairing.candidate, pairing.baseline) if name in there), None)
    if own:
        return own, []
    if there and pairing.candidate not in lined_up:
        return max(there, key=lambda name: stats.margin(there[name].found)), [BORROWED]
    return "", [NO_CONTROL]


def with_verdicts(found: list[Comparison], lined_up: set[str] = frozenset()) -> list[Comparison]:
    """The margin comes from the program's own A/A pair at the same scenario, point and metric; and from the slow-down,
    where it was not seen. There nothing is equivalent either."""
    there = copies(found)
    slow = next(filter(tried, found), None)
    blind = slow.found.half_width if slow and unseen(slow) else None
    for one in found:
        one.copied, lent = judge(one.pairing, there, lined_up)
        copy = there[one.copied].found if one.copied else None
        one.aa, one.margin = copy and copy.half_width, max(stats.margin(copy), 2 * (blind or 0.0))
        one.resolution = copy and stats.resolution(one.margin, copy, slow and slow.found)
        word = stats.verdict_of_copy if one.pairing.kind == "aa" else stats.verdict
        one.verdict = word(one.found, one.margin, one.metric.better)
        if blind is not None and one.claim:
            one.flags.insert(0, "ten_percent_unseen")
            if one.verdict == stats.EQUIVALENT:
                one.verdict = stats.INCONCLUSIVE
        if one.batches > 1:
            words = {word(part, one.margin, one.metric.better) for part in one.per_batch}
            one.confirmed = "1" if words == {one.verdict} else "0"
        if one.control:
            one.flags.insert(0, "control")
        elif one.bare:
            one.verdict, one.confirmed = "", ""
            one.flags[:0] = ["bare"] if one.ranked else ["bare", "not_ranked"]
        else:
            one.verdict, why = claimed(one.verdict, one.ranked, one.whole, one.margin, one.metric.better)
            one.verdict = one.verdict if one.copied else stats.INCONCLUSIVE
            one.flags[:0] = lent + why
    return found


def rank(comparisons: list[Comparison]) -> None:
    """Benjamini–Hochberg over everything that is claimed (controls claim nothing)."""
    claims = [one for one in comparisons if one.claim and one.found.n >= stats.LEAST_PAIRS]
    for one, one.p_bh in zip(claims, stats.adjusted([(one.found, one.margin) for one in claims])):
        one.verdict = stats.after_discovery_control(one.verdict, one.p_bh)


def to_row(one: Comparison, run_id: str) -> Row:
    return dict(zip(tables.COMPARE, (
        str(tables.SCHEMA_VERSION), run_id, *one.key, one.metric.column, one.metric.unit, one.metric.better, one.ours, one.other,
        str(one.found.n), str(one.batches),
        *map(tables.number, (one.found.ratio, one.found.lo, one.found.hi, one.margin, one.aa)),
        one.verdict, one.confirmed, tables.number(one.p_bh), ";".join(one.flags),
    ), strict=True))


@dataclass(frozen=True)
class Validity:
    """Whether the controls of a batch tell the truth, what else keeps it from being published, and how fine it looks."""

    word: str
    reasons: tuple[str, ...]  # of INVALID, or of NO CONTROLS
    aa: tuple[Comparison, ...]
    slow10: tuple[Comparison, ...]
    bars: tuple[str, ...] = ()  # what is VALID is published only without any (verdict.py)
    tells: str = ""

    @property
    def published(self) -> bool:
        return self.word == VALID and not self.bars


def words_of(params: str) -> str:
    """Parameters in words: n 27, rate 1000/s."""
    return re.sub(r"\b(rate [\d.]+)", r"\1/s", params.replace("=", " ").replace(";", ", "))


def place_name(one: Comparison) -> str:
    return tables.label_of(one.key)


def differs(one: Comparison) -> bool:
    """An A/A pair that is not equal."""
    return one.pairing.kind == "aa" and one.differs


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
    called = sum(one.verdict == stats.REGRESSED for one in slow)
    return f"seen at {sum(map(seen, slow))} of {len(slow)} points, called REGRESSED at {called}" if slow else ""


def void_failed_points(comparisons: list[Comparison]) -> None:
    """Where a program's A/A pair differs nothing is decided of it, whatever the figure."""
    void = {(one.key, one.metric.gates, one.other) for one in comparisons if differs(one)}
    for one in comparisons:
        if one.claim and (one.key, one.metric.gates, one.copied) in void:
            one.verdict = stats.INCONCLUSIVE
            one.flags.insert(0, CONTROL_FAILED)


def equal_text(aa: tuple[Comparison, ...] | list[Comparison]) -> str:
    """How the A/A pairs came out, in the same words wherever it is said."""
    judged = [one for one in aa if one.found.n >= stats.LEAST_PAIRS]
    few = f" ({len(aa) - len(judged)} more have fewer than {stats.LEAST_PAIRS} pairs)" if len(judged) < len(aa) else ""
    return f"{len(judged) - sum(map(differs, judged))} of {len(judged)} equal{few}"


def validity(comparisons: list[Comparison]) -> Validity:
    """What the controls say; the verdict of a batch (verdict.py) begins with it.
    INVALID: all A/A pairs differ, or more of them than chance allows, or the built-in slow-down is not seen at more than a quarter of the
    pinned points, or, where nothing is pinned, anywhere. Of the controls of what gates, if anything does, by what each point is
    known by. What one point could not tell is that point's matter: its resolution says so."""
    judging = gating(comparisons)
    aa, slow = (tuple(one for one in judging if one.pairing.kind == kind) for kind in ("aa", "slow10"))
    if not aa:
        return Validity(NONE, ("no A/A pair was run",), aa, slow)
    pairs = list(filter(known_by, aa)) or aa
    failed, asked = list(filter(differs, pairs)), list(filter(tried, slow))
    missed, some = list(filter(unseen, asked)), 4 if any(one.metric.gates for one in asked) else 1
    reasons = []
    if failed and (len(failed) == len(pairs) or chance_of(len(failed), len(pairs)) < BAD_LUCK):
        first, more = failed[0], f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        reasons.append(f"{len(failed)} of {len(pairs)} A/A pairs differ, more than chance allows: {first.other} in {place_name(first)} "
                       f"{first.metric.what} ×{first.found.ratio:.3f}{more}")
    if missed and (some * len(missed) > len(asked) or len(missed) == len(asked)):
        first, more = missed[0], f", and {len(missed) - 1} more" if len(missed) > 1 else ""
        reasons.append(f"the built-in slow-down is not seen at {len(missed)} of {len(asked)} points: "
                       f"{place_name(first)} {first.times}{more}")
    return Validity(INVALID if reasons else VALID, tuple(reasons), aa, slow, tells=tells(comparisons))


def chance_of(failed: int, pairs: int) -> float:
    """How often equal copies differ at so many of so many pairs, or more: an interval of 95 % leaves 1 out once in twenty."""
    once = 1 - stats.CONFIDENCE
    return math.fsum(math.comb(pairs, k) * once**k * (1 - once) ** (pairs - k) for k in range(failed, pairs + 1))


def known_by(one: Comparison) -> bool:
    """Whether it is of the figure that its point is known by."""
    metric = scenarios.known_by(one.key[0], one.key[2])
    return metric is not None and one.metric.column == metric.column


def tells(comparisons: list[Comparison]) -> str:
    """How fine a batch looks: at how many points, by what each is known by, it could have told a tenth, and a twentieth. A point at
    which a pair differs, or without one, tells nothing."""
    there: dict[tuple[Key, str], float] = {}
    for one in comparisons:
        if one.claim and known_by(one):
            void = one.resolution is None or CONTROL_FAILED in one.flags
            there[one.key, one.ours] = math.inf if void else one.resolution
    if not there:
        return ""
    fine, finer = (sum(value <= bound for value in there.values()) for bound in (stats.COARSE, stats.COARSE / 2))
    return f"tells {100 * stats.COARSE:.0f} % at {fine} of {len(there)} points, {50 * stats.COARSE:.0f} % at {finer}"


def cost_beside(one: Comparison, comparisons: list[Comparison]) -> Comparison | None:
    """Of a latency: what the two spend at the same point, where that differs."""
    costs = (c for c in comparisons if c.metric.spent and (c.key, c.pairing) == (one.key, one.pairing) and c.differs)
    return None if one.metric.spent else next(costs, None)


def against_bare(comparisons: list[Comparison]) -> list[list[Comparison]]:
    """Of each point and metric, for each floor that it has: how far everybody stands from it."""
    out: dict[tuple[Key, Metric, str], list[Comparison]] = defaultdict(list)
    for one in filter(operator.attrgetter("bare"), comparisons):
        out[one.key, one.metric, one.other].append(one)
    return list(out.values())


def bare_median(rows: list[Row], one: Comparison) -> float:
    """What the floor of a comparison itself takes."""
    own = (one.metric.value(row) for row in good(rows) if row["subject"] == one.other and key_of(row) == one.key)
    return stats.median(list(filter(None, own)))


def regressions(comparisons: list[Comparison]) -> list[Comparison]:
    """Against our own baseline, by what gates, confirmed by a second batch."""
    return [one for one in gating(comparisons)
            if one.pairing.kind == "baseline" and one.verdict == stats.REGRESSED and one.confirmed != "0"]


def incorrect(rows: list[Row]) -> Counter:
    """subject, status -> how many rows did wrong work or none."""
    return Counter((row["subject"], row["status"]) for row in rows if row["status"] in FAILED)
