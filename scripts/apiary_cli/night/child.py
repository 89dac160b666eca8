"""One unit as a child process: what it left, as a result."""

from __future__ import annotations

import os
import pkgutil
import platform
import sys
import tempfile
from pathlib import Path

from ..base import proc, repo
from ..base.errors import Fault, tail
from .store import SCHEMA, sealed
from .unit import ROWS, VERDICTS, Unit

GUARD = pkgutil.get_data(__package__, "guard.py").decode()   # by its text, since a worker elsewhere has these files in an archive
GRACE = 60.0            # beyond the unit's own limit: the guard is gone, or the machine stands still
OUTPUT, LINES = 6000, 4096
ENDED = {"time": "did not end within {limit:g} s", "memory": "held more than {memory} MiB", "start": "could not be started: {why}",
         "lost": "its guard was killed"}


def machine() -> dict[str, str]:
    """What a program was built for: another machine than that would run it wrongly, or not at all."""
    return {"processor": platform.machine(), "libc": os.confstr("CS_GNU_LIBC_VERSION") or "unknown"}


def run(unit: Unit, program: Path | None = None, files: dict[str, Path] | None = None, cwd: Path = repo.ROOT) -> dict:
    """Does it, whatever happens; what it printed, wrote and took. `program` and `files`: where they lie here."""
    key, program = unit.key, program or Path(unit.program)
    places = {name: str(path) for name, path in (files or dict(unit.files)).items()}
    with tempfile.TemporaryDirectory(prefix="apiary-unit-") as folder:
        out, report = Path(folder) / "out", Path(folder) / "report"
        command = unit.command(str(program), places | {"out": str(out)})
        guard = [sys.executable, "-IS", "-c", GUARD, str(os.getpid()), f"{unit.limit:g}", str(unit.memory), report, "--", *command]
        done = proc.run(guard, cwd=cwd, env=os.environ | dict(unit.environment), timeout=unit.limit + GRACE, merge=True, keep=1 << 20)
        told = repo.read_json(report) or {"rc": None, "ended": "lost", "seconds": round(done.seconds, 3), "cpu_seconds": 0.0, "memory": 0}
        lines, torn = read_lines(out) if unit.reads == VERDICTS else read_rows(done.out) if unit.reads == ROWS else ([], "")
    if unit.key != key:
        raise Fault(f"{unit.name}: its program or its files changed while it ran", "something builds in this tree", "begin the night again")
    how = ENDED.get(told["ended"], "").format(limit=unit.limit, memory=unit.memory >> 20, why=told.get("why", ""))
    return sealed({
        "schema": SCHEMA, "unit": key, "kind": unit.kind, "name": unit.name, "reads": unit.reads, "line": unit.line(), "place": unit.place,
        "rc": told["rc"], "ended": told["ended"], "how": how or torn, "seconds": told["seconds"], "cpu_seconds": told["cpu_seconds"],
        "memory": told["memory"], "utc": repo.utc_stamp(), "host": repo.host(), "lines": lines, "output": tail(done.out, OUTPUT),
    })


def lost(unit: Unit, how: str, ended: str = "lost") -> dict:
    """Of a unit whose worker did not come back with one: red, and never believed by the next night."""
    return sealed({
        "schema": SCHEMA, "unit": unit.key, "kind": unit.kind, "name": unit.name, "reads": unit.reads, "line": unit.line(), "place": unit.place,
        "rc": None, "ended": ended, "how": how, "seconds": 0.0, "cpu_seconds": 0.0, "memory": 0, "utc": repo.utc_stamp(), "host": repo.host(),
        "lines": [], "output": "",
    })


def read_lines(path: Path) -> tuple[list[dict], str]:
    """The records that it wrote, one a line; and what is wrong with them."""
    try:
        found = [repo.parsed(line) for line in path.read_text().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError):
        return [], "it left no verdict"
    if None in found or len(found) > LINES:
        return [], "its verdict cannot be read"
    return found, "" if found else "it left no verdict"


def read_rows(printed: str) -> tuple[list[dict], str]:
    """The records among what it printed, each on a line; a sweep prints some hundred."""
    found = [one for line in printed.splitlines() if line.startswith("{") and isinstance(one := repo.parsed(line), dict) and "word" in one]
    return found[:LINES], "" if found else "it printed no result of a run"
