#!/usr/bin/env python3
"""What people and programs hand to these scripts, read under Atheris: targets.py TARGET [libFuzzer's options] [CORPUS…].

A reader takes bytes, and may refuse them in its own way: by a Fault, or by ValueError where it says so. Any other exception is a
finding. `targets.py TARGET FILE` tries one input again; it needs no Atheris then."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

try:
    import atheris
except ImportError:  # to try inputs again
    atheris = None


with atheris.instrument_imports(include=["apiary_cli"]) if atheris else contextlib.nullcontext():
    from apiary_cli.base import repo, sources
    from apiary_cli.base.errors import Fault
    from apiary_cli.base.proc import Done
    from apiary_cli.race import arithmetic, histogram, plans, quota, subjects, tables
    from apiary_cli.verify import checks, enduring, hunting

FOLDER = Path(tempfile.mkdtemp(prefix="apiary-fuzz-"))
POINT = plans.plan("quick").points[0]


def file_of(data: bytes, name: str) -> Path:
    path = FOLDER / name
    path.write_bytes(data)
    return path


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def plan(data: bytes) -> None:
    """A plan of one's own (race --plan FILE)."""
    try:
        read = plans.read(file_of(data, "plan.toml"))
    except Fault:
        return
    for point in read.points:
        _ = point.label, point.key, point.ops()


def sums(data: bytes) -> None:
    """A sum in a data file: what is read can be worked out, or is refused."""
    try:
        found = arithmetic.Sum(text_of(data))
        found.value(dict.fromkeys(found.names, 2.5))
    except ValueError:
        pass


def hist(data: bytes) -> None:
    """A subject's histogram, beside a row that tells of it."""
    try:
        rows = histogram.read(file_of(data, "hist.csv"))
    except ValueError:
        return
    row = dict.fromkeys((name for name, _ in histogram.PERCENTILES), "") | {"lat_count": "3", "lat_min_ns": "1", "lat_max_ns": "9"}
    histogram.flaw(rows, row)
    histogram.lacking(rows, row)


def row(data: bytes) -> None:
    """What a subject prints: a row is judged, whatever it is."""
    found = subjects.judge(Done(["subject"], 0, text_of(data), "", 1.0), POINT, 2, 1)
    assert found["status"] in ("ok", "wrong", "malformed"), found


def section(data: bytes) -> None:
    """The record of sources in a program that anybody may hand over (race --program)."""
    path = file_of(data, "program")
    sources.recorded(path)
    sources.code(path)


def csv_rows(data: bytes) -> None:
    """A table of ours, from a folder that somebody sent."""
    try:
        repo.rows_of(io.StringIO(text_of(data), newline=""), "rows.csv", tables.ROWS[:4])
    except ValueError:
        pass


def groups(data: bytes) -> None:
    """The kernel's lists of control groups and of mounts."""
    first, _, second = text_of(data).partition("\0")
    quota.hierarchy(first, second)


def verdicts(data: bytes) -> None:
    """The verdicts that a check program wrote."""
    checks.read_verdicts(file_of(data, "verdicts.json"))


def hunt(data: bytes) -> None:
    """What the hunt's runtime tells, from a program that may have written over it."""
    hunting.read(text_of(data))


def night(data: bytes) -> None:
    """The lines of stress_night."""
    try:
        enduring.rows_of(Done(["stress_night"], 0, text_of(data), "", 1.0))
    except Fault:
        pass


TARGETS = {one.__name__: one for one in (plan, sums, hist, row, section, csv_rows, groups, verdicts, hunt, night)}


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        print(f"targets.py TARGET [options] [CORPUS…]; the targets: {' '.join(TARGETS)}", file=sys.stderr)
        return 2
    target = TARGETS[sys.argv.pop(1)]
    if atheris is None:
        for name in sys.argv[1:]:
            target(Path(name).read_bytes())
        return 0
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
