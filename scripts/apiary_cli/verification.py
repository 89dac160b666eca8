"""What is proved and stressed about the source that a race measured: the status beside each number."""

from __future__ import annotations

from dataclasses import dataclass

from . import checks, exact, repo, stressing
from .say import duration
from .verdicts import names, unfinished, wrong

GOOD, NOTE, BAD = "good", "note", "bad"


@dataclass(frozen=True)
class Status:
    """One line of the verification strip."""

    name: str
    level: str
    text: str


def hashes() -> tuple[str, str]:
    """Of the source as it is now: what proofs cover, what stresses cover."""
    return repo.source_hash(*repo.PROVED_FOLDERS), repo.source_hash(*repo.STRESSED_FOLDERS)


def snapshot(built: tuple[str, str] | None = None, exported: bool = False) -> dict:
    """Taken when a race begins and kept in env.json: the hashes raced (of the source before it was
    built, if that is known), and the records as they are. An exported tree does not change meanwhile."""
    now = hashes()
    proved, stressed = built or now
    return {
        "prove_hash": proved,
        "stress_hash": stressed,
        "source_changed": not exported and (proved, stressed) != now,
        "prove": brief_prove(repo.read_json(checks.RECORD)),
        "stress": brief_stress(repo.read_json(stressing.RECORD)),
        "exact": None if exported else exact.recorded(),
    }


def brief_prove(record: dict | None) -> dict | None:
    """The record without its bulk."""
    if not record:
        return None
    verdicts = [
        {
            key: v.get(key)
            for key in (
                "name",
                "kind",
                "engine",
                "mode",
                "bound",
                "verdict",
                "as_expected",
                "executions",
                "seconds",
                "blind",
            )
        }
        for v in record.get("verdicts", [])
    ]
    return {
        key: record.get(key) for key in ("utc", "commit", "dirty", "source_hash", "as_expected", "complete", "listed")
    } | {"verdicts": verdicts}


def brief_stress(record: dict | None) -> dict | None:
    if not record:
        return None
    runs = [
        {key: r.get(key) for key in ("program", "preset", "seed", "seconds", "passed", "reason")}
        for r in record.get("runs", [])
    ]
    return {key: record.get(key) for key in ("utc", "commit", "dirty", "source_hash", "passed")} | {"runs": runs}


def stale(name: str, record: dict | None, wanted: str) -> Status | None:
    """No record, or one of another source: not verified."""
    if not record:
        return Status(name, BAD, "not verified: nothing was recorded")
    if record["source_hash"] != wanted:
        return Status(name, BAD, f"not verified: the record is of source {record['source_hash']}, this is {wanted}")
    return None


def prove_status(record: dict | None, wanted: str) -> Status:
    """Good where every check of this source is as expected; a note where something is missing or unfinished."""
    missing = stale("model checks", record, wanted)
    if missing:
        return missing
    found, listed = record["verdicts"], record.get("listed") or {}
    bad, late = names(list(filter(wrong, found))), names(list(filter(unfinished, found)))
    if bad:
        return Status("model checks", BAD, f"not as expected: {', '.join(bad)}")
    parts, whole = [], not late
    for kind, plural in (("litmus", "litmus tests"), ("check", "checks"), ("exhibit", "exhibits")):
        done = {v["name"] for v in found if v["kind"] == kind}
        known = len(listed.get(kind, done))
        whole = whole and len(done) >= known
        parts.append(f"{len(done)} of {known} {plural}")
    engines = ", ".join(sorted({v["engine"] for v in found if v["engine"]}))
    text = f"{', '.join(parts)} as expected by {engines} ({sum(v['executions'] or 0 for v in found):,} executions)"
    text += f"; searches not finished: {', '.join(late)}" if late else ""
    return Status("model checks", GOOD if whole else NOTE, text)


def stress_status(record: dict | None, wanted: str) -> Status:
    """Good where every run was clean under both sanitizers."""
    missing = stale("sanitizers", record, wanted)
    if missing:
        return missing
    runs = record["runs"]
    bad = [f"{r['program']} ({r['preset']}, seed {r['seed']})" for r in runs if not r["passed"]]
    if bad:
        return Status("sanitizers", BAD, f"failed: {', '.join(bad[:4])}")
    presets = sorted({r["preset"] for r in runs})
    absent = [preset for preset in stressing.PRESETS if preset not in presets]
    text = (
        f"{len(runs)} runs of {len({r['program'] for r in runs})} stress programs clean under "
        f"{', '.join(presets)} ({duration(sum(r['seconds'] for r in runs))})"
    )
    return Status(
        "sanitizers", NOTE if absent else GOOD, text + (f"; not run: {', '.join(absent)}" if absent else "")
    )


def statuses(taken: dict | None) -> list[Status]:
    """The strip for a race whose env.json holds this snapshot."""
    if not taken:
        return [Status("verification", BAD, "not verified: the race recorded nothing")]
    found = [
        prove_status(taken.get("prove"), taken["prove_hash"]),
        stress_status(taken.get("stress"), taken["stress_hash"]),
    ]
    if taken.get("source_changed"):
        found.append(Status("source", BAD, "it changed while this ran: what was built may not be what was checked"))
    return found


def word(found: list[Status]) -> tuple[str, str]:
    """The level and the words that stand beside a number."""
    levels = {status.level for status in found}
    if BAD in levels:
        return BAD, "not verified"
    return (NOTE, "verified in part") if NOTE in levels else (GOOD, "proved ✓ stressed ✓")
