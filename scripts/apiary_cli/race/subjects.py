"""Subjects: finds them, asks each for its name and version, runs it, and judges the row that it prints."""

from __future__ import annotations

import csv
import json
import re
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Iterable

from ..base import building, proc, repo
from ..base.errors import Fault, tail, unknown
from . import ledger, row_checks, tables
from .plans import RUNNERS, Point

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}")
SCENARIO = re.compile(r"[a-z][a-z0-9_]{0,39}")
ARMS = ("-aa", "-base", "-slow5", "-slow10")  # what the runner puts behind the names of its own arms
LONGEST_LINE = 8192
COARSE_NS = 20_000_000  # two ticks of the coarsest clock of processor time that Linux has
KEPT, FILE_SIZE = 1 << 20, 64 << 20  # bytes: of what it prints, of a file that it writes


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
    start_cpu_s: float = 0.0  # processor time to start it and be told who it is


@dataclass(frozen=True)
class Arm:
    """A subject in a role. The label is what the tables call it."""

    subject: Subject
    role: str
    program: Path
    label: str
    slowdown: dict[Point, int] = field(default_factory=dict, hash=False, compare=False)
    tune: tuple[str, ...] = ()  # NAME=VALUE of the runtime's own numbers; none: its defaults
    at: frozenset[Point] | None = None  # it runs at these points alone; None: wherever the subject can

    @property
    def control(self) -> bool:
        return self.role == "aa" or self.slow

    def runs_at(self, point: Point) -> bool:
        return point.scenario.name in self.subject.scenarios and (self.at is None or point in self.at)

    @property
    def slow(self) -> bool:
        return self.role in ("slow5", "slow10")


def run(words: list, **options) -> proc.Done:
    """Run a subject: what it prints and writes is bounded, and nothing that it started outlives it."""
    done = proc.run(words, keep=KEPT, file_size=FILE_SIZE, **options)
    proc.end_strays()
    return done


def refused(program: Path, seen: str, cause: str) -> Fault:
    return Fault(f"{program} {seen}", cause, "bench/contract/CLI.md")


def introduce(program: Path) -> Subject:
    """Ask for --version and --list; a subject without a version, or with a name that is none, is refused."""
    done = run([program, "--version"], timeout=30)
    try:
        told = json.loads(done.out.strip().splitlines()[0])
        fields = {key: str(told.get(key) or "") for key in ("subject", "subject_version", "language", "build_id")}
    except (ValueError, IndexError, AttributeError, RecursionError) as error:
        cause = f"it {done.how()}; one JSON line is expected"
        raise refused(program, f"--version printed {done.out.strip()[:100]!r}", cause) from error
    name = fields["subject"]
    if not done.ok or not name or not fields["subject_version"]:
        lacking = "subject_version" if name else "subject"
        cause = "figures of an unknown version cannot be compared with anything"
        raise refused(program, f"is refused: --version tells no {lacking}", cause)
    if not NAME.fullmatch(name) or name.endswith(ARMS):
        cause = f"a name is at most 40 letters, digits and _ . + -, and does not end with {' or '.join(ARMS)}"
        raise refused(program, f"is refused: it calls itself {row_checks.shown(name)}", cause)
    for key, value in fields.items():
        if len(value) > 1000 or any(ord(c) < 32 for c in value):
            cause = "a line of at most 1000 printable characters is expected"
            raise refused(program, f"is refused: its {key} is {row_checks.shown(value)}", cause)
    listed = run([program, "--list"], timeout=30)
    if not listed.ok:
        raise refused(program, f"--list {listed.how()}", tail(listed.err))
    scenarios = tuple(listed.out.split())
    strange = next((one for one in scenarios if not SCENARIO.fullmatch(one)), None)
    if strange:
        raise refused(program, f"is refused: it lists {row_checks.shown(strange)}", "one scenario's name on each line is expected")
    own = (repo.ROOT / "impl" / "apiary" / "schedulers" / name.replace("-", "_")).is_dir()
    return Subject(*fields.values(), program, scenarios, own, max(done.cpu_seconds, listed.cpu_seconds))


@dataclass(frozen=True)
class Tunable:
    """A number of the runtime itself, as its --tunables tells of it."""

    name: str
    standard: int
    least: int
    most: int


def tunables(subject: Subject) -> list[Tunable]:
    """What `run --tune` can set; none where the subject does not know the call."""
    done = run([subject.program, "--tunables"], timeout=30)
    if not done.ok:
        return []
    try:
        return [Tunable(name, int(a), int(b), int(c)) for name, a, b, c in map(str.split, done.out.splitlines())]
    except ValueError as error:
        cause = f"lines of NAME DEFAULT LEAST MOST are expected ({error})"
        raise refused(subject.program, f"--tunables printed {done.out.strip()[:100]!r}", cause) from error


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
        raise Fault("there is no subject to race", "none is built", "scripts/apiary build release rust")
    for name in names:
        if name not in known:
            raise unknown("subject", name, known)
    return [known[name] for name in dict.fromkeys(names)] if names else subjects


def build_all(peers: Iterable[str] = ()) -> list[Path]:
    """Build the release preset, the Rust twin, and what is named of the second crate; returns every subject's program."""
    building.build("release")
    programs = repo.built("release", "subjects") + building.build_rust()
    building.build_peers([f"subject_{name}" for name in peers])
    return programs + [path for path in building.peer_programs() if path.name.removeprefix("subject_") in peers]


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
    program: Path, point: Point, workers: int, seed: int, *, block_ms: int, blocks: int, warmup_blocks: int,
    plan: Path | None = None, hist: Path | None = None, slowdown_ns: int = 0, tune: tuple[str, ...] = (),
) -> list[str]:
    """The complete call of one run."""
    words = [str(program), "run", "--scenario", point.scenario.name]
    for key, value in sorted(point.params):
        words += ["--param", f"{key}={value}"] if key not in RUNNERS else []
    for one in tune:
        words += ["--tune", one]
    always = {"workers": point.workers or workers, "seed": seed, "warmup-blocks": warmup_blocks, "blocks": blocks, "block-ms": block_ms}
    if_any = {"plan": plan, "hist": hist, "load": repo.LOAD if point.scenario.served else None, "slowdown-ns": slowdown_ns}
    for name, value in (*always.items(), *((name, value) for name, value in if_any.items() if value)):
        words += [f"--{name}", str(value)]
    return words


def parse_output(text: str) -> tuple[dict[str, str] | None, str]:
    """The row of a subject's standard output, or why it is none."""
    lines = text.split("\n")
    odd = next((c for c in text if c < " " and c != "\n" or c in "\x7f\ufffd"), None)
    if odd:
        what = {"\r": "a carriage return", "\0": "a NUL byte", "\ufffd": "bytes that are no UTF-8"}
        return None, f"its output holds {what.get(odd, f'the control character {odd!r}')}"
    if max(map(len, lines)) > LONGEST_LINE:
        return None, f"it printed a line of more than {LONGEST_LINE} characters"
    try:
        rows = [row for row in csv.reader(lines, strict=True) if row]
    except csv.Error as error:
        return None, f"its output is no CSV ({error})"
    if not rows:
        return None, "it printed nothing"
    if rows[0] != tables.SUBJECT:
        return None, f"the header is not that of CSV.md: {row_checks.shown(','.join(rows[0]), 120)}"
    if len(rows) != 2:
        return None, f"{len(rows) - 1} rows instead of one"
    if len(rows[1]) != len(tables.SUBJECT):
        return None, f"{len(rows[1])} cells instead of {len(tables.SUBJECT)}"
    return dict(zip(tables.SUBJECT, rows[1])), ""


def flaw(row: dict[str, str], point: Point, workers: int, seed: int) -> str:
    """What is wrong with a row's form, or an empty string."""
    found = row_checks.malformed_cell(row, tables.WORDS)
    if found:
        return found
    for column, asked in (("scenario", point.scenario.name), ("workers", str(workers)), ("seed", str(seed))):
        if row[column] != asked:
            return f"{column} is {row_checks.shown(row[column])}, asked for {asked!r}"
    if row["status"] not in ("ok", "wrong"):
        return f"status is {row_checks.shown(row['status'])}"
    for column in point.scenario.required if row["status"] == "ok" else ():
        if column == "cpu_ns" and row[column] == "" and "ops" in dict(point.params) and 0 < int(row["wall_ns"] or 0) < COARSE_NS:
            continue  # bench/contract/CLI.md: its clock saw nothing, and it could not choose a longer block
        if row[column] == "":
            return f"{column} is empty"
        if column not in ("lat_min_ns", "check") and float(row[column]) <= 0:
            return f"{column} is {row[column]}"
    return ledger.check_flaw(row["check"])


def last_words(text: str) -> str:
    """The last lines of standard error, on one line, without what a terminal would obey."""
    lines = [line.strip() for line in "".join(c if c >= " " or c == "\n" else " " for c in text).split("\n")]
    return tail(" | ".join([line for line in lines if line][-3:]))


def judge(
    done: proc.Done, point: Point, workers: int, seed: int, asked: row_checks.Asked | None = None, seen: row_checks.Seen | None = None
) -> dict[str, str]:
    """The subject's columns plus status and error, whatever happened. `asked` is what its columns are held to, `seen`
    what the runner measured around it; None: the subject is believed."""
    workers = point.workers or workers
    blank = dict.fromkeys(tables.SUBJECT, "") | {"scenario": point.scenario.name, "workers": str(workers), "seed": str(seed)}

    def bad(status: str, error: str) -> dict[str, str]:
        return blank | {"status": status, "error": " ".join(f"{error} {last_words(done.err)}".split())}

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
    if row["status"] == "wrong":
        return row | {"error": last_words(done.err)}
    wrong = wrong_work(row, point)
    if wrong:
        return row | {"status": "wrong", "error": wrong}
    doubt = row_checks.contradiction(row, point, asked) if asked else ""
    doubt = doubt or (row_checks.beyond_the_process(row, point, asked, seen) if asked and seen else "")
    return row | ({"status": "malformed", "error": f"not believed: {doubt}"} if doubt else {"error": ""})


def wrong_work(row: dict[str, str], point: Point) -> str:
    """Not the work that was asked for, by the number of operations or by their check."""
    fixed, ops = point.ops(), int(row["ops"] or 0)
    if fixed is not None and ops != fixed:
        return f"ops is {ops}, the work was {fixed}"
    expected = ledger.expected(ops)
    return f"check is {row['check']}, the work's is {expected}" if expected and row["check"] != expected else ""
