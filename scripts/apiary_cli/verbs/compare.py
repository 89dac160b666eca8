"""compare: did a change cost anything? Two commits in one race, or two result folders."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ..base import argument_kinds, commits, json_result, source_names, stats
from ..base.errors import Fault, INCORRECT, INVALID_BATCH, USAGE, gravest, unknown
from ..base.say import colour, duration, heading, say, table, warn
from ..race import plans, subjects, tables
from ..analysis import compare_folders, comparing, findings, summary, verdict
from ..report.page_data import Report
from . import race, report, setup

SUMMARY = "did a change cost anything? two commits in one race, or two result folders"
DESCRIPTION = """\
OLD and NEW are two commits of this repository, or two result folders. '.' is the working tree with all that git does
not ignore; a name that `race --save-baseline NAME` gave stands for its commit.

Commits: exports and builds both, and races them in one batch: paired rounds, an A/A pair, a built-in
slow-down. Processor time per task on one CPU decides (plan gate: six scenarios, 20 pairs each, 30 of
post_throughput): there two copies differ by about a hundredth, whatever else runs.
Free placement is shown beside it, with the number of modes of NEW's figures, and does not decide.
A regression counts only when a second batch agrees. The usual question is
  scripts/apiary compare HEAD .
A shorter form takes half a minute once both are built:
  scripts/apiary compare HEAD . --scenario successor --scenario spawn_many_remote_idle
With --repeat 10 it runs ten times, each time from nothing, and prints the ten verdicts below each other. The plan
gate measures no latency; --plan quick does, with a wide margin.

Folders: their rounds were not run in pairs, so what is compared is each scheduler's ratio to the peers that both
folders have in the same version and build, each with a figure in nine of ten of the scheduler's rounds. Without such a
peer nothing is decided. As in a race, figures that the injector made are left out. The controls of both folders count:
an INVALID folder is refused (status 4); a point whose A/A pair differs or is missing decides nothing;
Benjamini–Hochberg runs over all decided points. NEW ends with 1, as after a race, if it did wrong work, has red
findings or has lost points; each is named. The options below are for commits only.

writes:  for commits build/compare/TREE/ and a result folder, as race does; for folders nothing
takes:   for commits two builds of one subject and about 2 minutes; twice that if the second batch is needed
exit:    0 nothing was shown to be slower (undecided points are named); 1 slower, wrong work, a finding as race
         has them, or a point that NEW has no figure for; 2 names that make no sense; 3 the harness failed;
         4 the controls say that the batch is invalid, so it cannot show what is slower.
         With --repeat any 1 wins, then any 3"""

ROUNDS, SUBJECT = plans.plan("gate").rounds, "hive"
TINT = {stats.REGRESSED: "red", stats.IMPROVED: "green"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", help="a commit, a saved baseline, '.', or a result folder")
    parser.add_argument("new", metavar="NEW", help="the same kind of thing")
    parser.add_argument("--subject", default=SUBJECT, metavar="NAME", help=f"which of our subjects (default {SUBJECT})")
    argument_kinds.repeatable(parser, "--scenario", "NAME", "only this (repeatable)")
    parser.add_argument("--plan", default="gate", help="which points (default those of gate)")
    parser.add_argument("--rounds", type=argument_kinds.count, default=ROUNDS, metavar="N", help=f"rounds, of several pairs each (default {ROUNDS})")
    parser.add_argument("--repeat", type=argument_kinds.count, default=1, metavar="N", help="race N times; the verdicts at the end")
    race.conditions(parser)


HEAD = ["point", "metric", "NEW / OLD:n", "95 % interval:n", "margin:n", "verdict", "note"]


def table_row(place: str, what: str, found: stats.Estimate, margin: float, verdict: str, note: str) -> list[str]:
    word = colour(verdict, TINT[verdict]) if verdict in TINT else verdict
    interval = f"[{found.lo:.3f}, {found.hi:.3f}]"
    return [place, what, f"×{found.ratio:.3f}", interval, f"{100 * margin:.1f} %", word, note]


def heed(path: Path, found: comparing.Validity, code: int) -> None:
    """What its controls say of a folder holds wherever its rows are read: INVALID decides nothing."""
    if found.word == comparing.INVALID:
        raise Fault(f"{path.name} is INVALID", "; ".join(found.reasons[:3]), "race it again on a quieter machine", code)
    if not found.published:
        warn(f"{path.name} is {found.word}: {verdict.why(found)}")


def folders(old: Path, new: Path) -> int:
    """Print what two result folders say of each other."""
    (old_env, old_rows, _), (new_env, new_rows, _) = loaded = summary.load(old), summary.load(new)
    failures, gone, seen = summary.failures(new_rows), compare_folders.lost(old_rows, new_rows), findings.of(*loaded[1])
    red = [*(f"WRONG: {line}" for line in failures + gone), *(one.line for one in seen if one.red)]
    say(*(colour(line, "red") for line in red))
    json_result.note(old=str(old), new=str(new), failures=failures, lost=gone,
                 findings=[{"line": one.line, "red": one.red} for one in seen])
    for path, one in zip((old, new), loaded):
        heed(path, verdict.of(*one), INCORRECT if red else INVALID_BATCH)
    for line in compare_folders.warnings(old_env, new_env):
        warn(line)
    found = compare_folders.compare(old_rows, new_rows)
    if not (found or red):
        raise Fault("the folders have nothing in common", "no scheduler of ours was measured at the same point in both",
                    "race both with the same plan, workers and placement", USAGE)
    heading(f"{new.name} over {old.name}: time; above 1 is slower")
    say(*ratios(found) if found else ["nothing was compared"])
    json_result.note(comparisons=[
        {"subject": one.subject, "point": list(one.key), "metric": one.metric.column, "ratio": one.found.ratio, "lo": one.found.lo,
         "hi": one.found.hi, "margin": one.margin, "p_bh": one.p_bh, "verdict": one.verdict, "anchors": one.anchors,
         "flags": one.flags}
        for one in found
    ])
    return INCORRECT if red or any(one.verdict == stats.REGRESSED for one in found) else 0


def ratios(found: list[compare_folders.FolderComparison]) -> list[str]:
    """What the ratios are over, and their table."""
    told = [f"against {', '.join(one.anchors)}" if one.anchors else "medians only" for one in found]
    usual = Counter(told).most_common(1)[0][0]
    rows = []
    for anchors, one in zip(told, found):
        note = "; ".join([*[anchors] * (anchors != usual), *one.flags])
        rows.append(table_row(f"{one.subject} {tables.label_of(one.key)}", one.metric.what, one.found, one.margin, one.verdict, note))
    return [f"{usual}, where the note names no others", table(HEAD, rows)]


def asked(args: argparse.Namespace) -> tuple[plans.Plan, argparse.Namespace]:
    """The points to race, and all that a race may be told, with what compare was told in it."""
    usual = vars(race.parsed("--believe", "--no-sidecars"))
    told = argparse.Namespace(**usual | vars(args))
    return race.chosen_plan(told), told


def builds(args: argparse.Namespace) -> tuple[commits.Tree, subjects.Subject]:
    """NEW's tree and subject; OLD's program is the baseline."""
    new, old = commits.export(args.new), commits.export(args.old)
    if new.source == old.source:
        say(f"{args.old} and {args.new} are the same tree: this can only show what noise looks like")
    program = commits.build(new, f"subject_{args.subject}")
    subject, args.baseline = subjects.introduce(program), commits.build(old, f"subject_{args.subject}")
    return new, subject


def tell(outcome: race.Outcome, args: argparse.Namespace) -> Report:
    """Tells a person how the race came out."""
    heading(f"{args.new} over {args.old}: time; above 1 is slower")
    read, shown = race.found_in(outcome), []
    for one in read.comparisons:
        if one.pairing.kind == "baseline":
            notes = ["a second batch disagrees"] if one.confirmed == "0" else list(one.flags)
            if "ungated" in one.flags:
                notes.append(f"modes={stats.modes([candidate for candidate, _ in one.pairs])}")
            note = "; ".join(notes)
            shown.append(table_row(comparing.place_name(one), one.metric.what, one.found, one.margin, one.verdict, note))
    say(table(HEAD, shown) if shown else "nothing was compared")
    say(*summary.control_lines(read.validity), *summary.missing(read.env, read.rows))
    say(*(f"UNDECIDED: {one}" for one in undecided(read.comparisons)))
    outcome.note(lost=lost(read.rows))
    race.tell_wrong(outcome, race.failures(read) + lost(read.rows))
    return read


def lost(rows: list[dict[str, str]]) -> list[str]:
    """Points at which OLD has figures and NEW has none: nothing could be decided there, and a race of NEW would not show them."""
    def there(role: str) -> dict[comparing.Key, None]:
        return dict.fromkeys(comparing.key_of(row) for row in comparing.good(rows) if row["role"] == role)

    return [f"NEW has no figure in {tables.label_of(key)}, and OLD has" for key in there("baseline") if key not in there("candidate")]


def undecided(comparisons: list[comparing.Comparison]) -> list[str]:
    """Where NEW's whole interval lies above 1, and its own noise makes the margin too wide to call it slower."""
    return [f"{comparing.place_name(one)} {summary.ratio_text(one)}, margin {100 * one.margin:.1f} %: race it again"
            for one in comparing.gating(comparisons)
            if one.pairing.kind == "baseline" and one.verdict == stats.INCONCLUSIVE and one.found.lo > 1]


def run(args: argparse.Namespace) -> int:
    old, new = report.named(args.old), report.named(args.new)
    if old and new:
        if mixed := argument_kinds.besides(args, arguments, "old", "new"):
            raise Fault(f"two result folders with {mixed}", "they are compared as they were raced", "leave it away", USAGE)
        return folders(old, new)
    if old or new:
        raise Fault(f"{args.old} and {args.new} cannot be compared", "one is a result folder, the other is not",
                    "give two result folders, or two commits", USAGE)
    started = time.monotonic()
    plan, args = asked(args)
    names = source_names.subjects()
    if names and args.subject not in names:
        raise unknown("subject", args.subject, names)
    for name in (args.old, args.new):
        commits.resolve(name)  # refuses what is no commit, before anything is installed
    setup.ensure()
    tree, subject = builds(args)
    seed, outcomes = args.seed, []
    for number in range(args.repeat):
        args.seed = None if seed is None else seed + number
        outcomes.append(race.perform(plan, [subject], args, [], command=argument_kinds.command(), tree=tree))
        if lost(tell(outcomes[-1], args).rows):
            outcomes[-1] = dataclasses.replace(outcomes[-1], code=gravest([outcomes[-1].code, INCORRECT]))
        if args.repeat > 1:  # of the last race all is noted besides
            json_result.note(races=[one.told | {"exit": one.code} for one in outcomes])
    if len(outcomes) > 1:
        heading(f"{len(outcomes)} times {args.new} over {args.old}")
        say(*verdicts_of(outcomes))
    say(f"took {duration(time.monotonic() - started)}")
    return gravest(outcome.code for outcome in outcomes)


@dataclass(frozen=True)
class Gate:
    """What one race of two commits decides: what became slower, and what a reader should know."""

    regressed: list[str]
    wrong: list[str]
    validity: str
    folder: Path
    asked: int  # points of the plan that gate
    decided: int  # of those, how many have a pair with OLD
    findings: list[str] = field(default_factory=list)  # those that are red
    undecided: list[str] = field(default_factory=list)


def gate(old: str, new: str) -> Gate:
    """The race of `compare OLD NEW`, for a caller that decides by regressions, wrong work and findings."""
    parser = argparse.ArgumentParser()
    arguments(parser)
    plan, args = asked(parser.parse_args([old, new]))
    tree, subject = builds(args)
    outcome = race.perform(plan, [subject], args, [], command=shlex.join(["scripts/apiary", "compare", old, new]), tree=tree)
    read = tell(outcome, args)
    pairs = [one for one in comparing.gating(read.comparisons) if one.pairing.kind == "baseline"]
    return Gate(
        [f"{comparing.place_name(one)} {summary.ratio_text(one)}" for one in comparing.regressions(read.comparisons)],
        summary.failures(read.rows) + lost(read.rows),
        read.validity.word,
        outcome.folder,
        asked=sum(point.metric.gates for point in plan.points) or len(plan.points),
        decided=len(pairs),
        findings=[one.line for one in read.findings if one.red],
        undecided=undecided(read.comparisons),
    )


def verdicts_of(outcomes: list[race.Outcome]) -> list[str]:
    """One line for each race, and one that counts the verdicts."""
    lines, words = [], Counter()
    for number, outcome in enumerate(outcomes, 1):
        found = [one for one in comparing.gating(outcome.report.comparisons) if one.pairing.kind == "baseline"]
        words.update(one.verdict for one in found)
        told = "; ".join(f"{comparing.place_name(one)} {summary.ratio_text(one)} {one.verdict} (margin {100 * one.margin:.1f} %)"
                         for one in found)
        lines.append(f"{number:2}  batch {outcome.report.validity.word}: {told}")
    return [*lines, "verdicts: " + ", ".join(f"{count} {word}" for word, count in words.most_common())]
