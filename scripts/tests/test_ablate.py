"""tune --ablate: the list of rules is whole, each verdict from made-up rows, the table's words, and a small run."""

from __future__ import annotations

import re
import tempfile
import unittest
from pathlib import Path

from apiary_cli.analysis import ablation
from apiary_cli.base import repo, stats
from apiary_cli.base.errors import Fault
from apiary_cli.race import plans, rules, tables
from apiary_cli.race.subjects import Subject, Tunable
from apiary_cli.report import splice
from apiary_cli.verbs import tune_ablate

from . import points, test_decisions
from .support import REAL_ROOT, TreeCase, apiary

WORKERS = REAL_ROOT / "impl" / "apiary" / "workers"
PAGE = "before\n<!-- ablation -->\nlast year\n<!-- /ablation -->\nafter\n"


def numbers_of_the_hive() -> str:
    """Where its rules' numbers stand: those of all workers, and its own."""
    own = (REAL_ROOT / "impl/apiary/schedulers/hive/hive.hpp").read_text().partition("struct hive_config {")[2].partition("\n};")[0]
    return (WORKERS / "parameters.hpp").read_text().partition("struct worker_parameters {")[2] + own


def told_by_the_hive() -> dict[str, Tunable]:
    """The numbers of bench/subjects/hive.hpp, as its --tunables tells them, read from the source."""
    text = (REAL_ROOT / "bench/subjects/hive.hpp").read_text()
    fields = (REAL_ROOT / "bench/apiary/bench/scenario.hpp").read_text()
    if "least = 1;" not in fields or "most = std::uint64_t{1} << 32;" not in fields:
        raise AssertionError("the limits of a parameter have other defaults than this test knows")
    found = {}
    for one in re.findall(r"parameter\{(\s*\.name = .*?)\}", text, re.DOTALL):
        given = dict(re.findall(r"\.(\w+) = ([^,}\s]+)", one))
        standard = given["standard"].removeprefix("standard.").removeprefix("hive_config::")
        name = given["name"].strip('"')
        default = re.search(rf"\b{standard} = ([\w']+);", numbers_of_the_hive())
        value = (default[1] if default else standard).replace("'", "")
        limits = (int(given.get(key, usual).replace("'", "")) for key, usual in (("least", "1"), ("most", str(1 << 32))))
        found[name] = Tunable(name, int(value), *limits)
    return found


class Whole(unittest.TestCase):
    """The list against the sources."""

    def test_every_rule_of_the_idle_policy_has_a_row_with_its_name_and_its_switch(self) -> None:
        card = (WORKERS / "idle_policy.hpp").read_text().partition("#pragma once")[0]
        text = " ".join(line.lstrip("/") for line in card.partition("The rules.")[2].splitlines())
        stated = re.findall(r"\s{3,}([a-z ]+?)\s{2,}[^()]*?\((\w+) (0|false)\)", text)
        self.assertGreaterEqual(len(stated), 5, text)
        known = {(rule.name, rule.switch, rule.off) for rule in rules.RULES}
        self.assertEqual({(name, switch, 0) for name, switch, _ in stated} - known, set())

    def test_every_number_of_the_workers_switches_a_rule_off_or_is_a_size(self) -> None:
        fields = re.findall(r"^    (?:std::\w+|unsigned|bool|double) (?!io_workers|compute_workers)(\w+) = ", numbers_of_the_hive(), re.M)
        self.assertGreater(len(fields), 15)
        self.assertEqual(sorted(fields), sorted([*rules.SIZES, *(rule.switch for rule in rules.RULES)]))

    def test_the_hive_takes_every_switch(self) -> None:
        known = told_by_the_hive()
        self.assertEqual(known["global_probe_interval"], Tunable("global_probe_interval", 47, 1, 1 << 32))
        tune_ablate.refuse_misfits(rules.RULES, Subject("hive", "1", "c++", "", repo.ROOT, ()), known)

    def test_every_decision_of_a_rule_holds(self) -> None:
        known, _ = test_decisions.entries(REAL_ROOT)
        for rule in rules.RULES:
            for decision in rule.decisions:
                self.assertEqual(known[int(decision[1:])].status, "holds", f"{decision} of {rule.name}")

    def test_every_point_is_raced_once_and_has_the_metrics_that_it_is_judged_by(self) -> None:
        raced = {*rules.EVERYWHERE, *(point for rule in rules.RULES for point in rule.points)}
        self.assertEqual(len({point.key for point in raced}), len(raced), "two points of one key")
        self.assertIn(points.with_workers(points.POSTS, 2), raced, "the burst is the gate's")
        for rule in rules.RULES:
            for point in rule.points:
                columns = {metric.column for metric in point.scenario.metrics_at(point.placement)}
                self.assertLessEqual(set(rule.metrics), columns, rule.name)
                self.assertLessEqual({key for key, _ in point.params} - set(plans.RUNNERS), set(point.scenario.parameters))

    def test_a_switch_that_changes_nothing_or_is_unknown_is_refused(self) -> None:
        subject, (naps,) = Subject("other", "1", "c++", "", repo.ROOT, ()), rules.named(["naps"])
        for known, seen in (({}, "does not name it"), ({"naps": Tunable("naps", 0, 0, 9)}, "tells 0"),
                            ({"naps": Tunable("naps", 16, 1, 9)}, "from 1 to 9")):
            with self.subTest(known=known), self.assertRaises(Fault) as caught:
                tune_ablate.refuse_misfits((naps,), subject, known)
            self.assertIn(seen, caught.exception.text())
            self.assertEqual(caught.exception.code, 2)


LIST = """\
sizes = ["nap_ns"]
everywhere = [{scenario = "successor", rivals = 1}]
[[rule]]
name = "nap"
switch = "naps"
off = 0
decisions = ["D40"]
made_for = "chains"
metrics = ["lat_p50_ns"]
points = [{scenario = "post_latency", seconds = 1, params = {rate = 1000}}]
"""


class Read(unittest.TestCase):
    """A list of rules, and how a slip in it is answered."""

    def read(self, text: str) -> tuple:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rules.toml"
            path.write_text(text)
            return rules.read(path)

    def test_each_point_is_raced_with_each_number_of_workers(self) -> None:
        (one,), everywhere, sizes = self.read(LIST)
        self.assertEqual((one.setting, one.decisions, sizes), ("naps=0", ("D40",), ("nap_ns",)))
        self.assertEqual([(p.workers, p.rivals) for p in everywhere], [(2, 1), (4, 1)])
        told = [("post_latency", f"rate=1000;workers={n}", "free", "lat_p50_ns") for n in (2, 4)]
        self.assertEqual(one.places(), told)

    def test_a_slip_is_answered_with_what_there_is(self) -> None:
        for text, seen, told in (
            ("rules = 1\n" + LIST, "no key of the list of rules 'rules'", "did you mean 'rule'"),
            (LIST + "of = 1\n", "no key of the rule nap 'of'", "did you mean 'off'"),
            (LIST.replace("rivals = 1", "rival = 1"), "no key of a point 'rival'", "did you mean 'rivals'"),
            (LIST.replace("rivals = 1", "workers = 2"), "no key of a point 'workers'", "rivals"),
            (LIST.replace("rivals = 1", "times = 2"), "no key of a point 'times'", "rivals"),
            (LIST.replace("successor", "sucessor"), "no scenario 'sucessor'", "did you mean 'successor'"),
            (LIST.replace("lat_p50_ns", "ns_per_op"), "no metric of post_latency rate=1000;workers=2 'ns_per", "lat_p50_ns"),
            (LIST.replace("lat_p50_ns", "lat_p5_ns"), " 'lat_p5_ns'", "did you mean 'lat_p50_ns'"),
        ):
            self.refused(text, seen, told)

    def test_bad_values_are_answered_with_a_remedy(self) -> None:
        for text, seen in (
            ("", "rule is []"),
            ("rule = 3", "rule is 3"),
            (LIST.replace('name = "nap"\n', ""), "name of a rule is None"),
            (LIST.replace("off = 0\n", ""), "the rule nap has no off"),
            (LIST.replace("off = 0", "off = -1"), "off of nap is -1"),
            (LIST.replace("off = 0", f"off = {rules.MOST_OFF + 1}"), "off of nap is 4294967297"),
            (LIST.replace("off = 0", "off = false"), "off of nap is False"),
            (LIST.replace('"naps"', "7"), "switch of nap is 7"),
            (LIST.replace('"chains"', '""'), "made_for of nap is ''"),
            (LIST.replace('["D40"]', "[]"), "decisions of nap is empty"),
            (LIST.replace('["lat_p50_ns"]', '"lat_p50_ns"'), "metrics of nap is 'lat_p50_ns'"),
            (LIST.replace("points = [{", "points = [7, {"), "points of nap is [7"),
            (LIST.replace('everywhere = [{scenario = "successor", rivals = 1}]\n', ""), "everywhere is []"),
            (LIST.replace("rivals = 1", "rivals = 0"), "rivals is 0"),
            (LIST.replace("seconds = 1, ", ""), "seconds of post_latency is 0"),
            (LIST.replace('sizes = ["nap_ns"]', 'sizes = ["naps"]'), "naps stands there twice"),
            (LIST + LIST.partition("1}]\n")[2], "naps stands there twice"),
            ("[[rule", "is no TOML"),
        ):
            self.refused(text, seen, "remedy: ")

    def refused(self, text: str, seen: str, told: str) -> None:
        with self.subTest(seen), self.assertRaises(Fault) as caught:
            self.read(text)
        self.assertIn(seen, caught.exception.text())
        self.assertIn(told, caught.exception.text())
        self.assertEqual(caught.exception.code, 2)


BURST = rules.named(["lets_poster_go_on"])[0]


def row(rule: rules.Rule, place: ablation.Place, batch: int, verdict: str, **more: object) -> dict[str, str]:
    ratio = {stats.REGRESSED: 1.5, stats.IMPROVED: 0.5}.get(verdict, 1.0)
    values = dict(zip(("scenario", "scenario_params", "placement", "metric"), place)) | {
        "batch": batch, "rule": rule.switch, "setting": rule.setting, "own": int(rule.owns(place[:3], place[3])),
        "ratio": ratio, "ci_lo": ratio - 0.01, "ci_hi": ratio + 0.01, "margin": 0.03, "aa_halfwidth": 0.01,
        "n_pairs": 30, "verdict": verdict,
    } | more
    return dict.fromkeys(ablation.COLUMNS, "") | {key: str(value) for key, value in values.items()}


def of_both(rule: rules.Rule, verdict: str, batches: tuple[int, ...] = (1, 2), **more: object) -> list[dict[str, str]]:
    """The same at 2 and 4 workers, in each batch."""
    return [row(rule, place, batch, verdict, **more) for batch in batches for place in rule.places()]


AWAY = (*rules.EVERYWHERE[-1].key, "lat_p50_ns")


class Verdicts(unittest.TestCase):
    def word(self, rows: list[dict[str, str]], rule: rules.Rule = BURST) -> tuple[str, str]:
        (found,) = ablation.outcomes(rows)
        self.assertEqual(found.rule, rule)
        return found.word, found.why

    def test_a_gain_is_shown_where_off_is_regressed_in_two_batches(self) -> None:
        self.assertEqual(self.word(of_both(BURST, stats.REGRESSED)), (ablation.GAIN, ""))
        wide = of_both(BURST, stats.REGRESSED, margin=0.2)
        self.assertEqual(self.word(wide)[0], ablation.GAIN, "whatever the margin")
        two, four = BURST.places()
        each = [row(BURST, two, n, stats.REGRESSED) for n in (1, 2)] + [row(BURST, four, n, stats.EQUIVALENT) for n in (1, 2)]
        self.assertEqual(self.word(each)[0], ablation.GAIN, "at one number of workers")

    def test_a_gain_must_be_confirmed_at_the_same_place(self) -> None:
        once = of_both(BURST, stats.REGRESSED, (1,))
        self.assertEqual(self.word(once), (ablation.UNRESOLVED, "no second batch in time"))
        changed = once + of_both(BURST, stats.EQUIVALENT, (2,))
        self.assertEqual(self.word(changed), (ablation.UNRESOLVED, "a second batch did not agree"))
        two, four = BURST.places()
        moved = [row(BURST, two, 1, stats.REGRESSED), row(BURST, four, 1, stats.EQUIVALENT),
                 row(BURST, two, 2, stats.EQUIVALENT), row(BURST, four, 2, stats.REGRESSED)]
        self.assertEqual(self.word(moved)[0], ablation.UNRESOLVED)

    def test_no_gain_where_three_per_cent_are_resolved_everywhere_twice(self) -> None:
        for verdict in (stats.EQUIVALENT, stats.IMPROVED):
            self.assertEqual(self.word(of_both(BURST, verdict)), (ablation.NO_GAIN, "the rule goes"))
        self.assertEqual(self.word(of_both(BURST, stats.EQUIVALENT, (1,)))[1], "no second batch in time")
        two, _ = BURST.places()
        at_two = [row(BURST, two, n, stats.EQUIVALENT) for n in (1, 2)]
        self.assertEqual(self.word(at_two), (ablation.UNRESOLVED, "too few rounds"), "4 workers were not raced")

    def test_what_is_not_resolved_stays(self) -> None:
        coarse = of_both(BURST, stats.EQUIVALENT, margin=0.08)
        self.assertEqual(self.word(coarse), (ablation.UNRESOLVED, "differences under 8.0 % cannot be told there"))
        improved = of_both(BURST, stats.IMPROVED, margin=0.08)
        self.assertEqual(self.word(improved)[0], ablation.UNRESOLVED)
        open_ones = of_both(BURST, stats.INCONCLUSIVE)
        self.assertEqual(self.word(open_ones), (ablation.UNRESOLVED, "the interval reaches beyond the margin"))
        few = of_both(BURST, stats.INCONCLUSIVE, (1,), n_pairs=4)
        self.assertEqual(self.word(few), (ablation.UNRESOLVED, "too few rounds"))
        blind = of_both(BURST, stats.EQUIVALENT, aa_halfwidth="")
        self.assertEqual(self.word(blind)[0], ablation.UNRESOLVED, "no A/A pair")

    def test_a_rule_that_helps_elsewhere_alone_stays(self) -> None:
        rows = of_both(BURST, stats.EQUIVALENT) + [row(BURST, AWAY, n, stats.REGRESSED) for n in (1, 2)]
        self.assertEqual(self.word(rows), (ablation.ELSEWHERE, "none in its own scenario"))
        self.assertEqual(self.word(rows[:-1])[0], ablation.NO_GAIN, "a single batch shows nothing")

    def test_a_metric_that_the_rule_was_not_made_for_is_elsewhere(self) -> None:
        (single,) = rules.named(["sleeps_after_one"])
        place = (*single.places()[0][:3], "lat_p50_ns")
        self.assertEqual(row(single, place, 1, stats.EQUIVALENT)["own"], "0")
        self.assertEqual(self.word([row(single, place, n, stats.REGRESSED) for n in (1, 2)], single)[0], ablation.UNRESOLVED)

    def test_a_second_batch_is_of_what_the_first_says_alone(self) -> None:
        own = set(BURST.places())
        for rows, expected in (
            (of_both(BURST, stats.INCONCLUSIVE, (1,)), set()),
            (of_both(BURST, stats.EQUIVALENT, (1,), margin=0.08), set()),
            (of_both(BURST, stats.EQUIVALENT, (1,)), own),
            (of_both(BURST, stats.REGRESSED, (1,)), own),
            ([*of_both(BURST, stats.INCONCLUSIVE, (1,)), row(BURST, AWAY, 1, stats.REGRESSED)], own | {AWAY}),
        ):
            self.assertEqual(ablation.decisive(BURST, ablation.of_rule(rows, BURST, 1)), expected)

    def test_the_table(self) -> None:
        (naps,) = rules.named(["naps"])
        rows = [*of_both(naps, stats.EQUIVALENT, margin=0.08), *of_both(BURST, stats.REGRESSED),
                *(row(BURST, AWAY, n, stats.IMPROVED) for n in (1, 2)), row(naps, AWAY, 1, stats.EQUIVALENT)]
        _, _, first, second = ablation.table(rows)  # in the order of the list
        self.assertEqual(
            first,
            "| poster first | `lets_poster_go_on=0` | a burst of posts on one processor, whose first post wakes a worker that "
            "displaces the poster ([D57]) | `post_throughput` batch 1, ops 2048, producers 1 on one CPU, processor time per "
            "task: 2 workers **×1.50 [1.49, 1.51]**, 4 workers **×1.50 [1.49, 1.51]** | less at 1 (at most ×0.50: "
            "`post_latency` rate 10000, latency p50, 4 workers) of 1 | **gain shown** |",
        )
        self.assertIn("`successor`, time per task: 2 workers ×1.00 [0.99, 1.01] (±8 %), 4 workers", second)
        self.assertIn("<br>`chained_spawn`, time per task:", second)
        end = "| nothing shown of 1 | **unresolved here**: differences under 8.0 % cannot be told there |"
        self.assertTrue(second.endswith(end), second)


class Run(TreeCase):
    """A run with a subject that costs nothing, from the command to the page."""

    LINES = ("lets_poster_go_on 1 0 1", "naps 16 0 1000", "yield_pays_ns 5000 1 1000000000")

    def ablate(self, *words: str, **subject):
        self.subjects({"name": "hive", "scenarios": ("post_throughput",), "tunables": self.LINES} | subject)
        return apiary(self.root, "tune", "--ablate", "--no-build", "--seed", "3", *words)

    def splice(self, *more: str) -> tuple[int, str, str]:
        page = self.root / "PAGE.md"
        page.write_text(PAGE)
        done = apiary(self.root, "report", self.result().name, "--splice", str(page), *more)
        return done.returncode, done.stderr, page.read_text()

    def test_a_gain_and_none_are_found_confirmed_and_spliced(self) -> None:
        done = self.ablate("--rule", "lets_poster_go_on", "--rule", "yield_pays_ns", "--rounds", "10",
                           tuned={"lets_poster_go_on=0": 1.5})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("poster first (lets_poster_go_on=0): gain shown", done.stdout)
        self.assertIn("a yield that pays (yield_pays_ns=1): no gain: the rule goes", done.stdout)
        rows = tables.read(self.result() / "ablation.csv", ablation.COLUMNS)
        self.assertEqual({(r["batch"], r["rule"]) for r in rows if r["rule"]},
                         {(batch, rule) for batch in "12" for rule in ("lets_poster_go_on", "yield_pays_ns")})
        own = [r for r in rows if r["own"] == "1"]
        told = {(r["placement"], ablation.workers(r), r["n_pairs"]) for r in own}
        self.assertEqual(told, {("one_cpu", n, "30") for n in "24"})
        again = {ablation.place(r)[:3] for r in rows if r["batch"] == "2" and r["rule"] == "yield_pays_ns"}
        self.assertEqual(again, {ablation.place(r)[:3] for r in own}, "a second batch where something is to be confirmed alone")
        self.assertIn("| poster first | `lets_poster_go_on=0` |", (self.result() / "summary.md").read_text())
        beside = [r for r in tables.read(self.result() / "rows.csv", tables.ROWS) if "rivals=1" in r["scenario_params"]]
        self.assertTrue(beside and all(r["status"] == "ok" for r in beside))

        code, err, text = self.splice()
        self.assertEqual(code, 0, err)
        self.assertTrue(text.startswith("before\n<!-- ablation -->\nTells 10 % at "), text)
        self.assertTrue(text.endswith("<!-- /ablation -->\nafter\n"))
        self.assertIn("| **no gain**: the rule goes |", text)
        self.assertIn(f"`results/{self.result().name}/ablation.csv`", text.replace("\n", " "))
        self.assertEqual([line for line in text.splitlines() if len(line) > splice.WIDTH and not line.startswith("|")], [])

    def test_what_an_ablation_does_not_take_is_refused(self) -> None:
        for words, seen in ((("--rule", "nap"), "did you mean 'naps'?"), (("--set", "naps=1"), "--ablate with --set"),
                            (("--workers", "3"), "--ablate with --workers"), ((), "cannot do without looks_before_sleep")):
            with self.subTest(words=words):
                done = self.ablate(*words)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(seen, done.stderr)
        done = apiary(self.root, "tune", "--rule", "naps")
        self.assertEqual(done.returncode, 2)
        self.assertIn("rules are what --ablate switches off", done.stderr)

    def test_an_invalid_batch_decides_nothing_and_is_not_spliced(self) -> None:
        done = self.ablate("--rule", "lets_poster_go_on", "--rounds", "2", behaviour="odd_control")
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn("no rule goes by this batch", done.stdout)
        code, err, text = self.splice()
        self.assertEqual((code, text), (2, PAGE))
        self.assertIn("is INVALID", err)


class Page(unittest.TestCase):
    def test_the_page_has_the_marks(self) -> None:
        splice.between((WORKERS / "README.md").read_text(), "ablation", "new", "README.md")


if __name__ == "__main__":
    unittest.main()
