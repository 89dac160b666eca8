"""How long a race will take: runs × seconds of a run, guessed at first, then as measured."""

from __future__ import annotations

from collections import defaultdict

from .plans import Plan, Point

PROCESS = 0.06  # starting a program, judging it, ending it


def guess(plan: Plan, point: Point) -> float:
    """Seconds of one run by the treaty's arithmetic: calibration doubles up to a block, then the warm-up and the blocks."""
    params = dict(point.params)
    if point.scenario.name == "mixed_load":
        return PROCESS + 0.02 + 1.25 * point.plan_seconds  # compute alone comes first
    if point.scenario.open_loop:
        return PROCESS + point.plan_seconds + (0.1 if int(params.get("respawners", 0)) else 0)
    if point.scenario.name == "timer_lateness":
        pending = int(params.get("pending", 1))
        return PROCESS + int(params.get("ops", 1000)) * int(params.get("delay_us", 1000)) / 1e6 / pending
    if point.scenario.name == "wake_chain":
        return PROCESS + int(params.get("ops", 1000)) * (int(params.get("sleep_us", 100)) + 100) / 2e6
    if point.scenario.name == "idle_cpu":
        return PROCESS + 0.1 + int(params.get("seconds", 10))
    if point.measured and point.ops():
        return PROCESS  # blocks that last no time
    return PROCESS + (2 + min(3, plan.warmup_blocks) + plan.blocks) * plan.block_ms / 1000


class Eta:
    """The seconds that are left. `runs` says how many runs each point has in all."""

    def __init__(self, plan: Plan, runs: dict[Point, int]):
        self.plan, self.left_runs = plan, dict(runs)
        self.taken: dict[Point, list[float]] = defaultdict(lambda: [0, 0.0])

    def note(self, point: Point, seconds: float) -> None:
        """A run has ended. One more than planned was a repetition."""
        count, total = self.taken[point]
        self.taken[point] = [count + 1, total + seconds]
        self.left_runs[point] = max(0, self.left_runs.get(point, 0) - 1)

    def seconds_of(self, point: Point) -> float:
        count, total = self.taken[point]
        return total / count if count else guess(self.plan, point)

    def left(self) -> float:
        return sum(count * self.seconds_of(point) for point, count in self.left_runs.items())
