"""A result folder: begun as results/.tmp-…, renamed to results/DATE-HOST/ when it is whole."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Iterator

from . import environment, repo, verification
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


class Record:
    """env.json: taken when a run begins, written when it ends."""

    def __init__(self, source: tuple[str, str] | None = None, **how: object):
        """`source` and `how` as verification.snapshot takes them."""
        self.machine, self.toolchain = environment.machine(), environment.toolchain()
        self.env_id, self.before = environment.env_id(self.machine, self.toolchain), environment.load()
        self.verification = verification.snapshot(source, **how)

    def write(self, out: Path, run_id: str, race: dict, **more: object) -> dict:
        """Into the folder `out`; `race` is what was run. Returns what was written."""
        env = {
            "schema_version": 1,
            "run_id": run_id,
            "env_id": self.env_id,
            "machine": self.machine,
            "toolchain": self.toolchain,
            **more,
            "load_before": self.before,
            "load_after": environment.load(),
            "verification": self.verification,
            "race": race,
        }
        repo.write_json(out / "env.json", env)
        return env


def finish(filling: Path, target: Path) -> None:
    """One rename; an existing folder is never touched."""
    if target.exists():
        raise FileExistsError(f"{target} exists; results are never overwritten")
    os.rename(filling, target)
