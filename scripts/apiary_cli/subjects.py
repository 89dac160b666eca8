"""Subjects: finding them, asking who they are, running them, and judging the row they print."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import building, ledger, proc, repo, tables
from .errors import Fault, unknown
from .plans import Point, Scenario

GOOD_STATUS = "ok"
BAD_STATUSES = ("wrong", "crash", "hang", "malformed")
HEX16 = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Subject:
    """A program that speaks bench/contract/CLI.md."""

    name: str
    version: str
    language: str
    build_id: str
    program: Path
    scenarios: tuple[str, ...]
    own: bool = False  # built from this repository's impl/


@dataclass(frozen=True)
class Arm:
    """A subject in a role. The label is what the tables call it."""

    subject: Subject
    role: str
    program: Path
    label: str
    slowdown: dict[Point, int] = field(default_factory=dict, hash=False, compare=False)
    tune: tuple[str, ...] = ()  # NAME=VALUE of the runtime's own numbers; none: its defaults

    @property
    def control(self) -> bool:
        return self.role == "aa" or self.slow

    @property
    def slow(self) -> bool:
        return self.role in ("slow5", "slow10")


def introduce(program: Path) -> Subject:
    """Ask for --version and --list; a subject without a version is refused."""
    done = proc.run([program, "--version"], timeout=30)
    try:
        told = json.loads(done.out.strip().splitlines()[0])
        fields = {key: str(told.get(key) or "") for key in ("subject", "subject_version", "language", "build_id")}
    except (ValueError, IndexError, AttributeError) as error:
        raise Fault(
            f"{program} --version printed {done.out.strip()[:100]!r}",
            f"it {done.how()}; one JSON line is expected",
            "bench/contract/CLI.md",
        ) from error
    if not done.ok or not fields["subject"] or not fields["subject_version"]:
        raise Fault(
            f"{program} is refused: --version tells no {'subject_version' if fields['subject'] else 'subject'}",
            "figures of an unknown version cannot be compared with anything",
            "bench/contract/CLI.md",
        )
    listed = proc.run([program, "--list"], timeout=30)
    if not listed.ok:
        raise Fault(f"{program} --list {listed.how()}", listed.err.strip()[-300:], "bench/contract/CLI.md")
    schedulers = {path.name for path in (repo.ROOT / "impl" / "schedulers").glob("*/")}
    return Subject(
        fields["subject"],
        fields["subject_version"],
        fields["language"],
        fields["build_id"],
        program,
        tuple(listed.out.split()),
        fields["subject"].replace("-", "_") in schedulers,
    )


@dataclass(frozen=True)
class Tunable:
    """A number of the runtime itself, as its --tunables tells of it."""

    name: str
    standard: int
    least: int
    most: int


def tunables(subject: Subject) -> list[Tunable]:
    """What `run --tune` can set; none where the subject does not know the call."""
    done = proc.run([subject.program, "--tunables"], timeout=30)
    if not done.ok:
        return []
    try:
        return [Tunable(name, int(a), int(b), int(c)) for name, a, b, c in map(str.split, done.out.splitlines())]
    except ValueError as error:
        raise Fault(
            f"{subject.program} --tunables printed {done.out.strip()[:100]!r}",
            f"lines of NAME DEFAULT LEAST MOST are expected ({error})",
            "bench/contract/CLI.md",
        ) from error


def discover(programs: list[Path]) -> tuple[list[Subject], list[Fault]]:
    """All subjects that introduce themselves, and why others were refused. Names are unique."""
    found: dict[str, Subject] = {}
    refused = []
    for program in programs:
        try:
            subject = introduce(program)
        except Fault as fault:
            refused.append(fault)
            continue
        name, n = subject.name, 2
        while name in found:
            name, n = f"{subject.name}-{n}", n + 1
        found[name] = replace(subject, name=name)
    return list(found.values()), refused


def select(subjects: list[Subject], names: list[str]) -> list[Subject]:
    known = {subject.name: subject for subject in subjects}
    if names and not known:
        raise none_built()
    for name in names:
        if name not in known:
            raise unknown("subject", name, known)
    return [known[name] for name in dict.fromkeys(names)] if names else subjects


def none_built() -> Fault:
    return Fault("there is no subject to race", "none is built", "scripts/apiary build release rust")


def build_all() -> list[Path]:
    """Build the release preset and the Rust twin; returns every subject's program."""
    building.build("release")
    programs = repo.built("release", "subjects")
    return programs + building.build_rust()


def place(subjects: list[tuple[Subject, str, str]], folder: Path) -> list[Arm]:
    """Copy each arm's program to a path of equal length (a path's length moves the stack)."""
    arms = []
    for number, (subject, role, label) in enumerate(subjects):
        target = folder / f"arm{number:02d}" / "subject"
        target.parent.mkdir(parents=True)
        shutil.copy2(subject.program, target)
        arms.append(Arm(subject, role, target, label))
    return arms


def command(
    program: Path,
    point: Point,
    workers: int,
    seed: int,
    *,
    block_ms: int,
    blocks: int,
    warmup_blocks: int,
    plan: Path | None = None,
    hist: Path | None = None,
    slowdown_ns: int = 0,
    tune: tuple[str, ...] = (),
) -> list[str]:
    """The complete call of one run."""
    words = [str(program), "run", "--scenario", point.scenario.name]
    for key, value in sorted(point.params):
        if key != "workers":
            words += ["--param", f"{key}={value}"]
    for one in tune:
        words += ["--tune", one]
    words += [
        "--workers",
        str(point.workers or workers),
        "--seed",
        str(seed),
        "--warmup-blocks",
        str(warmup_blocks),
        "--blocks",
        str(blocks),
        "--block-ms",
        str(block_ms),
    ]
    words += ["--plan", str(plan)] if plan else []
    words += ["--hist", str(hist)] if hist else []
    return words + (["--slowdown-ns", str(slowdown_ns)] if slowdown_ns else [])


def parse_output(text: str) -> tuple[dict[str, str] | None, str]:
    """The row of a subject's standard output, or why it is none."""
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    if not rows:
        return None, "it printed nothing"
    if rows[0] != tables.SUBJECT:
        return None, f"the header is not that of CSV.md: {','.join(rows[0])[:120]}"
    if len(rows) != 2:
        return None, f"{len(rows) - 1} rows instead of one"
    if len(rows[1]) != len(tables.SUBJECT):
        return None, f"{len(rows[1])} cells instead of {len(tables.SUBJECT)}"
    return dict(zip(tables.SUBJECT, rows[1])), ""


def flaw(row: dict[str, str], point: Point, workers: int, seed: int) -> str:
    """What is wrong with a row's form, or an empty string."""
    for column, cell in row.items():
        if column in tables.WORDS or cell == "":
            continue
        try:
            value = float(cell)
        except ValueError:
            return f"{column} is {cell!r}, not a number"
        if value < 0 or value != value or value == float("inf"):
            return f"{column} is {cell}"
    for column, asked in (("scenario", point.scenario.name), ("workers", str(workers)), ("seed", str(seed))):
        if row[column] != asked:
            return f"{column} is {row[column]!r}, asked for {asked!r}"
    if row["status"] not in ("ok", "wrong"):
        return f"status is {row['status']!r}"
    return empty_cell(row, point.scenario) or ledger.check_flaw(row["check"])


def empty_cell(row: dict[str, str], scenario: Scenario) -> str:
    for column in scenario.required if row["status"] == GOOD_STATUS else ():
        if row[column] == "":
            return f"{column} is empty"
        if column != "lat_min_ns" and column != "check" and float(row[column]) <= 0:
            return f"{column} is {row[column]}"
    return ""


def tail(text: str, limit: int = 300) -> str:
    """The last lines of standard error, on one line."""
    return " | ".join(line.strip() for line in text.strip().splitlines()[-3:])[-limit:]


def judge(done: proc.Done, point: Point, workers: int, seed: int) -> dict[str, str]:
    """The subject's columns plus status and error, whatever happened."""
    workers = point.workers or workers
    blank = dict.fromkeys(tables.SUBJECT, "") | {"workers": str(workers), "seed": str(seed)}
    blank["scenario"] = point.scenario.name

    def bad(status: str, error: str) -> dict[str, str]:
        return blank | {"status": status, "error": " ".join(f"{error} {tail(done.err)}".split())}

    if done.timed_out:
        return bad("hang", f"no end within {done.seconds:.0f} s.")
    if done.rc == 3:
        return bad("unsupported", "")
    if done.rc == 2:
        return bad("malformed", "the subject refused its arguments (status 2):")
    if done.rc not in (0, 4):
        return bad("crash", f"it {done.how()}.")
    row, reason = parse_output(done.out)
    reason = reason or flaw(row, point, workers, seed)
    if reason:
        return bad("malformed", f"{reason}.")
    if (done.rc == 4) != (row["status"] == "wrong"):
        return bad("malformed", f"exit status {done.rc} contradicts status={row['status']}.")
    error = tail(done.err) if row["status"] == "wrong" else ""
    expected = ledger.expected(int(float(row["ops"] or 0)))
    fixed = point.ops()
    if row["status"] == "ok" and fixed is not None and row["ops"] != str(fixed):
        return row | {"status": "wrong", "error": f"ops is {row['ops']}, the work was {fixed}"}
    if row["status"] == "ok" and expected and row["check"] != expected:
        return row | {"status": "wrong", "error": f"check is {row['check']}, the work's is {expected}"}
    return row | {"error": error}
