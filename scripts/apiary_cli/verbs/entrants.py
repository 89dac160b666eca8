"""Which subjects race: those that were built or given; which are candidates; and the purpose of each arm."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from ..base import building, packages, repo, source_names, sources
from ..base.errors import Fault, USAGE, unknown
from ..base.say import listing, say, warn
from ..race import plans, scenarios, subjects, tables
from . import setup

PLAINEST = "global_queue"


def offered() -> dict[str, list[tuple[str, str]]]:
    """What can be raced, by its option: each name with what it is. A subject of ours is a program; the rest come with setup --peers."""
    programs = [path for path in [*repo.manifest("release", "subjects"), *building.rust_programs(), *building.peer_programs()] if path.exists()]
    built = {path.name.removeprefix("subject_") for path in programs}
    return {
        "plan": [(one.name, one.what) for one in plans.every()],
        "scenario": [(one.name, one.what) for one in scenarios.SCENARIOS.values()],
        "subject": [(name, "built" if name in built else "not built") for name in sorted(source_names.subjects() | built)],
    }


def in_words(parts: dict[str, list[tuple[str, str]]]) -> str:
    return "\n\n".join(f"{kind}s (--{kind}):\n{listing(rows)}" for kind, rows in parts.items())


def existing_programs() -> list[Path]:
    """The subjects that are built already."""
    rust = [path for path in [*building.rust_programs(), *building.peer_programs()] if path.exists()]
    return repo.built("release", "subjects") + rust


def refuse_other_source(programs: list[Path]) -> None:
    """Of ours, those that were not made of the tree as it is now: their figures would stand under its name."""
    rust = [path for path in programs if path.is_relative_to(repo.RUST)]
    peers = [path for path in programs if path.is_relative_to(repo.PEERS)]
    rest = [path for path in programs if path not in (*rust, *peers)]
    sources.refuse_other(repo.PEERS / "target", peers, "scripts/apiary race --subject NAME builds it")
    sources.refuse_other(repo.BUILD / "release", rest, "scripts/apiary build release rust")
    sources.refuse_other(repo.RUST / "target", rust, "scripts/apiary build rust")


def introduce_given(args: argparse.Namespace, usual: tuple[str, ...]) -> None:
    """Before anything is built: are the given programs subjects, and does every name mean one?"""
    check_files(args)
    wanted = [*args.subject, *(usual if (args.plan or "").endswith(".toml") and not args.subject else ())]
    names = source_names.subjects()
    if args.no_build or not names:
        return  # gather() knows what is there
    names |= {one.name for one in subjects.discover([Path(name).resolve() for name in args.program])[0]}
    for name in wanted:
        if name not in names and re.sub(r"-\d+$", "", name) not in names:
            raise unknown("subject", name, names)


def check_files(args: argparse.Namespace) -> None:
    for name in args.program + ([args.baseline] if args.baseline else []):
        there, wanted = Path(name).is_file(), "a path as seen from here, of a program that speaks bench/contract/CLI.md"
        if not there:
            raise Fault(f"{name} is not a program", "there is no such file", wanted, USAGE)
        if not os.access(name, os.X_OK):
            raise Fault(f"{name} is not a program", "it is not executable", f"{wanted}; if this is one: chmod +x {name}", USAGE)


def lacking(names: list[str]) -> tuple[str, str]:
    """Which packages these subjects need and have not, and the remedy; nothing where all are there."""
    found = " ".join(package.name for package in packages.missing(packages.of_peers(names)))
    return (f"{found} not found", "scripts/apiary setup --peers && scripts/apiary build release") if found else ("", "")


def gather(args: argparse.Namespace, usual: tuple[str, ...] = ()) -> tuple[list[subjects.Subject], list[str]]:
    """Build and introduce the subjects, in the order that they are named; the reasons why some were refused. `usual` are
    the plan's: --subject overrules it, and what --program names races always."""
    extra = [Path(name).resolve() for name in args.program]
    check_files(args)
    programs = existing_programs() if args.no_build else subjects.build_all({*args.subject, *usual})
    found, refused = subjects.discover(programs + extra)
    for fault in refused:
        warn(fault.text())
    there = {s.name for s in found}
    if args.subject:
        usual = ()
    every = there | source_names.subjects() | {name for one in plans.every() for name in one.subjects} | {tables.BARE}
    for name in usual if found else ():
        if name not in every:
            raise unknown("subject", name, every)
    for name in set(args.subject) - there:
        why, remedy = lacking([name])
        if why:
            raise Fault(f"the subject {name} is not built", why, remedy, USAGE)
    wanted = args.subject or [name for name in usual if name in there]
    chosen = subjects.select(found, wanted) if wanted else [] if usual else found
    chosen = [*chosen, *(s for s in found if s not in chosen and s.program in extra and not args.subject)]
    if not chosen:
        none = "none of the plan's is built" if usual and found else "none is built"
        raise Fault("there is no subject to race", "; ".join(f.seen for f in refused) or none, "scripts/apiary build release rust")
    refuse_other_source([s.program for s in chosen if s.program in programs])
    absent = [name for name in usual if name not in there]
    if absent:
        why, remedy = lacking(absent)
        warn("; ".join(filter(None, (f"of this plan's subjects these are not built: {', '.join(absent)}", why, remedy))))
    rest = [s.name for s in found if s not in chosen]
    if rest and not args.subject:
        say(f"not in this plan: {', '.join(rest)}; --subject NAME races others")
    return chosen, [fault.seen for fault in refused]


def only(args: argparse.Namespace) -> subjects.Subject:
    """The one subject that a verb races against itself, built unless --no-build."""
    if not args.no_build:
        setup.ensure()
    args.subject, args.program, args.baseline = [args.subject], [], None
    return gather(args)[0][0]


def on_trial(found: list[subjects.Subject], named: list[Path], old: subjects.Subject | None) -> list[subjects.Subject]:
    """The candidates: that of which there is an older build; else a stranger's programs; else ours. The plainest of
    ours is what others are measured against: it is a candidate only where nothing else of ours runs."""
    if old:
        return subjects.select(found, [old.name])
    strangers = [s for s in found if s.program in named and not s.own and s.name not in tables.FLOORS]
    ours = [s for s in found if s.own]
    return strangers or [s for s in ours if s.name != PLAINEST] or ours


def line_up(found: list[subjects.Subject], baseline: str | None, controls: bool, named: list[Path] | None = None) -> list[tuple]:
    """(subject, role, label) of every arm. Each candidate has a copy of its own, which judges what is claimed of it; the
    slow-down, whose calibration takes minutes, is the first one's. Without a candidate both are the first subject's."""
    old = subjects.introduce(Path(baseline).resolve()) if baseline else None
    ours = on_trial(found, named or [], old)
    role = dict.fromkeys(tables.FLOORS, "bare") | {s.name: "candidate" for s in ours}
    arms = [(s, role.get(s.name, "peer"), s.name) for s in found]
    if old:
        arms.append((old, "baseline", f"{old.name}-base"))
    if controls:
        copied = ours or found[:1]
        arms += [*((s, "aa", f"{s.name}-aa") for s in copied), (copied[0], "slow10", f"{copied[0].name}-slow10")]
    return arms
