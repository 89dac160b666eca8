"""For each scheduler of ours and each peer in a race: how many points are faster, slower and unresolved, and the worst and best
ratio. For report.html, summary.md and published pages."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from ..base import say, stats
from ..base.say import in_prose
from ..race import metrics
from . import comparing, summary
from .comparing import Comparison

LEGEND = (
    "Faster, slower: the whole 95 % interval is beyond the controls' margin. After it: the least that could have been told. "
    "Bold: slower; in parentheses: undecided."
)
OVERLOADED = " Overloaded: the load was not carried in time."


@dataclass(frozen=True)
class Outcome:
    """Comparisons, sorted by verdict. Ranked means that the injector made neither figure."""

    every: list[Comparison]

    @property
    def won(self) -> list[Comparison]:
        return [one for one in self.every if one.verdict == stats.IMPROVED]

    @property
    def lost(self) -> list[Comparison]:
        return [one for one in self.every if one.verdict == stats.REGRESSED]

    @property
    def unresolved(self) -> int:
        return len(self.every) - len(self.won) - len(self.lost)

    @property
    def unranked(self) -> int:
        return sum(not one.ranked for one in self.every)

    def counts(self) -> list[str]:
        return [str(number) for number in (len(self.won), len(self.lost), self.unresolved)]

    def ends(self) -> tuple[Comparison, ...]:
        """The comparisons with the worst and the best ratio, without those that the controls or the injector void. A decided one
        goes before an undecided one, and the best should be one in which both carried their load."""
        void = {comparing.CONTROL_FAILED, comparing.NO_CONTROL}
        kept = [one for one in self.every if one.ranked and void.isdisjoint(one.flags)]
        if not kept:
            return ()
        worst = max(reversed(kept), key=lambda one: (one.verdict == stats.REGRESSED, ratio(one)))
        return worst, min(kept, key=lambda one: (one.verdict != stats.IMPROVED, overloaded(one), ratio(one)))


@dataclass(frozen=True)
class Standing:
    """One of ours against one other: how long it takes, and what it takes."""

    ours: str
    other: str
    time: Outcome
    spent: Outcome


def ratio(one: Comparison) -> float:
    return one.found.ratio


def of(comparisons: list[Comparison]) -> list[Standing]:
    groups: dict[tuple[str, str], tuple[Outcome, Outcome]] = defaultdict(lambda: (Outcome([]), Outcome([])))
    for one in comparisons:
        if one.claim:
            groups[one.ours, one.other][one.metric.spent].every.append(one)
    return [Standing(*names, *found) for names, found in sorted(groups.items())]


def overloaded(one: Comparison) -> bool:
    """True where half of one side's rows, or more, could not carry an open loop in time: no ratio of two latencies."""
    told = [flag.partition("=")[2] for flag in one.flags if flag.startswith("overloaded=")]
    return any(4 * int(times) >= int(rows) for times, _, rows in (found.partition("/") for found in told))


def legend(found: list[Standing]) -> str:
    """What a reader of the table must know."""
    return LEGEND + OVERLOADED * any(overloaded(one) for each in found for one in each.time.ends())


def where(one: Comparison) -> str:
    """The point as `race --point` takes it, and the metric where it is not the time of an operation."""
    metric = "" if one.metric.column == metrics.THROUGHPUT[0].column else f", {one.metric.what}"
    return f"`{comparing.place_name(one)}`{metric}{' (overloaded)' * overloaded(one)}"


def end(one: Comparison) -> str:
    """Bold where the other is faster, in parentheses where nothing is decided, as in the table point by point."""
    told = f"×{one.times}" if one.bare else f"×{one.times} {summary.tells(one)}"
    shown = {stats.REGRESSED: f"**{told}**", stats.IMPROVED: told}
    return f"{shown.get(one.verdict, told if one.bare else f'({told})')} {where(one)}"


def ends(found: Outcome) -> list[str]:
    return list(map(end, found.ends())) or ["–", "–"]


def lines(found: list[Standing]) -> list[list[str]]:
    """The head, and a line for each other program; nothing where nothing was compared."""
    if not found:
        return []
    alone, spent = len({one.ours for one in found}) == 1, any(one.spent.every for one in found)
    head = [f"{found[0].ours} against" if alone else "against", "faster:n", "slower:n", "unresolved:n"]
    out = [[*head, *(["spends less, more, unresolved:n"] if spent else []), "worst", "best"]]
    for one in found:
        cells = [one.other if alone else f"{one.ours} / {one.other}", *one.time.counts()]
        cells += [", ".join(one.spent.counts()) if one.spent.every else "–"] if spent else []
        out.append([*cells, *ends(one.time)])
    return out


def table(found: list[Standing]) -> list[str]:
    """For a page."""
    head, *rows = lines(found) or [[]]
    return say.markdown(head, rows)


def told(comparisons: list[Comparison]) -> list[str]:
    """For a terminal: the same, then the losses."""
    head, *rows = [[cell.replace("*", "").replace("`", "") for cell in cells] for cells in lines(of(comparisons))] or [[]]
    if not head:
        return ["nothing was compared"]
    named = [f"slower, or spends more, in {one.replace('`', '')}" for one in losses(comparisons)]
    return [*say.table(head, rows).splitlines(), *named]


def floors(comparisons: list[Comparison], ours: list[str]) -> list[str]:
    """For a page: how far each of ours stands from each floor, which nobody loses to; nothing where none raced."""
    groups: dict[str, Outcome] = defaultdict(lambda: Outcome([]))
    for one in comparisons:
        if one.bare and one.ours in ours and not one.metric.spent:
            groups[one.other if len(ours) == 1 else f"{one.ours} / {one.other}"].every.append(one)
    named = f"{ours[0]} over the floor" if len(ours) == 1 else "over the floor"
    rows = ([name, len(found.every), *ends(found)] for name, found in sorted(groups.items()))
    return say.markdown([named, "comparisons:n", "farthest", "nearest"], rows)


def losers(ours: list[str]) -> str:
    """The subject and the verb of every sentence that counts losses."""
    return f"{in_prose(ours)} {'loses' if len(ours) == 1 else 'lose'}"


def lost(comparisons: list[Comparison]) -> list[list[Comparison]]:
    """The losses by point, metric and ours. The worst first."""
    groups: dict[tuple, list[Comparison]] = defaultdict(list)
    for one in sorted(comparisons, key=ratio, reverse=True):
        if one.claim and one.verdict == stats.REGRESSED:
            groups[one.key, one.metric, one.ours].append(one)
    return list(groups.values())


def losses(comparisons: list[Comparison]) -> list[str]:
    """Each in a line: at which point, by how much, to which, and what a latency was bought with."""
    groups = lost(comparisons)
    many, out = len({found[0].ours for found in groups}) > 1, []
    for found in groups:
        each = (f"×{one.times} of {one.other}{summary.at_cost(one, comparisons)}" for one in found)
        out.append(f"{f'{found[0].ours} in ' if many else ''}{where(found[0])}: {', '.join(each)}")
    return out
