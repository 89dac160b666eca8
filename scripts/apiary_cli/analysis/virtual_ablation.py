"""What a scheduler does on the virtual machine without each of its rules, and with each of its numbers halved and doubled."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from ..race.rules import RULES, Rule

LEAST = 0.03  # the runs of one kind must lie so far from all of the other
WORKERS = [1, 2, 4, 16, 64]
# Rules whose cause is a thread that loses its processor, or yields it: on the virtual machine each keeps its own.
PREEMPTION = frozenset(("looks_before_sleep", "lets_poster_go_on", "sleeps_after_long_yield", "yield_pays_ns", "search_ns", "io_slice_ns"))
COLUMNS = ["subject", "setting", "rule", "scenario", "workers", "on_ns", "on_least_ns", "on_most_ns", "off_ns", "off_least_ns",
           "off_most_ns", "verdict"]
GAIN, COST, SAME = "slower without", "faster without", "the same"
Key = tuple[str, str, int]  # subject, scenario, workers


@dataclass(frozen=True)
class Setting:
    """One number of a scheduler, other than it ships."""

    subject: str
    name: str
    value: int
    rule: Rule | None

    @property
    def word(self) -> str:
        return f"{self.name}={self.value}"


def settings(tunables: list[list[str]], chosen: list[str]) -> list[Setting]:
    """Of a line for each number (subject, name, as it ships, least, most): a rule off, a switch the other way round, a number
    halved and doubled. `chosen`: subjects; none: all."""
    off = {rule.switch: rule for rule in RULES}
    found = []
    for subject, name, *numbers in tunables:
        standard, least, most = map(int, numbers)
        if chosen and subject not in chosen:
            continue
        rule = off.get(name)
        if rule:
            values = [rule.off]
        elif (least, most) == (0, 1):
            values = [1 - standard]
        else:
            values = [value for value in (standard // 2, 2 * standard) if least <= value <= most and value != standard]
        found += [Setting(subject, name, value, rule) for value in values]
    return found


def alike(prices: dict[str, float]) -> list[str]:
    """Prices so near the usual ones that they change nothing but which of two threads comes first; a schedule is not smooth."""
    block = prices["basic_block"]
    return [f"basic_block={block * factor:.6g}" for factor in (0.99, 1.01)]


def rows(found: dict[tuple[str, Key], list[float]], every: list[Setting]) -> list[list[str]]:
    """A row for each setting and point. `found`: by setting ("": as it ships) and point the figures at the usual prices and at
    those that are alike."""
    out = []
    for one in every:
        for (word, key), off in sorted(found.items()):
            on = found.get(("", key))
            if word != one.word or key[0] != one.subject or on is None:
                continue
            verdict = GAIN if min(off) > max(on) * (1 + LEAST) else COST if max(off) * (1 + LEAST) < min(on) else SAME
            out.append([one.subject, one.word, one.rule.name if one.rule else "", key[1], str(key[2]),
                        *(f"{ns:.2f}" for ns in (on[0], min(on), max(on), off[0], min(off), max(off))), verdict])
    return out


def most(points: list[list[str]]) -> str:
    """Where the figures at the usual prices differ most, and by how much."""
    worst = max(points, key=lambda row: abs(float(row[8]) / float(row[5]) - 1))
    return f"{float(worst[8]) / float(worst[5]) - 1:+.0%}: {worst[3]} {worst[4]}"


def verdict(one: Setting, points: list[list[str]]) -> str:
    """What the model says of a rule."""
    if one.rule is None:
        return ""
    if one.name in PREEMPTION:
        return "its cause is preemption, which the model has not"
    if any(row[-1] == GAIN for row in points):
        return "it gains"
    run = {row[3] for row in points}
    if "ns_per_op" not in one.rule.metrics:
        return "nothing here; it was made for " + ", ".join(one.rule.metrics)
    if missing := sorted({point.scenario.name for point in one.rule.points} - run):
        return f"nothing here; it was made for {', '.join(missing)}, too"
    return "nothing anywhere: it can go"


def table(told: list[list[str]], every: list[Setting]) -> list[list[str]]:
    """A row for each setting: where it is slower without, where faster, the verdict."""
    by: dict[tuple[str, str], list[list[str]]] = defaultdict(list)
    for row in told:
        by[row[0], row[1]].append(row)
    out = []
    for one in every:
        points = by[one.subject, one.word]
        cells = []
        for word in (GAIN, COST):
            there = [row for row in points if row[-1] == word]
            cells.append(f"{len(there)} of {len(points)}" + (f" ({most(there)})" if there else ""))
        out.append([one.subject, one.word, one.rule.name if one.rule else "", *cells, verdict(one, points)])
    return out


HEAD = ["subject", "setting", "rule off", "slower so", "faster so", "verdict"]
