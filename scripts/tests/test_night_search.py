"""Searches in parts, and shards: together they are judged as one search and one night."""

from __future__ import annotations

import dataclasses
import itertools
import re
import sys
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.base.errors import Fault
from apiary_cli.night import child, spread
from apiary_cli.night.store import Store
from apiary_cli.night.unit import Unit
from apiary_cli.report import night_cases
from apiary_cli.verbs import nightly_units
from apiary_cli.verify import checks, search_parts

from .nights import Engine, result, Units
from .support import REAL_ROOT


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
        first = self.record([self.search, a, lost], [b, later], fresh=[one.key for one in (self.search, a, lost)])
        done, complete = self.judged(first, self.record([self.search, b], fresh=[self.search.key, b.key]))
        self.assertEqual((done.units, done.fresh, done.waiting, complete), (3, 3, ["stress c", "stress d"], True))
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


if __name__ == "__main__":
    unittest.main()
