"""A unit: one piece of a night's work, a command with what it reads, known by the hash of both.

A verb offers its work as a list of units: `units(...)`, a plain function without side effects. Doing one twice is harmless, and each
ends by itself: a limit of seconds, one of memory."""

from __future__ import annotations

import functools
import hashlib
import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from ..base import repo
from ..base.errors import Fault

KINDS = ("search", "exhibit", "mutant", "logic", "stress", "hunt", "outside", "soak", "fault", "fuzz", "selftest")
# How a result is read: by the exit status, by the lines of --json {out}, or by the records of runs that are printed (stress/night).
STATUS, VERDICTS, ROWS = "status", "verdicts", "rows"
OUT, JOBS = "{out}", "1"                    # the file that a worker gives a unit to write; units are the parallel part
SKIP_STATUS = 77
MEMORY = 4 << 30


@dataclass(frozen=True)
class Unit:
    """In `words`, "{out}" stands for a file that the unit may write, and "{NAME}" for the file of that name in `files`: where they
    lie is the worker's business, so that paths are no part of what a unit is."""

    kind: str
    name: str                                       # what people read: one of its kind in a night
    program: str                                    # its bytes count, and not where it lies
    words: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()         # (NAME, path)
    environment: tuple[tuple[str, str], ...] = ()   # beside the worker's own
    salt: str = ""                                  # what else decides the result: the hash of a source that is read
    tree: bool = False                              # needs this checkout around it: only workers of this machine run it
    limit: float = 600.0                            # seconds; then it is ended, and red
    memory: int = MEMORY                            # bytes that its processes may hold together
    reads: str = STATUS
    lasts: float = 0.0                              # seconds that it was told to take; 0: what it took last is what it takes
    replay: str = ""                                # the line that does it again; else the command
    place: str = ""                                 # FILE:LINE that it is about, if there is one

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise Fault(f"a unit of the kind {self.kind!r}", f"the kinds are {', '.join(KINDS)}")

    @property
    def key(self) -> str:
        """A hash over all that decides the result; limits do not count, since what they end is no result."""
        told = [self.kind, self.name, Path(self.program).name, file_hash(self.program), self.words, self.environment, self.salt, self.reads,
                [(name, file_hash(path)) for name, path in self.files]]
        return hashlib.sha256(repo.json_text(told).encode()).hexdigest()[:32]

    def command(self, program: str, places: dict[str, str]) -> list[str]:
        return [program, *(_filled(word, places) for word in self.words)]

    def line(self) -> str:
        """What a person pastes at the root of the checkout."""
        if self.replay:
            return self.replay
        named = {name: str(repo.shown(Path(path))) for name, path in self.files} | {"out": "/dev/null"}
        words = [f"{name}={value}" for name, value in self.environment]
        return shlex.join([*words, *self.command(str(repo.shown(Path(self.program))), named)])

    def with_(self, **changes: object) -> Unit:
        return replace(self, **changes)


def _filled(word: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        word = word.replace("{" + name + "}", place)
    return word


def file_hash(path: str | os.PathLike) -> str:
    """Of the bytes, read once for each state of the file."""
    try:
        found = os.stat(path)
        return _file_hash(os.path.realpath(path), found.st_mtime_ns, found.st_size)
    except OSError as error:
        raise Fault(f"{path} cannot be read", str(error.strerror), "scripts/apiary build") from error


@functools.lru_cache(maxsize=4096)
def _file_hash(path: str, _time: int, _size: int) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        while piece := handle.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
