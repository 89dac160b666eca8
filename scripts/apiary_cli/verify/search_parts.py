"""A search in parts: what one leaves becomes further units, and all of them together are judged as one search."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

from ..night.store import Store
from ..night.unit import VERDICTS, Unit
from .checks import Entry

WHOLE = "all"
EXECUTIONS = 200_000    # of a part; then it gives back what is left
MOST, TOO_LARGE = 16, 2 # units that one leaves at most; of a search that no night ends, whose waiting parts would be thousands
NOTHING = "nothing was checked: "


def part(entry: Entry, ways: list[str], store: Store, executions: int = EXECUTIONS) -> Unit:
    """`ways`: of the parts of the tree, each TRAIL@WEIGHT, or `all`."""
    path = store.add_text("\n".join(ways) + "\n")
    number = "" if ways == [WHOLE] else f", part {path.name[:12]}"
    words = (entry.name, "--engine", "explorer", "--from", "{from}", "--budget", f"{executions}x", "--json", "{out}")
    return Unit("search", f"{entry.name} explorer{number}", str(entry.program), words, (("from", str(path)),), limit=1800.0, reads=VERDICTS,
                replay="" if number else f"scripts/apiary prove {entry.name} --engine explorer")


def weight(way: str) -> float:
    """The share of the search tree that it has."""
    return 1.0 if way == WHOLE else float(way.partition("@")[2] or 0)


def ways_of(unit: Unit) -> list[str]:
    return Path(dict(unit.files)["from"]).read_text().split()


def dealt(ways: list[str], parts: int) -> list[list[str]]:
    """The largest first, in turn, so that each part has about as much."""
    ordered = sorted(ways, key=weight, reverse=True)
    return [ordered[i::parts] for i in range(min(parts, len(ordered)))]


def divided(unit: Unit, result: dict, entry: Entry, store: Store, executions: int = EXECUTIONS) -> list[Unit]:
    """What this part left, as units: so many as its own pace promises."""
    left = left_of(result)
    if not left:
        return []
    had, rest = sum(map(weight, ways_of(unit))), sum(map(weight, left))
    done = max(had - rest, had * 1e-6, sys.float_info.min)  # deep in the tree they are 0
    made = result["lines"][0].get("executions") or executions
    parts = math.ceil(min(made * rest / done, executions * MOST) / executions)
    most = TOO_LARGE if entry.too_large else MOST
    return [part(entry, ways, store, executions) for ways in dealt(left, max(2, min(most, parts)))]


def left_of(result: dict) -> list[str]:
    lines = result["lines"]
    return str(lines[0].get("left", "")).split() if len(lines) == 1 and lines[0].get("verdict") == "budget" else []


@dataclass
class Search:
    """What is known of one check's search: the verdicts of its parts, and how much of the tree waits."""

    entry: Entry
    lines: list[dict] = field(default_factory=list)
    seconds: float = 0.0
    waiting: int = 0    # parts
    waits: float = 0.0  # their share of the tree; a part deep in it may have next to none
    broken: str = ""    # a part that gave no verdict, and how it ended

    def verdict(self) -> dict:
        """As one machine would have said it."""
        ends = [line for word in ("fail", "error") for line in self.lines if line.get("verdict") == word]
        if ends:
            return ends[0]
        first = self.lines[0] if self.lines else {}
        told = {"name": self.entry.name, "kind": self.entry.kind, "engine": "explorer", "mode": "exhaustive", "verdict": "pass",
                "reason": "", "replay": "", "trace": "", "differs": first.get("differs", ""), "blind": first.get("blind", ""),
                "bound": first.get("bound", ""), "seconds": round(self.seconds, 3), "parts": len(self.lines)}
        told |= {name: sum(line.get(name, 0) for line in self.lines) for name in ("executions", "graphs", "blocked")}
        told |= {name: summed([line.get(name, {}) for line in self.lines]) for name in ("laws", "reach", "outcomes")}
        told["sites"] = {site: order for line in self.lines for site, order in line.get("sites", {}).items()}
        told["acted"] = sorted({thread for line in self.lines for thread in line.get("acted", [])})
        if self.broken:
            return told | {"verdict": "error", "mode": "unfinished", "as_expected": False, "reason": self.broken}
        if self.waiting or not self.lines:
            share = f"; budget ended, about {100 * (1 - min(1.0, self.waits)):.3g} % of the search tree covered"
            return told | {"verdict": "budget", "mode": "unfinished", "bound": told["bound"] + share, "as_expected": self.entry.too_large,
                           "reason": "" if self.entry.too_large else f"not finished: {share[2:]}"}
        reason = unseen(self.entry, told)
        return told | {"verdict": "error" if reason.startswith(NOTHING) else "pass", "as_expected": not reason, "reason": reason}


def summed(counts: list[dict]) -> dict:
    total: dict[str, int] = {}
    for one in counts:
        for name, n in one.items():
            total[name] = total.get(name, 0) + n
    return total


def unseen(entry: Entry, told: dict) -> str:
    """What all parts together have not looked at, as the runner says it of a whole search (runner.cpp); empty where all is well."""
    executions = told["executions"]
    if executions and told["blocked"] == executions:
        return f"{NOTHING}none of {executions} executions came to its end within the bounds"
    idle = sorted(set(range(entry.threads)) - set(told["acted"]))
    if idle:
        return f"{NOTHING}thread {idle[0]} ran no operation that an engine watches in any of {executions} executions"
    never = [law for law in entry.engine_laws or ("check",) if not told["laws"].get(law)]
    if never:
        return f"{NOTHING}the law '{never[0]}' was never asked in any of {executions} executions"
    missing = [name for name in entry.must_reach if name not in told["reach"]]
    return f"never reached {', '.join(missing)}" if missing else ""


def told(unit: Unit) -> dict:
    """What a record of a night keeps of a unit: enough to judge it where its program is not."""
    part = is_part(unit)
    return {"unit": unit.key, "kind": unit.kind, "name": unit.name, "line": unit.line(), "check": unit.words[0] if part else "",
            "weight": sum(map(weight, ways_of(unit))) if part else 0.0}


def gathered(entries: list[Entry], done: list[dict], results: dict[str, dict], waiting: list[dict]) -> list[Search]:
    """The searches in parts, of what nights did and what waits, each as `told` has it."""
    found = {entry.name: Search(entry) for entry in entries if divides(entry)}
    for one in done:
        if not one["check"]:
            continue
        search, result = found[one["check"]], results[one["unit"]]
        search.lines += result["lines"]
        search.seconds += result["seconds"]
        if not result["lines"] or result["ended"] or result["rc"] not in (0, 1):
            search.broken = result["how"] or f"a part exited with status {result['rc']}"
    for one in waiting:
        if one["check"]:
            search = found[one["check"]]
            search.waiting += 1
            search.waits += one["weight"]
    return [search for search in found.values() if search.lines or search.waiting or search.broken]


def divides(entry: Entry) -> bool:
    """The explorer's searches for all behaviours of a check over Sync: others end where they find something, or are none."""
    return entry.kind == "check" and "explorer" in entry.engines and not entry.as_it_is


def is_part(unit: Unit) -> bool:
    return unit.kind == "search" and any(name == "from" for name, _ in unit.files)
