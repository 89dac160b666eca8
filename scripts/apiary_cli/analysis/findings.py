"""Findings: signs in a batch that a subject is wrong: a control on the wrong side of 1, and two modes.

Both are red, unless `bench/contract/expected_findings.csv` lists them with a reason. A listed one that shows no trace in a
batch that could have shown it is red as well: its line is to be removed. Two modes count only where each batch that could
show them does: other work on the machine makes them now and then.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable

from ..base import repo, stats
from ..base.errors import Fault, USAGE
from ..base.say import human
from ..race import scenarios
from . import comparing
from .comparing import Comparison, Key, Row

WRONG_SIDE, TWO_MODES = "control_wrong_side", "two_modes"
KINDS = (WRONG_SIDE, TWO_MODES)
RED, EXPECTED, GONE = "red", "expected", "gone"
COLUMNS = "scenario,scenario_params,placement,subject,finding,reason".split(",")


@dataclass(frozen=True)
class Finding:
    """One of them: of which subject, at which point, and what was seen."""

    key: Key
    subject: str
    kind: str
    text: str
    level: str = RED

    @property
    def red(self) -> bool:
        return self.level != EXPECTED

    @property
    def line(self) -> str:
        head = {RED: "FINDING", EXPECTED: "expected finding", GONE: "FINDING NO LONGER SHOWS"}[self.level]
        return f"{head}: {self.subject} in {' '.join(filter(None, self.key))}: {self.text}"


def path() -> Path:
    return repo.ROOT / "bench" / "contract" / "expected_findings.csv"


def expected(given: str | None = None) -> list[Row]:
    """The lines of the file, or of a `given` one; none where there is no file of ours."""
    file = Path(given) if given else path()
    remedy = f"its columns are {','.join(COLUMNS)}; a finding is {' or '.join(KINDS)}, with a reason"
    if not given and not file.exists():
        return []
    try:
        rows = repo.read_csv(file, COLUMNS, remedy, USAGE)
    except OSError as error:
        raise Fault(f"{file} cannot be read", str(error.strerror), f"a file like {path().name}", USAGE) from error
    for row in rows:
        if row["finding"] not in KINDS or not row["reason"].strip():
            raise Fault(f"{file}: a line is no expected finding", str(list(row.values())), remedy, USAGE)
    return rows


def of(env: dict, rows: list[Row], comparisons: list[Comparison]) -> list[Finding]:
    """The findings of a race, those that are red first. What was expected when it was raced stands in its env.json."""
    listed = env.get("race", {}).get("expected_findings")
    return judged(rows, comparisons, expected() if listed is None else listed)


def judged(rows: list[Row], comparisons: list[Comparison], listed: list[Row]) -> list[Finding]:
    reasons = {(comparing.key_of(row), row["subject"], row["finding"]): row["reason"] for row in listed}
    out = []
    for key, subject, kind, text, clear in looked_at(rows, comparisons):
        reason = reasons.get((key, subject, kind))
        if text:
            note = f"{text} ({reason})" if reason else text
            out.append(Finding(key, subject, kind, note, EXPECTED if reason else RED))
        elif reason and clear:
            gone = f"{kind} is expected here, and this batch has no trace of it: remove its line from {path().name}"
            out.append(Finding(key, subject, kind, gone, GONE))
    return sorted(out, key=lambda one: (not one.red, one.key, one.subject, one.kind))


def looked_at(rows: list[Row], comparisons: list[Comparison]) -> list[tuple[Key, str, str, str, bool]]:
    """(point, subject, kind, what was seen or nothing, whether the batch shows that there is nothing)."""
    out = [(one.key, one.other, WRONG_SIDE, wrong_side(one), comparing.seen(one)) for one in comparisons if comparing.tried(one)]
    for key, group in pinned(rows).items():
        # A setting of a sweep, NAME=VALUE, is no subject.
        for subject in sorted({row["subject"] for row in group if row["role"] == "candidate" and "=" not in row["subject"]}):
            batches = figures(group, subject)
            shown = list(map(two_modes, batches, earlier(group)))
            told = list(filter(None, shown))
            seen = told[0] if told and len(told) == sum(could_show(group, subject)) else ""
            clear = any(map(stats.one_mode, batches)) and not any(map(traced, batches))
            out.append((key, subject, TWO_MODES, seen, clear))
    return out


def wrong_side(one: Comparison) -> str:
    """What a slow-down that made the program faster looks like, or nothing."""
    if one.found.log_hi >= -math.log1p(stats.LEAST_MARGIN):
        return ""
    interval = f"×{one.found.ratio:.2f} [{one.found.lo:.2f}, {one.found.hi:.2f}]"
    return f"a built-in slow-down made it faster, {one.metric.what} {interval}"


def pinned(rows: list[Row]) -> dict[Key, list[Row]]:
    """The points whose figure is processor time on one CPU. Free threads are in one of several states by nature."""
    out: dict[Key, list[Row]] = defaultdict(list)
    for row in comparing.good(rows):
        metric = scenarios.known_by(row["scenario"], row["placement"])
        if metric and metric.gates:
            out[comparing.key_of(row)].append(row)
    return out


def arms_of(group: list[Row], batch: str, labels: Iterable[str]) -> list[dict[int, float]]:
    """Of each label its figures by round, in this batch."""
    metric = scenarios.known_by(group[0]["scenario"], group[0]["placement"])
    out = []
    for label in labels:
        own = [row for row in group if (row["batch"], row["subject"]) == (batch, label)]
        out.append(dict(sorted((int(row["round"]), value) for row in own if (value := metric.value(row)))))
    return out


def batches_of(group: list[Row]) -> list[str]:
    return sorted({row["batch"] for row in group})


def copies(subject: str) -> tuple[str, str]:
    return subject, f"{subject}-aa"


def could_show(group: list[Row], subject: str) -> list[bool]:
    """Whether each batch has the figures that two modes need, the rounds that are the machine's included."""
    return [sum(map(len, arms_of(group, batch, copies(subject)))) >= stats.MODE_SAMPLES for batch in batches_of(group)]


def figures(group: list[Row], subject: str) -> list[list[list[float]]]:
    """Batch -> the figures of the subject and of its copy, each in the order of the rounds. Without the rounds in which both are
    slow, or one of them and the earlier build that is raced beside: that was the machine."""
    bases = sorted({row["subject"] for row in group if row["role"] == "baseline"})
    out = []
    for batch in batches_of(group):
        arms = arms_of(group, batch, copies(subject))
        usual, times = slow_from([value for arm in arms for value in arm.values()])
        slow = [beyond(arm, usual * times) for arm in arms]
        machine = set.intersection(*slow)
        for base in filter(None, arms_of(group, batch, bases)):
            machine |= set.union(*slow) & beyond(base, times * stats.median(list(base.values())))
        out.append([[value for number, value in arm.items() if number not in machine] for arm in arms])
    return out


def beyond(arm: dict[int, float], limit: float) -> set[int]:
    return {number for number, value in arm.items() if value > limit}


def slow_from(values: list[float]) -> tuple[float, float]:
    """The usual figure, and how many times it a slow one is: up to the middle of the gap where fewer than half lie beyond one."""
    found = stats.two_groups(values)
    if found and len(found[1]) <= len(found[0]):
        usual = stats.median(found[0])
        return usual, math.sqrt(found[0][-1] * found[1][0]) / usual
    return stats.median(values or [0.0]), stats.MODES_APART


def earlier(group: list[Row]) -> list[list[float]]:
    """Batch -> the figures of the earlier build that is raced beside, if one is."""
    metric = scenarios.known_by(group[0]["scenario"], group[0]["placement"])
    base = [row for row in group if row["role"] == "baseline"]
    return [[value for row in base if row["batch"] == batch and (value := metric.value(row))]
            for batch in batches_of(group)]


def traced(arms: list[list[float]]) -> bool:
    """Whether some run stands far above the others: too few for a mode, too many to say that there is none."""
    every = [value for arm in arms for value in arm]
    return bool(every) and max(every) > stats.MODES_APART * stats.median(every)


def two_modes(arms: list[list[float]], before: list[float]) -> str:
    """What is said of them; nothing where the figures of `before`, an earlier build, lie on both sides of the gap, too, at least
    half as many of them on the slow one: it is the machine's, or it is not new."""
    found = stats.two_modes(arms)
    if not found:
        return ""
    low, high = found
    slow = sum(value > math.sqrt(max(low) * min(high)) for value in before)
    if min(slow, len(before) - slow) >= max(2, len(before) / 10) and 2 * slow / len(before) >= len(high) / (len(low) + len(high)):
        return ""
    times = stats.median(high) / stats.median(low)
    return (
        f"two modes: {len(high)} of {len(low) + len(high)} runs take {human(min(high))} to {human(max(high))}, the others "
        f"{human(min(low))} to {human(max(low))} (×{times:.1f})"
    )
