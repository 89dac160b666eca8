"""What is raced: the scenarios, and the plans (which points of them, how many rounds)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from .errors import Fault, USAGE, unknown
from .tables import params_text

PLACEMENTS = ("free", "one_cpu")


@dataclass(frozen=True)
class Metric:
    """A column of rows.csv that is compared."""

    column: str
    unit: str
    better: str
    what: str


@dataclass(frozen=True)
class Scenario:
    """What the tool must know of a scenario; the subjects know the rest."""

    name: str
    metric_class: str
    metrics: tuple[Metric, ...]
    required: tuple[str, ...]  # columns that a good row cannot leave empty
    parameters: tuple[str, ...]
    open_loop: bool = False
    histogram: bool = False
    what: str = ""


THROUGHPUT = (Metric("ns_per_op", "ns", "lower", "time per task"),)
LATENCY = (
    Metric("lat_p50_ns", "ns", "lower", "latency p50"),
    Metric("lat_p90_ns", "ns", "lower", "latency p90"),
    Metric("lat_p99_ns", "ns", "lower", "latency p99"),
)
LATENESS = (
    Metric("lat_p50_ns", "ns", "lower", "lateness p50"),
    Metric("lat_p90_ns", "ns", "lower", "lateness p90"),
    Metric("lat_p99_ns", "ns", "lower", "lateness p99"),
)

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "post_throughput",
            "throughput",
            THROUGHPUT,
            ("ops", "wall_ns", "ns_per_op", "check"),
            ("producers", "batch", "ops"),
            what="Threads outside the runtime post small tasks as fast as they can.",
        ),
        Scenario(
            "post_latency",
            "latency",
            LATENCY,
            ("ops", "lat_count", "lat_min_ns", "lat_max_ns", "check"),
            ("rate",),
            open_loop=True,
            histogram=True,
            what="Tasks are due at times fixed beforehand; latency counts from the intended time to the task's start.",
        ),
        Scenario(
            "timer_lateness",
            "lateness",
            LATENESS,
            ("ops", "lat_count", "lat_min_ns", "lat_max_ns", "check"),
            ("delay_us", "pending", "ops"),
            histogram=True,
            what="Delayed posts; lateness counts from the due time to the start of the task.",
        ),
    )
}


@dataclass(frozen=True)
class Point:
    """A scenario with its parameters and placement: one row of the comparison."""

    scenario: Scenario
    params: tuple[tuple[str, str], ...]
    placement: str = "free"
    plan_seconds: float = 0.0

    @property
    def params_text(self) -> str:
        return params_text(dict(self.params))

    @property
    def label(self) -> str:
        place = "" if self.placement == "free" else f" {self.placement}"
        return f"{self.scenario.name} {self.params_text}{place}"

    @property
    def workers(self) -> int | None:
        """A point may fix the number of workers; else it is the race's."""
        value = dict(self.params).get("workers")
        return int(value) if value else None

    def ops(self) -> int | None:
        """The number of operations, where it is fixed beforehand."""
        if self.scenario.open_loop:
            return round(int(dict(self.params)["rate"]) * self.plan_seconds)
        value = dict(self.params).get("ops")
        return int(value) if value else None

    def time_limit(self) -> float:
        """After this a run counts as hung: far above what it should take."""
        params = dict(self.params)
        expected = self.plan_seconds
        if "delay_us" in params:
            expected = int(params["ops"]) * int(params["delay_us"]) / 1e6 / int(params.get("pending", 1))
        return 30.0 + 5 * expected


@dataclass(frozen=True)
class Plan:
    """How much of it: points, rounds, batches, and how long the blocks are."""

    name: str
    points: tuple[Point, ...]
    rounds: int
    least_rounds: int
    batches: int = 1
    block_ms: int = 100
    blocks: int = 3
    warmup_blocks: int = 5
    controls: bool = True
    gates: bool = False  # an INVALID batch ends with status 2
    what: str = ""


def throughput(producers: int, batch: int = 1, placement: str = "free") -> Point:
    return Point(SCENARIOS["post_throughput"], (("batch", str(batch)), ("producers", str(producers))), placement)


def with_workers(point: Point, workers: int) -> Point:
    return dataclasses.replace(point, params=(*point.params, ("workers", str(workers))))


def latency(rate: int, seconds: float) -> Point:
    return Point(SCENARIOS["post_latency"], (("rate", str(rate)),), plan_seconds=seconds)


def timers(delay_us: int, pending: int, ops: int) -> Point:
    return Point(
        SCENARIOS["timer_lateness"], (("delay_us", str(delay_us)), ("ops", str(ops)), ("pending", str(pending)))
    )


# A percentile needs 100 samples above it after the first tenth is discarded: 1,250 for p90, 11,250 for p99.
QUICK = (throughput(1), throughput(2), latency(1000, 1.25), timers(1000, 1, 1250))
NIGHTLY = (
    throughput(1),
    throughput(2),
    throughput(4),
    throughput(1, 16),
    throughput(1, 256),
    throughput(1, placement="one_cpu"),
    latency(1000, 2.5),
    latency(10_000, 1.25),
    timers(1000, 1, 1250),
    timers(1000, 100, 12_500),
    timers(5000, 100, 12_500),
    timers(16_000, 10_000, 40_000),
)
PUBLISH = (
    throughput(1),
    throughput(2),
    throughput(1, 256),
    latency(1000, 2.5),
    latency(10_000, 1.25),
    timers(1000, 1, 1250),
    timers(1000, 100, 12_500),
)

PLANS = {
    plan.name: plan
    for plan in (
        Plan(
            "smoke",
            NIGHTLY,
            rounds=1,
            least_rounds=1,
            block_ms=10,
            blocks=1,
            warmup_blocks=1,
            controls=False,
            what="one short round of everything: is the work right? No figure of it counts",
        ),
        Plan("quick", QUICK, rounds=7, least_rounds=5, what="7 rounds of a short list: minutes"),
        Plan(
            "nightly", NIGHTLY, rounds=30, least_rounds=10, gates=True, what="30 rounds of everything: about an hour"
        ),
        Plan(
            "publish",
            PUBLISH,
            rounds=60,
            least_rounds=60,
            batches=2,
            gates=True,
            what="60 rounds of a curated list, twice: up to three hours",
        ),
    )
}


def plan(name: str) -> Plan:
    if name not in PLANS:
        raise unknown("plan", name, PLANS)
    return PLANS[name]


def narrowed(chosen: Plan, scenarios: list[str], rounds: int | None, placement: str | None) -> Plan:
    """The plan with only these scenarios, another number of rounds, another placement."""
    for name in scenarios:
        if name not in SCENARIOS:
            raise unknown("scenario", name, SCENARIOS)
    points = tuple(p for p in chosen.points if not scenarios or p.scenario.name in scenarios)
    if placement:
        points = tuple(dict.fromkeys(dataclasses.replace(p, placement=placement) for p in points))
    if rounds is not None and rounds < 1:
        raise Fault(f"--rounds {rounds}", "a race needs at least one round", "--rounds 7", USAGE)
    count = rounds or chosen.rounds
    return dataclasses.replace(
        chosen, points=points, rounds=count, least_rounds=count if rounds else chosen.least_rounds
    )
