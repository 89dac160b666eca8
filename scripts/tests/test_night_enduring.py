"""Soak, faults and the fuzzer as units of a night."""

from __future__ import annotations

import contextlib
import datetime
import io
import types
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.base import repo
from apiary_cli.base.say import duration
from apiary_cli.night import child, memory
from apiary_cli.night.unit import Unit
from apiary_cli.report import night_cases
from apiary_cli.verbs import fuzz, nightly_units, soak
from apiary_cli.verify import enduring

from .nights import Engine, result, Units


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
        with mock.patch.object(fuzz, "targets", lambda: ["plan", "hist", "row"]), mock.patch.object(fuzz, "there", lambda _: True):
            days = [self.DAY + datetime.timedelta(n) for n in range(3)]
            self.assertEqual({unit.name for day in days for unit in nightly_units.fuzzed(60.0, day)}, {"plan", "hist", "row"})
            for seconds, takes in ((3600.0, 600.0), (1199.0, 120.0), (60.0, 6.0), (1.0, 5.0)):
                (unit,) = nightly_units.fuzzed(seconds, self.DAY)
                self.assertEqual((unit.lasts, f"--seconds {takes:g}" in unit.replay), (takes, True))
        with mock.patch.object(fuzz, "there", lambda _: False), mock.patch.object(nightly_units.night_units, "of_this_source", lambda *_: False):
            self.assertEqual((nightly_units.fuzzed(60.0, self.DAY), len(nightly_units.lacking())), ([], 5), "tsan, stresses, suites and the fuzzer")

    def test_the_plan_runs_nothing_and_says_what_is_known_and_what_the_rest_takes(self) -> None:
        nothing = lambda *_: []  # noqa: E731
        with (
            mock.patch.multiple(nightly_units.night_units, searches=nothing, stresses=nothing, outside=nothing, hunts=nothing, mutants=nothing, logic_mutants=nothing),
            mock.patch.object(nightly_units.checks, "all_entries", lambda: []), mock.patch.object(child, "run", self.fail),
            mock.patch.object(fuzz, "there", lambda _: True),
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
            mock.patch.multiple(nightly_units.night_units, searches=nothing, stresses=nothing, outside=nothing, hunts=nothing, mutants=nothing, logic_mutants=nothing),
            mock.patch.object(nightly_units.checks, "all_entries", lambda: []), mock.patch.object(nightly_units.sources, "Evidence", lambda *_: stamp),
            mock.patch.object(nightly_units, "engine_of", lambda *_: engine), mock.patch.object(fuzz, "there", lambda _: True),
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


if __name__ == "__main__":
    unittest.main()
