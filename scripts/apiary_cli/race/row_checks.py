"""Whether a row can be true: compares its columns with each other, with the call, and with the runner's own measurements of
the process. bench/contract/TRUST.md says what each bound catches, within which factor, and what is taken on trust.

Every bound holds for honest subjects however busy the machine is: it is either arithmetic, or it leaves at least
twice the room that any subject of this repository has needed beside a load of five."""

from __future__ import annotations

import itertools
import os
import re
from dataclasses import dataclass

from .ledger import mix
from .plans import Point
from .tables import flags_of

LEAST_NS = 2.0  # of a task: it ends with an atomic addition to one word, which no processor does faster
BUSY = 2.5  # times as much processor time as the wall allows: workers may spin between the iterations of a block
SLACK_CPU_S = 0.02  # processor time that the process and the row may differ by, beside the start of the program
BESIDE_TASKS = ("mixed_load", "echo_beside")  # measured beside tasks that compute, which come first, alone
REAL = re.compile(r"[0-9]{1,20}(\.[0-9]{1,9})?")
WHOLE = re.compile(r"[0-9]{1,20}")
REALS = {"ns_per_op", "ops_per_s", "offered_per_s", "achieved_per_s"}
FLAGS = re.compile(r"[a-z][a-z0-9_]*(=-?[0-9]{1,18})?(;[a-z][a-z0-9_]*(=-?[0-9]{1,18})?)*")
RUNNERS_FLAGS = {"disturbed"}  # which only the runner may set
ORDER = ("lat_min_ns", "lat_p50_ns", "lat_p90_ns", "lat_p95_ns", "lat_p99_ns", "lat_p999_ns", "lat_max_ns")

Row = dict[str, str]


@dataclass(frozen=True)
class Asked:
    """The arguments of a run with which its row must agree."""

    blocks: int
    warmup_blocks: int
    workers: int
    posts: int | None = None  # of the plan
    last_ns: int | None = None  # its last intended time


@dataclass(frozen=True)
class Seen:
    """The runner's measurements of the process. `start_cpu_s`: processor time to start the program and ask its name."""

    seconds: float
    cpu_seconds: float
    start_cpu_s: float = 0.0


def malformed_cell(row: Row, words: set[str]) -> str:
    """A cell that is no number of the treaty's form, or flags that are none."""
    for column, cell in row.items():
        form, kind = (REAL, "a number") if column in REALS else (WHOLE, "a whole number")
        if column not in words and cell and not form.fullmatch(cell):
            return f"{column} is {shown(cell)}, not {kind} in plain digits"
    if row["flags"] and not FLAGS.fullmatch(row["flags"]):
        return f"flags is {shown(row['flags'])}, not names or name=integer, joined by semicolons"
    taken = RUNNERS_FLAGS & flags_of(row).keys()
    return f"flags holds {', '.join(taken)}, which is the runner's to say" if taken else ""


def shown(text: str, most: int = 60) -> str:
    return repr(text if len(text) <= most else text[:most] + "…")


def of_blocks(point: Point) -> bool:
    return point.scenario.frame == "blocks"


def contradiction(row: Row, point: Point, asked: Asked) -> str:
    """How the columns of a good row contradict each other or the call; an empty string where they do not."""
    told = [(column, int(row[column])) for column in ORDER if row[column]]
    for (low, a), (high, b) in itertools.pairwise(told):
        if a > b:
            return f"{low} is {a}, above {high}, which is {b}"
    if of_blocks(point):
        return blocks_flaw(row, asked)
    if row["blocks"] not in ("", "1"):
        return f"blocks is {row['blocks']}, this scenario has one"
    ops, count = int(row["ops"] or 0), int(row["lat_count"] or 0)
    if point.scenario.discards_tenth and count != (kept := samples(row, point, ops)):
        return f"lat_count is {count}: of {ops} operations the first tenth is discarded, and {kept} are measured"
    if point.scenario.open_loop:
        return open_loop_flaw(row, asked) or served_flaw(row, point) or beside_flaw(row, point, asked.workers)
    return paced_flaw(row, point)


def samples(row: Row, point: Point, ops: int) -> int:
    """How many operations are in the histogram: all but the first tenth, and of those the short ones where the point says so."""
    if dict(point.params).get("latency_of") != "short":
        return ops - ops // 10
    start = mix(int(row["seed"]))  # CLI.md, latency_vs_load
    return sum((mix((start + i) % 2**64) >> 11) * 2.0**-53 < 0.995 for i in range(ops // 10, ops))


def blocks_flaw(row: Row, asked: Asked) -> str:
    ops, wall, each = int(row["ops"]), int(row["wall_ns"]), float(row["ns_per_op"])
    if abs(each * ops - wall) > 0.001 * ops + 1:
        return f"ns_per_op × ops is {each * ops:.0f}, wall_ns is {wall}"
    if row["ops_per_s"] and abs(float(row["ops_per_s"]) * wall - 1e9 * ops) > 1e-6 * 1e9 * ops + 0.001 * wall:
        return f"ops_per_s is {row['ops_per_s']}, {ops} operations in {wall} ns are {1e9 * ops / wall:.3f}"
    if each < LEAST_NS:
        return f"ns_per_op is {each}: the atomic addition at the end of a task alone takes longer"
    if row["blocks"] != str(asked.blocks):
        return f"blocks is {row['blocks']}, asked for {asked.blocks}"
    warm, steady = int(row["warmup_blocks"] or 0), row["steady"]
    if warm > asked.warmup_blocks:
        return f"warmup_blocks is {warm}, asked for at most {asked.warmup_blocks}"
    if steady not in ("0", "1") or (steady == "1" and warm < 2) or (steady == "0" and warm != asked.warmup_blocks):
        return f"steady is {steady!r} after {warm} of {asked.warmup_blocks} warm-up blocks"
    return ""


def open_loop_flaw(row: Row, asked: Asked) -> str:
    posts, last = asked.posts, asked.last_ns
    if posts is None or not last:
        return ""
    if not row["offered_per_s"] or not row["achieved_per_s"]:
        return "offered_per_s or achieved_per_s is empty"
    offered, achieved, due = float(row["offered_per_s"]), float(row["achieved_per_s"]), 1e9 * posts / last
    if abs(offered - due) > 0.001 + 1e-6 * due:
        return f"offered_per_s is {offered}, the plan's {posts} posts in {last} ns are {due:.3f}"
    if achieved > offered + 0.001 + 1e-6 * offered:
        return f"achieved_per_s is {achieved}, more than the plan offers ({offered})"
    share = achieved / offered
    if ("overloaded" in flags_of(row)) != (share < 0.99) and abs(share - 0.99) > 1e-4:
        return f"the flag overloaded contradicts achieved_per_s over offered_per_s, {share:.3f}"
    return ""


def served_flaw(row: Row, point: Point) -> str:
    """A server's wall time ends with the last answer, as the rate that it achieved does."""
    if not point.scenario.served or not row["achieved_per_s"]:
        return ""
    ops, wall, achieved = int(row["ops"]), int(row["wall_ns"] or 0), float(row["achieved_per_s"])
    if abs(achieved * wall - 1e9 * ops) > 1e-6 * 1e9 * ops + 0.001 * wall:
        return f"achieved_per_s is {achieved}, {ops} operations in {wall} ns are {1e9 * ops / max(wall, 1):.3f}"
    return ""


def beside_flaw(row: Row, point: Point, workers: int) -> str:
    """More tasks that compute than there was time for. As many as were handed in may have been under way when it began.
    That time is a server's own: it begins before the load program, whose wall time this is, hears that it may ask."""
    if point.scenario.name not in BESIDE_TASKS:
        return ""
    flags, params = flags_of(row), dict(point.params)
    if missing := [name for name in ("compute_tasks", "compute_ns") if not flags.get(name)]:
        return f"flags holds no {missing[0]}"
    time, wall = int(flags["compute_ns"]), int(row["wall_ns"] or 0)
    if time < 0.999 * wall:
        return f"compute_ns is {time}, less than wall_ns, which is {wall}"
    wanted = int(params.get("compute_workers", workers))
    threads = workers if params.get("beside") == "workers" else wanted
    each = 1000 * int(params.get("compute_us", 2000))
    most = 2 * wanted + 1.1 * min(threads, usable_processors(point)) * time / each
    if int(flags["compute_tasks"]) > most:
        return f"compute_tasks is {flags['compute_tasks']}, there was time for {most:.0f} of {each} ns each"
    starved = flags.get("starved_ppm", "0")
    return f"starved_ppm is {starved}" if int(starved) > 1_000_000 else ""


def paced_flaw(row: Row, point: Point) -> str:
    """Timers that fire in chains, and idle time: they cannot take less than they wait."""
    params, least = dict(point.params), 0.0
    if point.scenario.name == "timer_lateness":
        least = 1000.0 * int(params.get("delay_us", 1000)) * -(-int(row["ops"]) // int(params.get("pending", 1)))
    elif point.scenario.name == "idle_cpu":
        seconds, rate = int(params.get("seconds", 10)), int(params.get("rate", 0))
        least = 1e9 * seconds
        if row["ops"] != str(rate * seconds):
            return f"ops is {row['ops']}, {rate} a second for {seconds} s were asked for"
    elif point.scenario.name == "wake_chain":
        rounds = -(-int(row["ops"]) // int(row["workers"]))
        least = 1000.0 * int(params.get("sleep_us", 100)) * (rounds - 1)
    if row["wall_ns"] and float(row["wall_ns"]) < 0.999 * least:
        return f"wall_ns is {row['wall_ns']}, its waits alone take {least:.0f}"
    return ""


def processors(point: Point, workers: int) -> int:
    """How many threads of the run can be running at once."""
    params = dict(point.params)
    posters = max(int(params.get(name, 1)) for name in ("producers", "threads"))
    return max(1, min(usable_processors(point), workers + posters + 1))


def usable_processors(point: Point) -> int:
    """The subject's; one of them is the load program's where there are two."""
    usable = 1 if point.placement == "one_cpu" else len(os.sched_getaffinity(0))
    return max(1, usable - point.scenario.served)


def own_cpu_s(row: Row) -> float:
    """Processor time by the row: the subject's, and what the injector of the harness took for itself."""
    return float(row["cpu_ns"] or 0) / 1e9 + int(flags_of(row).get("injector_us") or 0) / 1e6


def least_work(row: Row, point: Point, workers: int) -> str:
    """Where the scenario fixes how long a task is busy."""
    params, name, service = dict(point.params), point.scenario.name, 0
    if name == "steal_pressure":
        work = int(params.get("work_ns", 1000))
        usable = min(processors(point, workers), workers)
        if float(row["ns_per_op"]) < 0.5 * work / usable:
            return f"ns_per_op is {row['ns_per_op']}: each task is busy for {work} ns, on {usable} processors at most"
    elif name == "targeted_latency":
        service = int(params.get("service_ns", 0))
    elif name == "latency_vs_load":
        service = {"fixed": 1000, "bimodal": 500}.get(params.get("service", "fixed"), 0) * int(params.get("scale", 1))
    if service >= 2000 and float(row["lat_min_ns"]) < 0.99 * service:
        return f"lat_min_ns is {row['lat_min_ns']}: each service takes {service} ns"
    return ""


def beyond_the_process(row: Row, point: Point, asked: Asked, seen: Seen) -> str:
    """What the row claims and the process as the runner saw it cannot both have been."""
    wall, cpu = float(row["wall_ns"] or 0), own_cpu_s(row)
    # At least half of the blocks took as long as their median.
    longest = wall / 1e9 * (asked.blocks - (asked.blocks - 1) // 2 if of_blocks(point) else 1)
    if point.scenario.open_loop and asked.last_ns and row["achieved_per_s"]:
        longest = max(longest, asked.last_ns / 1e9, asked.posts / float(row["achieved_per_s"]))
    longest = max(longest, int(flags_of(row).get("compute_ns") or 0) / 1e9)
    if longest > seen.seconds + 0.001:
        return f"by the row it took {longest:.3f} s at least, the whole process lasted {seen.seconds:.3f} s"
    told = f"by the row it used {cpu:.3f} s of processor time, the whole process {seen.cpu_seconds:.3f} s"
    if cpu > 1.05 * seen.cpu_seconds + SLACK_CPU_S:
        return told
    found = least_work(row, point, asked.workers)
    if found or not row["cpu_ns"]:
        return found
    spent = float(row["cpu_ns"])
    if spent <= 0 and float(row["ops"] or 0) > 0:
        return "cpu_ns is 0, although there was work"
    if of_blocks(point):
        most = BUSY * processors(point, asked.workers) * wall + 2e6
        return f"cpu_ns is {row['cpu_ns']}: in wall_ns={row['wall_ns']} no more than {most:.0f} can be used" if spent > most else ""
    if point.scenario.served and spent > 1e9 * (most := 1.05 * usable_processors(point) * seen.seconds + SLACK_CPU_S):
        return f"cpu_ns is {row['cpu_ns']}: beside the load program no more than {most:.3f} s can be used"
    # Where others work beside what is counted: long tasks, a main thread, the load program.
    beside = point.scenario.name in (*BESIDE_TASKS, "idle_cpu") or point.scenario.served
    untold = seen.cpu_seconds - cpu - 3 * seen.start_cpu_s - SLACK_CPU_S - 0.15 * seen.cpu_seconds
    return told if untold > 0 and not beside else ""
