"""The results of races in which each rule of a scheduler's workers was switched off: ablation.csv, each rule's verdict, the table."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from ..base import stats
from ..base.say import markdown
from ..race import rules, scenarios, tables
from ..race.rules import Rule
from . import comparing
from .comparing import Comparison, Row

GAIN, ELSEWHERE, NO_GAIN, UNRESOLVED = "gain shown", "gain shown elsewhere", "no gain", "unresolved here"
COLUMNS = (
    "schema_version,run_id,batch,rule,setting,own,scenario,scenario_params,placement,metric,better,n_pairs,ratio,ci_lo,ci_hi,"
    "margin,aa_halfwidth,p_bh,verdict,flags"
).split(",")
Place = tuple[str, str, str, str]  # scenario, scenario_params, placement, metric


def to_rows(comparisons: list[Comparison], run_id: str, batch: int) -> list[Row]:
    """A line for each comparison; of the controls the rule is empty, and `own` says what the rule was made for."""
    by_setting, out = {rule.setting: rule for rule in rules.RULES}, []
    for one in comparisons:
        rule = by_setting.get(one.ours)
        more = {"batch": str(batch), "rule": rule.switch if rule else "", "setting": one.ours,
                "own": str(int(rule.owns(one.key, one.metric.column))) if rule else ""}
        whole = comparing.to_row(one, run_id) | more
        out.append({column: whole[column] for column in COLUMNS})
    return out


def place(row: Row) -> Place:
    return row["scenario"], row["scenario_params"], row["placement"], row["metric"]


def of_rule(rows: list[Row], rule: Rule, batch: int) -> dict[Place, Row]:
    return {place(row): row for row in rows if row["rule"] == rule.switch and row["batch"] == str(batch)}


def resolved(row: Row) -> bool:
    """The A/A pair there tells 3 % from nothing: the margin is the least that there is."""
    return bool(row["aa_halfwidth"]) and float(row["margin"]) <= stats.LEAST_MARGIN + 1e-9


def without_gain(rule: Rule, found: dict[Place, Row]) -> bool:
    """A batch says of every figure that the rule was made for: resolved, and no worse without it."""
    own = [found.get(one) for one in rule.places()]
    return all(row and resolved(row) and row["verdict"] in (stats.EQUIVALENT, stats.IMPROVED) for row in own)


def decisive(rule: Rule, found: dict[Place, Row]) -> set[Place]:
    """Where a first batch says something that a second one must confirm."""
    shown = {one for one, row in found.items() if row["verdict"] in (stats.REGRESSED, stats.IMPROVED)}
    own = {one for one, row in found.items() if row["own"] == "1"}
    return shown | own if shown or without_gain(rule, found) else set()


@dataclass(frozen=True)
class Outcome:
    """What the batches say of a rule."""

    rule: Rule
    word: str
    why: str
    own: tuple[Row, ...]  # of each figure that it was made for the newest row
    worse: tuple[Row, ...]  # elsewhere, where two batches agree: without the rule it takes more,
    better: tuple[Row, ...]  # and less
    raced: int  # comparisons elsewhere


def outcome(rule: Rule, rows: list[Row]) -> Outcome:
    """A second batch of new rounds must say the same of the same place: the worst of many is partly luck."""
    first, second = (of_rule(rows, rule, batch) for batch in (1, 2))

    def twice(word: str, own: str) -> tuple[Row, ...]:
        agreed = (at for at, row in first.items() if row["own"] == own and row["verdict"] == word)
        return tuple(second[at] for at in agreed if at in second and second[at]["verdict"] == word)

    worse = twice(stats.REGRESSED, "0")
    if twice(stats.REGRESSED, "1"):
        word, why = GAIN, ""
    elif without_gain(rule, first) and without_gain(rule, second):
        word, why = (ELSEWHERE, "none in its own scenario") if worse else (NO_GAIN, "the rule goes")
    else:
        word, why = UNRESOLVED, doubt(rule, first, second)
    newest = first | second
    own = tuple(newest[at] for at in rule.places() if at in newest)
    return Outcome(rule, word, why, own, worse, twice(stats.IMPROVED, "0"), sum(row["own"] == "0" for row in first.values()))


def doubt(rule: Rule, first: dict[Place, Row], second: dict[Place, Row]) -> str:
    """Why nothing is decided."""
    own = [first.get(one) for one in rule.places()]
    if without_gain(rule, first) or any(row and row["verdict"] == stats.REGRESSED for row in own):
        return "a second batch did not agree" if second else "no second batch in time"
    if None in own or any(int(row["n_pairs"]) < stats.LEAST_PAIRS for row in own):
        return "too few rounds"
    widest = max(own, key=lambda row: float(row["margin"]))
    if not resolved(widest):
        return f"differences under {100 * float(widest['margin']):.1f} % cannot be told there"
    return "the interval reaches beyond the margin"


def outcomes(rows: list[Row]) -> list[Outcome]:
    """One for each rule that was raced, in the order of the list."""
    raced = {row["rule"] for row in rows}
    return [outcome(rule, rows) for rule in rules.RULES if rule.switch in raced]


def workers(row: Row) -> str:
    return tables.params_of(row["scenario_params"]).get("workers", "?")


def metric_name(row: Row) -> str:
    known = {metric.column: metric.what for metric in scenarios.metrics_of(row["scenario"], row["placement"])}
    return known.get(row["metric"], row["metric"])


def where(row: Row) -> str:
    """A place in words, without the number of workers."""
    params = (f"{key} {value}" for key, value in tables.params_of(row["scenario_params"]).items() if key != "workers")
    told = filter(None, (f"`{row['scenario']}`", ", ".join(params)))
    return " ".join(told) + (" on one CPU" if row["placement"] == "one_cpu" else "")


def figure(row: Row) -> str:
    """The ratio, in bold where it is claimed, and the margin where that is wide."""
    text = f"×{stats.ratio_text(float(row['ratio']), float(row['ci_lo']), float(row['ci_hi']))}"
    text = f"**{text}**" if row["verdict"] in (stats.REGRESSED, stats.IMPROVED) else text
    return text if resolved(row) else f"{text} (±{100 * float(row['margin']):.0f} %)"


def own_cell(found: Outcome) -> str:
    """Each figure that the rule was made for, by number of workers."""
    told: dict[str, list[str]] = defaultdict(list)
    for row in found.own:
        told[f"{where(row)}, {metric_name(row)}"].append(f"{workers(row)} workers {figure(row)}")
    return "<br>".join(f"{name}: {', '.join(figures)}" for name, figures in told.items()) or "not raced"


def elsewhere_cell(found: Outcome) -> str:
    """Every other figure: how often two batches agree on a difference, and the largest."""
    told = []
    for word, rows in (("more", found.worse), ("less", found.better)):
        if rows:
            most = max(rows, key=lambda one: abs(math.log(float(one["ratio"]))))
            at = f"{where(most)}, {metric_name(most)}, {workers(most)} workers"
            told.append(f"{word} at {len(rows)} (at most ×{stats.ratio_text(float(most['ratio']))}: {at})")
    return f"{'; '.join(told) or 'nothing shown'} of {found.raced}"


def table(rows: list[Row]) -> list[str]:
    """Rule by rule; for the page and for summary.md."""
    head = ["rule", "off", "what it was made for", "there, off over on", "elsewhere, off over on", "verdict"]
    return markdown(head, (
        [one.rule.name, f"`{one.rule.setting}`", f"{one.rule.made_for} ({', '.join(f'[{number}]' for number in one.rule.decisions)})", own_cell(one),
         elsewhere_cell(one), f"**{one.word}**{f': {one.why}' if one.why else ''}"]
        for one in outcomes(rows)
    ))


LEGEND = (
    "Ratios are rule off over rule on: above 1 the scheduler takes more without the rule. Bold is beyond the margin, which "
    "stands behind a ratio where it is above 3 %. A gain is shown where two batches of new rounds agree. A rule shows no gain "
    "where the A/A pair resolves 3 % at every figure that it was made for, at 2 and 4 workers, and nothing there is worse "
    "without it; then it goes. Otherwise it stays."
)
