"""What the tests of a night share: a folder, a store, units that do nothing, an engine and a cluster's client that do as they are told."""

from __future__ import annotations

import contextlib
import io
import tempfile
import unittest
import zipfile
from pathlib import Path

from apiary_cli.night import child, spread, store as stores
from apiary_cli.night.store import Store
from apiary_cli.night.unit import Unit

from . import fakes


NIGHT = {"utc": "20261126T010000Z", "commit": "c" * 40, "units": 3, "fresh": 3, "red": [], "waiting": 0, "seconds": 9.5}


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="apiary-night-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def program(self, name: str = "one", text: str = "#!/bin/sh\nexit 0\n") -> str:
        fakes.script(self.folder / name, text)
        return str(self.folder / name)


def result(unit: Unit, **more: object) -> dict:
    told = child.lost(unit, "") | {"rc": 0, "ended": "", "seconds": 1.0} | more
    return stores.sealed({name: value for name, value in told.items() if name != "digest"})


class Engine:
    """One that does what it is told, at once."""

    told = "a fake"

    def __init__(self, does, room: int = 2) -> None:
        self.does, self.room, self.queue, self.asked, self.notes = does, room, [], [], []

    def takes(self, _: Unit) -> bool:
        return len(self.queue) < self.room

    @property
    def running(self) -> int:
        return len(self.queue)

    def submit(self, unit: Unit) -> None:
        self.asked.append(unit.name)
        self.queue.append(unit)

    def wait(self, _: float) -> list:
        done, self.queue = [(unit, self.does(unit)) for unit in self.queue], []
        return done

    def close(self) -> None:
        pass


class Future:
    def __init__(self, does) -> None:
        self.does = does

    def done(self) -> bool:
        return True

    def cancelled(self) -> bool:
        return self.does is None

    def exception(self):
        return self.does if isinstance(self.does, Exception) else None

    def result(self):
        return self.does


class Client:
    """What a cluster asks of Dask's, of workers that are this process."""

    status = "running"

    def __init__(self, workers: dict[str, dict], does=None) -> None:
        self.workers, self.does, self.asked = workers, does, []

    def upload_file(self, path: str) -> None:
        with zipfile.ZipFile(path) as made:
            self.names = made.namelist()

    def scheduler_info(self, n_workers: int) -> dict:
        return {"workers": self.workers}

    def run(self, what, workers: list[str], on_error: str) -> dict:
        return {one: what() | self.workers[one] if self.workers[one] is not None else OSError("gone") for one in workers}

    def submit(self, what, told: dict, sent: dict, workers: list[str], **_: object) -> Future:
        self.asked.append((workers, sorted(sent)))
        return Future(self.does(told, sent) if self.does else what(told, sent))

    def scatter(self, data: bytes, hash: bool) -> bytes:
        return data

    def get_versions(self, check: bool) -> dict:
        return {"scheduler": {"host": {"python": "3.8.1.final.0"}, "packages": {"distributed": "2020.1"}}}

    def close(self, timeout: int) -> None:
        pass


class Units(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.store = Store(self.folder / "store")
        program = self.program()
        self.units = [Unit("stress", name, program) for name in "abcd"]

    def perform(self, engine: Engine, seconds: float = 60.0, estimate=lambda _: 0.0, follow=lambda *_: ()) -> spread.Night:
        with contextlib.redirect_stderr(io.StringIO()):
            return spread.perform(self.units, engine, self.store, seconds, estimate, follow)
