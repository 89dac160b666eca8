"""What each part of `check` costs: processor time, and where its jobs spent theirs; and whether that has grown.

Processor time depends on the machine, and on what else runs there, much less than time does, but it does. So beside the
parts stands a yardstick, one compilation that no change of this tree touches: what is compared is a part's share of it."""

from __future__ import annotations

import csv
import resource
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from ..base import proc, repo
from ..base.errors import Fault

RECORD = repo.RESULTS / "check_cost.csv"
COLUMNS = ["part", "processor_s", "yardstick_s", "compile_s", "link_s", "run_s"]
GROWN = 1.10
YARDSTICK = """#include <functional>
#include <map>
#include <regex>
#include <string>
int main(int n, char** words) {
    std::map<std::string, std::function<int(const std::smatch&)>> found;
    for (int i = 1; i < n; ++i) found[words[i]] = [i](const std::smatch& m) { return i + static_cast<int>(m.size()); };
    std::smatch m;
    const std::string text = words[0];
    return std::regex_search(text, m, std::regex("(a|b)*c[0-9]+")) ? found.begin()->second(m) : 0;
}
"""


@dataclass
class Cost:
    """Seconds. Those of jobs are by the clock, and overlap: of compiling and linking Ninja runs three at a time on two processors,
    of tests CTest runs two. They say which share of a part is whose, not how much it costs."""

    processor: float = 0.0
    compile: float = 0.0
    link: float = 0.0
    run: float = 0.0
    whole: bool = False  # begun from nothing, so that it can be compared


def spent() -> float:
    """Processor seconds of this process and of all its children that have ended."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def yardstick() -> float:
    """Processor seconds of one compilation."""
    with tempfile.TemporaryDirectory(prefix="apiary-yardstick-") as name:
        source = Path(name) / "yardstick.cpp"
        source.write_text(YARDSTICK)
        before = spent()
        done = proc.run(["g++", "-std=c++20", "-O2", "-c", str(source), "-o", f"{source}.o"], merge=True)
        if not done.ok:
            raise Fault(f"the yardstick of costs cannot be compiled: g++ {done.how()}", done.out[-500:], "scripts/apiary doctor")
        return spent() - before


def log(folder: Path) -> set[str]:
    """What Ninja has noted of the commands that it has run here."""
    try:
        return set((folder / ".ninja_log").read_text().splitlines()[1:])
    except OSError:
        return set()


def of_jobs(folder: Path, before: set[str]) -> tuple[float, float, float]:
    """Seconds of its commands since `before`, compiling and other, and of its last tests."""
    compiling = other = 0.0
    for line in log(folder) - before:
        start, end, _, output, *_ = line.split("\t")
        seconds = (int(end) - int(start)) / 1000
        compiling, other = (compiling + seconds, other) if output.endswith(".o") else (compiling, other + seconds)
    try:
        cases = ElementTree.parse(folder / "junit.xml").getroot().iter("testcase")
        return compiling, other, sum(float(case.get("time", 0)) for case in cases)
    except (OSError, ElementTree.ParseError):
        return compiling, other, 0.0


def recorded() -> dict[str, dict[str, str]]:
    if not RECORD.exists():
        return {}
    with RECORD.open(newline="") as handle:
        return {row["part"]: row for row in csv.DictReader(handle)}


def grown(found: dict[str, Cost], measure: float) -> list[str]:
    """A line for each part that costs a tenth more than was recorded."""
    lines, kept = [], recorded()
    for part, cost in found.items():
        if not (cost.whole and part in kept):
            continue
        then, unit = float(kept[part]["processor_s"]), float(kept[part]["yardstick_s"])
        times = cost.processor / measure / (then / unit)
        if times >= GROWN:
            lines.append(f"{part} has grown: {cost.processor:.0f} s of processor time, {times:.2f} times the {then * measure / unit:.0f} s "
                         f"that results/{RECORD.name} leads to on this machine today")
    return lines


def record(found: dict[str, Cost], measure: float) -> list[str]:
    """The parts that were begun from nothing, in place of what was recorded of them. Returns their names."""
    kept = recorded()
    for part, cost in found.items():
        if cost.whole:
            figures = cost.processor, measure, cost.compile, cost.link, cost.run
            kept[part] = dict(zip(COLUMNS, [part, *(f"{figure:.1f}" for figure in figures)]))
    with RECORD.open("w", newline="") as handle:
        table = csv.DictWriter(handle, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(kept.values())
    return [part for part, cost in found.items() if cost.whole]
