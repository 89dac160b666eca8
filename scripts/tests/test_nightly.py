"""A night: how the budget is divided, the page, the JUnit file, the exit code."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path
from unittest import mock

from apiary_cli.base import argument_kinds, building
from apiary_cli.base.errors import Fault, Stopped
from apiary_cli.base.say import duration
from apiary_cli.verify import catalogue
from apiary_cli.report import junit, night_page
from apiary_cli.report.junit import FAILED, PASSED, SKIPPED, Case, Part
from apiary_cli.night.unit import Unit
from apiary_cli.verbs import check, nightly, selftest

from . import fakes
from .support import REAL_ROOT, TreeCase, apiary, environment
from .test_exact import DRIVER, VALGRIND


class Budget(unittest.TestCase):
    def test_reading(self) -> None:
        self.assertEqual([argument_kinds.span("--budget", text) for text in ("90s", "2m", "1.5h", "8760h")], [90, 120, 5400, 365 * 24 * 3600])
        for text in ("", "5", "m", "-1m", "0s", "5 m", "1d", "1e9h", "8761h", "\u0665m", "9" * 400 + "s", "5m\n"):
            with self.subTest(text), self.assertRaisesRegex(Fault, "(?s)--budget .*cannot be read"):
                argument_kinds.span("--budget", text)

    def test_shares(self) -> None:
        self.assertAlmostEqual(sum(nightly.SHARES.values()), 1.0)

    def test_units_come_first_and_have_their_share_of_what_is_left(self) -> None:
        args = argparse.Namespace(no_build=True, workers=2, shard=None, store=self.store())
        for budget, fit, rest in ((3 * 3600, True, 3 * 3600 - 12 * 60 - 30 * 60), (3600, True, 3600 - 12 * 60), (1500, True, 1500 - 6 * 60),
                                  (1499, False, 1499)):
            with contextlib.redirect_stdout(io.StringIO()) as said:
                night = {name: how for name, *how in nightly.night(args, budget, time.monotonic() + 0.4)}
            self.assertEqual((list(night)[:4], night["museum"][1]), (["build", "selftest", "units", "speed"], fit))
            self.assertIn(f"{duration(rest)} left to divide", said.getvalue())

    def store(self) -> str:
        folder = tempfile.TemporaryDirectory(prefix="apiary-nightly-")
        self.addCleanup(folder.cleanup)
        return folder.name

    def test_what_a_part_took_is_what_the_next_night_takes_it_to_take(self) -> None:
        args = argparse.Namespace(no_build=True, workers=2, shard=None, store=self.store(), done=None)
        hazards, race, broken = Part("hazards", [Case("x", PASSED)], 100.0), Part("race", [Case("x", PASSED)], 9.0), Part("speed", [Case("x", FAILED)], 1.0)
        nightly.remember([hazards, race, broken], args)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            list(nightly.night(args, 3600.0, time.monotonic() + 0.4))
        self.assertIn(f"{duration(3600 - 6 * 60 - 100)} left to divide", said.getvalue(), "and one that failed is no measure")

    def test_a_shard_has_units_and_nothing_else(self) -> None:
        args = argparse.Namespace(no_build=True, shard=(2, 3))
        with mock.patch.object(nightly, "units_parts") as units:
            night = {name: how for name, *how in nightly.night(args, 100.0, time.monotonic())}
            night["units"][0]()
        self.assertEqual(list(night), ["build", "selftest", "units"])
        self.assertAlmostEqual(units.mock_calls[0].args[1], 100.0, delta=5.0)

    def test_the_race_fits(self) -> None:
        night = nightly.race_plan(1800)
        self.assertEqual((night.name, night.rounds, night.batches, night.least_rounds), ("publish", 30, 1, 10))
        self.assertEqual(nightly.race_plan(300).name, "quick")
        self.assertEqual(nightly.race_plan(30).name, "smoke")
        for seconds in (1800, 300, 30):
            self.assertEqual(nightly.race_plan(seconds).limit, seconds, "what it says is when its rounds end")

    def test_a_budget_that_is_spent_leaves_the_least_and_says_so(self) -> None:
        self.assertEqual(nightly.remainder(3600, 600)[0], 3000)
        self.assertIn("50 min 00 s left to divide", nightly.remainder(3600, 600)[1])
        for budget, spent in ((1, 0), (3600, 3590), (3600, 9000)):
            rest, words = nightly.remainder(budget, spent)
            self.assertEqual(rest, nightly.LEAST_REST)
            self.assertIn("run over it", words)
            self.assertNotIn("left to divide", words)
        self.assertEqual([nightly.race_seconds(*one) for one in ((1, 0), (1, 5), (3600, 600), (3600, 0))],
                         [16, 16, 3000, 3240])


class Outcome(unittest.TestCase):
    def test_exit_codes(self) -> None:
        good, bad, none = (Part(s, [Case("x", s)]) for s in (PASSED, FAILED, SKIPPED))
        invalid = Part("race", [Case("x", PASSED)], invalid=True)
        self.assertEqual(nightly.exit_code([good, none]), 0)
        self.assertEqual(nightly.exit_code([good, invalid]), 4)
        self.assertEqual(nightly.exit_code([bad, invalid]), 1)

    def test_the_page_names_what_failed_and_what_did_not_run(self) -> None:
        parts = [
            Part("prove", [Case("deque", FAILED, 1, "thread 0 lost a task"), Case("inbox", SKIPPED, 0, "no time")])
        ]
        text = night_page.markdown_text(night_page.view(parts, None, "2m", 100, 1))
        for words in ("RED", "- prove deque: thread 0 lost a task", "failed: deque: thread 0 lost a task", "not run or cut short: inbox: no time"):
            self.assertIn(words, text)
        for part, word in ((Part("race", [Case("x", PASSED)], invalid=True), "the race is invalid"), (Part("a", [Case("x", PASSED)]), ": fine")):
            title = night_page.view([part], None, "2m", 100, nightly.exit_code([part]))["title"]
            self.assertIn(word, title)

    def test_what_does_not_fit_is_not_run_and_says_what_runs_it(self) -> None:
        (part,) = nightly.guarded("mutation", self.fail, False, "mutate")
        self.assertEqual((part.status, part.cases[0].message), (SKIPPED, "did not fit the budget; scripts/apiary mutate"))

    def test_a_part_may_end_in_any_way_and_the_others_go_on(self) -> None:
        for error in (Fault("no subject"), OSError(28, "no space"), ValueError("odd")):
            with self.subTest(error), contextlib.redirect_stdout(io.StringIO()):
                (part,) = nightly.guarded("race", mock.Mock(side_effect=error))
                self.assertEqual(part.status, FAILED)
                self.assertEqual(nightly.exit_code([part]), 1)
                self.assertIn(str(error), part.cases[0].message)
        self.assertIn("1 wrong or regressed, or a part that could not be built or run", nightly.DESCRIPTION)

    def test_a_night_that_is_stopped_leaves_its_page(self) -> None:
        parser = argparse.ArgumentParser()
        nightly.arguments(parser)

        def night(*_: object):
            yield "prove", lambda: Part("prove", [Case("deque", PASSED)])
            yield "stress", mock.Mock(side_effect=Stopped(15))
            self.fail("it went on")

        with (
            tempfile.TemporaryDirectory() as name, mock.patch.object(nightly, "FOLDER", Path(name)),
            mock.patch.object(nightly, "night", night), mock.patch.object(check, "tell_the_job"),
            contextlib.redirect_stdout(io.StringIO()), self.assertRaises(Stopped),
        ):
            try:
                nightly.run(parser.parse_args(["--no-build", "--store", f"{name}/store"]))  # the other may be a night's that runs this
            finally:
                text = (Path(name) / "summary.md").read_text()
                suites = ET.parse(Path(name) / "junit.xml").findall("testsuite")
        self.assertIn("failed: stress: stopped by signal 15", text)
        self.assertEqual([suite.get("failures") for suite in suites], ["0", "1"])

    def test_junit(self) -> None:
        parts = [
            Part(
                "prove",
                [Case("a<b", FAILED, 1.5, "bad \x1b[31m & worse"), Case("c", PASSED), Case("d", SKIPPED, 0, "why")],
            )
        ]
        suite = ET.fromstring(junit.xml(parts)).find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("skipped")), ("3", "1", "1"))
        self.assertIn("& worse", suite.find("testcase/failure").text)


class Gate(unittest.TestCase):
    """The selftest, which the night runs first."""

    def gate(self, text: str, budget: float = 3600.0) -> tuple[Part, argparse.Namespace]:
        """Of the last of two nights with one store."""
        with tempfile.TemporaryDirectory(prefix="apiary-nightly-") as name:
            fakes.script(Path(name) / "apiary", text)
            unit = Unit("selftest", "every kind of defect", str(Path(name) / "apiary"), replay="scripts/apiary selftest")
            args = argparse.Namespace(store=str(Path(name) / "store"))
            with (mock.patch.object(selftest, "units", lambda: [unit]), contextlib.redirect_stderr(io.StringIO()),
                  contextlib.redirect_stdout(io.StringIO())):
                for _ in range(2):
                    (part,) = nightly.guarded("selftest", lambda: nightly.gate_part(args, budget))
            return part, args

    def test_what_an_earlier_night_saw_says_nothing_of_this_one(self) -> None:
        once = '#!/bin/sh\nmark="$(dirname "$0")/seen"\nif [ -e "$mark" ]; then exit {}; fi\ntouch "$mark"\nexit {}\n'
        for first, second in ((0, 1), (1, 0)):
            with self.subTest(first=first, second=second):
                self.assertEqual(self.gate(once.format(second, first))[0].status, FAILED if second else PASSED)

    def test_a_night_that_does_not_see_what_is_planted_is_red_and_says_so_first(self) -> None:
        part, args = self.gate("#!/bin/sh\necho 'leak: not seen by soak: works'\necho 16 defects, 1 not as they should be\nexit 1\n")
        self.assertEqual((part.status, len(args.gate.results)), (FAILED, 1))
        stress = Part("stress", [Case("deque", FAILED, 0.0, "lost")])
        view = night_page.view([stress, part], None, "1h", 1.0, nightly.exit_code([stress, part]))
        text = night_page.markdown_text(view)
        order = [text.find(words) for words in ("RED, and not to be believed", "- selftest every kind of defect: exit status 1: leak: not seen by soak",
                                                "replay: `scripts/apiary selftest`", "- stress deque")]
        self.assertEqual((order == sorted(order), -1 in order), (True, False), text)

    def test_one_that_sees_it_is_green_and_one_that_does_not_fit_is_named(self) -> None:
        part, args = self.gate("#!/bin/sh\nexit 0\n")
        self.assertEqual((part.status, [case.name for case in part.cases]), (PASSED, ["every kind of defect"]))
        part, args = self.gate("#!/bin/sh\nexit 1\n", budget=10.0)
        self.assertEqual((part.status, len(args.gate.waiting)), (SKIPPED, 1))
        self.assertIn("nothing says that this night sees what is wrong; scripts/apiary selftest", part.cases[0].message)

    def test_the_programs_of_faults_soak_and_selftest_are_built_and_the_fuzzer_is_fetched(self) -> None:
        asked = []
        with (
            mock.patch.object(building, "build", lambda preset, only=None, names=(): asked.append((preset, only))), mock.patch.object(building, "build_rust"),
            mock.patch.object(nightly.repo, "manifest", return_value=[]), mock.patch.object(nightly.fuzz, "ready", side_effect=Fault("no index")),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            part = nightly.build_part(False)
            def fetched(**words: object) -> None:
                asked.append(("fetched", tuple(words.get("peers") or ())))
                if words.get("peers") == nightly.packages.OUTSIDE:
                    raise Fault("no such package here")  # which ends no night

            with mock.patch.object(nightly.setup, "ensure", fetched), mock.patch.object(nightly, "night") as parts, \
                    mock.patch.object(nightly, "warn") as warn:
                asked.clear()
                store = self.enterContext(tempfile.TemporaryDirectory(prefix="apiary-nightly-"))
                ends = nightly.run(self.asked("--build", "--store", store))
                with nightly.Store(Path(store)).alone(), self.assertRaisesRegex(Fault, "another night works"):
                    nightly.run(self.asked("--build", "--store", store))
        first = [("fetched", tuple(peers)) for peers in ((), nightly.hazards.PEERS, nightly.packages.OUTSIDE)]
        self.assertEqual(asked[:3], first, "what comes later would lack in what is built")
        self.assertIn("no such package here", warn.call_args.args[0])
        self.assertEqual((ends, parts.called), (1, False), "beforehand, the same builds and no part of a night")
        self.assertLessEqual({("ci-night", "night"), ("tsan", "night"), ("asan-ubsan", "night"), ("release", "planted"), ("model", "hunted")}, set(asked))
        self.assertEqual([(case.name, case.message) for case in part.cases if case.status == FAILED], [("the fuzzer", "apiary: no index")])
        self.assertEqual(self.names_of_selftest() - set(asked) - {("model", "checks"), ("release", "subjects")}, set())
        self.assertLessEqual({("model", None), ("release", None)}, set(asked), "which have the others")

    def asked(self, *words: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        nightly.arguments(parser)
        return parser.parse_args(words)

    def names_of_selftest(self) -> set[tuple]:
        asked = set()
        with mock.patch.object(building, "build", lambda preset, only=None, names=(): asked.add((preset, only))), mock.patch.object(selftest.setup, "ensure"):
            selftest.build_all()
        return asked


class Night(TreeCase):
    def night(self) -> int:
        program = fakes.checks(
            self.root / "build/model/bin/c", [("sb", "litmus", "pass"), ("deque", "check", "pass")]
        )
        fakes.manifest(self.root, "model", "checks", [program])
        for preset in ("tsan", "asan-ubsan"):
            fakes.manifest(self.root, preset, "stress", [fakes.stress(self.root / f"build/{preset}/bin/s")])
        return apiary(
            self.root, "nightly", "--no-build", "--budget", "10s", "--junit", str(self.root / "j.xml")
        ).returncode

    def test_a_dry_run_says_the_units_and_runs_none(self) -> None:
        program = fakes.checks(self.root / "build/model/bin/c", [("sb", "litmus", "pass"), ("deque", "check", "pass")])
        fakes.manifest(self.root, "model", "checks", [program])
        done = apiary(self.root, "nightly", "--no-build", "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("selftest", "search", "at most 36 min 00 s for units", "soak and faults leave out tsan"):
            self.assertIn(words, done.stdout)
        self.assertFalse((self.root / "build/nightly").exists())

    def test_a_good_night(self) -> None:
        self.subjects({"name": "hive"}, {"name": "tokio"})
        self.assertEqual(self.night(), 0)
        self.assertIn(": fine", (self.root / "build/nightly/summary.md").read_text())
        ET.parse(self.root / "j.xml")
        for record, names in (("build/model/prove.json", ["sb", "deque"]), ("build/stress.json", ["s", "s"])):
            found = json.loads((self.root / record).read_text())
            told = [one.get("name") or one["program"] for one in found.get("verdicts") or found["runs"]]
            self.assertLessEqual(set(names), set(told), record)
        self.assertTrue((self.result() / "report.html").exists())

    def test_a_part_that_cannot_run_is_red_and_the_others_go_on(self) -> None:
        self.assertEqual(self.night(), 1)  # there is no subject to race
        text = (self.root / "build/nightly/summary.md").read_text()
        self.assertIn("| race | failed |", text)
        self.assertIn("| search | passed |", text)


class Shards(TreeCase):
    def test_a_night_on_two_machines_is_one_night(self) -> None:
        program = fakes.checks(self.root / "build/model/bin/c", [("sb", "litmus", "pass"), *((f"deque_{i}", "check", "pass") for i in range(4))])
        fakes.manifest(self.root, "model", "checks", [program])
        for preset in ("tsan", "asan-ubsan"):
            fakes.manifest(self.root, preset, "stress", [fakes.stress(self.root / f"build/{preset}/bin/s")])

        def merged(*names: str) -> tuple[int, str]:
            done = apiary(self.root, "merge", *(str(self.root / name) for name in names), "--store", str(self.root / "all"))
            return done.returncode, done.stdout + done.stderr

        for i in (1, 2):
            done = apiary(self.root, "nightly", "--no-build", "--budget", "30s", "--shard", f"{i}/2", "--store", str(self.root / f"s{i}"))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        code, told = merged("s1")
        self.assertEqual((code, "shard 2 of 2: it left no record: run it again, then merge" in told), (1, True), told)
        halves = [{path.name for path in (self.root / name / "results").rglob("*.json")} for name in ("s1", "s2")]
        self.assertEqual(len(halves[0] & halves[1]), 1, "the litmus test, which comes first on each")
        torn = next(iter((self.root / "s2/results").rglob(f"{sorted(halves[1] - halves[0])[0]}")))
        whole = torn.read_text()
        torn.write_text(whole[:40])
        code, told = merged("s1", "s2")
        self.assertEqual((code, "was no result: it is torn, or no record" in told, "did not fit" in told), (0, True, True), told)
        torn.write_text(whole)
        code, told = merged("s1", "s2")
        self.assertEqual((code, ": fine" in told, f"{len(halves[0] | halves[1])} units" in told), (0, True, True), told)
        for names, why in ((("s3",), "there is no store"), (("impl",), "no record of a night")):
            code, told = merged(*names)
            self.assertEqual((code, why in told), (2, True), told)
        record = self.root / "s2/night-2-of-2.json"
        for text, why in ((record.read_text().replace('"source_hash": "', '"source_hash": "x'), "nights of several sources"), ("{", "cannot be read")):
            record.write_text(text)
            code, told = merged("s1", "s2")
            self.assertEqual((code, why in told), (2, True), told)


class Parts(TreeCase):
    """The parts that a short night leaves out, by themselves."""

    def part(self, call: str) -> list[str]:
        code = f"from apiary_cli.verbs import nightly; part = nightly.{call}; print('PART', part.status, part.lines, [c.name for c in part.cases if c.status == 'failed'])"
        done = subprocess.run([sys.executable, "-c", code], cwd=REAL_ROOT / "scripts", env=environment(self.root), text=True,
                              capture_output=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line for line in done.stdout.splitlines() if line.startswith("PART")]

    def test_exact_counts_are_held_to_those_recorded(self) -> None:
        self.assertIn("PART skipped", self.part("exact_part()")[0], "no drivers")
        fakes.script(self.root / "tools/valgrind", VALGRIND.format(python=sys.executable))
        program = self.root / "build/release/bin/queue_exact"
        with mock.patch.dict("os.environ", {"PATH": f"{self.root / 'tools'}{os.pathsep}{os.environ['PATH']}"}):
            for cost, update, status in ((40, False, "skipped"), (40, True, "passed"), (42, False, "failed")):
                fakes.script(program, DRIVER.format(python=sys.executable, cost=cost, random=False))
                fakes.manifest(self.root, "release", "exact", [program])
                if update:
                    self.assertEqual(apiary(self.root, "exact", "--no-build", "--update").returncode, 0)
                with self.subTest(cost=cost, update=update):
                    self.assertIn(f"PART {status}", self.part("exact_part()")[0])

    def test_smoke_races_each_subject_once_and_holds_its_work(self) -> None:
        for behaviour, status, failed in (("ok", "passed", "[]"), ("wrong_check", "failed", "['tokio']")):
            self.subjects({"name": "hive"}, {"name": "tokio", "behaviour": behaviour})
            told = self.part("smoke_part(2)")[0]
            self.assertIn(f"PART {status} ['plan smoke'", told)
            self.assertTrue(told.endswith(failed), told)

    def test_the_hunt_of_and_for_strangers(self) -> None:
        for part, script, ends in (("front_ends_part()", "front_ends_test.py", "g++"), ("suites_part()", "suites_of_others.py", "5")):
            self.assertIn("PART skipped", self.part(part)[0], "nothing is built")
            program = fakes.checks(self.root / "build/model/bin/a_check", [("x", "check", "pass")])
            fakes.manifest(self.root, "model", "checks", [program])
            script = self.root / "model_check/hunt/tests" / script
            for said, code, seen in (("same Make: found\\nleft out xenium all: no", 0, "passed ['1 of 2"),
                                     ("other xenium a.b/0: race", 1, "failed ['0 of 1"), ("same Make: found", 1, "failed"), ("", 0, "failed")):
                fakes.script(script, f"import sys\nprint('{said}' if sys.argv[1].endswith('/model') and sys.argv[-1] == '{ends}' else '')\n"
                                     f"sys.exit({code})\n")
                with self.subTest(said, code=code, part=part):
                    self.assertIn(f"PART {seen}", self.part(part)[0])
            fakes.manifest(self.root, "model", "checks", [])

    def test_the_speed_of_code_as_it_is_is_judged_by_its_interval(self) -> None:
        self.assertIn("PART skipped", self.part("speed_part()")[0], "no program")
        program = self.root / "build/model/bin/chase_lev_deque_twins"
        row = "{}    as it is takes 2.90 [2.80, 3.10] of the time over Sync: {}"
        for words, code, seen in ((["within 3", "within 3"], 0, "passed ['2 of 2"), (["within 3", "unresolved"], 0, "passed ['1 of 2"),
                                  (["BEYOND 3"], 1, "failed ['0 of 1"), (["BEYOND 3"], 0, "failed"), (["within 3"], 1, "failed"),
                                  ([], 0, "failed")):
            said = "".join(f"echo '{row.format(f'a_check_{i}', word)}'\n" for i, word in enumerate(words))
            fakes.script(program, f"#!/bin/sh\n{said}exit {code}\n")
            fakes.of_this_source(self.root, program)
            with self.subTest(words, code=code):
                self.assertIn(f"PART {seen}", self.part("speed_part()")[0])

    def test_museum(self) -> None:
        (self.root / "model_check/museum").mkdir()
        rows = [f"{id},a defect,a paper,I,,,{'' if id == 'A01' else 'nobody has looked'}" for id in catalogue.DEMANDED]
        text = "\n".join([",".join(catalogue.COLUMNS), *rows]) + "\n"
        (self.root / "model_check/museum/catalogue.csv").write_text(text)
        program = fakes.engines(self.root / "build/model/bin/c", [dict(name="a01_x", kind="exhibit")])
        fakes.manifest(self.root, "model", "checks", [program])
        self.assertIn("PART failed", self.part("museum_part()")[0], "nothing is recorded")
        recorded = "exhibit,engine,executions,seeds\na01_x,explorer,10,1\na01_x,relacy,10,21\n"
        (self.root / "model_check/museum/detection.csv").write_text(recorded)
        self.assertIn("PART passed ['1 exhibits, 86 of 87 defects not yet seen']", self.part("museum_part()")[0])


    def test_the_echo(self) -> None:
        program = self.root / "build/tsan-night/bin/hive_echo"
        for status, seen in ((0, "passed"), (1, "failed"), (66, "failed"), (77, "skipped")):
            fakes.script(program, f"#!/bin/sh\necho \"hive_echo: 7 came back $*\"\nexit {status}\n")
            fakes.of_this_source(self.root, program)
            self.assertIn(f"PART {seen} ['hive_echo: 7 came back --connections 1000", self.part("echo_part()")[0])


class Moved(unittest.TestCase):
    """What check leaves to the night."""

    def test_a_build_of_everything_leaves_stresses_aside_and_the_night_builds_them(self) -> None:
        aside, kept = Path("bin/stress_x"), Path("bin/x_check")
        lists = {"aside": [aside], "stress": [aside], "checks": [kept]}
        for only, known in ((None, [kept]), ("stress", [aside])):
            with (
                mock.patch.multiple(building, stale=lambda _: False, packages=mock.DEFAULT, proc=mock.DEFAULT, repo=mock.DEFAULT,
                                    say=mock.DEFAULT) as made,
                mock.patch.multiple(building.sources, drop_differing=mock.DEFAULT, refuse_other=mock.DEFAULT) as sources_made,
            ):
                made["repo"].presets.return_value = ["asan-ubsan"]
                made["repo"].BUILD, made["repo"].KINDS = Path("build"), ("checks", "stress")
                made["repo"].locked.return_value = contextlib.nullcontext()
                made["repo"].preset_targets.return_value = []
                made["repo"].manifest.side_effect = lambda _, kind: lists.get(kind, [])
                made["proc"].run.return_value = mock.Mock(ok=True, out="")
                with mock.patch.object(Path, "write_text"):
                    building.build("asan-ubsan", only=only)
                    with self.assertRaisesRegex(Fault, "asan-ubsan has no program of the kind night"):
                        building.build("asan-ubsan", only="night")  # and not everything instead
            with self.subTest(only):
                self.assertEqual(sources_made["refuse_other"].call_args.args[1], known)
        with mock.patch.object(building, "build") as built, mock.patch.object(nightly.repo, "manifest", return_value=[aside]):
            nightly.built_whole("asan-ubsan")
        self.assertEqual(built.mock_calls, [mock.call("asan-ubsan"), mock.call("asan-ubsan", only="stress")])

    def test_every_list_that_a_program_stands_in_is_written(self) -> None:
        listed = subprocess.run(["git", "-C", str(REAL_ROOT), "ls-files", "*CMakeLists.txt", "*.cmake"], capture_output=True, text=True, check=True)
        texts = [(REAL_ROOT / name).read_text() for name in listed.stdout.split()]
        named = {kind for text in texts for kind in re.findall(r"^ *apiary_register\((\w+) ", text, re.MULTILINE)}
        written = re.search(r"foreach\(list ([\w ]+)\)", (REAL_ROOT / "scripts/cmake/apiary_manifest.cmake").read_text())
        self.assertEqual(set(written[1].split()), named)

    def test_what_a_soak_and_the_faults_run_is_a_target_of_every_preset_that_they_ask(self) -> None:
        """Below the return of a build that sets its stresses aside it was none, and nothing was soaked under AddressSanitizer."""
        text = (REAL_ROOT / "stress" / "CMakeLists.txt").read_text()
        self.assertNotIn("if(APIARY_STRESS_ASIDE)", text[:text.index("apiary_register(night stress_night)")])

    def test_check_leaves_the_features_of_the_twin_to_the_night(self) -> None:
        asked = []
        done = mock.Mock(ok=True, out="test result: ok. 3 passed; 0 failed\n")
        with (
            mock.patch.object(building, "cargo", side_effect=lambda _, *words: asked.append("--features" in words) or done),
            mock.patch.object(building, "rust_files", return_value=[]), mock.patch.object(building, "touch_differing"),
            mock.patch.object(check.repo, "locked", return_value=contextlib.nullcontext()),
            mock.patch.object(check.sources, "write_beside"), mock.patch.object(Path, "touch"),
            contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()),
        ):
            told = [check.tried(name) for name in ("rust", check.RUST_NIGHT)]
        self.assertEqual([part.passed for part in told], [True, True], told)
        self.assertEqual(asked, [False, True])

    def test_the_night_runs_all_of_it(self) -> None:
        file = json.loads((REAL_ROOT / "CMakePresets.json").read_text())
        presets = {entry["name"]: entry.get("cacheVariables", {}) for entry in file["configurePresets"]}
        by_night = [name for name in presets if name.endswith("-night")]
        self.assertEqual(list(nightly.MOVED), [*by_night, check.RUST_NIGHT])
        for kind in ("buildPresets", "testPresets"):
            self.assertLessEqual(set(by_night), {entry["name"] for entry in file[kind]}, kind)
        for name in check.PRESETS:
            if presets[name].get("APIARY_MOVED", "with") != "with":
                # Built otherwise, it has all of them, moved or not.
                self.assertEqual(presets[f"{name}-night"]["APIARY_MOVED"], "alone" if name == "tsan" else "with", name)
        self.assertEqual([presets[name]["APIARY_SANITIZE"] for name in ("asan-ubsan", "asan-ubsan-night")],
                         ["address-undefined-trap", "address-undefined"])
        self.assertNotEqual(presets["ci-night"].get("APIARY_BENCH"), "OFF", "second subjects of a source")
        self.assertEqual([presets[name]["APIARY_STRESS"] for name in ("ci", "ci-night")], ["OFF", "ON"])
        self.assertIn("-O2", presets["ci-night"]["CMAKE_CXX_FLAGS_RELWITHDEBINFO"])

        parser = argparse.ArgumentParser()
        nightly.arguments(parser)
        done = [check.Part(name, name != "tsan-night", 1.0, ["100% tests passed"]) for name in nightly.MOVED]
        for budget, fits in ((3600.0, True), (60.0, False)):
            with contextlib.redirect_stdout(io.StringIO()), mock.patch.object(check, "run_parts", return_value=done) as run:
                night = {name: how for name, *how in nightly.night(parser.parse_args([]), budget, time.monotonic())}
                (part,) = nightly.guarded("moved", *night["moved"])
            with self.subTest(budget):
                self.assertEqual(part.status, FAILED if fits else SKIPPED)
                self.assertEqual([call.args for call in run.mock_calls], [([*by_night, check.RUST_NIGHT],)] * fits)
                self.assertEqual([case.name for case in part.cases if case.status == FAILED], ["tsan-night"] * fits)


class Closing(unittest.TestCase):
    def test_closing_lines_are_the_tools_own(self) -> None:
        ctest = "1/2 Test #1: a ... Passed\n\n100% tests passed, 0 tests failed out of 2\n\nTotal Test time (real) =   0.1 sec\n"
        self.assertEqual(
            check.closing_lines(ctest, check.CTEST_CLOSING),
            ["100% tests passed, 0 tests failed out of 2", "Total Test time (real) =   0.1 sec"],
        )
        self.assertEqual(
            check.closing_lines("x\nRan 3 tests in 0.1s\n\nOK\n", check.UNITTEST_CLOSING),
            ["Ran 3 tests in 0.1s", "OK"],
        )
        good, bad = ("a", True, ".\nRan 3 tests in 0.1s\n\nOK\n"), ("b", False, "F\nRan 2 tests in 1s\n\nFAILED (failures=1)\n")
        self.assertEqual(check.unittest_closing([good, good]), (True, ["Ran 6 tests in 2 files", "OK"]))
        self.assertEqual(check.unittest_closing([good, bad]), (False, ["Ran 5 tests in 2 files", "FAILED b: 2 tests ran"]))
        for none in ("Ran 0 tests in 0.0s\n\nOK\n", "killed\n"):
            self.assertEqual(check.unittest_closing([good, ("c", True, none)])[0], False, none)
        self.assertEqual(check.unittest_closing([])[0], False)
        two = ["test result: ok. 2 passed; 0 failed; 0 ignored", "test result: FAILED. 3 passed; 1 failed; 0 ignored"]
        self.assertEqual(check.in_short(two), "5 passed, 1 failed in 2 test programs")
        parts = [check.Part("ci", True, 3.0, ["100% tests passed"]), check.Part("rust", False, 65.0, two)]
        for line in ("| ci | passed | 3.0 s | 0 s | 0, 0, 0 s | 100% tests passed |", "| rust | **FAILED** | 65.0 s | 0 s |  | 5 passed, 1 failed in 2 test programs |"):
            self.assertIn(line, check.job_summary(parts).splitlines())
        cargo = "running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored\n"
        self.assertEqual(
            check.closing_lines(cargo, check.CARGO_CLOSING), ["test result: ok. 2 passed; 0 failed; 0 ignored"]
        )
