"""THE verdict of a batch, wherever one is told: in a terminal, a report, summary.md, the list of results, a page."""

from __future__ import annotations

import dataclasses

from ..race import plans
from . import comparing, findings
from .comparing import Comparison, Row, Validity


def of(env: dict, rows: list[Row], comparisons: list[Comparison]) -> Validity:
    """What the controls say, but VALID only in enough rounds and with no red finding, which stand first among the reasons."""
    found, race = comparing.validity(comparisons), env.get("race", {})
    reasons = [one.line for one in findings.of(env, rows, comparisons) if one.red]
    done = min(race.get("rounds_of_batches") or [race.get("rounds", 0)])
    if done < plans.LEAST_PUBLISHED:
        reasons.append(f"a batch has {done} rounds, {plans.LEAST_PUBLISHED} are the least that is published")
    word = comparing.WEAK if reasons and found.word == comparing.VALID else found.word
    return dataclasses.replace(found, word=word, reasons=(*reasons, *found.reasons))


def of_sweep(env: dict, rows: list[Row]) -> list[Validity]:
    """Of each batch of a sweep or an ablation by itself: the second one confirms the first."""
    batches = ([row for row in rows if row["batch"] == one] for one in sorted({row["batch"] for row in rows}))
    return [of(env, batch, comparing.compare(batch)) for batch in batches]


def poorest(found: list[Validity]) -> Validity:
    """What may be said of all batches together."""
    order = (comparing.INVALID, comparing.NONE, comparing.WEAK, comparing.VALID)
    return min(found, key=lambda one: order.index(one.word))


def why(found: Validity) -> str:
    """In a line: the first reasons, and how many more there are."""
    first, *rest = found.reasons or ("the controls did what they must",)
    more = f"; {rest[0]}" if len(rest) == 1 else f", and {len(rest)} more reasons" if rest else ""
    return f"{first[0].upper()}{first[1:]}{more}."
