"""Exact counts: instructions per operation under callgrind, and what a driver counts itself.

A driver is a deterministic single-threaded program (manifest exact.txt): `--list` names its operations, and
`run NAME N` does N of them and may print counts as NAME=NUMBER lines. The figure is a slope,
(count(2N) - count(N)) / N, so that starting up costs nothing.
"""

from __future__ import annotations

import dataclasses
import hashlib
import platform
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..base import building, packages, proc, repo, sources
from ..base.errors import Fault, tail
from ..base.say import counted

COLUMNS = ["driver", "operation", "count", "per_operation"]
FOLDER = repo.RESULTS / "exact"
N = 2000
SHARE, STEP = 0.005, 0.5  # red above the larger of 0.5 % and half an instruction: one more is seen in any operation of up to 199
RECORD = repo.BUILD / "exact.json"
COUNTED_FOLDERS = ("impl", "bench", *repo.BUILT_BY)
# Cleared and pinned: the environment moves the stack, the tunables choose among libc's variants.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=7"}


@dataclass(frozen=True)
class Figure:
    """One slope."""

    driver: str
    operation: str
    count: str  # instructions, or what the driver calls it
    per_operation: float

    @property
    def key(self) -> tuple[str, str, str]:
        return self.driver, self.operation, self.count


def operations(program: Path) -> list[str]:
    done = proc.run([program, "--list"], timeout=30)
    names = done.out.split()
    if not done.ok or not names:
        raise Fault(f"{program.name} --list {done.how()}", tail(done.err), "it prints one name a line")
    return names


def counts(program: Path, operation: str, n: int) -> dict[str, int]:
    """One run under callgrind: its instructions and its own counts."""
    with tempfile.TemporaryDirectory(prefix="apiary-exact-") as folder:
        out = Path(folder) / "callgrind.out"
        words = [shutil.which("valgrind") or "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "-q", str(program)]
        done = proc.run([*words, "run", operation, str(n)], env=ENVIRONMENT, timeout=300)
        if not done.ok:
            bare = f"{program.name} run {operation} {n}"
            raise Fault(f"{bare} {done.how()} under callgrind", tail(done.err, 600), f"{bare}   runs it bare")
        total = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)
    if not total:
        raise Fault(f"callgrind counted nothing in {program.name} {operation}", "its output has no total", "")
    own = dict(re.findall(r"^(\w+)=(\d+)$", done.out, re.MULTILINE))
    return {"instructions": int(total[1])} | {name: int(value) for name, value in own.items()}


def slope(program: Path, operation: str) -> list[Figure]:
    """Measured twice; a driver whose counts differ from run to run is refused."""
    runs = [(counts(program, operation, N), counts(program, operation, 2 * N)) for _ in range(2)]
    small, large = runs[0]
    if runs[1] != runs[0]:
        changed = sorted({name for one, other in zip(*runs) for name in one if one[name] != other.get(name)})
        raise Fault(f"{program.name} {operation} is not deterministic",
                    f"two equal runs counted different {', '.join(changed)}", "a driver may depend on nothing but N")
    return [Figure(program.name, operation, name, (large[name] - small[name]) / N) for name in sorted(small)]


def measure(programs: list[Path]) -> list[Figure]:
    work = [(program, operation) for program in programs for operation in operations(program)]
    told = counted("exact", work, len(work), lambda one: f"{one[0].name} {one[1]}")
    return [figure for program, operation in told for figure in slope(program, operation)]


def compiler() -> str:
    """And the machine type."""
    version = packages.parse_version(packages.tool_version("g++").replace("g++", "").split(")")[-1]) or (0, 0, 0)
    return f"g++-{'.'.join(map(str, version))}-{platform.machine()}"


def key() -> str:
    """Counts of other compilers, machine types and flags are not comparable."""
    return f"{compiler()}-{hashlib.sha256(building.compile_flags('release').encode()).hexdigest()[:8]}"


def baseline() -> Path:
    return FOLDER / f"{key()}.csv"


def read(path: Path) -> dict[tuple[str, str, str], float]:
    rows = repo.read_csv(path, COLUMNS, "scripts/apiary exact --update")
    return {(r["driver"], r["operation"], r["count"]): float(r["per_operation"]) for r in rows}


def write(path: Path, figures: list[Figure]) -> None:
    rows = ([*f.key, f"{f.per_operation:.4f}"] for f in sorted(figures, key=lambda f: f.key))
    repo.write_csv(path, COLUMNS, rows)


def count() -> list[Figure]:
    """The figures of the release preset's drivers, recorded for the report of a race on the same source."""
    evidence = sources.Evidence(COUNTED_FOLDERS, ["release"], "exact")
    figures = measure(list(evidence.seen))
    data = evidence.check() | {"key": key(), "figures": [dataclasses.asdict(f) for f in figures]}
    repo.write_json(RECORD, data)
    return figures


def recorded() -> dict | None:
    """The last record, if it is of the source as it is now."""
    found = repo.read_json(RECORD)
    return found if found and found["source_hash"] == repo.source_hash(*COUNTED_FOLDERS) else None


def allowance(before: float, count: str) -> float:
    """Instructions may move by 0.5 % or half of one; what a driver counts itself is exact."""
    return max(SHARE * before, STEP) if count == "instructions" else 1e-9


@dataclass(frozen=True)
class Change:
    """A figure beside the recorded one; `before` or `after` is None where there is none."""

    key: tuple[str, str, str]
    before: float | None
    after: float | None

    @property
    def word(self) -> str:
        if self.before is None:
            return "new"
        if self.after is None:
            return "GONE"
        room = allowance(self.before, self.key[2])
        if self.after > self.before + room:
            return "MORE"
        return "less" if self.after < self.before - room else "same"

    @property
    def red(self) -> bool:
        return self.word in ("MORE", "GONE")


def changes(recorded: dict[tuple[str, str, str], float], figures: list[Figure]) -> list[Change]:
    found = {figure.key: figure.per_operation for figure in figures}
    return [Change(k, recorded.get(k), found.get(k)) for k in sorted(set(recorded) | set(found))]
