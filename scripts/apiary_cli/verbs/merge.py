"""merge: the stores of a night's shards, put together into one page."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from ..base import repo
from ..base.errors import Fault, USAGE
from ..base.say import say
from ..night import memory as memories
from ..night.store import Store, kept
from ..night.unit import file_hash
from ..report.junit import FAILED, Case, Part
from . import nightly, nightly_units

SUMMARY = "put the shards of a night together: one page, one exit code"
DESCRIPTION = """\
Puts together the stores that scripts/apiary nightly --shard I/N left on several machines, and judges them as one
night. The parts of a search that several machines did count as one search; whether all states were reached, and which
atomic sites never ran, is asked of all machines together. A missing shard is red, and named. A result that cannot be
read is named, and counts as not done. If two machines differ about a unit, the red result counts. Nothing is run.

writes:  the results into --store (which may be one of them), build/nightly/summary.md, night.html, night.sarif,
         junit.xml
takes:   seconds
exit:    0 fine; 1 red, or a shard is missing; 2 the stores are of several sources, or no stores; 3 it cannot be written"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stores", nargs="+", metavar="STORE", help="the store of a shard, that is, the folder of its --store")
    parser.add_argument("--store", metavar="DIR", default=str(nightly.FOLDER / "store"), help="the folder for the merged store (default build/nightly/store)")
    parser.add_argument("--junit", metavar="FILE", help="also write the JUnit file here")


def gather(folders: list[Path], into: Store) -> list[str]:
    """The results of all of them, each whole; what could not be believed."""
    told = []
    for folder in folders:
        source = Store(folder)
        if source.folder.resolve() == into.folder.resolve():
            continue
        for result in source.results():
            known = into.get(result["unit"])
            if known is None or graver(result, known):
                into.put(result)
            if known and kept(known) and kept(result) and known["rc"] != result["rc"]:
                told.append(f"two machines differ about {result['kind']} {result['name']}: status {known['rc']} on {known.get('host')}, "
                            f"{result['rc']} on {result.get('host')}; what is red counts")
        for path in sorted((folder / "files").glob("??/*")):
            if path.name.startswith(".") or not path.is_file():
                continue
            if file_hash(path) == path.name:
                into.add(path)
            else:
                told.append(f"{path} is not the file that its name says, and is left out")
        told += source.garbage
    return told


def graver(new: dict, old: dict) -> bool:
    """It says something of the unit, and the other does not; or it is red, and the other is not."""
    return kept(new) and (not kept(old) or new["rc"] != 0 == old["rc"])


def run(args: argparse.Namespace) -> int:
    started = time.monotonic()
    args.junit = None if args.junit is None else repo.writable("--junit", args.junit)
    folders, into = [Path(name) for name in args.stores], Store(Path(args.store))
    for folder in folders:
        if not folder.is_dir():
            raise Fault(f"there is no store {folder}", "", "scripts/apiary merge STORE…: the folders that --store named", USAGE)
    records = nightly_units.read_records(folders)
    lacking = nightly_units.missing(records)
    with into.alone():
        garbage = gather(folders, into)
        memory = memories.read(into)
        done = nightly_units.judged(records, into, memory.red if memory.nights else None, whole=not lacking)
        done.notes += [note for note in garbage if note not in done.notes]
        if lacking:
            done.parts.append(Part("shards", [Case(name, FAILED, 0.0, "it left no record: run it again, then merge") for name in lacking]))
        nightly_units.remember(into, memory, records, done)
    say(f"merge: {len(records)} shards")
    args.budget = f"of {len(records)} shards"
    nightly.publish(done.parts, args, time.monotonic() - started, done)
    return nightly.exit_code(done.parts)
