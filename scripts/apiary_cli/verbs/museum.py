"""museum: the catalogue of defects that must be caught, and how long each takes."""

from __future__ import annotations

import argparse
import dataclasses
import textwrap

from ..base import argument_kinds, building, json_result, repo, source_names, sources
from ..base.errors import Fault, USAGE
from ..base.say import colour, say, table
from ..verify import catalogue, checks, detection
from ..verify.verdicts import count, expected, names
from . import prove, setup

SUMMARY = "the museum: bugs that the checks must catch, and how long that takes"
DESCRIPTION = f"""\
Runs the museum: each exhibit is a bug that must be caught for its stated reason. Prints the
catalogue (model_check/museum/catalogue.csv): the defect, its source, and for each engine after
how many executions and how many milliseconds it is caught; or why no engine sees it yet.

--times measures the time to detect: the explorer's exact count of executions, and Relacy's median over
{detection.SEEDS} seeds. The record is model_check/museum/detection.csv: a median that has grown fourfold and
an exact count that has changed are red. --update records both anew.

writes:  build/model/museum.csv, and the exhibits' verdicts into build/model/prove.json
takes:   seconds after the build; --times some minutes
exit:    0 when every exhibit was caught and every defect has an exhibit or a reason, else 1"""

TABLE = repo.BUILD / "model" / "museum.csv"
COLUMNS = ["schema_version", "id", "tag", "defect", "source", "exhibit", "engine", "result", "executions", "seconds", "reason",
           "shown_by", "not_yet_seen"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="exhibits by name or pattern (default: all)")
    parser.add_argument("--engine", help="relacy, explorer or all")
    argument_kinds.repeatable(parser, "--budget", None, "for each exhibit: 5s, or 20000x executions")
    parser.add_argument("--jobs", type=argument_kinds.count, help="how many exhibits run at a time (default: one for each CPU)")
    parser.add_argument("--times", action="store_true", help="measure the time to detect, and compare it with the record")
    parser.add_argument("--update", action="store_true", help="with --times: record what was measured")
    parser.add_argument("--no-build", action="store_true", help="take build/model as it is, if it is of this source")
    parser.set_defaults(mode=None, seed=None, replay=None, bound=None, mutate=None, trace=False, reach=False)


def result(v: dict) -> str:
    if v.get("differs"):
        return "passes" if expected(v) else "SEES IT AFTER ALL"
    return "caught" if expected(v) else "NOT CAUGHT"


def found_line(v: dict) -> str:
    word = colour(result(v), "green" if expected(v) else "red")
    if v.get("differs") and expected(v):
        return f"{v.get('engine', '')} {word} it: {v['differs']}"
    runs = v.get("executions")
    return (f"{v.get('engine', '') or 'no engine'}: {word} after {count(runs)} execution{'' if runs == 1 else 's'}, "
            f"{1000 * float(v.get('seconds') or 0):.1f} ms")


def page(defects: list[catalogue.Defect], verdicts: list[dict], whole: bool) -> str:
    """Each defect in a sentence, and below it who caught it."""
    lines = []
    for defect in defects:
        shown = [v for name in defect.exhibits for v in verdicts if v["name"] == name]
        if not (shown or whole):
            continue
        text = f"{defect.defect} ({defect.source}; {defect.tag})"
        lines.append(textwrap.fill(text, 116, initial_indent=f"{defect.id}  ", subsequent_indent="     "))
        lines += [f"       {v['name']:<34} {found_line(v)}" for v in shown]
        if defect.shown_by:
            lines.append(f"       shown by the unit test {defect.shown_by}")
        elif not defect.exhibits:
            lines.append(colour(f"       not yet seen: {defect.not_yet_seen or 'NO REASON GIVEN'}", "yellow"))
    return "\n".join(lines)


def write_table(defects: list[catalogue.Defect], verdicts: list[dict]) -> None:
    repo.write_csv(TABLE, COLUMNS, (
        [1, d.id, d.tag, d.defect, d.source, v.get("name", ""), v.get("engine", ""), result(v) if v else "",
         v.get("executions") or "", v.get("seconds", ""), v.get("reason", ""), d.shown_by, d.not_yet_seen]
        for d in defects for v in [v for name in d.exhibits for v in verdicts if v["name"] == name] or [{}]
    ))


def times(exhibits: list[checks.Entry], jobs: int, update: bool, whole: bool) -> list[str]:
    """Measures, compares, and records when asked to; returns what is red."""
    recorded = detection.read()
    found, wrong = detection.measure(exhibits, jobs)
    say(table(["exhibit", "engine", "executions:n", "recorded:n"], (
        [*key, f"{one.executions:,}", f"{recorded[key].executions:,}" if key in recorded else "none"] for key, one in sorted(found.items())
    )))
    json_result.note(times=[dataclasses.asdict(one) | {"recorded": recorded[key].executions if key in recorded else None}
                        for key, one in sorted(found.items())])
    if update:
        detection.write(({} if whole else recorded) | found)
        say(f"recorded: {repo.shown(detection.FILE)}")
        return wrong
    return wrong + detection.compared(found, recorded) + (detection.gone(recorded, exhibits) if whole else [])


def run(args: argparse.Namespace) -> int:
    chosen = prove.options(args)
    if args.times and args.engine not in (None, "all"):
        raise Fault(f"--times --engine {args.engine}", "the time to detect is that of both engines", "leave --engine away", USAGE)
    if args.times and args.budget:
        raise Fault(f"--times --budget {args.budget[0]}", "each run ends when its exhibit is caught", "leave --budget away", USAGE)
    if args.update and not args.times:
        raise Fault("--update records what --times measures", "", "scripts/apiary museum --times --update", USAGE)
    if not args.no_build:
        source_names.check_names(args.names, "exhibit")
        setup.ensure(quiet=True)
        building.build("model")
    entries = checks.all_entries()
    exhibits = catalogue.shown(entries)
    defects = catalogue.read()
    red = catalogue.filed(defects, [entry.name for entry in exhibits])
    asked = checks.select(exhibits, args.names)
    if args.times:
        red += times(asked, chosen.jobs, args.update, not args.names)
        verdicts = []
    else:
        evidence = sources.Evidence(repo.PROVED_FOLDERS, ["model"], "checks")
        verdicts = checks.run_entries(checks.for_engine(asked, chosen.engine), chosen, "exhibits")
        checks.write_record(verdicts, entries, evidence.check())
        write_table(defects, verdicts)
        say(page(defects, verdicts, not args.names))
        bad, bare = [v for v in verdicts if not expected(v)], [defect for defect in defects if not defect.exhibits]
        red += [f"{v['name']} on {v.get('engine') or 'no engine'}: {v.get('reason', '')}" for v in bad]
        all_of = len(names(verdicts))
        say(f"{all_of - len(names(bad))} of {all_of} exhibits as they must be; {len(defects) - len(bare)} of {len(defects)} defects "
            f"have one, {sum(bool(d.shown_by) for d in bare)} are shown by unit tests, "
            f"{sum(bool(d.not_yet_seen) for d in bare)} are not yet seen, with the reason")
        say(f"table: {repo.shown(TABLE)}")
    say(*(colour(sentence, "red") for sentence in red))
    json_result.note(verdicts=verdicts, red=red)
    return 1 if red or not (verdicts or args.times) else 0
