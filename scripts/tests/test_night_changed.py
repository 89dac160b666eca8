"""What a night asks first of headers that changed: all their mutants, of orders and of logic, beside what the day draws."""

from __future__ import annotations

import datetime
import unittest
from unittest import mock

from apiary_cli.base import repo
from apiary_cli.night import memory
from apiary_cli.verbs import faults, nightly_units
from apiary_cli.verify import logic, logic_run, night_units

DAY = datetime.date(2026, 11, 27)
HERE = ["impl/apiary/queues/inbox.hpp", "impl/apiary/queues/inbox.hpp", "impl/apiary/queues/ring.hpp"]
NIGHT = {"utc": "20261126T000000Z", "commit": "c", "units": 1, "fresh": 1, "red": [], "waiting": 0, "seconds": 1.0}


class Changed(unittest.TestCase):
    def setUp(self) -> None:
        self.enterContext(mock.patch.object(repo, "source_hash", return_value="x"))
        self.enterContext(mock.patch.object(logic, "catalogue", lambda: [mock.Mock(file=file) for file in HERE]))
        for name in ("searches", "stresses", "outside", "hunts"):
            self.enterContext(mock.patch.object(night_units, name, lambda *_: []))
        self.enterContext(mock.patch.object(faults, "units", lambda **_: []))
        self.enterContext(mock.patch.object(night_units, "mutants", lambda _: [night_units.by_verb("mutant", "queues/ring", [], (), 1.0),
                                                                              night_units.by_verb("mutant", "queues/inbox", [], (), 1.0)]))

    def order(self, changed: set[str], build: bool = True, **told: object) -> list[str]:
        with mock.patch.object(night_units, "changed_since", lambda _: frozenset(changed)):
            units = nightly_units.in_order([], mock.Mock(), DAY, build, None, memory.Memory(nights=[NIGHT], **told))
        self.units = {f"{unit.kind} {unit.name}": unit for unit in units}
        return list(self.units)

    def test_all_logic_mutants_of_a_header_that_changed_come_before_what_never_ran(self) -> None:
        names = self.order({"mutant queues/inbox", "mutant queues/gone"})
        self.assertEqual(names[:2], ["mutant queues/inbox", "logic queues/inbox"])
        self.assertEqual(len(names), 3 + night_units.SHARDS_OF_A_DRAW, "what the day draws, too; nothing of a header that is gone")
        words = self.units["logic queues/inbox"].words
        self.assertEqual(words[1:], ("mutate", "--logic", "impl/apiary/queues/inbox.hpp", "--shard", "1", "--jobs", "1"))
        self.order({"mutant queues/inbox"}, build=False)
        self.assertEqual(self.units["logic queues/inbox"].words[-1], "--no-build")

    def test_one_that_waited_or_was_red_is_asked_in_the_next_night_though_its_header_did_not_change_again(self) -> None:
        self.assertEqual(self.order(set(), waiting=["logic queues/ring"])[0], "logic queues/ring")
        names = self.order({"mutant queues/inbox"}, red={"logic queues/ring": "scripts/apiary mutate"})
        self.assertEqual(names[:3], ["logic queues/ring", "mutant queues/inbox", "logic queues/inbox"])

    def test_where_nothing_changed_the_day_s_draw_is_all(self) -> None:
        with mock.patch.object(logic, "catalogue", side_effect=AssertionError("seconds for nothing")):
            names = self.order(set(), waiting=["logic part 3 of 36", "mutant queues/ring"])
        self.assertEqual(sum(name.startswith("logic") for name in names), night_units.SHARDS_OF_A_DRAW)

    def test_two_headers_asked_at_once_write_no_file_of_each_other(self) -> None:
        part, long = logic.Part(1, 1), [f"impl/apiary/queues/{'x' * 200}{number}.hpp" for number in (1, 2)]
        names = [logic_run.shard_path(part, asked).name for asked in ([], HERE[:1], HERE[2:], HERE[1:], long[:1], long[1:])]
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual(names[:2], ["1-of-1.jsonl", "1-of-1-impl_apiary_queues_inbox_hpp.jsonl"])
        self.assertTrue(all(len(name) < 120 for name in names))


if __name__ == "__main__":
    unittest.main()
