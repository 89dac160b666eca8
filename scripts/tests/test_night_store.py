"""The store of a night: results are whole or not there, and two stores are merged."""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.base import repo
from apiary_cli.base.errors import Fault
from apiary_cli.night import spread
from apiary_cli.night.store import Store
from apiary_cli.night.unit import Unit
from apiary_cli.verbs import merge, nightly_units

from .nights import Folder, result


class Kept(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.store = Store(self.folder / "store")
        self.unit = Unit("stress", "hive", self.program())

    def test_a_result_comes_back_and_nothing_half_written_lies_about(self) -> None:
        self.assertIsNone(self.store.done(self.unit))
        self.store.put(result(self.unit))
        self.assertEqual(self.store.done(self.unit)["rc"], 0)
        self.assertEqual([one["unit"] for one in self.store.results()], [self.unit.key])
        self.assertEqual([path.name for path in self.store.folder.rglob("*") if path.is_file()], [f"{self.unit.key}.json"])

    def test_garbage_is_told_by_name_and_done_again(self) -> None:
        self.store.put(result(self.unit))
        path = self.store.path(self.unit.key)
        whole = path.read_text()
        other = result(self.unit.with_(name="other"))
        for text, why in ((whole[: len(whole) // 2], "torn"), ("", "torn"), ("[]", "torn"), ("{}", "no schema"), (whole.replace('"rc": 0', '"rc": 1'), "contents"),
                          (whole.replace('"seconds": 1.0', '"seconds": "x"'), "no seconds"), (repo.json_text(other), "tells of the unit"), ("\0" * 99, "torn")):
            self.store.garbage = []
            path.write_text(text)
            self.assertIsNone(self.store.done(self.unit), text)
            self.assertIn(why, self.store.garbage[0])
            self.assertIn(f"{self.unit.key}.json was no result", self.store.garbage[0])
        with contextlib.redirect_stderr(io.StringIO()):
            night = spread.perform([self.unit], spread.Pool(1), self.store, 60.0, lambda _: 0.0)
        self.assertEqual((night.fresh, night.fault, self.store.done(self.unit)["rc"]), ({self.unit.key}, None, 0))

    def test_what_a_limit_or_the_machine_ended_is_tried_again(self) -> None:
        for more, kept in ((dict(rc=1), True), (dict(rc=-11), True), (dict(rc=None, ended="time"), False), (dict(rc=None, ended="memory"), False),
                           (dict(rc=-9), False), (dict(rc=None, ended="lost"), False)):
            self.store.put(result(self.unit, **more))
            self.assertEqual(self.store.done(self.unit) is not None, kept, more)

    def test_what_cannot_be_written_is_told_with_a_remedy_and_harms_nothing(self) -> None:
        self.store.put(result(self.unit))
        for number, remedy in ((errno.ENOSPC, "make room"), (errno.EROFS, "can be written"), (errno.EACCES, "this user may write")):
            with mock.patch.object(Path, "write_bytes", side_effect=OSError(number, os.strerror(number))):
                with self.assertRaises(Fault) as told:
                    self.store.put(result(self.unit, seconds=2.0))
            self.assertIn("the result of stress hive cannot be written to the store", told.exception.seen)
            self.assertEqual((told.exception.cause, remedy in told.exception.remedy), (os.strerror(number), True))
        self.assertEqual(self.store.done(self.unit)["seconds"], 1.0)

    def test_a_full_disk_ends_the_night_with_what_was_done(self) -> None:
        units = [self.unit.with_(name=f"{i}", salt=str(i)) for i in range(3)]
        real, left = self.store.put, itertools.count()

        def put(one: dict) -> None:
            if next(left):
                raise Fault("the result cannot be written", "No space left on device", "make room")
            real(one)

        with mock.patch.object(self.store, "put", put), contextlib.redirect_stderr(io.StringIO()):
            night = spread.perform(units, spread.Pool(1), self.store, 60.0, lambda _: 0.0)
        self.assertEqual((len(night.results), night.fault.cause, [one.name for one in night.waiting]), (1, "No space left on device", ["1", "2"]))

    def test_one_night_at_a_time(self) -> None:
        with self.store.alone():
            with self.assertRaises(Fault) as told, Store(self.store.folder).alone():
                self.fail("two nights")
        self.assertIn(f"process {os.getpid()} on", told.exception.cause)
        with Store(self.store.folder).alone():
            pass
        (self.folder / "file").write_text("")
        with self.assertRaisesRegex(Fault, "cannot be written to the store"), Store(self.folder / "file").alone():
            self.fail("no folder")

    def test_files_of_units_are_what_their_names_say(self) -> None:
        name = self.store.add(self.unit.program)
        self.assertTrue(os.access(self.store.program(name), os.X_OK))
        self.store.program(name).write_text("something else")
        with self.assertRaisesRegex(Fault, "not the file that its name says"):
            self.store.program(name)
        self.store.add(self.unit.program)
        self.assertEqual(self.store.program(name).read_bytes(), Path(self.unit.program).read_bytes())

    def test_a_record_that_lacks_something_is_refused_by_name_before_anything_is_merged(self) -> None:
        whole = {"schema": 1, "utc": "", "stamp": {"source_hash": "x", "commit": "c"}, "shard": [1, 2], "engine": "", "seconds": 1.0, "busy": 0.5, "done": [],
                 "fresh": [], "waiting": [], "entries": [], "notes": [], "fault": ""}
        one, two = self.folder / "1", self.folder / "2"
        for folder in (one, two):
            folder.mkdir()
        with self.assertRaisesRegex(Fault, "no record of a night"):
            nightly_units.read_records([one])
        for bad in ({"shard": "1/2"}, {"shard": [1]}, {"shard": [0, 2]}, {"shard": [1, 2 * 10**9]}, {"stamp": {}}, {"done": None}, {"seconds": "1"},
                    {"schema": 2}, {}):
            told = whole | bad
            if not bad:
                del told["entries"]
            repo.write_json(one / "night-1-of-2.json", told)
            with self.subTest(bad=bad), self.assertRaisesRegex(Fault, "night-1-of-2.json cannot be read"):
                nightly_units.read_records([one])
        repo.write_json(one / "night-1-of-2.json", whole | {"utc": "20261127T020000Z"})
        repo.write_json(two / "night-1-of-2.json", whole | {"utc": "20261127T010000Z"})
        for folders in ([one, two], [two, one]):
            (found,) = nightly_units.read_records(folders)
            self.assertEqual((found["utc"], found["notes"]), ("20261127T020000Z", ["shard 1 of 2 left two records; the later counts, of 20261127T020000Z"]))
        self.assertEqual(nightly_units.missing([found]), ["shard 2 of 2"])
        repo.write_json(two / "night-1-of-2.json", whole | {"shard": [2, 2], "stamp": {"source_hash": "y", "commit": "c"}})
        with self.assertRaisesRegex(Fault, "several sources"):
            nightly_units.read_records([one, two])

    def test_a_merge_takes_what_says_most_and_no_file_that_is_not_what_its_name_says(self) -> None:
        good, red, ended = result(self.unit), result(self.unit, rc=1), result(self.unit, rc=None, ended="time")
        for number, (ours, theirs, taken, odd) in enumerate(((None, ended, ended, False), (ended, good, good, False), (good, ended, good, False),
                                                             (good, red, red, True), (red, good, red, True), (good, good, good, False))):
            with self.subTest(number=number):
                into, source = Store(self.folder / f"into{number}"), Store(self.folder / f"from{number}")
                source.put(theirs)
                if ours:
                    into.put(ours)
                told = merge.gather([source.folder], into)
                self.assertEqual((into.get(self.unit.key), ["two machines differ" in one for one in told]), (taken, [True] * odd))
        into, name = Store(self.folder / "into"), self.store.add(self.unit.program)
        self.store.put(good)
        (self.store.folder / "files" / "ab").mkdir()
        (self.store.folder / "files" / "ab" / ("ab" * 32)).write_text("cut sh")
        (self.store.folder / "files" / "ab" / "folder").mkdir()
        told = merge.gather([self.store.folder], into)
        self.assertEqual((len(told), "is not the file that its name says" in told[0]), (1, True), told)
        self.assertEqual([path.name for path in (into.folder / "files").rglob("*") if path.is_file()], [name])
        self.assertTrue(os.access(into.program(name), os.X_OK))

    def test_what_no_night_used_for_a_month_goes(self) -> None:
        old = self.unit.with_(name="old")
        for unit in (self.unit, old):
            self.store.put(result(unit))
            os.utime(self.store.path(unit.key), (0, 0))
        self.store.done(self.unit)
        self.assertEqual((self.store.prune(), self.store.done(old), self.store.done(self.unit) is None), (1, None, False))


if __name__ == "__main__":
    unittest.main()
