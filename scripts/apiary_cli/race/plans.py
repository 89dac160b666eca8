"""What is raced: the scenarios, and the plans (which points of them, how many rounds)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Callable

from ..base.errors import Fault, USAGE, unknown
from .tables import params_text

PLACEMENTS = ("free", "one_cpu")


@dataclass(frozen=True)
class Metric:
    """A column of rows.csv that is compared."""

    column: str
    unit: str
    better: str
    what: str
    quotient: tuple[str, str] | None = None  # of these two columns, where the figure has none of its own
    where: Callable[[dict[str, str]], bool] | None = None  # the rows in which the columns mean this

    def value(self, row: dict[str, str]) -> float | None:
        """The figure of a row, or None where it has none."""
        if self.where and not self.where(row):
            return None
        if not self.quotient:
            return float(row[self.column]) if row[self.column] and float(row[self.column]) > 0 else None
        part, whole = (float(row[name] or 0) for name in self.quotient)
        return part / whole if part > 0 and whole > 0 else None

    @property
    def gates(self) -> bool:
        """Decides over a change: what other work on the machine hardly moves."""
        return self is PROCESSOR

    @property
    def spent(self) -> bool:
        """Processor time: what it takes, not how long."""
        return self.column.startswith("cpu_ns")


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
    tasks_per_op: int = 1  # about; where the search for the slow-down begins
    calibrated: bool = False  # its points get the control arm with a built-in slow-down, free ones too

    def metrics_at(self, placement: str) -> tuple[Metric, ...]:
        """What is compared there; the first is what the scenario is known by. On one CPU the processor time is the
        whole cost, and who else runs does not enter it."""
        return (PROCESSOR, *self.metrics) if placement == "one_cpu" and self.metrics == THROUGHPUT else self.metrics


THROUGHPUT = (Metric("ns_per_op", "ns", "lower", "time per task"),)
PROCESSOR = Metric("cpu_ns_per_op", "ns", "lower", "processor time per task", ("cpu_ns", "ops"))
IDLE_COST = (Metric("cpu_ns", "ns", "lower", "processor time while idle"),)


def posts_alone(row: dict[str, str]) -> bool:
    """Whether cpu_ns is what the posts cost: nothing computes beside them, and the injector's sleeps are not in it, as
    they are in older rows."""
    named = {flag.split("=")[0] for flag in row["flags"].split(";")}
    return "injector_us" in named and "starved_ppm" not in named


POST_COST = Metric("cpu_ns_per_post", "ns", "lower", "processor time per post", ("cpu_ns", "ops"), posts_alone)
TIMER_COST = Metric("cpu_ns_per_timer", "ns", "lower", "processor time per timer", ("cpu_ns", "ops"))
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

BLOCK_CELLS = ("ops", "wall_ns", "ns_per_op", "check")
LATENCY_CELLS = ("ops", "lat_count", "lat_min_ns", "lat_max_ns", "check")


def of_blocks(name: str, parameters: str, what: str, histogram: bool = False, **more: object) -> Scenario:
    """Made of blocks."""
    words, kind = (*parameters.split(), "ops"), "throughput" if name == "post_throughput" else "makespan"
    return Scenario(name, kind, THROUGHPUT, BLOCK_CELLS, words, histogram=histogram, what=what, **more)


def of_open_loop(name: str, parameters: str, what: str, alone: bool = True) -> Scenario:
    """`alone`: what the process spends is spent on the posts."""
    words, metrics = ("rate", *parameters.split()), (*LATENCY, POST_COST) if alone else LATENCY
    return Scenario(name, "latency", metrics, LATENCY_CELLS, words, open_loop=True, histogram=True, what=what)


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        of_blocks(
            "post_throughput",
            "producers batch",
            "Threads outside the runtime post small tasks as fast as they can.",
            calibrated=True,
        ),
        of_open_loop(
            "post_latency",
            "respawners task_us",
            "Tasks are due at times fixed beforehand; latency counts from the intended time to the task's start.",
        ),
        Scenario(
            "timer_lateness",
            "lateness",
            (*LATENESS, TIMER_COST),
            LATENCY_CELLS,
            ("delay_us", "pending", "ops"),
            histogram=True,
            what="Delayed posts; lateness counts from the due time to the start of the task.",
        ),
        of_blocks("targeted_throughput", "producers targets", "Threads outside post to the private queues of workers."),
        of_open_loop("targeted_latency", "targets service_ns", "Posts to the private queue of a chosen worker."),
        of_blocks(
            "steal_pressure",
            "work_ns",
            "One task on one worker spawns all the work; the others come for it.",
            histogram=True,
            calibrated=True,
        ),
        of_open_loop(
            "mixed_load", "compute_us compute_workers", "Posts while long tasks keep all processors busy.", alone=False
        ),
        of_open_loop("latency_vs_load", "service scale", "Posts with service times, at a share of capacity."),
        of_blocks("successor", "chains", "Chains of tasks, each of which hands on to the next.", calibrated=True),
        of_blocks("spawn_many_local", "tasks", "Tokio's own: one task spawns many."),
        of_blocks("spawn_many_remote_idle", "tasks", "Tokio's own: one thread outside spawns many."),
        of_blocks(
            "spawn_many_remote_busy1", "tasks yielders stall_us", "Tokio's own: the same while tasks yield and stall."
        ),
        of_blocks(
            "spawn_many_remote_busy2", "tasks stallers stall_us", "Tokio's own: the same while tasks stall and respawn."
        ),
        of_blocks("ping_pong", "tasks", "Tokio's own: pairs of tasks send each other a message and an answer."),
        of_blocks("yield_many", "tasks yields", "Tokio's own: tasks that let the others go first, again and again."),
        of_blocks("chained_spawn", "tasks", "Tokio's own: each task spawns the next."),
        of_blocks("remote_spawn", "tasks threads", "Tokio's own: threads outside spawn at once."),
        of_blocks(
            "fib",
            "n",
            "Fork-join without any work: what a spawn and a join cost.",
            tasks_per_op=10_000,
            calibrated=True,
        ),
        of_blocks("skynet", "leaves", "Fork-join, ten children per task."),
        of_blocks("nqueens", "n", "Fork-join over the boards of the n queens."),
        of_blocks("uts", "depth", "Fork-join over an unbalanced tree that nobody can foresee (T1 at depth 10)."),
        of_blocks("matmul", "n", "Fork-join over shared data: a matrix product by halves."),
        Scenario(
            "wake_chain",
            "latency",
            LATENCY,
            LATENCY_CELLS,
            ("sleep_us", "ops"),
            histogram=True,
            what="A thread outside wakes a task per worker, is woken by the last, sleeps, and again (after schbench).",
        ),
        Scenario(
            "idle_cpu",
            "makespan",
            IDLE_COST,
            ("wall_ns", "cpu_ns", "check"),
            ("rate", "seconds"),
            what="What an idle runtime costs, with no tasks or a few per second.",
        ),
        of_blocks("floor_futex", "", "Two threads hand over by a futex: the machine's floor.", True),
        of_blocks("floor_eventfd", "", "Two threads hand over by eventfd: the machine's floor.", True),
        of_blocks("floor_spin", "", "Two threads hand over by a spinning load: the machine's floor."),
    )
}


METRICS = (PROCESSOR, *dict.fromkeys(metric for scenario in SCENARIOS.values() for metric in scenario.metrics))


def known_by(scenario: str, placement: str) -> Metric | None:
    """The metric that a scenario is known by, where it ran; None where nobody knows the scenario."""
    return SCENARIOS[scenario].metrics_at(placement)[0] if scenario in SCENARIOS else None


@dataclass(frozen=True)
class Point:
    """A scenario with its parameters and placement: one row of the comparison."""

    scenario: Scenario
    params: tuple[tuple[str, str], ...]
    placement: str = "free"
    plan_seconds: float = 0.0
    times: int = field(default=1, compare=False)  # runs of each arm in a round; each is a pair of its own
    measured: int | None = field(default=None, compare=False)  # blocks of a run; None: as many as the plan says

    @property
    def metric(self) -> Metric:
        """What the point is known by, and what its slow-down is calibrated on."""
        return self.scenario.metrics_at(self.placement)[0]

    @property
    def controlled(self) -> bool:
        """Gets the control arm with a built-in slow-down."""
        return self.scenario.calibrated or self.metric.gates

    @property
    def params_text(self) -> str:
        return params_text(dict(self.params))

    @property
    def label(self) -> str:
        place = "" if self.placement == "free" else self.placement
        return " ".join(filter(None, (self.scenario.name, self.params_text, place)))

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
            expected = int(params.get("ops", 200)) * int(params["delay_us"]) / 1e6 / int(params.get("pending", 1))
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
    subjects: tuple[str, ...] = ()  # raced unless --subject says otherwise; empty: all that are built
    limit: float | None = None  # seconds after which no further round begins


def throughput(producers: int, batch: int = 1, placement: str = "free", **params: int) -> Point:
    return blocks("post_throughput", placement, producers=producers, batch=batch, **params)


def with_workers(point: Point, workers: int) -> Point:
    return dataclasses.replace(point, params=(*point.params, ("workers", str(workers))))


def latency(rate: int, seconds: float) -> Point:
    return Point(SCENARIOS["post_latency"], (("rate", str(rate)),), plan_seconds=seconds)


def timers(delay_us: int, pending: int, ops: int) -> Point:
    return Point(
        SCENARIOS["timer_lateness"], (("delay_us", str(delay_us)), ("ops", str(ops)), ("pending", str(pending)))
    )


def blocks(name: str, placement: str = "free", **params: int | str) -> Point:
    return Point(SCENARIOS[name], tuple((key, str(value)) for key, value in sorted(params.items())), placement)


def open_loop(name: str, rate: int, seconds: float, **params: int | str) -> Point:
    point = blocks(name, rate=rate, **params)
    return dataclasses.replace(point, plan_seconds=seconds)


# A percentile needs 100 samples above it after the first tenth is discarded: 1,250 for p90, 11,250 for p99.
# Ours, its floor, and the peers that a reader asks for first. Whoever wants another names it, or races `wide`.
FIRST_PEERS = ("hive", "global_queue", "tokio", "tokio-mimalloc", "onetbb")
# Those whose table is published: the same, Boost.Asio and moodycamel's queue under a pool. Beside them the machine, which
# has the bare controls.
PUBLISHED = (*FIRST_PEERS, "asio", "moodycamel_pool")
# What decides over a change: cheap on one CPU, where processor time differs by a hundredth from process to process,
# whatever else runs. Short runs, and several pairs in a round: spread is between processes. Posts are few in a block, and
# blocks are many: how long the queue grows before the producer is taken off the processor is the kernel's to say, and 2,048
# are posted before it asks.
POSTS, SPAWNS, SUCCESSOR, YIELDS, *_ = PINNED = tuple(
    dataclasses.replace(point, placement="one_cpu", times=times)
    for point, times in (
        (dataclasses.replace(throughput(1, ops=2048), measured=49), 3),
        (dataclasses.replace(blocks("spawn_many_remote_idle", tasks=2000, ops=2000), measured=49), 2),
        (blocks("successor"), 2),
        (blocks("yield_many"), 2),
        (blocks("spawn_many_local"), 2),
        (blocks("ping_pong"), 2),
    )
)
GATE = (*PINNED, throughput(1), throughput(2))
QUICK = (POSTS, SPAWNS, SUCCESSOR, YIELDS, throughput(1), throughput(2), latency(1000, 1.25), timers(1000, 1, 1250))
SEED_FIVE = (
    throughput(1),
    throughput(2),
    throughput(4),
    throughput(1, 16),
    throughput(1, 256),
    POSTS,
    latency(1000, 2.5),
    latency(10_000, 1.25),
    timers(1000, 1, 1250),
    timers(1000, 100, 12_500),
    timers(5000, 100, 12_500),
    timers(16_000, 10_000, 40_000),
    blocks("targeted_throughput"),
    blocks("targeted_throughput", producers=2, targets=2),
    open_loop("targeted_latency", 1000, 2.5),
    open_loop("targeted_latency", 10_000, 1.25, service_ns=50_000),
    blocks("steal_pressure"),
    open_loop("mixed_load", 1000, 2.5),
    open_loop("post_latency", 2000, 0.625, respawners=4, task_us=1000),
    blocks("successor"),
)
# The capacity of one worker, with service times ten times the published 1 us, is 100,000 per second (fixed and
# exponential; bimodal 33,000): one injector can offer that.
LOADED = tuple(
    # Under a second: kernels take a thread of real-time priority off its processor after 0.95 s of running.
    open_loop("latency_vs_load", share * capacity // 100, 0.9, service=service, scale=10)
    for service, capacity in (("fixed", 100_000), ("exponential", 100_000), ("bimodal", 33_000))
    for share in (10, 50, 80)
)
TOKIO = tuple(
    blocks(name)
    for name in (
        "spawn_many_local",
        "spawn_many_remote_idle",
        "spawn_many_remote_busy1",
        "spawn_many_remote_busy2",
        "ping_pong",
        "yield_many",
        "chained_spawn",
        "remote_spawn",
    )
)
FORK_JOIN = (
    blocks("fib", n=27),
    blocks("skynet", leaves=100_000),
    blocks("nqueens", n=10),
    blocks("uts", depth=8),
    blocks("matmul", n=512),
)
WAKING = (
    blocks("wake_chain", ops=12_500, sleep_us=100),
    blocks("idle_cpu", rate=0, seconds=2),
    blocks("idle_cpu", rate=1, seconds=2),
)
FLOORS = tuple(with_workers(blocks(name), 1) for name in ("floor_futex", "floor_eventfd", "floor_spin"))
EVERYTHING = SEED_FIVE + LOADED + TOKIO + FORK_JOIN + WAKING + FLOORS
# Sizes at which a run takes a moment: is the work right?
BRIEF = {
    "spawn_many_remote_busy1": {"tasks": "100"},
    "spawn_many_remote_busy2": {"tasks": "100"},
    "fib": {"n": "18"},
    "skynet": {"leaves": "10000"},
    "nqueens": {"n": "8"},
    "uts": {"depth": "6"},
    "matmul": {"n": "128"},
    "wake_chain": {"ops": "500"},
    "idle_cpu": {"seconds": "1"},
}


def brief(point: Point) -> Point:
    params = dict(point.params) | BRIEF.get(point.scenario.name, {})
    return dataclasses.replace(
        point, params=tuple(sorted(params.items())), plan_seconds=min(point.plan_seconds, 0.2)
    )


def load_curve(service: str, capacity: int) -> tuple[Point, ...]:
    return tuple(
        open_loop("latency_vs_load", share * capacity // 100, 0.5, service=service, scale=10)
        for share in (10, 30, 50, 70, 90)
    )


NIGHTLY = (
    *PINNED,
    *(dataclasses.replace(p, plan_seconds=min(p.plan_seconds, 1.25)) for p in SEED_FIVE if p not in PINNED),
    with_workers(throughput(1), 4),
    with_workers(blocks("steal_pressure"), 4),
    *load_curve("exponential", 100_000),
    *(blocks(name) for name in ("spawn_many_local", "ping_pong", "yield_many")),
    blocks("fib", n=22),
    blocks("uts", depth=6),
    WAKING[0],
    blocks("idle_cpu", rate=0, seconds=1),
    *FLOORS[:1],
)
# The same points at the rates and lengths that give each percentile its samples and no more: a round must be cheap,
# because rounds, not long runs, narrow an interval. The pinned ones judge the batch. Left out is what never saw a tenth
# in ten rounds and cost much: idle latency, an idle runtime's processor time, timers of 5 ms (A/A half-widths of 13 to 255 %).
PUBLISH_TIMES = {POSTS: 2, SPAWNS: 2}
PUBLISH = (
    *(dataclasses.replace(p, times=PUBLISH_TIMES.get(p, 1)) for p in PINNED),
    throughput(1),
    throughput(2),
    with_workers(throughput(2), 4),
    *TOKIO,
    blocks("steal_pressure"),
    blocks("fib", n=22),
    blocks("uts", depth=6),
    blocks("targeted_throughput"),
    latency(10_000, 1.25),
    open_loop("targeted_latency", 10_000, 1.25),
    open_loop("mixed_load", 1000, 1.25),
    open_loop("post_latency", 2000, 0.625, respawners=4, task_us=1000),
    timers(1000, 100, 12_500),
    timers(16_000, 1000, 12_500),
    *(
        open_loop("latency_vs_load", rate, 12_500 / rate, service="exponential", scale=10)
        for rate in (30_000, 50_000, 80_000)
    ),
)
LEAST_PUBLISHED = 10  # rounds of a batch; what has fewer is not published

PLANS = {
    plan.name: plan
    for plan in (
        Plan(
            "smoke",
            tuple(map(brief, EVERYTHING)),
            rounds=1,
            least_rounds=1,
            block_ms=10,
            blocks=1,
            warmup_blocks=1,
            controls=False,
            what="one short round of everything: is the work right? No figure of it counts",
        ),
        Plan(
            "quick",
            QUICK,
            rounds=10,
            least_rounds=5,
            block_ms=5,
            subjects=FIRST_PEERS,
            limit=270.0,
            what="10 rounds of a short list: minutes",
        ),
        Plan(
            "gate",
            GATE,
            rounds=10,
            least_rounds=10,
            block_ms=5,
            gates=True,
            subjects=("hive",),
            what="10 rounds of what decides over a change, two pairs in each; as compare does",
        ),
        Plan(
            "nightly",
            NIGHTLY,
            rounds=30,
            least_rounds=10,
            block_ms=20,
            gates=True,
            subjects=(*FIRST_PEERS, "machine"),
            limit=3600.0,
            what="30 rounds of a long list, or as many as fit into an hour",
        ),
        Plan(
            "wide",
            EVERYTHING,
            rounds=10,
            least_rounds=5,
            what="10 rounds of everything: hours; to choose from by --scenario and --subject",
        ),
        Plan(
            "publish",
            PUBLISH,
            rounds=LEAST_PUBLISHED,
            least_rounds=LEAST_PUBLISHED,
            batches=2,
            block_ms=20,
            warmup_blocks=3,
            gates=True,
            subjects=(*PUBLISHED, "machine"),
            limit=2400.0,
            what="10 rounds of a curated list, twice: about 40 minutes",
        ),
    )
}


def plan(name: str) -> Plan:
    if name not in PLANS:
        raise unknown("plan", name, PLANS)
    return PLANS[name]


def narrowed(
    chosen: Plan,
    scenarios: list[str],
    rounds: int | None,
    placement: str | None,
    minutes: float | None = None,
    block_ms: int | None = None,
    labels: list[str] | None = None,
) -> Plan:
    """The plan with only these scenarios, only the points so labelled, another number of rounds, another placement,
    another limit of time."""
    for name in scenarios:
        if name not in SCENARIOS:
            raise unknown("scenario", name, SCENARIOS)
    points = tuple(p for p in chosen.points if not scenarios or p.scenario.name in scenarios)
    if placement:
        points = tuple(dataclasses.replace(p, placement=placement) for p in points)
    points = tuple(dict.fromkeys(points))
    known = {point.label: point for point in points}
    wanted = [" ".join(label.split()) for label in labels or ()]
    for label in wanted:
        if label not in known:
            raise unknown(f"point of the plan {chosen.name}", label, known)
    if wanted:
        points = tuple(known[label] for label in dict.fromkeys(wanted))
    if rounds is not None and rounds < 1:
        raise Fault(f"--rounds {rounds}", "a race needs at least one round", "--rounds 7", USAGE)
    part = scenarios or labels or placement
    if rounds is not None and chosen.name == "publish" and rounds < LEAST_PUBLISHED and not part:
        raise Fault(
            f"--plan publish --rounds {rounds}",
            f"what is published has {LEAST_PUBLISHED} rounds in each batch at least",
            f"--rounds {LEAST_PUBLISHED}, or --plan nightly --rounds {rounds}",
            USAGE,
        )
    if minutes is not None and minutes <= 0:
        raise Fault(f"--limit {minutes:g}", "no round fits into that", "--limit 45   (minutes)", USAGE)
    if block_ms is not None and block_ms < 1:
        raise Fault(f"--block-ms {block_ms}", "a block lasts at least a millisecond", "--block-ms 20", USAGE)
    count, limit = rounds or chosen.rounds, 60 * minutes if minutes else None if rounds else chosen.limit
    least = count if rounds and not minutes else min(count, chosen.least_rounds)
    return dataclasses.replace(
        chosen,
        points=points,
        rounds=count,
        least_rounds=least,
        limit=limit,
        block_ms=block_ms or chosen.block_ms,
    )
