"""How much others used the machine during a run: pressure (PSI) and foreign CPU time."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass

from ..base.environment import read

DISTURBED_PPM = 100_000  # a tenth of the machine went to others


def parse_psi_total(text: str) -> int | None:
    """Microseconds for which some task waited for a CPU, since boot."""
    match = re.search(r"^some .*total=(\d+)", text, re.MULTILINE)
    return int(match[1]) if match else None


def parse_busy_ticks(text: str) -> int | None:
    """Ticks that all CPUs spent on anything but idling, the hypervisor's share (steal) included."""
    match = re.search(r"^cpu +(.+)$", text, re.MULTILINE)
    if not match:
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = (list(map(int, match[1].split())) + [0] * 8)[:8]
    return user + nice + system + irq + softirq + steal


@dataclass(frozen=True)
class Sample:
    """The counters at one moment; None where the kernel does not tell. `own_cpu`: this process and the children that it
    has waited for."""

    at: float
    psi_us: int | None
    busy_ticks: int | None
    own_cpu: float


def sample() -> Sample:
    own = sum(os.times()[:4])
    return Sample(time.monotonic(), parse_psi_total(read("/proc/pressure/cpu")), parse_busy_ticks(read("/proc/stat")), own)


@dataclass(frozen=True)
class Disturbance:
    """What happened between two samples; None where the kernel does not tell."""

    psi_us: int | None
    foreign_ppm: int | None
    tick_ppm: int = 0  # what one tick on every CPU would look like: the grain of the count

    @property
    def disturbed(self) -> bool:
        return self.foreign_ppm is not None and self.foreign_ppm - self.tick_ppm > DISTURBED_PPM

    def columns(self) -> dict[str, str]:
        found = {"psi_cpu_some_us": self.psi_us, "foreign_cpu_ppm": self.foreign_ppm}
        return {column: "" if value is None else str(value) for column, value in found.items()}


def between(before: Sample, after: Sample, cpus: int | None = None, ticks_per_s: int | None = None) -> Disturbance:
    cpus, ticks_per_s = cpus or os.cpu_count() or 1, ticks_per_s or os.sysconf("SC_CLK_TCK")
    psi = None if None in (before.psi_us, after.psi_us) else max(0, after.psi_us - before.psi_us)
    seconds = after.at - before.at
    if None in (before.busy_ticks, after.busy_ticks) or seconds <= 0:
        return Disturbance(psi, None)
    foreign = max(0.0, (after.busy_ticks - before.busy_ticks) / ticks_per_s - (after.own_cpu - before.own_cpu))
    return Disturbance(psi, round(1e6 * foreign / (seconds * cpus)), round(1e6 / ticks_per_s / seconds))
