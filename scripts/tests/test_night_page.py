"""How a night's results are judged, and the page that tells of them."""

from __future__ import annotations

import types
import unittest
from unittest import mock

from apiary_cli.base import repo
from apiary_cli.report import html, night_cases, night_page, sarif
from apiary_cli.report.junit import Case, Part

from .nights import result, Units


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

    def test_what_was_seen_is_not_said_twice_where_it_is_the_name(self) -> None:
        said = "no check executes impl/apiary/coroutines/async_semaphore.hpp:139:66 store in async_semaphore"
        for case, shown in ((Case(said[:80], "failed", 0.0, said), "search"), (Case("rows", "failed", 0.0, said), "search rows")):
            found = night_page.in_red(f"search {case.name}", case)
            self.assertEqual((found["name"], found["what"]), (shown, said))

    def test_the_page_says_first_what_is_new(self) -> None:
        red = night_cases.case(self.told(rc=3, output="lost 1 task"))
        nights = [{"utc": "20261126T020000Z", "commit": "c" * 40, "units": 9, "fresh": 9, "red": [], "waiting": 4, "seconds": 7.0}]
        done = types.SimpleNamespace(parts=[Part("stress", [red, Case("c", "failed")]),
                                            Part("search", [Case(night_cases.UNRUN, "skipped")]), Part("mutant", [Case("3", "skipped")])],
                                     units=9, fresh=4, busy=20.0, seconds=10.0, engine="a scheduler of 2", nights=nights, notes=["the clock was set back"],
                                     waiting=[*(f"mutant {i}" for i in range(20)), *(f"search x, part {i}" for i in range(3))],
                                     last=dict.fromkeys(["stress b", "stress c", "mutant 3", "search no check executes impl/a.hpp:1"], ""))
        view = night_page.view([*done.parts, Part("race", [Case("x", "failed", 0.0, "slow")])], done, "3m", 12.0, 1)
        text = night_page.markdown_text(view)
        order = ["RED", "## New", "- newly red: stress a", "- red the last time, and not known of this source yet: mutant 3",
                 "- red the last time, and not known of this source yet: search no check executes impl/a.hpp:1", "- red no more: stress b", "## Red", "- stress a: exit status 3: lost 1 task",
                 "replay: `scripts/apiary stress a`", "- race x: slow", "## Done", "| stress | failed |", "9 units, 4 of them done in this night",
                 "A scheduler runs what it is sent", "## Waits", "23 units; the next night begins with mutant 0", "20 of mutant: 0, 1, 2, 3 and 16 more", "3 of search: x (3 parts)", "the clock was set back",
                 "## Nights", "| 26 Nov 2026, 02:00 UTC | cccccccccccc | 9 | 9 | 0 | 4 | 7.0 s |"]
        places = [text.find(words) for words in order]
        self.assertNotIn("newly red: stress c", text)
        self.assertEqual((places == sorted(places), -1 in places), (True, False), f"{places}\n{text}")
        page = html.render("night.html", title=view["title"], night=view)
        self.assertIn("replay: <code>scripts/apiary stress a</code>", page)
        gate = Part("selftest", [Case("selftest", "skipped")])
        for parts, given, title in (([], done, ": fine; 23 units did not run"), ([gate], None, ": fine; the selftest did not run"),
                                    ([gate], done, ": fine; the selftest and 23 units did not run"), ([Part("race", [Case("x", "passed")])], None, ": fine")):
            self.assertTrue(night_page.view(parts, given, "3m", 12.0, 0)["title"].endswith(title), title)
        done.last = None
        self.assertIn("no night before this one", night_page.news(set(), done)[0])


if __name__ == "__main__":
    unittest.main()
