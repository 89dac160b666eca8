"""Where things are in this repository, and which state of the source this is."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import hashlib
import io
import json
import os
import re
import socket
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Iterable, Iterator, TextIO

from .errors import Fault, HARNESS, USAGE, tail
from .say import say

ROOT = Path(os.environ.get("APIARY_ROOT") or Path(__file__).resolve().parents[3])
BUILD = ROOT / "build"
RESULTS = ROOT / "results"
BASELINES = RESULTS / "baselines"  # named by race --save-baseline
RUST = ROOT / "tokio_baseline"
PEERS = ROOT / "bench" / "rust_peers"
LOAD = BUILD / "release" / "bin" / "apiary_load"  # asks the subjects of server scenarios
BUILT_BY = ("CMakeLists.txt", "CMakePresets.json", "scripts/cmake")
PROVED_FOLDERS = ("impl", "model_check", *BUILT_BY)
STRESSED_FOLDERS = ("impl", "stress", *BUILT_BY)
KINDS = ("checks", "long", "stress", "subjects", "micro", "exact", "virtual", "calibrate")  # of programs that a manifest lists
SHOWN = 6  # names in a sentence
REASONS = ("survivors.csv", "logic_survivors.csv")  # in model_check: why a mutant may live. They change no run, only what is said of it
NOT_SOURCE = {"target", "__pycache__", *REASONS}


def some(names: Iterable[str]) -> str:
    """The first of them, and how many more there are."""
    listed = list(names)
    return ", ".join(listed[:SHOWN]) + (f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else "")


def git(*words: str, env: dict[str, str] | None = None, must: bool = False) -> str | None:
    """The output of a git command; where there is no answer, None, or a Fault if there must be one."""
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | (env or {}))
    except OSError:
        return None
    if done.returncode and must:
        raise Fault(f"git {' '.join(words[:2])} failed", tail(done.stderr, 400), "")
    return done.stdout.strip() if done.returncode == 0 else None


def commit() -> str:
    return git("rev-parse", "HEAD") or "none"


def version() -> str:
    """Of the project, as its CMakeLists.txt has it beside these scripts."""
    text = (Path(__file__).resolve().parents[3] / "CMakeLists.txt").read_text()
    return re.search(r"^project\(apiary VERSION (\S+)", text, re.MULTILINE)[1]


def dirty() -> bool:
    """Whether the tree differs from its commit. Neither results nor pages are source: a publication writes both while it races."""
    return git("status", "--porcelain", "--", ".", ":(exclude)results", ":(exclude)*.md") != ""


def source_hash(*folders: str, root: Path | None = None) -> str:
    """A hash over the names and contents of the source files below `folders`, which may be files, too."""
    root = root or ROOT
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted([root / folder, *(root / folder).rglob("*")]):
            relative = path.relative_to(root)
            if path.is_file() and path.suffix != ".md" and not NOT_SOURCE & set(relative.parts):
                digest.update(f"{relative}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def reasons_hash() -> str:
    """What the survivors of mutation are judged by."""
    lists = [ROOT / "model_check" / name for name in REASONS]
    return hashlib.sha256(b"\0".join(one.read_bytes() if one.exists() else b"" for one in lists)).hexdigest()[:16]


def identity(*folders: str) -> dict:
    """The stamp that a verification record carries."""
    return {
        "utc": utc_stamp(),
        "commit": commit(),
        "dirty": dirty(),
        "source_hash": source_hash(*folders),
        "source_folders": list(folders),
    }


def utc_stamp() -> str:
    return datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")


def host() -> str:
    name = socket.gethostname().split(".")[0]
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in name) or "host"


def preset_file() -> dict:
    """What CMakePresets.json says."""
    return json.loads(must_read(ROOT / "CMakePresets.json", "run scripts/apiary from a checkout of apiary"))


def presets() -> list[str]:
    """The configure presets that CMakePresets.json offers."""
    return [entry["name"] for entry in preset_file().get("configurePresets", []) if not entry.get("hidden")]


def preset_targets(preset: str) -> list[str]:
    """The targets that a build of this preset is limited to; none: it builds everything."""
    entries = preset_file().get("buildPresets", [])
    return next((entry.get("targets", []) for entry in entries if entry["name"] == preset), [])


def manifest(preset: str, kind: str) -> list[Path]:
    """The programs of a kind (KINDS) that this preset builds."""
    path = BUILD / preset / "manifest" / f"{kind}.txt"
    if not path.exists():
        return []
    return [Path(line) for line in path.read_text().splitlines() if line.strip()]


def built(preset: str, kind: str) -> list[Path]:
    """As manifest(), but every program must be there."""
    programs = manifest(preset, kind)
    missing = [path.name for path in programs if not path.exists()]
    if missing:
        raise Fault(f"build/{preset} lacks {some(missing)}", "it is not built yet", f"scripts/apiary build {preset}")
    return programs


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """One apiary at a time in a build folder; a second one waits and says so."""
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / f".lock-{name}", "w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{name}: waiting for another apiary that is building it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def alone(lock: Path, seen: str, remedy: str) -> Iterator[None]:
    """One at a time: a second one is refused, and told of the first. The file says it after a crash, too, but holds nobody then."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with open(lock, "a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            raise Fault(seen, handle.read().strip() or "it has its lock", remedy, USAGE) from None
        except OSError:  # a file system that has no locks
            pass
        with contextlib.suppress(OSError):  # a full disk: the lock holds without words
            os.ftruncate(handle.fileno(), 0)
            os.write(handle.fileno(), f"process {os.getpid()} on {host()}, since {utc_stamp()}\n".encode())
        yield


@contextlib.contextmanager
def at_work(alone: bool = False) -> Iterator[bool]:
    """While a verb works in this tree, beside others. `alone`: whether no other does; and then none begins meanwhile."""
    tree, got = os.open(ROOT, os.O_RDONLY), True
    try:
        fcntl.flock(tree, fcntl.LOCK_EX | fcntl.LOCK_NB if alone else fcntl.LOCK_SH)
    except BlockingIOError:
        got = False
    except OSError:  # a file system that has no locks
        pass
    try:
        yield got
    finally:
        os.close(tree)


def shown(path: Path, elsewhere: Path | None = None) -> Path:
    """As a reader at the root sees it; whole where it lies elsewhere."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else elsewhere or path


def must_read(path: Path, remedy: str = "") -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise Fault(f"{shown(path)} cannot be read", str(error.strerror), remedy) from error


def half(path: Path) -> Path:
    """Where a file is written before it has its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{path.name}.{os.getpid()}")


def writable(option: str, name: str) -> Path:
    """The file that an option names, as seen from anywhere; refused before the work and not after it."""
    path, why = Path(name).absolute(), ""
    try:
        if not name or path.exists() and not path.is_file():
            why = "it is no file"
        else:
            half(path).touch()
            half(path).unlink()
    except OSError as error:
        why = str(error.strerror)
    if why:
        raise Fault(f"{option} {name!r} cannot be written", why, f"{option} FILE, in a folder where this user may write", USAGE)
    return path


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Whole or not at all: what was there stays where the disk is full."""
    temporary = half(path)
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # a file system that may only be read refuses this, too
            temporary.unlink()
        error.filename = str(path)
        raise


def write_csv(path: Path, columns: list[str], rows: Iterable[list]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    write_text(path, text.getvalue())


def rows_of(handle: TextIO, name: str, columns: list[str]) -> list[dict[str, str]]:
    """The rows of a table that has these columns, each with every cell; ValueError where it is none."""
    try:
        reader = csv.DictReader(handle)
        if reader.fieldnames != columns:
            raise ValueError(f"{name} has another header")
        rows = list(reader)
    except csv.Error as error:
        raise ValueError(f"{name} is no CSV: {error}") from error
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise ValueError(f"{name}: row {number} has not the header's {len(columns)} cells")
    return rows


def read_csv(path: Path, columns: list[str], remedy: str = "", code: int = HARNESS) -> list[dict[str, str]]:
    """A table of this repository, or one in its place."""
    try:
        with path.open(newline="") as handle:
            return rows_of(handle, path.name, columns)
    except ValueError as error:
        raise Fault(f"{path} cannot be read", str(error), remedy or "columns: " + ",".join(columns), code) from error


def json_text(data: object) -> str:
    """As every record, and every result that --json asks for, is written. A path, or what else JSON has no word for, is a string."""
    return json.dumps(data, indent=1, default=str) + "\n"


def write_json(path: Path, data: object) -> None:
    write_text(path, json_text(data))


def read_json(path: Path) -> dict | None:
    """A record of ours: an object. None where there is none, or it is torn, or it is something else."""
    try:
        return parsed(path.read_text())
    except (OSError, UnicodeDecodeError):
        return None


def parsed(text: str) -> dict | None:
    """An object, or nothing."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
