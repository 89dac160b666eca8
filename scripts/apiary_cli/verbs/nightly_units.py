"""The units of a night: which there are, their run by this machine or a cluster, the record, and what it says once judged."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
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
from ..verify import checks, enduring, engine_agreement, night_units, search_parts, stressing
from ..verify.verdicts import cut, expected
from . import faults, fuzz, selftest, soak

HERE = "local"      # of --scheduler: a cluster of processes of this machine
RECORD = {"schema": int, "utc": str, "stamp": dict, "shard": list, "engine": str, "seconds": (int, float), "busy": (int, float), "done": list,
          "fresh": list, "waiting": list, "entries": list, "notes": list, "fault": str}
SCHEMA, MOST_SHARDS = 1, 9999
SOAK_SHARE = 0.25   # of the units' time
FUZZ_SHARE, FUZZ_LEAST = 0.10, 5.0  # of it, where it has no room for the whole turn of a target


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
    endured: list[dict] = field(default_factory=list)   # results of the soak and of faults
    stamp: dict = field(default_factory=dict)
    nights: list[dict] = field(default_factory=list)    # this one last

    def record(self) -> dict:
        return {name: getattr(self, name) for name in ("units", "fresh", "busy", "seconds", "engine", "waiting", "notes", "last")}


def shard(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text)  # MOST_SHARDS at most
    number, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= of:
        raise argument_kinds.refuse(text, "a part I of N, as 2/8")
    return number, of


def mine(units: list[Unit], part: tuple[int, int] | None) -> list[Unit]:
    """By their names: what another machine lists in another order, or gives more seconds, is the same."""
    def place(unit: Unit) -> int:
        return int(hashlib.sha256(f"{unit.kind} {unit.name}".encode()).hexdigest()[:8], 16)

    return [unit for unit in units if not part or place(unit) % part[1] == part[0] - 1]


def offered(entries: list[checks.Entry], store: Store, day: datetime.date, build: bool, about: frozenset[str] = frozenset()) -> list[Unit]:
    """`about`: names of units on what changed, waited or was red; of headers these are asked whole, beside what the day draws."""
    units = night_units.searches(entries, store) + night_units.stresses(day)
    units += night_units.outside() + night_units.hunts(day) + faults.units(seed=day.toordinal())
    return units + night_units.mutants(build) + night_units.logic_of_headers(about, build) + night_units.logic_mutants(day, build)


def changed(memory: memories.Memory) -> frozenset[str]:
    """Units about what is another than in the last night."""
    return night_units.changed_since(memory.nights[-1]["commit"]) if memory.nights else frozenset()


def in_order(entries: list[checks.Entry], store: Store, day: datetime.date, build: bool, part: tuple[int, int] | None,
             memory: memories.Memory) -> list[Unit]:
    """First what was red, then the mutants, of orders and of logic, of headers that changed since the last night."""
    orders = changed(memory)
    new = orders | {name.replace("mutant", night_units.LOGIC, 1) for name in orders}
    about = new | frozenset(memory.waiting) | frozenset(memory.red)
    return memory.order(mine(offered(entries, store, day, build, about), part), new)


def soaks(seconds: float, day: datetime.date, room: int, part: tuple[int, int] | None) -> list[Unit]:
    """So long each that they fill these seconds of this machine's part; where that is too short for a run, the rest waits."""
    seed = day.toordinal()
    number = len(mine(soak.units(0.0, seed), part))
    each = seconds * max(1, room) / max(1, number) - memories.BEGIN_AND_END
    return mine(soak.units(max(soak.LEAST, round(each, 1)), seed), part)


def fuzzed(seconds: float, day: datetime.date) -> list[Unit]:
    """The target whose turn it is: whole where it is at most half of the time, else for seconds."""
    if not fuzz.there(fuzz.of_day(day.toordinal())):
        return []
    whole = 2 * fuzz.NIGHT_S <= seconds
    takes = fuzz.NIGHT_S if whole else max(FUZZ_LEAST, round(FUZZ_SHARE * seconds))
    return fuzz.units(takes, day.toordinal())


def lacking() -> list[str]:
    """What a night would run, and is not there: told, since nothing is left out silently."""
    unbuilt = [preset for preset in (enduring.PLAIN, *enduring.SANITIZERS) if not enduring.is_built(preset)]
    found = [f"soak and faults leave out {preset}: no {enduring.PROGRAM} of this source is built there; scripts/apiary nightly without --no-build"
             for preset in unbuilt]
    found += [f"left out: {what}, since not all of its programs are built of this source; scripts/apiary nightly without --no-build"
              for what, preset, kind in (*((f"stress under {preset}", preset, "stress") for preset in stressing.PRESETS),
                                         ("the hunt of our own suites", "model", "hunted")) if not night_units.of_this_source(preset, kind)]
    target = fuzz.of_day()
    return found + ([] if fuzz.there(target) else [f"no target is fuzzed: the fuzzer of {target} is not there; scripts/apiary fuzz {target} fetches it"])


def gate(store: Store, seconds: float) -> spread.Night:
    """Every kind of defect, planted, before anything counts: alone on this machine, since one row is timed. What an earlier night
    saw, or did not see, says nothing of this one."""
    units = selftest.units()
    for unit in units:
        store.forget(unit)
    return spread.perform(units, spread.Pool(1), store, seconds, memories.read(store).estimate)


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


def plan(store: Store, seconds: float, day: datetime.date, processes: int, part: tuple[int, int] | None, build: bool) -> list[list[str]]:
    """What a night would ask, in the order of its stages, by kind: units, how many the store knows, what the others take. Nothing is run."""
    memory, entries = memories.read(store), checks.all_entries()
    soaked = memory.order(soaks(SOAK_SHARE * seconds, day, processes, part))
    units = [*selftest.units(), *night_units.searches(entries, store, ("litmus",)), *soaked, *mine(fuzzed(seconds, day), part),
             *in_order(entries, store, day, build, part, memory)]
    lines = []
    for kind in dict.fromkeys(unit.kind for unit in units):
        own = [unit for unit in units if unit.kind == kind]
        new = [unit for unit in own if store.done(unit) is None]
        lines.append([kind, str(len(own)), str(len(own) - len(new)), duration(sum(map(memory.estimate, new))), new[0].name if new else ""])
    return lines


def run(store: Store, seconds: float, day: datetime.date, scheduler: str | None, processes: int, part: tuple[int, int] | None, build: bool,
        before: spread.Night | None = None) -> Done:
    """All that fits, in a store that this night has alone. The store keeps it, and the record beside it says what was done and what waits.
    `before`: what gate() gave."""
    store.prune()
    memory, entries = memories.read(store), checks.all_entries()
    sources_of = sources.Evidence(repo.PROVED_FOLDERS, ["model"], "checks")
    engine = engine_of(scheduler, processes, store)
    try:
        night = litmus_first(entries, store, engine, seconds, memory)
        units = in_order(entries, store, day, build, part, memory)
        units = mine(fuzzed(seconds, day), part) + units    # first, since its turn is today
        soaked = memory.order(soaks(SOAK_SHARE * seconds, day, engine.room, part))
        say(f"nightly: {len(soaked) + len(units)} units, {engine.told}, {duration(max(0.0, seconds - night.seconds))} for them")
        for stage, share, follow in ((soaked, SOAK_SHARE, lambda *_: ()), (units, 1.0, follower(entries, store))):
            if night.fault:
                night.waiting += stage
            else:
                night = night.and_then(spread.perform(stage, engine, store, share * (seconds - night.seconds), memory.estimate, follow))
        night = before.and_then(night) if before else night
    finally:
        engine.close()
    record = {
        "schema": SCHEMA, "utc": repo.utc_stamp(), "stamp": sources_of.check(), "shard": part or [1, 1], "engine": engine.told,
        "seconds": night.seconds, "busy": night.busy,
        "done": [search_parts.told(unit) for unit in night.units.values()], "fresh": sorted(night.fresh),
        "waiting": [search_parts.told(unit) for unit in night.waiting], "entries": [dataclasses.asdict(entry) for entry in entries],
        "notes": [*memory.told, *lacking(), *engine.notes, *store.garbage, *([night.fault.text()] if night.fault else [])], "fault": night.fault.seen if night.fault else "",
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
    """For the next night: what is red, or was and has not been asked since, and that there was a night."""
    red = {night_cases.named(one, case.name): getattr(case, "replay", "") for one in done.parts for case in one.cases if case.status == FAILED}
    memory.red = {name: memory.red[name] for name in night_cases.unknown(done.parts, memory.red)} | red
    memories.write(store, memory, {"utc": records[0]["utc"], "commit": records[0]["stamp"]["commit"], "units": done.units, "fresh": done.fresh,
                                   "red": sorted(red), "waiting": len(done.waiting), "seconds": round(done.seconds, 1)})
    done.nights = memories.read(store).nights


def keep_failures(done: Done, folder: Path) -> None:
    """A folder for each red run of the schedulers, as the verbs leave it: what was said (a hang's dump), the seed, the build, the command."""
    enduring.afresh(folder)
    for result in done.endured:
        for row in night_cases.rows_of(result):
            if row["word"] in enduring.RED:
                name = "-".join(filter(None, (result["kind"], *result["name"].split(), str(row["seed"]), str(row["nth"] or ""))))
                enduring.left(folder / name, result["name"].split()[-1], row, night_cases.line_of(result, row))


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
    complete = whole and bool(verdicts) and not any(one["kind"] == "search" for one in waiting) and not any(map(cut, verdicts))
    if verdicts:
        cases.setdefault("search", []).extend(night_cases.unrun(verdicts, complete))
    took = {kind: sum(results[one["unit"]]["seconds"] for one in listed if one["kind"] == kind) for kind in cases}
    done = Done([Part(kind, found, took[kind], lines=[f"{sum(one['kind'] == kind for one in listed)} units"]) for kind, found in cases.items()],
                len(listed), len({key for record in records for key in record["fresh"]} & results.keys()), sum(record["busy"] for record in records),
                max(record["seconds"] for record in records), "; ".join(dict.fromkeys(record["engine"] for record in records)),
                [f"{one['kind']} {one['name']}" for one in waiting],
                list(dict.fromkeys(note for record in records for note in record["notes"])), last, verdicts, entries)
    done.notes += [note for note in store.garbage if note not in done.notes]
    for part in done.parts:
        part.lines += endured(part.name, [result for result in results.values() if result["kind"] == part.name])
    done.endured = [result for result in results.values() if result["kind"] in ("soak", "fault")]
    done.stresses, done.stamp = [result for result in results.values() if result["kind"] == "stress"], records[0]["stamp"]
    if complete:
        red = engine_agreement.report(verdicts, entries)[1]
        next(part for part in done.parts if part.name == "search").cases += [Case(one[:80], FAILED, 0.0, one) for one in red]
    for record in records:
        if record["fault"]:
            done.parts.append(Part("engine", [Case("the units", FAILED, 0.0, record["fault"])]))
    return done


def endured(kind: str, found: list[dict]) -> list[str]:
    """What the schedulers did: of a soak how much, of the faults what was no plain work."""
    told = [(result, row) for result in found for row in night_cases.rows_of(result)] if kind in ("soak", "fault") else []
    if kind == "soak" and told:
        return [f"{name}: {runs} runs, {pieces} pieces, {sleeps} sleeps, resident at most {begin} KiB at the begin and {end} KiB at the end, {red} red"
                for name, runs, pieces, sleeps, _, _, begin, end, red in soak.sums([row for _, row in told])]
    lines = []
    for fault in dict.fromkeys(row["fault"] for _, row in told):
        by_name = {result["name"].split()[0]: faults.happened(result["lines"]) for result, row in told if row["fault"] == fault}
        other = ", ".join(f"{name} {what}" for name, what in sorted(by_name.items()) if what != enduring.WORKS)
        lines.append(f"{fault}: {other or f'all {len(by_name)} work'}")
    return lines


def entry_of(told: dict) -> checks.Entry:
    lists = {name: tuple(told[name]) for name in ("engines", "must_reach", "must_see", "engine_laws")}
    return checks.Entry(**told | lists | {"program": Path(told["program"])})


def lacks(record: dict) -> list[str]:
    """What of a record cannot be read: it would end the merge in its middle."""
    found = [name for name, kind in RECORD.items() if not isinstance(record.get(name), kind)]
    if found:
        return found
    part, stamp = record["shard"], record["stamp"]
    return [name for name, good in (
        ("schema", record["schema"] == SCHEMA),
        ("shard", len(part) == 2 and all(isinstance(one, int) for one in part) and 1 <= part[0] <= part[1] <= MOST_SHARDS),
        ("stamp", all(isinstance(stamp.get(name), str) for name in ("source_hash", "commit"))),
    ) if not good]


def read_records(folders: list[Path]) -> list[dict]:
    """Of all shards, of each the last; refused by name where they cannot be read, or are not of one night."""
    records: dict[tuple, dict] = {}
    for folder in folders:
        for path in sorted(folder.glob("night*.json")):
            record = repo.read_json(path) or {}
            if wrong := lacks(record):
                raise Fault(f"{path} cannot be read", f"it has no {', '.join(wrong)} that could be read", "run that shard again, then merge", USAGE)
            place = tuple(record["shard"])
            if place in records:
                record = max(records[place], record, key=lambda one: one["utc"])
                record["notes"].append(f"shard {place[0]} of {place[1]} left two records; the later counts, of {record['utc']}")
            records[place] = record
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
