"""The units of a night: which there are, their run by this machine or a cluster, the record, and what it says once judged."""

from __future__ import annotations

import dataclasses
import datetime
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from ..base import argument_kinds, repo, sources
from ..base.errors import Fault, USAGE
from ..base.say import duration, say, warn
from ..night import memory as memories, spread
from ..night.store import Store
from ..night.unit import Unit
from ..report import night_cases, prove_page
from ..report.junit import FAILED, PASSED, Case, Part
from ..verify import checks, engine_agreement, night_units, search_parts, stressing
from ..verify.verdicts import cut, expected

HERE = "local"      # of --scheduler: a cluster of processes of this machine
RECORD = re.compile(r"night(-\d+-of-\d+)?\.json")
EXTRA = "units"     # what a verb calls its list of units


@dataclass
class Done:
    """What the page says of the units."""

    parts: list[Part] = field(default_factory=list)
    units: int = 0
    fresh: int = 0
    busy: float = 0.0
    seconds: float = 0.0
    engine: str = ""
    waiting: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    last: dict[str, str] | None = None   # what was red in the last night; None: there was none
    verdicts: list[dict] = field(default_factory=list)
    entries: list[checks.Entry] = field(default_factory=list)
    stresses: list[dict] = field(default_factory=list)  # results
    stamp: dict = field(default_factory=dict)
    nights: list[dict] = field(default_factory=list)    # this one last

    def record(self) -> dict:
        return {name: getattr(self, name) for name in ("units", "fresh", "busy", "seconds", "engine", "waiting", "notes", "last")}


def shard(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text)
    number, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= of:
        raise argument_kinds.refuse(text, "a part I of N, as 2/8")
    return number, of


def mine(units: list[Unit], part: tuple[int, int] | None) -> list[Unit]:
    """By what they are, and not by their place: what another machine lists in another order is the same."""
    return [unit for unit in units if not part or int(unit.key[:8], 16) % part[1] == part[0] - 1]


def offered(entries: list[checks.Entry], store: Store, day: datetime.date, build: bool, more: list[Unit]) -> list[Unit]:
    units = night_units.searches(entries, store) + night_units.stresses(day)
    units += night_units.outside() + more
    return units + night_units.mutants(build) + night_units.logic_mutants(day, build)


def engine_of(scheduler: str | None, processes: int, store: Store) -> spread.Engine:
    if scheduler is None:
        return spread.Pool(processes)
    from ..night import cluster  # here, since its libraries are fetched with the first cluster

    return cluster.local(processes, store) if scheduler == HERE else cluster.of_a_team(scheduler, store)


def follower(entries: list[checks.Entry], store: Store):
    by_name = {entry.name: entry for entry in entries}

    def follow(unit: Unit, result: dict) -> list[tuple[bool, Unit]]:
        if not search_parts.is_part(unit):
            return []
        entry = by_name[unit.words[0]]
        return [(entry.too_large, one) for one in search_parts.divided(unit, result, entry, store)]

    return follow


def litmus_first(entries: list[checks.Entry], store: Store, engine: spread.Engine, seconds: float, memory: memories.Memory) -> spread.Night:
    units = night_units.searches(entries, store, ("litmus",))
    night = spread.perform(units, engine, store, seconds, memory.estimate)
    for key, result in night.results.items():
        if result["ended"] or not result["lines"] or not all(map(expected, result["lines"])):
            night.fault = night.fault or Fault(f"litmus test {night.units[key].name} deviates", "the engine is not what it was, so nothing "
                                               "after it counts", night.units[key].line())
    return night


def run(store: Store, seconds: float, day: datetime.date, scheduler: str | None, processes: int, part: tuple[int, int] | None, build: bool,
        more: list[Unit] = []) -> Done:
    """All that fits. The store keeps it, and the record beside it says what was done and what waits."""
    with store.alone():
        store.prune()
        memory, entries = memories.read(store), checks.all_entries()
        sources_of = sources.Evidence(repo.PROVED_FOLDERS, ["model"], "checks")
        engine = engine_of(scheduler, processes, store)
        try:
            first = litmus_first(entries, store, engine, seconds, memory)
            units = memory.order(mine(offered(entries, store, day, build, more), part))
            if first.fault:
                first.waiting += units
                night = first
            else:
                say(f"nightly: {len(units)} units, {engine.told}, {duration(max(0.0, seconds - first.seconds))} for them")
                night = spread.perform(units, engine, store, seconds - first.seconds, memory.estimate, follower(entries, store))
                night.results |= first.results
                night.units |= first.units
                night.fresh |= first.fresh
                night.busy += first.busy
        finally:
            engine.close()
        record = {
            "schema": 1, "utc": repo.utc_stamp(), "stamp": sources_of.check(), "shard": part or [1, 1], "engine": engine.told,
            "seconds": night.seconds + (first.seconds if night is not first else 0), "busy": night.busy,
            "done": [search_parts.told(unit) for unit in night.units.values()], "fresh": sorted(night.fresh),
            "waiting": [search_parts.told(unit) for unit in night.waiting], "entries": [dataclasses.asdict(entry) for entry in entries],
            "notes": [*memory.told, *engine.notes, *store.garbage, *([night.fault.text()] if night.fault else [])], "fault": night.fault.seen if night.fault else "",
        }
        name = "night.json" if part is None else f"night-{part[0]}-of-{part[1]}.json"
        with store.writing("the record of this night"):
            repo.write_json(store.folder / name, record)
        memories.learn(memory, [night.results[key] for key in night.fresh], night.waiting)
        done = judged([record], store, memory.red if memory.nights else None, whole=part is None)
        remember(store, memory, [record], done)
    for note in done.notes:
        warn(note)
    return done


def remember(store: Store, memory: memories.Memory, records: list[dict], done: Done) -> None:
    """For the next night: what is red, and that there was one."""
    memory.red = {f"{one.name} {case.name}": getattr(case, "replay", "") for one in done.parts for case in one.cases if case.status == FAILED}
    memories.write(store, memory, {"utc": records[0]["utc"], "commit": records[0]["stamp"]["commit"], "units": done.units, "fresh": done.fresh,
                                   "red": sorted(memory.red), "waiting": len(done.waiting), "seconds": round(done.seconds, 1)})
    done.nights = memories.read(store).nights


def keep_records(done: Done) -> None:
    """What is proved and stressed of this source, as `prove` and `stress` leave it: for the report of a race."""
    told = [verdict for verdict in done.verdicts if verdict.get("executions")]
    if told:
        engine_agreement.write_csv(told, done.entries)
        prove_page.write(told, done.entries, done.stamp)
        checks.write_record(told, done.entries, done.stamp)
    runs = []
    for result in done.stresses:
        words, case = shlex.split(result["line"]), night_cases.case(result)
        program, preset, seed = words[2], words[words.index("--preset") + 1], int(words[words.index("--seed") + 1])
        runs.append({"program": program, "preset": preset, "sanitizer": stressing.SANITIZERS[preset], "seed": seed, "seconds": result["seconds"],
                     "passed": case.status == PASSED, "reason": case.message, "replay": result["line"], "detail": None})
    if runs:
        stressing.write_record(runs, done.stamp | {"source_hash": repo.source_hash(*repo.STRESSED_FOLDERS), "source_folders": list(repo.STRESSED_FOLDERS)})


def judged(records: list[dict], store: Store, last: dict[str, str] | None, whole: bool = True) -> Done:
    """Records of the same source, put together."""
    entries = [entry_of(one) for one in records[0]["entries"]]
    listed, waiting, results = [], [], {}
    for record in records:
        for one in record["done"]:
            if one["unit"] in results:
                continue
            result = store.get(one["unit"])
            (waiting if result is None else listed).append(one)
            if result is not None:
                results[one["unit"]] = result
        waiting += record["waiting"]
    waiting = [one for one in waiting if one["unit"] not in results]
    cases, verdicts = night_cases.cases(entries, listed, results, waiting)
    complete = whole and not any(one["kind"] == "search" for one in waiting) and not any(map(cut, verdicts))
    if verdicts:
        cases.setdefault("search", []).extend(night_cases.unrun(verdicts, complete))
    took = {kind: sum(results[one["unit"]]["seconds"] for one in listed if one["kind"] == kind) for kind in cases}
    done = Done([Part(kind, found, took[kind], lines=[f"{sum(one['kind'] == kind for one in listed)} units"]) for kind, found in cases.items()],
                len(listed), sum(len(record["fresh"]) for record in records), sum(record["busy"] for record in records),
                max(record["seconds"] for record in records), "; ".join(dict.fromkeys(record["engine"] for record in records)),
                [f"{one['kind']} {one['name']}" for one in waiting],
                list(dict.fromkeys(note for record in records for note in record["notes"])), last, verdicts, entries)
    done.notes += [note for note in store.garbage if note not in done.notes]
    done.stresses, done.stamp = [result for result in results.values() if result["kind"] == "stress"], records[0]["stamp"]
    if complete:
        red = engine_agreement.report(verdicts, entries)[1]
        next(part for part in done.parts if part.name == "search").cases += [Case(one[:80], FAILED, 0.0, one) for one in red]
    for record in records:
        if record["fault"]:
            done.parts.append(Part("engine", [Case("the units", FAILED, 0.0, record["fault"])]))
    return done


def entry_of(told: dict) -> checks.Entry:
    lists = {name: tuple(told[name]) for name in ("engines", "must_reach", "must_see", "engine_laws")}
    return checks.Entry(**told | lists | {"program": Path(told["program"])})


def read_records(folders: list[Path]) -> list[dict]:
    """Of all shards; refused by name where they are not of one night."""
    records: dict[tuple, dict] = {}
    for folder in folders:
        for path in sorted(folder.glob("night*.json")):
            record = repo.read_json(path) if RECORD.fullmatch(path.name) else None
            if record is None or record.get("schema") != 1:
                raise Fault(f"{path} cannot be read", "it is no record of a night", "run that shard again", USAGE)
            records[tuple(record["shard"])] = record
    if not records:
        raise Fault(f"no record of a night in {', '.join(map(str, folders))}", "a shard leaves night-I-of-N.json in its store",
                    "scripts/apiary merge STORE…", USAGE)
    sources_of = {record["stamp"]["source_hash"] for record in records.values()}
    if len(sources_of) > 1:
        raise Fault("these are nights of several sources", ", ".join(sorted(sources_of)), "merge the shards of one commit", USAGE)
    return [records[key] for key in sorted(records)]


def missing(records: list[dict]) -> list[str]:
    of = {record["shard"][1] for record in records}
    if len(of) > 1:
        raise Fault("these are shards of several divisions", f"of {', '.join(map(str, sorted(of)))}", "merge the shards of one night", USAGE)
    there = {record["shard"][0] for record in records}
    return [f"shard {i} of {max(of)}" for i in range(1, max(of) + 1) if i not in there]
