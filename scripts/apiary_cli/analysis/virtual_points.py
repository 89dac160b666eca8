"""Points of the virtual machine beside what was recorded for them, and under other prices."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from ..base import repo, stats
from ..race import tables
from ..race.metrics import unit_of

LEAST = 0.30  # a model may be so far off
# Scenarios that do on the virtual machine what they do in races, and what the parameters of a race must say.
RACED: dict[str, tuple[str, ...]] = {
    "fib": (), "skynet": (), "uts": ("depth=8",), "spawn_many_local": (), "msg_throughput": ("processes=60",), "msg_create": (),
    "graph": ("pattern=stencil_1d", "width=64", "steps=100", "iterations=1024"),
    "loop_empty": (), "loop_for": ("n=100000", "iterations=10", "lengths=equal"),
    "loop_reduce": ("n=100000", "iterations=10", "lengths=pareto"), "loop_scan": ("n=65536",), "loop_sort": ("n=16384",),
}
WHOLE = ("spawn_many_local", "loop_empty")  # an operation has no parts
# Nodes, indices or elements of an operation, where rows do not tell how many it has.
NODES = {"depth=8": 257_042, "leaves=1000000": 1_111_111, "n=100000": 100_000, "n=65536": 65_536, "n=16384": 16_384}
SHARED = ("sync", "tasks", "queues", "parking", "workers")  # rungs of impl/apiary that every scheduler stands on


@dataclass(frozen=True)
class Recorded:
    """One point of one race: nanoseconds for each operation."""

    race: str
    processors: int
    commit: str
    median: float
    low: float
    high: float

    def limit(self) -> float:
        """The farthest that the model may be from the median, as a part of it."""
        return max(LEAST, self.high / self.median - 1, 1 - self.low / self.median)

    def holds(self, ns: float) -> bool:
        return abs(ns / self.median - 1) <= self.limit()


def recorded(results: Path) -> dict[tuple[str, str, int], list[Recorded]]:
    """By subject, scenario and workers: of the newest race of each kind of machine, that of the most processors first."""
    found: dict[tuple[str, str, int], dict[int, Recorded]] = defaultdict(dict)
    for folder in sorted(results.glob("*Z-*"), reverse=True):
        if tables.stored(folder / "rows.csv") is None or (environment := repo.read_json(folder / "env.json")) is None:
            continue
        processors = int(environment["machine"]["cpus"])
        samples: dict[tuple[str, str, int], list[float]] = defaultdict(list)
        commit = ""
        with tables.opened(tables.stored(folder / "rows.csv") or folder) as handle:
            for row in csv.DictReader(handle):
                if row["status"] != "ok" or row["row_kind"] != "measure" or row["placement"] != "free" or not row["ns_per_op"]:
                    continue
                scenario, given = row["scenario"], row["scenario_params"].split(";")
                if scenario not in RACED or not all(word in given for word in RACED[scenario]):
                    continue
                unit = unit_of(row)
                parts = unit[1] if unit else next((NODES[word] for word in given if word in NODES), 1)
                if parts > 1 or scenario in WHOLE:
                    samples[row["subject"], scenario, int(row["workers"])].append(float(row["ns_per_op"]) / parts)
                    commit = row["suite_commit"]
        for key, values in samples.items():
            if key[2] <= processors and len(values) >= 3:
                found[key].setdefault(processors, Recorded(folder.name, processors, commit, stats.median(values), min(values),
                                                           max(values)))
    return {key: [by[n] for n in sorted(by, reverse=True)] for key, by in found.items()}


def same_source(subject: str, commit: str) -> bool | None:
    """Whether the scheduler and what it stands on are as they were in that commit; None where git cannot say."""
    folders = [f"impl/apiary/schedulers/{subject}", *(f"impl/apiary/{rung}" for rung in SHARED)]
    told = repo.git("diff", "--name-only", commit, "HEAD", "--", *folders, must=False)
    if told is None:
        return None
    return not [name for name in told.splitlines() if name.endswith(".hpp")]


def comparison(points: list[dict], known: dict[tuple[str, str, int], list[Recorded]]) -> list[list[str]]:
    """A row for each recorded point: workers, the model, what was measured, the limit, the verdict, where."""
    rows = []
    for p in points:
        for one in known.get((p["subject"], p["scenario"], p["workers"]), []):
            same = same_source(p["subject"], one.commit)
            source = {True: "same source", False: "older source", None: "source unknown"}[same]
            rows.append([str(p["workers"]), f"{p['ns']:.2f}", f"{one.median:.2f}", f"{one.low:.2f} to {one.high:.2f}",
                         f"{p['ns'] / one.median - 1:+.0%}", f"{one.limit():.0%}", "in" if one.holds(p["ns"]) else "out",
                         f"{one.processors} processors, {one.race}, {source}"])
    return rows


HEAD = ["workers", "model, ns", "measured", "from, to", "off by", "limit", "", "where"]


def prices_of(profile: Path) -> dict[str, float]:
    """The numbers of a profile that the program has read before."""
    found = re.findall(r"^(\w+)\s*=\s*([0-9.eE+-]+)", profile.read_text(), re.MULTILINE)
    return {name: float(number) for name, number in found}


def other_prices(prices: dict[str, float]) -> list[str]:
    """Each price halved and doubled, as NAME=NUMBER; what can be 0 or 1 is the other of them."""
    changes = []
    for name, number in prices.items():
        if name == "load_takes":
            changes.append(f"{name}={0 if number else 1}")
        elif name == "cluster":
            changes += [f"{name}={max(1, round(n))}" for n in (number / 2, min(1024, number * 2)) if round(n) != number]
        elif number:
            changes += [f"{name}={n:g}" for n in (number / 2, min(number * 2, 1000 if name == "request_permille" else 1e9)) if n != number]
    return changes


def first_lines(point: dict, count: int) -> list[str]:
    return [f"{line['object']}+{line['offset']}" for line in point["lines"][:count]]


# What an operation of the policy is called on, by the kind of access.
CALLED = {
    "L": r"load|read|take|wait|compare_exchange_\w+",
    "S": r"store|write",
    "X": r"exchange|compare_exchange_\w+|fetch_\w+|store|lock|try_lock|unlock|notify_\w+",
}
MEMBER = r"(\w+)(?:\[[^\]]*\]|\([^()]*\))?\s*(?:\.|->)\s*(?:{})\s*\("
OWN = re.compile(r"\b([a-z]\w*_)\b")  # as members are called here


def member(place: dict, sources: Path, texts: dict[Path, list[str]]) -> str | None:
    """The member that a place touches, as its line of the source says; None where that says none, or several."""
    name, _, number = place["place"].rpartition(":")
    path = sources / name
    if path not in texts:
        texts[path] = path.read_text().splitlines() if path.is_file() else []
    if not number.isdigit() or not 0 < int(number) <= len(texts[path]):
        return None
    line = texts[path][int(number) - 1]
    found = re.findall(MEMBER.format(CALLED[place["access"]]), line) if place["access"] in CALLED else []
    found = found or (re.findall(r"spin_until\(\W*(?:\w+(?:\.|->))*(\w+)", line) or OWN.findall(line))
    return found[0] if len(set(found)) == 1 else None


def name_members(point: dict, sources: Path) -> None:
    """Names the members of each line that its places touch, those that move it most first."""
    texts: dict[Path, list[str]] = {}
    for line in point["lines"]:
        found = [member(place, sources, texts) for place in line["places"]]
        line["members"] = list(dict.fromkeys(name for name in found if name))


def upset(usual: dict, changed: dict[str, dict], count: int) -> list[list[str]]:
    """The changes under which another line comes first: the change, the time, the lines."""
    first = first_lines(usual, 1)
    return [[change, f"{p['ns']:.2f}", ", ".join(first_lines(p, count))] for change, p in changed.items() if first_lines(p, 1) != first]
