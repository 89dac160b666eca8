"""THE verdict of a batch, wherever one is told: in a terminal, a report, summary.md, the list of results, a page."""

from __future__ import annotations

import dataclasses

from ..race import plans, scenarios
from . import comparing, findings
from .comparing import Comparison, Row, Validity


def of(env: dict, rows: list[Row], comparisons: list[Comparison]) -> Validity:
    """What the controls say, but VALID only in enough rounds and with no red finding, which stand first among the reasons."""
    found, race = comparing.validity(comparisons), env.get("race", {})
    reasons = [one.line for one in findings.of(env, rows, comparisons) if one.red]
    done = min(race.get("rounds_of_batches") or [race.get("rounds") or 0])
    if done < plans.LEAST_PUBLISHED:
        reasons.append(f"a batch has {done} rounds, {plans.LEAST_PUBLISHED} are the least that is published")
    reasons += few_pairs(comparisons)
    word = comparing.WEAK if reasons and found.word == comparing.VALID else found.word
    return dataclasses.replace(found, word=word, reasons=(*reasons, *found.reasons))


def few_pairs(comparisons: list[Comparison]) -> list[str]:
    """Where what a point is known by has fewer pairs than are published, whatever the number of rounds."""
    few = [one for one in comparing.gating(comparisons) if (one.claim or one.pairing.kind == "aa") and one.ranked and known_by(one)
           and one.pairs_of_a_batch < plans.LEAST_PUBLISHED]
    if not few:
        return []
    least = min(few, key=lambda one: one.pairs_of_a_batch)
    more = f", and {len(few) - 1} more comparisons" if len(few) > 1 else ""
    return [f"few pairs in {comparing.place_name(least)}, {least.ours} / {least.other}: {least.pairs_of_a_batch:.0f} in a batch, "
            f"{plans.LEAST_PUBLISHED} are the least that is published{more}"]


def known_by(one: Comparison) -> bool:
    metric = scenarios.known_by(one.key[0], one.key[2])
    return metric is not None and one.metric.column == metric.column


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
