"""Each track that `publish` races does its ten rounds within its minutes, and the plans beside it within theirs: by arithmetic, as if
every subject could do everything, with what comes before the first round."""

from __future__ import annotations

import unittest

from apiary_cli.base import repo
from apiary_cli.race import eta, plans
from apiary_cli.report import six, splice
from apiary_cli.verbs import publish

FLOORED = ("steal_pressure", "timer_lateness", "post_latency", "fib", "uts")  # what `machine` has in the track of posts
CALIBRATION_RUNS = 30  # of a point with a slow-down; of the published races 20 to 60
AUDIT_S = 1.2  # of a subject at a scenario and a placement
BESIDE = {"beside": 30, "served_beside": 30, "today": 30}  # minutes that a plan may take, beside the publication's 150
# Of such a plan: where its race is spliced by hand.
PAGES = {"beside": "hive/BESIDE.md", "served_beside": "hive/SERVED_BESIDE.md", "today": "TODAY.md"}


def seconds(plan: plans.Plan) -> dict[str, float]:
    ours = [name for name in plan.subjects if (repo.ROOT / "impl/apiary/schedulers" / name).is_dir() and name != "global_queue"]
    rounds = {}
    for point in plan.points:
        floor = "machine" in plan.subjects and (plan.name != "publish" or point.scenario.name in FLOORED)
        arms = len(set(plan.subjects) - {"machine"}) + floor + len(ours) + point.controlled
        rounds[point] = plan.batches * plans.LEAST_PUBLISHED * point.times * arms
    slowed = {point: CALIBRATION_RUNS for point in plan.points if point.controlled}
    places = {(point.scenario.name, point.placement) for point in plan.points}
    return {"rounds": eta.Eta(plan, rounds).left(), "slow-downs": eta.Eta(plan, slowed).left(), "audits": AUDIT_S * len(plan.subjects) * len(places)}


class Published(unittest.TestCase):
    def test_ten_rounds_fit_into_each_track_s_minutes(self) -> None:
        tracks = {step.words[2]: step.minutes for step in publish.STEPS if step.kind == publish.TRACK}
        for name, minutes in (tracks | BESIDE).items():
            with self.subTest(name):
                told = seconds(plans.plan(name))
                self.assertLessEqual(sum(told.values()) / 60, minutes, told)

    def test_none_ends_with_fewer_rounds_than_are_published(self) -> None:
        for step in publish.STEPS:
            if step.kind == publish.TRACK:
                plan = plans.narrowed(plans.plan(step.words[2]), [], None, None, float(step.minutes))
                self.assertGreaterEqual(min(plan.least_rounds, plan.rounds), plans.LEAST_PUBLISHED, plan.name)

    def test_a_step_is_held_to_all_that_its_programs_are_made_of(self) -> None:
        """What apiary_virtual says of itself is below these, and more than bench/virtual; a hazard's verdict is a script's."""
        for name, paths in {"virtual": ("bench/subjects/hive.hpp", "bench/apiary/bench/closed_loop.hpp", "bench/scenarios/loops.hpp",
                                        "model_check/apiary/model_check/explorer/context.cpp"),
                            "hazards": ("bench/hazards/hazard.hpp", "scripts/apiary_cli/race/hazards.py")}.items():
            (step,) = (step for step in publish.STEPS if step.name == name)
            for path in paths:
                with self.subTest(path):
                    self.assertTrue((repo.ROOT / path).exists())
                    self.assertTrue([folder for folder in step.folders if (repo.ROOT / path).is_relative_to(repo.ROOT / folder)])

    def test_the_pages_that_show_a_track_are_there_and_have_a_place_for_it(self) -> None:
        """Else hours of racing end at a page that is not."""
        for step in publish.STEPS:
            for page in step.pages() if step.kind == publish.TRACK else ():
                with self.subTest(page):
                    splice.between((six.ROOMS / page).read_text(), "race", "", page)

    def test_so_have_the_plans_beside_it_and_each_page_one_plan(self) -> None:
        """A second race would take the place of the first; and the page names the commands that are typed then."""
        shown = [page for step in publish.STEPS if step.kind == publish.TRACK for page in step.pages()]
        for name, page in PAGES.items():
            with self.subTest(page):
                self.assertNotIn(page, shown)
                text = (six.ROOMS / page).read_text()
                splice.between(text, "race", "", page)
                words = " ".join(text.split())
                self.assertIn(f"`scripts/apiary race --plan {plans.plan(name).name} --no-sidecars`", words)
                self.assertIn(f"`scripts/apiary report STAMP --splice impl/apiary/schedulers/{page}`", words)
                shown_by = six.ROOMS / page
                self.assertIn(f"({shown_by.name})", shown_by.with_name("README.md").read_text())
        self.assertEqual(set(PAGES), set(BESIDE), "each has a page")


if __name__ == "__main__":
    unittest.main()
