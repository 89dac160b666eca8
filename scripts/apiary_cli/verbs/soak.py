"""soak: every scheduler and structure for as long as there is time, in every variant, each piece of work booked."""

from __future__ import annotations

import argparse
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Iterator

from ..base import argument_kinds, building, json_result, repo, sources
from ..base.errors import Fault, Stopped, unknown
from ..base.say import colour, duration, markdown, say, table
from ..night.unit import Unit
from ..verify import enduring, stressing
from ..verify.enduring import Cell, PLAIN, RED
from . import setup

SUMMARY = "every scheduler and stress program for as long as there is time, in every variant; what it ran, how often it slept"
DESCRIPTION = """\
Runs each scheduler as it ships (stress/night) in each variant, and each stress program as it is, on one processor,
and 4 and 16 times oversubscribed. It does so without a sanitizer and under each sanitizer that is built of this
source. The runs share --time. Every piece of work is booked by its number. The page says how many pieces ran, how
often workers slept, and how much memory was resident at the beginning and the end. Numbers for a night of eight hours
are extrapolated, and marked as such.

writes:  build/soak/summary.md, also if it is stopped; build/soak.json; for each failure a folder in build/soak/
         with the output (after a hang a dump of every thread and pending piece), seed, variant, build and
         command. The files of the run before are in build/soak-before/
takes:   --time, and the time to build; by default it builds no sanitizer's programs
exit:    0 nothing is red; 1 something is; 3 it could not run, or a planted defect was not red"""

RECORD, FOLDER = repo.BUILD / "soak.json", repo.BUILD / "soak"
VARIANTS = ("as_is", "no_spin", "one_cpu", "over4", "over16", "attach_detach", "start_stop", "throwing", "no_memory", "full_queues", "clock_jumps")
ALONE = {"attach_detach": ("hive",)}  # the variants that only these have; the others' workers come and go by start_stop
CROWDED = {"as_is": 0, "one_cpu": 0, "over4": 4, "over16": 16}  # of stress programs: threads for each processor
MOST_THREADS = 64
NIGHT, SLEEPS = 8 * 3600.0, 10**6
LEAST = 0.2  # seconds of a cell


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="SCHEDULER", help="a scheduler or a stress program (default: all)")
    parser.add_argument("--time", default="10m", help="time for all runs together: 90s, 10m, 8h (default 10m)")
    parser.add_argument("--variant", action="append", metavar="NAME", help=f"one of {', '.join(VARIANTS)} (default: all)")
    parser.add_argument("--seed", type=argument_kinds.seed, help="the first seed (default: random, printed)")
    parser.add_argument("--sanitize", action="store_true", help="build the sanitizers' programs, too")
    parser.add_argument("--no-build", action="store_true", help="take the builds that are there and of this source")


def cells(names: list[str], presets: list[str], variants: list[str], seconds: float, seed: int) -> list[Cell]:
    """Of the schedulers as they ship."""
    return [Cell(name, preset, variant, seed=seed, seconds=seconds, watchdog=60.0) for preset in presets for variant in variants
            for name in names if name in ALONE.get(variant, (name,))]


def threads_of(variant: str) -> int | None:
    crowd = CROWDED[variant]
    return min(MOST_THREADS, max(2, crowd * (os.cpu_count() or 1))) if crowd else None


def stress_words(run: stressing.Run, variant: str, seconds: float) -> list[str]:
    return [*stressing.command(run, seconds, threads_of(variant)), *(["--one-cpu"] if variant == "one_cpu" else [])]


def units(seconds: float = 30.0, seed: int | None = None, presets: tuple[str, ...] = (PLAIN, *enduring.SANITIZERS)) -> list[Unit]:
    """For a night: each cell of the builds that are there. Each day has a seed of its own."""
    there = [preset for preset in presets if enduring.is_built(preset)]
    chosen = datetime.now(timezone.utc).toordinal() if seed is None else seed
    return [cell.unit("soak").with_(lasts=seconds) for cell in cells(list(enduring.SCHEDULERS), there, list(VARIANTS), seconds, chosen)]


def slept(row: dict) -> int:
    """Counted parks; of a scheduler that counts none, the voluntary switches of its process."""
    return row["sleeps"] or row["switches"]


def of_schedulers(asked: list[Cell], folder: Path) -> Iterator[dict]:
    for cell, rows in enduring.run(asked, "soak"):
        for row in (enduring.judged(one, cell.preset) for one in rows):
            if row["word"] in RED:
                enduring.tell(folder, cell, row)
            yield row | {"preset": cell.preset, "replay": enduring.replay(cell, row)}


def of_programs(names: list[str], presets: list[str], variants: list[str], seconds: float, seed: int, folder: Path) -> Iterator[dict]:
    """The stress programs, which draw their delays from the seed."""
    for preset in presets:
        for run in stressing.plan([preset], names, [seed]):
            for variant in variants:
                words = stress_words(run, variant, seconds)
                done = stressing.attempt(words, seconds)
                result = stressing.outcome(run, done, None, words) | {"variant": variant}
                if not result["passed"]:
                    where = folder / f"{run.name}-{variant}-{preset}-{seed}"
                    repo.write_text(where / "said.txt", done.out + done.err)
                    repo.write_text(where / "again.sh", f"#!/bin/sh\n{result['replay']}\n")
                    say(colour(f"{run.name}, {variant} ({preset}): {result['reason']}", "red"), f"replay: {result['replay']}",
                        f"kept in {repo.shown(where)}")
                yield result


def red_of(rows: list[dict], programs: list[dict]) -> int:
    return sum(row["word"] in RED for row in rows) + sum(not one["passed"] for one in programs)


def sums(rows: list[dict]) -> list[list[str]]:
    """One line for each scheduler: what it did, and what a night of eight hours for all of them would hold at this rate."""
    whole = sum(row["seconds"] for row in rows) or 1.0
    lines = []
    for name in dict.fromkeys(row["scheduler"] for row in rows):
        own = [row for row in rows if row["scheduler"] == name]
        pieces, sleeps, red = sum(row["pieces"] for row in own), sum(map(slept, own)), sum(row["word"] in RED for row in own)
        begin, end = max(row["kb_begin"] for row in own), max(row["kb_end"] for row in own)
        lines.append([name, str(len(own)), f"{pieces:,}", f"{sleeps:,}", f"{NIGHT / whole * pieces:.1e}", f"{NIGHT / whole * sleeps:.1e}",
                      f"{begin:,}", f"{end:,}", str(red)])
    return lines


HEAD = ["scheduler", "runs:n", "pieces:n", "sleeps:n", "pieces of 8 h:n", "sleeps of 8 h:n", "KiB at begin:n", "KiB at end:n", "red:n"]


def page(rows: list[dict], programs: list[dict], seed: int, presets: list[str], whole: bool = True) -> str:
    head = ("RED" if red_of(rows, programs) else "nothing is red") if whole else (
        f"{'RED' if red_of(rows, programs) else 'nothing was red'}; stopped before its end")
    lines = [f"# Soak: {head}", "", f"commit {repo.commit()[:12]}{' (dirty)' if repo.dirty() else ''}, "
             f"{repo.utc_stamp()}, seed {seed}, builds {', '.join(presets)}", ""]
    lines += markdown(HEAD, sums(rows))
    if rows:
        lines += ["", "The numbers of eight hours are extrapolated: this run's rate, with the night divided as this run was. The most resident "
                  "memory of a run stands at its begin (after four rounds) and at its end.", ""]
    if programs:
        lines += [f"{len(programs)} runs of stress programs, {duration(sum(one['seconds'] for one in programs))}.", ""]
    lines += [f"- {row['scheduler']} {row['variant']} {row['preset']}: {row['word']}: `{row['replay']}`" for row in rows if row["word"] in RED]
    lines += [f"- {one['program']} {one['variant']} {one['preset']}: {one['reason']}: `{one['replay']}`" for one in programs if not one["passed"]]
    return "\n".join(lines) + "\n"


def run(args: argparse.Namespace) -> int:
    seconds, stresses = argument_kinds.span("--time", args.time), {path.name for path in repo.manifest(PLAIN, "stress")} or set()
    variants = args.variant or list(VARIANTS)
    for name in variants:
        if name not in VARIANTS:
            raise unknown("variant", name, VARIANTS)
    for name in args.names:
        if name not in enduring.SCHEDULERS and not name.startswith("stress_"):
            raise unknown("scheduler", name, [*enduring.SCHEDULERS, *stresses])
    programs = [name for name in args.names if name.startswith("stress_")]
    names = [name for name in args.names if name not in programs] or ([] if programs else list(enduring.SCHEDULERS))
    with_programs = bool(programs) or not args.names
    with enduring.alone(FOLDER):
        return soaked(args, seconds, variants, names, programs, with_programs)


def soaked(args: argparse.Namespace, seconds: float, variants: list[str], names: list[str], programs: list[str], with_programs: bool) -> int:
    if not args.no_build:
        setup.ensure(quiet=True)
        for preset in (PLAIN, *(enduring.SANITIZERS if args.sanitize else ())):
            building.build(preset, only="night")
            if with_programs:
                building.build(preset, only="stress")
    presets = [preset for preset in (PLAIN, *enduring.SANITIZERS) if enduring.is_built(preset)]
    if not presets:
        enduring.must_be_built(PLAIN)
    evidence = sources.Evidence(repo.STRESSED_FOLDERS, presets, "night")
    enduring.control(presets[0])
    with_those = [preset for preset in presets if with_programs and all(path.exists() for path in repo.manifest(preset, "stress"))]
    crowded = [name for name in variants if name in CROWDED]
    number = sum(len(repo.manifest(preset, "stress")) for preset in with_those) * len(crowded) if not programs else len(programs) * len(crowded)
    each = max(LEAST, seconds / max(1, len(cells(names, presets, variants, 0, 1)) + number))
    seed = args.seed if args.seed is not None else int.from_bytes(os.urandom(4), "little")
    say(f"soak: seed {seed}, {each:.1f} s for each run, builds {' '.join(presets)}")
    folder = enduring.afresh(FOLDER)
    rows, others = [], []
    try:
        for row in of_schedulers(cells(names, presets, variants, each, seed), folder):
            rows.append(row)
        for one in of_programs(programs, with_those, crowded, each, seed, folder):
            others.append(one)
    except (Stopped, Fault):  # what ran before was not for nothing
        repo.write_text(folder / "summary.md", page(rows, others, seed, presets, whole=False))
        raise
    red = red_of(rows, others)
    record = {"schema_version": 1, **evidence.check(), "passed": not red, "seed": seed, "presets": presets, "runs": rows, "programs": others}
    repo.write_json(RECORD, record)
    repo.write_text(folder / "summary.md", page(rows, others, seed, presets))
    say(table(HEAD, sums(rows)))
    few = [line[0] for line in sums(rows) if float(line[5]) < SLEEPS]
    if few:
        say(f"extrapolated, fewer than {SLEEPS:,} sleeps in a night of eight hours: {', '.join(few)}")
    json_result.note(**record)
    say(f"{len(rows) + len(others)} runs, {red} red; {repo.shown(folder / 'summary.md')}")
    return 1 if red else 0
