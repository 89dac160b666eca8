"""The store: a folder of results, each in a file named by its unit's hash, and of the files that units need, named by theirs.

Every file is written whole or not at all, so that a night that was killed goes on where it was, and nights, shards and machines may share a
folder. A file that is not what its name says is told and done again."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import time
from pathlib import Path
from typing import Iterator

from ..base import repo
from ..base.errors import Fault
from .unit import Unit, file_hash

SCHEMA = 1
KEPT_DAYS = 30.0
NEEDED = {"schema": int, "unit": str, "kind": str, "name": str, "ended": str, "seconds": (int, float), "output": str, "lines": list}
REMEDIES = {
    errno.ENOSPC: "make room there, or name another folder: --store DIR; what is done is kept",
    errno.EDQUOT: "make room there, or name another folder: --store DIR; what is done is kept",
    errno.EROFS: "name a folder that can be written: --store DIR",
    errno.EACCES: "name a folder that this user may write: --store DIR",
}


class Garbage(Exception):
    """A file of the store that is not what its name says: which, and why."""


def digest(result: dict) -> str:
    return hashlib.sha256(repo.json_text({key: result[key] for key in sorted(result) if key != "digest"}).encode()).hexdigest()[:32]


def sealed(result: dict) -> dict:
    return result | {"digest": digest(result)}


def faults(result: object, key: str) -> str:
    """Why this is no result of that unit; empty where it is one."""
    if not isinstance(result, dict):
        return "it is torn, or no record"
    wrong = [name for name, kind in NEEDED.items() if not isinstance(result.get(name), kind)]
    if wrong:
        return f"it has no {', '.join(wrong)} that could be read"
    if result["schema"] != SCHEMA:
        return f"it is of format {result['schema']}, and this is {SCHEMA}"
    if result["unit"] != key:
        return f"it tells of the unit {result['unit']}"
    return "" if result.get("digest") == digest(result) else "its contents are not those that were written"


def kept(result: dict) -> bool:
    """Whether it says something of the unit: what a limit ended, or a signal that may be the machine's, is tried again."""
    return not result["ended"] and result.get("rc") not in (None, -9, -15)


class Store:
    def __init__(self, folder: Path):
        self.folder = folder
        self.garbage: list[str] = []

    @contextlib.contextmanager
    def writing(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Fault(f"{what} cannot be written to the store {self.folder}", str(error.strerror),
                        REMEDIES.get(error.errno or 0, "--store DIR names another folder")) from error

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """One night at a time in a store; and it can be written."""
        with self.writing("the lock of a night"):
            self.folder.mkdir(parents=True, exist_ok=True)
            repo.write_text(self.folder / "writable", "a night may write here\n")
            (self.folder / "lock").touch()
        with repo.alone(self.folder / "lock", f"another night works in the store {self.folder}",
                        "wait for its end, or name another folder: --store DIR"):
            yield

    def path(self, key: str) -> Path:
        return self.folder / "results" / key[:2] / f"{key}.json"

    def put(self, result: dict) -> None:
        why = faults(result, str(result.get("unit")))
        if why:
            raise Garbage(f"a result was refused: {why}")
        with self.writing(f"the result of {result['kind']} {result['name']}"):
            repo.write_json(self.path(result["unit"]), result)

    def forget(self, unit: Unit) -> None:
        with self.writing(f"that {unit.kind} {unit.name} is to be done again"):
            self.path(unit.key).unlink(missing_ok=True)

    def get(self, key: str) -> dict | None:
        """None where there is none, or only garbage, which is told once and will be done again."""
        path = self.path(key)
        if not path.exists():
            return None
        result = repo.read_json(path)
        why = faults(result, key)
        if not why:
            return result
        told = f"{path.relative_to(self.folder)} was no result: {why}; the unit is done again"
        if told not in self.garbage:
            self.garbage.append(told)
        return None

    def results(self) -> Iterator[dict]:
        """All that can be believed."""
        for path in sorted((self.folder / "results").glob("??/*.json")):
            if not path.name.startswith(".") and (result := self.get(path.stem)) is not None:
                yield result

    def add(self, path: Path | str) -> str:
        """A copy of a file that units need; its hash."""
        name = file_hash(path)
        place = self.blob(name)
        if not (place.exists() and file_hash(place) == name):
            with self.writing(f"the program {Path(path).name}"):
                half = repo.half(place)
                try:
                    shutil.copyfile(path, half)
                    half.chmod(0o755)
                    half.replace(place)
                finally:
                    half.unlink(missing_ok=True)
        self.used(place)
        return name

    def add_text(self, text: str) -> Path:
        """A file that a unit reads, by its contents."""
        place = self.blob(hashlib.sha256(text.encode()).hexdigest())
        if place.exists() and place.read_text() == text:
            self.used(place)
        else:
            with self.writing("the parts of a search"):
                repo.write_text(place, text)
        return place

    def blob(self, name: str) -> Path:
        return self.folder / "files" / name[:2] / name

    def program(self, name: str) -> Path:
        """A file that a unit needs, if it is what its name says."""
        place = self.blob(name)
        if file_hash(place) != name:
            raise Fault(f"{place} is not the file that its name says", "it was cut short, or changed", "remove it, and begin the night again")
        return place

    def prune(self, days: float = KEPT_DAYS) -> int:
        """Results and files that no night has used for so long, mostly of older sources. How many went."""
        limit, gone = time.time() - 86400 * days, 0
        for path in [*(self.folder / "results").glob("??/*"), *(self.folder / "files").glob("??/*")]:
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < limit:
                    path.unlink()
                    gone += 1
        return gone

    def used(self, path: Path) -> None:
        with contextlib.suppress(OSError):  # a store that is only read
            os.utime(path)

    def done(self, unit: Unit) -> dict | None:
        found = self.get(unit.key)
        if found is None or not kept(found):
            return None
        self.used(self.path(unit.key))
        return found
