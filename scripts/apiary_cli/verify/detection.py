"""Time to detect: how many executions each exhibit takes until it is caught, against what is recorded.

An exhibit that became harder to find is a check that lost its teeth. The explorer's count is exact, and must not change
unnoticed; Relacy draws, so the median over many seeds is compared, and may not grow fourfold."""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import astuple, dataclass
from pathlib import Path

from ..base import proc, repo
from ..base.say import counted
from . import checks

FILE = repo.ROOT / "model_check" / "museum" / "detection.csv"
COLUMNS = ["exhibit", "engine", "executions", "seeds"]
SEEDS = 21          # odd: the median is one of them
GROWN, FEW = 4.0, 4     # a median of one execution may become a few without meaning anything


@dataclass(frozen=True)
class Detection:
    exhibit: str
    engine: str
    executions: int     # exact (explorer), or the median over the seeds (relacy)
    seeds: int


def read(file: Path | None = None) -> dict[tuple[str, str], Detection]:
    file = file or FILE
    rows = repo.read_csv(file, COLUMNS) if file.exists() else []
    return {(row["exhibit"], row["engine"]): Detection(row["exhibit"], row["engine"], int(row["executions"]), int(row["seeds"]))
            for row in rows}


def write(found: dict[tuple[str, str], Detection], file: Path | None = None) -> None:
    repo.write_csv(file or FILE, COLUMNS, (astuple(one) for _, one in sorted(found.items())))


def measure(exhibits: list[checks.Entry], jobs: int, seeds: int = SEEDS) -> tuple[dict, list[str]]:
    """Every exhibit on every engine that must see it. What was not caught is told."""
    tasks = [(entry, engine, seed) for entry in exhibits for engine in entry.must_see
             for seed in (range(1, seeds + 1) if engine == "relacy" else (1,))]
    counts: dict[tuple[str, str], list[int]] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="apiary-detect-") as folder:
        specs = [
            proc.Spec([entry.program, entry.name, "--engine", engine, "--seed", str(seed), "--no-trace", "--json",
                       f"{folder}/{i}.json"], cwd=repo.ROOT, timeout=600, tag=(i, entry.name, engine, seed))
            for i, (entry, engine, seed) in enumerate(tasks)
        ]
        for done in counted("detection", proc.run_many(specs, jobs), len(specs), lambda done: done.tag[1]):
            i, name, engine, seed = done.tag
            verdict = (checks.read_verdicts(Path(f"{folder}/{i}.json")) or [{}])[-1]
            # With another seed another law may break first: the reason is judged by prove, and by museum.
            if verdict.get("verdict") == "fail":
                counts.setdefault((name, engine), []).append(int(verdict["executions"]))
            else:
                wrong.append(f"{name} on {engine}, seed {seed}: {verdict.get('reason') or done.how()}")
    return {key: Detection(*key, int(statistics.median(found)), len(found)) for key, found in counts.items()}, sorted(wrong)


def compared(found: dict, recorded: dict) -> list[str]:
    """What has become harder to find, or is not recorded, a sentence each."""
    wrong = []
    for (exhibit, engine), now in sorted(found.items()):
        then = recorded.get((exhibit, engine))
        if then is None:
            wrong.append(f"{exhibit} on {engine}: {now.executions:,} executions, and none recorded")
        elif engine == "explorer" and now.executions != then.executions:
            wrong.append(f"{exhibit} on explorer: {now.executions:,} executions until found, recorded are {then.executions:,}")
        elif now.executions > GROWN * max(then.executions, FEW):
            wrong.append(f"{exhibit} on {engine}: a median of {now.executions:,} executions over {now.seeds} seeds, more than "
                         f"{GROWN:g} times the recorded {then.executions:,}")
    return wrong


def gone(recorded: dict, exhibits: list[checks.Entry]) -> list[str]:
    known = {(entry.name, engine) for entry in exhibits for engine in entry.must_see}
    return [f"{exhibit} on {engine} is recorded, and there is no such exhibit" for exhibit, engine in sorted(recorded)
            if (exhibit, engine) not in known]
