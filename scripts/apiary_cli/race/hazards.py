"""Hazards: small programs, each of which a runtime meets once, in a child process with a limit of time and of memory. A cell is
yes (it survives), no (and how not), or – (the runtime cannot meet it)."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

from ..base import proc, repo
from ..base.errors import Fault, tail
from ..base.say import human, markdown
from . import quota

HOME = Path(__file__).resolve().parents[3] / "bench" / "hazards"
COLUMNS = ["runtime", "version", "hazard", "survives", "figure", "unit", "how", "limit_s", "limit_mib", "command"]
SHORT = re.compile(r"^it (was ended by )?|(?<=hang): .*|(?<=memory): .*|, above .*")  # what a cell of the page goes without
QUOTA = 50  # hundredths of a processor
LOOK_S = 0.02
TRIES = 5
GDB_S = 15.0
FOLDER = repo.BUILD / "hazards"
EXPECTED = {"hangs": "hang", "crashes": "was ended by SIGABRT", "loses": "99 of 100 ran", "grows": "memory", "burns": "1000 ms/s",
            "shrugs": "told no figure", "ends_early": "said nothing", "babbles": "said nothing", "lies": "status 4"}  # of the control; `works` is its yes


@dataclass(frozen=True)
class Hazard:
    name: str
    question: str
    seconds: float
    most: float = math.inf
    unit: str = ""
    clock: bool = False


@dataclass(frozen=True, kw_only=True)
class Limits:
    """`patience` multiplies the seconds; `clock`: figures by the clock are judged; `stacks`: a hang's stacks are asked of gdb."""

    workers: int = 2
    settle_ms: int = 10_000
    depth: int = 1_000_000
    memory_mib: int = 4096
    patience: float = 1.0
    clock: bool = True
    stacks: bool = True


@dataclass
class Cell:
    runtime: str
    hazard: str
    word: str
    how: str = ""
    figure: float | None = None
    unit: str = ""
    version: str = ""
    limit_s: float = 0.0
    limit_mib: int = 0
    command: str = ""
    stacks: str = field(default="", repr=False)

    def shown(self) -> str:
        """In a table: the word, and the figure or the reason."""
        said = self.how if self.word == "no" else ""
        if self.figure is not None and not said:
            said = priced(self.figure, self.unit)
        return f"{self.word}: {said}" if said else self.word

    def row(self) -> list:
        figure = "" if self.figure is None else f"{self.figure:.4g}"
        return [self.runtime, self.version, self.hazard, self.word, figure, self.unit, self.how, f"{self.limit_s:g}", self.limit_mib,
                self.command]


def read(path: Path = HOME / "hazards.toml") -> dict[str, Hazard]:
    with path.open("rb") as file:
        return {name: Hazard(name, **one) for name, one in tomllib.load(file).items()}


def ask(program: Path, word: str) -> str:
    done = proc.run([program, word], timeout=30)
    if not done.ok:
        raise Fault(f"{program.name} {word} {done.how()}", tail(done.err, 400), "scripts/apiary hazards builds it anew")
    return done.out


def offered(program: Path) -> list[tuple[str, str]]:
    """Which runtime of it meets which hazard."""
    pairs = [tuple(line.split()) for line in ask(program, "--list").splitlines()]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise Fault(f"{program.name} --list is no list of runtimes and hazards", "", "bench/hazards/README.md has the treaty")
    return pairs


class Watch:
    """Looks at what a child holds in memory, and ends it where that is too much; shortly before its time is over, asks for stacks."""

    def __init__(self, most_mib: int, stacks_at: float | None):
        self.most, self.stacks_at = most_mib << 20, stacks_at
        self.grew, self.stacks = False, ""

    def __call__(self, pid: int, seconds: float) -> float | None:
        with contextlib.suppress(OSError, IndexError, ValueError):
            held = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            if held > self.most:
                self.grew = True
                os.kill(pid, 9)
                return None
        if self.stacks_at is not None and seconds >= self.stacks_at:
            self.stacks_at, self.stacks = None, stacks_of(pid)
        return LOOK_S


def stacks_of(pid: int) -> str:
    """What gdb says of each thread, or nothing."""
    if not shutil.which("gdb"):
        return ""
    words = ["gdb", "-p", str(pid), "-batch", "-nx", "-ex", "set pagination off", "-ex", "thread apply all backtrace 16"]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=GDB_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    at = done.stdout.find("\nThread ")
    return done.stdout[at + 1 :] if at >= 0 else ""


def answer_of(out: str) -> dict | None:
    """The line of JSON that a program ends with; None where there is none."""
    try:
        told = json.loads(out.strip().splitlines()[-1])
    except (ValueError, IndexError, RecursionError):
        return None
    right = isinstance(told, dict) and isinstance(told.get("survived"), bool) and isinstance(told.get("told"), str)
    figure = told.get("figure", 0.0) if right else None
    return told if right and isinstance(figure, (int, float)) and not isinstance(figure, bool) and math.isfinite(figure) else None


def meet(program: Path, runtime: str, hazard: Hazard, limits: Limits, group: Path | None = None) -> Cell:
    """One cell. Whatever the program does, an answer comes within its limits."""
    words = [str(program), runtime, hazard.name, "--workers", str(limits.workers), "--settle-ms", str(limits.settle_ms)]
    words += ["--depth", str(limits.depth)] if limits.depth != Limits.depth else []
    seconds = hazard.seconds * limits.patience
    watch = Watch(limits.memory_mib, max(0.0, seconds - 2.0) if limits.stacks else None)
    done = proc.run(words, timeout=seconds, group=group, watch=watch, keep=1 << 16)
    told = answer_of(done.out) if done.rc in (0, 4) else None
    cell = Cell(runtime, hazard.name, "no", limit_s=seconds, limit_mib=limits.memory_mib, stacks=watch.stacks,
                command=shlex.join(["timeout", f"{seconds:g}", *words]))
    if watch.grew:
        cell.how = f"memory: more than {limits.memory_mib} MiB"
    elif done.timed_out:
        cell.how = f"hang: no end within {seconds:g} s"
    elif done.rc == 3:
        cell.word, cell.how = "–", done.err.strip()
    elif done.rc not in (0, 4):
        cell.how = f"it {done.how()}"
    elif told is None:
        cell.how = "it ended and said nothing"
    elif told["survived"] != (done.rc == 0):
        cell.how = f"its answer contradicts its status {done.rc}"
    else:
        cell.how = told["told"]
        if told["survived"]:
            if "figure" in told:  # a run that failed has no price: at_best would take it for a dear one
                cell.figure, cell.unit = float(told["figure"]), str(told.get("unit", ""))
            judge(cell, hazard, limits)
    return cell


def judge(cell: Cell, hazard: Hazard, limits: Limits) -> None:
    """It survived: for a price that is still a yes? Where a price is asked for and none is told, nothing was measured."""
    cell.word = "yes"
    if hazard.unit and (cell.figure is None or cell.unit != hazard.unit):
        cell.word, cell.how = "no", f"it told no figure in {hazard.unit}"
    elif cell.figure is not None and cell.figure > hazard.most and (limits.clock or not hazard.clock):
        cell.word, cell.how = "no", f"{cell.figure:.4g} {cell.unit}, above {hazard.most:g}"


def at_best(program: Path, runtime: str, hazard: Hazard, limits: Limits) -> Cell:
    """Of several runs the cheapest: other work on the machine makes a runtime dearer. A run that fails is the cell."""
    met = []
    for _ in range(TRIES):
        met.append(meet(program, runtime, hazard, limits))
        if met[-1].figure is None:
            return met[-1]
    return min(met, key=lambda cell: cell.figure)


def at_half(program: Path, runtime: str, hazard: Hazard, limits: Limits) -> Cell:
    """The work without and with the quota, several times each; the figure is the least processor time of the second over the least of
    the first."""
    least, free = {0: math.inf, QUOTA: math.inf}, dataclasses.replace(hazard, most=math.inf, unit="")
    for _ in range(TRIES):
        for hundredths in least:
            try:
                with quota.group(hundredths) as procs:
                    before = spent_s()
                    cell = meet(program, runtime, free, limits, procs)
                    least[hundredths] = min(least[hundredths], spent_s() - before)
            except OSError as error:
                return Cell(runtime, hazard.name, "–", f"no quota can be set here: {error}", command=f"{program} {runtime} {hazard.name}")
            if cell.word != "yes":
                return cell
    cell.figure, cell.unit = least[QUOTA] / max(least[0], 1e-6), "times"
    cell.command += f"   in a control group with {QUOTA / 100:g} processors"
    judge(cell, hazard, limits)
    return cell


def spent_s() -> float:
    """Processor time of the children that have ended. Finer than os.times, which counts in ticks of 10 ms."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def control_flaws(limits: Limits) -> list[str]:
    """The broken runtime must come out broken, each way as it is, and its sound way as sound: else no cell can be believed."""
    flaws, program = [], HOME / "control.py"
    strict = Limits(settle_ms=0, memory_mib=96, stacks=False)
    for runtime, way in offered(program):
        seconds = 1.0 if way == "hangs" else 20.0
        cell = meet(program, runtime, Hazard(way, "", seconds, 10.0, "ms/s"), strict)
        wanted = EXPECTED.get(way)
        if cell.word != ("no" if wanted else "yes") or (wanted or "") not in cell.how:
            flaws.append(f"the control {way} came out as '{cell.shown()}'")
    return flaws


def cells(programs: list[Path], hazards: dict[str, Hazard], runtimes: list[str], limits: Limits) -> Iterator[Cell]:
    """A cell for each hazard and runtime, in the order of the list; – for what the runtime does not offer."""
    for program in programs:
        pairs, version = offered(program), ask(program, "--version").strip()
        for runtime in dict.fromkeys(pair[0] for pair in pairs):
            if runtimes and runtime not in runtimes:
                continue
            for name, hazard in hazards.items():
                if (runtime, name) in pairs:
                    way = at_half if name == "half_quota" else at_best if hazard.clock or hazard.unit == "times" else meet
                    cell = way(program, runtime, hazard, limits)
                else:
                    cell = Cell(runtime, name, "–", "it has no such call")
                cell.version = version
                keep_stacks(cell)
                yield cell


def keep_stacks(cell: Cell) -> None:
    """Beside the build: where a hang hung."""
    path = FOLDER / f"{cell.runtime}-{cell.hazard}.txt"
    if cell.stacks:
        repo.write_text(path, f"{cell.command}\n\n{cell.stacks}")
    else:
        path.unlink(missing_ok=True)


OURS_FIRST = 7  # runtimes in the first table of the page, the others in the second


def page_tables(rows: list[dict[str, str]], hazards: dict[str, Hazard]) -> list[list[str]]:
    """As Markdown, of ours and of the others: a line for each hazard, a column for each runtime."""
    by = {(row["runtime"], row["hazard"]): row for row in rows}
    runtimes = list(dict.fromkeys(row["runtime"] for row in rows))
    return [lines_of(part, by, hazards) for part in (runtimes[:OURS_FIRST], runtimes[OURS_FIRST:]) if part]


def lines_of(runtimes: list[str], by: dict[tuple[str, str], dict[str, str]], hazards: dict[str, Hazard]) -> list[str]:
    rows = [[f"`{name}`", *(in_table(by.get((runtime, name))) for runtime in runtimes)] for name in hazards]
    return markdown(["", *runtimes], [row for row in rows if set(row[1:]) != {"–"}])


def priced(figure: float, unit: str) -> str:
    return human(1e3 * figure) if unit == "us" else f"×{figure:.2f}" if unit == "times" else f"{figure:.2g} {unit}"


def in_table(row: dict[str, str] | None) -> str:
    if row is None or row["survives"] == "–":
        return "–"
    if row["survives"] == "no":
        return f"**no**: {SHORT.sub('', row['how'])}"
    figure = priced(float(row["figure"]), row["unit"]) if row["figure"] else ""
    return " ".join(filter(None, ("yes", figure or ("(refused)" if row["how"].startswith("refused") else ""))))
