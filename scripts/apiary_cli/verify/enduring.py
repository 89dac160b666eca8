"""Runs stress/night: one scheduler as it ships, in a variant, with a fault; what happened; and the folder that a failure leaves."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterable, Iterator

from ..base import proc, repo, sources
from ..base.errors import Fault, tail, unknown
from ..base.say import colour, counted, say
from ..night.unit import ROWS, Unit
from .stressing import SANITIZER_ENV, SANITIZERS, unit_command, without_randomisation

PROGRAM, PLAIN = "stress_night", "ci-night"
SCHEDULERS = ("bare_pool", "coro_pool", "fork_join", "global_queue", "hive", "processes", "task_graph")
# A planted scheduler, and the word that its defect must get.
PLANTED = {"planted_loses": "LOST", "planted_doubles": "LOST", "planted_keeps": "LOST", "planted_hangs": "HANG",
           "planted_crashes": "CRASH"}
WORKS, REFUSED, ENDS, CANNOT, RED = "works", "refused", "ends", "cannot", ("LOST", "HANG", "CRASH")
WORDS = (WORKS, REFUSED, ENDS, CANNOT, *RED)
GROWN_KB = 16 << 10  # beyond what it was at the begin: a leak, in a build without a sanitizer


@dataclass(frozen=True)
class Cell:
    """One call of the program: one run, or a sweep, which has a line for each."""

    scheduler: str
    preset: str = PLAIN
    variant: str = "as_is"
    fault: str = "none"
    seed: int = 1
    seconds: float = 0.0
    watchdog: float = 20.0
    ids: int = 0
    group: Path | None = field(default=None, compare=False)  # the control group that it runs in

    def words(self) -> list[str]:
        options = {"--variant": self.variant, "--fault": self.fault, "--seed": self.seed, "--seconds": f"{self.seconds:g}",
                   "--watchdog": f"{self.watchdog:g}", "--ids": self.ids or ""}
        left_out = {"--variant": "as_is", "--fault": "none"}
        return [self.scheduler, *(word for name, value in options.items() if value not in ("", left_out.get(name))
                                  for word in (name, str(value)))]

    def unit(self, kind: str) -> Unit:
        """Its name ends with the preset: whether memory that grows is a leak goes by that."""
        begin, words, files = unit_command(self.preset, program(self.preset), self.words())
        return Unit(kind, f"{self.scheduler} {self.variant} {self.fault} {self.preset}", begin, words, files,
                    environment=tuple(sorted(SANITIZER_ENV.items())), salt=str(self.seed), limit=self.limit(), reads=ROWS, replay=replay(self, None))

    def limit(self) -> float:
        """The program has its own, after which it kills its child; a sweep has some hundred children."""
        return self.seconds + 3 * self.watchdog + (600.0 if self.fault.startswith("allocation") else 60.0)


def named(names: list[str]) -> list[str]:
    for name in names:
        if name not in SCHEDULERS:
            raise unknown("scheduler", name, SCHEDULERS)
    return names or list(SCHEDULERS)


def program(preset: str) -> Path:
    return next(iter(repo.manifest(preset, "night")), repo.BUILD / preset / "bin" / PROGRAM)


def is_built(preset: str) -> bool:
    """Of this very source."""
    path = program(preset)
    return path.exists() and not sources.of(repo.BUILD / preset, [path])


def must_be_built(preset: str) -> None:
    if not is_built(preset):
        raise Fault(f"no {PROGRAM} of this source is built by {preset}", "", "the same command without --no-build")


def replay(cell: Cell, row: dict | None) -> str:
    """The line that does it again: of a sweep the one run."""
    words = cell.words()
    if row and row["nth"]:
        words += ["--nth", str(row["nth"])]
    return shlex.join([str(repo.shown(program(cell.preset))), *words])


def rows_of(done: proc.Done) -> list[dict]:
    """The program's lines. Without one that can be read it has crashed itself."""
    rows = []
    for line in done.out.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or row.get("word") not in WORDS:
            raise Fault(f"{PROGRAM} printed what is no result: {tail(line)}", done.how(), "scripts/apiary build, and again")
        rows.append(row)
    if not rows or done.timed_out or done.rc not in (0, 1):
        raise Fault(f"{PROGRAM} {done.how()}", tail(done.err or done.out, 600), shlex.join(done.argv))
    return rows


def grew(row: dict, preset: str) -> bool:
    return preset == PLAIN and row["kb_begin"] > 0 and row["kb_end"] - row["kb_begin"] > max(GROWN_KB, row["kb_begin"])


def judged(row: dict, preset: str) -> dict:
    """A row whose memory grew without an end is red as a loss is: what it holds was never given back."""
    if row["word"] == WORKS and grew(row, preset):
        said = f"resident memory grew from {row['kb_begin']} KiB after four rounds to {row['kb_end']} KiB after {row['rounds']}: a leak"
        return row | {"word": "LOST", "said": said}
    return row


def run(cells: Iterable[Cell], label: str, parallel: int = 1) -> Iterator[tuple[Cell, list[dict]]]:
    """As they end."""
    cells = list(cells)
    environment = os.environ | SANITIZER_ENV
    still = without_randomisation() if any(cell.preset == "tsan" for cell in cells) else []
    specs = (proc.Spec([*(still if cell.preset == "tsan" else []), program(cell.preset), *cell.words()], cwd=repo.ROOT, env=environment,
                       timeout=cell.limit(), group=cell.group, tag=cell) for cell in cells)
    note = lambda done: f"{done.tag.scheduler} {done.tag.fault if done.tag.fault != 'none' else done.tag.variant}"  # noqa: E731
    for done in counted(label, proc.run_many(specs, parallel), len(cells), note):
        yield done.tag, rows_of(done)


def control(preset: str) -> None:
    """Schedulers with a defect are red, each by its word; otherwise nothing that follows means anything."""
    cells = [Cell(name, preset, watchdog=1.0) for name in PLANTED]
    for cell, rows in run(cells, "control", 2):
        if rows[0]["word"] != PLANTED[cell.scheduler]:
            raise Fault(f"the control failed: {cell.scheduler} {rows[0]['word']}", f"it must be {PLANTED[cell.scheduler]}", replay(cell, rows[0]))


def keep(folder: Path, cell: Cell, row: dict) -> Path:
    """What a failure leaves: a folder with its words, its numbers and the command."""
    name = "-".join(filter(None, (cell.scheduler, cell.variant, cell.fault, cell.preset, str(row["seed"]), str(row["nth"] or ""))))
    return left(folder / name, cell.preset, row, replay(cell, row))


def left(where: Path, preset: str, row: dict, line: str) -> Path:
    build = SANITIZERS.get(preset, "no sanitizer")
    repo.write_text(where / "said.txt", row["said"] + "\n")
    repo.write_text(where / "again.sh", f"#!/bin/sh\n# {build}; source {repo.source_hash(*repo.STRESSED_FOLDERS)}\n{line}\n")
    repo.write_json(where / "result.json", row | {"preset": preset, "build": build, "commit": repo.commit()})
    return where


def afresh(folder: Path) -> Path:
    """Empty; what the last time left lies beside it, as NAME-before."""
    before = folder.with_name(f"{folder.name}-before")
    if folder.exists():
        shutil.rmtree(before, ignore_errors=True)
        folder.rename(before)
    folder.mkdir(parents=True)
    return folder


def alone(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Of two at once each would take the other's failures away."""
    return repo.alone(folder.with_name(f".lock-{folder.name}"), f"another {folder.name} runs in this tree", "wait for its end")


def tell(folder: Path, cell: Cell, row: dict) -> None:
    where = keep(folder, cell, row)
    say(colour(f"{cell.scheduler}, {cell.variant}, {cell.fault} ({cell.preset}): {row['word']}", "red"), tail(row["said"], 1500),
        f"replay: {replay(cell, row)}", f"kept in {repo.shown(where)}")
