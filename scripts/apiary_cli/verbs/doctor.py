"""doctor: what this machine can and cannot measure."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict, dataclass

from ..base import decided, environment as env, packages
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
    parser.add_argument("--no-probes", action="store_true", help="look only, measure nothing")


def cpus(count: int, affinity: int) -> Finding:
    seen = f"{count} CPUs online, {affinity} usable"
    if affinity < 2:
        return Finding("cpus", BAD, seen, "no two threads ever run at once: races measure the switcher, stress finds little")
    if affinity < 4:
        return Finding("cpus", NOTE, seen, "producers and workers share CPUs; scaling beyond 2 workers cannot be measured")
    return Finding("cpus", GOOD, seen, f"up to {affinity - 1} workers beside one producer")


def virtual(name: str) -> Finding:
    if name == "none seen":
        return Finding("virtualisation", GOOD, "no hypervisor seen", "the CPUs are this machine's own")
    return Finding("virtualisation", NOTE, f"hypervisor: {name}",
                   "neighbours are invisible: only paired rounds and the controls protect the figures")


def frequency(governor: str, turbo: str) -> Finding:
    seen = f"governor {governor}, turbo {turbo}"
    if governor == "performance" and turbo == "off":
        return Finding("frequency", GOOD, seen, "the clock rate is steady")
    if governor == env.UNREADABLE:
        return Finding("frequency", NOTE, seen, "the clock rate may wander unseen; compare paired rounds only")
    return Finding("frequency", NOTE, seen,
                   "the clock rate wanders; for steady absolute figures: cpupower frequency-set -g performance")


def pressure(total: int | None) -> Finding:
    if total is None:
        return Finding("pressure (PSI)", NOTE, "/proc/pressure/cpu is not readable", "disturbance is judged by foreign CPU time alone")
    return Finding("pressure (PSI)", GOOD, f"readable, {total / 1e6:.0f} s since boot", "recorded with every run")


def counters(works: bool, paranoid: str) -> Finding:
    level, word, follows = ((GOOD, "works", "cycles and misses can be counted") if works else
                            (NOTE, "does not open", "no cycles, no cache misses: times and instruction counts (callgrind) only"))
    return Finding("perf counters", level, f"hardware cycle counter {word}, perf_event_paranoid {paranoid}", follows)


def load(text: str, count: int) -> Finding:
    one = float(text.split()[0]) if text[:1].isdigit() else 0.0
    if one > 0.5 * count:
        return Finding("load", BAD, f"load average {one:.2f} on {count} CPUs",
                       "something else is running: rounds will be repeated as disturbed")
    return Finding("load", GOOD, f"load average {one:.2f}", "quiet")


def clock(source: str, cost: float | None) -> Finding:
    seen = f"clocksource {source}" + (f", a read takes at most {cost:.0f} ns" if cost is not None else "")
    if cost is not None and cost > 250:
        return Finding("clock", BAD, seen, "each read enters the kernel: stamps distort tasks under a microsecond")
    return Finding("clock", GOOD, seen, "stamps are cheap; nothing under 1 µs is timed singly all the same")


def sleep(overshoot: dict[str, float], slack: int) -> Finding:
    middle, late = human(overshoot["p50"]), overshoot["p99"]
    seen = f"1 ms sleeps end late by p50 {middle}, p99 {human(late)} (slack 1 ns; default slack {human(slack)})"
    if late > 1e6:
        return Finding("sleep", BAD, seen, "the injector will be late: latency rows will be marked injector_limited")
    return Finding("sleep", GOOD if late < 2e5 else NOTE, seen,
                   f"latencies and timer lateness below {middle} cannot be told from the kernel's own")


def wake(name: str, found: dict[str, float] | None) -> Finding:
    topic = f"wake, {name.replace('_', ' ')}"
    if not found:
        return Finding(topic, NOTE, "not measured (one CPU)", "")
    seen = f"p50 {human(found['p50'])}, p99 {human(found['p99'])} through an eventfd (Python's share included)"
    if name == "cross_cpu" and found["p50"] > 2e4:
        return Finding(topic, NOTE, seen, "waking an idle CPU is dear here: schedulers that keep a worker spinning look better than elsewhere")
    return Finding(topic, GOOD, seen, "the floor under every latency that involves a sleeping worker")


def cgroup(limit: str) -> Finding:
    if limit in (env.UNREADABLE, "none") or limit.startswith("max"):
        return Finding("cgroup", GOOD, f"cpu.max {limit}", "no CPU quota is seen")
    return Finding("cgroup", BAD, f"cpu.max {limit}", "a quota stops all threads at once: latency tails are the quota's")


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


def findings(measure: bool) -> list[Finding]:
    machine, count = env.machine(), os.cpu_count() or 1
    out = [cpus(count, len(machine["affinity"])), virtual(machine["hypervisor"]),
           frequency(machine["governor"], machine["turbo"]), cgroup(machine["cgroup_cpu_max"]),
           pressure(parse_psi_total(read("/proc/pressure/cpu"))),
           counters(probes.hardware_counters(), env.first("/proc/sys/kernel/perf_event_paranoid")),
           load(read("/proc/loadavg"), count),
           clock(machine["clocksource"], probes.clock_cost_ns() if measure else None)]
    if measure:
        out.append(sleep(probes.sleep_overshoot_ns(600), probes.timer_slack_ns()))
        out += [wake(name, found) for name, found in probes.wakes().items()]
    return out


def show(found: list[Finding]) -> None:
    for one in found:
        word, tint = SIGN[one.level]
        say(f"{colour(word, tint)}  {one.topic:<17} {one.seen}")
        if one.follows:
            say(f"      {'':<17} → {one.follows}")


def run(args: argparse.Namespace) -> int:
    heading("this machine")
    machine = findings(not args.no_probes)
    show(machine)
    heading("the toolchain")
    toolchain = tools()
    decided.note(machine=list(map(asdict, machine)), toolchain=list(map(asdict, toolchain)))
    show(toolchain)
    return 1 if any(one.level == BAD for one in toolchain) else 0
