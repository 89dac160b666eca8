"""Each lie of bench/contract/TRUST.md, told by a subject that does its work: caught or believed, as the page says."""

from __future__ import annotations

import dataclasses
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.race import audit, plans, rounds, subjects

from . import points, working
from .support import REAL_ROOT

ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (caught|believed) \|", re.MULTILINE)
LISTED = ROW.findall((REAL_ROOT / "bench" / "contract" / "TRUST.md").read_text(encoding="utf-8"))
TRIES = 20  # beside other work an audit may prove nothing, and says so
NEVER_S = 3600.0  # no run is ended for being slow: the machine may be
POINTS = {"post_throughput": points.throughput(1), "post_latency": points.latency(300, 1.0)}


class Trust(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory(prefix="apiary-trust-")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def race(self, lie: str, scenario: str) -> rounds.Race:
        """One round at one point, audited as `race` does it."""
        found = subjects.introduce(working.subject(self.folder / "program", lie))
        arms = subjects.place([(found, "peer", "worker")], self.folder)
        plan = plans.Plan("trust", (POINTS[scenario],), 1, 1, block_ms=10, blocks=3, warmup_blocks=2)
        race = rounds.Race(plan, arms, 1, 3, "r", "e", "c", self.folder, timeout=NEVER_S, most_repeats=0, believe=False)
        race.audits += [audit.audit(race, arm, point) for arm, point in audit.due(race)]
        rounds.run_batch(race, 1, lambda *_: None)
        return race

    def status(self, lie: str, scenario: str) -> tuple[str, str, bool, bool]:
        """Status and error of its row, whether each audit has proved something, and whether others ran beside it."""
        with tempfile.TemporaryDirectory(prefix="apiary-trust-") as folder:
            self.folder = Path(folder)
            race = self.race(lie, scenario)
        (row,) = race.rows
        return row["status"], row["error"], all(one["proved"] for one in race.audits), "disturbed" in row["flags"]

    def test_an_honest_subject_is_believed(self) -> None:
        for scenario in POINTS:
            with self.subTest(scenario=scenario), tempfile.TemporaryDirectory() as folder:
                self.folder = Path(folder)
                race = self.race("", scenario)
                self.assertEqual([one["found"] for one in race.audits], [""])
                self.assertEqual([(row["status"], row["error"]) for row in race.rows], [("ok", "")])

    def audited(self, scenario: str, once) -> dict:
        """What an audit of an honest subject says when `once` stands for its runs."""
        program = working.subject(self.folder / "program")
        arm = subjects.Arm(dataclasses.replace(subjects.introduce(program), start_cpu_s=0.03), "peer", program, "worker")
        race = rounds.Race(plans.Plan("trust", (POINTS[scenario],), 1, 1), [arm], 1, 3, "r", "e", "c", self.folder, believe=False)
        with mock.patch.object(rounds, "once", once), mock.patch.object(audit.os, "killpg"):
            return audit.audit(race, arm, POINTS[scenario])

    def test_it_is_audited_at_a_point_that_it_can_express(self) -> None:
        program = working.subject(self.folder / "program")
        arm = subjects.Arm(subjects.introduce(program), "peer", program, "worker")
        beside = [points.blocks("mixed_load", lasts=1.0, beside=how, rate=1000) for how in ("own", "workers", "second")]
        race = rounds.Race(plans.Plan("trust", tuple(beside), 1, 1), [arm], 1, 3, "r", "e", "c", self.folder, believe=False)
        asked = []

        def once(_race, point, *_, **__):
            asked.append(point)
            return {"status": "ok" if point == able else "unsupported", "error": ""}, [], None, None

        for able, seen in ((beside[1], beside[:2] + [beside[1]] * 2), (None, beside)):
            asked.clear()
            with self.subTest(able=able), mock.patch.object(rounds, "once", once):
                said = audit.audit(race, arm, beside[0])
                self.assertEqual(asked, seen)
                self.assertEqual((said["scenario_params"], said["proved"]), ((able or beside[0]).params_text, able is None))
                row = {"subject": arm.label, "status": "ok"} | beside[0].columns
                for status, proved in (("unsupported", able is None), ("ok", False)):
                    (one,) = audit.settled([said], [row | {"status": status}])
                    self.assertEqual(one["proved"], proved, "a subject that refuses its audit, and then works")

    def test_what_an_audit_found_is_not_lost_where_the_next_attempt_is_unsupported(self) -> None:
        usual = {"status": "ok", "error": "", "wall_ns": "10000000", "cpu_ns": "8000000", "ops": "1000", "ns_per_op": "10000"}

        def once(_race, point, **_):
            runs.append(point)
            fixed = "ops" in dict(point.params)
            return usual | {"status": "crash" if fixed else "ok" if len(runs) == 1 else "unsupported"}, [], None, mock.Mock(disturbed=False)

        runs: list[object] = []
        said = self.audited("post_throughput", once)
        self.assertEqual((said["found"], said["proved"]), ("it ended as unsupported, and has done this work in another run", True))
        self.assertGreater(len(runs), 2)

    def test_a_run_that_hangs_beside_other_work_proves_nothing(self) -> None:
        def once(_race, point, **_):
            row = {"status": "ok", "error": "", "wall_ns": "10000000", "cpu_ns": "8000000", "ops": "1000", "ns_per_op": "10000"}
            return row | ({"status": "hang"} if "ops" in dict(point.params) else {}), [], None, mock.Mock(disturbed=True)

        said = self.audited("post_throughput", once)
        self.assertEqual((said["found"], said["proved"]), ("", False))

    def test_blocks_that_others_have_lengthened_are_as_many_as_the_processor_time_says(self) -> None:
        usual = {"status": "ok", "error": "", "wall_ns": "100000000", "cpu_ns": "20000000", "ops": "1000", "ns_per_op": "100000"}

        def asked(disturbed: bool, cpu_ns: str) -> int:
            def once(_race, _point, blocks, **_):
                numbers.append(blocks)
                return usual | {"cpu_ns": cpu_ns}, [], mock.Mock(seconds=2.0, cpu_seconds=0.5), mock.Mock(disturbed=disturbed)

            numbers: list[int] = []
            self.audited("post_throughput", once)
            return max(numbers)

        quiet = asked(False, "20000000")
        self.assertGreater(asked(True, "20000000"), quiet)
        self.assertEqual(asked(True, "0"), asked(True, "1"), "a row that lies has a bound")
        self.assertLessEqual(asked(True, "1"), 10 * quiet)

    def test_where_others_ran_a_process_that_was_mostly_its_start_proves_nothing(self) -> None:
        row, arm = {"wall_ns": "50000000", "cpu_ns": "56000"}, mock.Mock(**{"subject.start_cpu_s": 0.029})
        for cpu, disturbed, says in ((0.083, True, None), (0.083, False, ""), (0.5, True, "9 blocks claim")):
            done = mock.Mock(seconds=0.5, cpu_seconds=cpu)
            told = audit.too_short(row, done, POINTS["post_throughput"], arm, 9, mock.Mock(workers=1), disturbed)
            self.assertTrue(told == says if not says else (told or "").startswith(says), f"{cpu}, {disturbed}: {told}")

    def test_a_pause_of_what_is_late_all_along_proves_nothing(self) -> None:
        for median_ms, proved in ((1, True), (60, False)):
            def once(*_, watch, **__):
                for seconds in (0.4, 0.51, 0.62):  # shortly before the pause, when it begins, when it ends
                    watch(0, seconds)
                row = {"status": "ok", "lat_p50_ns": f"{median_ms}000000", "lat_max_ns": "140000000"}
                return row, [], mock.Mock(seconds=1.2), None

            with self.subTest(median_ms=median_ms):
                said = self.audited("post_latency", once)
                self.assertEqual((said["found"], said["proved"]), ("", proved))

    def test_a_wall_that_others_have_lengthened_is_no_proof_against_the_processor_time(self) -> None:
        usual = {"ops": "1000", "ns_per_op": "10000", "cpu_ns": "1000000"}
        for wall, cpu, says in (("90000", 31, None), ("310000", 9, ""), ("110000", 11, "ops=1000 took")):
            told = audit.other_figures(usual, usual | {"ns_per_op": wall, "cpu_ns": str(cpu * 1_000_000)})
            self.assertTrue(told == says if not says else (told or "").startswith(says), f"{wall}, {cpu}: {told}")

    def test_a_poster_that_others_have_kept_for_many_blocks_is_no_worker(self) -> None:
        done = mock.Mock(seconds=1.0, cpu_seconds=0.5)
        for worker_ns, says in ((0, "its workers ran for 0.000000"), (10**8, "")):
            threads = audit.Threads()
            threads.at = [0.02 * look for look in range(1, 50)]
            threads.first = {1: (0.02, 0), 2: (0.02, 0), 3: (0.3, 0)}  # main, worker, and a poster of one long block
            threads.last = {1: (0.98, 10**6), 2: (0.98, worker_ns), 3: (0.42, 9 * 10**7)}
            told = audit.without_workers(threads, done, 0.01)
            self.assertTrue(told == says if not says else (told or "").startswith(says), f"{worker_ns}: {told}")
        self.assertEqual([audit.without_workers(audit.Threads(), done, 0.01, disturbed) for disturbed in (False, True)], ["", None])

    def test_the_table_names_each_lie_that_the_subject_can_tell(self) -> None:
        told = set(re.findall(r'LIE (?:==|in) \(?((?:"\w+"(?:, )?)+)', working.SUBJECT))
        self.assertEqual({lie for lie, _, _ in LISTED}, {name for some in told for name in re.findall(r"\w+", some)})
        self.assertEqual({verdict for _, _, verdict in LISTED}, {"caught", "believed"})


def case(lie: str, scenario: str, verdict: str):
    def test(self: Trust) -> None:
        for _ in range(TRIES):
            status, error, proved, beside = self.status(lie, scenario)
            if proved or status != "ok":
                break
        if beside and status == "ok" and not proved:
            self.skipTest("no audit has proved anything beside what else runs here")
        self.assertEqual("believed" if status == "ok" else "caught", verdict, f"{status}: {error}")
        self.assertTrue(status in ("ok", "malformed", "wrong"), status)

    return test


for one in LISTED:
    setattr(Trust, f"test_{one[0]}_in_{one[1]}_is_{one[2]}", case(*one))
