"""A published folder: what git keeps of a race. Long tables are compressed. A proof record, which many races share, lies once in
results/proofs/. Pages that `report` makes again are not kept."""

from __future__ import annotations

import hashlib
import json
import lzma
from pathlib import Path

from ..base import repo
from . import tables

LONG = ("rows.csv", "hist.csv", "micro.json", "startup.json")
PROOFS = "proofs"
EVIDENCE = "evidence"  # the records of the last publication, whole
UNREADABLE = (OSError, EOFError, ValueError, lzma.LZMAError)
KEPT_IN = "kept_in"  # in the record's place: the file beside the folders that has it


def publish(folder: Path) -> None:
    """What is published already stays as it is."""
    for name in LONG:
        tables.compress(folder / name)
    (folder / "report.html").unlink(missing_ok=True)
    env = repo.read_json(folder / "env.json") or {}
    taken = env.get("verification") or {}
    if taken.get("prove") and KEPT_IN not in taken["prove"]:
        taken["prove"] = {KEPT_IN: keep(folder.parent / PROOFS, taken["prove"])}
        repo.write_json(folder / "env.json", env)


def keep(proofs: Path, record: dict) -> str:
    """The name under which the record lies there: its source's hash, and its own, since a source may be proved twice."""
    text = repo.json_text(record).strip()
    path = proofs / f"{record['source_hash']}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
    if not tables.stored(path):
        repo.write_text(path, text)
        tables.compress(path)
    return path.name


def env_of(folder: Path) -> dict | None:
    """env.json, its proof record in its place; None where there is none, or it is torn. ValueError: the record is not there."""
    env = repo.read_json(folder / "env.json")
    taken = (env or {}).get("verification")
    record = taken.get("prove") if isinstance(taken, dict) else None
    if isinstance(record, dict) and KEPT_IN in record:
        taken["prove"] = kept(folder.parent / PROOFS / str(record[KEPT_IN]))
    return env


def kept_here(record: Path) -> dict | None:
    """What a publication kept of this record; None where there is none that can be read."""
    try:
        found = read(repo.RESULTS / EVIDENCE / record.name)
    except UNREADABLE:
        return None
    return found if isinstance(found, dict) else None


def read(path: Path) -> dict:
    """A record, compressed or not."""
    with tables.opened(tables.stored(path) or path) as handle:
        return json.load(handle)


def kept(path: Path) -> dict:
    try:
        return read(path)
    except UNREADABLE as error:
        raise ValueError(f"its proof record {PROOFS}/{path.name} cannot be read: {error}") from error
