"""report.html: self-contained, honest about who wins and about what is not verified."""

from __future__ import annotations

import json
import re
import unittest
from collections import defaultdict
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from apiary_cli.analysis import comparing, summary
from apiary_cli.base import repo, say, stats
from apiary_cli.race import scenarios
from apiary_cli.report import html, page_data, site, site_pages, six, svg

from .support import TreeCase, apiary

VOID = {"meta", "br", "input", "circle", "line", "rect", "polyline", "polygon"}


class Balanced(HTMLParser):
    """Fails on tags that do not close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()


class Page(TreeCase):
    def page(self, *given: dict) -> str:
        self.subjects(*given)
        done = self.race("--rounds", "5")
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.result() / "report.html").read_text()

    def test_a_torn_folder_is_refused_by_its_cause(self) -> None:
        self.page({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        folder = self.result()
        whole = {name: (folder / name).read_text() for name in ("rows.csv", "env.json")}

        def refused(cause: str) -> None:
            done = apiary(self.root, "report", folder.name)
            self.assertEqual(done.returncode, 2, done.stderr)
            for text in ("no whole result folder", cause, "remedy:"):
                self.assertIn(text, done.stderr)

        (folder / "rows.csv").write_text(whole["rows.csv"][:-40])
        refused("cells")
        (folder / "rows.csv").write_text("scenario,ns\n")
        refused("header")
        (folder / "rows.csv").unlink()
        refused("rows.csv")
        (folder / "rows.csv").write_text(whole["rows.csv"])
        (folder / "env.json").write_text("{")
        refused("env.json")
        (folder / "env.json").write_text(whole["env.json"])
        self.assertEqual(apiary(self.root, "report", folder.name).returncode, 0)

    def test_the_site_has_each_folder_with_its_verdict_and_the_reason_of_one_that_is_torn(self) -> None:
        done = apiary(self.root, "report", "--index")
        self.assertEqual(done.returncode, 0, done.stderr)
        listed = self.root / "results" / "index.html"
        self.assertIn("No figure has 5 races yet", (self.root / "results" / "history.html").read_text())
        self.assertIn("No race has left a folder here yet", listed.read_text())
        for page in listed.parent.glob("*.html"):
            page.unlink()
        self.page({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        whole = self.result()
        torn = whole.with_name("20000101T000000Z-torn")
        torn.mkdir()
        (torn / "env.json").write_text("{")
        self.assertEqual(apiary(self.root, "report", "--index").returncode, 0)
        text = listed.read_text()
        Balanced().feed(text)
        rows = re.findall(r'<tr class="\w+"><td>.*?</tr>', text, re.S)
        self.assertEqual([whole.name in rows[0], "1 January 2000" in rows[1], len(rows)], [True, True, 2])
        self.assertRegex(rows[0], f'<a href="{whole.name}/report.html">A quick race</a>')
        self.assertRegex(rows[0], r'class="badge \w+">(VALID|INVALID)<')
        self.assertIn("hive against tokio", rows[0])
        self.assertNotIn("scripts/apiary", rows[0], "commands stand at the end")
        self.assertRegex(text.partition('id="made"')[2], r"<code>scripts/apiary race [^<]*</code>")
        self.assertIn("unreadable", rows[1])
        self.assertIn("env.json", rows[1])
        self.assertEqual(apiary(self.root, "report", "--index", whole.name).returncode, 2)

    def test_the_history_says_why_a_mark_is_hollow_and_goes_in_equal_steps(self) -> None:
        told = [{"name": f"2026010{day}", "date": "", "word": word, "commit": "c", "kind": "bad" if word == "INVALID" else "good"}
                for day, word in enumerate(("VALID", "INVALID", "VALID"))]
        found = {"hive": [(one, 50.0, 49.0, 51.0, 9) for one in told]}
        drawn = site.history_point(("successor", "", "one_cpu"), found)["drawn"]
        self.assertRegex(drawn, 'class="hollow [^>]*><title>[^<]*, batch INVALID</title>')
        first, second, third = (float(x) for x in re.findall(r'<circle cx="([\d.]+)%"', drawn))
        self.assertAlmostEqual(second - first, third - second)

    def test_a_figure_of_fewer_than_five_races_has_no_history(self) -> None:
        key = ("successor", "", "one_cpu")
        found = {"hive": [("", 50.0, 49.0, 51.0, 9)] * 5, "task_graph": [("", 50.0, 49.0, 51.0, 9)] * 4}
        self.assertEqual(site.long_enough({key: found}), [(key, {"hive": found["hive"]})])
        self.assertEqual(site.long_enough({key: {"task_graph": found["task_graph"]}}), [])

    def test_a_page_is_never_replaced_by_a_poorer_one_that_is_there(self) -> None:
        text = self.page({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        folder = self.result()
        hist, summed = (folder / "hist.csv").read_bytes(), (folder / "summary.md").read_text()
        (folder / "hist.csv").unlink()
        done = apiary(self.root, "report", folder.name)
        self.assertEqual(done.returncode, 2, done.stdout)
        for words in ("the new page would be poorer", "charts in place of", "hist.csv is absent", "remove the page"):
            self.assertIn(words, done.stderr)
        self.assertEqual((folder / "report.html").read_text(), text)
        (folder / "hist.csv").write_bytes(hist)
        self.assertEqual(apiary(self.root, "report", folder.name).returncode, 0)
        self.assertEqual((folder / "report.html").read_text(), text)
        self.assertEqual((folder / "summary.md").read_text(), summed)
        (folder / "hist.csv").unlink()
        (folder / "report.html").unlink()
        self.assertEqual(apiary(self.root, "report", folder.name).returncode, 0)
        self.assertLess(len((folder / "report.html").read_text()), len(text))

    def test_self_contained_and_well_formed(self) -> None:
        text = self.page({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        for forbidden in ("http://", "https://", "//cdn", "<script ", "<link", "@import", "url(", "<img", "src="):
            self.assertNotIn(forbidden, text)
        parser = Balanced()
        parser.feed(text)
        self.assertEqual(parser.open, [])
        for part in (
            "Batch VALID</b> Not for publication: a batch has 5 rounds, 10 are the least that is published.",
            "hive against",
            "Losses",
            "Ratios",
            "Medians",
            "Controls",
            "Environment",
            "How to read this",
            "What it does not show",
            "Measure it again",
            "prefers-color-scheme: dark",
            "@media print",
        ):
            self.assertIn(part, text)
        self.assertIn('<th class="n">runs</th><th class="">verification</th>', text, "a point may run more than once in a round")
        self.assertRegex(text.partition("<h2>Controls</h2>")[2].partition("</ul>")[0], "no run was disturbed by|of [0-9]+ runs stand in rounds")
        self.every_chart_has_a_title(text)
        self.commands(text)
        self.a_page_made_again_is_the_same(text)
        self.verified_only_with_matching_records(text)

    def every_chart_has_a_title(self, text: str) -> None:
        charts = re.findall(r'<svg class="chart[^>]*>(<title>)?', text)
        self.assertGreater(len(charts), 10)
        self.assertTrue(all(charts))

    def commands(self, text: str) -> None:
        self.assertIn(
            "scripts/apiary race --plan quick --point &#39;post_latency rate=1000&#39; --subject hive --subject tokio "
            "--workers 2 --rounds 5 --seed 7",
            text,
        )
        self.assertIn(
            "build/release/bin/program0 run --scenario post_throughput --param batch=1 --param producers=2", text
        )

    def a_page_made_again_is_the_same(self, text: str) -> None:
        (self.result() / "report.html").unlink()
        self.assertEqual(apiary(self.root, "report", self.result().name).returncode, 0)
        self.assertEqual((self.result() / "report.html").read_text(), text)

    def verified_only_with_matching_records(self, text: str) -> None:
        self.assertIn('class="badge bad">not verified', text)
        self.assertNotIn("proved ✓", text)
        self.assertIn("not verified: model checks, museum, sanitizers", text)
        path = self.result() / "env.json"
        env = json.loads(path.read_text())
        taken = env["verification"]
        taken["prove"] = {
            "source_hash": taken["prove_hash"],
            "listed": {},
            "verdicts": [
                {
                    "name": "deque",
                    "kind": "check",
                    "engine": "relacy",
                    "mode": "random",
                    "verdict": "pass",
                    "as_expected": True,
                    "executions": 9,
                    "seconds": 1,
                    "blind": "no load buffering",
                }
            ],
        }
        taken["prove"]["verdicts"].append(taken["prove"]["verdicts"][0] | {"name": "lost", "kind": "exhibit"})
        taken["mutation"] = {
            "source_hash": taken["prove_hash"],
            "known": ["a.hpp"],
            "headers": {"a.hpp": {"mutants": 50, "killed": 49, "explained": 1, "never_run": 0}},
        }
        taken["stress"] = {
            "source_hash": taken["stress_hash"],
            "runs": [
                {"program": "p", "preset": preset, "seed": 1, "seconds": 2.0, "passed": True}
                for preset in ("tsan", "asan-ubsan")
            ],
        }
        path.write_text(json.dumps(env))
        apiary(self.root, "report", self.result().name)
        again = (self.result() / "report.html").read_text()
        self.assertIn("proved ✓ museum ✓ mutants 98 % sanitizers ✓", again)
        self.assertNotIn("not verified", again)
        path.write_text(json.dumps(env | {"verification": taken | {"of_other_source": ["subject_hive: impl/x.hpp"]}}))
        apiary(self.root, "report", self.result().name)
        self.assertIn('badge bad">not verified: build', (self.result() / "report.html").read_text())
        self.assertIn("no load buffering", again)

    def test_the_answer_comes_before_any_word_and_losses_are_named(self) -> None:
        text = self.page({"name": "hive", "ns": 200.0}, {"name": "slow", "ns": 500.0}, {"name": "quick", "ns": 100.0})
        order = ["Batch ", 'class="caption legend">Time of hive over', '<table class="matrix"', "<h2>Losses", '<details class="fold"']
        places = [text.index(part) for part in order]
        self.assertEqual(places, sorted(places))
        matrix = text[places[2] : places[3]]
        head = re.search(r"<thead>(.*?)</thead>", matrix)[1]
        self.assertEqual(re.findall(r"<th>(.*?)</th>", head), ["hive against", "quick", "slow"])
        line = re.search(r'<tr class="first"[^>]*><th scope="row"><div class="label"><a href="#s-post_throughput">.*?</tr>', matrix, re.DOTALL)[0]
        self.assertRegex(line, r'<td class="bad" title="[^"]*REGRESSED[^"]*"><b class="word bad">− ×(1\.9|2\.0)')
        self.assertRegex(line, r'<td class="good" title="[^"]*IMPROVED[^"]*"><b class="word good">\+ ×0\.(3|4)')
        lost = text[places[3] : places[4]]
        self.assertRegex(lost, r"hive takes <span class=.num.>×(1\.9|2\.0).* of that of <b>quick</b>")
        self.assertNotIn("<b>slow</b>", lost)
        fold = re.search(r'id="s-post_throughput"><summary>.*?</summary>', text)[0]
        self.assertRegex(fold, r'bad">\d+ lost</span> .*good">\d+ won</span>')
        self.assertNotRegex(fold, r"[=−+] \d", "a row of signs and numbers reads as a sum")

    def test_charts_have_keys_that_hide_and_paths_that_tell(self) -> None:
        text = self.page({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        keys = set(re.findall(r'data-key="(c\d+)"', text))
        self.assertEqual(keys, {"c0", "c1"})
        for key in keys:
            self.assertIn(f".no-{key} svg .{key} {{ display: none; }}", text)
        for attribute in ("data-low=", "data-high=", "data-reach=", 'data-name="hive"', "data-filter", 'data-only="bad"'):
            self.assertIn(attribute, text)

    def test_every_link_of_the_page_leads_somewhere(self) -> None:
        text = self.page({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        wanted = set(re.findall(r'href="#([^"]+)"', text))
        self.assertGreater(len(wanted), 8)
        self.assertEqual(wanted - set(re.findall(r'id="([^"]+)"', text)), set())

    def test_what_is_looked_up_is_folded(self) -> None:
        """A first look has a screen or two, not sixty thousand pixels."""
        text = self.page({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        seen = re.sub(r"<details.*</details>", "", text, flags=re.DOTALL)
        self.assertNotIn('<svg class="chart', seen)
        self.assertLess(seen.count("<tr"), 40)

    def test_text_from_subjects_is_escaped(self) -> None:
        self.subjects({"name": "hive"}, {"name": "odd", "behaviour": "odd_version"})
        self.assertEqual(self.race("--rounds", "1", "--scenario", "post_throughput").returncode, 0)
        text = (self.result() / "report.html").read_text()
        self.assertNotIn("<b>&evil", text)
        self.assertIn("&lt;b&gt;&amp;evil", text)


def compared(ours: str, other: str, ratio: float, verdict: str, params: str = "n=27;workers=2", kind: str = "peer") -> comparing.Comparison:
    estimate = stats.estimate([(ratio * one, one) for one in (1.0, 2.0, 3.0, 4.0)])
    metric = scenarios.known_by("fib", "free")
    return comparing.Comparison(("fib", params, "free"), metric, comparing.Pairing(ours, other, kind), estimate, [], verdict=verdict, resolution=0.05)


class Six(unittest.TestCase):
    """Of each scheduler: the nearest rival, the middle point, the worst loss."""

    OWN = {"ours", "second"}

    def line(self, *found: comparing.Comparison, name: str = "ours", turned: bool = False) -> six.Line:
        return six.of_race(name, "to test", Path("f"), ({"race": {"rounds": 10}}, [], list(found)), self.OWN, turned)

    def of(self, other: str, *ratios: float, ours: str = "ours") -> list[comparing.Comparison]:
        words = [stats.IMPROVED if ratio < 0.9 else stats.REGRESSED if ratio > 1.1 else stats.EQUIVALENT for ratio in ratios]
        return [compared(ours, other, ratio, word, f"n={n};workers=2") for n, (ratio, word) in enumerate(zip(ratios, words))]

    def test_the_nearest_rival_is_the_one_whose_middle_point_is_the_worst_for_ours(self) -> None:
        line = self.line(*self.of("slow", 0.2, 0.3, 5.0), *self.of("quick", 0.5, 1.0, 1.2), *self.of("rare", 9.0), *self.of("second", 8.0, 8.0, 8.0),
                         *self.of("ours_as_it_was", 7.0, 7.0, 7.0))
        self.assertEqual((line.rival, line.middle.times, line.counts()), ("quick", "×1.00 [1.00, 1.00]", [1, 1, 1]))
        self.assertEqual((line.worst.other, round(line.worst.ratio), line.lost), ("rare", 9, 3), "every loss counts, of each peer; none of our own")

    def test_one_that_raced_as_a_rival_of_ours_is_told_the_other_way_round(self) -> None:
        line = self.line(*self.of("second", 0.25, 0.5, 2.0), name="second", turned=True)
        self.assertEqual((line.rival, line.middle.times, line.counts()), ("ours", "×2.00 [2.00, 2.00]", [1, 2, 0]))
        self.assertEqual(round(line.worst.ratio), 4)

    def test_what_the_controls_void_is_no_point_and_without_points_nothing_is_said(self) -> None:
        (one,) = self.of("quick", 3.0)
        one.flags = [comparing.NO_CONTROL]
        line = self.line(one)
        self.assertEqual((line.points, six.cells(line, Path("p"))[2:]), ((), ["–", "–", "–", "–", "not yet"]))

    def test_the_drawing_has_a_dot_for_each_point_and_one_ring(self) -> None:
        drawn = six.drawn([self.line(*self.of("quick", 0.5, 1.0, 1.2)), six.Line("idle", "nothing")])
        self.assertEqual((drawn.count("<circle"), drawn.count("r=\"7\""), "idle" in drawn), (4, 1, False))
        far = six.drawn([self.line(*self.of("quick", 0.0005, 1.0, 1.2))])
        self.assertGreater(min(float(at) for at in re.findall(r'<circle cx="([\d.]+)"', far)), six.LEFT, "no point is cut at the edge")

    def test_a_worst_loss_is_told_in_words_and_without_parameters(self) -> None:
        told = [six.Ratio(2.0, 1.9, 2.1, 1.0, "5 %", "bad", where, "rival").plain for where in
                ("`post_latency rate=10000`, latency p50 (overloaded)", "`graph pattern=layered;width=32 one_cpu`", "`yield_many`")]
        self.assertEqual(told, ["post latency, latency p50 (overloaded)", "graph on one CPU", "yield many"])
        (row,) = [six.cells(self.line(*self.of("quick", 3.0)), Path("p"))]
        self.assertEqual(row[5], "×3.00 of quick, fib (1 of 1)")

    def test_proofs_are_those_that_a_publication_keeps_else_those_of_the_newest_race(self) -> None:
        with TemporaryDirectory() as root, mock.patch.object(repo, "RESULTS", Path(root)):
            def proved() -> str:
                load = lambda folder: ({"verification": {"prove": {"source_hash": folder.name}}}, [], [])
                return six.proved(["20261129T000000Z-a", "20261130T000000Z-b"], load)["prove"]["source_hash"]

            self.assertEqual(proved(), "20261130T000000Z-b")
            repo.write_json(Path(root) / "evidence" / "prove.json", {"source_hash": "kept"})
            self.assertEqual(proved(), "kept")
            (Path(root) / "evidence" / "prove.json").write_text("{")
            self.assertEqual(proved(), "20261130T000000Z-b", "torn")

    def test_races_of_different_machines_are_told_apart(self) -> None:
        def machine(of: dict[str, str]) -> str:
            found = [replace(self.line(*self.of("quick", 0.5), name="ours"), name=name, folder=name) for name in of]
            return six.machines(found, lambda folder: ({"machine": {"cpu": of[folder.name], "cpus": 2}}, [], []))

        for of, told in (({"a": "AMD", "b": "Intel", "c": "AMD"}, "Machines: AMD, 2 CPUs, for a and c; Intel, 2 CPUs, for b."),
                         ({"a": "AMD", "b": "Intel", "c": "Intel"}, "Machines: AMD, 2 CPUs, for a; Intel, 2 CPUs, for the others."),
                         ({"a": "AMD", "b": "AMD"}, "All raced on AMD, 2 CPUs.")):
            self.assertEqual(machine(of), told)
        self.assertEqual(six.machines([six.Line("idle", "nothing")], None), "")

    def test_a_date_is_a_date(self) -> None:
        self.assertEqual([six.date("20261126T160900Z-vm"), six.date("my-folder")], ["26 November 2026", "my-folder"])


class SitePages(unittest.TestCase):
    def test_a_link_out_of_the_folder_is_words_and_one_to_the_net_stays(self) -> None:
        text = site_pages.prose("[a](../x.md) [b](https://b.example)\n\n| x |\n|---|\n| <script>1</script> |\n")
        self.assertIn('<p>a <a href="https://b.example">b</a></p>', text)
        self.assertNotIn("<script>", text)
        self.assertIn("<table>", text)

    def test_the_limits_of_the_first_page_stand_on_the_site_and_nothing_that_follows_them(self) -> None:
        said = (repo.ROOT / "README.md").read_text().partition("## Limits\n")[2]
        self.assertEqual(site_pages.limits().count("<li>"), len(re.findall("^- ", said, re.M)))
        self.assertIn("BIAS.md", site_pages.limits())
        self.assertNotIn("METHODOLOGY", site_pages.limits())

    def test_a_long_line_of_code_scrolls_in_itself_and_not_the_page(self) -> None:
        text = html.render("prose.html", title="t", pages=[], here="", body=html.raw(site_pages.prose("```\nx\n```\n")))
        self.assertRegex(text, r"\.prose pre \{[^}]*overflow-x: auto")
        self.assertRegex(text, r'(?s)<div class="prose"><pre>')

    def test_a_chart_has_its_figures_below_with_their_intervals(self) -> None:
        marks = {"hive": [svg.Mark(1, 10.0, 9.0, 11.0), svg.Mark(4, 20.0)], "go": [svg.Mark(4, 5.0)]}
        told = site_pages.chart("x", "", marks, "workers")
        self.assertEqual((told["head"], told["rows"]), (["", "1:n", "4:n"], [["hive", "10.0 ns [9.00 ns, 11.0 ns]", "20.0 ns"], ["go", "", "5.00 ns"]]))


    def test_a_price_is_drawn_where_a_program_has_several_budgets_and_only_there(self) -> None:
        def row(budget: int, cost: int, late: int, params: str = "rate=1000") -> dict[str, str]:
            return {"scenario": "latency_vs_load", "scenario_params": f"idle_cpu={budget};{params}", "placement": "free", "subject": "hive", "status": "ok",
                    "role": "candidate", "row_kind": "measure", "cpu_ns": str(cost), "ops": "1", "lat_p99_ns": str(late), "flags": "injector_us=1"}

        loaded = ({}, [row(0, 100, 900), row(0, 100, 1100), row(5, 400, 300)], [])
        (drawn,) = site_pages.frontier(loaded)
        self.assertEqual(drawn["rows"], [["hive", "100 ns", "1.00 µs [950 ns, 1.05 µs]"], ["hive", "400 ns", "300 ns [300 ns, 300 ns]"]])
        self.assertEqual(site_pages.frontier(({}, [row(0, 100, 900)], [])), [])
        self.assertEqual(site_pages.under_load(({}, [row(0, 100, 900, f"rate={rate}") for rate in (1, 2, 3)], [])), [], "another chart's")


class Tracks(unittest.TestCase):
    def test_a_track_shows_the_newest_race_that_may_be_published_and_the_rest_stands_below(self) -> None:
        listed = [{"name": str(n), "plan": plan, "kind": kind, "sweep": sweep} for n, (plan, kind, sweep) in enumerate((
            ("own", "good", ""), ("forkjoin", "good", ""), ("publish", "good", ""), ("forkjoin", "good", ""), ("forkjoin", "bad", ""), ("publish", "good", "swept")))]
        shown, rest = ([one["name"] for one in some] for some in site.tracks(listed))
        self.assertEqual((shown, rest), (["2", "3", "0"], ["5", "4", "1"]))

    def test_one_scenario_of_everything_is_a_track_by_its_name(self) -> None:
        folder = repo.RESULTS / "20261129T211858Z-vm"  # of the plan wide, timers alone
        env, rows, comparisons = summary.load(folder)
        for ran, name in ((rows, "Timers"), ([*rows, rows[0] | {"scenario": "fib"}], "Everything")):
            told = site.of_folder(folder, lambda _: (env, ran, comparisons), defaultdict(lambda: defaultdict(list)))
            self.assertEqual(site.title(told), name)

    def test_a_track_of_other_sources_is_marked_and_left_out_of_what_is_said(self) -> None:
        shown = [{"name": "now"}, {"name": "then"}]
        with (mock.patch.object(site.raced, "why_not", side_effect=lambda folder, _: "changed" if folder.name == "then" else ""),
              mock.patch.object(site.raced, "sentence", side_effect=lambda folders, _: ", ".join(one.name for one in folders))):
            self.assertEqual(site.mark_older(shown), "now")
        self.assertEqual([one["older"] for one in shown], [False, True])


class Tables(unittest.TestCase):
    HEAD, ROWS = ["what", "runs:n"], [["a", 7], ["bcd", 1000]]

    def test_a_head_says_which_columns_are_numbers_wherever_it_is_drawn(self) -> None:
        self.assertEqual(say.table(self.HEAD, self.ROWS).splitlines(), ["what  runs", "----------", "a        7", "bcd   1000"])
        self.assertEqual(say.markdown(self.HEAD, self.ROWS), ["| what | runs |", "|---|--:|", "| a | 7 |", "| bcd | 1000 |"])
        drawn = html.macro("table", self.HEAD, self.ROWS)
        self.assertIn('<th class="">what</th><th class="n">runs</th>', drawn)
        self.assertIn('<td class="">bcd</td><td class="n">1000</td>', drawn)
        self.assertEqual(say.markdown(self.HEAD, []), [])

    def test_a_listing_wraps_its_last_column_below_itself(self) -> None:
        rows = [("a", "xx", "one two"), ("bcd", "y", ""), ("e", "z", "three")]
        self.assertEqual(say.listing(rows, width=16).split("\n"), ["  a    xx  one", "           two", "  bcd  y", "  e    z   three"])
        self.assertEqual(say.listing([]), "")


class Numbers(unittest.TestCase):
    def test_human(self) -> None:
        self.assertEqual(
            [say.human(v) for v in (0.5, 83.21, 1240, 12_400, 250e6, 3e9)],
            ["0.50 ns", "83.2 ns", "1.24 µs", "12.4 µs", "250 ms", "3.00 s"],
        )

    def test_scale(self) -> None:
        scale = svg.log_scale([10, 1000])
        self.assertAlmostEqual(scale.at(100), 0.5)
        self.assertLess(scale.low, 10)
        self.assertGreaterEqual(len(svg.log_ticks(scale)), 3)
        self.assertGreaterEqual(len(svg.log_ticks(svg.log_scale([100, 101], least=1.25))), 2)
        self.assertIn(1, svg.ratio_ticks(svg.log_scale([0.2, 1.1])))

    def test_a_forest_is_as_wide_as_its_intervals_and_no_wider_than_eightfold(self) -> None:
        narrow = svg.forest_scale([(0.95, 0.97), (1.02, 1.05)])
        self.assertLess(narrow.high / narrow.low, 1.4, "intervals of two per cent are seen")
        clipped = svg.forest_scale([(0.001, 0.0011), (0.95, 1.05)])
        self.assertGreater(clipped.low, 0.1)
        far = svg.forest_row(clipped, 0.001, 0.001, 0.0011, 0.03, [0.001], "good", "far")
        self.assertIn("◀", far)
        self.assertNotIn("<circle", far, "neither its estimate nor its rounds are drawn at the edge")
        crossing = svg.forest_row(clipped, 1.0, 0.5, 20.0, 0.03, [1.0], "open", "wide")
        self.assertIn("▶", crossing)
        self.assertIn('class="estimate open"', crossing)
        alone = svg.forest_scale([(0.001, 0.0011)])
        self.assertTrue(alone.shows(0.001), "where all lie far, the scale goes there")

    def test_percentiles_need_a_hundred_samples_above(self) -> None:
        buckets = [(i, i, 1) for i in range(1000)]
        self.assertEqual(page_data.percentiles(buckets, (0.5, 0.9, 0.95)), [499, 899, None])
        self.assertEqual(page_data.percentiles([(7, 7, 1)], (0.5, 0.99)), [7, None])
        self.assertEqual(page_data.percentiles([], (0.5,)), [None])
