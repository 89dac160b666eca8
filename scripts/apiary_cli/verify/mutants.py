"""What mutants of memory orders and of logic share: which headers are asked about, who survives, and with what reason."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Iterable

from ..base import repo
from ..base.errors import Fault, unknown

Key = tuple[str, ...]       # the columns by which a row of survivors names a mutant
Reasons = dict[Key, str]


@dataclass(kw_only=True)
class Outcome:
    """What the checks said to one mutant."""

    verdict: str = "survived"   # or killed, or error
    killed_by: str = ""
    engine: str = ""            # none: a unit test killed it
    seconds: float = 0.0
    reason: str = ""

    @property
    def killer(self) -> str:
        return f"{self.killed_by} on {self.engine}" if self.engine else self.killed_by


def chosen(parts: list[str], files: set[str], what: str) -> set[str]:
    """The headers whose path contains one of the parts, or all; a part that none contains is refused."""
    for part in parts:
        if not any(part in file for file in files):
            raise unknown(what, part, files)
    return {file for file in files if not parts or any(part in file for part in parts)}


def having(verdict: str, results: Iterable[Outcome]) -> list:
    return [one for one in results if one.verdict == verdict]


def unexplained(results: Iterable[Outcome], listed: Reasons) -> list:
    return [one for one in having("survived", results) if one.key() not in listed]


def score(results: list, listed: Reasons) -> dict[str, int]:
    """As the records have it."""
    survived = having("survived", results)
    return {"mutants": len(results), "killed": len(having("killed", results)), "explained": sum(one.key() in listed for one in survived)}


def reviewed(path: Path, columns: list[str]) -> Reasons:
    """The survivors of a file that were looked at: all columns but the last name one, the last is its reason."""
    found: Reasons = {}
    for row in repo.read_csv(path, columns) if path.exists() else ():
        *key, reason = row.values()
        if not reason.strip() or tuple(key) in found:
            raise Fault(f"{path.name}: {row}", "every survivor needs all columns and a reason, and stands there once",
                        "columns: " + ",".join(columns))
        found[tuple(key)] = reason
    return found


def risen(results: Iterable[Outcome], listed: Reasons, path: Path) -> list[str]:
    """A sentence for each that stands among the survivors and was killed."""
    return [f"killed after all, by {one.killer}: {one.told}; take it out of {repo.shown(path)}"
            for one in having("killed", results) if one.key() in listed]
