"""Splicing: a race into README.md, a qualification into METHODOLOGY.md, and pages that are refused."""

from __future__ import annotations

import unittest

from apiary_cli import plans, repo, splice, tables
from apiary_cli.errors import Fault
from apiary_cli.verbs import qualify

from .support import REAL_ROOT, TreeCase, apiary

ENV = {
    "run_id": "20260102T030405Z-box",
    "env_id": "e",
    "machine": {"cpu": "Some CPU", "cpus": 2, "hypervisor": "yes"},
    "race": {
        "command": "scripts/apiary race --plan publish", "commit": "a" * 40, "dirty": False, "workers": 2, "rounds": 12,
        "rounds_of_batches": [11, 12], "rounds_planned": 60, "limit_s": 2700.0, "block_ms": 20, "absent": ["asio"],
    },
}
PAGE = "before\n<!-- race -->\nlast year\n<!-- /race -->\nafter\n"


def compared(scenario: str, params: str, metric: str, peer: str, ratio: float, verdict: str, **more: str) -> dict[str, str]:
    return dict.fromkeys(tables.COMPARE, "") | {
        "scenario": scenario, "scenario_params": params, "placement": "free", "metric": metric, "candidate": "hive",
        "baseline": peer, "ratio": f"{ratio}", "ci_lo": f"{ratio - 0.01}", "ci_hi": f"{ratio + 0.01}", "margin": "0.03",
        "aa_halfwidth": "0.02", "verdict": verdict, **more,
    }


class Marks(unittest.TestCase):
    def test_only_what_stands_between_is_replaced(self) -> None:
        once = splice.between(PAGE, "race", "new", "p")
        self.assertEqual(once, "before\n<!-- race -->\nnew\n<!-- /race -->\nafter\n")
        self.assertEqual(splice.between(once, "race", "new", "p"), once, "again changes nothing")

    def test_a_page_without_marks_or_with_two_pairs_is_refused(self) -> None:
        for text in ("", "<!-- race -->", "<!-- /race --><!-- race -->", PAGE + PAGE, PAGE.replace("race", "qualify")):
            with self.subTest(text), self.assertRaises(Fault) as caught:
                splice.between(text, "race", "new", "p")
            self.assertEqual(caught.exception.code, 2)

    def test_the_pages_of_this_repository_have_them(self) -> None:
        for page, name in (("README.md", "race"), ("METHODOLOGY.md", "qualify"), ("METHODOLOGY.md", "qualify one_cpu")):
            splice.between((REAL_ROOT / page).read_text(), name, "new", page)


class Folder(TreeCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder, self.page = self.root / "results" / "20260102T030405Z-box", self.root / "PAGE.md"
        self.folder.mkdir()
        self.page.write_text(PAGE)

    def race_folder(self) -> None:
        repo.write_json(self.folder / "env.json", ENV)
        tables.write(self.folder / "compare.csv", tables.COMPARE, [
            compared("post_throughput", "producers=1", "ns_per_op", "tokio", 0.2, "IMPROVED"),
            compared("post_throughput", "producers=1", "ns_per_op", "onetbb", 1.0, "EQUIVALENT"),
            compared("post_throughput", "producers=1", "ns_per_op", "hive", 1.0, "EQUIVALENT", candidate="hive-aa", flags="control"),
            compared("post_throughput", "producers=1", "ns_per_op", "hive", 1.1, "REGRESSED", candidate="hive-slow10",
                     flags="control"),
            compared("ping_pong", "", "ns_per_op", "tokio", 3.5, "REGRESSED"),
            compared("post_latency", "rate=1000", "lat_p50_ns", "tokio", 0.9, "IMPROVED"),
            compared("post_latency", "rate=1000", "lat_p90_ns", "tokio", 0.9, "IMPROVED"),
            compared("post_latency", "rate=1000", "lat_p99_ns", "tokio", 0.5, "INCONCLUSIVE", flags="not_ranked;x=1"),
        ])
        row = dict.fromkeys(tables.ROWS, "") | {"row_kind": "measure", "subject": "onetbb", "scenario": "timer_lateness"}
        bare = row | {"subject": "machine", "role": "bare", "status": "ok", "scenario": "post_latency",
                      "scenario_params": "rate=1000", "placement": "free"}
        tables.write(self.folder / "rows.csv", tables.ROWS, [
            row | {"status": "unsupported"},
            bare | {"scenario": "mixed_load", "status": "unsupported"},
            *(bare | {"lat_p50_ns": f"{ns}"} for ns in (20_000, 31_000, 50_000)),
        ])

    def splice(self) -> str:
        done = apiary(self.root, "report", self.folder.name, "--splice", str(self.page))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return self.page.read_text()

    def test_a_race(self) -> None:
        self.race_folder()
        text = self.splice()
        self.assertEqual(self.splice(), text)
        self.assertTrue(text.startswith("before\n<!-- race -->\n") and text.endswith("<!-- /race -->\nafter\n"))
        self.assertNotIn("last year", text)
        for words in (
            "2026-01-02, Some CPU, 2 virtual CPUs, commit aaaaaaaaaaaa,",
            "Rounds: 11 and 12 (a batch each) of 60 planned for each batch, because no round begins after 45 min 00 s",
            "0 of 1 comparisons of the program with its own copy differ",
            "2.0 % at most",
            "called REGRESSED at 1 of 1 points",
            "**NOT**: verification: not verified",
            "- tokio: `ping_pong` (3.50 [3.49, 3.51])",
            "| `ping_pong` | – | **3.50 [3.49, 3.51]** |",
            "| `post_throughput` · producers 1 | (1.00 [0.99, 1.01]) | 0.20 [0.19, 0.21] |",
            "| `post_latency` · rate 1000 · latency p99 | – | not ranked |",
            "- not raced, because not built: asio",
            "- onetbb cannot express: timer_lateness",
        ):
            self.assertIn(words, text)
        self.assertNotIn("latency p90", text)
        self.assertNotIn("hive-aa |", text)
        self.assertLess(text.index("| `ping_pong`"), text.index("| `post_throughput`"), "where a peer wins comes first")

    def test_how_far_everybody_stands_from_the_bare_control(self) -> None:
        self.race_folder()
        self.assertNotIn("bare", self.splice())
        rows = tables.read(self.folder / "compare.csv", tables.COMPARE)
        rows += [
            compared("post_latency", "rate=1000", "lat_p50_ns", "machine", ratio, "", candidate=name, flags="bare")
            for name, ratio in (("hive", 1.2), ("tokio", 0.9))
        ]
        tables.write(self.folder / "compare.csv", tables.COMPARE, rows)
        text = self.splice()
        self.assertIn("| scenario | bare control | hive | onetbb | tokio |", text)
        place = "`post_latency` · rate 1000 · latency p50"
        self.assertIn(f"| {place} | 31.0 µs | 1.20 [1.19, 1.21] | – | 0.90 [0.89, 0.91] |", text)
        self.assertIn("| scenario | onetbb | tokio |", text, "the control is no peer")
        self.assertNotIn("machine cannot express", text)

    def test_a_percentile_at_which_a_peer_wins_is_never_left_out(self) -> None:
        self.race_folder()
        rows = tables.read(self.folder / "compare.csv", tables.COMPARE)
        rows.append(compared("post_latency", "rate=1000", "lat_p90_ns", "onetbb", 1.3, "REGRESSED"))
        rows.append(compared("yield_many", "", "ns_per_op", "onetbb", 0.016, "IMPROVED"))
        tables.write(self.folder / "compare.csv", tables.COMPARE, rows)
        text = self.splice()
        self.assertIn("- onetbb: `post_latency` · rate 1000 · latency p90 (1.30 [1.29, 1.31])", text)
        self.assertIn("| `post_latency` · rate 1000 · latency p90 | **1.30 [1.29, 1.31]** |", text)
        self.assertIn("| 0.016 [0.006, 0.026] |", text)

    def test_a_qualification(self) -> None:
        repo.write_json(self.folder / "env.json", ENV)
        line = {"scenario": "post_throughput", "scenario_params": "batch=1;producers=1", "placement": "free", "n_pairs": "10", "ratio": "1.1",
                "ci_lo": "1.09", "ci_hi": "1.11", "margin": "0.03"}
        tables.write(self.folder / "qualify.csv", qualify.COLUMNS, [
            line | {"batch": "1", "kind": "aa", "verdict": "EQUIVALENT"},
            line | {"batch": "2", "kind": "aa", "verdict": "REGRESSED"},
            line | {"batch": "2", "kind": "slow10", "verdict": "REGRESSED"},
        ])
        self.page.write_text(PAGE.replace("race", "qualify"))
        text = self.splice()
        self.assertIn("2 batches of 12 rounds, blocks of 20 ms", text)
        self.assertIn("- equal copies called different: 1 of 2 (50.0 %, interval", text)
        self.assertIn("- 10 % built in, called REGRESSED: 1 of 1", text)
        tables.write(self.folder / "qualify.csv", qualify.COLUMNS, [
            line | {"batch": "1", "kind": "aa", "verdict": "EQUIVALENT", "placement": "one_cpu"}
        ])
        self.page.write_text(PAGE.replace("race", "qualify one_cpu"))
        self.assertIn("called different: 0 of 1", self.splice())
        tables.write(self.folder / "qualify.csv", qualify.COLUMNS, [
            line | {"batch": "1", "kind": "aa", "verdict": "EQUIVALENT", "placement": "one_cpu",
                    "scenario_params": plans.POSTS.params_text}
        ])
        self.assertIn("12 rounds, each block of a fixed number of tasks", self.splice())

    def test_a_page_without_marks_is_refused_and_left_alone(self) -> None:
        self.race_folder()
        self.page.write_text("no marks\n")
        done = apiary(self.root, "report", self.folder.name, "--splice", str(self.page))
        self.assertEqual(done.returncode, 2)
        self.assertIn("PAGE.md has no place for this", done.stderr)
        self.assertEqual(self.page.read_text(), "no marks\n")

    def test_a_folder_that_compares_nothing_is_refused(self) -> None:
        self.race_folder()
        tables.write(self.folder / "compare.csv", tables.COMPARE, [])
        done = apiary(self.root, "report", self.folder.name, "--splice", str(self.page))
        self.assertEqual(done.returncode, 2)
        self.assertEqual(self.page.read_text(), PAGE)


if __name__ == "__main__":
    unittest.main()
