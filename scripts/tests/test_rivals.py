"""Rivals: what computes beside a run, on its processor, for no longer than the run; and arms that run at some points alone."""

from __future__ import annotations

import dataclasses
import os
import sys
import unittest
from pathlib import Path

from apiary_cli.base import proc
from apiary_cli.race import plans, rounds, subjects

from . import points
from .support import TreeCase


class Rivals(TreeCase):
    COUNT = """import os, sys, time
def read(pid, name):
    try: return open(f"/proc/{pid}/{name}").read()
    except OSError: return ""
def running():
    rivals = [pid for pid in os.listdir("/proc") if pid.isdigit() and read(pid, "cmdline").endswith("\\0while True: pass\\0")]
    return sum(f") R {os.getppid()} " in read(pid, "stat") for pid in rivals)
limit = time.monotonic() + 60  # one that begins may wait for the disk
while (seen := running()) < int(sys.argv[1]) and time.monotonic() < limit: pass
print(seen)"""

    def beside(self, rivals: int) -> str:
        point = points.with_rivals(points.POSTS, rivals)
        state = rounds.Race(plans.plan("gate"), [], 2, 1, "", "", "", self.root)
        done = rounds.run_subject(state, point, [sys.executable, "-ISc", self.COUNT, str(rivals)], self.root)
        self.assertEqual(proc.descendants(os.getpid()), [], "none outlives the run")
        return done.out.strip()

    def test_as_many_as_asked_run_beside_and_no_longer(self) -> None:
        self.assertEqual([self.beside(n) for n in (0, 1, 2)], ["0", "1", "2"])

    def test_the_subject_is_not_told(self) -> None:
        point = points.with_workers(points.with_rivals(points.POSTS, 1), 4)
        words = subjects.command(self.root, point, 2, 1, block_ms=5, blocks=3, warmup_blocks=3)
        self.assertNotIn("rivals=1", words)
        self.assertEqual(words[words.index("--workers") + 1], "4")


class Places(unittest.TestCase):
    def test_an_arm_runs_where_it_is_told_to_and_its_subject_can(self) -> None:
        subject = subjects.Subject("s", "1", "c", "", Path(), ("post_throughput", "successor"))
        everywhere = subjects.Arm(subject, "baseline", Path(), "s")
        here = dataclasses.replace(everywhere, at=frozenset({points.POSTS, points.blocks("ping_pong")}))
        three = (points.POSTS, points.SUCCESSOR, points.blocks("ping_pong"))
        self.assertEqual([everywhere.runs_at(point) for point in three], [True, True, False])
        self.assertEqual([here.runs_at(point) for point in three], [True, False, False])
        state = rounds.Race(plans.plan("gate"), [everywhere, here], 2, 1, "", "", "", Path())
        self.assertEqual([len(rounds.arms_of(state, point)) for point in three], [2, 1, 0])
        self.assertEqual(rounds.runs_of(dataclasses.replace(state, plan=dataclasses.replace(state.plan, points=three)), 1),
                         {three[0]: 60, three[1]: 20, three[2]: 0})


if __name__ == "__main__":
    unittest.main()
