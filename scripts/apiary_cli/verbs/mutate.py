"""mutate: weaken every atomic site in turn; some check must fail."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import io
import os

from ..base import building, decided, given, repo
from ..base.errors import Fault, USAGE
from ..base.say import colour, say, table
from ..verify import inventory, logic, logic_run, mutation
from . import prove, setup

SUMMARY = "weaken each memory order in turn: some check must fail"
DESCRIPTION = """\
Takes every atomic operation, fence and recheck of the headers of impl/ (an inventory read from
their text), weakens it by each legal step at run time (no source is rewritten), and runs the
checks that execute it, on both engines, until one fails. STRUCTURES are parts of header names
(chase_lev_deque, idle_set); without any, all headers.

Red are: a survivor that does not stand in model_check/survivors.csv with a reason; one that
stands there and is killed, or whose site is gone; a site that no check executes; an executed
site that the inventory does not know; two operations at one place.

With --logic: the mistakes that are no memory order. A statement is missing or stands behind its
neighbour, a condition is turned round, a number is one off, one waiter is woken for all. Rules over
the headers' text make candidates, of which a fixed seed draws a share; model_check/logic_mutants.toml
adds those that no rule reaches. One build (build/logic) holds them all; model checks of both engines
and unit tests are run against each, until one fails. Red are: fewer than 95 % killed; a survivor
without a row in model_check/logic_survivors.csv; a row whose mutant is killed, or gone.

writes:  build/model/mutation.csv, build/model/mutation.json; with --logic build/logic/logic.csv, logic.json
takes:   about two minutes for one structure, up to twenty for all; with --logic up to 45
exit:    0 when nothing of that is found, else 1"""

def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("structures", nargs="*", metavar="STRUCTURE", help="parts of header names (default: all)")
    parser.add_argument("--inventory", action="store_true", help="only the inventory: the sites, and which checks run them")
    parser.add_argument("--logic", action="store_true", help="mutate statements, conditions and numbers in place of orders")
    parser.add_argument("--share", type=given.part, default=logic.SHARE, metavar="PART",
                        help=f"with --logic: of what the rules make, 0 to 1 (default {logic.SHARE})")
    parser.add_argument("--list", action="store_true", help="with --logic: only the catalogue")
    parser.add_argument("--budget", help=f"for each check and engine: 5s or 20000x (default {mutation.SHORT}; "
                        f"with --logic {logic_run.SHORT})")
    parser.add_argument("--longer", metavar="BUDGET",
                        help=f"for the explorer's unfinished searches of a survivor (default {mutation.LONG}; none: 0s); "
                        f"with --logic for all checks of one (default {logic_run.LONG})")
    parser.add_argument("--jobs", type=given.count, default=os.cpu_count() or 1, help="mutants at a time")
    parser.add_argument("--no-build", action="store_true", help="take build/model as it is, if it is of this source")


def survivors_table(results: list[mutation.Result], reviewed: dict) -> str:
    rows = []
    for r in results:
        reason = reviewed.get(r.key(), "")
        known = colour("reviewed", "green") if reason else colour("NEW", "red")
        rows.append([f"{r.site.file}:{r.site.line}", r.site.operation, r.site.order, r.mutant, known, r.mode,
                     reason or r.site.code])
    return table(["survivor", "operation", "order", "mutant", "", "searched", "reason"], rows)


def score_table(found: mutation.Run, reviewed: dict) -> str:
    rows = []
    for file in sorted(found.files):
        of = [r for r in found.results if r.site.file == file]
        killed = sum(r.verdict == "killed" for r in of)
        survived = [r for r in of if r.verdict == "survived"]
        unexplained = sum(r.key() not in reviewed for r in survived)
        rows.append([file, str(len({r.site for r in of})), str(len(of)), str(killed),
                     f"{100 * killed / len(of):.0f} %" if of else "", str(len(survived)), str(unexplained),
                     str(sum(item.file == file for item in found.never)), f"{sum(r.seconds for r in of):.1f}"])
    return table(["header", "weakened", "mutants", "killed", "score", "survive", "unexplained", "never run", "seconds"],
                 rows, right={1, 2, 3, 4, 5, 6, 7, 8})


def inventory_table(found: mutation.Run) -> str:
    items, _ = inventory.read()
    never = set(found.never)
    rows = [[f"{i.file}:{i.line}:{i.column}", i.operation, i.order, i.function,
             colour("NEVER RUN", "red") if i in never else "real only" if i.real_only else "run", i.code]
            for i in items if i.file in found.files]
    return table(["site", "operation", "order", "function", "", "code"], rows)


def rows_to_paste(results: list[mutation.Result] | list[logic_run.Result]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for r in results:
        writer.writerow([*r.key(), ""])
    return text.getvalue().rstrip()


def tell(lines: list[str]) -> int:
    for line in lines:
        say(colour(line, "red"))
    return len(lines)


def logic_score_table(found: logic_run.Run, listed: dict) -> str:
    rows = []
    for file in sorted(found.files):
        of = [r for r in found.results if r.mutant.file == file]
        killed = [r for r in of if r.verdict == "killed"]
        rows.append([file, str(len(of)), str(len(killed)), f"{100 * len(killed) / len(of):.0f} %" if of else "",
                     str(sum(bool(r.engine) for r in killed)), str(sum(not r.engine for r in killed)),
                     str(sum(r.how == "hung" for r in killed)),
                     str(sum(r.verdict == "survived" and r.key() not in listed for r in of)),
                     f"{sum(r.seconds for r in of):.0f}"])
    return table(["header", "mutants", "killed", "score", "by checks", "by tests", "hung", "unexplained", "seconds"], rows,
                 right=set(range(1, 9)))


def logic_catalogue_table(mutants: list[logic.Mutant]) -> str:
    rows = [[str(i), f"{m.file}:{m.line}", "written" if m.reason else "drawn", m.rule, m.code, m.put]
            for i, m in enumerate(mutants)]
    return table(["number", "place", "", "rule", "code", "becomes"], rows, right={0})


def run_logic(args: argparse.Namespace) -> int:
    """The logic mutants in place of the weaker orders."""
    mutants = logic.catalogue(share=args.share)
    logic_run.chosen(args.structures, mutants)
    if args.list:
        say(logic_catalogue_table(mutants))
        say(f"{len(mutants)} logic mutants, {sum(bool(m.reason) for m in mutants)} of them written by hand")
        return 0
    if not args.no_build:
        setup.ensure(quiet=True)
    listed = logic_run.reviewed()
    found = logic_run.run(args.structures, args.jobs, mutants, args.budget, args.longer, no_build=args.no_build)
    say(logic_score_table(found, listed))
    rows = [[f"{r.mutant.file}:{r.mutant.line}", r.mutant.function, r.mutant.code, f"{r.mutant.rule} {r.mutant.put}",
             str(r.tries), colour("reviewed", "green") if r.key() in listed else colour("NEW", "red"),
             listed.get(r.key(), r.reason)] for r in found.results if r.verdict == "survived"]
    if rows:
        say()
        say(table(["survivor", "function", "code", "change", "tries", "", "reason"], rows, right={4}))
    full = args.share == logic.SHARE
    red = logic_run.judged(found, listed, mutants) if full else logic_run.unexplained(found, listed)
    if full:
        tell(red)
    if full and not args.structures:
        logic_run.write_record(found, listed)
    new = logic_run.unexplained(found, listed)
    if new:
        say(f"find a check or a test that fails, or give a reason in {logic_run.SURVIVORS.relative_to(repo.ROOT)}:")
        say(rows_to_paste(new))
    note(found.results, new, red)
    say(logic_run.score(found.results))
    say(f"table: {logic_run.TABLE.relative_to(repo.ROOT)}")
    return 1 if red or not found.results else 0


def note(results: list, unexplained: list, red: list[str]) -> None:
    one, other = ([dataclasses.asdict(result) for result in some] for some in (results, unexplained))
    decided.note(mutants=one, unexplained=other, red=red)


def run(args: argparse.Namespace) -> int:
    kind = logic_run if args.logic else mutation
    args.budget, args.longer = args.budget or kind.SHORT, args.longer or kind.LONG
    for budget, none in ((args.budget, False), (args.longer, True)):
        if not prove.valid_budget(budget, none):
            raise Fault(f"--budget {budget} cannot be read", "", "5s, or 20000x executions", USAGE)
    if args.logic:
        return run_logic(args)
    inventory.refuse_unknown(args.structures)
    if not args.no_build:
        setup.ensure(quiet=True)
        building.build("model")
    reviewed = mutation.reviewed()
    longer = "" if float(args.longer[:-1]) == 0 else args.longer
    found = mutation.run(args.structures, args.budget, longer, args.jobs, args.inventory)
    red = mutation.judged(found, reviewed)
    if args.inventory:
        say(inventory_table(found))
        return 1 if tell(red) else 0
    mutation.write_table(found.results)
    survived = [r for r in found.results if r.verdict == "survived"]
    new = mutation.unexplained(found, reviewed)
    say(score_table(found, reviewed))
    if survived:
        say()
        say(survivors_table(survived, reviewed))
    tell(red)
    if new:
        say(f"find a check that fails, adopt the weaker order, or give a reason in "
            f"{mutation.SURVIVORS.relative_to(repo.ROOT)}:")
        say(rows_to_paste(new))
    note(found.results, new, red)
    killed = sum(r.verdict == "killed" for r in found.results)
    say(f"{killed} of {len(found.results)} mutants killed; {len(survived)} survive, {len(new)} of them unexplained")
    say(f"table: {mutation.TABLE.relative_to(repo.ROOT)}")
    return 1 if red or not found.results else 0
