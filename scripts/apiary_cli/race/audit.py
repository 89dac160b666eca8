"""Runs of the runner's own, before a race, that ask whether a subject's figures are those of its process: once for each
subject, scenario and placement. What they find makes an error row of every figure there (bench/contract/TRUST.md).

  totals  the operations that a usual run chose are fixed, and so many blocks are run that they are most of the process:
          then what they claim to have taken, and what the process took, are one and the same within a small factor
  pause   the whole process is stopped for a moment amid an open loop, or amid timers: what was due then is late by as much

A finding counts when it comes again in every attempt, and never from a run that proves nothing."""

from __future__ import annotations

import dataclasses
import math
import os
import signal
from pathlib import Path
from typing import Callable

from ..base import proc
from . import plausible, rounds
from .plans import Point
from .subjects import Arm

ATTEMPTS = 3
LASTS_S, LEAST_BLOCK_S, BLOCK_S = 0.3, 0.005, 0.001  # the last: what may pass beside a block, to make its threads
LEAST_SHARE = 0.15  # of the process that its blocks must claim: a tenth is found out, honest ones claim a third at least
OTHER = 10.0  # times as fast as with fixed operations: no block length does that (a burst has two modes, 8.5 apart)
START_S, START_CPU_S = 0.1, 0.03  # of a program and its runtime, beside what asking it who it is took
PAUSE_S, DUE = 0.03, 30  # how long, and how many posts should be due meanwhile
ACTIVE_NS = 10_000  # a thread that ran
SEED = 20_011


@dataclasses.dataclass
class Threads:
    """The processor time of each thread of a process, looked at now and then: when and with how much it was seen first,
    and last."""

    first: dict[int, tuple[float, int]] = dataclasses.field(default_factory=dict)
    last: dict[int, tuple[float, int]] = dataclasses.field(default_factory=dict)
    at: list[float] = dataclasses.field(default_factory=list)

    def look(self, pid: int, seconds: float) -> None:
        for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                thread, ran = int(path.parent.name), int(path.read_text().split()[0])
            except (OSError, ValueError, IndexError):
                continue  # it has ended
            # Born between two looks: all that it has run is new.
            self.first.setdefault(thread, (seconds, 0 if self.at else ran))
            self.last[thread] = seconds, ran
        self.at.append(seconds)

    def ran(self, least_s: float = 0.0) -> dict[int, int]:
        """Nanoseconds that each thread has run since the first look, if it was seen over so many seconds."""
        return {
            thread: self.last[thread][1] - ran
            for thread, (born, ran) in self.first.items()
            if self.last[thread][0] - born >= least_s
        }


def every(step: float, threads: Threads) -> Callable[[int, float], float]:
    def watch(pid: int, seconds: float) -> float:
        if seconds >= step:
            threads.look(pid, seconds)
        return step

    return watch


class Pause:
    """Stops a process at a moment, for a while; looks at its threads shortly before, and when it has stopped."""

    def __init__(self, at: float, length: float):
        self.at, self.length, self.threads = at, length, Threads()
        self.began: float | None = None
        self.ended: float | None = None

    def watch(self, pid: int, seconds: float) -> float | None:
        try:
            if self.began is None and seconds >= self.at:
                os.killpg(pid, signal.SIGSTOP)
                self.began = seconds
                self.threads.look(pid, seconds)
                return self.length
            if self.began is not None:
                os.killpg(pid, signal.SIGCONT)
                self.ended = seconds
                return None
        except ProcessLookupError:
            return None
        if seconds >= 0.6 * self.at and not self.threads.at:
            self.threads.look(pid, seconds)
        return max(0.001, (self.at if self.threads.at else 0.6 * self.at) - seconds)


def attempt(
    race: rounds.Race, point: Point, arm: Arm, release: rounds.Release, blocks: int, warmup: int, watch
) -> tuple[dict[str, str], proc.Done, bool]:
    """One run: its row, the process, and whether others disturbed it."""
    row, _, done, found = rounds.once(race, point, arm, SEED, release, blocks, warmup, watch=watch, held=False)
    return row, done, found.disturbed


# ------------------------------------------------------------------------------------------------------- totals


def totals(race: rounds.Race, point: Point, arm: Arm) -> str | None:
    """What one attempt finds; an empty string where all is well, None where it proves nothing."""
    usual_blocks = point.measured or race.plan.blocks
    usual, _, _ = attempt(race, point, arm, rounds.Release(), usual_blocks, race.plan.warmup_blocks, None)
    if usual["status"] != "ok":
        return None  # the rounds will say so
    # Short blocks are mostly the making of their threads: longer ones are told by the same code.
    wall = max(1000, int(usual["wall_ns"])) / 1e9
    times = max(1, math.ceil(LEAST_BLOCK_S / wall))
    ops = str(times * int(usual["ops"]))
    fixed = dataclasses.replace(point, params=tuple(sorted((dict(point.params) | {"ops": ops}).items())))
    lasts = LASTS_S + 6 * arm.subject.start_cpu_s
    blocks = max(8 if point.scenario.by_threads else 3, round(lasts / (times * wall)))
    threads = Threads()
    row, done, disturbed = attempt(race, fixed, arm, rounds.Release(), blocks, 0, every(0.02, threads))
    if row["status"] == "hang":
        return ""  # threads that spin for each other, beside other work: the rounds will say so, if it is more than that
    if row["status"] != "ok":
        return f"with --param ops={ops} it is {row['status']}: {row['error']}"
    found = too_short(row, done, point, arm, blocks, race, disturbed)
    if not found and "ops" not in dict(point.params) and times == 1:
        found = other_figures(usual, row)
    if not found and point.scenario.by_threads:
        found = without_workers(threads, done, int(row["wall_ns"]) / 1e9)
    return found


def too_short(
    row: dict[str, str], done: proc.Done, point: Point, arm: Arm, blocks: int, race: rounds.Race, disturbed: bool
) -> str:
    """The blocks claim to have been far less than the process was."""
    workers = point.workers or race.workers
    serially = 2 * workers if point.scenario.answer_first else 0  # blocks that working out the answer is worth
    wall = int(row["wall_ns"]) / 1e9
    beside = blocks * BLOCK_S
    claimed, used = blocks * wall, done.cpu_seconds - START_CPU_S - 1.5 * arm.subject.start_cpu_s - beside
    cpu = int(row["cpu_ns"]) / 1e9 if row["cpu_ns"] else None
    if cpu is not None and blocks * cpu < LEAST_SHARE * (used - serially * cpu):
        return f"{blocks} blocks claim {blocks * cpu:.3f} s of processor time, the process used {done.cpu_seconds:.3f} s"
    if used > plausible.BUSY * plausible.processors(point, workers) * (claimed + serially * wall):
        return f"{blocks} blocks claim to have lasted {claimed:.3f} s, the process used {done.cpu_seconds:.3f} s of processor time"
    # Where a block is many iterations, a busy machine may keep the main thread waiting between them.
    if (not disturbed or whole_blocks(point)) and claimed < LEAST_SHARE * (done.seconds - START_S - beside - serially * wall):
        return f"{blocks} blocks claim to have lasted {claimed:.3f} s, the process lasted {done.seconds:.3f} s"
    return ""


def whole_blocks(point: Point) -> bool:
    return "tasks" not in point.scenario.parameters and not point.scenario.answer_first


def other_figures(usual: dict[str, str], fixed: dict[str, str]) -> str:
    """Where the subject chose the operations, it claims to be faster by far than with the same operations given."""
    wall = float(fixed["ns_per_op"]) / float(usual["ns_per_op"])
    cpus = [int(row["cpu_ns"] or 0) / int(row["ops"]) for row in (usual, fixed)]
    cpu = cpus[1] / cpus[0] if cpus[0] else wall
    if min(wall, cpu) < OTHER:
        return ""
    return f"ops={usual['ops']} took {usual['ns_per_op']} ns each by its own choice, {fixed['ns_per_op']} when they were given"


def without_workers(threads: Threads, done: proc.Done, block_s: float) -> str | None:
    """No thread that outlives a block, but the main one, has run: the posters ran the tasks."""
    least = max(0.05, 3 * block_s)
    if len(threads.at) < 3 or threads.at[-1] - threads.at[0] < least:
        return ""  # too short to tell
    main = min(threads.first)  # threads are numbered in the order of their birth
    ran = sum(ns for thread, ns in threads.ran(least).items() if thread != main)
    whole = done.cpu_seconds * (threads.at[-1] - threads.at[0]) / done.seconds
    if ran / 1e9 >= 0.01 * whole:
        return ""
    return f"its workers ran for {ran / 1e9:.6f} of {whole:.3f} s of processor time: the posters run the tasks themselves"


# -------------------------------------------------------------------------------------------------------- pause


def moment(point: Point, arm: Arm, release: rounds.Release) -> tuple[float, float, float] | None:
    """When to stop it, for how long, and how long the work lasts at least; None where no pause fits into it."""
    params = dict(point.params)
    if point.scenario.open_loop:
        if not release.last_ns:
            return None
        lasts, length = release.last_ns / 1e9, max(PAUSE_S, DUE * release.last_ns / 1e9 / release.posts)
    elif point.scenario.name == "timer_lateness":
        delay = int(params.get("delay_us", 1000)) / 1e6
        lasts = delay * -(-int(params.get("ops", 200)) // int(params.get("pending", 1)))
        length = max(PAUSE_S, 3 * delay)
    else:
        return None
    share = 0.55 if point.scenario.name == "mixed_load" else 0.45
    return (0.03 + share * lasts, length, lasts) if length <= 0.3 * lasts else None


def paused(race: rounds.Race, point: Point, arm: Arm) -> str | None:
    """As totals(): one attempt."""
    release = rounds.Release.of(point, SEED)
    when = moment(point, arm, release)
    if not when:
        return ""
    at, length, lasts = when
    pause = Pause(at, length)
    row, done, _ = attempt(race, point, arm, release, point.measured or race.plan.blocks, race.plan.warmup_blocks, pause.watch)
    if row["status"] != "ok":
        return ""
    if pause.began is None or pause.ended is None:
        return None
    # The work began before `done.seconds - lasts`, and cannot have ended before `lasts`: so the pause lies within it,
    # behind the tenth that is discarded.
    tenth = 0.1 * (lasts if point.scenario.open_loop else done.seconds)
    if pause.ended > lasts or pause.began < done.seconds - lasts + tenth + 0.005:
        return None
    half = 0.5 * (pause.ended - pause.began)
    if int(row["lat_max_ns"]) / 1e9 < half:
        return (
            f"the process was stopped for {1e3 * 2 * half:.0f} ms while posts were due, and lat_max_ns says that none was "
            f"late by more than {int(row['lat_max_ns']) / 1e6:.3f} ms"
        )
    ran = pause.threads.ran()
    active = sum(ns >= ACTIVE_NS for ns in ran.values())
    if point.scenario.open_loop and len(pause.threads.at) == 2 and active < 2 and sum(ran.values()) >= 20 * ACTIVE_NS:
        return "only one of its threads ran: the posts run on the thread that posts them"
    return ""


# ------------------------------------------------------------------------------------------------------- all of it


def due(race: rounds.Race) -> list[tuple[Arm, Point]]:
    """One point of each scenario and placement for each arm that is no control."""
    out = []
    for arm in race.arms:
        points: dict[tuple[str, str], Point] = {}
        for point in race.plan.points if not arm.control else ():
            if point.scenario.name in arm.subject.scenarios and kind(point):
                points.setdefault((point.scenario.name, point.placement), point)
        out += [(arm, point) for point in points.values()]
    return out


def kind(point: Point) -> str:
    if plausible.of_blocks(point):
        return "totals"
    return "pause" if point.scenario.open_loop or point.scenario.name == "timer_lateness" else ""


def audit(race: rounds.Race, arm: Arm, point: Point) -> dict:
    """Up to three attempts: a finding must come again in each that proves something, in two at least."""
    look = totals if kind(point) == "totals" else paused
    found: list[str] = []
    clean = False
    for _ in range(ATTEMPTS):
        told = look(race, point, arm)
        clean = told == ""
        if clean:
            break
        found += [told] if told else []
    return {
        "subject": arm.label,
        "scenario": point.scenario.name,
        "scenario_params": point.params_text,
        "placement": point.placement,
        "kind": kind(point),
        "found": "" if clean or len(found) < 2 else found[-1],
        "proved": clean or len(found) >= 2,
    }
