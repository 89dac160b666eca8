"""A result folder: reserved as results/DATE-HOST.unfinished when a run begins, renamed to results/DATE-HOST when it is
whole. A folder called unfinished can be resumed; report and compare refuse it."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import shutil
from pathlib import Path
from typing import Iterator

from ..base import environment, repo
from ..base.errors import Fault, USAGE, unknown
from ..base.say import say, warn
from ..verify import verification

UNFINISHED = ".unfinished"
STATE = "resume.json"  # in an unfinished folder: what has been done, and by which programs
LOCK = ".lock"


def reserve(results: Path) -> tuple[str, Path]:
    """A name that nobody else has or will have, DATE-HOST, DATE-HOST-2, …, and its folder. Whoever makes
    DATE-HOST.unfinished owns the name; it looks again for DATE-HOST after that, since its owner may have finished
    between two looks."""
    first = f"{repo.utc_stamp()}-{repo.host()}"
    for name in itertools.chain([first], (f"{first}-{number}" for number in itertools.count(2))):
        filling = results / f"{name}{UNFINISHED}"
        with contextlib.suppress(FileExistsError):
            if not (results / name).exists():
                filling.mkdir()
                if not (results / name).exists():
                    return name, filling
                filling.rmdir()
    raise AssertionError("the names never end")


@contextlib.contextmanager
def held(filling: Path) -> Iterator[None]:
    """The folder is this process's; refused where another one fills it."""
    with open(filling / LOCK, "a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Fault(f"{filling.name} is being raced now", "its race is still running", "wait for it", USAGE) from error
        handle.truncate(0)
        handle.write(str(os.getpid()))
        handle.flush()
        yield


def sweep(results: Path) -> None:
    """Remove what a killed run (SIGKILL, power) left and nobody can use; a live one's folder stays, and so do rounds."""
    left = [(path, path.name.rpartition("-")[2], "") for path in results.glob(".tmp-*")]
    for path in results.glob(f"*{UNFINISHED}"):
        # A folder without a number in its lock is being made this very moment.
        with contextlib.suppress(OSError):
            if not (path / STATE).exists():
                left.append((path, (path / LOCK).read_text(errors="replace"), " before its first round ended"))
    for path, pid, when in left:
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            say(f"removing {path.name}, left by a run that was killed{when}")
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def begun(results: Path | None = None, resumed: Path | None = None) -> Iterator[tuple[str, Path, Path]]:
    """Yields (run_id, the folder to fill, a scratch folder). Whole at the end. What ends before stays as unfinished
    when it can be resumed (it holds a state), and else is not there at all."""
    results = results or repo.RESULTS
    results.mkdir(parents=True, exist_ok=True)
    sweep(results)
    run_id, filling = (resumed.name.removesuffix(UNFINISHED), resumed) if resumed else reserve(results)
    scratch = results / f".tmp-{run_id}-{os.getpid()}"
    mine = False
    try:
        with held(filling):
            mine = True
            scratch.mkdir()
            yield run_id, filling, scratch
            finish(filling, results / run_id)  # first: what is stopped before is unfinished, and can be resumed
            for name in (STATE, LOCK):
                (results / run_id / name).unlink(missing_ok=True)
    except BaseException:
        if mine and not (filling / STATE).exists():
            shutil.rmtree(filling, ignore_errors=True)
        elif mine:
            warn(f"{filling.name} holds the rounds so far; scripts/apiary race --resume {run_id}   goes on")
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def unfinished(results: Path | None = None) -> list[Path]:
    """Those that can be resumed, the newest last."""
    return sorted(path.parent for path in (results or repo.RESULTS).glob(f"*{UNFINISHED}/{STATE}"))


def to_resume(name: str) -> tuple[Path, dict]:
    """The folder of this name (or path), the newest without one; and its state."""
    known = {path.name.removesuffix(UNFINISHED): path for path in unfinished()}
    if not known:
        raise Fault("there is no unfinished race", "", "scripts/apiary race", USAGE)
    wanted = Path(name.rstrip("/")).name.removesuffix(UNFINISHED) if name else [*known][-1]
    if wanted not in known:
        raise unknown("unfinished race", name, known)
    path = known[wanted]
    state = repo.read_json(path / STATE)
    if state is None or state.get("schema_version") != 1:
        raise Fault(f"{path.name}/{STATE} cannot be read", "it is torn", f"rm -r results/{path.name}", USAGE)
    return path, state


def refuse_unfinished(path: Path) -> Path:
    """The path again, if it is a whole folder's."""
    name = path.resolve().name
    if name.endswith(UNFINISHED):
        cause = "its race was stopped before the end: rounds are missing, and nothing was compared"
        raise Fault(f"{name} is unfinished", cause, f"scripts/apiary race --resume {name.removesuffix(UNFINISHED)}", USAGE)
    return path


class Record:
    """env.json: taken when a run begins, written when it ends."""

    def __init__(self, source: tuple[str, str] | None = None, **how: object):
        """`source` and `how` as verification.snapshot takes them."""
        self.machine, self.toolchain = environment.machine(), environment.toolchain()
        self.env_id, self.before = environment.env_id(self.machine, self.toolchain), environment.load()
        self.verification = verification.snapshot(source, **how)

    def write(self, out: Path, run_id: str, race: dict, **more: object) -> None:
        """Into the folder `out`; `race` is what was run."""
        env = {
            "schema_version": 1, "run_id": run_id, "env_id": self.env_id, "machine": self.machine, "toolchain": self.toolchain,
            **more, "load_before": self.before, "load_after": environment.load(), "verification": self.verification, "race": race,
        }
        env["race"] = race | {"earlier": earlier(env, out.parent)}
        repo.write_json(out / "env.json", env)


SAME = ("plan", "points", "rounds_planned", "block_ms", "workers")


def tried(env: dict) -> tuple:
    """What two tries of a batch have in common: the plan, the programs, the source and the machine. The source is known by
    the hashes that proofs and stresses are held to: a commit of prose begins nothing anew."""
    race, taken = env.get("race") or {}, env.get("verification") or {}
    arms = [arm.get("label") for arm in race.get("arms", [])]
    return [race.get(key) for key in SAME], arms, env.get("env_id"), taken.get("prove_hash"), taken.get("stress_hash")


def earlier(env: dict, results: Path) -> list[str]:
    """The whole folders that were earlier tries of this batch, the oldest first. One that was removed is not known of, and one
    whose env.json says something else is none."""
    own, found = tried(env), []
    for path in sorted(results.glob("*/env.json")):
        with contextlib.suppress(AttributeError, TypeError):
            if tried(repo.read_json(path) or {}) == own and path.parent.name != env["run_id"]:
                found.append(path.parent.name)
    return found


def finish(filling: Path, target: Path) -> None:
    """One rename; an existing folder is never touched."""
    if target.exists():
        raise FileExistsError(f"{target} exists; results are never overwritten")
    os.rename(filling, target)
