"""Short measurements of the machine itself: clock, sleep, wake. Seconds in all, and through Python,
so that each figure is an upper bound."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import time

from ..base import proc, repo, sources, stats
from ..verify import exact

_libc = ctypes.CDLL(None, use_errno=True)
PR_SET_TIMERSLACK, PR_GET_TIMERSLACK = 29, 30
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}


def clock_cost_ns(reads: int = 20_000) -> float:
    """The price of one read of CLOCK_MONOTONIC, the loop's own price taken off."""
    clock, times = time.monotonic_ns, range(reads)
    best = float("inf")
    for _ in range(5):
        start = clock()
        for _ in times:
            clock()
        middle = clock()
        for _ in times:
            pass
        best = min(best, ((middle - start) - (clock() - middle)) / reads)
    return max(0.0, best)


def timer_slack_ns() -> int:
    return _libc.prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)


def sleep_overshoot_ns(sleeps: int = 150, asked_ns: int = 1_000_000, slack_ns: int | None = 1) -> dict[str, float]:
    """How much later than asked a sleep of 1 ms ends, with the timer slack at 1 ns."""
    before, late = timer_slack_ns(), []
    if slack_ns is not None:
        _libc.prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(slack_ns), 0, 0, 0)
    try:
        for _ in range(sleeps):
            start = time.monotonic_ns()
            time.sleep(asked_ns / 1e9)
            late.append(time.monotonic_ns() - start - asked_ns)
    finally:
        _libc.prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(before), 0, 0, 0)
    return {"p50": stats.median(late), "p99": stats.quantile(late, 0.99), "max": float(max(late))}


def wake_ns(cpu_a: int, cpu_b: int, turns: int = 1500) -> dict[str, float] | None:
    """Half of a round trip over two eventfds between two processes, each pinned to a CPU."""
    there, back = os.eventfd(0), os.eventfd(0)
    child = os.fork()
    if child == 0:
        try:
            os.sched_setaffinity(0, {cpu_b})
            for _ in range(turns):
                os.eventfd_read(there)
                os.eventfd_write(back, 1)
        finally:
            os._exit(0)
    allowed, halves = os.sched_getaffinity(0), []
    try:
        os.sched_setaffinity(0, {cpu_a})
        for _ in range(turns):
            start = time.monotonic_ns()
            os.eventfd_write(there, 1)
            os.eventfd_read(back)
            halves.append((time.monotonic_ns() - start) / 2)
    except OSError:
        return None
    finally:
        os.sched_setaffinity(0, allowed)
        os.close(there)
        os.close(back)
        os.waitpid(child, 0)
    return {"p50": stats.median(halves), "p99": stats.quantile(halves, 0.99)}


def wakes() -> dict[str, dict[str, float] | None]:
    cpus = sorted(os.sched_getaffinity(0))
    return {"same_cpu": wake_ns(cpus[0], cpus[0]), "cross_cpu": wake_ns(cpus[0], cpus[1]) if len(cpus) > 1 else None}


def hardware_counters() -> bool:
    """Can this process count CPU cycles (perf_event_open of the hardware event)?"""
    number = PERF_EVENT_OPEN.get(os.uname().machine)
    if number is None:
        return False
    # struct perf_event_attr: type, size, config; at 40 the flags exclude_kernel and exclude_hv
    attr = struct.pack("=IIQ24xQ80x", 0, 128, 0, 1 << 5 | 1 << 6)
    fd = _libc.syscall(number, attr, 0, -1, -1, 0)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


HARNESS_PROGRAM = "harness_exact"


def harness_cost() -> dict[str, float | None]:
    """What measuring adds to each task: by the harness's own code in nanoseconds (bench/exact/harness_exact.cpp), and in
    instructions where `apiary exact` has counted this source. Empty where it is not built of this source."""
    program = next((path for path in repo.manifest("release", "exact") if path.name == HARNESS_PROGRAM), None)
    if program is None or not program.exists() or sources.of(repo.BUILD / "release", [program]):
        return {}
    done = proc.run([program, "cost"], timeout=30)
    found = re.findall(r"^(\w+)_ps=(\d+)$", done.out, re.MULTILINE) if done.ok else []
    counted = next((
        f["per_operation"] for f in (exact.recorded() or {}).get("figures", [])
        if (f["driver"], f["count"], f["operation"]) == (HARNESS_PROGRAM, "instructions", "ledger_complete")
    ), None)
    return {f"{name}_ns": round(int(value) / 1000, 1) for name, value in found} | ({"ledger_instructions": counted} if found else {})


def all_probes() -> dict:
    """What env.json records of them."""

    def rounded(told: dict[str, float] | None) -> dict[str, int] | None:
        return {name: round(value) for name, value in told.items()} if told else None

    return {
        "clock_read_ns": round(clock_cost_ns(), 1),
        "sleep_1ms_overshoot_ns": rounded(sleep_overshoot_ns()),
        "harness": harness_cost(),
        "wake_ns": {name: rounded(found) for name, found in wakes().items()},
    }
