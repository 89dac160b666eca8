"""The logic mutants, tried: one build holds them all; model checks and unit tests are run against each until one fails."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generator

from ..base import building, proc, repo
from ..base.errors import Fault
from ..base.say import counted
from . import checks, logic, mutants as both
from .logic import Mutant
from .mutants import Key, Outcome, Reasons

SURVIVORS = repo.ROOT / "model_check" / "logic_survivors.csv"
SURVIVOR_COLUMNS = ["file", "function", "code", "change", "reason"]
FOLDER = repo.BUILD / "logic"
TABLE, LEARNT, RECORD = FOLDER / "logic.csv", FOLDER / "killers.json", FOLDER / "logic.json"
TABLE_COLUMNS = ["schema_version", "number", "file", "line", "function", "code", "rule", "put", "source", "verdict", "killed_by",
                 "engine", "how", "tries", "seconds", "reason"]
SHORT, LONG = "2000x", "0x"      # executions, so that a verdict does not depend on the machine
LEAST_LIMIT, LONG_LIMIT, TENFOLD, UNMUTATED_RUNS = 5.0, 600.0, 10.0, 2
MOST_SURVIVE = 0.05
WHAT = "header with logic"

@dataclass(frozen=True)
class Killer:
    """A unit test, or a model check on one engine."""

    program: Path
    name: str
    engine: str = ""        # none: a unit test

    def argv(self, budget: str) -> list[str | os.PathLike]:
        if not self.engine:
            return [self.program, f"--gtest_filter={self.name}", "--gtest_brief=1"]
        return [self.program, self.name, "--engine", self.engine, "--budget", budget, "--no-trace", "--json", "-"]

    @property
    def label(self) -> str:
        return f"{self.name} {self.engine}".strip()


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
    tries: int = 0

    @property
    def file(self) -> str:
        return self.mutant.file

    @property
    def told(self) -> str:
        return " | ".join(self.key())

    def key(self) -> Key:
        return self.mutant.key


@dataclass
class Run:
    results: list[Result] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    stamp: dict = field(default_factory=dict)           # of the source that was mutated


def gtests(listing: str) -> list[str]:
    """The names in what --gtest_list_tests prints."""
    names, suite = [], ""
    for line in listing.splitlines():
        word = line.split("#")[0].rstrip()
        if re.fullmatch(r"\S+\.", word):
            suite = word
        elif suite and re.fullmatch(r"  \S+", word):
            names.append(suite + word.strip())
    return [name for name in names if ".DISABLED_" not in name]


def all_killers() -> list[Killer]:
    programs = repo.built("logic", "logic")
    found = []
    for program in programs:
        if program.name.endswith("_check"):
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
    return env


def outcome(killer: Killer, done: proc.Done) -> tuple[str, str]:
    """(alive, failed, hung or crashed; in words) of one run."""
    if done.timed_out:
        return "hung", done.how()
    if killer.engine:
        verdicts = [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]
        last = verdicts[-1] if verdicts else {}
        reason = str(last.get("reason", ""))
        if last.get("verdict") == "fail":
            return "failed", reason
        if done.rc in (0, 1) and last.get("verdict") in ("pass", "budget"):
            never = last["verdict"] == "pass" and last.get("as_expected") is not True
            return ("failed", reason) if never else ("alive", "")
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
               before: list[str]) -> Generator[proc.Spec, proc.Done, Result]:
    """The killers that pass the mutant's place, until one fails: first the one that killed it before, then those that have
    killed most for their time. A hang counts when the unmutated program, run at once behind it, ends within a tenth."""
    result = Result(number, mutant)
    mine = [k for k, tried in known.items() if number in tried.passed]
    started = time.monotonic()

    def order(killer: Killer) -> tuple:
        rate = (1 + kills[mutant.file, killer]) / (0.05 + known[killer].seconds)
        return killer.label not in before, -rate

    def attempt(killer: Killer, budget: str, seconds: float) -> Generator[proc.Spec, proc.Done, tuple[str, str]]:
        result.tries += 1
        done = yield proc.Spec(killer.argv(budget), cwd=repo.ROOT, env=environment(number), timeout=seconds)
        what, why = outcome(killer, done)
        if what == "alive":
            return what, why
        # What fails without the mutant, too, or is merely slow today, has killed nothing.
        again = yield proc.Spec(killer.argv(budget), cwd=repo.ROOT, env=environment(None), timeout=seconds)
        fine = outcome(killer, again)[0] == "alive" and (what != "hung" or TENFOLD * again.seconds <= seconds)
        return (what, why) if fine else ("alive", "")

    def rounds() -> list[tuple[Killer, str, float]]:
        first = [(k, budget, limit(known[k])) for k in sorted(mine, key=order)]
        return first + [(k, longer, LONG_LIMIT) for k in mine if float(longer[:-1]) > 0 and k.engine]

    for killer, searched, seconds in rounds():
        what, why = yield from attempt(killer, searched, seconds)
        if what != "alive":
            kills[mutant.file, killer] += 1
            result.verdict, result.killed_by, result.engine, result.how, result.reason = \
                "killed", killer.name, killer.engine, what, why
            break
    if not mine:
        result.reason = "no check and no test comes to this place"
    result.seconds = time.monotonic() - started
    return result


def run(structures: list[str], jobs: int, mutants: list[Mutant] | None = None, budget: str = SHORT, longer: str = LONG,
        numbers: list[int] | None = None, no_build: bool = False) -> Run:
    """All logic mutants of the headers whose path contains one of the names."""
    mutants = logic.catalogue() if mutants is None else mutants
    found = Run(files=both.chosen(structures, {m.file for m in mutants}, WHAT), stamp=repo.identity(*repo.PROVED_FOLDERS))
    if not no_build:    # the copies of the headers with every mutant in them, and the programs over them
        logic.write_headers(mutants, FOLDER / "mutated")
        building.build("logic", only="logic")
    known = unmutated(all_killers(), len(mutants), budget, jobs)
    before = repo.read_json(LEARNT) or {}
    work = [(i, m) for i, m in enumerate(mutants) if m.file in found.files and (numbers is None or i in numbers)]
    kills: Counter = Counter()
    chains = (try_mutant(i, m, known, budget, longer, kills, before.get("|".join(m.key), [])) for i, m in work)
    found.results += counted("logic mutants", proc.run_chains(chains, jobs), len(work), lambda r: f"{r.file}:{r.mutant.line}")
    found.results.sort(key=lambda r: r.number)
    # Which check killed which mutant, so that the next run asks it first.
    killed = {"|".join(r.key()): [f"{r.killed_by} {r.engine}".strip()] for r in both.having("killed", found.results)}
    repo.write_json(LEARNT, before | killed)
    write_table(found.results)
    return found


def reviewed() -> Reasons:
    return both.reviewed(SURVIVORS, SURVIVOR_COLUMNS)


def score(results: list[Result]) -> str:
    killed = len(both.having("killed", results))
    return f"{killed} of {len(results)} logic mutants killed ({100 * killed / max(1, len(results)):.1f} %)"


def judged(found: Run, listed: Reasons, mutants: list[Mutant]) -> list[str]:
    """What is red of a run, a sentence each; new survivors come last."""
    there, results = {m.key for m in mutants}, found.results
    many = len(results) >= 100 and len(both.having("survived", results)) > MOST_SURVIVE * len(results)
    return [
        *(f"{repo.shown(SURVIVORS)} lists what is no longer there: {' | '.join(key)}" for key in listed if key not in there),
        *(f"{logic.WRITTEN.name} leaves out what no rule makes: {' | '.join(key)}" for key in logic.idle_exclusions()),
        *both.risen(results, listed, SURVIVORS),
        *([f"{score(results)}; at least {100 * (1 - MOST_SURVIVE):.0f} % must be"] if many else []),
        *(f"survives without a reason: {r.file}:{r.mutant.line}: {' | '.join(r.key()[1:])}"
          for r in both.unexplained(results, listed)),
    ]


def write_table(results: list[Result]) -> None:
    repo.write_csv(TABLE, TABLE_COLUMNS, (
        [1, r.number, m.file, m.line, m.function, m.code, m.rule, m.put, "written" if m.reason else "drawn", r.verdict,
         r.killed_by, r.engine, r.how, r.tries, f"{r.seconds:.1f}", r.reason]
        for r in results for m in [r.mutant]
    ))


def write_record(found: Run, listed: Reasons) -> None:
    """The score of a whole run, for the report of a race on the same source."""
    by_checks = sum(bool(r.engine) for r in both.having("killed", found.results))
    repo.write_json(RECORD, {"schema_version": 1, **found.stamp, **both.score(found.results, listed), "by_checks": by_checks})
