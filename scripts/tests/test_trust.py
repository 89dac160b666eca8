"""Each lie of bench/contract/TRUST.md, told by a subject that does its work: caught or believed, as the page says."""

from __future__ import annotations

import re
import tempfile
import unittest
from pathlib import Path

from apiary_cli.race import audit, plans, rounds, subjects

from . import points, working
from .support import REAL_ROOT

ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (caught|believed) \|", re.MULTILINE)
LISTED = ROW.findall((REAL_ROOT / "bench" / "contract" / "TRUST.md").read_text(encoding="utf-8"))
TRIES = 20  # beside other work an audit may prove nothing, and says so
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
        race = rounds.Race(plan, arms, 1, 3, "r", "e", "c", self.folder, most_repeats=0, believe=False)
        race.audits += [audit.audit(race, arm, point) for arm, point in audit.due(race)]
        rounds.run_batch(race, 1, lambda *_: None)
        return race

    def status(self, lie: str, scenario: str) -> tuple[str, str, bool]:
        """Status and error of its row, and whether each audit has proved something."""
        with tempfile.TemporaryDirectory(prefix="apiary-trust-") as folder:
            self.folder = Path(folder)
            race = self.race(lie, scenario)
        (row,) = race.rows
        return row["status"], row["error"], all(one["proved"] for one in race.audits)

    def test_an_honest_subject_is_believed(self) -> None:
        for scenario in POINTS:
            with self.subTest(scenario=scenario), tempfile.TemporaryDirectory() as folder:
                self.folder = Path(folder)
                race = self.race("", scenario)
                self.assertEqual([one["found"] for one in race.audits], [""])
                self.assertEqual([(row["status"], row["error"]) for row in race.rows], [("ok", "")])

    def test_the_table_names_each_lie_that_the_subject_can_tell(self) -> None:
        told = set(re.findall(r'LIE (?:==|in) \(?((?:"\w+"(?:, )?)+)', working.SUBJECT))
        self.assertEqual({lie for lie, _, _ in LISTED}, {name for some in told for name in re.findall(r"\w+", some)})
        self.assertEqual({verdict for _, _, verdict in LISTED}, {"caught", "believed"})


def case(lie: str, scenario: str, verdict: str):
    def test(self: Trust) -> None:
        for _ in range(TRIES):
            status, error, proved = self.status(lie, scenario)
            if proved or status != "ok":
                break
        self.assertEqual("believed" if status == "ok" else "caught", verdict, f"{status}: {error}")
        self.assertTrue(status in ("ok", "malformed", "wrong"), status)

    return test


for one in LISTED:
    setattr(Trust, f"test_{one[0]}_in_{one[1]}_is_{one[2]}", case(*one))
