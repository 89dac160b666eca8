"""The table of prove: check by engine, disagreements and their explanations, reach; as text, CSV and HTML."""

from __future__ import annotations

import csv
import json
import unittest
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from apiary_cli.verify import checks, engine_agreement, structures
from apiary_cli.report import prove_page

from . import fakes
from .support import TreeCase, apiary


def entry(name: str, kind: str = "check", engines: tuple = ("relacy", "explorer"), **more) -> checks.Entry:
    return checks.Entry(name, kind, engines, 2, f"what {name}", more.pop("program", Path("c")), **more)


def verdict(name: str, engine: str, word: str = "pass", kind: str = "check", **more) -> dict:
    as_expected = (word == "fail") == (kind == "exhibit") or bool(more.get("differs"))
    return {"name": name, "kind": kind, "engine": engine, "mode": "exhaustive" if engine == "explorer" else "mixed",
            "bound": f"bound of {engine}", "verdict": word, "as_expected": as_expected, "executions": 12345, "graphs": 7,
            "seconds": 0.5, "reason": "a task was lost" if word == "fail" else "", "replay": f"{name} --replay 7",
            "trace": "1 | store <x>" if word == "fail" else "", "reach": {}} | more


class Disagreements(unittest.TestCase):
    def found(self, entries: list, *verdicts: dict) -> list[tuple[str, str, str]]:
        return [(d.name, d.seen, d.explanation) for d in engine_agreement.disagreements(list(verdicts), entries)]

    def test_engines_that_agree_are_not_listed(self) -> None:
        entries = [entry("a"), entry("b", "exhibit")]
        self.assertEqual(self.found(entries, verdict("a", "explorer"), verdict("a", "relacy", "budget"),
                                    verdict("b", "explorer", "fail", "exhibit"), verdict("b", "relacy", "fail", "exhibit")), [])

    def test_an_exhibit_that_one_engine_passes_needs_its_explanation(self) -> None:
        seen = verdict("b", "explorer", "fail", "exhibit")
        passes = verdict("b", "relacy", "pass", "exhibit")
        self.assertEqual(self.found([entry("b", "exhibit")], seen, passes | {"differs": "C++11"}),
                         [("b", "explorer fail, relacy pass", "C++11")])
        self.assertEqual(self.found([entry("b", "exhibit")], seen, passes), [("b", "explorer fail, relacy pass", "")])

    def test_a_check_that_only_one_engine_is_asked_needs_a_reason(self) -> None:
        for reason in ("", "it needs a clock"):
            one = entry("a", engines=("relacy",), one_engine=reason)
            self.assertEqual(self.found([one], verdict("a", "relacy")), [("a", "relacy pass; explorer not asked", reason)])
            _, red = engine_agreement.report([verdict("a", "relacy")], [one])
            self.assertEqual(len(red), 0 if reason else 1)

    def test_running_one_engine_by_choice_is_no_disagreement(self) -> None:
        self.assertEqual(self.found([entry("a")], verdict("a", "explorer")), [])


class Reach(unittest.TestCase):
    def test_what_one_engine_reaches_is_reached(self) -> None:
        entries = [entry("a", must_reach=("deep", "wrap"))]
        explorer, relacy = verdict("a", "explorer", reach={"deep": 3}), verdict("a", "relacy", reach={"wrap": 9})
        self.assertEqual(engine_agreement.missed([explorer, relacy], entries), {})
        self.assertEqual(engine_agreement.missed([explorer], entries), {"a": ["wrap"]})
        self.assertIn("a never reached wrap", engine_agreement.report([explorer], entries)[1])
        self.assertIn("1 of 2 MISSED", engine_agreement.engine_table([explorer], entries))

    def test_a_check_without_a_target_is_listed(self) -> None:
        entries = [entry("a"), entry("b", must_reach=("deep",)), entry("c", "exhibit")]
        verdicts = [verdict("a", "relacy"), verdict("b", "relacy", reach={"deep": 1}), verdict("c", "relacy", "fail", "exhibit")]
        entries[2] = entry("c", "exhibit", program=Path("museum"))
        self.assertEqual(engine_agreement.aimless(verdicts, entries), ["a"])
        self.assertEqual(engine_agreement.aimless(verdicts, [entry("a"), entry("c", "exhibit")]), [], "a's twin shows that it bites")
        self.assertIn("reach: 1 checks state no target: a", engine_agreement.report(verdicts, entries)[0])


class Table(unittest.TestCase):
    def test_one_row_for_each_check_and_long_bounds_below(self) -> None:
        lines = engine_agreement.engine_table([verdict("a", "relacy"), verdict("a", "explorer")], [entry("a")]).splitlines()
        self.assertEqual(lines[2].split(), ["a", "check", "exhaustive", "b", "12,345", "7", "0.50", "pass", "mixed", "a",
                                            "12,345", "0.50", "pass"])
        self.assertEqual(lines[3:], ["bound a: bound of relacy", "bound b: bound of explorer"])

    def test_how_far_a_cut_search_came_stands_beside_its_mode(self) -> None:
        cut = verdict("a", "explorer", "budget", mode="unfinished", bound="RC11; 1 timeout; budget ended, about 4 % of the tree")
        lines = engine_agreement.engine_table([cut], [entry("a")]).splitlines()
        self.assertEqual(lines[2].split()[2:6], ["unfinished", "4", "%", "a"])
        self.assertEqual(lines[-1], "bound a: RC11; 1 timeout")

    def test_csv_and_page(self) -> None:
        verdicts = [verdict("b", "explorer", "fail", "exhibit", reach={"deep": 4}),
                    verdict("b", "relacy", "pass", "exhibit", differs="its history is short"), verdict("a", "relacy", "fail")]
        entries = [entry("a"), entry("b", "exhibit")]
        with TemporaryDirectory() as folder:
            table, page = Path(folder) / "p.csv", Path(folder) / "p.html"
            engine_agreement.write_csv(verdicts, entries, table)
            prove_page.write(verdicts, entries, {"source_hash": "h", "commit": "c", "utc": "u"}, page)
            with table.open(newline="") as file:
                rows = list(csv.DictReader(file))
            text = page.read_text()
        self.assertEqual([(r["name"], r["engine"], r["as_expected"], r["reached"], r["differs"]) for r in rows], [
            ("b", "explorer", "yes", "deep=4", "its history is short"), ("b", "relacy", "yes", "", "its history is short"),
            ("a", "relacy", "no", "", "")])
        for words in ("1 | store &lt;x&gt;", "a --replay 7", "its history is short", "Not as they must be", "<details open>"):
            self.assertIn(words, text)


class ProvePage(unittest.TestCase):
    def test_the_line_of_proofs_tells_how_many_searches_stopped_early(self) -> None:
        def told(*found: dict) -> str:
            return prove_page.sentence({"verdicts": list(found)}, None)

        allowed = [verdict(name, "explorer", "budget", as_expected=True) for name in "ab"]
        self.assertIn("all are as they must be; 1 search stopped early, as its check allows.", told(verdict("c", "explorer"), allowed[0]))
        self.assertIn("; 2 searches stopped early, as their checks allow.", told(*allowed))
        self.assertNotIn("stopped early", told(verdict("a", "explorer"), verdict("b", "explorer", "budget", as_expected=False)))

    def test_disagreements_of_one_cause_are_one_line_and_the_unexplained_come_first(self) -> None:
        alone = [replace(entry(name, engines=("explorer",)), one_engine=why) for name, why in (("a", "a clock"), ("b", "a clock"), ("c", ""))]
        rows = prove_page.causes([verdict(name, "explorer") for name in "abc"], alone)
        self.assertEqual([(why, n) for why, n, _ in rows], [("UNEXPLAINED: explorer pass; relacy not asked", 1), ("a clock", 2)])
        self.assertIn("a, b", rows[1][2])

    def test_the_site_has_the_causes_that_a_record_tells_and_accuses_nobody_where_it_tells_none(self) -> None:
        """No program is asked there what its checks are."""
        apart = [verdict("b", "explorer", "fail", "exhibit"), verdict("b", "relacy", "pass", "exhibit", differs="its history is short")]
        told = prove_page.view(apart, [], {})["differ"]
        self.assertEqual([(why, n) for why, n, _ in told], [("its history is short", 1)])
        brief = [{key: v[key] for key in v if key != "differs"} for v in apart]
        self.assertEqual(prove_page.view(brief, [], {})["differ"], [])

    def test_what_is_red_stands_first_and_a_search_that_did_not_end_is_not_red(self) -> None:
        def page(*found: dict) -> str:
            with TemporaryDirectory() as folder:
                prove_page.write(list(found), [], {}, Path(folder) / "p.html")
                return (Path(folder) / "p.html").read_text()

        red = page(verdict("a", "explorer"), verdict("b", "explorer", "fail"))
        self.assertLess(red.index("1 not as they must be"), red.index("Not as they must be</h2>"))
        self.assertLess(red.index("Not as they must be</h2>"), red.index("Structure by structure"))
        late = page(verdict("a", "explorer", "budget") | {"as_expected": False})
        self.assertIn("1 searches did not end within their budget; nothing is red", late)
        self.assertIn("All as they must be", page(verdict("a", "explorer")))

    def test_mutants_stand_beside_the_structure_if_they_are_of_the_same_source(self) -> None:
        headers = {"impl/apiary/queues/lifo_slot.hpp": {"mutants": 8, "killed": 7, "explained": 1}}
        for source, shown in (("h", True), ("other", False)):
            with TemporaryDirectory() as folder:
                page = Path(folder) / "p.html"
                prove_page.write([verdict("a", "explorer")], [], {"source_hash": "h"}, page, {"source_hash": source, "headers": headers})
                self.assertEqual("7 of 8, 1 explained" in page.read_text(), shown)

    def test_a_check_and_a_header_are_of_the_structure_whose_file_they_stand_in(self) -> None:
        self.assertEqual([structures.structure(Path(one)) for one in ("queues/lifo_slot_check.cpp", "schedulers/hive/hive_logic_check.cpp")],
                         ["queues/lifo_slot", "schedulers/hive"])
        self.assertEqual([structures.of_check(one) for one in ("a07_object_in_a_slot", "no_such_check")], ["queues/chase_lev_deque", "others"])
        self.assertEqual([structures.of_header(f"impl/apiary/{one}.hpp") for one in ("queues/lifo_slot", "queues/no_check", "schedulers/hive/hive_core")],
                         ["queues/lifo_slot", "queues", "schedulers/hive"])


class EndToEnd(TreeCase):
    def prove(self, *entries: dict, words: tuple[str, ...] = ()):
        program = fakes.engines(self.root / "build/model/bin/c", list(entries))
        fakes.manifest(self.root, "model", "checks", [program])
        return apiary(self.root, "prove", "--no-build", *words)

    def test_an_explained_disagreement_is_green_and_recorded(self) -> None:
        done = self.prove(dict(name="a"), dict(name="b", kind="exhibit", relacy="pass", differs="its history is short"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("explorer fail, relacy pass  its history is short", done.stdout)
        self.assertTrue(json.loads((self.root / "build/model/prove.json").read_text())["as_expected"])
        for name in ("prove.csv", "prove.html"):
            self.assertIn("its history is short", (self.root / "build/model" / name).read_text())

    def test_an_unexplained_one_is_red(self) -> None:
        done = self.prove(dict(name="a", engines=["explorer"]))
        self.assertEqual(done.returncode, 1)
        self.assertIn("relacy not asked, and nobody says why", done.stdout)
        self.assertEqual(self.prove(dict(name="a", engines=["explorer"], one_engine="a clock")).returncode, 0)

    def test_a_target_that_was_missed_is_red(self) -> None:
        done = self.prove(dict(name="a", must_reach=["deep"]), words=("--json", "-"))
        self.assertEqual((done.returncode, json.loads(done.stdout).get("red")), (1, ["a never reached deep"]))
        self.assertEqual(self.prove(dict(name="a", must_reach=["deep"], reach={"deep": 1})).returncode, 0)


if __name__ == "__main__":
    unittest.main()
