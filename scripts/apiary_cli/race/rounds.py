"""The race itself: every round runs every arm of every point once, in a fresh process, shuffled."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import random
import shutil
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Callable, Iterator

from ..base import proc, stats
from ..base.errors import Stopped
from ..base.say import warn
from . import disturbance, histogram, planfile, quota, row_checks, sharpening, subjects, tables
from .eta import Eta
from .metrics import unit_of
from .plans import Plan, Point
from .scenarios import SLOW_EVERY, Scenario
from .subjects import Arm

REPEATS = 2
CALIBRATION_TRIALS, CALIBRATION_PAIRS = 4, (3, 11)
STEADY = {True: 0.02, False: 0.007}  # standard errors at which no further pair is run: of a large effect, of a target's
SLOW_TARGET = 1.10
LEVER, ENOUGH = 0.5, (0.3, 1.0)  # to measure what a nanosecond does: the effect that is aimed at, those that serve
PADDING_STEP, PADDING_STEPS = 16, 256
RIVAL = (sys.executable, "-ISEc", "while True: pass")


@dataclass
class Race:
    """Everything that stays the same during a race, and what has been measured so far."""

    plan: Plan
    arms: list[Arm]
    workers: int
    seed: int
    run_id: str
    env_id: str
    commit: str
    folder: Path  # for plan files and histograms
    timeout: float | None = None
    most_repeats: int = REPEATS  # of a disturbed point in a round
    deadline: float | None = None  # time.monotonic() after which no round beyond the least begins
    eta: Eta | None = None
    rows: list[dict[str, str]] = field(default_factory=list)
    hist: list[dict[str, str]] = field(default_factory=list)
    calibration: list[dict] = field(default_factory=list)
    rounds_done: dict[int, int] = field(default_factory=dict)
    repeats: int = 0
    believe: bool = True  # the subjects' word against the clock and the processor time around their processes
    audits: list[dict] = field(default_factory=list)  # audit.py's runs, and what they found
    keep: Callable[[], None] | None = None  # called after each round

    def doubt(self, arm: Arm, point: Point) -> str:
        """What an audit found against this arm's figures of this scenario."""
        asked = arm.label, point.scenario.name, point.placement
        return next((a["found"] for a in self.audits if a["found"] and (a["subject"], a["scenario"], a["placement"]) == asked), "")


def base_environment(padding: int = 0) -> dict[str, str]:
    """A small, equal environment; its size moves the stack, so it varies from round to round."""
    kept = {key: os.environ[key] for key in ("PATH", "LD_LIBRARY_PATH", "HOME", "TMPDIR") if key in os.environ}
    return kept | {"LC_ALL": "C", "APIARY_PADDING": "x" * padding}


def processors(point: Point) -> tuple[set[int] | None, dict[str, str]]:
    """Where a run's processes may run; and, for the environment, which processor the load program has for itself: the last,
    where there are two."""
    usable = sorted(os.sched_getaffinity(0))
    if point.placement == "one_cpu":
        return {usable[0]}, {}
    if point.scenario.served and len(usable) > 1:
        return set(usable[:-1]), {"APIARY_LOAD_PROCESSOR": str(usable[-1])}
    return None, {}


def arms_of(race: Race, point: Point) -> list[Arm]:
    """The arms that run at this point: a slow one only where it is calibrated."""
    return [arm for arm in race.arms if arm.runs_at(point) and (not arm.slow or point in arm.slowdown)]


def hung_before(race: Race, point: Point, batch: int) -> set[str]:
    """The peers that have hung at this point in this batch: the row says so, and no round of it waits for them again. Who is
    judged is asked in every round."""
    return {
        row["subject"]
        for row in race.rows
        if row["status"] == "hang" and row["role"] == "peer" and row["batch"] == str(batch)
        and (row["scenario"], row["scenario_params"], row["placement"])
        == (point.scenario.name, point.params_text, point.placement)
    }


def host_columns(race: Race, point: Point, arm: Arm, batch: int) -> dict[str, str]:
    subject = arm.subject
    return {
        "schema_version": str(tables.SCHEMA_VERSION), "row_kind": "control" if arm.control else "measure", "run_id": race.run_id,
        "batch": str(batch), "env_id": race.env_id, "utc_start": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "suite_commit": race.commit, "scenario_params": point.params_text, "metric_class": point.scenario.metric_class,
        "subject": arm.label, "subject_version": subject.version, "language": subject.language, "build_id": subject.build_id,
        "role": arm.role, "placement": point.placement,
    }


def runs_of(race: Race, batches: int) -> dict[Point, int]:
    """How many runs each point has in all; a slow arm counts wherever it could be calibrated."""
    return {
        point: batches * sum(map(point.runs_in, range(1, race.plan.rounds + 1))) * point.times
        * sum(arm.runs_at(point) and (point.controlled or not arm.slow) for arm in race.arms)
        for point in race.plan.points
    }


def run_folder(race: Race) -> Path:
    """An empty folder for one run, at a path that is always the same. Whatever a subject made of the last one is
    gone: no run finds what another left."""
    folder = race.folder / "run"
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # it holds what may not be removed: aside with it
        folder.rename(race.folder / f"left{time.monotonic_ns()}")
    folder.mkdir()
    return folder


@dataclass(frozen=True)
class Release:
    """The plan of a round: the same words for every arm, written anew for each run; nothing where the loop is closed."""

    text: str = ""
    posts: int | None = None
    last_ns: int | None = None

    @classmethod
    def of(cls, point: Point, seed: int) -> Release:
        if not point.scenario.open_loop:
            return cls()
        text = planfile.text(int(dict(point.params)["rate"]), point.plan_seconds, seed)
        last = text.splitlines()[-1]
        return cls(text, text.count("\n") - 1, int(last) if last.isdigit() else None)

    def write(self, folder: Path) -> Path | None:
        if not self.text:
            return None
        path = folder / "plan.txt"
        path.write_text(self.text)
        return path


def once(
    race: Race, point: Point, arm: Arm, seed: int, release: Release, blocks: int, warmup: int, padding: int = 0,
    watch: Callable[[int, float], float | None] | None = None, held: bool = True,
) -> tuple[dict[str, str], list[dict[str, str]], proc.Done, disturbance.Disturbance]:
    """One process: its row, its histogram, how it ended, and what others did meanwhile. `held`: to the clock and the
    processor time around it, unless the subjects are believed."""
    folder = run_folder(race)
    hist = folder / "hist.csv" if point.scenario.histogram else None
    before = disturbance.sample()
    words = subjects.command(
        arm.program, point, race.workers, seed, block_ms=race.plan.block_ms, blocks=blocks, warmup_blocks=warmup,
        plan=release.write(folder), hist=hist, slowdown_ns=arm.slowdown.get(point, 0), tune=arm.tune,
    )
    done = run_subject(race, point, words, folder, padding, watch)
    found = disturbance.between(before, disturbance.sample())
    asked = row_checks.Asked(blocks, warmup, point.workers or race.workers, release.posts, release.last_ns)
    seen = row_checks.Seen(done.seconds, done.cpu_seconds, arm.subject.start_cpu_s) if held and not race.believe else None
    row, buckets = subjects.judge(done, point, race.workers, seed, asked, seen), []
    if hist and row["status"] == "ok":
        try:
            buckets = histogram.read(hist)
            contradiction = histogram.flaw(buckets, row) or histogram.lacking(buckets, row)
        except (OSError, ValueError, KeyError, TypeError) as error:
            contradiction = str(error)
        if contradiction:
            row, buckets = row | {"status": "malformed", "error": f"histogram: {contradiction}"}, []
    return row, buckets, done, found


def measure(
    race: Race, point: Point, arm: Arm, batch: int, number: int, order: int, seed: int, release: Release, padding: int
) -> tuple[dict[str, str], list[dict[str, str]], bool]:
    """A run of a round: its row, its histogram, and whether others disturbed it."""
    host = host_columns(race, point, arm, batch) | {"round": str(number), "arm_order": str(order)}
    blocks = point.measured or race.plan.blocks
    row, buckets, _, found = once(race, point, arm, seed, release, blocks, race.plan.warmup_blocks, padding)
    doubt = race.doubt(arm, point) if row["status"] == "ok" else ""
    if doubt:
        row, buckets = row | {"status": "malformed", "error": f"not believed: {doubt}"}, []
    row = host | row | found.columns()
    same = {column: row[column] for column in tables.HIST if column in row}
    return row, [same | bucket for bucket in buckets], found.disturbed


def run_subject(
    race: Race, point: Point, words: list[str], folder: Path, padding: int = 0, watch: Callable[[int, float], float | None] | None = None
) -> proc.Done:
    """One process, and beside it the rivals that the point asks for, within the quota that it asks for."""
    where, named = processors(point)
    rivals = [proc.Child(proc.Spec(RIVAL, affinity=where)) for _ in range(point.rivals)]
    try:
        limit = race.timeout or point.time_limit()
        with quota.around(point) as group:
            return subjects.run(words, cwd=folder, env=base_environment(padding) | named, timeout=limit, affinity=where, watch=watch, group=group)
    finally:
        proc.end_all(rivals)


def run_point(
    race: Race, point: Point, batch: int, number: int, seed: int, padding: int, after_run: Callable[[str], None]
) -> None:
    """Every arm of one point once. Disturbed by others: all arms again, at most twice, unless processor time is the
    figure, which leaves the others out."""
    orders = random.Random(seed)  # what a disturbance repeats changes nothing of the rounds after it
    release = Release.of(point, seed)
    for attempt in range(race.most_repeats + 1):
        arms = arms_of(race, point)
        orders.shuffle(arms)
        hung = hung_before(race, point, batch)
        rows, buckets, disturbed = [], [], False
        for order, arm in enumerate(arms):
            if arm.label in hung:
                if race.eta and not attempt:
                    race.eta.leave_out(point)
                continue
            began = time.monotonic()
            row, found, hit = measure(race, point, arm, batch, number, order, seed, release, padding)
            if race.eta:
                race.eta.note(point, time.monotonic() - began, again=attempt > 0)
            rows.append(row)
            buckets += found
            disturbed |= hit
            after_run(f"{arm.label} {point.label}")
        again = disturbed and not point.metric.gates and attempt < race.most_repeats and may_repeat(race)
        if not again:
            break
        race.repeats += 1
        race.rows += [row | {"status": "disturbed"} if row["status"] == "ok" else row for row in rows]
    if disturbed:
        rows = [row | {"flags": ";".join(filter(None, [row["flags"], "disturbed"]))} for row in rows]
    race.rows += rows
    race.hist += buckets


def may_repeat(race: Race) -> bool:
    """Where time is limited, at most a quarter of the points is run again."""
    limit = race.plan.rounds * len(race.plan.points) // 4
    return race.deadline is None or (in_time(race, 0.0) and race.repeats < limit)


def in_time(race: Race, needed: float) -> bool:
    return race.deadline is None or time.monotonic() + needed <= race.deadline


@contextlib.contextmanager
def measuring(race: Race) -> Iterator[None]:
    """Around all rounds: stopped, it says what is lost, for only `race` keeps its rounds."""
    try:
        yield
    except Stopped:
        ran = sum(row["status"] != "unsupported" for row in race.rows)
        if ran and not (race.keep and race.rounds_done):
            warn(f"the figures of {ran} runs are lost: only `race` keeps them, once a round is whole, and goes on (race --resume)")
        raise


def run_batch(race: Race, batch: int, progress: Callable[[int, str], None]) -> None:
    """One batch of rounds, numbered on from the batch before. Their number may shrink to what fits
    the time, never by what was measured."""
    rng = random.Random(race.seed * 1000 + batch)
    earlier = sum(done for number, done in race.rounds_done.items() if number < batch)
    finished = race.rounds_done.get(batch, 0)  # of a race that is resumed
    if finished and any(number > batch for number in race.rounds_done):
        return
    started = time.monotonic()
    for number in range(1, race.plan.rounds + 1):
        each = (time.monotonic() - started) / max(1, number - 1 - finished)
        if number > max(finished, race.plan.least_rounds) and not in_time(race, each):
            break
        points = [point for point in race.plan.points if point.runs_in(number) for _ in range(point.times)]
        rng.shuffle(points)
        met: Counter[Point] = Counter()
        for point in points:
            # The seed of the point's runs, and how far their environment moves the stack; of a round that has been run, too.
            seed, padding = rng.randrange(1, 2**31), PADDING_STEP * rng.randrange(PADDING_STEPS)
            if number > finished:
                # Pairs are numbered: of a point that runs twice in a round, on and on.
                met[point] += 1
                pair = (earlier + number - 1) * point.times + met[point]
                run_point(race, point, batch, pair, seed, padding, functools.partial(progress, number))
        if number > finished:
            race.rounds_done[batch] = number
            if race.keep:
                race.keep()
    if race.rounds_done.get(batch, 0) >= race.plan.rounds:
        sharpen(race, batch, earlier, progress)


def sharpen(race: Race, batch: int, earlier: int, progress: Callable[[int, str], None]) -> None:
    """Further rounds, of the points alone that cannot tell a tenth yet, while there is time."""
    for number in range(race.rounds_done[batch] + 1, race.plan.most_rounds + 1):
        points = sharpening.blunt(race.rows, race.plan.points, batch) if in_time(race, 0.0) else []
        if not points:
            return
        rng = random.Random(f"{race.seed} {batch} {number}")
        rng.shuffle(points)
        for point in points:
            for run in range(1, point.times + 1):
                seed, padding = rng.randrange(1, 2**31), PADDING_STEP * rng.randrange(PADDING_STEPS)
                pair = (earlier + number - 1) * point.times + run
                run_point(race, point, batch, pair, seed, padding, functools.partial(progress, number))
        race.rounds_done[batch] = number
        if race.keep:
            race.keep()


def unsupported_rows(race: Race, batch: int) -> list[dict[str, str]]:
    """One row for each scenario that a subject does not list: said, not silent."""
    return [
        dict.fromkeys(tables.SUBJECT, "") | host_columns(race, point, arm, batch)
        | {"scenario": point.scenario.name, "workers": str(point.workers or race.workers), "status": "unsupported"}
        for point in race.plan.points
        for arm in race.arms
        if not arm.control and point.scenario.name not in arm.subject.scenarios
    ]


def trial(race: Race, point: Point, arm: Arm, slowdown: int, seed: int) -> dict[str, str]:
    """The row of one short calibration run."""
    words = subjects.command(
        arm.program, point, race.workers, seed, block_ms=min(50, race.plan.block_ms), blocks=point.measured or 3,
        warmup_blocks=2, slowdown_ns=slowdown,
    )
    return subjects.judge(run_subject(race, point, words, run_folder(race)), point, race.workers, seed)


def first_slowdown(scenario: Scenario, plain: float, row: dict[str, str]) -> int:
    """Where the search begins, of an operation that takes `plain`: what an operation says that it consists of counts each as a
    task. So one of thousands of tasks is not slowed by thousands of its own lengths, which no time limit would see the end of."""
    unit = unit_of(row) if scenario.slow_every == SLOW_EVERY else None
    return max(1, round(LEVER * scenario.slow_every * plain / (unit[1] if unit else 1)))


def calibrate(race: Race, point: Point, arm: Arm, targets: tuple[float, ...] = (SLOW_TARGET,)) -> list[dict]:
    """Find the --slowdown-ns that makes a run slower by each of `targets`. What a nanosecond does is measured where it
    does much (half as slow again): there the noise of a few pairs of runs is a small share of it. Each target is tried
    once, and set right on the line through both: counting costs something, too, and where threads wait for each other
    the effect is not proportional. What it came out as, the race itself tells."""

    def figure(row: dict[str, str]) -> float | None:
        return point.metric.value(row) if row["status"] == "ok" else None

    def effect(slowdown: int, number: int) -> float | None:
        ratios: list[float] = []
        least, most = CALIBRATION_PAIRS
        for pair in range(most):
            error = statistics.stdev(ratios) / math.sqrt(len(ratios)) if len(ratios) >= least else math.inf
            if error <= STEADY[number <= CALIBRATION_TRIALS]:
                break
            before, slow = (figure(trial(race, point, arm, n, 10 * number + pair)) for n in (0, slowdown))
            if before and slow:
                ratios.append(math.log(slow / before))
        return math.exp(stats.trimmed_mean(ratios)) - 1 if ratios else None

    untouched = trial(race, point, arm, 0, 1)
    plain = figure(untouched)
    found = lever(effect, first_slowdown(point.scenario, plain, untouched)) if plain else None
    made = []
    for number, target in enumerate(targets, start=CALIBRATION_TRIALS + 1):
        tried = max(1, round(found[0] * (target - 1) / found[1])) if found else None
        share = effect(tried, number) if tried else None
        seen = [(tried, share), found] if share is not None else []
        made.append(point.columns | {
            "subject": arm.subject.name, "target": target, "slowdown_ns": on_the_line(*seen, target - 1) if seen else None,
            "tried": [[ns, round(1 + effect_of, 4)] for ns, effect_of in seen],
        })
    return made


def on_the_line(low: tuple[int, float], high: tuple[int, float], share: float) -> int:
    """The slow-down at which the line through two measured effects has this share; at least half of the first, since the
    noise of one effect must not leave a control that slows nothing."""
    (a, from_share), (b, to_share) = low, high
    if a >= b or to_share <= from_share:
        return a
    return max(1, round(a / 2), round(a + (share - from_share) * (b - a) / (to_share - from_share)))


def lever(effect: Callable[[int, int], float | None], begin: int) -> tuple[int, float] | None:
    """A slow-down whose effect is large enough to be measured well, and that effect; None where none was found."""
    slowdown = begin
    for number in range(1, CALIBRATION_TRIALS + 1):
        share = effect(slowdown, number)
        if share is None:
            return None
        if ENOUGH[0] <= share <= ENOUGH[1]:
            return slowdown, share
        # Never by more than tenfold: a small effect is mostly noise.
        slowdown = max(1, round(slowdown * min(10.0, max(0.1, LEVER / share)))) if share > 0 else 10 * slowdown
    return None
