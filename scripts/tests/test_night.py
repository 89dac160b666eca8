"""A night: units run until the budget ends, and the next night goes on from what it remembers. Nothing is built; commands are fake."""

from __future__ import annotations

import datetime
import json
import math
import subprocess
import unittest
from unittest import mock

from apiary_cli.base import repo
from apiary_cli.base.errors import Fault
from apiary_cli.night import child, memory
from apiary_cli.night.unit import Unit
from apiary_cli.report import night_cases
from apiary_cli.report.junit import FAILED, PASSED, SKIPPED, Case, Part
from apiary_cli.verbs import nightly_units
from apiary_cli.verify import inventory, logic, night_units

from .nights import Engine, NIGHT, result, Units


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
        self.assertEqual([unit.name for unit in old.order(self.units, frozenset({"stress a"}))], ["b", "a", "d", "c"], "what changed goes before what waited")
        memory.learn(old, [result(self.units[2], seconds=3.0)], [self.units[0]])
        memory.write(self.store, old, NIGHT)
        again = memory.read(self.store)
        self.assertEqual((again.seconds["stress c"], again.waiting, again.told, again.nights), (3.0, ["stress a"], [], [NIGHT]))

    def test_what_was_red_and_did_not_run_stays_red_for_the_next_night(self) -> None:
        old = memory.Memory(red={"stress a": "replay a", "stress b": "replay b", "stress gone": "replay", "search no check executes x.hpp:1": ""})
        done = nightly_units.Done([Part("stress", [Case("a", SKIPPED), Case("b", PASSED), Case("c", FAILED)]), Part("search", [Case(night_cases.UNRUN, SKIPPED)])])
        nightly_units.remember(self.store, old, [{"utc": NIGHT["utc"], "stamp": {"commit": NIGHT["commit"]}}], done)
        again = memory.read(self.store)
        self.assertEqual(again.red, {"stress a": "replay a", "search no check executes x.hpp:1": "", "stress c": ""})
        self.assertEqual(again.nights[-1]["red"], ["stress c"], "of that night alone")

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

    def test_a_header_without_a_weaker_order_is_no_unit(self) -> None:
        items = [inventory.Item(f"impl/apiary/{name}.hpp", 1, 1, "load", order, "f", "g", real_only=real)
                 for name, order, real in (("a", "acquire", False), ("b", "relaxed", False), ("c", "acquire", True), ("d", "relaxed", False), ("d", "seq_cst", False))]
        with mock.patch.object(inventory, "read", lambda: (items, [])), mock.patch.object(repo, "source_hash", return_value="x"):
            self.assertEqual([unit.name for unit in night_units.mutants(True)], ["a", "d"])

    def test_mutants_of_headers_that_changed_since_the_last_night_go_first(self) -> None:
        git = lambda *words: subprocess.run(["git", "-C", str(self.folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *words], check=True,  # noqa: E731
                                            capture_output=True, text=True).stdout.strip()
        for name in ("queues/inbox.hpp", "queues/ring.hpp", "queues/inbox_test.cpp"):
            repo.write_text(self.folder / "impl" / "apiary" / name, "before")
        git("init", "-q")
        git("add", "--all")
        git("commit", "-qm", "the last night")
        night = NIGHT | {"commit": git("rev-parse", "HEAD")}
        repo.write_text(self.folder / "impl" / "apiary" / "queues" / "inbox.hpp", "after")
        git("commit", "-qam", "a change")
        for name in ("queues/new.hpp", "queues/inbox_test.cpp"):
            repo.write_text(self.folder / "impl" / "apiary" / name, "not yet committed")
        with mock.patch.object(repo, "ROOT", self.folder):
            self.assertEqual(nightly_units.changed(memory.Memory(nights=[night])), {"mutant queues/inbox", "mutant queues/new"})
            self.assertEqual(nightly_units.changed(memory.Memory(nights=[night | {"commit": "0" * 40}])), frozenset(), "git knows no such night")
            self.assertEqual(nightly_units.changed(memory.Memory()), frozenset())

    def test_each_day_hunts_through_our_suites_from_where_no_other_day_did(self) -> None:
        suite = self.folder / "hunted_x_test"
        suite.write_text("a program")
        with mock.patch.object(repo, "source_hash", return_value="x"), mock.patch.object(night_units, "of_this_source", lambda *_: [suite]):
            units = [night_units.hunts(datetime.date(2026, 11, day))[0] for day in (1, 2, 2)]
            keys = [unit.key for unit in units]
            suite.write_text("another program")
            self.assertEqual((keys[0] != keys[1], keys[1] == keys[2], units[2].key != keys[2]), (True, True, True), "what is built anew is hunted anew")
        words = units[0].command("python3", dict(units[0].files))
        self.assertEqual((words[-2:], units[0].lasts), (["--", str(suite)], night_units.HUNT_SECONDS))
        seeds = [int(unit.words[unit.words.index("--seed") + 1]) for unit in units]
        self.assertEqual(seeds[1] - seeds[0], night_units.SEEDS_OF_A_HUNT)

    def test_a_preset_whose_programs_are_not_all_of_this_source_costs_its_own_units_and_no_others(self) -> None:
        program = self.folder / "stress_x"
        with mock.patch.object(repo, "manifest", lambda *_: [program]), mock.patch.object(night_units.sources, "of", lambda *_: differs):
            for differs, there, found in (({}, False, []), ({}, True, [program]), ({"impl/apiary/x.hpp": [program]}, True, [])):
                if there:
                    program.touch()
                self.assertEqual(night_units.of_this_source("asan-ubsan", "stress"), found)
            self.assertEqual((night_units.stresses(datetime.date(2026, 11, 27)), night_units.hunts(datetime.date(2026, 11, 27))), ([], []))
            told = "\n".join(nightly_units.lacking())
        for words in ("left out: stress under asan-ubsan, since", "left out: stress under tsan, since", "left out: the hunt of our own suites, since"):
            self.assertIn(words, told)


if __name__ == "__main__":
    unittest.main()
