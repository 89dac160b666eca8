"""hazards: what each runtime survives, as a table of yes and no."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from ..base import argument_kinds, building, json_result, repo, sources
from ..base.errors import Fault, INCORRECT, INVALID_BATCH, USAGE, unknown
from ..base.say import colour, heading, say
from ..race import hazards
from ..report import junit, splice
from . import setup

SUMMARY = "what each runtime survives: locks, recursion, exceptions, quotas, idleness"
DESCRIPTION = """\
Runs small programs (bench/hazards), each of which puts a runtime into one hazard, in a child process with a limit of
time and of memory. A cell is yes (it survives, within the limit of its cost), no (and how: a hang, a crash, a lost
task, a cost above the limit), or – (the runtime has nothing that could meet the hazard). Before them runs a control
that is broken in every way; it must come out red. The cell of a hang has the command that shows it again; if gdb is
there, the stacks go to build/hazards/RUNTIME-HAZARD.txt.

writes:  build/hazards/hazards.csv; with --update results/hazards/hazards.csv and bench/hazards/README.md
takes:   about six minutes after building, most of it waiting: 12 s for each idle runtime, up to a minute for a hang
exit:    0 the runtimes of this project survive all that they meet; 1 one does not; 3 the harness failed; 4 the
         control did not come out red, so no result can be believed"""

PAGE = Path("bench/hazards/README.md")
PEERS = ("asio", "go", "onetbb", "onetbb_2023")  # whose packages its programs need
KEPT = Path("hazards/hazards.csv")  # in results/


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runtimes", nargs="*", metavar="RUNTIME", help="only these (default: all that are built)")
    argument_kinds.repeatable(parser, "--hazard", "NAME", "this one alone; may be repeated")
    argument_kinds.repeatable(parser, "--program", "FILE", "another program that speaks bench/hazards/README.md; it must survive, too")
    parser.add_argument("--workers", type=argument_kinds.whole(1, 16), default=2, help="workers of each runtime, 1 to 16 (default 2)")
    parser.add_argument("--settle", type=argument_kinds.seconds, default=10.0, metavar="S", help="seconds that a runtime gets to become idle (default 10)")
    parser.add_argument("--memory", type=argument_kinds.whole(64), default=4096, metavar="MIB", help="memory of a program (default 4096)")
    parser.add_argument("--csv", metavar="FILE", help="also write the cells here")
    parser.add_argument("--update", action="store_true", help="record all cells in results/hazards and in the page")
    parser.add_argument("--no-build", action="store_true", help="take the builds as they are, if they are of this source")


def programs(args: argparse.Namespace) -> list[Path]:
    if not args.no_build:
        setup.ensure(peers=PEERS)
        building.build_hazards()
    found = building.hazard_programs()
    if not found:
        raise Fault("no program that meets hazards is built", "", "scripts/apiary hazards")
    for folder in (repo.BUILD / "release", repo.PEERS / "target"):
        sources.refuse_other(folder, [one for one in found if one.is_relative_to(folder)], "scripts/apiary hazards")
    return found


def of_guest(program: Path) -> set[str]:
    """Its runtimes. Refused before minutes of building."""
    try:
        return {runtime for runtime, _ in hazards.offered(program)}
    except Fault as fault:
        raise Fault(fault.seen, fault.cause, f"--program FILE: one that speaks {PAGE}", USAGE) from fault


def run(args: argparse.Namespace) -> int:
    known = hazards.read()
    for name in args.hazard:
        if name not in known:
            raise unknown("hazard", name, known)
    if args.update and (args.runtimes or args.hazard or args.program):
        raise Fault("--update records the whole table", "some of its cells were asked for", "scripts/apiary hazards --update", USAGE)
    args.csv = repo.writable("--csv", args.csv) if args.csv else None
    guests = [Path(one).resolve() for one in args.program]
    of_guests = {runtime: guest for guest in guests for runtime in of_guest(guest)}
    own = programs(args)
    offered = {runtime: program for program in own for runtime, _ in hazards.offered(program)} | of_guests
    for name in args.runtimes:
        if name not in offered:
            raise unknown("runtime", name, offered)
    must = {name for name, program in offered.items() if program in guests or program.name == "hazard_apiary"}
    limits = hazards.Limits(workers=args.workers, settle_ms=round(args.settle * 1000), memory_mib=args.memory)
    if flaws := hazards.control_flaws(limits):
        say(*(colour(flaw, "red") for flaw in flaws), "nothing is believed: the control is not red")
        return INVALID_BATCH
    asked = {name: one for name, one in known.items() if not args.hazard or name in args.hazard}
    heading(f"hazards: {args.workers} workers, {args.memory} MiB; the control is red in all its ways")
    met = []
    for cell in hazards.cells([*own, *guests], asked, args.runtimes, limits):
        met.append(cell)
        if cell.word != "–":
            say(f"{cell.runtime:14} {cell.hazard:17} {colour(cell.shown(), 'red' if cell.word == 'no' else 'green')}")
    return told(met, must, args, known)


def told(met: list[hazards.Cell], must: set[str], args: argparse.Namespace, known: dict[str, hazards.Hazard]) -> int:
    rows = [cell.row() for cell in met]
    for path in filter(None, (hazards.FOLDER / "hazards.csv", args.csv)):
        repo.write_csv(path, hazards.COLUMNS, rows)
    if args.update:
        shown = [[*row[:-1], row[-1].replace(f"{repo.ROOT}/", "")] for row in rows]
        repo.write_csv(repo.RESULTS / KEPT, hazards.COLUMNS, shown)
        splice_page(known)
    red = [cell for cell in met if cell.word == "no"]
    ours = [cell for cell in red if cell.runtime in must]
    json_result.note(cells=[dataclasses.asdict(cell) for cell in met], red=[f"{cell.runtime} {cell.hazard}" for cell in ours])
    for cell in red:
        say("", f"{cell.runtime} {cell.hazard}: {cell.shown()}", f"  again: {cell.command}")
        if cell.stacks:
            say(f"  stacks: {repo.shown(hazards.FOLDER)}/{cell.runtime}-{cell.hazard}.txt")
    counted = [sum(cell.word == word for cell in met) for word in ("yes", "no", "–")]
    say("", f"{counted[0]} yes, {counted[1]} no, {counted[2]} that cannot be met; of those that must survive, {len(ours)} no")
    return INCORRECT if ours else 0


def night_part(no_build: bool) -> junit.Part:
    """All cells; red where one of ours is no, or the control is not red."""
    code = run(main_words(*(["--no-build"] if no_build else [])))
    cases = [junit.Case(name, junit.FAILED, 0.0, "scripts/apiary hazards") for name in json_result.FOUND.pop("red", [])]
    if code == INVALID_BATCH:
        cases.append(junit.Case("the control", junit.FAILED, 0.0, "it did not come out red"))
    counted = len(json_result.FOUND.pop("cells", []))
    return junit.Part("hazards", cases or [junit.Case("ours", junit.PASSED, 0.0, "")], lines=[f"{counted} cells, build/hazards/hazards.csv"])


def main_words(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    arguments(parser)
    return parser.parse_args(words)


def splice_page(known: dict[str, hazards.Hazard]) -> None:
    """The table of the page is that of the record."""
    path = repo.ROOT / PAGE
    rows = repo.read_csv(repo.RESULTS / KEPT, hazards.COLUMNS)
    text = "\n\n".join(["\n".join(part) for part in hazards.page_tables(rows, known)])
    repo.write_text(path, splice.between(repo.must_read(path), "hazards", text, PAGE.name))
