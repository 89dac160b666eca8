"""A quota of processor time around the runs of a point: where a control group can be made, and what is said where none can."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.base import proc
from apiary_cli.base.errors import Fault
from apiary_cli.race import plans, quota, rounds, subjects

from . import points
from .support import TreeCase

V1 = "32 31 0:29 / /groups/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct"
V2 = "41 31 0:38 / /groups/all rw,relatime shared:4 - cgroup2 cgroup2 rw"
POINT = dataclasses.replace(points.POSTS, params=(*points.POSTS.params, ("quota", "50")))


class Hierarchies(unittest.TestCase):
    def test_the_one_that_has_the_controller_is_found(self) -> None:
        for groups, mounts, expected in (
            ("4:memory:/m\n2:cpu,cpuacct:/a\n0::/b", f"{V2}\n{V1}", (1, "/groups/cpu", "a")),
            ("4:memory:/m\n0::/b/c", f"{V1}\n{V2}", (2, "/groups/all", "b/c")),
            ("0::/", V2, (2, "/groups/all", "")),
            ("0::/../other", V2, (2, "/groups/all", "")),
            ("0::/docker/x", V2.replace("0:38 /", "0:38 /docker/x"), (2, "/groups/all", "")),
            ("0::/b", V2.replace("/all", "/a\\040b"), (2, "/groups/a b", "b")),
            ("3:cpuset:/a", f"{V1}\n{V2}", None),
            ("0::/b", V1, None),
            ("", "", None),
            ("what\n:\n", "36 31\n - cgroup2", None),
        ):
            with self.subTest(groups=groups, mounts=mounts):
                found = quota.hierarchy(groups, mounts)
                self.assertEqual(found and (found[0], str(found[1]), found[2]), expected)

    def test_a_group_of_v2_is_made_below_one_that_gives_the_controller_on(self) -> None:
        with tempfile.TemporaryDirectory(prefix="apiary-test-") as folder:
            inner = Path(folder) / "a" / "b"
            inner.mkdir(parents=True)
            (inner / "cgroup.subtree_control").write_text("memory\n")
            (Path(folder) / "a" / "cgroup.subtree_control").write_text("cpu memory\n")
            self.assertEqual(quota.above("0::/a/b", f"41 31 0:38 / {folder} rw - cgroup2 c rw"), (2, [inner.parent]))

    def test_a_group_has_the_quota(self) -> None:
        with tempfile.TemporaryDirectory(prefix="apiary-test-") as folder:
            for version, file, text in ((1, "cpu.cfs_quota_us", "150000"), (2, "cpu.max", "150000 100000")):
                group = Path(folder) / f"v{version}"
                quota.make(version, group, 150)
                self.assertEqual((group / file).read_text(), text)


class Runs(TreeCase):
    def test_where_none_can_be_made_the_point_is_named_with_cause_and_remedy(self) -> None:
        with mock.patch.object(quota, "read", return_value=""), self.assertRaises(Fault) as refused:
            quota.must_be_possible((points.POSTS, POINT))
        told = refused.exception
        self.assertIn("quota=50", told.seen)
        self.assertIn("no group here has a controller", told.cause)
        self.assertIn("--plan", told.remedy)

    def test_where_one_cannot_be_written_its_place_is_named(self) -> None:
        seen = {"/proc/self/cgroup": "1:cpu:/", "/proc/self/mountinfo": f"32 31 0:29 / {self.root}/gone rw - cgroup c rw,cpu"}
        with mock.patch.object(quota, "read", seen.get), self.assertRaises(Fault) as refused:
            quota.must_be_possible((POINT,))
        self.assertIn(f"{self.root}/gone/apiary-quota-", refused.exception.cause)

    def test_a_race_is_refused_before_it_builds_anything(self) -> None:
        plan = self.root / "quota.toml"
        plan.write_text('[[point]]\nscenario = "successor"\nquota = 100\n')
        with mock.patch.object(quota, "read", return_value=""), self.assertRaises(Fault):
            from apiary_cli.verbs import race
            race.chosen_plan(race.parsed("--plan", str(plan)))

    def test_points_without_a_quota_ask_for_no_group(self) -> None:
        with mock.patch.object(quota, "read", side_effect=AssertionError("it has looked")):
            quota.must_be_possible((points.POSTS,))
            with quota.around(points.POSTS) as group:
                self.assertIsNone(group)

    def test_a_run_is_in_the_group_and_nothing_is_left_of_it(self) -> None:
        try:
            quota.must_be_possible((POINT,))
        except Fault as refused:
            self.skipTest(refused.cause)
        state = rounds.Race(plans.plan("gate"), [], 2, 1, "", "", "", self.root)
        read = "print(open('/proc/self/cgroup').read())"
        done = rounds.run_subject(state, POINT, [sys.executable, "-ISc", read], self.root)
        self.assertIn("/apiary-quota-", done.out, done.err)
        version, places = quota.above(*(Path(f"/proc/self/{name}").read_text() for name in ("cgroup", "mountinfo")))
        self.assertEqual([one for place in places for one in place.glob("apiary-quota-*")], [], f"v{version}")

    def test_the_subject_is_not_told(self) -> None:
        words = subjects.command(self.root, POINT, 2, 1, block_ms=5, blocks=3, warmup_blocks=3)
        self.assertNotIn("quota=50", words)

    def test_a_plan_says_it_in_hundredths_of_a_processor(self) -> None:
        path = self.root / "good.toml"
        path.write_text('[[point]]\nscenario = "successor"\nquota = 150\nworkers = 8\n')
        (point,) = plans.read(path).points
        self.assertEqual((point.quota, point.workers), (150, 8))
        for bad in (0, -1, 409_601, "1.5", '"100"'):
            path = self.root / "bad.toml"
            path.write_text(f'[[point]]\nscenario = "successor"\nquota = {bad}\n')
            with self.subTest(bad), self.assertRaises(Fault):
                plans.read(path)
