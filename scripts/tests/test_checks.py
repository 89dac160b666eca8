"""prove and stress: order, verdicts, records, and what becomes of programs that misbehave."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.base import proc, repo
from apiary_cli.base.errors import Fault
from apiary_cli.verify import checks, stressing, verdicts, verification

from . import fakes
from .support import TreeCase, apiary

GOOD = [
    ("store_buffering", "litmus", "pass"),
    ("deque_last", "check", "pass"),
    ("inbox_close", "check", "pass"),
    ("a01_lost_wake", "exhibit", "fail"),
]


class Prove(TreeCase):
    def programs(self, *groups: list[tuple[str, str, str]]) -> None:
        paths = [fakes.checks(self.root / f"build/model/bin/c{i}", group) for i, group in enumerate(groups)]
        fakes.manifest(self.root, "model", "checks", paths)

    def record(self) -> dict:
        return json.loads((self.root / "build/model/prove.json").read_text())

    def test_all_as_expected(self) -> None:
        self.programs(GOOD[:2], GOOD[2:])
        done = apiary(self.root, "prove", "--no-build")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = [line.split()[0] for line in done.stdout.splitlines()[2:6]]
        self.assertEqual(
            names, ["store_buffering", "deque_last", "inbox_close", "a01_lost_wake"], "litmus, checks, exhibits"
        )
        self.assertIn("all as expected", done.stdout)
        self.assertTrue(self.record()["complete"])
        self.assertTrue(self.record()["as_expected"])

    def test_checks_that_were_left_out_are_named(self) -> None:
        self.programs(GOOD)
        self.assertNotIn("left out", apiary(self.root, "prove", "--no-build").stdout)
        (self.root / "build/model/manifest/absent.txt").write_text("boost_as_is\n")
        done = apiary(self.root, "prove", "--no-build")
        self.assertIn("left out, because not installed: boost_as_is", done.stdout)
        self.assertIn("libboost-dev", done.stdout)

    def test_a_deviating_litmus_stops_everything(self) -> None:
        self.programs([("store_buffering", "litmus", "fail"), *GOOD[1:]])
        done = apiary(self.root, "prove", "--no-build")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing after it counts", done.stdout)
        self.assertEqual([v["name"] for v in self.record()["verdicts"]], ["store_buffering"])

    def test_a_failing_check_is_printed_whole_with_its_replay(self) -> None:
        self.programs([*GOOD[:1], ("deque_last", "check", "fail")])
        done = apiary(self.root, "prove", "--no-build")
        self.assertEqual(done.returncode, 1)
        self.assertIn("thread 0 | thread 1", done.stdout)
        self.assertIn("replay: build/model/bin/c0 deque_last --replay 7", done.stdout)

    def test_an_exhibit_that_is_not_caught_is_red(self) -> None:
        self.programs([*GOOD[:2], ("a01_lost_wake", "exhibit", "pass")])
        self.assertEqual(apiary(self.root, "prove", "--no-build").returncode, 1)

    def test_crash_and_silence_are_no_proofs(self) -> None:
        for verdict, told in (("crash", "exited with status 70"), ("silent", "gave no verdict")):
            with self.subTest(verdict):
                self.programs([*GOOD[:1], ("deque_last", "check", verdict)])
                self.assertEqual(apiary(self.root, "prove", "--no-build").returncode, 1)
                reasons = " ".join(v["reason"] for v in self.record()["verdicts"])
                self.assertIn(told, reasons)

    def test_a_pattern_runs_litmus_and_the_matching(self) -> None:
        self.programs(GOOD)
        self.assertEqual(apiary(self.root, "prove", "--no-build", "deque*").returncode, 0)
        self.assertEqual({v["name"] for v in self.record()["verdicts"]}, {"store_buffering", "deque_last"})
        self.assertFalse(self.record()["complete"])
        self.assertEqual(apiary(self.root, "prove", "--no-build", "inbox*", "a01*").returncode, 0)
        self.assertTrue(self.record()["complete"], "verdicts on the same source add up")

    def test_another_source_starts_a_new_record(self) -> None:
        self.programs(GOOD)
        apiary(self.root, "prove", "--no-build")
        before = self.record()
        (self.root / fakes.SOURCE).write_text("// changed\n")
        done = apiary(self.root, "prove", "--no-build", "deque*")
        self.assertEqual(done.returncode, 3, "nothing is told of a source that did not run")
        for part in ("1 of 1 programs of build/model are not of this source: c0", fakes.SOURCE, "apiary build model"):
            self.assertIn(part, done.stderr)
        self.assertEqual(self.record(), before)
        self.programs(GOOD)
        apiary(self.root, "prove", "--no-build", "deque*")
        self.assertEqual({v["name"] for v in self.record()["verdicts"]}, {"store_buffering", "deque_last"})

    def test_a_replay_and_a_mutant_prove_nothing(self) -> None:
        self.programs(GOOD)
        self.assertEqual(apiary(self.root, "prove", "--no-build", "deque_last", "--replay", "7").returncode, 0)
        self.assertEqual(
            apiary(self.root, "prove", "--no-build", "deque_last", "--mutate", "x:1=relaxed").returncode, 0
        )
        self.assertFalse((self.root / "build/model/prove.json").exists())
        self.assertEqual(apiary(self.root, "prove", "--no-build", "--replay", "7").returncode, 2)

    def test_one_name_twice(self) -> None:
        self.programs(GOOD, GOOD[:1])
        done = apiary(self.root, "prove", "--no-build")
        self.assertEqual(done.returncode, 3)
        self.assertIn("two checks are called store_buffering", done.stderr)


class Listing(unittest.TestCase):
    def test_nonsense_is_refused(self) -> None:
        for text in ("nonsense\n", '{"name": "x"}\n', '{"name": "x", "kind": "poem"}\n'):
            with self.subTest(text), self.assertRaises(Fault):
                checks.parse_listing(text, Path("c"))

    def test_replay_lines(self) -> None:
        self.assertEqual(checks.replay_line(Path("/x/bin/c"), "d --replay 7"), "/x/bin/c d --replay 7")
        program = repo.ROOT / "build/model/bin/c"
        for replay in ("d --replay 7", "./c d --replay 7", f"{shlex.quote(str(program))} d --replay 7"):
            self.assertEqual(checks.replay_line(program, replay), "build/model/bin/c d --replay 7")



class Budgets(unittest.TestCase):
    def test_one_for_all_checks_does_not_cut_an_exhibit_short(self) -> None:
        for named, kind, passed in ((False, "check", True), (False, "exhibit", False), (True, "exhibit", True)):
            with self.subTest(named=named, kind=kind):
                words = checks.Options(budgets=("4s",), named=named).words(kind)
                self.assertEqual(words, ["--budget", "4s"] if passed else [])


class Stress(TreeCase):
    def programs(self, **passes: bool) -> None:
        for preset, good in passes.items():
            preset = preset.replace("_", "-")
            path = fakes.stress(self.root / f"build/{preset}/bin/stress_deque", good)
            fakes.manifest(self.root, preset, "stress", [path])

    def test_both_presets_and_every_seed(self) -> None:
        self.programs(tsan=True, asan_ubsan=True)
        done = apiary(self.root, "stress", "--no-build", "--seconds", "1", "--seeds", "2", "--seed", "40")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("seeds 40 41", done.stdout)
        record = json.loads((self.root / "build/stress.json").read_text())
        self.assertEqual(
            {(r["preset"], r["seed"]) for r in record["runs"]},
            {("tsan", 40), ("tsan", 41), ("asan-ubsan", 40), ("asan-ubsan", 41)},
        )
        self.assertTrue(record["passed"])

    def test_a_race_found_is_red_and_repeatable(self) -> None:
        self.programs(tsan=False, asan_ubsan=True)
        done = apiary(self.root, "stress", "--no-build", "--seed", "9", "--seconds", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("data race", done.stdout)
        self.assertIn("replay: build/tsan/bin/stress_deque --seconds 1 --seed 9", done.stdout)

    def test_a_failure_stays_in_the_record_while_the_source_is_the_same(self) -> None:
        stamp = {"source_hash": "h"}
        bad = {"program": "p", "preset": "tsan", "seed": 1, "seconds": 1.0, "passed": False}
        record = stressing.merge_record(None, stamp, [bad])
        self.assertFalse(stressing.merge_record(record, stamp, [bad | {"seed": 2, "passed": True}])["passed"])
        self.assertTrue(stressing.merge_record(record, {"source_hash": "i"}, [bad | {"passed": True}])["passed"])


class Addresses(unittest.TestCase):
    def words(self, bits: str, allowed: bool) -> tuple[list[str], str]:
        err = io.StringIO()
        done = proc.Done([], 0 if allowed else 1, "", "", 0.0)
        with (
            mock.patch.object(stressing, "read", lambda _: bits),
            mock.patch.object(proc, "run", lambda *_, **__: done),
            contextlib.redirect_stderr(err),
        ):
            return stressing.without_randomisation(), err.getvalue()

    def test_they_vary_by_no_more_than_thread_sanitizer_can_take(self) -> None:
        for bits in ("28\n", "", "none"):
            self.assertEqual(self.words(bits, True), ([], ""))
        self.assertEqual(self.words("32\n", True), (["setarch", "--addr-no-randomize"], ""))
        words, told = self.words("32\n", False)
        self.assertEqual(words, [])
        self.assertIn("sysctl vm.mmap_rnd_bits=28", told)
        self.assertIn("seccomp=unconfined", told)


class Verification(unittest.TestCase):
    VERDICT = {"name": "d", "kind": "check", "engine": "relacy", "as_expected": True, "executions": 10}

    def test_only_the_same_source_counts(self) -> None:
        record = {"source_hash": "h", "listed": {"check": ["d", "e"]}, "verdicts": [self.VERDICT]}
        self.assertEqual(verification.prove_status(record, "h").level, "note")
        self.assertIn("1 of 2 checks", verification.prove_status(record, "h").text)
        self.assertEqual(verification.prove_status(record, "other").level, "bad")
        self.assertEqual(verification.prove_status(None, "h").level, "bad")
        whole = record | {"listed": {"check": ["d"]}}
        self.assertEqual(verification.prove_status(whole, "h").level, "good")

    def test_a_deviation_is_not_good(self) -> None:
        record = {"source_hash": "h", "verdicts": [self.VERDICT | {"as_expected": False}]}
        self.assertEqual(verification.prove_status(record, "h").level, "bad")

    def test_a_search_without_time_is_neither_good_nor_wrong(self) -> None:
        late = self.VERDICT | {"as_expected": False, "verdict": "budget"}
        status = verification.prove_status({"source_hash": "h", "verdicts": [late]}, "h")
        self.assertEqual(status.level, "note")
        self.assertIn("not finished: d", status.text)
        self.assertFalse(verdicts.wrong(late))
        self.assertIn("1 not finished within the budget: d", verdicts.closing([late]))

    def test_a_search_that_was_cut_is_named_with_how_far_it_came(self) -> None:
        """Also where the check allows it: "all as expected" alone would say too much."""
        whole = self.VERDICT | {"engine": "explorer"}
        short = whole | {"name": "large", "verdict": "budget", "executions": 91711,
                         "bound": "not finished: RC11; budget ended, about 4 % of the search tree covered"}
        drawn = short | {"name": "drawn", "engine": "relacy"}
        far = "large (91,711 executions, about 4 %)"
        line = verdicts.closing([whole, short, drawn])
        self.assertIn(f"all as expected; 1 search NOT exhausted, as their checks allow: {far}", line)
        self.assertTrue(verdicts.closing([whole, drawn]).endswith(": all as expected"))
        self.assertIn(f"1 not finished within the budget: {far}", verdicts.closing([short | {"as_expected": False}]))
        status = verification.prove_status({"source_hash": "h", "verdicts": [whole, short, drawn]}, "h")
        self.assertIn(f"1 search not exhausted: {far}", status.text)
        record = verdicts.merge_record(None, {"source_hash": "h"}, [whole, short, drawn], {})
        self.assertEqual([(cut["name"], cut["how_far"]) for cut in record["not_exhausted"]],
                         [("large", "91,711 executions, about 4 %")])

    def test_a_hunt_replaces_no_search_for_all_and_every_engine_is_asked(self) -> None:
        whole = self.VERDICT | {"engine": "explorer", "mode": "exhaustive"}
        hunt, relacy = whole | {"mode": "random"}, whole | {"engine": "relacy", "mode": "mixed"}
        stamp, asked = {"source_hash": "h"}, {(whole["name"], engine): "check" for engine in ("explorer", "relacy")}
        listed = {"check": [whole["name"]]}
        record = verdicts.merge_record(None, stamp, [whole, relacy], listed, asked)
        self.assertTrue(record["complete"])
        for later in ([hunt], [relacy]):
            record = verdicts.merge_record(record, stamp, later, listed, asked)
            self.assertEqual([(v["engine"], v["mode"]) for v in record["verdicts"]], [("explorer", "exhaustive"), ("relacy", "mixed")])
        for alone in (hunt, relacy):
            record = verdicts.merge_record(None, stamp, [alone], listed, asked)
            self.assertFalse(record["complete"])
            self.assertNotEqual(verification.prove_status(record, "h").level, verification.GOOD)

    def test_the_word_beside_a_number(self) -> None:
        def word(*levels: str) -> str:
            found = [verification.Status(f"part{i}", level, "", f"badge{i}") for i, level in enumerate(levels)]
            return verification.word(found)[1]

        self.assertEqual(word("good", "good"), "badge0 badge1")
        self.assertEqual(word("good", "note"), "badge0 in part: part1")
        self.assertEqual(word("note", "bad"), "not verified: part1")

    def test_exhibits_are_the_museum_s(self) -> None:
        exhibit = self.VERDICT | {"name": "x", "kind": "exhibit", "as_expected": False}
        record = {"source_hash": "h", "verdicts": [self.VERDICT, exhibit]}
        self.assertEqual(verification.prove_status(record, "h").level, "good")
        self.assertEqual(verification.museum_status(record, "h").level, "bad")
        self.assertEqual(verification.museum_status({"source_hash": "h", "verdicts": [self.VERDICT]}, "h").level, "note")

    def test_the_mutation_score_is_of_this_source_and_of_all_headers(self) -> None:
        header = {"mutants": 20, "killed": 19, "explained": 1, "never_run": 0}
        record = {"source_hash": "h", "known": ["a.hpp"], "headers": {"a.hpp": header}}
        found = verification.mutation_status(record, "h")
        self.assertEqual((found.level, found.badge), ("good", "mutants 95 %"))
        self.assertEqual(verification.mutation_status(record, "other").level, "note")
        self.assertEqual(verification.mutation_status(None, "h").level, "note")
        self.assertEqual(verification.mutation_status(record | {"known": ["a.hpp", "b.hpp"]}, "h").level, "note")
        for key, value in (("explained", 0), ("never_run", 1)):
            worse = record | {"headers": {"a.hpp": header | {key: value}}}
            self.assertEqual(verification.mutation_status(worse, "h").level, "note", key)

    def test_a_race_keeps_a_record_without_its_bulk(self) -> None:
        record = {"source_hash": "h", "complete": True, "verdicts": [self.VERDICT | {"trace": "long", "differs": "why"}], "table": "long"}
        found = verification.brief(record, "verdicts", verification.OF_VERDICT)
        self.assertEqual(set(found), {"source_hash", "complete", "verdicts"})
        self.assertEqual(set(found["verdicts"][0]), set(verification.OF_VERDICT.split()))
        self.assertEqual(found["verdicts"][0]["differs"], "why", "the site says why two engines differ")
        self.assertEqual(verification.prove_status(found, "h"), verification.prove_status(record, "h"))
        self.assertIsNone(verification.brief(None, "verdicts", verification.OF_VERDICT))

    def test_stress_needs_both_sanitizers(self) -> None:
        run = {"program": "p", "preset": "tsan", "seed": 1, "seconds": 2.0, "passed": True}
        self.assertEqual(verification.stress_status({"source_hash": "h", "runs": [run]}, "h").level, "note")
        both = [run, run | {"preset": "asan-ubsan"}]
        self.assertEqual(verification.stress_status({"source_hash": "h", "runs": both}, "h").level, "good")
