"""Folders are reserved when a race begins; a race that was stopped goes on where it was."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.base import repo
from apiary_cli.base.errors import Stopped
from apiary_cli.race import folder, tables

from .support import TreeCase, apiary, comes_true, processes_of, start


class Names(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.results = Path(holder.name)

    def test_runs_of_one_second_have_names_of_their_own(self) -> None:
        made, lock = [], threading.Lock()

        def one() -> None:
            name, path = folder.reserve(self.results)
            with lock:
                made.append((name, path))

        with mock.patch.object(repo, "utc_stamp", lambda: "20260101T000000Z"):
            threads = [threading.Thread(target=one) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len({name for name, _ in made}), 8)
        self.assertTrue(all(path.is_dir() for _, path in made))

    def test_a_name_that_became_whole_between_two_looks_is_left(self) -> None:
        stamp = "20260101T000000Z"
        first = f"{stamp}-{repo.host()}"
        make = Path.mkdir

        def meanwhile(path: Path, *args: object, **more: object) -> None:
            make(path, *args, **more)
            if path.name == first + folder.UNFINISHED:
                make(self.results / first)  # its owner renamed it just before

        with mock.patch.object(repo, "utc_stamp", lambda: stamp), mock.patch.object(Path, "mkdir", meanwhile):
            name, _ = folder.reserve(self.results)
        self.assertEqual(name, f"{first}-2")
        self.assertFalse((self.results / (first + folder.UNFINISHED)).exists())

    def test_what_can_be_resumed_stays_and_the_rest_goes(self) -> None:
        for state in (False, True):
            with self.assertRaises(RuntimeError), folder.begun(self.results) as (_, out, _scratch):
                (out / "rows.csv").write_text("half")
                if state:
                    (out / folder.STATE).write_text("{}")
                raise RuntimeError
            self.assertEqual(len(list(self.results.iterdir())), int(state))

    def test_what_is_stopped_at_the_very_end_can_be_resumed(self) -> None:
        stopped = mock.patch.object(folder, "finish", side_effect=Stopped(2))
        with stopped, self.assertRaises(Stopped), folder.begun(self.results) as (_, out, _scratch):
            (out / folder.STATE).write_text("{}")
        self.assertEqual([path.name for path in folder.unfinished(self.results)], [out.name])

    def test_one_process_fills_a_folder(self) -> None:
        from apiary_cli.base.errors import Fault

        with folder.begun(self.results) as (_, out, _scratch):
            with self.assertRaises(Fault) as caught, folder.begun(self.results, resumed=out):
                pass
            self.assertIn("being raced now", caught.exception.seen)
            self.assertTrue(out.is_dir())

    def test_a_killed_run_without_a_round_is_swept(self) -> None:
        dead = subprocess.Popen(["true"])
        dead.wait()
        for name, pid in (("a", dead.pid), ("b", os.getpid())):
            (self.results / f"{name}{folder.UNFINISHED}").mkdir()
            (self.results / f"{name}{folder.UNFINISHED}" / folder.LOCK).write_text(str(pid))
        folder.sweep(self.results)
        self.assertEqual([path.name for path in self.results.iterdir()], [f"b{folder.UNFINISHED}"])


class Resumed(TreeCase):
    def plan(self, rounds: int = 3) -> Path:
        path = self.root / "build" / "three.toml"
        point = '[[point]]\nscenario = "post_throughput"\nparams = { batch = 1, producers = 1 }\nplacement = "one_cpu"\n'
        path.write_text(f"rounds = {rounds}\ncontrols = true\n{point}{point.replace('producers = 1', 'producers = 2')}")
        return path

    def stopped(self, number: int = signal.SIGINT, rounds: int = 40) -> Path:
        """The unfinished folder of a race that was stopped after its first round."""
        self.subjects({"name": "hive"}, {"name": "tokio", "ns": 200.0})
        words = ("race", "--no-build", "--no-sidecars", "--believe", "--seed", "7", "--repeats", "0")
        process = start(self.root, *words, "--plan", str(self.plan(rounds)))
        results = self.root / "results"
        self.assertTrue(comes_true(lambda: list(results.glob(f"*{folder.UNFINISHED}/{folder.STATE}")) or process.poll()))
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
        self.assertTrue(comes_true(lambda: not processes_of(self.root)))
        (path,) = results.glob(f"*{folder.UNFINISHED}")
        if number != signal.SIGKILL:
            self.assertIn(f"race --resume {path.name.removesuffix(folder.UNFINISHED)}", err)
            self.assertNotIn("lost", err)
        return path

    def shorten(self, path: Path, rounds: int) -> None:
        """So few rounds in all, in the plan's file and in the state, that resuming does not take long."""
        before = (self.plan(40), repo.read_json(path / folder.STATE))[1]
        self.plan(rounds)
        before["plan"] = before["plan"].replace("('rounds', 40)", f"('rounds', {rounds})")
        before["plan"] = before["plan"].replace("('least_rounds', 40)", f"('least_rounds', {rounds})")
        repo.write_json(path / folder.STATE, before)

    def rows(self, path: Path) -> list[tuple[str, ...]]:
        """What of the rows no clock decides."""
        columns = "batch round scenario_params subject arm_order seed ops ns_per_op status".split()
        return [tuple(row[c] for c in columns) for row in tables.read(path / "rows.csv", tables.ROWS)]

    def test_it_goes_on_and_leaves_what_a_race_in_one_piece_leaves(self) -> None:
        for number in (signal.SIGINT, signal.SIGKILL):
            with self.subTest(signal=number):
                path = self.stopped(number)
                done = sum(repo.read_json(path / folder.STATE)["rounds_done"].values())
                self.assertGreaterEqual(done, 1)
                self.shorten(path, done + 2)
                # A round that was broken off left rows after those that the state vouches for.
                with (path / "rows.csv").open("a") as file:
                    file.write("1,measure,torn")
                told = apiary(self.root, "race", "--resume")
                self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
                self.assertIn(f"goes on after {done} round", told.stdout)
                whole = self.result()
                self.assertFalse(whole.name.endswith(folder.UNFINISHED))
                self.assertLessEqual({"env.json", "compare.csv", "report.html", "summary.md"}, set(os.listdir(whole)))
                self.assertFalse({folder.STATE, folder.LOCK} & set(os.listdir(whole)))
                env = json.loads((whole / "env.json").read_text())
                self.assertEqual(env["race"]["rounds"], done + 2)
                rows = self.rows(whole)
                whole.rename(self.root / f"resumed{number}")
                again = self.race("--plan", str(self.plan(done + 2)))
                self.assertEqual(again.returncode, 0, again.stderr)
                self.assertEqual(rows, self.rows(self.result()), "the same orders, seeds and figures")
                self.result().rename(self.root / f"in_one_piece{number}")

    def refused(self, *told: str) -> None:
        done = apiary(self.root, "race", "--resume")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        for text in told:
            self.assertIn(text, done.stderr)
        self.assertEqual(len(list((self.root / "results").glob(f"*{folder.UNFINISHED}/{folder.STATE}"))), 1, "it stays")

    def test_it_refuses_what_has_changed_and_takes_it_when_it_is_as_before(self) -> None:
        path = self.stopped()
        state = repo.read_json(path / folder.STATE)
        self.shorten(path, sum(state["rounds_done"].values()) + 1)
        good = repo.read_json(path / folder.STATE)
        repo.write_json(path / folder.STATE, good | {"env_id": "another"})
        self.refused("env_id is another")
        repo.write_json(path / folder.STATE, good | {"plan": good["plan"] + " "})
        self.refused("the plan is another now")
        (path / folder.STATE).write_text("[]")
        self.refused("cannot be read")
        repo.write_json(path / folder.STATE, good)
        rows = (path / "rows.csv").read_bytes()
        (path / "rows.csv").write_bytes(rows[:100])
        self.refused("rows.csv is shorter than it was")
        (path / "rows.csv").write_bytes(rows)
        self.subjects({"name": "hive"}, {"name": "tokio", "ns": 100.0})
        self.refused("tokio is another program now")
        self.subjects({"name": "hive"}, {"name": "tokio", "ns": 200.0})
        done = apiary(self.root, "race", "--resume", path.name.removesuffix(folder.UNFINISHED))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_unfinished_folder_is_taken_for_none(self) -> None:
        path = self.stopped()
        for words in (("report", str(path)), ("report", path.name), ("compare", str(path), str(path))):
            done = apiary(self.root, *words)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("is unfinished", done.stderr)
            self.assertIn("race --resume", done.stderr)
        done = apiary(self.root, "race", "--resume", "--rounds", "3")
        self.assertEqual((done.returncode, "--rounds" in done.stderr), (2, True), done.stderr)
        done = apiary(self.root, "race", "--resume", "yesterday")
        self.assertEqual((done.returncode, path.name.removesuffix(folder.UNFINISHED) in done.stderr), (2, True))

    def test_nothing_to_resume(self) -> None:
        self.assertIn("no unfinished race", apiary(self.root, "race", "--resume").stderr)

    def test_races_begun_together_all_keep_their_work(self) -> None:
        self.subjects({"name": "hive"}, {"name": "tokio"})
        words = ("race", "--no-build", "--no-sidecars", "--believe", "--repeats", "0", "--plan", str(self.plan(1)))
        several = [start(self.root, *words) for _ in range(4)]
        for process in several:
            _, err = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 0, err)
        whole = [path for path in (self.root / "results").iterdir()]
        self.assertEqual(len(whole), 4)
        for path in whole:
            with (path / "rows.csv").open() as file:
                self.assertEqual({row["run_id"] for row in csv.DictReader(file)}, {path.name})


