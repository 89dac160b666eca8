"""Mutation: each atomic site weakened by each legal step, each source of a last look left out; and whether a check fails then."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Generator

from ..base import proc, repo, sources
from ..base.errors import Fault
from ..base.say import counted
from . import checks, inventory, mutants as both
from .inventory import FAILURE, Item
from .mutants import Key, Outcome, Reasons

SURVIVORS = repo.ROOT / "model_check" / "survivors.csv"
SURVIVOR_COLUMNS = ["file", "function", "code", "operation", "mutant", "reason"]
TABLE = repo.BUILD / "model" / "mutation.csv"
TABLE_COLUMNS = [
    "schema_version", "file", "line", "column", "function", "code", "operation", "order", "mutant", "verdict", "killed_by",
    "engine", "mode", "executions", "seconds", "reason",
]
RECORD = repo.BUILD / "model" / "mutation.json"  # for the report of a race on the same source
# Budgets: to see which sites run, and first where some headers are named; for every search; for the explorer's unfinished searches
# of a survivor.
LOOK, GLANCE, SHORT, LONG = "5000x", "1000x", "20000x", "20s"
WHAT = "header with atomic sites"
ENGINES = ("explorer", "relacy")    # the explorer first: its pass means all

# One legal step weaker at a time, down to relaxed.
LOAD = {"seq_cst": ("acquire",), "acquire": ("relaxed",)}
STORE = {"seq_cst": ("release",), "release": ("relaxed",)}
READ_MODIFY_WRITE = {
    "seq_cst": ("acq_rel",), "acq_rel": ("acquire", "release"), "acquire": ("relaxed",), "release": ("relaxed",),
}
FENCE = {"seq_cst": ("acq_rel",), "acq_rel": ("acquire", "release"), "acquire": ("dropped",), "release": ("dropped",)}
LADDERS = {
    "load": LOAD, "store": STORE, "fence": FENCE, "recheck": {"kept": ("dropped",)},
    **dict.fromkeys(inventory.ASYMMETRIC, {"seq_cst": ("dropped",)}),
}

@dataclass
class Result(Outcome):
    site: Item
    mutant: str
    mode: str = ""          # of the search that killed it; of a survivor, how many searches saw everything
    executions: int | None = None

    @property
    def file(self) -> str:
        return self.site.file

    @property
    def told(self) -> str:
        return f"{self.site.name}={self.mutant}"

    def key(self) -> Key:
        return key(self.site, self.mutant)


@dataclass
class Run:
    """What a run of `mutate` found."""

    results: list[Result]
    never: list[Item]       # of the inventory, executed by no check
    wrong: list[str]        # about the inventory itself
    files: set[str]         # the headers that were asked about


def key(site: Item, mutant: str) -> Key:
    """What a survivor is known by: the function and the text of the call, whatever moves above it."""
    return site.file, site.function, site.code, site.operation, mutant


def ladder(operation: str) -> dict[str, tuple[str, ...]]:
    return LOAD if operation.endswith(FAILURE) else LADDERS.get(operation, READ_MODIFY_WRITE)


def mutants(site: Item) -> list[str]:
    """Every weaker order that steps of the ladder lead to, each once, mildest first."""
    steps, found = ladder(site.operation), [site.order]
    for order in found:
        found += [weaker for weaker in steps.get(order, ()) if weaker not in found]
    return found[1:]


def baseline(entries: list[checks.Entry], options: checks.Options) -> tuple[dict[str, set[str]], dict[str, list[tuple]]]:
    """Run the checks once, which must pass. Which sites ran, with the orders seen there; and, for each, the checks that
    execute it as (entry, engine, seconds)."""
    def fails(verdict: dict) -> bool:
        return verdict.get("verdict") not in ("pass", "budget")  # so brief a look need not reach what a proof must

    verdicts = checks.run_entries(entries, options, "unmutated", fails)
    by_name = {entry.name: entry for entry in entries}
    orders: dict[str, set[str]] = {}
    killers: dict[str, list[tuple]] = {}
    for verdict in verdicts:
        if fails(verdict):
            raise Fault(f"{verdict['name']} fails before anything was weakened", verdict.get("reason", ""),
                        "scripts/apiary prove " + verdict["name"])
        killer = by_name[verdict["name"]], verdict["engine"], float(verdict.get("seconds") or 0)
        for name, order in verdict.get("sites", {}).items():
            orders.setdefault(name, set()).add(order)
            killers.setdefault(name, []).append(killer)
    return orders, killers


def try_mutant(site: Item, name: str, mutant: str, killers: list[tuple], budget: str, longer: str, folder: Path,
               kills: Counter) -> Generator[proc.Spec, proc.Done, Result]:
    """Runs the checks that execute the site until one fails: those first that have killed most, then small ones. What
    survives the short budget is searched again with the long one, where the explorer could still finish."""
    result, tried, finished, unfinished = Result(site, mutant), 0, 0, []

    def order(killer: tuple) -> tuple:
        entry, engine, seconds = killer
        return -kills[site.file, entry.name, engine], ENGINES.index(engine), seconds

    def attempt(entry: checks.Entry, engine: str, budget: str) -> Generator[proc.Spec, proc.Done, str]:
        """Its verdict, which is in the result where it is a kill or an error."""
        record = folder / f"{abs(hash((name, mutant)))}-{entry.name}-{engine}-{budget}.json"
        done = yield proc.Spec(
            [entry.program, entry.name, "--engine", engine, "--mutate", f"{name}={mutant}", "--budget", budget,
             "--no-trace", "--json", record], cwd=repo.ROOT, timeout=900,
        )
        told = (checks.read_verdicts(record) or [{}])[-1]
        record.unlink(missing_ok=True)
        result.seconds += float(told.get("seconds") or 0)
        word = told.get("verdict")
        if done.timed_out or done.rc not in (0, 1) or word not in ("pass", "budget", "fail"):
            why = told.get("reason") or (done.err.strip().splitlines() or [""])[-1]
            result.verdict, result.reason = "error", f"{entry.name} on {engine} {done.how()}: {why}"
        if word == "fail":
            kills[site.file, entry.name, engine] += 1
            result.verdict, result.killed_by, result.engine = "killed", entry.name, engine
            result.mode, result.executions, result.reason = told.get("mode", ""), told.get("executions"), told.get("reason", "")
        return word

    for entry, engine, _ in sorted(killers, key=order):
        word = yield from attempt(entry, engine, budget)
        if word == "fail":
            return result
        if engine == "explorer":
            tried, finished = tried + 1, finished + (word == "pass")
            if word == "budget" and not entry.too_large:
                unfinished.append((entry, engine))
    for entry, engine in unfinished if longer else []:
        word = yield from attempt(entry, engine, longer)
        if word == "fail":
            return result
        finished += word == "pass"
    result.mode = f"exhaustive in {finished} of {tried} searches" if tried else ""
    return result


def run(structures: list[str], budget: str, longer: str, jobs: int, only_inventory: bool = False) -> Run:
    """All mutants of the headers whose path contains one of the names."""
    items, wrong = inventory.read()
    known = {item.file for item in items}
    files = both.chosen(structures, known, WHAT)
    evidence = sources.Evidence(repo.PROVED_FOLDERS, ["model"], "checks")
    entries = [entry for entry in checks.all_entries() if entry.kind == "check"]
    for look in (GLANCE, LOOK) if structures else (LOOK,):
        orders, killers = baseline(entries, checks.Options(budgets=(look,), jobs=jobs))
        ran, never, told = inventory.compare(items, orders)
        never = [item for item in never if item.file in files]
        if not never:
            break
    wrong = [one for one in wrong + told if not structures or one.split(":")[0] not in known - files]
    found = Run([], never, wrong, files)
    if only_inventory:
        return found
    work = [(item, mutant) for item in items if item.file in files and item in ran for mutant in mutants(item)]
    kills: Counter = Counter()
    with tempfile.TemporaryDirectory(prefix="apiary-mutate-") as folder:
        chains = (try_mutant(item, ran[item], mutant, killers[ran[item]], budget, longer, Path(folder), kills)
                  for item, mutant in work)
        found.results += counted("mutants", proc.run_chains(chains, jobs), len(work), lambda result: result.told)
    place = {pair: i for i, pair in enumerate(work)}
    found.results.sort(key=lambda result: place[result.site, result.mutant])
    with repo.locked("mutation"):  # the units of a night write it, too
        repo.write_json(RECORD, merge_record(repo.read_json(RECORD), evidence.check(), found, known, reviewed()))
    return found


def merge_record(old: dict | None, stamp: dict, found: Run, known: set[str], listed: Reasons) -> dict:
    """The score of each header; those of an earlier run stay while the source is the same."""
    headers = dict(old["headers"]) if old and old.get("source_hash") == stamp["source_hash"] else {}
    for file in found.files:
        headers[file] = both.score([r for r in found.results if r.file == file], listed)
        headers[file]["never_run"] = sum(item.file == file for item in found.never)
    return {"schema_version": 1, **stamp, "known": sorted(known), "headers": dict(sorted(headers.items()))}


def reviewed() -> Reasons:
    return both.reviewed(SURVIVORS, SURVIVOR_COLUMNS)


def vanished(listed: Reasons, items: list[Item], files: set[str] | None = None) -> list[Key]:
    """Reviewed survivors whose site, or whose mutant, no longer exists."""
    there = {key(item, mutant) for item in items for mutant in mutants(item)}
    others = {item.file for item in items} - files if files is not None else set()
    return [one for one in listed if one not in there and one[0] not in others]


def judged(found: Run, listed: Reasons) -> list[str]:
    """What is red of a run, a sentence each; new survivors come last."""
    gone = vanished(listed, inventory.read()[0], found.files)
    return [
        *found.wrong,
        *(f"no check executes {i.file}:{i.line}:{i.column} {i.operation} in {i.function}" for i in found.never),
        *(f"{repo.shown(SURVIVORS)} lists what is no longer there: {' '.join(one)}" for one in gone),
        *both.risen(found.results, listed, SURVIVORS),
        *(f"error: {r.told}: {r.reason}" for r in both.having("error", found.results)),
        *(f"survives without a reason: {r.told} ({r.site.code})" for r in both.unexplained(found.results, listed)),
    ]


def write_table(results: list[Result]) -> None:
    repo.write_csv(TABLE, TABLE_COLUMNS, (
        [2, s.file, s.line, s.column, s.function, s.code, s.operation, s.order, r.mutant, r.verdict, r.killed_by, r.engine,
         r.mode, "" if r.executions is None else r.executions, f"{r.seconds:.3f}", r.reason]
        for r in results for s in [r.site]
    ))
