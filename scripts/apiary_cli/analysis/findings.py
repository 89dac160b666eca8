"""Findings: signs in a batch that a subject is wrong: a control on the wrong side of 1, and two modes.

Both are red, unless `bench/contract/expected_findings.csv` lists them with a reason. A listed one that shows no trace in a
batch that could have shown it is red as well: its line is to be removed. Two modes that one batch shows and another one
denies are none: other work on the machine makes them now and then.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

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
            seen = told[0] if len(told) > 1 or told and not any(map(denies, shown, batches)) else ""
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


def figures(group: list[Row], subject: str) -> list[list[list[float]]]:
    """Batch -> the figures of the subject and of its copy, each in the order of the rounds. Without the rounds in which
    both have a slow one: that was the machine."""
    metric = scenarios.known_by(group[0]["scenario"], group[0]["placement"])
    out = []
    for batch in sorted({row["batch"] for row in group}):
        arms = []
        for label in (subject, f"{subject}-aa"):
            own = [row for row in group if (row["batch"], row["subject"]) == (batch, label)]
            arms.append(sorted((int(row["round"]), value) for row in own if (value := metric.value(row))))
        every = [value for arm in arms for _, value in arm]
        slow = [{number for number, value in arm if value > stats.MODES_APART * stats.median(every)} for arm in arms]
        out.append([[value for number, value in arm if number not in set.intersection(*slow)] for arm in arms])
    return out


def earlier(group: list[Row]) -> list[list[float]]:
    """Batch -> the figures of the earlier build that is raced beside, if one is."""
    metric = scenarios.known_by(group[0]["scenario"], group[0]["placement"])
    base = [row for row in group if row["role"] == "baseline"]
    return [[value for row in base if row["batch"] == batch and (value := metric.value(row))]
            for batch in sorted({row["batch"] for row in group})]


def traced(arms: list[list[float]]) -> bool:
    """Whether some run stands far above the others: too few for a mode, too many to say that there is none."""
    every = [value for arm in arms for value in arm]
    return bool(every) and max(every) > stats.MODES_APART * stats.median(every)


def denies(shown: str, arms: list[list[float]]) -> bool:
    """Whether a batch could have shown two modes, and has not: they are not there, or its earlier build has them, too."""
    return not shown and (stats.two_modes(arms) is not None or stats.one_mode(arms) and not traced(arms))


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
