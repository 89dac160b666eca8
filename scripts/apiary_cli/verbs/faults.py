"""faults: what happens to each scheduler when the system refuses, interrupts or stops it."""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
from pathlib import Path
from typing import Iterator

from ..base import argument_kinds, building, json_result, repo, sources
from ..base.errors import unknown
from ..base.say import colour, markdown, say, table
from ..night.unit import Unit
from ..race import quota
from ..verify import enduring
from ..verify.enduring import CANNOT, Cell, ENDS, RED, REFUSED, WORKS
from . import setup

SUMMARY = "what a failing allocation, a refused system call or a stopped thread does to each scheduler"
DESCRIPTION = """\
Runs each scheduler as it ships, with pieces of work that are booked by their numbers, and injects one fault: the
n-th allocation fails, for each n; the kernel refuses a system call, from the start or in the middle; signals interrupt
every call; threads are stopped for a second; the process gets a tenth of its processor time; the scheduler is
stopped at any moment. Each cell of the table says: works; refused (as its header states, by an exception or an
answer); ends (with a message that names the cause); LOST, HANG, CRASH, which are red. Schedulers with a planted defect
come first, and must be red.

writes:  build/faults/summary.md, build/faults.json, and a folder in build/faults/ for each red cell; what the
         last time left is in build/faults-before/
takes:   a minute to build one program, then a minute and a half
exit:    0 nothing is red; 1 something is; 3 it could not run, or a planted defect was not red"""

RECORD, FOLDER = repo.BUILD / "faults.json", repo.BUILD / "faults"
SWEPT, CALLS = ("allocation", "allocations"), ("eventfd", "epoll_create", "epoll_ctl", "membarrier", "clone", "mmap", "all")
LATE = ".late"  # after the name of a call: from the middle of a run on, of these that a running scheduler asks for
ASKED_LATE = ("epoll_ctl", "membarrier", "clone", "mmap", "all")
LASTING = ("eintr", "thread_stops", "tenth", "stop")
QUOTA = "quota"
OF_SANITIZERS = ("mmap", "mmap.late", "clone.late", "all", "all.late")  # their runtimes need these calls, and end the process without
FAULTS = (*SWEPT, *CALLS, *(name + LATE for name in ASKED_LATE), *LASTING, QUOTA)
MEANS = {
    "allocation": "the n-th allocation alone fails, for each n",
    "allocations": "the n-th allocation and all later ones fail, for each n",
    **{name: f"the kernel refuses {name} from the start" for name in CALLS},
    **{name + LATE: f"the kernel refuses {name} from the middle of a run on" for name in ASKED_LATE},
    "all": "the kernel refuses all six from the start", "all" + LATE: "the kernel refuses all six from the middle of a run on",
    "eintr": "signals without end: every system call may end with EINTR",
    "thread_stops": "one thread after another, drawn, stops for a second under load",
    "tenth": "SIGSTOP and SIGCONT leave the process a tenth of the time (a duty cycle, no quota)",
    "stop": "a stop that drains or discards at a moment that is drawn",
    QUOTA: "a control group with a quota of a tenth of a processor",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="SCHEDULER", help=f"one of {', '.join(enduring.SCHEDULERS)} (default: all)")
    parser.add_argument("--fault", action="append", metavar="NAME", help=f"one of {', '.join(FAULTS)} (default: all)")
    parser.add_argument("--seconds", type=argument_kinds.seconds, default=2.0, help="length of each cell that has no end of its own (default 2)")
    parser.add_argument("--seed", type=argument_kinds.seed, default=1, help="default 1")
    parser.add_argument("--preset", default=enduring.PLAIN, help=f"this or tsan or asan-ubsan (default {enduring.PLAIN})")
    parser.add_argument("--no-build", action="store_true", help="take the build as it is, if it is of this source")


@contextlib.contextmanager
def tenth_of_a_processor() -> Iterator[Path | None]:
    """A control group that a cell joins; None where none can be made."""
    with contextlib.ExitStack() as stack:
        try:
            group = stack.enter_context(quota.group(10))
        except quota.NoGroup:
            group = None
        yield group


def cells(names: list[str], faults: list[str], seconds: float, seed: int, preset: str, group: Path | None = None) -> list[Cell]:
    found = []
    for fault in faults:
        for name in names:
            # Workers that come and go ask the kernel for more in the middle of a run, too.
            variant = "attach_detach" if fault.endswith(LATE) and name == "hive" else "as_is"
            of = Cell(name, preset, variant, "none" if fault == QUOTA else fault, seed=seed, watchdog=10.0)
            if fault in SWEPT:
                of = Cell(name, preset, fault=fault, seed=seed, watchdog=5.0, ids=60)
            elif fault == QUOTA:
                of = Cell(name, preset, seed=seed, seconds=seconds, watchdog=30.0, group=group)
            elif fault in LASTING:
                of = Cell(name, preset, fault=fault, seed=seed, seconds=seconds, watchdog=30.0)
            found.append(of)
    return found


def units(seconds: float = 2.0, seed: int = 1, preset: str = enduring.PLAIN) -> list[Unit]:
    """For a night: each cell but those that need a control group; none where the program is not built. The control belongs to
    `selftest`."""
    if not enduring.is_built(preset):
        return []
    some = [name for name in FAULTS if name != QUOTA and (preset == enduring.PLAIN or name not in OF_SANITIZERS)]
    return [cell.unit("fault") for cell in cells(list(enduring.SCHEDULERS), some, seconds, seed, preset)]


def happened(rows: list[dict]) -> str:
    """A cell of the table: the gravest word first; of a sweep, how often each."""
    count = collections.Counter(row["word"] for row in rows)
    if len(rows) == 1:
        return rows[0]["word"]
    return ", ".join(f"{word} {count[word]}" for word in (*RED, CANNOT, ENDS, REFUSED, WORKS) if count[word])


def coloured(text: str) -> str:
    return colour(text, "red") if any(word in text for word in RED) else text


def page(found: dict[tuple[str, str], str], names: list[str], faults: list[str], said: dict[tuple[str, str], str],
         again: dict[tuple[str, str], str], red: int) -> str:
    head = f"# Faults: {'RED' if red else 'nothing is red'}"
    lines = [head, "", f"commit {repo.commit()[:12]}{' (dirty)' if repo.dirty() else ''}, {repo.utc_stamp()}", ""]
    lines += markdown(["fault", *names], ([fault, *(found[fault, name] for name in names)] for fault in faults))
    lines += ["", "## What each fault is", ""] + [f"- `{fault}`: {MEANS[fault]}" for fault in faults]
    told = [f"- {fault}, {name}: {found[fault, name]}: {said[fault, name]}" for fault in faults for name in names if said.get((fault, name))]
    lines += ["", "## What was said", "", *told] if told else []
    lines += ["", "## Again", ""] + [f"- {fault}, {name}: `{again[fault, name]}`" for fault in faults for name in names]
    return "\n".join(lines) + "\n"


def run(args: argparse.Namespace) -> int:
    names, faults = enduring.named(args.names), args.fault or list(FAULTS)
    for fault in faults:
        if fault not in FAULTS:
            raise unknown("fault", fault, FAULTS)
    if args.preset not in (enduring.PLAIN, *enduring.SANITIZERS):
        raise unknown("preset of the faults", args.preset, (enduring.PLAIN, *enduring.SANITIZERS))
    if args.preset != enduring.PLAIN:
        say(f"faults: under a sanitizer, whose runtime needs them, these are left out: {', '.join(OF_SANITIZERS)}")
        faults = [fault for fault in faults if fault not in OF_SANITIZERS]
    with enduring.alone(FOLDER):
        return met(args, names, faults)


def met(args: argparse.Namespace, names: list[str], faults: list[str]) -> int:
    if not args.no_build:
        setup.ensure(quiet=True)
        building.build(args.preset, only="night")
    enduring.must_be_built(args.preset)
    evidence = sources.Evidence(repo.STRESSED_FOLDERS, [args.preset], "night")
    enduring.control(args.preset)
    folder, rows_by, red = enduring.afresh(FOLDER), {}, 0
    with tenth_of_a_processor() as group:
        if group is None and QUOTA in faults:
            say("faults: no quota of processor time can be set here; the duty cycle (tenth) stands for it")
            faults = [fault for fault in faults if fault != QUOTA]
        asked = cells(names, faults, args.seconds, args.seed, args.preset, group)
        keys = {cell: key for cell, key in zip(asked, ((fault, name) for fault in faults for name in names))}
        for cell, rows in enduring.run(asked, "faults", os.cpu_count() or 1):
            rows_by[keys[cell]] = cell, rows
            for row in rows:
                if row["word"] in RED:
                    red += 1
                    enduring.tell(folder, cell, row)
    found = {key: happened(rows) for key, (_, rows) in rows_by.items()}
    again = {key: enduring.replay(cell, None) for key, (cell, _) in rows_by.items()}
    said = {key: next((row["said"].splitlines()[0] for row in rows if row["word"] != WORKS and row["said"]), "") for key, (_, rows) in rows_by.items()}
    say(table(["fault", *names], [[fault, *(coloured(found[fault, name]) for name in names)] for fault in faults]))
    stamp = evidence.check()
    record = {"schema_version": 1, **stamp, "passed": not red, "preset": args.preset, "seed": args.seed,
              "cells": [{"fault": fault, "scheduler": name, "word": found[fault, name], "said": said[fault, name], "replay": again[fault, name],
                         "runs": len(rows_by[fault, name][1])} for fault in faults for name in names]}
    repo.write_json(RECORD, record)
    repo.write_text(folder / "summary.md", page(found, names, faults, said, again, red))
    json_result.note(**record)
    runs = sum(len(rows) for _, rows in rows_by.values())
    say(f"{len(found)} cells, {runs} runs, {red} red; {repo.shown(folder / 'summary.md')}")
    return 1 if red else 0
