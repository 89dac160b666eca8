"""A result folder: begun as results/.tmp-…, renamed to results/DATE-HOST/ when it is whole."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Iterator

from . import repo
from .say import say


def names(stamp: str, host: str) -> Iterator[str]:
    """DATE-HOST, then DATE-HOST-2, …"""
    yield f"{stamp}-{host}"
    number = 2
    while True:
        yield f"{stamp}-{host}-{number}"
        number += 1


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def sweep(results: Path) -> None:
    """Remove what a killed run (SIGKILL, power) left; a live one's folder stays."""
    for path in results.glob(".tmp-*"):
        pid = path.name.rpartition("-")[2]
        if pid.isdigit() and not alive(int(pid)):
            say(f"removing {path.name}, left by a run that was killed")
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def begun(results: Path | None = None) -> Iterator[tuple[str, Path, Path]]:
    """Yields (run_id, the folder to fill, a scratch folder). Whole at the end, or not there at all."""
    results = results or repo.RESULTS
    results.mkdir(parents=True, exist_ok=True)
    sweep(results)
    run_id = next(name for name in names(repo.utc_stamp(), repo.host()) if not (results / name).exists())
    work = results / f".tmp-{run_id}-{os.getpid()}"
    filling, scratch = work / "out", work / "scratch"
    filling.mkdir(parents=True)
    scratch.mkdir()
    try:
        yield run_id, filling, scratch
        finish(filling, results / run_id)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def finish(filling: Path, target: Path) -> None:
    """One rename; an existing folder is never touched."""
    if target.exists():
        raise FileExistsError(f"{target} exists; results are never overwritten")
    os.rename(filling, target)
