"""Does the units of a night, by any engine that takes units and gives results back; and that of this machine, a pool.

What an engine gives back is kept in the store at once, so that a night that is killed goes on where it was."""

from __future__ import annotations

import concurrent.futures
import signal
import time
from dataclasses import dataclass, field
from typing import Callable, Iterable, Protocol

from ..base import proc
from ..base.errors import Fault
from ..base.say import Progress
from . import child
from .store import Garbage, Store, faults
from .unit import Unit

TRIES = 3


class Engine(Protocol):
    room: int
    told: str           # what it is, for the page
    notes: list[str]    # what the page says of it besides

    def takes(self, unit: Unit) -> bool: ...
    @property
    def running(self) -> int: ...
    def submit(self, unit: Unit) -> None: ...
    def wait(self, seconds: float) -> list[tuple[Unit, dict]]: ...
    def close(self) -> None: ...


class Pool:
    """Threads of this process, each with a child at a time."""

    def __init__(self, processes: int):
        self.room, self.told, self.notes = processes, f"{processes} processes of this machine", []
        self.pool = concurrent.futures.ThreadPoolExecutor(processes)
        self.futures: dict[concurrent.futures.Future, Unit] = {}

    @property
    def running(self) -> int:
        return len(self.futures)

    def takes(self, _: Unit) -> bool:
        return len(self.futures) < self.room

    def submit(self, unit: Unit) -> None:
        self.futures[self.pool.submit(child.run, unit)] = unit

    def wait(self, seconds: float) -> list[tuple[Unit, dict]]:
        done, _ = concurrent.futures.wait(self.futures, seconds, concurrent.futures.FIRST_COMPLETED)
        return [(self.futures.pop(one), one.result()) for one in done]

    def close(self) -> None:
        """Ends what still runs: a unit's guard that is told to end takes all of the unit with it."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        while not all(one.done() for one in self.futures):
            for one in list(proc.LIVE):
                one.signal_group(signal.SIGTERM)
            time.sleep(0.02)


@dataclass
class Night:
    """What was done, what was known already, and what waits for the next one."""

    results: dict[str, dict] = field(default_factory=dict)  # by key
    units: dict[str, Unit] = field(default_factory=dict)
    fresh: set[str] = field(default_factory=set)            # done in this night
    waiting: list[Unit] = field(default_factory=list)
    fault: Fault | None = None
    seconds: float = 0.0
    busy: float = 0.0   # seconds of units

    def and_then(self, later: Night) -> Night:
        """Two stages of one night."""
        return Night(self.results | later.results, self.units | later.units, self.fresh | later.fresh, self.waiting + later.waiting,
                     self.fault or later.fault, self.seconds + later.seconds, self.busy + later.busy)


Follow = Callable[[Unit, dict], Iterable[tuple[bool, Unit]]]


def perform(units: list[Unit], engine: Engine, store: Store, seconds: float, estimate: Callable[[Unit], float],
            follow: Follow = lambda *_: ()) -> Night:
    """In this order, as far as the time goes: a unit that would not fit into what is left waits, and a shorter one goes before it.
    `follow`: what a result gives to do, each with whether it can wait."""
    began, night, queue = time.monotonic(), Night(), list(units)
    tries: dict[str, int] = {}
    taken: dict[str, Unit] = {}  # from the queue, until the store has the result and the queue what follows; else they wait
    unknown: set[Unit] = set()  # to the store, as it was seen: a full engine looks at the whole queue again, and a key costs reading

    def left() -> float:
        return began + seconds - time.monotonic()

    def finish(unit: Unit, result: dict) -> None:
        more = list(follow(unit, result))
        night.results[unit.key], night.units[unit.key] = result, unit
        unknown.discard(unit)
        queue[:0] = [one for can_wait, one in more if not can_wait]
        queue.extend(one for can_wait, one in more if can_wait)

    def take() -> Unit | None:
        """The next that fits; known ones are finished on the way."""
        place = 0
        while place < len(queue):
            unit = queue[place]
            if unit not in unknown and unit.key in night.results:
                queue.pop(place)
            elif unit not in unknown and (known := store.done(unit)):
                taken[unit.key] = queue.pop(place)
                finish(unit, known)
                del taken[unit.key]
                place = 0
            elif engine.takes(unit) and estimate(unit) <= left():
                taken[unit.key] = queue.pop(place)
                return unit
            else:
                unknown.add(unit)
                place += 1
        return None

    def back(unit: Unit, result: dict) -> None:
        why = faults(result, unit.key)
        if why:
            result = child.lost(unit, f"its worker gave back no result of it: {why}")
        tries[unit.key] = tries.get(unit.key, 0) + 1
        if result["ended"] == "lost" and tries[unit.key] < TRIES:
            queue.insert(0, unit)
            return
        if result["ended"] == "lost" and tries[unit.key] > 1:
            result = child.lost(unit, f"{result['how']}, {TRIES} times")
        store.put(result)
        night.fresh.add(unit.key)
        night.busy += result["seconds"]
        finish(unit, result)

    def time_left() -> float:
        return min(max(0.0, left()), sum(map(estimate, queue)) / engine.room)

    try:
        with Progress("units", len(queue), left=time_left) as progress:
            while True:
                while unit := take():
                    engine.submit(unit)
                if not engine.running:
                    break
                for unit, result in engine.wait(1.0):
                    back(unit, result)
                    taken.pop(unit.key, None)
                    progress.update(len(night.results), len(night.results) + len(queue) + engine.running, unit.name)
    except (Fault, Garbage) as fault:
        night.fault = fault if isinstance(fault, Fault) else Fault(str(fault))
    night.waiting = [*taken.values(), *queue]
    night.seconds = time.monotonic() - began
    return night
