"""What is compared of a scenario's rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Callable, ClassVar

from .tables import flags_of


@dataclass(frozen=True)
class Metric:
    """A column of rows.csv that is compared."""

    unit: ClassVar[str] = "ns"
    better: ClassVar[str] = "lower"  # columns of compare.csv, of one value so far

    column: str
    what: str = field(compare=False)  # in words: the same figure may be of a task, of a computation
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
        return self == PROCESSOR

    @property
    def spent(self) -> bool:
        """Processor time: what it takes, not how long."""
        return self.column.startswith("cpu_ns")


OPERATION = "task"  # what a row counts in `ops`, unless the scenario says otherwise


def counting(metric: Metric, operation: str) -> Metric:
    """The metric where a row's `ops` counts such operations."""
    return replace(metric, what=metric.what.replace(f"per {OPERATION}", f"per {operation}"))


UNIT = re.compile(r"(?:^|;)(fork|node|message|spawn|task)s_per_op=([1-9][0-9]*)(?:;|$)")


def unit_of(row: dict[str, str]) -> tuple[str, int] | None:
    """fork, node, message, spawn or task, and how many of them an operation has."""
    found = UNIT.search(row["flags"])
    return (found[1], int(found[2])) if found else None


def posts_alone(row: dict[str, str]) -> bool:
    """Whether cpu_ns is what the posts cost: nothing computes beside them, and the injector's sleeps are not in it, as
    they are in older rows."""
    flags = flags_of(row)
    return "injector_us" in flags and "starved_ppm" not in flags


THROUGHPUT = (Metric("ns_per_op", f"time per {OPERATION}"),)
PROCESSOR = Metric("cpu_ns_per_op", f"processor time per {OPERATION}", ("cpu_ns", "ops"))
IDLE_COST = (Metric("cpu_ns", "processor time while idle"),)
POST_COST = Metric("cpu_ns_per_post", "processor time per post", ("cpu_ns", "ops"), posts_alone)
REQUEST_COST = Metric("cpu_ns_per_request", f"processor time per {OPERATION}", ("cpu_ns", "ops"))
TIMER_COST = Metric("cpu_ns_per_timer", "processor time per timer", ("cpu_ns", "ops"))
LATENCY, LATENESS = (
    tuple(Metric(f"lat_p{n}_ns", f"{kind} p{n}") for n in (50, 90, 99)) for kind in ("latency", "lateness")
)
TAIL = (Metric("lat_p999_ns", "latency p99.9"),)

# By the names that scenarios.toml calls them.
NAMED = {
    "time": THROUGHPUT,
    "latency": LATENCY,
    "lateness": LATENESS,
    "post_cost": (POST_COST,),
    "tail": TAIL,
    "timer_cost": (TIMER_COST,),
    "request_cost": (REQUEST_COST,),
    "idle_cost": IDLE_COST,
}
