"""The museum's catalogue: every defect it must show, and the exhibits that show it.

model_check/museum/catalogue.csv has a row for each defect: wings A (the seeds' own designs), B (published) and C (found
here). Exhibits called a05_… belong to A05 without being named there; `exhibits` names the others. What is sequential needs
no engine: `shown_by` names the unit test (SUITE.TEST) that a scheduler with the defect would fail. A defect that nothing sees
stands there with the reason, and is reported as not yet seen."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable

from ..base import repo
from ..base.errors import Fault
from .checks import Entry

FILE = repo.ROOT / "model_check" / "museum" / "catalogue.csv"
COLUMNS = ["id", "defect", "source", "tag", "exhibits", "shown_by", "not_yet_seen"]
DEMANDED = [f"A{n:02}" for n in range(1, 43)] + [f"B{n:02}" for n in (*range(1, 41), *range(50, 55))]
TAGS = {
    "I": "plain interleaving", "L": "stale load", "SB": "store buffering", "MO": "modification order",
    "W": "narrow widths", "M": "memory reused", "D": "a deep burst of one thread", "R": "data race or use after free",
    "S": "sequential", "P": "a policy, seen under load", "livelock": "livelock",
}


@dataclass
class Defect:
    id: str
    defect: str
    source: str
    tag: str
    exhibits: list[str]     # by name, then those that carry the id
    shown_by: str           # a unit test
    not_yet_seen: str


def read(file: Path = FILE) -> list[Defect]:
    """Every row; a row that does not make sense is refused."""
    found = []
    for row in repo.read_csv(file, COLUMNS):
        tags = row["tag"].split()
        if not (row["defect"] and row["source"] and tags and set(tags) <= set(TAGS)):
            raise Fault(f"{file.name}: {row['id']} is incomplete", "it needs a defect, a source, and tags of " +
                        ", ".join(TAGS), "")
        found.append(Defect(row["id"], row["defect"], row["source"], row["tag"], row["exhibits"].split(),
                            row["shown_by"].strip(), row["not_yet_seen"].strip()))
    return found


def shown(entries: Iterable[Entry]) -> list[Entry]:
    """What hangs in the museum: the exhibits, but those of ordinary C++, which stand beside the scenario that they are of."""
    return [entry for entry in entries if entry.kind == "exhibit" and not entry.as_it_is]


def unit_tests() -> set[str]:
    """SUITE.TEST of every unit test of the tree."""
    return {f"{suite}.{name}" for file in (repo.ROOT / "impl").rglob("*_test.cpp")
            for suite, name in re.findall(r"^TEST(?:_F)?\((\w+), (\w+)\)", file.read_text(), re.MULTILINE)}


def filed(defects: list[Defect], exhibits: Iterable[str]) -> list[str]:
    """Gives each exhibit to its defect; returns what is wrong, a sentence each."""
    names, wrong, tests = list(exhibits), [], unit_tests()
    for defect in defects:
        wrong += [f"{defect.id} names the exhibit {name}, which does not exist" for name in defect.exhibits if name not in names]
        defect.exhibits = [name for name in defect.exhibits if name in names]
        defect.exhibits += [name for name in names if name.startswith(defect.id.lower() + "_")]
        seen_by = ", ".join(filter(None, [*defect.exhibits, defect.shown_by]))
        if defect.shown_by and defect.shown_by not in tests:
            wrong.append(f"{defect.id} names the unit test {defect.shown_by}, which does not exist")
        if seen_by and defect.not_yet_seen:
            wrong.append(f"{defect.id} is seen by {seen_by}: take out why it is not")
        if not seen_by and not defect.not_yet_seen:
            wrong.append(f"{defect.id} has no exhibit and no reason for that")
    owned, ids = {name for defect in defects for name in defect.exhibits}, Counter(defect.id for defect in defects)
    wrong += [f"the exhibit {name} belongs to no defect of the catalogue" for name in names if name not in owned]
    wrong += [f"{id} is not in the catalogue" for id in DEMANDED if id not in ids]
    wrong += [f"{id} is there twice" for id, times in ids.items() if times > 1]
    return wrong
