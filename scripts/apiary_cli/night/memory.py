"""What the nights before left in the store: how long each unit took, when it was done, what waited and what was red. And by that the order
of the next night, so that in a week everything was done."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from ..base import repo
from .store import Store
from .unit import Unit

FORMAT = "%Y%m%dT%H%M%SZ"
GUESSES = {"search": 15.0, "exhibit": 5.0, "mutant": 60.0, "logic": 600.0, "stress": 15.0, "hunt": 60.0, "outside": 60.0, "soak": 60.0,
           "fault": 2.0, "fuzz": 600.0, "selftest": 150.0}  # seconds, of what never ran
BEGIN_AND_END = 1.0  # seconds, beside those that a unit was told to take
NIGHTS = 60  # that are remembered
NIGHT = {"utc": str, "commit": str, "units": int, "fresh": int, "red": list, "waiting": int, "seconds": float}  # what is said of each


def key(unit: Unit) -> str:
    """A unit by its name: what it took is as true of the next source. The parts of a search go by one name."""
    return named(unit.kind, unit.name)


def named(kind: str, name: str) -> str:
    return f"{kind} {name.partition(', part ')[0]}"


@dataclass
class Memory:
    seconds: dict[str, float] = field(default_factory=dict)
    done: dict[str, str] = field(default_factory=dict)      # when
    waiting: list[str] = field(default_factory=list)        # of the last night, in its order
    red: dict[str, str] = field(default_factory=dict)       # when it was last asked: the line that replays it
    nights: list[dict] = field(default_factory=list)
    told: list[str] = field(default_factory=list)           # what is odd about it

    def estimate(self, unit: Unit) -> float:
        if unit.lasts:
            return unit.lasts + BEGIN_AND_END
        return self.seconds.get(key(unit), min(unit.limit, GUESSES[unit.kind]))

    def part(self, name: str, guess: float) -> float:
        """Of a night that is no unit."""
        return self.seconds.get(named("part", name), guess)

    def order(self, units: list[Unit], changed: frozenset[str] = frozenset()) -> list[Unit]:
        """First what was red, then what is about a changed source, then what waited, then what never ran, then what ran longest ago."""
        waited = {name: place for place, name in enumerate(self.waiting)}

        def rank(unit: Unit) -> tuple:
            name = key(unit)
            return name not in self.red, name not in changed, name not in waited, waited.get(name, 0), self.done.get(name, "")

        return sorted(units, key=rank)


def path(store: Store):
    return store.folder / "memory.json"


def read(store: Store, now: datetime | None = None) -> Memory:
    """An unreadable one is told, and the night begins without: it costs an order, and no result."""
    now, file = now or datetime.now(timezone.utc), path(store)
    found = repo.read_json(file)
    if found is None:
        return Memory(told=[f"{file} could not be read: the night goes without estimates"] if file.exists() else [])
    memory = Memory()
    try:
        memory.seconds = {str(name): float(value) for name, value in found["seconds"].items()}
        memory.done = {str(name): str(when) for name, when in found["done"].items()}
        memory.waiting = [str(name) for name in found["waiting"]]
        memory.red = {str(name): str(line) for name, line in found["red"].items()}
        memory.nights = [one | {name: kind(one[name]) for name, kind in NIGHT.items()} for one in found["nights"]]
        if not all(0 < seconds < math.inf for seconds in memory.seconds.values()):  # nan is in no order, and its unit would wait for ever
            raise ValueError
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return Memory(told=[f"{file} is garbage: the night goes without estimates"])
    limit = (now + timedelta(hours=1)).strftime(FORMAT)
    ahead = [name for name, when in memory.done.items() if when > limit]
    for name in ahead:
        del memory.done[name]
    if ahead:
        memory.told.append(f"the clock was set back: {len(ahead)} units were done after now, {now.strftime(FORMAT)}; "
                           "they count as never done")
    return memory


def write(store: Store, memory: Memory, *summary: dict) -> None:
    with store.writing("the memory of the nights"):
        repo.write_json(path(store), {
            "schema": 1, "seconds": memory.seconds, "done": memory.done, "waiting": memory.waiting, "red": memory.red,
            "nights": [*memory.nights, *summary][-NIGHTS:],
        })


def learn(memory: Memory, fresh: list[dict], waiting: list[Unit]) -> None:
    """After a night. Red is set by those that know what is."""
    for result in fresh:
        name = named(result["kind"], result["name"])
        if result["ended"] != "lost":
            memory.seconds[name] = max(0.1, result["seconds"])
            memory.done[name] = result["utc"]
    memory.waiting = [key(unit) for unit in waiting]


def took(store: Store, parts: dict[str, float]) -> None:
    """What the parts of this night took that are no units, for the planner of the next one."""
    memory = read(store)
    memory.seconds |= {named("part", name): seconds for name, seconds in parts.items()}
    write(store, memory)
