"""doctor: what this machine can and cannot measure."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict, dataclass
from typing import Iterator

from ..base import environment as env, json_result, packages
from ..base.environment import read
from ..base.say import colour, heading, human, say
from ..race import probes
from ..race.disturbance import parse_psi_total

SUMMARY = "what this machine can and cannot measure"
DESCRIPTION = """\
Looks at the CPUs, the kernel and the toolchain, and measures the clock, sleeps and wakes for a
few seconds. Each line says what was seen and what follows from it for measurements.

writes:  nothing
takes:   about three seconds
exit:    0; 1 when the toolchain is not complete"""

GOOD, NOTE, BAD = "good", "note", "bad"
SIGN = {GOOD: ("ok  ", "green"), NOTE: ("note", "yellow"), BAD: ("bad ", "red")}


@dataclass(frozen=True)
class Finding:
    """One line: what was seen, what follows."""

    topic: str
    level: str
    seen: str
    follows: str


def arguments(parser: argparse.ArgumentParser) -> None:
    """It has no options of its own."""


def judged(topic: str, seen: str, *cases: tuple[object, str, str]) -> Finding:
    """The first case that holds says the level and what follows."""
    level, follows = next((level, follows) for holds, level, follows in cases if holds)
    return Finding(topic, level, seen, follows)


def looks() -> Iterator[Finding]:
    """What can be read."""
    machine, count = env.machine(), os.cpu_count() or 1
    usable, hypervisor, quota = len(machine["affinity"]), machine["hypervisor"], machine["cgroup_cpu_max"]
    governor, turbo = machine["governor"], machine["turbo"]
    yield judged(
        "cpus", f"{count} CPUs online, {usable} usable",
        (usable < 2, BAD, "no two threads ever run at once: races measure the switcher, stress finds little"),
        (usable < 4, NOTE, "producers and workers share CPUs; scaling beyond 2 workers cannot be measured"),
        (True, GOOD, f"up to {usable - 1} workers beside one producer"))
    bare = hypervisor == "none seen"
    yield judged(
        "virtualisation", "no hypervisor seen" if bare else f"hypervisor: {hypervisor}",
        (bare, GOOD, "the CPUs are this machine's own"),
        (True, NOTE, "neighbours are invisible: only paired rounds and the controls protect the figures"))
    yield judged(
        "frequency", f"governor {governor}, turbo {turbo}",
        (governor == "performance" and turbo == "off", GOOD, "the clock rate is steady"),
        (governor == env.UNREADABLE, NOTE, "the clock rate may wander unseen; compare paired rounds only"),
        (True, NOTE, "the clock rate wanders; for steady absolute figures: cpupower frequency-set -g performance"))
    yield judged(
        "cgroup", f"cpu.max {quota}",
        (quota in (env.UNREADABLE, "none") or quota.startswith("max"), GOOD, "no CPU quota is seen"),
        (True, BAD, "a quota stops all threads at once: latency tails are the quota's"))
    total = parse_psi_total(read("/proc/pressure/cpu"))
    yield judged(
        "pressure (PSI)", "/proc/pressure/cpu is not readable" if total is None else f"readable, {total / 1e6:.0f} s since boot",
        (total is None, NOTE, "disturbance is judged by foreign CPU time alone"), (True, GOOD, "recorded with every run"))
    works, paranoid = probes.hardware_counters(), env.first("/proc/sys/kernel/perf_event_paranoid")
    yield judged(
        "perf counters", f"hardware cycle counter {'works' if works else 'does not open'}, perf_event_paranoid {paranoid}",
        (works, GOOD, "cycles and misses can be counted"),
        (True, NOTE, "no cycles, no cache misses: times and instruction counts (callgrind) only"))
    text = read("/proc/loadavg")
    load = float(text.split()[0]) if text[:1].isdigit() else 0.0
    busy = load > 0.5 * count
    yield judged(
        "load", f"load average {load:.2f}" + (f" on {count} CPUs" if busy else ""),
        (busy, BAD, "something else is running: rounds will be repeated as disturbed"), (True, GOOD, "quiet"))


def probed() -> Iterator[Finding]:
    """What must be measured, but for the clock."""
    overshoot = probes.sleep_overshoot_ns(600)
    middle, late = human(overshoot["p50"]), overshoot["p99"]
    slack = human(probes.timer_slack_ns())
    below = f"latencies and timer lateness below {middle} cannot be told from the kernel's own"
    yield judged(
        "sleep", f"1 ms sleeps end late by p50 {middle}, p99 {human(late)} (slack 1 ns; default slack {slack})",
        (late > 1e6, BAD, "the injector will be late: latency rows will be marked injector_limited"),
        (late < 2e5, GOOD, below), (True, NOTE, below))
    for name, found in probes.wakes().items():
        topic = f"wake, {name.replace('_', ' ')}"
        if not found:
            yield Finding(topic, NOTE, "not measured (one CPU)", "")
            continue
        yield judged(
            topic, f"p50 {human(found['p50'])}, p99 {human(found['p99'])} through an eventfd (Python's share included)",
            (name == "cross_cpu" and found["p50"] > 2e4, NOTE,
             "waking an idle CPU is dear here: schedulers that keep a worker spinning look better than elsewhere"),
            (True, GOOD, "the floor under every latency that involves a sleeping worker"))


def clock(cost: float) -> Finding:
    return judged(
        "clock", f"clocksource {env.machine()['clocksource']}, a read takes at most {cost:.0f} ns",
        (cost > 250, BAD, "each read enters the kernel: stamps distort tasks under a microsecond"),
        (True, GOOD, "stamps are cheap; nothing under 1 µs is timed singly all the same"))


def tools() -> list[Finding]:
    """Versions of the toolchain, and what is missing."""
    out = [Finding(package.name, BAD, "missing", f"scripts/apiary setup   ({package.why})")
           for package in packages.missing(packages.REQUIRED)]
    absent = {name: packages.missing(needs) for name, needs in packages.PEERS.items()}
    lacking = [f"{name} ({' '.join(one.name for one in found)})" for name, found in absent.items() if found]
    if lacking:
        follows = "comes with a plan that names them; scripts/apiary setup --peers"
        out.append(Finding("peers", NOTE, f"not there: {', '.join(lacking)}", follows))
    seen = [packages.tool_version(name) for name in ("g++", "cmake", "hyperfine")]
    seen += [f"ninja {packages.tool_version('ninja')}".strip()]
    out.append(Finding("toolchain", GOOD, "; ".join(filter(None, seen)) or "none", "recorded in env.json"))
    cargo, others = packages.find_cargo()
    version = packages.tool_version(cargo) if cargo else "; ".join(others) or "none found"
    out.append(Finding("cargo", GOOD if cargo else BAD, version, "" if cargo else "scripts/apiary setup"))
    return out


def show(found: list[Finding]) -> None:
    for one in found:
        word, tint = SIGN[one.level]
        say(f"{colour(word, tint)}  {one.topic:<17} {one.seen}")
        if one.follows:
            say(f"      {'':<17} → {one.follows}")


def run(args: argparse.Namespace) -> int:
    heading("this machine")
    machine = [*looks(), clock(probes.clock_cost_ns()), *probed()]
    show(machine)
    heading("the toolchain")
    toolchain = tools()
    json_result.note(machine=list(map(asdict, machine)), toolchain=list(map(asdict, toolchain)))
    show(toolchain)
    return 1 if any(one.level == BAD for one in toolchain) else 0
