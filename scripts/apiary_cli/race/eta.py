"""How long a race will take: runs × seconds of a run, guessed at first, then as measured."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean

from .plans import Plan, Point
from .scenarios import OF_THE_PLAN

PROCESS = 0.06  # starting a program, judging it, ending it


def guess(plan: Plan, point: Point) -> float:
    """Seconds of one run: the process, and what the scenario says of itself."""
    if point.measured and point.ops():
        return PROCESS  # blocks that last no time
    scenario, said = point.scenario, dict(point.params)
    known = dict(scenario.defaults) | {key: int(said[key]) for key in scenario.run_s.names if key in said}
    known |= {key: getattr(plan, key) for key in OF_THE_PLAN}
    return PROCESS + scenario.run_s.value({"seconds": point.plan_seconds} | known)


class Eta:
    """The seconds that are left. `runs` says how many runs each point has in all."""

    def __init__(self, plan: Plan, runs: dict[Point, int]):
        self.plan, self.left_runs = plan, dict(runs)
        self.taken: dict[Point, list[float]] = defaultdict(list)

    def note(self, point: Point, seconds: float, again: bool = False) -> None:
        """A run has ended; `again`: one that repeats another, and so is none of those that are left."""
        self.taken[point].append(seconds)
        if not again:
            self.leave_out(point)

    def leave_out(self, point: Point) -> None:
        """A run that will not be."""
        self.left_runs[point] = max(0, self.left_runs.get(point, 0) - 1)

    def left(self) -> float:
        each = ((count, self.taken.get(point), point) for point, count in self.left_runs.items())
        return sum(count * (fmean(taken) if taken else guess(self.plan, point)) for count, taken, point in each)
