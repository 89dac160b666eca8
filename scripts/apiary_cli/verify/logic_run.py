"""The logic mutants, tried: one build holds them all; model checks, unit tests and, of what those let live, stress programs under
ThreadSanitizer are run against each until one fails."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import re
import tempfile
import time
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generator, Iterator

from ..base import building, proc, repo
from ..base.errors import Fault, unknown
from ..base.say import counted, say
from . import checks, logic, mutants as both, mutation, stressing
from .logic import Mutant
from .mutants import Key, Outcome, Reasons

SURVIVORS = repo.ROOT / "model_check" / "logic_survivors.csv"
SURVIVOR_COLUMNS = ["file", "function", "code", "change", "reason"]
FOLDER = repo.BUILD / "logic"
TABLE, LEARNT, RECORD, SHARDS = FOLDER / "logic.csv", FOLDER / "killers.json", FOLDER / "logic.json", FOLDER / "shards"
TABLE_COLUMNS = ["schema_version", "number", "file", "line", "function", "code", "rule", "put", "source", "verdict", "killed_by",
                 "engine", "round", "how", "tries", "seconds", "reason"]
# Executions, so that a verdict does not depend on the machine. Most searches that do not end within the first end within the second.
SHORT, LONG = "2000x", "20000x"
THREADS = "tsan"                # the engine of a stress program
STRESS_SECONDS, STRESS_HANGS = 2, 10
FIRST, AGAIN, LONGER, STRESS = "first", "again", "longer", "stress"     # the rounds
LEAST_LIMIT, LONG_LIMIT, TENFOLD, UNMUTATED_RUNS = 5.0, 600.0, 10.0, 2
FIVEFOLD = 5.0                  # a limit of tenfold, and a machine that is half as fast when the hang is looked at
MOST_SURVIVE = 0.05
WHAT = "header with logic"

@dataclass(frozen=True)
class Killer:
    """A unit test, a model check on one engine, or a stress program under ThreadSanitizer."""

    program: Path
    name: str
    engine: str = ""        # none: a unit test

    def argv(self, budget: str) -> list[str | os.PathLike]:
        if self.engine == THREADS:
            return [*steady(), self.program, "--seconds", f"{STRESS_SECONDS}", "--seed", "1", "--watchdog", f"{STRESS_HANGS}"]
        if not self.engine:
            return [self.program, f"--gtest_filter={self.name}", "--gtest_brief=1", "--gtest_fail_fast"]
        return [self.program, self.name, "--engine", self.engine, "--budget", budget, "--no-trace", "--json", "-"]

    @property
    def label(self) -> str:
        return f"{self.name} {self.engine}".strip()

    @property
    def all(self) -> tuple[Killer, ...]:
        return (self,)


@dataclass(frozen=True)
class Together:
    """Unit tests of one program in one process. Where all of them pass, processes are saved; where not, it says which test to ask
    alone. By itself it kills nothing."""

    tests: tuple[Killer, ...]

    @property
    def all(self) -> tuple[Killer, ...]:
        return self.tests

    def argv(self, _: str) -> list[str | os.PathLike]:
        return [self.tests[0].program, "--gtest_filter=" + ":".join(test.name for test in self.tests), "--gtest_fail_fast"]

    def suspects_first(self, done: proc.Done) -> list[Killer]:
        """Its tests: first the one that failed, or in which the process ended."""
        failed, begun = (re.findall(rf"^\[ {word}\] ([^\s,]+)", done.out, re.M) for word in (" FAILED  ", "RUN      "))
        named = (failed or begun[-1:])[:1]
        return sorted(self.tests, key=lambda test: test.name not in named)


Asked = Killer | Together


def gathered(tests: list[Killer]) -> list[Asked]:
    """Those of each program as one; a lone one as it is."""
    by_program = itertools.groupby(sorted(tests, key=lambda test: str(test.program)), lambda test: test.program)
    return [Together(many) if len(many) > 1 else many[0] for many in (tuple(of) for _, of in by_program)]


@functools.cache
def steady() -> list[str]:
    return stressing.without_randomisation()


@dataclass
class Tried:
    """What is known about a killer from its unmutated runs."""

    seconds: float
    passed: frozenset[int]      # the mutants whose place it passes


@dataclass
class Result(Outcome):
    number: int
    mutant: Mutant
    how: str = ""               # failed, hung, crashed
    round: str = ""             # in which it was killed
    tries: int = 0

    @property
    def file(self) -> str:
        return self.mutant.file

    @property
    def told(self) -> str:
        return " | ".join(self.key())

    def key(self) -> Key:
        return self.mutant.key

    def saved(self) -> dict:
        return {"key": list(self.key())} | {name: getattr(self, name) for name in SAVED}


SAVED = ("verdict", "killed_by", "engine", "how", "round", "tries", "seconds", "reason")


@dataclass
class Run:
    part: logic.Part
    known: int = 0              # mutants of all parts
    asked: str = ""             # which programs, where not all
    results: list[Result] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    stamp: dict = field(default_factory=dict)           # of the source that was mutated


def gtests(listing: str) -> list[str]:
    """The names in what --gtest_list_tests prints. A test that a table generates is one, with all the rows of the table: by
    themselves the 3,300 of task_graph_memory_test take a minute of starting processes, and together half a second."""
    names, suite = [], ""
    for line in listing.splitlines():
        word = line.split("#")[0].rstrip()
        if re.fullmatch(r"\S+\.", word):
            suite = word
        elif suite and re.fullmatch(r"  \S+", word):
            names.append(suite + word.strip())
    generated = (re.sub(r"(\.[^/]+/).*", r"\1*", name) for name in names if ".DISABLED_" not in name)
    return list(dict.fromkeys(generated))


def programs(kind: str, parts: list[str]) -> list[Path]:
    """Those of build/logic whose name has one of the parts in it."""
    return [path for path in repo.manifest("logic", kind) if not parts or any(part in path.name for part in parts)]


def build(mutants: list[Mutant], parts: list[str]) -> None:
    """The copies of the headers with every mutant in them, and the programs over them."""
    logic.write_headers(mutants, FOLDER / "mutated")
    if building.stale(FOLDER):
        with repo.locked("logic"):
            building.configure("logic")
    for kind in ("logic", "stress"):
        if names := tuple(path.name for path in programs(kind, parts)):
            building.build("logic", only=kind, names=names)


def all_killers(parts: list[str]) -> list[Killer]:
    names = {kind: programs(kind, parts) for kind in ("logic", "stress")}
    for part in parts:
        if not any(part in path.name for paths in names.values() for path in paths):
            raise unknown("program", part, [path.name for kind in names for path in repo.manifest("logic", kind)])
    if missing := [path.name for paths in names.values() for path in paths if not path.exists()]:
        raise Fault(f"build/logic lacks {repo.some(missing)}", "it is not built yet", "scripts/apiary mutate --logic, without --no-build")
    found = [Killer(path, path.name, THREADS) for path in names["stress"]]
    of_checks = set(repo.manifest("logic", "checks"))
    for program in names["logic"]:
        if program in of_checks:     # of the museum's, what must pass: their exhibits are of defective copies
            found += [Killer(program, e.name, engine) for e in checks.listing([program]) if e.kind == "check"
                      for engine in e.engines]
            continue
        done = proc.run([program, "--gtest_list_tests"], timeout=60)
        if not done.ok:
            raise Fault(f"{program.name} --gtest_list_tests {done.how()}", done.err[-500:], "")
        found += [Killer(program, name) for name in gtests(done.out)]
    return found


def environment(mutant: int | None, passed: Path | None = None) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("APIARY_LOGIC_")}
    if mutant is not None:
        env["APIARY_LOGIC_MUTANT"] = str(mutant)
    if passed is not None:
        env["APIARY_LOGIC_PASSED"] = str(passed)
    return env | stressing.SANITIZER_ENV


EVERYTHING = "it has seen everything"


def outcome(killer: Killer, done: proc.Done) -> tuple[str, str]:
    """(alive, failed, hung or crashed; in words) of one run."""
    if done.timed_out:
        return "hung", done.how()
    if killer.engine == THREADS:
        return ("alive", "") if done.ok else ("failed", stressing.reason_of(done))
    if killer.engine:
        verdicts = [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]
        last = verdicts[-1] if verdicts else {}
        reason = str(last.get("reason", ""))
        if last.get("verdict") == "fail":
            return "failed", reason
        if done.rc in (0, 1) and last.get("verdict") in ("pass", "budget"):
            never = last["verdict"] == "pass" and last.get("as_expected") is not True
            whole = killer.engine == "explorer" and last["verdict"] == "pass"
            return ("failed", reason) if never else ("alive", EVERYTHING if whole else "")
        return "crashed", reason or done.how()
    if done.rc == 0:
        return "alive", ""
    lines = [line for line in (done.out + done.err).splitlines() if "Failure" in line or "law broken" in line]
    return ("failed" if done.rc == 1 else "crashed"), (lines or [done.how()])[0].strip()


def unmutated(killers: list[Killer], count: int, budget: str, jobs: int) -> dict[Killer, Tried]:
    """Every killer without a mutant, which must pass each time: how long it takes at most, and which places it passes."""
    known: dict[Killer, Tried] = {}
    with tempfile.TemporaryDirectory(prefix="apiary-logic-") as folder:
        specs = []
        for i, killer in enumerate(killers):
            path = Path(folder) / f"{i}"
            path.write_bytes(bytes(count + 1))
            specs += [proc.Spec(killer.argv(budget), cwd=repo.ROOT, env=environment(None, path), timeout=600,
                                tag=(killer, path))] * UNMUTATED_RUNS
        for done in counted("unmutated", proc.run_many(specs, jobs), len(specs), lambda done: done.tag[0].label):
            killer, path = done.tag
            what, why = outcome(killer, done)
            if what != "alive":
                raise Fault(f"{killer.label} {what} before anything was mutated", f"{why}\n{done.out[-2000:]}{done.err[-1000:]}",
                            "scripts/apiary check")
            passed = frozenset(i for i, byte in enumerate(path.read_bytes()[:count]) if byte)
            before = known.get(killer)
            known[killer] = Tried(max(done.seconds, before.seconds if before else 0), passed | (before.passed if before else frozenset()))
    return known


def limit(tried: Tried) -> float:
    """How long a mutant may run: tenfold what the unmutated program takes, and some seconds at least."""
    return max(LEAST_LIMIT, TENFOLD * tried.seconds)


def try_mutant(number: int, mutant: Mutant, known: dict[Killer, Tried], budget: str, longer: str, kills: Counter,
               before: list[str], explained: bool = False) -> Generator[proc.Spec, proc.Done, Result]:
    """The killers that pass the mutant's place, until one fails: first the one that killed it before, then those that have
    killed most for their time; tests that have killed nothing in this header are asked together. A kill is confirmed: without
    the mutant the same must pass; a hang counts when it ends within a fifth. So is a survival, where no reason is known for it:
    tests run again, each alone, searches of the explorer that have not seen everything go on, and then the stress programs
    run."""
    result = Result(number, mutant)
    mine = [k for k, tried in known.items() if number in tried.passed]
    again: list[Killer] = []
    started = time.monotonic()

    def seconds_of(asked: Asked) -> float:
        return sum(known[k].seconds for k in asked.all)

    def order(asked: Asked) -> float:
        return -sum(1 + kills[mutant.file, k] for k in asked.all) / (0.05 + seconds_of(asked))

    def rounds() -> Iterator[tuple[str, Asked, str, float]]:
        now = [k for k in mine if k.engine != THREADS]
        remembered = [k for k in now if k.label in before]
        others = [k for k in now if k not in remembered]
        proven = [k for k in others if k.engine or kills[mutant.file, k]]
        for asked in [*remembered, *sorted([*proven, *gathered([k for k in others if k not in proven])], key=order)]:
            yield FIRST, asked, budget, limit(known[asked]) if isinstance(asked, Killer) else LEAST_LIMIT + seconds_of(asked)
        for k in () if explained else list(again):
            if not k.engine:
                yield AGAIN, k, budget, limit(known[k])
            elif k.engine == "explorer" and float(longer[:-1]) > 0:
                yield LONGER, k, longer, LONG_LIMIT
        for k in () if explained else [k for k in mine if k.engine == THREADS]:
            yield STRESS, k, budget, limit(known[k])

    def attempt(killer: Killer, budget: str, seconds: float) -> Generator[proc.Spec, proc.Done, tuple[str, str]]:
        result.tries += 1
        done = yield proc.Spec(killer.argv(budget), cwd=repo.ROOT, env=environment(number), timeout=seconds)
        what, why = outcome(killer, done)
        if what == "alive":
            return what, why
        # What fails without the mutant, too, or is merely slow today, has killed nothing.
        control = yield proc.Spec(killer.argv(budget), cwd=repo.ROOT, env=environment(None), timeout=seconds)
        fine = outcome(killer, control)[0] == "alive" and (what != "hung" or FIVEFOLD * control.seconds <= seconds)
        return (what, why) if fine else ("alive", "")

    def alone(asked: Asked, budget: str, seconds: float) -> Generator[proc.Spec, proc.Done, list[Killer]]:
        """The killers to ask one by one: of tests that passed together, none."""
        if isinstance(asked, Killer):
            return [asked]
        result.tries += 1
        done = yield proc.Spec(asked.argv(budget), cwd=repo.ROOT, env=environment(number), timeout=seconds)
        if done.ok:
            again.extend(asked.tests)
            return []
        return asked.suspects_first(done)

    for which, asked, searched, seconds in rounds():
        for killer in (yield from alone(asked, searched, seconds)):
            what, why = yield from attempt(killer, searched, seconds if asked is killer else limit(known[killer]))
            if what != "alive":
                kills[mutant.file, killer] += 1
                result.verdict, result.killed_by, result.engine, result.how, result.round, result.reason = \
                    "killed", killer.name, killer.engine, what, which, why
                result.seconds = time.monotonic() - started
                return result
            if which == FIRST and why != EVERYTHING:
                again.append(killer)
    if not mine:
        result.reason = "no check and no test comes to this place"
    result.seconds = time.monotonic() - started
    return result


# ------------------------------------------------------------------------------------------------- shards, and their table


def shard_path(part: logic.Part, structures: list[str]) -> Path:
    """One for each choice of headers: two runs at a time that ask others write no file of each other."""
    chosen = "".join(f"-{re.sub(r'[^0-9A-Za-z]+', '_', name)}" for name in structures)
    name = f"{part.number}-of-{part.of}{chosen}"
    return SHARDS / f"{name if len(name) < 100 else f'{name[:80]}-{zlib.crc32(name.encode()):08x}'}.jsonl"


def stamped() -> dict:
    """Of what source verdicts are: stress programs are asked, too."""
    return repo.identity(*repo.PROVED_FOLDERS) | {"stress_hash": repo.source_hash(*repo.STRESSED_FOLDERS)}


def source_of(stamp: dict, budget: str, longer: str) -> dict:
    """What must be the same for verdicts to stand in one table."""
    return {"schema_version": 1, "source_hash": stamp["source_hash"], "stress_hash": stamp["stress_hash"], "budget": budget, "longer": longer}


def read_shard(path: Path) -> tuple[dict, dict[Key, dict]]:
    """What a shard's verdicts are of, and the verdicts that it has. The last line of one that was killed may be cut."""
    lines = path.read_text().splitlines() if path.exists() else []
    read = []
    for i, line in enumerate(lines):
        try:
            read.append(json.loads(line))
        except ValueError as error:
            if i + 1 < len(lines):
                raise Fault(f"{repo.shown(path)}:{i + 1} cannot be read", str(error), "remove the file") from error
    return (read[0] if read else {}), {tuple(row["key"]): row for row in read[1:]}


def restored(number: int, m: Mutant, row: dict) -> Result:
    return Result(number, m, **{name: row[name] for name in SAVED})


def joined(folder: Path, mutants: list[Mutant]) -> Run:
    """The verdicts of all shards in a folder, which must be of this source and agree in their budgets. Of a mutant in two of them a kill counts."""
    stamp, rows, wanted = stamped(), {}, {}
    paths = sorted(folder.glob("*.jsonl"))
    if not paths:
        raise Fault(f"no shard lies in {folder}", "", "scripts/apiary mutate --logic --shard 1/6")
    for path in paths:
        of, found = read_shard(path)
        wanted = wanted or of
        if any(of.get(name) != stamp[name] for name in ("source_hash", "stress_hash")) or of != wanted:
            raise Fault(f"{path.name} does not go with the others", f"it is of {of}, this is source {stamp['source_hash']}",
                        "remove it, or run it again")
        rows |= {key: row for key, row in found.items() if rows.get(key, {}).get("verdict") != "killed"}
    results = [restored(i, m, rows[m.key]) for i, m in enumerate(mutants) if m.key in rows]
    return Run(logic.Part(1, 1), len(mutants), "", results, {m.file for m in mutants}, stamp)


def run(structures: list[str], jobs: int, mutants: list[Mutant] | None = None, budget: str = SHORT, longer: str = LONG,
        part: logic.Part = logic.Part(), keep: bool = False, killers: list[str] | None = None, no_build: bool = False) -> Run:
    """The mutants of one part, of the headers whose path contains one of the names. `keep`: each verdict is written as it
    comes, and those that are written already, of this source, stand. But a survival of which only some programs were
    asked (`killers`) is asked again: another program may kill the mutant."""
    mutants, killers = logic.catalogue() if mutants is None else mutants, killers or []
    files = both.chosen(structures, {m.file for m in mutants}, WHAT)
    found = Run(part, len(mutants), files=files, stamp=stamped())
    if not no_build:
        build(mutants, killers)
    able = all_killers(killers)
    found.asked = f"asked of {len({k.program for k in able})} programs" if killers else ""
    work = [(i, m) for i, m in enumerate(mutants) if m.file in files and part.has(m)]
    path, of, rows = shard_path(part, structures), source_of(found.stamp, budget, longer), {}
    if keep:
        there, rows = read_shard(path)
        if there != of:
            repo.write_text(path, json.dumps(of) + "\n")
            rows = {}
        else:
            repo.write_text(path, "\n".join(map(json.dumps, [of, *rows.values()])) + "\n")
        rows = {key: row for key, row in rows.items() if row["verdict"] == "killed" or "asked" not in row}
        found.results += [restored(i, m, rows[m.key]) for i, m in work if m.key in rows]
        if found.results:
            say(f"shard {part}: {len(found.results)} of {len(work)} were asked before")
    work = [(i, m) for i, m in work if m.key not in rows]
    known = unmutated(able, len(mutants), budget, jobs) if work else {}
    before, listed = repo.read_json(LEARNT) or {}, reviewed()
    kills: Counter = Counter()
    chains = (try_mutant(i, m, known, budget, longer, kills, before.get("|".join(m.key), []), m.key in listed) for i, m in work)
    with open(path, "a") if keep else contextlib.nullcontext() as log:
        for r in counted("logic mutants", proc.run_chains(chains, jobs), len(work), lambda r: f"{r.file}:{r.mutant.line}"):
            found.results.append(r)
            if log:
                log.write(json.dumps(r.saved() | ({"asked": killers} if killers else {})) + "\n")
                log.flush()
    found.results.sort(key=lambda r: r.number)
    # Which check killed which mutant, so that the next run asks it first.
    killed = {"|".join(r.key()): [f"{r.killed_by} {r.engine}".strip()] for r in both.having("killed", found.results)}
    repo.write_json(LEARNT, before | killed)
    write_table(found.results)
    return found


def reviewed() -> Reasons:
    return both.reviewed(SURVIVORS, SURVIVOR_COLUMNS)


def score(found: Run) -> str:
    """Killed of drawn, of all."""
    results, killed = found.results, len(both.having("killed", found.results))
    told = f"{killed} of {len(results)} logic mutants killed ({100 * killed / max(1, len(results)):.1f} %)"
    told += f", part {found.part}" if found.part.of > 1 else ""
    return f"{told}, of {found.known} in all{', ' + found.asked if found.asked else ''}"


def judged(found: Run, listed: Reasons, mutants: list[Mutant]) -> list[str]:
    """What is red of a run, a sentence each; new survivors come last. Of a row whose mutant was not asked nothing is said."""
    there, results = {m.key for m in mutants}, found.results
    many = len(results) >= 100 and len(both.having("survived", results)) > MOST_SURVIVE * len(results)
    return [
        *(f"{repo.shown(SURVIVORS)} lists what is no longer there: {' | '.join(key)}" for key in listed if key not in there),
        *(f"{logic.WRITTEN.name} leaves out what no rule makes: {' | '.join(key)}" for key in logic.idle_exclusions()),
        *both.risen(results, listed, SURVIVORS),
        *([f"{score(found)}; at least {100 * (1 - MOST_SURVIVE):.0f} % must be"] if many else []),
        *(f"survives without a reason: {r.file}:{r.mutant.line}: {' | '.join(r.key()[1:])}"
          for r in both.unexplained(results, listed)),
    ]


def write_table(results: list[Result]) -> None:
    repo.write_csv(TABLE, TABLE_COLUMNS, (
        [2, r.number, m.file, m.line, m.function, m.code, m.rule, m.put, "written" if m.reason else "made", r.verdict,
         r.killed_by, r.engine, r.round, r.how, r.tries, f"{r.seconds:.1f}", r.reason]
        for r in results for m in [r.mutant]
    ))


def write_record(found: Run, listed: Reasons) -> None:
    """The score of a whole part, for the report of a race on the same source."""
    part = {"part": found.part.number, "parts": found.part.of, "known": found.known}
    by_checks = sum(r.engine in mutation.ENGINES for r in both.having("killed", found.results))
    repo.write_json(RECORD, {"schema_version": 2, **found.stamp, **part, **both.score(found.results, listed), "by_checks": by_checks})
