"""A night and what is wrong around it: no room, a folder that may only be read, a scheduler that is away, two nights at once, a machine that
sleeps. What was seen, cause, remedy; and nothing earlier is damaged. Garbage: test_night_store.py;
a clock set back: test_night.py."""

from __future__ import annotations

import argparse
import os
import socket
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.base import repo
from apiary_cli.base.errors import Fault, HARNESS, USAGE
from apiary_cli.night import child, cluster, spread
from apiary_cli.night.store import Store, kept
from apiary_cli.night.unit import Unit
from apiary_cli.verbs import nightly

from .nights import Engine, Folder, result


class Case(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.store = Store(self.folder / "store")
        self.unit = Unit("stress", "a", "/bin/true", ("a",))
        self.began = self.enterContext(mock.patch.object(nightly, "night", side_effect=AssertionError("a part began")))
        self.enterContext(mock.patch.object(nightly.setup, "ensure", lambda **_: None))

    def refused(self, *words: str) -> Fault:
        parser = argparse.ArgumentParser()
        nightly.arguments(parser)
        with self.assertRaises(Fault) as caught:
            nightly.run(parser.parse_args(["--store", str(self.store.folder), *words]))
        self.assertTrue(caught.exception.seen and caught.exception.cause and caught.exception.remedy, caught.exception.text())
        return caught.exception


class BeforeAnythingBegins(Case):
    def test_a_second_night_is_refused_and_told_of_the_first(self) -> None:
        with self.store.alone():
            fault = self.refused()
        self.assertEqual(fault.code, USAGE)
        self.assertIn(f"another night works in the store {self.store.folder}", fault.seen)
        self.assertIn(f"process {os.getpid()} on", fault.cause)

    def test_a_night_has_its_store_from_the_first_build_to_its_end(self) -> None:
        asked: list[str] = []

        def second(*_: object, **__: object) -> list:
            with self.assertRaisesRegex(Fault, "another night works"), Store(self.store.folder).alone():
                pass
            asked.append("refused")
            return []

        parser = argparse.ArgumentParser()
        nightly.arguments(parser)
        with mock.patch.multiple(nightly, night=second, remember=second, publish=second), mock.patch.object(nightly.setup, "ensure", second):
            nightly.run(parser.parse_args(["--store", str(self.store.folder)]))
        self.assertEqual(len(asked), 6, "three installations, the parts, what is remembered, and the page")
        with self.store.alone():
            pass

    def test_a_store_that_cannot_be_written(self) -> None:
        (self.folder / "file").write_text("no folder")
        for place in (Path("/proc/apiary"), self.folder / "file" / "store"):
            self.store = Store(place)
            fault = self.refused()
            self.assertEqual((fault.code, "cannot be written to the store" in fault.seen), (HARNESS, True), fault.text())
            self.assertIn("--store DIR", fault.remedy)

    def test_a_store_on_a_full_disk(self) -> None:
        """/dev/full in the place of the half that is written: the same call fails as on a disk without room."""
        self.store.folder.mkdir()
        repo.half(self.store.folder / "writable").symlink_to("/dev/full")
        fault = self.refused()
        self.assertEqual((fault.code, fault.cause), (HARNESS, "No space left on device"))
        self.assertIn("make room there", fault.remedy)

    def test_a_scheduler_that_is_away_or_no_address(self) -> None:
        with socket.socket() as nobody:  # bound, and nobody listens
            nobody.bind(("127.0.0.1", 0))
            fault = self.refused("--scheduler", f"tcp://127.0.0.1:{nobody.getsockname()[1]}")
        self.assertEqual((fault.code, "does not answer" in fault.seen), (HARNESS, True))
        self.assertIn("refused", fault.cause)
        self.assertIn("Without --scheduler the same units run here", fault.remedy)
        self.assertIn("neither TLS nor loopback", self.refused("--scheduler", "tcp://10.0.0.1:8786").seen)
        for address in ("tls://localhost:99999", "tls://localhost:x"):
            self.assertIn("does not answer", self.refused("--scheduler", address).seen)

    def test_one_that_listens_is_not_refused(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as there:
            cluster.must_answer(f"tcp://127.0.0.1:{there.getsockname()[1]}")


class NothingEarlierIsDamaged(Case):
    def test_no_room_for_a_result_leaves_those_that_are_there_and_no_half(self) -> None:
        other = Unit("stress", "b", "/bin/true", ("b",))
        self.store.put(result(self.unit))
        place = self.store.path(self.unit.key)
        before = place.read_bytes()
        for one in (self.unit, other):
            path = self.store.path(one.key)
            repo.half(path).symlink_to("/dev/full")
            with self.assertRaises(Fault) as caught:
                self.store.put(result(one, output="anew"))
            self.assertIn("make room there", caught.exception.remedy)
            self.assertEqual([each.name for each in path.parent.iterdir() if each.name.startswith(".")], [])
        self.assertEqual((place.read_bytes(), self.store.get(self.unit.key)["output"], self.store.get(other.key)), (before, "", None))

    def test_a_machine_that_slept_ends_units_by_their_limit_and_they_are_no_result(self) -> None:
        """Where the clock goes on in its sleep: what a limit ended is done again, and what was done before stays."""
        ended = child.run(Unit("stress", "c", "/bin/sleep", ("5",), limit=0.2))
        self.assertTrue(ended["ended"], ended)
        self.assertFalse(kept(ended))
        self.store.put(result(self.unit))
        self.store.put(ended)
        asked = [self.unit, Unit("stress", "c", "/bin/sleep", ("5",), limit=0.2)]
        self.assertEqual([self.store.done(one) is not None for one in asked], [True, False])

    def test_a_budget_that_passed_in_sleep_lets_what_runs_end_and_names_what_waits(self) -> None:
        units = [Unit("stress", name, "/bin/true", (name,)) for name in "xyz"]
        clock = [0.0]

        def sleeps(unit: Unit) -> dict:
            clock[0] += 8 * 3600.0
            return result(unit)

        with mock.patch.object(spread.time, "monotonic", lambda: clock[0]):
            night = spread.perform(units, Engine(sleeps, room=1), self.store, 3600.0, lambda _: 1.0)
        self.assertEqual((len(night.fresh), [unit.name for unit in night.waiting], bool(night.fault)), (1, ["y", "z"], False))


if __name__ == "__main__":
    unittest.main()
