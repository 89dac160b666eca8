"""hazards: the control comes out red in each of its ways, a run is judged by its limits, and the page shows the record."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.base import building, packages, proc, repo, source_names, sources
from apiary_cli.race import hazards, quota, subjects
from apiary_cli.verbs import hazards as verb

from . import fakes
from .support import TreeCase, apiary

PROGRAM = """#!{python} -ISE
import sys
if sys.argv[1:] == ["--list"]:
    print("{name} throw_body"); print("{name} idle")
elif sys.argv[1:] == ["--version"]:
    print("1.2")
elif sys.argv[2] == "idle":
    print('{{"survived": true, "figure": {burns}, "unit": "ms/s", "told": ""}}')
else:
    print('{{"survived": true, "told": ""}}')
"""


def program(path: Path, burns: float) -> Path:
    return fakes.script(path, PROGRAM.format(python=fakes.sys.executable, name=path.name.removeprefix("hazard_"), burns=burns))


class Judged(unittest.TestCase):
    def test_a_runtime_that_is_broken_comes_out_red_each_way_as_it_is(self) -> None:
        self.assertEqual(hazards.control_flaws(hazards.Limits()), [])

    def test_a_control_that_comes_out_green_is_said(self) -> None:
        survivor = hazards.Cell("control", "", "yes")
        with mock.patch.object(hazards, "meet", return_value=survivor):
            self.assertEqual(len(hazards.control_flaws(hazards.Limits())), len(hazards.EXPECTED))

    def test_a_price_above_its_limit_is_a_no_unless_it_is_by_a_clock_that_is_not_judged(self) -> None:
        for clock, judged, word in ((False, True, "no"), (False, False, "no"), (True, True, "no"), (True, False, "yes")):
            cell = hazards.Cell("r", "h", "", figure=11.0, unit="us")
            hazards.judge(cell, hazards.Hazard("h", "", 1, 10, "us", clock), hazards.Limits(clock=judged))
            self.assertEqual(cell.word, word, (clock, judged))

    def test_a_price_that_is_not_told_or_told_in_another_unit_is_a_no(self) -> None:
        for name, hazard in hazards.read().items():
            for figure, unit in ((None, ""), (0.0, ""), (0.0, "apples"), (0.0, hazard.unit)):
                cell = hazards.Cell("r", name, "", figure=figure, unit=unit)
                hazards.judge(cell, hazard, hazards.Limits())
                told = figure is not None and unit == hazard.unit
                self.assertEqual(cell.word, "yes" if told or not hazard.unit else "no", (name, figure, unit))

    def test_the_quota_is_met_by_programs_that_tell_no_price(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        silent = fakes.script(folder / "p", """#!/bin/sh\necho '{"survived": true, "told": ""}'\n""")
        with mock.patch.object(quota, "group", side_effect=lambda hundredths: contextlib.nullcontext()):
            cell = hazards.at_half(silent, "r", hazards.read()["half_quota"], hazards.Limits())
        self.assertEqual((cell.unit, "told no figure" in cell.how), ("times", False), cell)

    def test_of_times_by_the_clock_the_shortest_counts_and_a_failure_is_none(self) -> None:
        hazard = hazards.read()["first_task"]
        runs = [hazards.Cell("r", "first_task", "no" if n > 20_000 else "yes", figure=n, unit="us") for n in (30_000.0, 9.0, 50.0, 70.0, 80.0)]
        for made, word in ((runs, "yes"), ([*runs[:2], hazards.Cell("r", "first_task", "no", "hang")], "no")):
            with mock.patch.object(hazards, "meet", side_effect=made):
                self.assertEqual(hazards.at_best(Path("p"), "r", hazard, hazards.Limits()).word, word)

    def test_a_run_that_fails_is_the_cell_though_it_tells_a_figure(self) -> None:
        """It loses a task in four of five runs, and tells what each of them cost."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "ran").write_text("0")
        loser = fakes.script(folder / "p", f"""#!/bin/sh
n=$(($(cat {folder}/ran) + 1)); echo $n > {folder}/ran
if [ $n = 3 ]; then echo '{{"survived": true, "figure": 1.01, "unit": "times", "told": ""}}'; exit 0; fi
echo '{{"survived": false, "figure": 1.10, "unit": "times", "told": "7999 of 8000 ran"}}'; exit 4
""")
        for before, runs in ((0, 1), (2, 2)):
            (folder / "ran").write_text(str(before))
            cell = hazards.at_best(loser, "r", hazards.read()["oversubscribed"], hazards.Limits(stacks=False))
            self.assertEqual((cell.word, cell.how, cell.figure), ("no", "7999 of 8000 ran", None), cell)
            self.assertEqual(int((folder / "ran").read_text()) - before, runs)

    def test_a_ratio_of_processor_times_is_asked_for_as_often_as_a_time(self) -> None:
        known = {name: hazards.read()[name] for name in ("idle", "oversubscribed", "first_task", "half_quota")}
        offer = mock.patch.multiple(hazards, offered=lambda _: [("r", name) for name in known], ask=lambda *_: "1", keep_stacks=lambda _: None)
        asked = []
        with offer, mock.patch.object(hazards, "at_half", return_value=hazards.Cell("r", "half_quota", "yes")), mock.patch.object(
            hazards, "meet", side_effect=lambda _, r, one, *__: asked.append(one.name) or hazards.Cell(r, one.name, "yes", figure=1.0)
        ):
            list(hazards.cells([Path("p")], known, [], hazards.Limits()))
        self.assertEqual([asked.count(name) for name in known], [1, hazards.TRIES, hazards.TRIES, 0])

    def test_the_least_with_the_quota_is_held_to_the_least_without(self) -> None:
        for pairs, word, figure in (([(1.0, 3.0), (9.0, 3.0), (1.0, 2.5), (2.0, 4.0), (1.0, 3.5)], "no", 2.5),
                                    ([(2.0, 3.0), (2.0, 9.0), (4.0, 5.0), (2.0, 4.0), (3.0, 8.0)], "yes", 1.5)):
            clock = iter([0.0, *itertools.accumulate(s for pair in pairs for one in pair for s in (one, 0.0))])
            with (mock.patch.object(quota, "group", side_effect=lambda _: contextlib.nullcontext()),
                  mock.patch.object(hazards, "spent_s", side_effect=lambda: next(clock)),
                  mock.patch.object(hazards, "meet", side_effect=lambda *_: hazards.Cell("r", "half_quota", "yes"))):
                cell = hazards.at_half(Path("p"), "r", hazards.read()["half_quota"], hazards.Limits())
            self.assertEqual((cell.word, cell.figure), (word, figure))

    def test_processor_time_is_told_finer_than_in_ticks(self) -> None:
        told = []
        for turns in (20_000, 60_000, 100_000):
            before = hazards.spent_s()
            subprocess.run([sys.executable, "-c", f"for _ in range({turns}): pass"], check=True)
            told.append(hazards.spent_s() - before)
        self.assertTrue(any(abs(100 * one - round(100 * one)) > 1e-3 for one in told), told)

    def test_answers(self) -> None:
        for out, right in (('x\n{"survived": true, "told": ""}\n', True), ("", False), ("{}", False), ('{"survived": 1, "told": ""}', False),
                           ('{"survived": true, "told": "", "figure": NaN}', False), ("[" * 9999, False)):
            self.assertEqual(hazards.answer_of(out) is not None, right, out[:40])

    def test_without_a_control_group_the_quota_is_not_met_and_says_why(self) -> None:
        with mock.patch.object(quota, "group", side_effect=quota.NoGroup("no controller")):
            with mock.patch.object(hazards, "meet", return_value=hazards.Cell("r", "half_quota", "yes")):
                cell = hazards.at_half(Path("p"), "r", hazards.read()["half_quota"], hazards.Limits())
        self.assertEqual((cell.word, cell.how), ("–", "no quota can be set here: no controller"))


class Whole(TreeCase):
    def run_with(self, burns: float, *words: str) -> tuple[int, dict]:
        mine = program(self.root / "build/release/bin/hazard_apiary", burns)
        other = program(self.root / "build/release/bin/hazard_other", 500.0)
        fakes.manifest(self.root, "release", "hazards", [mine, other])
        done = apiary(self.root, "hazards", "--no-build", "--json", "-", *words)
        return done.returncode, json.loads(done.stdout)

    def test_a_peer_may_fail_and_ours_may_not(self) -> None:
        code, told = self.run_with(1.0)
        words = {(cell["runtime"], cell["hazard"]): cell["word"] for cell in told["cells"]}
        self.assertEqual((code, words["other", "idle"], words["apiary", "idle"], words["apiary", "two_pools"]), (0, "no", "yes", "–"))
        asked = [cell["command"].split()[4:] for cell in told["cells"] if cell["word"] == "yes"]
        self.assertEqual(asked, [["throw_body", "--workers", "2", "--settle-ms", "10000"], ["idle", "--workers", "2", "--settle-ms", "10000"],
                                 ["throw_body", "--workers", "2", "--settle-ms", "10000"]])
        code, told = self.run_with(500.0, "apiary", "--hazard", "idle")
        self.assertEqual((code, told["red"]), (1, ["apiary idle"]))

    def test_a_guest_that_is_no_program_is_refused_before_anything_is_built(self) -> None:
        guest = self.root / "guest"
        for text, why in (("", "cannot start"), ("#!/bin/sh\nexit 3\n", "exited with status 3"), ("#!/bin/sh\necho a b c\n", "no list of runtimes")):
            if text:
                fakes.script(guest, text)
            done = apiary(self.root, "hazards", "--no-build", "--program", str(guest))
            self.assertEqual((done.returncode, why in done.stderr), (2, True), done.stderr)
            self.assertNotIn("scripts/apiary build", done.stderr, "that builds nobody else's program")

    def test_names_that_do_not_exist(self) -> None:
        for words in (["nobody"], ["--hazard", "nothing"], ["--update", "apiary"]):
            self.assertEqual(self.run_with(1.0, *words)[0], 2, words)


class SecondCrate(unittest.TestCase):
    """bench/rust_peers: built by the verb that needs a program of it, and by nothing else."""

    def test_a_race_builds_what_it_names_of_it_and_hazards_their_programs(self) -> None:
        with mock.patch.object(building, "build"), mock.patch.object(building, "build_rust", return_value=[]), mock.patch.object(
            repo, "built", return_value=[]
        ), mock.patch.object(building, "build_peers") as build_peers:
            self.assertEqual(subjects.build_all(), [])
            self.assertEqual([path.name for path in subjects.build_all({"hive", "kanal"})], ["subject_kanal"])
            building.build_hazards()
        self.assertEqual([sorted(call.args[0]) for call in build_peers.call_args_list],
                         [[], ["subject_hive", "subject_kanal"], ["hazard_rayon", "hazard_tokio"]])

    def test_its_subjects_are_known_by_name_and_cargo_builds_these_alone(self) -> None:
        self.assertLessEqual({"kanal", "crossfire", "kameo", "smol", "may", "paralight", "fork_union"}, source_names.subjects())
        done = proc.Done([], 0, "", "", 0.0)
        with mock.patch.object(proc, "run", return_value=done) as ran, mock.patch.object(sources, "write_beside") as record, mock.patch.object(
            building, "touch_differing"
        ), mock.patch.object(packages, "cargo", return_value="cargo"), mock.patch.object(packages, "cargo_env", return_value={}):
            building.build_peers(["subject_may", "hive"])
            building.build_peers(["hive"])
        words = ran.call_args_list[0].args[0]
        self.assertEqual(len(ran.call_args_list), 1, "nothing of it was named")
        self.assertEqual((words.count("--bin"), words[words.index("--bin") + 1], "--locked" in words), (1, "subject_may", True))
        self.assertEqual([call.args[0].name for call in record.call_args_list], ["subject_may"])
        self.assertTrue(any("tokio_baseline" in str(path) for path in record.call_args.args[1]), "the harness is of its source")


class Page(unittest.TestCase):
    def test_it_has_a_line_for_each_hazard_and_a_column_for_each_runtime(self) -> None:
        cells = [hazards.Cell("a", "idle", "yes", figure=0.04, unit="ms/s"), hazards.Cell("b", "idle", "no", "it was ended by SIGSEGV"),
                 hazards.Cell("c", "idle", "–"), hazards.Cell("d", "idle", "no", "hang: no end within 20 s")]
        rows = [dict(zip(hazards.COLUMNS, map(str, cell.row()))) for cell in cells]
        self.assertEqual(hazards.page_tables(rows, hazards.read())[0][-1], "| `idle` | yes 0.04 ms/s | **no**: SIGSEGV | – | **no**: hang |")

    def test_it_shows_what_is_recorded(self) -> None:
        record = repo.RESULTS / verb.KEPT
        known = hazards.read()
        page = (repo.ROOT / verb.PAGE).read_text()
        for name, one in known.items():
            self.assertIn(f"`{name}`", page)
            self.assertIn(one.question, " ".join(page.split()))
        for table in hazards.page_tables(repo.read_csv(record, hazards.COLUMNS), known):
            self.assertIn("\n".join(table), page)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "again.csv"
            repo.write_csv(path, hazards.COLUMNS, [list(row.values()) for row in repo.read_csv(record, hazards.COLUMNS)])
            self.assertEqual(path.read_text(), record.read_text())


if __name__ == "__main__":
    unittest.main()
