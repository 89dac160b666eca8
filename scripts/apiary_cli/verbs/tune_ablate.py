"""tune --ablate: what each rule of the workers brings, by racing the scheduler against itself with the rule off."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from ..base import argument_kinds
from ..base.errors import Fault, USAGE
from ..base.say import duration, heading, markdown as markdown_table, say
from ..race import eta, plans, rounds, rules, subjects, tables
from ..race.plans import Plan, Point
from ..race.rules import Rule
from ..analysis import ablation, comparing, summary, verdict
from ..analysis.comparing import Comparison
from . import against_defaults

DEFAULTS = {"rounds": 20, "minutes": 20.0, "block_ms": 5}
NOT_HERE = ("set", "cross", "plan", "scenario", "workers")  # options of a sweep


def times(point: Point) -> int:
    """Pairs in a round where a rule was made for the point: most on one CPU, where 3 % can be told."""
    return 3 if point.placement == "one_cpu" else 1 if point.scenario.open_loop else 2


def plan_of(chosen: tuple[Rule, ...], args: argparse.Namespace) -> Plan:
    """The points that the rules were made for, and those where all are raced. Few rounds are better than none: what
    has too few pairs says so."""
    own = [dataclasses.replace(point, times=times(point)) for rule in chosen for point in rule.points]
    points = tuple(dict.fromkeys([*own, *rules.EVERYWHERE]))
    return plans.Plan("ablation", points, args.rounds, 1, block_ms=args.block_ms, limit=60 * args.minutes)


def refuse_misfits(chosen: tuple[Rule, ...], subject: subjects.Subject, known: dict[str, subjects.Tunable]) -> None:
    """A switch that the subject does not know, or that does not change it, would show "no gain" of nothing."""
    for rule in chosen:
        one = known.get(rule.switch)
        if one and one.least <= rule.off <= one.most and one.standard != rule.off:
            continue
        told = f"it tells {one.standard}, from {one.least} to {one.most}" if one else "its --tunables does not name it"
        raise Fault(f"{subject.name} cannot do without {rule.switch}: {rule.setting}", told, "--rule NAME takes others", USAGE)


def line_up(subject: subjects.Subject, chosen: tuple[Rule, ...], scratch: Path) -> list[subjects.Arm]:
    """Each rule's arm where it was made for and where all are raced; the slow-down where a rule was made for and
    where it judges the batch, for calibrating it takes seconds."""
    arms = against_defaults.line_up(subject, [((rule.switch, rule.off),) for rule in chosen], scratch)
    own = {rule.setting: rule.points for rule in chosen}
    everywhere = frozenset(rules.EVERYWHERE)
    slow_at = frozenset(point for points in own.values() for point in points) | {p for p in everywhere if p.metric.gates}

    def at(arm: subjects.Arm) -> frozenset[Point] | None:
        return slow_at if arm.slow else everywhere | set(own[arm.label]) if arm.tune else None

    return [dataclasses.replace(arm, at=at(arm)) for arm in arms]


def narrowed(state: rounds.Race, chosen: tuple[Rule, ...], first: list[Comparison]) -> bool:
    """A second batch is of what the first one says, and of no more."""
    rows = ablation.to_rows(first, state.run_id, 1)
    by_key = {point.key: point for point in state.plan.points}
    asked = {rule.setting: frozenset(by_key[place[:3]] for place in ablation.decisive(rule, ablation.of_rule(rows, rule, 1)))
             for rule in chosen}
    state.arms = [dataclasses.replace(arm, at=asked[arm.label]) if arm.tune else arm
                  for arm in state.arms if not arm.tune or asked[arm.label]]
    left = frozenset().union(*asked.values())
    state.plan = dataclasses.replace(state.plan, points=tuple(point for point in state.plan.points if point in left))
    return bool(left)


def told(verdicts: against_defaults.Verdicts, rows: list[dict[str, str]]) -> list[str]:
    """Each rule in a line, behind whether the controls bear it."""
    valid = verdict.poorest(verdicts)
    lines = [f"{one.rule.name} ({one.rule.setting}): {one.word}{f': {one.why}' if one.why else ''}" for one in ablation.outcomes(rows)]
    if valid.word == comparing.INVALID:
        lines.insert(0, "no rule goes by this batch: the controls say that it is invalid")
    return lines + summary.control_lines(valid)


def markdown(command: str, run_id: str, lines: list[str], rows: list[dict[str, str]]) -> str:
    out = [f"# Ablation {run_id}", "", f"`{command}`", "", *(f"- {line.strip()}" for line in lines)]
    out += ["", "## Rule by rule", "", *ablation.table(rows), "", ablation.LEGEND, "", "## Every comparison", ""]
    out += markdown_table(["batch", "off", "point", "metric", "ratio", "margin", "verdict"], (
        [row["batch"], row["setting"] + (" (own)" if row["own"] == "1" else ""), f"{ablation.where(row)}, {ablation.workers(row)} workers",
         ablation.metric_name(row), "×{:.3f} [{:.3f}, {:.3f}]".format(*(float(row[name]) for name in ("ratio", "ci_lo", "ci_hi"))),
         f"{100 * float(row['margin']):.1f} %", row["verdict"]]
        for row in rows
    ))
    return "\n".join(out) + "\n"


def write(out: Path, run_id: str, batches: against_defaults.Batches, verdicts: against_defaults.Verdicts) -> list[str]:
    """ablation.csv and summary.md; returns the lines for the terminal."""
    rows = [row for number, one in enumerate(batches, start=1) for row in ablation.to_rows(one, run_id, number)]
    tables.write(out / "ablation.csv", ablation.COLUMNS, rows)
    lines = told(verdicts, rows)
    (out / "summary.md").write_text(markdown(argument_kinds.command(), run_id, lines, rows))
    return lines


def run(args: argparse.Namespace) -> int:
    wrong = next((name for name in NOT_HERE if getattr(args, name)), None)
    if wrong:
        cause = "an ablation has its own points, numbers of workers and settings"
        raise Fault(f"--ablate with --{wrong}", cause, "--rule, --minutes, --rounds, --block-ms and --seed are taken", USAGE)
    chosen = rules.named(args.rule)
    against_defaults.fill(args, DEFAULTS)
    args.workers = rules.WORKERS[0]  # every point says its own
    plan = plan_of(chosen, args)
    subject, known = against_defaults.introduced(args)
    refuse_misfits(chosen, subject, known)
    heading(f"ablate {subject.name}: {len(chosen)} rules at {len(plan.points)} points, within {duration(60 * args.minutes)}")

    def arms(scratch: Path) -> list[subjects.Arm]:
        made = line_up(subject, chosen, scratch)
        runs = {p: p.times * sum(arm.runs_at(p) and (p.controlled or not arm.slow) for arm in made) for p in plan.points}
        say(f"a round is {sum(runs.values())} runs, about {duration(eta.Eta(plan, runs).left())}")
        return made

    return against_defaults.perform(args, plan, arms, lambda state, first: narrowed(state, chosen, first), write)
