"""mutate: weaken every atomic site in turn; some check must fail."""

from __future__ import annotations

import argparse
import os

from .. import building, mutation, repo
from ..errors import Fault, USAGE
from ..say import colour, say, table
from . import prove, setup

SUMMARY = "weaken each memory order in turn: some check must fail"
DESCRIPTION = """\
Takes every atomic operation and fence of the headers that the checks execute, weakens it by each
legal step at run time (no source is rewritten), and runs the checks that execute it, on the
explorer and then on Relacy, until one fails. STRUCTURES are parts of header names
(chase_lev_deque, idle_set); without any, all headers. A survivor must stand in
model_check/survivors.csv with a reason; a new one, or one that is now killed, is red.

writes:  build/model/mutation.csv
takes:   about a minute for one structure, several for all
exit:    0 when every survivor is reviewed and every reviewed one survives, else 1"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("structures", nargs="*", metavar="STRUCTURE", help="parts of header names (default: all)")
    parser.add_argument("--budget", default="20000x", help="for each check and engine: 20000x executions, or 2s")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="checks at a time, unmutated")
    parser.add_argument("--no-build", action="store_true", help="take build/model as it is")


def survivors_table(results: list[mutation.Result], reviewed: dict) -> str:
    rows = []
    for r in results:
        reason = reviewed.get(r.key(), "")
        known = colour("reviewed", "green") if reason else colour("NEW", "red")
        rows.append([f"{r.site.file}:{r.site.line}", r.site.operation, r.site.order, r.mutant, known,
                     reason or r.site.code()])
    return table(["survivor", "operation", "order", "mutant", "", "reason"], rows)


def score_table(results: list[mutation.Result]) -> str:
    rows = []
    for file in sorted({r.site.file for r in results}):
        of = [r for r in results if r.site.file == file]
        killed = sum(r.verdict == "killed" for r in of)
        rows.append([file, str(len({r.site for r in of})), str(len(of)), str(killed), f"{100 * killed / len(of):.0f} %",
                     f"{sum(r.seconds for r in of):.1f}"])
    return table(["header", "sites", "mutants", "killed", "score", "seconds"], rows, right={1, 2, 3, 4, 5})


def run(args: argparse.Namespace) -> int:
    if not prove.valid_budget(args.budget):
        raise Fault(f"--budget {args.budget} cannot be read", "", "5s, or 20000x executions", USAGE)
    if not args.no_build:
        setup.ensure(quiet=True)
        building.build("model")
    reviewed = mutation.reviewed()
    results, _ = mutation.run(args.structures, args.budget, args.jobs)
    mutation.write_table(results)
    survived = [r for r in results if r.verdict == "survived"]
    errors = [r for r in results if r.verdict == "error"]
    new = [r for r in survived if r.key() not in reviewed]
    died = [r for r in results if r.verdict == "killed" and r.key() in reviewed]
    say(score_table(results))
    if survived:
        say()
        say(survivors_table(survived, reviewed))
    for r in died:
        say(colour(f"killed after all, by {r.killed_by} on {r.engine}: {r.site.name}={r.mutant}; take it out of "
                   f"{mutation.SURVIVORS.relative_to(repo.ROOT)}", "red"))
    for r in errors:
        say(colour(f"error: {r.site.name}={r.mutant}: {r.reason}", "red"))
    killed = sum(r.verdict == "killed" for r in results)
    say(f"{killed} of {len(results)} mutants killed; {len(survived)} survive, {len(new)} of them unexplained")
    say(f"table: {mutation.TABLE.relative_to(repo.ROOT)}")
    return 1 if new or died or errors or not results else 0
