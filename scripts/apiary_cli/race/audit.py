"""Runs of the runner's own, before a race, that ask whether a subject's figures are those of its process: once for each
subject, scenario and placement. What they find makes an error row of every figure there (bench/contract/TRUST.md).

  totals  the operations that a usual run chose are fixed, and so many blocks are run that they are most of the process:
          then what they claim to have taken, and what the process took, are one and the same within a small factor
  pause   the whole process is stopped for a moment amid an open loop, or amid timers: what was due then is late by as much

A finding counts when it comes again in every attempt, and never from a run that proves nothing."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import signal
from pathlib import Path
from typing import Callable

from ..base import proc
from . import rounds, row_checks
from .plans import Point
from .subjects import Arm

ATTEMPTS = 3
LASTS_S, LEAST_BLOCK_S, BLOCK_S = 0.3, 0.005, 0.001  # the last: what may pass beside a block, to make its threads
LEAST_SHARE = 0.15  # of the process that its blocks must claim: a tenth is found out, honest ones claim a third at least
OTHER = 10.0  # times as fast as with fixed operations: no block length does that (a burst has two modes, 8.5 apart)
MOST_TIMES = 8  # as many blocks, where others have lengthened them and the row may lie about its processor time
BRIEF = 3  # blocks that are asked of it first: a lie about the operations makes each as many times as long
START_S, START_CPU_S = 0.1, 0.03  # of a program and its runtime, beside what asking it who it is took
PAUSE_S, DUE = 0.03, 30  # how long, and how many posts should be due meanwhile
LATE_SHARE = 0.05  # of the pause: half of what was due is later than that only where there is more than the pause to wait for
ACTIVE_NS = 10_000  # a thread that ran
STEP_S = 0.02  # between two looks at the threads
SEED = 20_011


class Threads:
    """The processor time of each thread of a process, looked at now and then: when and with how much it was seen first,
    and last."""

    def __init__(self) -> None:
        self.first: dict[int, tuple[float, int]] = {}
        self.last: dict[int, tuple[float, int]] = {}
        self.at: list[float] = []

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

    def watch(self, pid: int, seconds: float) -> float:
        """Looks at every STEP_S, but the first time."""
        if seconds >= STEP_S:
            self.look(pid, seconds)
        return STEP_S

    def ran(self, least_s: float = 0.0) -> dict[int, int]:
        """Nanoseconds that each thread has run since the first look, if it was seen over so many seconds."""
        both = ((thread, first, self.last[thread]) for thread, first in self.first.items())
        return {thread: ran - before for thread, (born, before), (seen, ran) in both if seen - born >= least_s}


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


class Inexpressible(Exception):
    """The subject says that it cannot express the point."""


def must_express(row: dict[str, str]) -> None:
    if row["status"] == "unsupported":
        raise Inexpressible


# ------------------------------------------------------------------------------------------------------- totals


def totals(race: rounds.Race, point: Point, arm: Arm) -> str | None:
    """What one attempt finds; an empty string where all is well, None where it proves nothing."""
    once = functools.partial(rounds.once, race, arm=arm, seed=SEED, release=rounds.Release(), held=False)
    usual, _, _, beside = once(point, blocks=point.measured or race.plan.blocks, warmup=race.plan.warmup_blocks)
    must_express(usual)
    if usual["status"] != "ok":
        return None  # the rounds will say so
    # Short blocks are mostly the making of their threads: longer ones are told by the same code.
    wall = max(1000, int(usual["wall_ns"])) / 1e9
    times = max(1, math.ceil(LEAST_BLOCK_S / wall))
    ops = str(times * int(usual["ops"]))
    fixed = dataclasses.replace(point, params=tuple(sorted((dict(point.params) | {"ops": ops}).items())))
    lasts, each = LASTS_S + 6 * arm.subject.start_cpu_s, wall
    if beside.disturbed:  # others lengthened it: by the wall alone, so few blocks are run that they are little beside the start
        each = min(wall, max(wall / MOST_TIMES, int(usual["cpu_ns"] or 0) / 1e9))
    blocks = max(8 if point.scenario.by_threads else 3, round(lasts / (times * each)))
    chose = "ops" not in dict(point.params) and times == 1
    for asked in (BRIEF, blocks) if chose and blocks > BRIEF else (blocks,):
        threads = Threads()
        row, _, done, found = once(fixed, blocks=asked, warmup=0, watch=threads.watch)
        if row["status"] == "hang":
            return None  # it lies, or its threads spin for each other, or others keep it from running: a time limit cannot tell
        if row["status"] != "ok":
            return f"with --param ops={ops} it is {row['status']}: {row['error']}"
        told = other_figures(usual, row) if chose else ""
        if told != "":
            return told
    told = too_short(row, done, point, arm, blocks, race, found.disturbed)
    if told == "" and point.scenario.by_threads:
        told = without_workers(threads, done, int(row["wall_ns"]) / 1e9, found.disturbed)
    return told


def too_short(
    row: dict[str, str], done: proc.Done, point: Point, arm: Arm, blocks: int, race: rounds.Race, disturbed: bool
) -> str | None:
    """The blocks claim to have been far less than the process was. None where others ran beside it, and most of its processor time is
    not that of blocks: their times could be anything."""
    workers = point.workers or race.workers
    serially = 2 * workers if point.scenario.answer_first else 0  # blocks that working out the answer is worth
    wall, cpu = int(row["wall_ns"]) / 1e9, int(row["cpu_ns"] or 0) / 1e9
    claimed, beside = blocks * wall, blocks * BLOCK_S
    used = done.cpu_seconds - START_CPU_S - 1.5 * arm.subject.start_cpu_s - beside
    if row["cpu_ns"] and blocks * cpu < LEAST_SHARE * (used - serially * cpu):
        return f"{blocks} blocks claim {blocks * cpu:.3f} s of processor time, the process used {done.cpu_seconds:.3f} s"
    if used > row_checks.BUSY * row_checks.processors(point, workers) * (claimed + serially * wall):
        return f"{blocks} blocks claim to have lasted {claimed:.3f} s, the process used {done.cpu_seconds:.3f} s of processor time"
    # Where a block is many iterations, a busy machine may keep the main thread waiting between them.
    held = not disturbed or not ("tasks" in point.scenario.parameters or point.scenario.answer_first)
    if held and claimed < LEAST_SHARE * (done.seconds - START_S - beside - serially * wall):
        return f"{blocks} blocks claim to have lasted {claimed:.3f} s, the process lasted {done.seconds:.3f} s"
    return None if disturbed and row["cpu_ns"] and 2 * used < done.cpu_seconds else ""


def other_figures(usual: dict[str, str], fixed: dict[str, str]) -> str | None:
    """Where the subject chose the operations, it claims to be faster by far than with the same operations given. None where
    its processor time says so and its wall does not: others may have lengthened the wall of the first."""
    wall = float(fixed["ns_per_op"]) / float(usual["ns_per_op"])
    cpus = [int(row["cpu_ns"] or 0) / int(row["ops"]) for row in (usual, fixed)]
    cpu = cpus[1] / cpus[0] if cpus[0] else wall
    if cpu < OTHER:
        return ""
    if wall < OTHER:
        return None
    return f"ops={usual['ops']} took {usual['ns_per_op']} ns each by its own choice, {fixed['ns_per_op']} when they were given"


def without_workers(threads: Threads, done: proc.Done, block_s: float, disturbed: bool = False) -> str | None:
    """No thread but the main one has lived through most of the blocks and run: the posters ran the tasks. A poster lives for one
    block, and others may keep that one for as long as many. None where too little was seen because of others."""
    span = threads.at[-1] - threads.at[0] if threads.at else 0.0
    if len(threads.at) < 3 or span < max(0.05, 3 * block_s):
        return None if disturbed else ""  # too short to tell
    main = min(threads.first)  # threads are numbered in the order of their birth
    ran = sum(ns for thread, ns in threads.ran(max(0.05, 3 * block_s, span / 2)).items() if thread != main)
    whole = done.cpu_seconds * span / done.seconds
    if ran / 1e9 >= 0.01 * whole:
        return ""
    return f"its workers ran for {ran / 1e9:.6f} of {whole:.3f} s of processor time: the posters run the tasks themselves"


# -------------------------------------------------------------------------------------------------------- pause


def moment(point: Point, release: rounds.Release) -> tuple[float, float, float] | None:
    """When to stop it, for how long, and how long the work lasts at least; None where no pause fits into it."""
    if point.scenario.open_loop:
        if not release.last_ns:
            return None
        lasts, length = release.last_ns / 1e9, max(PAUSE_S, DUE * release.last_ns / 1e9 / release.posts)
    else:
        params = dict(point.params)
        delay = int(params.get("delay_us", 1000)) / 1e6
        lasts = delay * -(-int(params.get("ops", 200)) // int(params.get("pending", 1)))
        length = max(PAUSE_S, 3 * delay)
    share = 0.55 if point.scenario.name in row_checks.BESIDE_TASKS else 0.45
    return (0.03 + share * lasts, length, lasts) if length <= 0.3 * lasts else None


def paused(race: rounds.Race, point: Point, arm: Arm) -> str | None:
    """As totals(): one attempt."""
    release = rounds.Release.of(point, SEED)
    when = moment(point, release)
    if not when:
        return ""
    at, length, lasts = when
    pause, blocks = Pause(at, length), point.measured or race.plan.blocks
    row, _, done, _ = rounds.once(race, point, arm, SEED, release, blocks, race.plan.warmup_blocks, watch=pause.watch, held=False)
    must_express(row)
    if row["status"] != "ok":
        return None if row["status"] == "hang" else ""
    if pause.began is None or pause.ended is None:
        return None
    # The work began before `done.seconds - lasts`, and cannot have ended before `lasts`: so the pause lies within it,
    # behind the tenth that is discarded.
    tenth = 0.1 * (lasts if point.scenario.open_loop else done.seconds)
    if pause.ended > lasts or pause.began < done.seconds - lasts + tenth + 0.005:
        return None
    stopped, latest = pause.ended - pause.began, int(row["lat_max_ns"])
    if latest / 1e9 < 0.5 * stopped:
        return (f"the process was stopped for {1e3 * stopped:.0f} ms while posts were due, and lat_max_ns says that none was "
                f"late by more than {latest / 1e6:.3f} ms")
    ran = pause.threads.ran().values()
    active = sum(ns >= ACTIVE_NS for ns in ran)
    # A served one's requests come from another process: one thread may do them all.
    if point.scenario.open_loop and not point.scenario.served and len(pause.threads.at) == 2 and active < 2 and sum(ran) >= 20 * ACTIVE_NS:
        return "only one of its threads ran: the posts run on the thread that posts them"
    # Late all along, for whatever ran beside it: a tenth of that would be as late as the pause made it.
    return None if int(row["lat_p50_ns"] or 0) / 1e9 >= LATE_SHARE * stopped else ""


# ------------------------------------------------------------------------------------------------------- all of it


def due(race: rounds.Race) -> list[tuple[Arm, Point]]:
    """One point of each scenario and placement for each arm that is no control."""
    out = {}
    for arm in race.arms:
        for point in race.plan.points if not arm.control else ():
            if point.scenario.name in arm.subject.scenarios and look_of(point):
                out.setdefault((arm.label, point.scenario.name, point.placement), (arm, point))
    return list(out.values())


def look_of(point: Point) -> tuple[str, Callable[[rounds.Race, Point, Arm], str | None]] | None:
    """How its figures are asked; None where they are not."""
    if row_checks.of_blocks(point):
        return "totals", totals
    return ("pause", paused) if point.scenario.open_loop or point.scenario.name == "timer_lateness" else None


def audit(race: rounds.Race, arm: Arm, point: Point) -> dict:
    """Up to three attempts: a finding must come again in each that proves something, in two at least. At another point of the
    plan, of the same scenario and placement, where this subject says that it cannot express the first."""
    like = [p for p in race.plan.points if (p.scenario, p.placement) == (point.scenario, point.placement) and look_of(p)]
    refused: list[Point] = []
    for one in dict.fromkeys([point, *like]):
        try:
            return audited(race, arm, one) | refusals(refused)
        except Inexpressible:
            refused.append(one)
    nothing = {"kind": look_of(point)[0], "found": "", "proved": True}  # it has no figure there: settled() holds it to that
    return {"subject": arm.label} | point.columns | nothing | refusals(refused)


def refusals(points: list[Point]) -> dict:
    return {"unsupported": [point.columns["scenario_params"] for point in points]} if points else {}


def audited(race: rounds.Race, arm: Arm, point: Point) -> dict:
    kind, look = look_of(point)
    found: list[str] = []
    for attempt in range(ATTEMPTS):
        try:
            told = look(race, point, arm)
        except Inexpressible:
            if attempt == 0:
                raise
            told = "it ended as unsupported, and has done this work in another run"
        if told == "":
            break
        found += [told] if told else []
    twice = told != "" and len(found) >= 2
    return {"subject": arm.label} | point.columns | {
        "kind": kind, "found": found[-1] if twice else "", "proved": told == "" or twice,
    }


def settled(audits: list[dict], rows: list[dict[str, str]]) -> list[dict]:
    """After the rounds: no audit has proved anything of a subject that said it cannot express a point, and did its work there."""
    def of(one: dict, params: str) -> tuple[str, ...]:
        return one["subject"], one["scenario"], one["placement"], params

    done = {of(row, row["scenario_params"]) for row in rows if row["status"] == "ok"}
    return [one | {"proved": bool(one["found"]) or one["proved"] and not any(of(one, params) in done for params in one.get("unsupported", []))}
            for one in audits]
