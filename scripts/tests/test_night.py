"""A night in units: what one is, its result, the engines that run it, their order, and the page. Nothing is built; commands are fake."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import errno
import io
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import types
import unittest
import zipfile
from pathlib import Path
from unittest import mock

from apiary_cli.base import proc, repo
from apiary_cli.base.errors import Fault
from apiary_cli.base.say import duration
from apiary_cli.night import child, cluster, memory, spread, store as stores
from apiary_cli.night.store import Store
from apiary_cli.night.unit import Unit
from apiary_cli.report import html, night_cases, night_page, sarif
from apiary_cli.report.junit import Case, Part
from apiary_cli.verbs import fuzz, merge, nightly_units, soak
from apiary_cli.verify import checks, enduring, logic, night_units, search_parts

from . import fakes
from .support import REAL_ROOT


NIGHT = {"utc": "20261126T010000Z", "commit": "c" * 40, "units": 3, "fresh": 3, "red": [], "waiting": 0, "seconds": 9.5}


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="apiary-night-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def program(self, name: str = "one", text: str = "#!/bin/sh\nexit 0\n") -> str:
        fakes.script(self.folder / name, text)
        return str(self.folder / name)


class Identity(Folder):
    def test_all_that_decides_the_result_is_in_its_key_and_nothing_else(self) -> None:
        data = self.folder / "data"
        data.write_text("1")
        one = Unit("stress", "hive seed 1", self.program(), ("--seed", "1", "{data}"), (("data", str(data)),))
        (self.folder / "elsewhere").mkdir()
        for same in (one.with_(limit=1.0), one.with_(memory=0), one.with_(replay="x"), one.with_(program=self.program("elsewhere/one"))):
            self.assertEqual(same.key, one.key)
        others = [one.with_(**change) for change in (dict(kind="soak"), dict(name="b"), dict(words=("--seed", "2")), dict(salt="s"),
                  dict(environment=(("A", "1"),)), dict(reads="verdicts"), dict(program=self.program("elsewhere/one", "#!/bin/sh\nexit 1\n")))]
        before = one.key
        data.write_text("23")
        self.assertEqual(len({before, one.key, *(other.key for other in others)}), 2 + len(others))

    def test_an_unknown_kind_and_a_program_that_is_not_there_are_refused_by_name(self) -> None:
        with self.assertRaisesRegex(Fault, "unit of the kind 'odd'"):
            Unit("odd", "x", "/bin/true")
        with self.assertRaisesRegex(Fault, "/no/program cannot be read"):
            Unit("soak", "x", "/no/program").key

    def test_the_line_that_a_person_pastes(self) -> None:
        unit = Unit("logic", "17", self.program(), ("a b", "{data}", "--json", "{out}"), (("data", self.program("data")),), (("M", "17"),))
        self.assertEqual(unit.line(), f"M=17 {self.folder}/one 'a b' {self.folder}/data --json /dev/null")
        self.assertEqual(unit.with_(replay="scripts/apiary soak hive").line(), "scripts/apiary soak hive")
        self.assertEqual(unit.command("/p", {"data": "/d", "out": "/o"}), ["/p", "a b", "/d", "--json", "/o"])


def result(unit: Unit, **more: object) -> dict:
    told = child.lost(unit, "") | {"rc": 0, "ended": "", "seconds": 1.0} | more
    return stores.sealed({name: value for name, value in told.items() if name != "digest"})


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
            with mock.patch.object(Path, "write_text", side_effect=OSError(number, os.strerror(number))):
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


class Children(Folder):
    def run_one(self, text: str, **more: object) -> dict:
        return child.run(Unit("stress", "one", self.program("p", text), **more), cwd=self.folder)

    def test_what_it_leaves_is_a_result_however_it_ends(self) -> None:
        for text, rc, said in (("#!/bin/sh\necho 7; exit 3\n", 3, "7"), ("#!/bin/sh\nkill -SEGV $$\n", -11, "")):
            told = self.run_one(text)
            self.assertEqual((told["rc"], told["ended"], told["output"]), (rc, "", said))
        self.assertIn("could not be started", self.run_one("no program")["how"])
        told = self.run_one("#!/bin/sh\necho '{\"a\": 1}' > $2\n", words=("--json", "{out}"), reads="verdicts")
        self.assertEqual((told["lines"], told["how"]), ([{"a": 1}], ""))
        for text, how in (("#!/bin/sh\n", "left no verdict"), ("#!/bin/sh\necho '{\"a\": 1' > $2\n", "cannot be read")):
            self.assertIn(how, self.run_one(text, words=("--json", "{out}"), reads="verdicts")["how"])

    def test_it_is_held_to_its_limits_with_all_that_it_started(self) -> None:
        long = 10**6 + os.getpid()  # no sleep of another's
        told = self.run_one(f"#!/bin/sh\nsetsid sleep {long} &\nsleep {long}\n", limit=0.2)
        self.assertEqual((told["rc"], told["ended"], told["how"]), (None, "time", "did not end within 0.2 s"))
        hungry = f"#!{sys.executable} -S\nx = b'x' * (200 << 20)\nimport time\ntime.sleep(60)\n"
        self.assertEqual(self.run_one(hungry, memory=100 << 20)["how"], "held more than 100 MiB")
        told = self.run_one(f"#!/bin/sh\nsetsid sleep {long} &\n")
        self.assertEqual((told["rc"], told["ended"]), (0, ""), "what it left behind is ended, too")
        commands = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):  # it has ended
                commands.append(path.read_bytes())
        self.assertNotIn(f"sleep\0{long}\0".encode(), commands)

    def test_it_dies_with_its_worker(self) -> None:
        self.program("p", f"#!/bin/sh\nsetsid sh -c 'echo $$ > {self.folder}/born; exec sleep 986' &\nsleep 986\n")
        code = ("import sys; from pathlib import Path; from apiary_cli.night import child; from apiary_cli.night.unit import Unit\n"
                f"child.run(Unit('stress', 'one', '{self.folder}/p'), cwd=Path('/'))")
        worker = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).resolve().parents[1])
        born = self.folder / "born"
        self.until(lambda: born.exists() and born.read_text().strip())
        worker.kill()
        worker.wait()
        pid = int(born.read_text())
        self.until(lambda: not Path(f"/proc/{pid}").exists())

    def until(self, holds) -> None:
        for _ in range(3000):
            if holds():
                return
            time.sleep(0.01)
        self.fail("it never came")

    def test_an_engine_that_is_closed_leaves_no_unit_running(self) -> None:
        """A disk that is full ends a night's units; what comes after them is a race, which is measured."""
        pool, begun = spread.Pool(1), self.folder / "begun"
        for name in ("one", "two"):
            pool.submit(Unit("stress", name, self.program(name, f"#!/bin/sh\ntouch {begun}\nexec sleep 61.25\n")))
        while not begun.exists():
            time.sleep(0.01)
        pool.close()
        self.assertEqual([one for one in proc.descendants(os.getpid()) if b"61.25" in Path(f"/proc/{one}/cmdline").read_bytes()], [])

    def test_a_program_that_changes_while_it_runs_gives_no_result(self) -> None:
        with self.assertRaisesRegex(Fault, "changed while it ran"):
            self.run_one("#!/bin/sh\necho '# more' >> $0\n")


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


class Units(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.store = Store(self.folder / "store")
        program = self.program()
        self.units = [Unit("stress", name, program) for name in "abcd"]

    def perform(self, engine: Engine, seconds: float = 60.0, estimate=lambda _: 0.0, follow=lambda *_: ()) -> spread.Night:
        with contextlib.redirect_stderr(io.StringIO()):
            return spread.perform(self.units, engine, self.store, seconds, estimate, follow)


class Nights(Units):
    def test_a_night_that_was_killed_goes_on_where_it_was(self) -> None:
        def dies(unit: Unit) -> dict:
            if unit.name == "c":
                raise KeyboardInterrupt
            return result(unit)

        with self.assertRaises(KeyboardInterrupt):
            self.perform(Engine(dies))
        engine = Engine(result)
        night = self.perform(engine)
        self.assertEqual((engine.asked, len(night.results), len(night.fresh)), (["c", "d"], 4, 2))
        self.assertEqual(self.perform(Engine(self.fail)).fresh, set(), "and a third has nothing to do")

    def test_a_full_engine_does_not_read_each_unit_again_and_one_that_is_listed_twice_is_done_once(self) -> None:
        first = self.units[0]
        self.units = [first.with_(name=str(n)) for n in range(60)]
        self.units += self.units[-2:]
        engine, asked, key = Engine(result), [], Unit.key
        with mock.patch.object(Unit, "key", property(lambda unit: asked.append(unit) or key.fget(unit))):
            night = self.perform(engine)
        self.assertEqual((len(engine.asked), len(night.results)), (60, 60))
        self.assertLess(len(asked), 30 * 60, "and not by the square")

    def test_what_does_not_fit_waits_and_what_is_shorter_goes_before_it(self) -> None:
        night = self.perform(Engine(result), 10.0, lambda unit: {"b": 100.0}.get(unit.name, 1.0))
        self.assertEqual(([night.units[key].name for key in night.results], [unit.name for unit in night.waiting]), (["a", "c", "d"], ["b"]))

    def test_a_unit_that_kills_its_worker_three_times_is_red_and_named(self) -> None:
        engine = Engine(lambda unit: child.lost(unit, "its worker was killed") if unit.name == "b" else result(unit))
        night = self.perform(engine)
        self.assertEqual(engine.asked.count("b"), 3)
        (told,) = [one for one in night.results.values() if one["ended"]]
        self.assertEqual((told["name"], told["how"]), ("b", "its worker was killed, 3 times"))
        self.assertIsNone(self.store.done(self.units[1]), "the next night tries again")

    def test_a_worker_that_lies_about_what_it_did_is_not_believed(self) -> None:
        other = self.units[0].with_(salt="other")
        night = self.perform(Engine(lambda unit: result(other) if unit.name == "b" else result(unit)))
        (told,) = [one for one in night.results.values() if one["ended"]]
        self.assertIn("gave back no result of it: it tells of the unit", told["how"])

    def test_an_engine_that_goes_away_leaves_what_was_done_and_what_waits(self) -> None:
        def gone(unit: Unit) -> dict:
            if unit.name == "c":
                raise Fault("the scheduler tls://x went away", "closed", "start it again")
            return result(unit)

        night = self.perform(Engine(gone))
        self.assertEqual((night.fault.seen, len(night.results), sorted(unit.name for unit in night.waiting)),
                         ("the scheduler tls://x went away", 2, ["c", "d"]))


class Remembered(Units):
    def test_the_next_night_begins_with_what_was_red_then_what_waited_then_what_ran_longest_ago(self) -> None:
        old = memory.Memory(done={"stress a": "20261101T000000Z", "stress b": "20261102T000000Z", "stress d": "20261103T000000Z"},
                            waiting=["stress d"], red={"stress b": ""}, seconds={"stress a": 7.0})
        self.assertEqual([unit.name for unit in old.order(self.units)], ["b", "d", "c", "a"])
        self.assertEqual([old.estimate(unit) for unit in self.units[:2]], [7.0, memory.GUESSES["stress"]])
        memory.learn(old, [result(self.units[2], seconds=3.0)], [self.units[0]])
        memory.write(self.store, old, NIGHT)
        again = memory.read(self.store)
        self.assertEqual((again.seconds["stress c"], again.waiting, again.told, again.nights), (3.0, ["stress a"], [], [NIGHT]))

    def test_a_clock_that_was_set_back_and_garbage_cost_an_order_and_no_result(self) -> None:
        memory.write(self.store, memory.Memory(done={"stress a": "20270101T000000Z", "stress b": "20260101T000000Z"}), NIGHT)
        told = memory.read(self.store, datetime.datetime(2026, 11, 27, tzinfo=datetime.timezone.utc))
        self.assertEqual((list(told.done), "set back: 1 units" in told.told[0]), (["stress b"], True))
        whole = {"seconds": {}, "done": {}, "waiting": [], "red": {}, "nights": []}
        bad = [whole | one for one in ({"seconds": 1}, {"seconds": {"stress a": math.nan}}, {"seconds": {"stress a": -1}},
                                       {"seconds": {"stress a": math.inf}}, {"nights": [{}]}, {"nights": [[]]}, {"nights": [{"utc": "x"}]})]
        for text in ("{", "[]", "{}", *map(json.dumps, bad)):
            memory.path(self.store).write_text(text)
            told = memory.read(self.store)
            self.assertEqual((len(told.told), told.seconds, told.nights), (1, {}, []), text)

    def test_in_six_days_every_logic_mutant_is_drawn_once_and_each_day_has_seeds_of_its_own(self) -> None:
        (self.folder / "impl").mkdir()
        with mock.patch.object(repo, "source_hash", return_value="x"):
            days = [datetime.date(2026, 11, 1) + datetime.timedelta(i) for i in range(logic.DRAWS)]
            names = [unit.name for day in days for unit in night_units.logic_mutants(day, True)]
        of = logic.DRAWS * night_units.SHARDS_OF_A_DRAW
        self.assertEqual(sorted(names), sorted(f"part {i} of {of}" for i in range(1, of + 1)))
        seeds = [seed for day in days for seed in night_units.seeds(day, 3)]
        self.assertEqual(len(set(seeds)), len(seeds))


CHECK = """#!{python}
import json, sys
words = sys.argv[1:]
ways = open(words[words.index("--from") + 1]).read().split()
budget, leaves = int(words[words.index("--budget") + 1][:-1]), {leaves}
queue = [0] * 0
for way in ways:
    first, last = (0, leaves) if way == "all" else map(int, way.partition("@")[0].split("."))
    queue += range(first, last)
done, left = queue[:budget], queue[budget:]
told = dict(name=words[0], kind="check", engine="explorer", verdict="budget" if left else "pass", as_expected=True, executions=len(done), graphs=len(done),
            blocked=0, laws={{"check": len(done)}}, reach={{"deep": 1}} if {deep} in done else {{}}, acted=[0, 1] if 1 in done else [0], sites={{}},
            bound="RC11")
if left:
    told["left"] = " ".join(f"{{i}}.{{i + 1}}@{{1 / leaves}}" for i in left)
open(words[-1], "w").write(json.dumps(told) + "\\n")
"""


class Divided(Units):
    def search(self, leaves: int = 40, deep: int = 39, budget: int = 9, engine=None, seconds: float = 60.0, too_large: bool = False) -> search_parts.Search:
        program = self.program("check", CHECK.format(python=f"{sys.executable} -IS", leaves=leaves, deep=deep))
        entry = checks.Entry("deque", "check", ("explorer",), 2, "", Path(program), ("deep",), too_large)
        follow = lambda unit, told: [(too_large, one) for one in search_parts.divided(unit, told, entry, self.store, budget)]  # noqa: E731
        self.units = [search_parts.part(entry, [search_parts.WHOLE], self.store, budget)]
        self.night = self.perform(engine or spread.Pool(2), seconds, lambda _: 0.1, follow)
        told = [[search_parts.told(unit) for unit in some] for some in (self.night.units.values(), self.night.waiting)]
        (found,) = search_parts.gathered([entry], told[0], self.night.results, told[1])
        return found

    def test_the_sum_over_all_parts_is_that_of_one_machine_and_is_judged_as_one(self) -> None:
        verdict = self.search().verdict()
        self.assertEqual((verdict["graphs"], verdict["verdict"], verdict["as_expected"], verdict["acted"]), (40, "pass", True, [0, 1]))
        self.assertGreater(verdict["parts"], 4)

    def test_what_must_be_reached_and_asked_is_a_matter_of_all_parts(self) -> None:
        verdict = self.search(deep=99).verdict()
        self.assertEqual((verdict["as_expected"], verdict["reason"]), (False, "never reached deep"))
        self.assertIn("thread 1 ran no operation", self.search(leaves=1, deep=0).verdict()["reason"])

    def test_what_the_runner_calls_nothing_is_nothing_in_parts_too(self) -> None:
        """By the first two words of each reason in runner.cpp: one that is new there has to come here."""
        entry = checks.Entry("deque", "check", ("explorer",), 2, "", Path("x"), ("deep",), False)
        fine = {"executions": 9, "blocked": 8, "acted": [0, 1], "laws": {"check": 1, "deadlock": 1}, "reach": {"deep": 1}}
        law = dataclasses.replace(entry, engine_laws=("deadlock",))
        reasons = {"none of": (entry, {"blocked": 9}), "thread ": (entry, {"acted": [0]}), "the check": (law, {"laws": {"check": 1}}),
                   "no law": (entry, {"laws": {"deadlock": 1, "check": 0}})}
        runner = (REAL_ROOT / "model_check/apiary/model_check/runner.cpp").read_text()
        self.assertEqual(sorted(re.findall(r'"nothing was checked: (\w+ \w*)', runner)), sorted(reasons))
        for words, (one, lacking) in reasons.items():
            self.assertEqual(search_parts.unseen(one, fine), "")
            self.assertTrue(search_parts.unseen(one, fine | lacking).startswith(search_parts.NOTHING), words)
        self.assertEqual(search_parts.unseen(entry, fine | {"reach": {}}), "never reached deep")
        self.assertIn('v.reason = "never reached " + never', runner)

    def test_a_night_that_ends_before_has_no_pass_and_the_next_one_ends_it(self) -> None:
        engine = Engine(child.run, 1)
        turns = itertools.count()
        real = engine.submit

        def submit(unit: Unit) -> None:
            if next(turns) == 2:
                raise Fault("the scheduler went away")
            real(unit)

        engine.submit = submit
        verdict = self.search(engine=engine).verdict()
        self.assertEqual((verdict["verdict"], verdict["as_expected"], self.night.fault.seen), ("budget", False, "the scheduler went away"))
        self.assertRegex(verdict["bound"], r"budget ended, about [\d.]+ % of the search tree covered")
        before = sum(one["lines"][0]["graphs"] for one in self.night.results.values())
        again = self.search().verdict()
        self.assertEqual((again["graphs"], again["verdict"]), (40, "pass"))
        fresh = sum(self.night.results[key]["lines"][0]["graphs"] for key in self.night.fresh)
        self.assertEqual(fresh, 40 - before, "nothing is done twice")

    def test_a_part_that_cannot_be_kept_or_divided_is_no_pass(self) -> None:
        """On a full disk: the part waits, since what it left is nowhere."""
        full = Fault("the result cannot be written", "No space left on device", "make room")
        for number, (name, nth) in enumerate((("put", 0), ("put", 4), ("add_text", 2))):
            self.store, real, turns = Store(self.folder / f"full{number}"), getattr(Store, name), itertools.count()

            def once(*words: object) -> object:
                if next(turns) == nth + (name == "add_text"):  # the first text is of the whole search
                    raise full
                return real(self.store, *words)

            with self.subTest(name=name, nth=nth), mock.patch.object(self.store, name, once):
                verdict = self.search(leaves=12, deep=11, budget=2, engine=Engine(child.run, 1)).verdict()
                self.assertEqual((verdict["verdict"], verdict["as_expected"], self.night.fault), ("budget", False, full))
            again = self.search(leaves=12, deep=11, budget=2).verdict()
            self.assertEqual((again["graphs"], again["verdict"]), (12, "pass"), "the next night ends it")

    def test_a_part_that_crashes_is_no_pass(self) -> None:
        for more, how in (({"rc": -11}, "a part exited with status -11"), ({"how": "it left no verdict"}, "it left no verdict"),
                          ({"rc": None, "ended": "time", "how": "did not end"}, "did not end")):
            self.store, turns = Store(self.folder / how.replace(" ", "-")), itertools.count()
            search = self.search(engine=Engine(lambda unit: result(unit, **more) if next(turns) == 2 else child.run(unit), 1))  # noqa: B023
            self.assertEqual((search.verdict()["verdict"], search.verdict()["reason"]), ("error", how))

    def test_a_part_of_next_to_no_weight_waits_like_any_other(self) -> None:
        """A way of a thousand forks has the weight 0 of a double."""
        search = self.search()
        entry, line = search.entry, search.lines[0] | {"verdict": "pass"}
        done = {"unit": "u", "check": entry.name, "weight": 1.0}
        told = {"lines": [line], "seconds": 0.0, "ended": "", "rc": 0, "how": ""}
        (found,) = search_parts.gathered([entry], [done], {"u": told}, [{"check": entry.name, "weight": 0.0}])
        self.assertEqual(found.verdict()["verdict"], "budget")
        unit = search_parts.part(entry, ["0*1100@0"], self.store)
        self.assertEqual(len(search_parts.divided(unit, {"lines": [line | {"verdict": "budget", "left": "0*1100.1@0 0*1100.2@0"}]}, entry, self.store)), 2)


class Together(Units):
    """Records of shards, judged as one night."""

    ENTRY = checks.Entry("deque", "check", ("relacy",), 2, "", Path("x"), (), False)

    def setUp(self) -> None:
        super().setUp()
        self.search = Unit("search", "deque relacy", self.program(), ("deque",), reads="verdicts")
        self.pass_ = {"name": "deque", "kind": "check", "engine": "explorer", "verdict": "pass", "as_expected": True, "executions": 1}

    def record(self, done: list[Unit], waiting: list[Unit] = [], **more: object) -> dict:  # noqa: B006
        told = {name: [search_parts.told(unit) for unit in some] for name, some in (("done", done), ("waiting", waiting))}
        return told | {"fresh": [], "busy": 1.0, "seconds": 2.0, "engine": "a pool", "notes": [], "fault": "", "stamp": {},
                       "entries": [dataclasses.asdict(self.ENTRY)]} | more

    def judged(self, *records: dict, lines: list[dict] | None = None, whole: bool = True) -> tuple[nightly_units.Done, bool]:
        """And whether it was taken for complete."""
        self.store.put(result(self.search, reads="verdicts", lines=lines or [self.pass_]))
        with mock.patch.object(night_cases, "unrun", return_value=[]) as unrun, mock.patch.object(nightly_units.engine_agreement, "report", return_value=("", [])):
            done = nightly_units.judged(list(records), self.store, None, whole)
        return done, unrun.call_args.args[1]

    def test_what_two_shards_did_counts_once_and_what_one_did_waits_no_more(self) -> None:
        a, b, lost, later = self.units
        for unit in (a, b):
            self.store.put(result(unit))
        done, complete = self.judged(self.record([self.search, a, lost], [b, later]), self.record([self.search, b]))
        self.assertEqual((done.units, done.waiting, complete), (3, ["stress c", "stress d"], True))
        self.assertEqual({part.name: len(part.cases) for part in done.parts}, {"search": 1, "stress": 4})

    def test_a_night_is_complete_where_every_search_of_every_shard_was_exhausted(self) -> None:
        more = self.search.with_(name="queue relacy")
        budget = self.pass_ | {"verdict": "budget", "as_expected": False, "bound": "budget ended, about 3 %"}
        one = self.record([self.search])
        self.assertEqual([self.judged(one)[1], self.judged(self.record([self.search], [more]))[1], self.judged(one, lines=[budget])[1],
                          self.judged(one, whole=False)[1]], [True, False, False, False])

    def test_a_fault_of_any_shard_is_red(self) -> None:
        done, _ = self.judged(self.record([self.search]), self.record([], fault="litmus test SB deviates"))
        self.assertEqual([(part.name, part.cases[0].message) for part in done.parts if part.status == "failed"], [("engine", "litmus test SB deviates")])


def run_of(word: str = "works", **more: object) -> dict:
    """What stress/night prints of a run."""
    return {"scheduler": "hive", "fault": "none", "seed": 5, "nth": 0, "word": word, "said": "", "pieces": 100, "sleeps": 7, "switches": 9, "rounds": 5,
            "kb_begin": 4000, "kb_end": 4200, "seconds": 0.5} | more


class Enduring(Units):
    """Soak, faults and the fuzzer as units."""

    DAY = datetime.date(2026, 11, 27)

    def setUp(self) -> None:
        super().setUp()
        program = Path(self.program("stress_night", f"#!/bin/sh\necho words\necho '{repo.json_text(run_of()).replace(chr(10), '')}'\n"))
        for name, value in (("program", lambda _: program), ("is_built", lambda preset: preset != "tsan")):
            patch = mock.patch.object(enduring, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def test_what_a_unit_prints_of_its_runs_is_judged_and_its_memory_too(self) -> None:
        unit = enduring.Cell("hive").unit("soak")
        self.assertEqual(child.run(unit)["lines"], [run_of()])
        self.assertEqual(night_cases.case(child.run(unit)).status, "passed")
        silent = unit.with_(program=self.program("silent"))
        self.assertIn("no result of a run", night_cases.case(child.run(silent)).message)
        leak = run_of(kb_end=400000)
        lost = [run_of(nth=3), run_of("LOST", nth=4, said="piece 7 was accepted and never ran")]
        for preset, rows, rc, status, message in (
            ("ci-night", [leak], 0, "failed", "LOST: resident memory grew from 4000 KiB"), ("asan-ubsan", [leak], 0, "passed", ""),
            ("ci-night", lost, 1, "failed", "LOST: piece 7"), ("ci-night", [run_of("cannot")], 0, "skipped", "refuse itself nothing"),
            ("ci-night", [run_of()], 1, "failed", "contradicts"), ("ci-night", [run_of("refused"), run_of("ends")], 0, "passed", ""),
        ):
            found = night_cases.case(result(enduring.Cell("hive", preset).unit("soak"), lines=rows, rc=rc))
            self.assertEqual((found.status, message in found.message), (status, True), found)
            if rows is lost:
                self.assertTrue(found.replay.endswith("--nth 4"), found.replay)

    def test_verdicts_are_those_of_searches_alone(self) -> None:
        one = result(enduring.Cell("hive").unit("soak"), lines=[run_of()])
        told = {"unit": one["unit"], "kind": "soak", "name": one["name"], "check": ""}
        found, verdicts = night_cases.cases([], [told], {one["unit"]: one}, [])
        self.assertEqual(([case.status for case in found["soak"]], verdicts), (["passed"], []))

    def test_a_soak_fills_its_share_on_every_number_of_machines(self) -> None:
        for seconds, room, part in ((600.0, 2, None), (600.0, 8, None), (600.0, 2, (1, 4))):
            units = nightly_units.soaks(seconds, self.DAY, room, part)
            whole = sum(map(memory.Memory(seconds={memory.key(units[0]): 9999.0}).estimate, units))
            self.assertAlmostEqual(whole, seconds * room, delta=0.06 * len(units))
            self.assertEqual({unit.name.split()[-1] for unit in units}, {"ci-night", "asan-ubsan"})
        self.assertEqual(nightly_units.soaks(1.0, self.DAY, 1, None)[0].lasts, soak.LEAST)

    def test_one_target_a_night_by_turns_whole_or_for_seconds(self) -> None:
        with mock.patch.object(fuzz, "targets", lambda: ["plan", "hist", "row"]), mock.patch.object(fuzz, "there", lambda: True):
            days = [self.DAY + datetime.timedelta(n) for n in range(3)]
            self.assertEqual({unit.name for day in days for unit in nightly_units.fuzzed(60.0, day)}, {"plan", "hist", "row"})
            for seconds, takes in ((3600.0, 600.0), (1199.0, 120.0), (60.0, 6.0), (1.0, 5.0)):
                (unit,) = nightly_units.fuzzed(seconds, self.DAY)
                self.assertEqual((unit.lasts, f"--seconds {takes:g}" in unit.replay), (takes, True))
        with mock.patch.object(fuzz, "there", lambda: False):
            self.assertEqual((nightly_units.fuzzed(60.0, self.DAY), len(nightly_units.lacking())), ([], 2), "tsan and the fuzzer")

    def test_the_plan_runs_nothing_and_says_what_is_known_and_what_the_rest_takes(self) -> None:
        nothing = lambda *_: []  # noqa: E731
        with (
            mock.patch.multiple(nightly_units.night_units, searches=nothing, stresses=nothing, outside=nothing, mutants=nothing, logic_mutants=nothing),
            mock.patch.object(nightly_units.checks, "all_entries", lambda: []), mock.patch.object(child, "run", self.fail),
            mock.patch.object(fuzz, "there", lambda: True),
        ):
            self.store.put(result(nightly_units.soaks(750.0, self.DAY, 2, None)[0]))
            lines = nightly_units.plan(self.store, 3000.0, self.DAY, 2, None, True)
        self.assertEqual([line[:3] for line in lines], [["selftest", "1", "0"], ["soak", "142", "1"], ["fuzz", "1", "0"], ["fault", "126", "0"]])
        self.assertEqual([line[3] for line in lines], ["2 min 30 s", duration(141 * 10.6), "10 min 01 s", "4 min 12 s"])

    def test_a_night_runs_them_and_its_page_shows_them(self) -> None:
        gate = self.perform(Engine(result))
        broken = run_of("CRASH", fault="clone", said="signal 11")

        def does(unit: Unit) -> dict:
            fault = unit.name.split()[2] if unit.kind in ("soak", "fault") else "none"
            red = unit.kind == "fault" and unit.name.startswith("hive as_is clone ")
            return result(unit, lines=[] if unit.kind == "fuzz" else [broken if red else run_of(scheduler=unit.name.split()[0], fault=fault)], rc=int(red))

        engine = Engine(does)
        nothing = lambda *_: []  # noqa: E731
        stamp = types.SimpleNamespace(check=lambda: {"commit": "c", "source_hash": "s"})
        with (
            mock.patch.multiple(nightly_units.night_units, searches=nothing, stresses=nothing, outside=nothing, mutants=nothing, logic_mutants=nothing),
            mock.patch.object(nightly_units.checks, "all_entries", lambda: []), mock.patch.object(nightly_units.sources, "Evidence", lambda *_: stamp),
            mock.patch.object(nightly_units, "engine_of", lambda *_: engine), mock.patch.object(fuzz, "there", lambda: True),
            mock.patch.object(nightly_units, "warn"), contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()),
        ):
            done = nightly_units.run(self.store, 3000.0, self.DAY, None, 2, None, False, gate)
        parts = {part.name: part for part in done.parts}
        self.assertEqual(list(parts), ["stress", "soak", "fuzz", "fault"], "what came before the units is the first")
        self.assertEqual([parts[name].status for name in ("soak", "fuzz", "fault")], ["passed", "passed", "failed"])
        self.assertEqual((len(parts["soak"].cases), len(parts["fault"].cases), done.waiting), (142, 126, []))
        nightly_units.keep_failures(done, self.folder / "failed")
        (kept,) = (self.folder / "failed").iterdir()
        self.assertEqual(kept.name, "fault-hive-as_is-clone-ci-night-5")
        self.assertIn("signal 11", (kept / "said.txt").read_text())
        self.assertIn("hive --fault clone --seed", (kept / "again.sh").read_text())
        self.assertIn("clone: hive CRASH", parts["fault"].lines)
        self.assertIn("eventfd: all 7 work", parts["fault"].lines)
        self.assertTrue(any(line.startswith("hive: 22 runs, 2,200 pieces, 154 sleeps") for line in parts["soak"].lines), parts["soak"].lines)


class Pages(Units):
    """What is red, where, and how it is replayed; and the page."""

    def told(self, **more: object) -> dict:
        return result(self.units[0].with_(replay="scripts/apiary stress a"), **more)

    def test_how_a_result_is_judged(self) -> None:
        line = {"name": "x", "kind": "check", "engine": "explorer", "verdict": "pass", "as_expected": True, "executions": 9}
        cut = line | {"verdict": "budget"}
        bad = line | {"verdict": "fail", "as_expected": False, "reason": "lost a task", "replay": "x --engine explorer --replay T",
                      "trace": "row impl/apiary/queues/a.hpp:17 load"}
        for more, status, message in (
            (dict(), "passed", ""), (dict(rc=77, output="no room"), "skipped", "no room"), (dict(rc=3, output="a\nb"), "failed", "exit status 3: b"),
            (dict(rc=-11), "failed", "ended by signal 11: it printed nothing"), (dict(rc=None, ended="time", how="did not end within 9 s"), "failed", "did not end"),
            (dict(rc=66, output="x\nWARNING: ThreadSanitizer: data race impl/a.hpp:3\nlast"), "failed", "data race"),
            (dict(reads="verdicts", lines=[line]), "passed", ""), (dict(reads="verdicts", lines=[line, cut]), "skipped", "not exhausted: 9 executions"),
            (dict(reads="verdicts", lines=[line, bad], rc=1), "failed", "lost a task"), (dict(reads="verdicts", lines=[line], rc=1), "failed", "contradicts"),
            (dict(reads="verdicts", lines=[line], rc=-6), "failed", "contradicts"), (dict(reads="verdicts", how="it left no verdict"), "failed", "no verdict"),
        ):
            found = night_cases.case(self.told(**more))
            self.assertEqual((found.status, message in found.message), (status, True), f"{more} {found}")
        self.assertEqual((found.replay, found.places), ("scripts/apiary stress a", []))
        red = night_cases.case(self.told(reads="verdicts", lines=[bad], rc=1, kind="search"))
        self.assertEqual((red.replay, red.places, red.kind), ("scripts/apiary prove x --engine explorer --replay T", [("impl/apiary/queues/a.hpp", 17)], "law"))
        told = repo.parsed(sarif.text("nightly", [red]))["runs"][0]["results"][0]
        self.assertEqual(told["locations"][0]["physicalLocation"]["region"]["startLine"], 17)

    def test_the_sites_that_no_check_executes_are_told_of_all_searches_together(self) -> None:
        items = [types.SimpleNamespace(file="impl/a.hpp", line=n, column=1, operation="load", function="f") for n in (1, 2)]
        seen = []

        def compare(asked: list, orders: dict) -> tuple:
            seen.append(orders)
            return {}, [item for item in asked if f"{item.line}" not in orders], ["two at one place"]

        verdicts = [{"kind": "check", "sites": {"1": "acquire"}}, {"kind": "check", "sites": {"1": "relaxed"}}, {"kind": "exhibit", "sites": {"2": "relaxed"}}]
        with mock.patch.multiple(night_cases.inventory, read=lambda: (items, []), compare=compare):
            never, odd = night_cases.unrun(verdicts, True)
            (skipped,) = night_cases.unrun(verdicts, False)
        self.assertEqual((seen, skipped.status), ([{"1": {"acquire", "relaxed"}}], "skipped"))
        self.assertEqual((never.places, odd.name, never.status), ([("impl/a.hpp", 2)], "two at one place", "failed"))

    def test_the_page_says_first_what_is_new(self) -> None:
        red = night_cases.case(self.told(rc=3, output="lost 1 task"))
        nights = [{"utc": "20261126T020000Z", "commit": "c" * 40, "units": 9, "fresh": 9, "red": [], "waiting": 4, "seconds": 7.0}]
        done = types.SimpleNamespace(parts=[Part("stress", [red, Case("c", "failed")])], units=9, fresh=4, busy=20.0, seconds=10.0, engine="a scheduler of 2", nights=nights,
                                     waiting=[f"mutant {i}" for i in range(20)], notes=["the clock was set back"], last={"stress b": "", "stress c": ""})
        view = night_page.view([*done.parts, Part("race", [Case("x", "failed", 0.0, "slow")])], done, "3m", 12.0, 1)
        text = night_page.markdown_text(view)
        order = ["RED", "## New", "- newly red: stress a", "- red no more: stress b", "## Red", "- stress a: exit status 3: lost 1 task",
                 "replay: `scripts/apiary stress a`", "- race x: slow", "## Done", "| stress | failed |", "9 units, 4 of them done in this night",
                 "A scheduler runs what it is sent", "## Waits", "20 units: 20 of mutant", "begins with mutant 0", "and 8 more", "the clock was set back",
                 "## Nights", "| 20261126T020000Z | cccccccccccc | 9 | 9 | 0 | 4 | 7.0 s |"]
        places = [text.find(words) for words in order]
        self.assertNotIn("newly red: stress c", text)
        self.assertEqual((places == sorted(places), -1 in places), (True, False), f"{places}\n{text}")
        page = html.render("night.html", title=view["title"], night=view)
        self.assertIn("replay: <code>scripts/apiary stress a</code>", page)
        done.last = None
        self.assertIn("no night before this one", night_page.news(set(), done)[0])


class KilledWorker(Exception):
    """By its name, as Dask has it."""


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


class Clusters(Units):
    def setUp(self) -> None:
        super().setUp()
        here = self.folder / "worker"
        here.mkdir()
        fake = types.SimpleNamespace(__version__="1", Client=lambda *_, **__: Client({}),
                                     get_worker=lambda: types.SimpleNamespace(local_directory=str(here)))
        for change in (mock.patch.dict(sys.modules, distributed=fake), mock.patch.object(cluster, "ready"), mock.patch.object(cluster, "COMES", 0.01)):
            change.start()
            self.addCleanup(change.stop)
        data = self.folder / "data"
        data.write_text("8\n")
        program = self.program("reads", "#!/bin/sh\ncat $1\nexit 3\n")
        self.units = [Unit("stress", "reads", program, ("{data}",), (("data", str(data)),), replay="again")]

    def test_a_unit_comes_back_from_a_worker_as_from_here(self) -> None:
        client = Client({"tls://a": {}})
        night = self.perform(cluster.Cluster(client, self.store, "the scheduler x", 1))
        (told,) = night.results.values()
        self.assertEqual((told["rc"], told["output"], told["line"], night.fresh), (3, "8", "again", {self.units[0].key}))
        self.assertEqual(client.asked, [(["tls://a"], [])])
        self.assertLessEqual({"apiary_cli/__init__.py", "apiary_cli/night/guard.py", "apiary_cli/base/repo.py"}, set(client.names))

    def test_a_worker_that_does_not_see_the_store_is_sent_what_it_needs(self) -> None:
        client = Client({"tls://a": {}})
        client.does = lambda told, sent: cluster.do_unit(told | {"token": "another"}, sent)
        night = self.perform(cluster.Cluster(client, self.store, "x", 1))
        self.assertEqual(([one["rc"] for one in night.results.values()], [len(sent) for _, sent in client.asked]), ([3], [0, 2]))

    def test_a_program_that_was_cut_short_on_the_way_gives_no_result(self) -> None:
        client = Client({"tls://a": {}})
        client.does = lambda told, sent: cluster.do_unit(told | {"token": "another"}, {name: data[:3] for name, data in sent.items()})
        with self.assertRaisesRegex(ValueError, "came as another file"):
            self.perform(cluster.Cluster(client, self.store, "x", 1))

    def test_workers_that_differ_are_refused_by_name_and_get_nothing(self) -> None:
        workers = {"tls://a": {}, "tls://b": {"libc": "musl 1"}, "tls://c": {"processor": "aarch64"}, "tls://d": {"Python": "3.8"},
                   "tls://e": {"distributed": "0"}, "tls://f": None}
        client = Client(workers)
        engine = cluster.Cluster(client, self.store, "x", 1)
        self.perform(engine)
        self.assertEqual(client.asked, [(["tls://a"], [])])
        for name, why in (("b", "libc musl 1 and not "), ("c", "processor aarch64"), ("d", "Python 3.8"), ("e", "distributed 0"), ("f", "does not answer")):
            self.assertIn(f"worker tls://{name} was refused: ", "\n".join(engine.notes))
            self.assertIn(why, "\n".join(engine.notes))
        del workers["tls://a"]
        with self.assertRaisesRegex(Fault, "no worker of x can do these units"):
            cluster.Cluster(client, self.store, "x", 1)
        self.assertIn("and the programs are for", cluster.do_unit({"machine": {"libc": "musl"}}, {})["refused"])

    def test_how_a_cluster_fails_is_told(self) -> None:
        for does, how in ((KilledWorker("x"), "killed its worker 3 times"), (OSError("odd"), "its worker said: OSError('odd'), 3 times")):
            client = Client({"tls://a": {}}, lambda *_: does)
            night = self.perform(cluster.Cluster(client, self.store, "x", 1))
            self.assertIn(how, next(iter(night.results.values()))["how"])
        night = self.perform(cluster.Cluster(Client({"tls://a": {}}, lambda *_: None), self.store, "x", 1))
        self.assertIn("x went away", night.fault.seen)
        client = Client({"tls://a": {}})
        engine = cluster.Cluster(client, self.store, "x", 1)
        client.status = "closed"
        self.assertIn("x went away", self.perform(engine).fault.seen)
        client = Client({"tls://a": {}})
        engine = cluster.Cluster(client, self.store, "x", 1)
        client.scheduler_info = mock.Mock(side_effect=OSError("Stream is closed"))
        fault = self.perform(engine).fault
        self.assertEqual((fault.seen, fault.cause), ("x went away", "Stream is closed"))

    def test_only_tls_or_loopback_and_the_same_versions(self) -> None:
        for address, why in (("tcp://10.0.0.1:8786", "neither TLS nor loopback"), ("http://a:1", "no address"), ("a", "no address"),
                             ("tls://a:1", "has other versions"), ("tcp://127.0.0.1:1", "has other versions")):
            with self.assertRaisesRegex(Fault, why):
                cluster.of_a_team(address, self.store)
        with mock.patch.object(sys.modules["distributed"], "Client", side_effect=OSError("refused")):
            with self.assertRaisesRegex(Fault, "the scheduler tls://a:1 does not answer"):
                cluster.of_a_team("tls://a:1", self.store)

    def test_what_needs_this_checkout_runs_here(self) -> None:
        self.units = [self.units[0].with_(tree=True)]
        client = Client({"tls://a": {}}, self.fail)
        self.assertEqual([one["rc"] for one in self.perform(cluster.Cluster(client, self.store, "x", 1)).results.values()], [3])
        (here,), there = self.units, self.units[0].with_(tree=False)
        client.does = lambda *_: result(there)
        for alone, takes in ((False, True), (True, False)):
            engine = cluster.Cluster(client, self.store, "x", 2, alone=alone)
            engine.submit(there)
            self.assertEqual((engine.takes(there), engine.takes(here)), (False, takes), "of this machine no processor has two")


if __name__ == "__main__":
    unittest.main()
