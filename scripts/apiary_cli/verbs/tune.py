"""tune: are the defaults of a scheduler's own numbers the best, by paired rounds against them?"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass
from pathlib import Path

from ..base import argument_kinds, stats
from ..base.errors import Fault, USAGE, unknown
from ..base.say import heading
from ..race import plans, rounds, subjects, tables
from ..analysis import comparing, summary
from ..analysis.comparing import Comparison
from . import against_defaults, tune_ablate
from .against_defaults import Setting

SUMMARY = "sweeps a scheduler's own numbers against their defaults"
DESCRIPTION = """\
Races one subject against itself: in every round its defaults and each setting run once at every
point, in fresh processes, shuffled; an A/A pair of the defaults sets the margin, and an arm with a
built-in slow-down shows what would be seen. What can be set is what the subject's --tunables names;
a setting changes one number, to a quarter, half, double and fourfold of its default unless --set
says otherwise. --cross tries every combination of what --set names.

A setting is better everywhere if it is IMPROVED at one point and IMPROVED or EQUIVALENT at all
others, after Benjamini–Hochberg over all settings and points. The best of many is partly luck:
unless a second batch, of new rounds, confirms it, the answer is to keep the defaults.

--ablate asks the reverse: does each rule of the workers earn its place? It races the defaults against
each rule switched off, at the points that the rule was made for and at some for all, with 2 and with 4
workers. A gain is shown if off is REGRESSED at such a point in two batches. A rule shows none if the A/A
pair resolves 3 % at all of them and off is EQUIVALENT or IMPROVED, twice. Otherwise it is
"unresolved here". The rules, their switches and their points are data: bench/contract/rules.toml.

  scripts/apiary tune
  scripts/apiary tune --set global_batch=8,32 --set steal_rounds=1,4 --cross --scenario steal_pressure
  scripts/apiary tune --ablate
  scripts/apiary tune --ablate --rule lets_poster_go_on --minutes 5

writes:  results/DATE-HOST/ with tune.csv, or ablation.csv (a line for each setting, point, metric and
         batch), rows.csv, env.json, summary.md; report --splice puts an ablation into a page
takes:   --minutes, or longer if the least rounds need it, plus building. Calibrating the slow-down control takes
         a minute, a round of the defaults' sweep some two, a round of all rules about one
exit:    0 done, whatever came out; 1 wrong work; 2 a bad setting; 3 the harness failed; 4 the controls
         say that the batch is invalid"""

POINTS = plans.plan("tune").points
FACTORS = (0.25, 0.5, 2, 4)
LEAST_ROUNDS = stats.LEAST_PAIRS
BETTER, WORSE, SAME, UNCLEAR = "better everywhere", "worse somewhere", "no better", "unclear"
COLUMNS = (
    "schema_version,run_id,batch,setting,scenario,scenario_params,placement,metric,better,n_pairs,ratio,ci_lo,ci_hi,"
    "margin,p_bh,verdict,flags"
).split(",")

DEFAULTS = {"rounds": 10, "minutes": 45.0, "workers": 2, "block_ms": 50}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--subject", default="hive", metavar="NAME", help="the program to tune (default hive)")
    argument_kinds.repeatable(parser, "--set", "NAME=V,V,…", "these values of this number (repeatable)")
    parser.add_argument("--cross", action="store_true", help="try every combination of the values given by --set")
    parser.add_argument("--plan", metavar="PLAN", help="race at the points of this plan, or of this TOML file")
    argument_kinds.repeatable(parser, "--scenario", "NAME", "only this (repeatable)")
    parser.add_argument("--ablate", action="store_true", help="switch off each rule of the workers in turn, at the scenarios that it was made for")
    argument_kinds.repeatable(parser, "--rule", "NAME", "with --ablate: only the rule that this number switches off (repeatable)")
    parser.add_argument("--rounds", type=argument_kinds.count, metavar="N", help="at most so many rounds of a batch (default 10; with --ablate 20)")
    parser.add_argument("--minutes", type=argument_kinds.minutes, metavar="M",
                        help="no round begins after this, but each batch has at least 5, with --ablate 1 (default 45; with --ablate 20)")
    parser.add_argument("--workers", type=argument_kinds.workers, metavar="N", help="worker threads (default 2; with --ablate 2 and 4)")
    parser.add_argument("--block-ms", type=argument_kinds.block_ms, metavar="MS", help="length of a block (default 50; with --ablate 5)")
    parser.add_argument("--seed", type=argument_kinds.seed, help="seed of order and padding (default: random, recorded)")
    parser.add_argument("--no-build", action="store_true", help="take the build as it is, if it is of this source")


def asked_values(known: dict[str, subjects.Tunable], texts: list[str]) -> dict[str, list[int]]:
    """What --set names, checked against what the subject says of itself."""
    found: dict[str, list[int]] = {}
    for text in texts:
        name, sign, values = text.partition("=")
        if name not in known:
            raise unknown("number to tune", name, known)
        one = known[name]
        for value in values.split(",") if sign else [""]:
            if not value.isascii() or not value.isdigit() or not one.least <= int(value) <= one.most:
                wanted = f"whole numbers from {one.least} to {one.most}, separated by commas; default {one.standard}"
                raise Fault(f"--set {text}", f"{value!r} is no value of {name}", wanted, USAGE)
            found.setdefault(name, []).append(int(value))
    return found


def settings(known: dict[str, subjects.Tunable], texts: list[str], cross: bool) -> list[Setting]:
    """What runs beside the defaults; the defaults themselves are none of them."""
    values = asked_values(known, texts) or {
        one.name: [min(one.most, max(one.least, round(factor * one.standard))) for factor in FACTORS]
        for one in known.values()
    }
    if cross:
        if not texts:
            raise Fault("--cross without --set", "all combinations of everything take days", "say --set twice", USAGE)
        made = [tuple(zip(values, chosen)) for chosen in itertools.product(*values.values())]
    else:
        made = [((name, value),) for name, some in values.items() for value in some]
    changed = (tuple((name, v) for name, v in one if v != known[name].standard) for one in made)
    found = list(dict.fromkeys(one for one in changed if one))
    if not found:
        raise Fault("there is no setting to try", "all values are the defaults", "scripts/apiary tune --help", USAGE)
    return found


@dataclass(frozen=True)
class Standing:
    """A setting against the defaults, over all points of a batch."""

    setting: str
    word: str
    shown: tuple[Comparison, ...]  # what decided: the improvements or the regressions
    best: float  # the smallest ratio; for telling apart, not for claiming


def standings(comparisons: list[Comparison]) -> list[Standing]:
    """One for each setting, in the order of the tables. What the injector limited decides nothing."""
    by_setting: dict[str, list[Comparison]] = {}
    for one in comparisons:
        if not one.control and "not_ranked" not in one.flags:
            by_setting.setdefault(one.pairing.candidate, []).append(one)
    out = []
    for setting, found in by_setting.items():
        improved = tuple(one for one in found if one.verdict == stats.IMPROVED)
        regressed = tuple(one for one in found if one.verdict == stats.REGRESSED)
        known = all(one.verdict in (stats.IMPROVED, stats.EQUIVALENT) for one in found)
        word = WORSE if regressed else SAME if not improved else BETTER if known else UNCLEAR
        out.append(Standing(setting, word, regressed or improved, min(one.found.ratio for one in found)))
    return out


def better(found: list[Standing]) -> list[str]:
    return [one.setting for one in found if one.word == BETTER]


def advice(first: list[Standing], second: list[Standing] | None, valid: comparing.Validity) -> str:
    """The answer, in a sentence."""
    if valid.word == comparing.INVALID:
        return f"keep the defaults: the controls say that the batch is invalid ({'; '.join(valid.reasons)})"
    promising = better(first)
    if not promising:
        return f"keep the defaults: of {len(first)} settings none is better everywhere"
    if second is None:
        return f"keep the defaults for now: {', '.join(promising)} had no second batch in time; --minutes gives more"
    held = [one for one in better(second) if one in promising]
    if not held:
        return f"keep the defaults: {', '.join(promising)} did not hold in a second batch"
    return f"better everywhere, in two batches: {', '.join(held)}"


def to_row(one: Comparison, run_id: str, batch: int) -> dict[str, str]:
    whole = comparing.to_row(one, run_id)
    return {column: whole[column] for column in COLUMNS if column in whole} | {
        "batch": str(batch), "setting": one.pairing.candidate}


def markdown(command: str, run_id: str, told: list[str], batches: list[list[Comparison]]) -> str:
    lines = [f"# Tuning {run_id}", "", f"`{command}`", "", *(f"- {line}" for line in told)]
    for number, comparisons in enumerate(batches, start=1):
        lines += ["", f"## Batch {number}", "", "Ratios are setting over defaults; below 1 the setting takes less.", ""]
        lines += summary.comparison_table(comparisons)
    return "\n".join(lines) + "\n"


def lines(batches: list[list[Comparison]], verdicts: against_defaults.Verdicts) -> list[str]:
    """The answer, the controls, and each setting in a line."""
    first, second = standings(batches[0]), standings(batches[1]) if len(batches) > 1 else None
    # The second batch decides, so its controls must be right too.
    valid = next((one for one in verdicts if one.word == comparing.INVALID), verdicts[0])
    out = [advice(first, second, valid), *summary.control_lines(valid)]
    for one in sorted(first, key=lambda s: ([BETTER, UNCLEAR, SAME, WORSE].index(s.word), s.best)):
        why = "; ".join(f"{comparing.place_name(c)} {c.metric.what} ×{c.found.ratio:.3f}" for c in one.shown)
        out.append(f"{one.setting}: {one.word}{f' ({why})' if why else ''}")
    return out


def narrowed(state: rounds.Race, first: list[Comparison]) -> bool:
    """A second batch is of those that were better everywhere."""
    promising = better(standings(first))
    state.arms = [arm for arm in state.arms if not arm.tune or arm.label in promising]
    return bool(promising)


def chosen_plan(args: argparse.Namespace) -> plans.Plan:
    points = POINTS
    if args.plan:
        points = (plans.read(Path(args.plan)) if args.plan.endswith(".toml") else plans.plan(args.plan)).points
    whole = plans.Plan("tune", points, args.rounds, min(args.rounds, LEAST_ROUNDS), block_ms=args.block_ms)
    kept = plans.narrowed(whole, args.scenario, None, None)
    if not kept.points:
        cause = f"none of {', '.join(args.scenario)} is in the plan"
        raise Fault("there is no point to race at", cause, "--plan wide", USAGE)
    return kept


def write(out: Path, run_id: str, batches: against_defaults.Batches, verdicts: against_defaults.Verdicts) -> list[str]:
    """tune.csv and summary.md; returns the lines for the terminal."""
    tuned = [to_row(one, run_id, number) for number, some in enumerate(batches, start=1) for one in some]
    tables.write(out / "tune.csv", COLUMNS, tuned)
    told = lines(batches, verdicts)
    (out / "summary.md").write_text(markdown(argument_kinds.command(), run_id, told, batches))
    return told


def run(args: argparse.Namespace) -> int:
    if args.ablate:
        return tune_ablate.run(args)
    if args.rule:
        raise Fault(f"--rule {args.rule[0]}", "rules are what --ablate switches off", "scripts/apiary tune --ablate", USAGE)
    against_defaults.fill(args, DEFAULTS)
    plan = chosen_plan(args)
    subject, known = against_defaults.introduced(args)
    chosen = settings(known, args.set, args.cross)
    heading(f"tune {subject.name}: {len(chosen)} settings at {len(plan.points)} points, at most {plan.rounds} rounds")
    return against_defaults.perform(
        args, plan, lambda scratch: against_defaults.line_up(subject, chosen, scratch), narrowed, write)
