"""What no execution of a scenario as it is came to (`prove --reach`), by its verdict's own list, with what would reach it."""

from __future__ import annotations

from typing import NamedTuple

SHOWN = 3  # places of a kind in a line of text


class Kind(NamedTuple):
    scenario: str
    what: str               # never_reached.hpp: operation, retry, wait, wrap, round, slot, contention, freed, reuse
    places: list[str]       # FILE:LINE:OPERATION; none of the kinds that are of a whole file
    would: str              # what in a scenario would reach it


def kinds(verdicts: list[dict]) -> list[Kind]:
    """Scenario by scenario; of one that did not come through nothing is said."""
    return [Kind(v["name"], row["what"], list(row["places"]), row["would"]) for v in verdicts for row in v.get("never") or ()]


def text(verdicts: list[dict]) -> list[str]:
    """What `prove --reach` prints: a line for each kind of each scenario, then once what would reach each kind."""
    asked = [v for v in verdicts if "never" in v]
    if not asked:
        return ["--reach: no scenario of code as it is came through, so that there is nothing to say"]
    found, lines = kinds(verdicts), []
    for v in asked:
        rows = [row for row in found if row.scenario == v["name"]]
        lines.append(f"{v['name']} never reached" + ("" if rows else ": nothing that is looked for"))
        for row in rows:
            rest = len(row.places) - SHOWN
            told = ", ".join(row.places[:SHOWN]) + (f", and {rest} more" if rest > 0 else "")
            lines.append(f"  {row.what}" + (f" ({len(row.places)}): {told}" if row.places else ""))
    would = dict.fromkeys((row.what, row.would) for row in found)
    return lines + ["what would reach it"] * bool(would) + [f"  {what}: {remedy}" for what, remedy in would]
