"""Runs model checks: finds them in the check programs, runs them in order, gathers verdicts."""

from __future__ import annotations

import fnmatch
import json
import os
import shlex
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterable

from ..base import proc, repo, source_names, sources
from ..base.errors import Fault, USAGE, tail, unknown
from ..base.say import colour, counted, heading, say
from .verdicts import KINDS, expected, merge_record, wrong

ENGINES = ("relacy", "explorer", "all")
MODES = ("standard", "random", "pct", "bound", "full")
RECORD = repo.BUILD / "model" / "prove.json"


@dataclass(frozen=True)
class Entry:
    """One check as its program lists it."""

    name: str
    kind: str
    engines: tuple[str, ...]
    threads: int
    what: str
    program: Path
    must_reach: tuple[str, ...] = ()
    too_large: bool = False     # the explorer may end by its budget
    must_see: tuple[str, ...] = ()      # exhibits: the engines that must see it
    one_engine: str = ""        # why only one engine is asked
    as_it_is: bool = False      # of ordinary C++: its exhibits stand beside what they are of
    engine_laws: tuple[str, ...] = ()   # the engine's laws that it rests on


@dataclass
class Options:
    """What is passed on to the check programs."""

    engine: str | None = None
    mode: str | None = None
    seed: int | None = None
    budgets: tuple[str, ...] = ()  # seconds (5s) or executions (20000x); the first to end counts
    named: bool = True  # of checks that were asked for by name
    replay: str | None = None
    bound: int | None = None
    mutate: str | None = None
    trace: bool = False
    reach: bool = False  # of scenarios as they are: what no execution came to
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)

    def words(self, kind: str) -> list[str]:
        # An exhibit ends when it is caught; what is short for all checks would make that a matter of luck.
        budgets = self.budgets if self.named or kind != "exhibit" else ()
        told = [(name, getattr(self, name)) for name in ("engine", "mode", "seed", "replay", "bound", "mutate")]
        told += [("budget", budget) for budget in budgets]
        words = [word for name, value in told if value is not None for word in (f"--{name}", str(value))]
        return words + (["--trace"] if self.trace else [])

    def asks(self, entry: Entry) -> list[str]:
        return ["--reach", "all"] if self.reach and entry.as_it_is and entry.kind == "check" else []

    def proves(self) -> bool:
        """A replay repeats one execution and a mutant is another program: neither is recorded."""
        return self.replay is None and self.mutate is None

    def limit(self) -> float:
        """A wall-clock limit for one check: a budget in seconds, generously multiplied."""
        seconds = next((float(budget[:-1]) for budget in self.budgets if budget.endswith("s")), 60.0)
        return 20 * seconds + 600


def parse_listing(text: str, program: Path) -> list[Entry]:
    """The lines of `PROG --list --json`."""
    entries = []
    for line in filter(None, map(str.strip, text.splitlines())):
        try:
            data = json.loads(line)
            engines = tuple(data.get("engines", ()))
            entry = Entry(data["name"], data["kind"], engines, int(data.get("threads", 0)), data.get("what", ""), program,
                          tuple(data.get("must_reach", ())), bool(data.get("too_large", False)),
                          tuple(data.get("must_see", engines)), data.get("one_engine", ""), bool(data.get("as_it_is", False)),
                          tuple(data.get("engine_laws", ())))
        except (ValueError, KeyError, TypeError) as error:
            raise Fault(f"{program.name} --list --json printed {line[:120]!r}", f"not one check as a JSON object ({error!r})") from error
        if entry.kind not in KINDS:
            raise Fault(f"{program.name} lists {entry.name} of the kind {entry.kind!r}", f"the kinds are {', '.join(KINDS)}")
        entries.append(entry)
    return entries


def listing(programs: Iterable[Path]) -> list[Entry]:
    """Every check of every program; a name that appears twice is an error."""
    entries: dict[str, Entry] = {}
    for program in programs:
        done = proc.run([program, "--list", "--json"], timeout=60)
        if not done.ok:
            raise Fault(f"{program} --list --json {done.how()}", tail(done.err, 500), "")
        for entry in parse_listing(done.out, program):
            if entry.name in entries:
                both = f"{entries[entry.name].program.name} and {program.name}"
                raise Fault(f"two checks are called {entry.name}", both, "rename one")
            entries[entry.name] = entry
    return list(entries.values())


def select(entries: list[Entry], patterns: list[str]) -> list[Entry]:
    """The entries whose names match; an unknown name is answered with those that exist."""
    for pattern in patterns:
        if not any(named(entry, pattern) for entry in entries):
            raise unknown("check", pattern, [*source_names.GROUPS, *(entry.name for entry in entries)])
    return [entry for entry in entries if not patterns or any(named(entry, pattern) for pattern in patterns)]


def read_verdicts(path: Path) -> list[dict]:
    try:
        return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    except FileNotFoundError:
        return []
    except ValueError as error:
        return [{"verdict": "error", "as_expected": False, "reason": f"unreadable verdict: {error}"}]


def failure(entry: Entry, reason: str, seconds: float) -> dict:
    nothing = dict.fromkeys(("engine", "mode", "bound", "replay", "blind"), "") | {"executions": None, "graphs": None, "reach": {}}
    return nothing | {"name": entry.name, "kind": entry.kind, "verdict": "error", "as_expected": False, "seconds": seconds, "reason": reason}


def judged(entry: Entry, done: proc.Done, verdicts: list[dict], mutant: bool = False) -> list[dict]:
    """The verdicts of one run; a run without a verdict, or a status that contradicts it, is one.
    (A mutant that never ran ends with status 1 beside good verdicts.)"""
    for verdict in verdicts:
        verdict.setdefault("name", entry.name)
        verdict.setdefault("kind", entry.kind)
    good = all(map(expected, verdicts))
    last = (done.err or done.out).strip().splitlines()[-1:] or [""]
    if done.timed_out or done.rc not in (0, 1):
        verdicts.append(failure(entry, f"{entry.program.name} {done.how()}: {last[0]}", done.seconds))
    elif not verdicts:
        verdicts.append(failure(entry, f"{entry.program.name} gave no verdict", done.seconds))
    elif good != (done.rc == 0) and not mutant:
        verdicts.append(failure(entry, f"exit status {done.rc} contradicts the verdicts", done.seconds))
    return verdicts


def run_entries(entries: list[Entry], options: Options, label: str, deviates: Callable[[dict], bool] = wrong) -> list[dict]:
    """Run each check in its own process, `jobs` at a time; print what deviates."""
    verdicts: list[dict] = []
    with tempfile.TemporaryDirectory(prefix="apiary-prove-") as folder:
        specs = [proc.Spec([entry.program, entry.name, *options.words(entry.kind), *options.asks(entry), "--json", f"{folder}/{i}.json"],
                           cwd=repo.ROOT, timeout=options.limit(), tag=(i, entry)) for i, entry in enumerate(entries)]
        for done in counted(label, proc.run_many(specs, options.jobs), len(specs), lambda done: done.tag[1].name):
            i, entry = done.tag
            found = judged(entry, done, read_verdicts(Path(f"{folder}/{i}.json")), options.mutate is not None)
            verdicts += found
            if any(map(deviates, found)):
                deviation(entry, done, found)
    order = [entry.name for entry in entries]
    return sorted(verdicts, key=lambda v: order.index(v["name"]) if v["name"] in order else len(order))


def deviation(entry: Entry, done: proc.Done, verdicts: list[dict]) -> None:
    """Everything the program said, and the line that replays it."""
    say(colour(f"\n{entry.kind} {entry.name} did not go as expected: {entry.what}", "red"))
    say(*filter(None, (done.out.rstrip(), done.err.rstrip())))
    for verdict in verdicts:
        if wrong(verdict) and verdict.get("replay"):
            say(f"replay: {replay_line(entry.program, verdict['replay'])}")
    say("")


def replay_line(program: Path, replay: str) -> str:
    """A line to paste, from the repository root. The program may give its own path in front."""
    words = shlex.split(replay)
    if words and Path(words[0]).name == program.name:
        replay = shlex.join(words[1:])
    return f"{repo.shown(program)} {replay}"


def prove(patterns: list[str], options: Options) -> tuple[list[dict], list[Entry]]:
    """Litmus first; then, if the engines are what they should be, checks and exhibits."""
    entries = all_entries()
    chosen = for_engine(select(entries, patterns), options.engine)
    for pattern in patterns:
        if not any(named(entry, pattern) for entry in chosen):
            cause = f"{options.engine} runs none of them; prove --list tells which engine runs what"
            raise Fault(f"{pattern}: nothing would be checked", cause, "leave --engine away", USAGE)
    if options.replay:
        return run_entries(chosen, options, "replay"), entries
    litmus = for_engine([entry for entry in entries if entry.kind == "litmus"], options.engine)
    verdicts = run_entries(litmus, Options(engine=options.engine, jobs=options.jobs), "litmus")
    if not all(map(expected, verdicts)):
        heading("a litmus test deviates: the engine is not what it was, so nothing after it counts")
        return verdicts, entries
    for kind in ("check", "exhibit"):
        group = [entry for entry in chosen if entry.kind == kind]
        verdicts += run_entries(group, options, f"{kind}s") if group else []
    return verdicts, entries


def all_entries() -> list[Entry]:
    return some_there(listing(sources.built("model", "checks")))


def some_there(entries: list[Entry]) -> list[Entry]:
    if not entries:
        cause = "build/model/manifest/checks.txt is empty or absent"
        raise Fault("the model preset has no checks", cause, "scripts/apiary build model")
    return entries


def listed(patterns: list[str]) -> tuple[list[Entry], int]:
    """Without building: of what is built, the programs that are of this source say what they hold. Where that is not all, the
    sources name the rest, without engines; and how many of those there are."""
    folder, programs = repo.BUILD / "model", repo.manifest("model", "checks")
    there = [path for path in programs if path.exists()]
    other = {path for paths in sources.of(folder, there).values() for path in paths}
    entries = listing(path for path in there if path not in other)
    if not entries or other or len(there) < len(programs) or sources.misconfigured(folder):
        told = [entry.name for entry in entries]
        names, begun = source_names.checks()
        rest = {name: kind for name, kind in names.items() if name not in told}
        rest |= {f"{name}…": kind for name, kind in begun.items() if not any(one.startswith(name) for one in told)}
        entries += [Entry(name, kind, (), 0, "", folder) for name, kind in rest.items()]
    found = select(some_there(entries), patterns)
    return found, sum(not entry.engines for entry in found)


def named(entry: Entry, pattern: str) -> bool:
    """Whether a pattern, or a group, names this entry; of its name only the beginning may be known (…)."""
    begun = entry.name.removesuffix("…")
    return (entry.kind == source_names.GROUPS.get(pattern) or fnmatch.fnmatchcase(entry.name, pattern)
            or (begun != entry.name and source_names.completes(pattern, begun)))


def for_engine(entries: list[Entry], engine: str | None) -> list[Entry]:
    """Those that this engine can run."""
    return [e for e in entries if engine in (None, "all") or engine in e.engines]


def write_record(verdicts: list[dict], entries: list[Entry], stamp: dict) -> dict:
    listed = {kind: [e.name for e in entries if e.kind == kind] for kind in KINDS}
    asked = {(e.name, engine): e.kind for e in entries for engine in e.engines}
    record = merge_record(repo.read_json(RECORD), stamp, verdicts, listed, asked)
    repo.write_json(RECORD, record)
    return record
