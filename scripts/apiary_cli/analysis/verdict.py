"""THE verdict of a batch, wherever one is told: in a terminal, a report, summary.md, the list of results, a page."""

from __future__ import annotations

import dataclasses

from ..race import plans
from . import comparing, findings
from .comparing import Comparison, Row, Validity


def of(env: dict, rows: list[Row], comparisons: list[Comparison]) -> Validity:
    """What the controls say; and what else keeps a batch from being published: a red finding, too few rounds or pairs."""
    found, race = comparing.validity(comparisons), env.get("race", {})
    bars = [one.line for one in findings.of(env, rows, comparisons) if one.red]
    done = min(race.get("rounds_of_batches") or [race.get("rounds") or 0])
    if done < plans.LEAST_PUBLISHED:
        bars.append(f"a batch has {done} rounds, {plans.LEAST_PUBLISHED} are the least that is published")
    bars += few_pairs(comparisons)
    return dataclasses.replace(found, bars=tuple(bars))


def few_pairs(comparisons: list[Comparison]) -> list[str]:
    """Where what a point is known by has fewer pairs than are published, whatever the number of rounds."""
    few = [one for one in comparing.gating(comparisons) if (one.claim or one.pairing.kind == "aa") and one.ranked and comparing.known_by(one)
           and one.pairs_of_a_batch < plans.LEAST_PUBLISHED]
    if not few:
        return []
    least = min(few, key=lambda one: one.pairs_of_a_batch)
    more = f", and {len(few) - 1} more comparisons" if len(few) > 1 else ""
    return [f"few pairs in {comparing.place_name(least)}, {least.ours} / {least.other}: {least.pairs_of_a_batch:.0f} in a batch, "
            f"{plans.LEAST_PUBLISHED} are the least that is published{more}"]


def of_sweep(env: dict, rows: list[Row]) -> list[Validity]:
    """Of each batch of a sweep or an ablation by itself: the second one confirms the first."""
    batches = ([row for row in rows if row["batch"] == one] for one in sorted({row["batch"] for row in rows}))
    return [of(env, batch, comparing.compare(batch)) for batch in batches]


def poorest(found: list[Validity]) -> Validity:
    """What may be said of all batches together."""
    order = (comparing.INVALID, comparing.NONE, comparing.VALID)
    return min(found, key=lambda one: (order.index(one.word), not one.bars))


def why(found: Validity) -> str:
    """In a line: why it is INVALID, or why it is not published, the first reasons and how many more there are; then how fine it
    looks."""
    told = [*found.reasons, *(f"not for publication: {one}" for one in found.bars)]
    shown = told[:2] if len(told) <= 2 else [told[0], f"{len(told) - 1} more reasons"]
    if found.word == comparing.VALID and found.tells:
        shown.append(found.tells)
    return " ".join(f"{one[0].upper()}{one[1:]}." for one in shown or ["The controls did what they must"])
