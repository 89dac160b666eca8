"""Which proofs and stresses hold for the source that a race measured: the status beside each number."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..base import repo, sources
from ..base.say import duration
from . import checks, exact, logic_run, mutation, stressing
from .verdicts import cut, exhausted, expected, named_cuts, names, searches, unfinished, wrong

GOOD, NOTE, BAD = "good", "note", "bad"
OF_RECORD = "utc commit dirty source_hash as_expected complete lacking listed passed"
OF_VERDICT = "name kind engine mode bound verdict as_expected executions seconds blind differs"
OF_RUN = "program preset seed seconds passed reason"


@dataclass(frozen=True)
class Status:
    """One line of the verification strip."""

    name: str
    level: str
    text: str
    badge: str = ""  # beside a number, where all is well


def hashes() -> tuple[str, str]:
    """Of the source as it is now: what proofs cover, what stresses cover."""
    return repo.source_hash(*repo.PROVED_FOLDERS), repo.source_hash(*repo.STRESSED_FOLDERS)


def of_other_source(programs: list[Path]) -> list[str]:
    """Of our programs, those that were not made of the source as it is now, each with what has changed."""
    now = sources.Present()
    differing = ((path, now.differing(path)) for path in programs)
    return [f"{path.name}: {repo.some(map(sources.words_for, names))}" for path, names in differing if names]


def snapshot(built: tuple[str, str] | None = None, exported: bool = False, programs: list[Path] | None = None) -> dict:
    """Taken when a race begins and kept in env.json: the hashes raced (of the source before it was built, if that is
    known), and the records as they are. An exported tree does not change meanwhile. `programs` are those of ours
    that are raced: one from elsewhere (race --program) may be of another source."""
    now = hashes()
    proved, stressed = built or now
    logic = repo.read_json(logic_run.RECORD)
    return {
        "prove_hash": proved,
        "stress_hash": stressed,
        "source_changed": not exported and (proved, stressed) != now,
        "prove": brief(repo.read_json(checks.RECORD), "verdicts", OF_VERDICT),
        "of_other_source": of_other_source(programs or []),
        "stress": brief(repo.read_json(stressing.RECORD), "runs", OF_RUN),
        "mutation": repo.read_json(mutation.RECORD),
        # As publish has it: one that does not say of which stresses it is does not count. Older folders keep what they took.
        "logic": logic if logic and "stress_hash" in logic else None,
        "exact": None if exported else exact.recorded(),
    }


def brief(record: dict | None, many: str, of_each: str) -> dict | None:
    """The record without its bulk: of its runs or verdicts these words."""
    if not record:
        return None
    kept = [{key: one.get(key) for key in of_each.split()} for one in record.get(many, [])]
    return {key: record.get(key) for key in OF_RECORD.split() if key in record} | {many: kept}


def stale(name: str, record: dict | None, wanted: str) -> Status | None:
    """No record, or one of another source: not verified."""
    if not record:
        return Status(name, BAD, "not verified: nothing was recorded")
    if record["source_hash"] != wanted:
        return Status(name, BAD, f"not verified: the record is of source {record['source_hash']}, this is {wanted}")
    return None


def prove_status(record: dict | None, wanted: str) -> Status:
    return engines_status("model checks", "proved ✓", {"litmus": "litmus tests", "check": "checks"}, record, wanted)


def museum_status(record: dict | None, wanted: str) -> Status:
    """The exhibits are checks that must fail; they stand in the same record."""
    return engines_status("museum", "museum ✓", {"exhibit": "exhibits"}, record, wanted)


def engines_status(name: str, badge: str, kinds: dict[str, str], record: dict | None, wanted: str) -> Status:
    """Good where every check of this source is as expected; a note where something is missing or unfinished."""
    if missing := stale(name, record, wanted):
        return missing
    found = [v for v in record["verdicts"] if v["kind"] in kinds]
    bad, late = names(list(filter(wrong, found))), names(list(filter(unfinished, found)))
    if bad:
        return Status(name, BAD, f"not as expected: {', '.join(bad)}")
    parts, whole = [], bool(found) and not late
    for kind, plural in kinds.items():
        done = {v["name"] for v in found if v["kind"] == kind}
        known = len((record.get("listed") or {}).get(kind, done))
        whole = whole and len(done) >= known
        parts.append(f"{len(done)} of {known} {plural}")
    engines = ", ".join(sorted({v["engine"] for v in found if v["engine"]})) or "no engine"
    text = f"{', '.join(parts)} as expected by {engines} ({sum(v['executions'] or 0 for v in found):,} executions)"
    lacking = [one for one in record.get("lacking") or [] if one["kind"] in kinds]
    hunted = [v for v in found if not exhausted(v)]
    whole = whole and not lacking and not hunted
    text += f"; searches not finished: {', '.join(late)}" if late else ""
    text += f"; {len(lacking)} not asked of every engine, e.g. {lacking[0]['name']} of {lacking[0]['engine']}" if lacking else ""
    text += f"; not searched for all behaviours: {', '.join(names(hunted))}" if hunted else ""
    allowed = [v for v in found if cut(v) and expected(v)]
    text += f"; {searches(allowed)} not exhausted: {named_cuts(allowed)}" if allowed else ""
    return Status(name, GOOD if whole else NOTE, text, badge)


def mutation_status(record: dict | None, wanted: str) -> Status:
    """How much of what could be weakened the checks notice. No score is a note: it judges the checks, not the code."""
    if not record or record.get("source_hash") != wanted:
        return Status("mutation", NOTE, "not scored for this source: scripts/apiary mutate")
    headers, known = record["headers"].values(), len(record["known"])
    total = {key: sum(header[key] for header in headers) for key in ("mutants", "killed", "explained", "never_run")}
    more = f"; {len(headers)} of {known} headers"
    more += f"; {total['never_run']} sites that no check executes" if total["never_run"] else ""
    return scored("mutation", "mutants", "mutants", total, "", more, len(headers) == known and not total["never_run"])


def logic_status(record: dict | None, wanted: str, stresses: str | None) -> Status:
    """The same for slips that are no memory order, and for the unit tests and stresses beside the checks."""
    if not record or record.get("source_hash") != wanted or record.get("stress_hash", stresses) != stresses:
        return Status("logic mutants", NOTE, "not scored for this source: scripts/apiary mutate --logic")
    known = record.get("known", record["mutants"])
    part = f"; part {record['part']} of {record['parts']}, of {known} in all" if record.get("parts", 1) > 1 else ""
    part = part or (f"; {record['mutants']} of {known} asked" if record["mutants"] < known else "")
    return scored("logic mutants", "logic mutants", "logic", record, f", {record['by_checks']} by model checks", part, not part)


def scored(name: str, what: str, badge: str, of: dict, by: str, more: str, whole: bool) -> Status:
    mutants, killed, explained = (of[key] for key in ("mutants", "killed", "explained"))
    score = f"{100 * killed / mutants:.0f} %" if mutants else "none"
    text = (f"{killed} of {mutants} {what} killed ({score}){by}, {explained} survive with a reason, "
            f"{mutants - killed - explained} without{more}")
    return Status(name, GOOD if whole and mutants and mutants == killed + explained else NOTE, text, f"{badge} {score}")


def stress_status(record: dict | None, wanted: str) -> Status:
    """Good where every run was clean under both sanitizers."""
    if missing := stale("sanitizers", record, wanted):
        return missing
    runs = record["runs"]
    bad = [f"{r['program']} ({r['preset']}, seed {r['seed']})" for r in runs if not r["passed"]]
    if bad:
        return Status("sanitizers", BAD, f"failed: {', '.join(bad[:4])}")
    presets = sorted({r["preset"] for r in runs})
    absent = [preset for preset in stressing.PRESETS if preset not in presets]
    programs, seconds = len({r["program"] for r in runs}), sum(r["seconds"] for r in runs)
    text = f"{len(runs)} runs of {programs} stress programs clean under {', '.join(presets)} ({duration(seconds)})"
    text += f"; not run: {', '.join(absent)}" if absent else ""
    return Status("sanitizers", NOTE if absent else GOOD, text, "sanitizers ✓")


def statuses(taken: dict | None) -> list[Status]:
    """The strip for a race whose env.json holds this snapshot."""
    if not taken:
        return [Status("verification", BAD, "not verified: the race recorded nothing")]
    found = [of(taken.get(key), taken["prove_hash"]) for of, key in (
        (prove_status, "prove"), (museum_status, "prove"), (mutation_status, "mutation"))]
    found.append(logic_status(taken.get("logic"), taken["prove_hash"], taken["stress_hash"]))
    found.append(stress_status(taken.get("stress"), taken["stress_hash"]))
    if taken.get("source_changed"):
        found.append(Status("source", BAD, "it changed while this ran: what was built may not be what was checked"))
    if taken.get("of_other_source"):
        told = "; ".join(taken["of_other_source"])
        found.append(Status("build", BAD, f"not of this source, and raced as it was found: {told}"))
    return found


def word(found: list[Status]) -> tuple[str, str]:
    """The level and the words that stand beside a number."""
    bad, part = ([status.name for status in found if status.level == level] for level in (BAD, NOTE))
    if bad:
        return BAD, f"not verified: {', '.join(bad)}"
    badges = [status.badge for status in found if status.badge and status.level == GOOD]
    return (NOTE, " ".join([*badges, f"in part: {', '.join(part)}"])) if part else (GOOD, " ".join(badges))
