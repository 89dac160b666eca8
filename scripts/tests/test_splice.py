"""Splicing: a race into README.md, a qualification into METHODOLOGY.md, and pages that are refused."""

from __future__ import annotations

import functools
import json
import lzma
import os
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from unittest import mock

from apiary_cli import main
from apiary_cli.base import repo
from apiary_cli.base.errors import Fault
from apiary_cli.race import folder as folders, raced, tables
from apiary_cli.analysis import comparing, qualification, summary
from apiary_cli.report import html, page_data, page_summary, picture, six, splice

from . import points
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
        rooms = [(f"impl/apiary/schedulers/{room}/README.md", "race") for room in ("coro_pool", "fork_join", "hive", "processes", "task_graph")]
        rooms.append(("impl/apiary/schedulers/fork_join/LOOPS.md", "race"))
        for page, name in (("impl/apiary/schedulers/README.md", "six"), ("METHODOLOGY.md", "qualify"), ("METHODOLOGY.md", "qualify one_cpu"), *rooms):
            splice.between((REAL_ROOT / page).read_text(), name, "new", page)


class Folder(TreeCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder, self.page = self.root / "results" / "20260102T030405Z-box", self.root / "PAGE.md"
        self.folder.mkdir()
        self.page.write_text(PAGE)

    def splice(self) -> str:
        done = apiary(self.root, "report", self.folder.name, "--splice", str(self.page))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return self.page.read_text()

    def test_a_qualification(self) -> None:
        repo.write_json(self.folder / "env.json", ENV)
        line = {"scenario": "post_throughput", "scenario_params": "batch=1;producers=1", "placement": "free", "n_pairs": "10", "ratio": "1.1",
                "ci_lo": "1.09", "ci_hi": "1.11", "margin": "0.03"}
        tables.write(self.folder / "qualify.csv", qualification.COLUMNS, [
            line | {"batch": "1", "kind": "aa", "verdict": "EQUIVALENT"},
            line | {"batch": "2", "kind": "aa", "verdict": "REGRESSED"},
            line | {"batch": "2", "kind": "slow10", "verdict": "REGRESSED"},
        ])
        self.page.write_text(PAGE.replace("race", "qualify"))
        text = self.splice()
        self.assertIn("2 batches of 12 rounds, blocks of 20 ms", text)
        self.assertIn("- equal copies called different: 1 of 2 (50.0 %, interval", text)
        self.assertIn("- 10 % built in, called REGRESSED: 1 of 1", text)
        tables.write(self.folder / "qualify.csv", qualification.COLUMNS, [
            line | {"batch": "1", "kind": "aa", "verdict": "EQUIVALENT", "placement": "one_cpu"}
        ])
        self.page.write_text(PAGE.replace("race", "qualify one_cpu"))
        self.assertIn("called different: 0 of 1", self.splice())
        tables.write(self.folder / "qualify.csv", qualification.COLUMNS, [
            line | {"batch": "1", "kind": "aa", "verdict": "EQUIVALENT", "placement": "one_cpu",
                    "scenario_params": points.POSTS.params_text}
        ])
        self.assertIn("12 rounds, each block of a fixed number of tasks", self.splice())


PLAN = """rounds = 10
[[point]]
scenario = "post_throughput"
params = { batch = 1, producers = 1 }
[[point]]
scenario = "timer_lateness"
params = { delay_us = 1000, ops = 1250, pending = 1 }
[[point]]
scenario = "post_throughput"
placement = "one_cpu"
params = { batch = 1, producers = 2 }
"""


class Race(TreeCase):
    """What is spliced of a race, and what is refused."""

    def folder(self, *more: str, hive: dict | None = None) -> Path:
        self.subjects({"name": "hive"} | (hive or {}), {"name": "tokio", "ns": 300.0}, {"name": "onetbb", "ns": 60.0})
        plan, self.page = self.root / "build" / "plan.toml", self.root / "PAGE.md"
        plan.write_text(PLAN)
        self.page.write_text(PAGE)
        names = [word for name in self.named for word in ("--subject", name)]
        done = self.race("--plan", str(plan), *names, *more)
        self.assertIn("report: results/", done.stdout, done.stderr)
        return self.result()

    def splice(self, folder: Path, *more: str) -> tuple[int, str, str]:
        done = apiary(self.root, "report", folder.name, "--splice", str(self.page), *more)
        return done.returncode, done.stderr, self.page.read_text()

    def test_a_valid_batch_is_spliced_its_verdict_first(self) -> None:
        folder = self.folder()
        code, err, text = self.splice(folder)
        self.assertEqual(code, 0, err)
        self.assertEqual(self.splice(folder), (code, err, text), "again changes nothing")
        deeper = self.root / "impl" / "room" / "README.md"
        deeper.parent.mkdir(parents=True)
        deeper.write_text(PAGE)
        apiary(self.root, "report", folder.name, "--splice", str(deeper))
        for linked in re.findall(r'(?:src="|srcset="|\]\()([^")]+)', deeper.read_text()):
            self.assertTrue((deeper.parent / linked).exists(), linked)
        self.assertTrue(text.startswith("before\n<!-- race -->\nTells 10 % at "), text)
        self.assertNotIn("Try 1", text, "of a first one that is VALID")
        self.assertTrue(text.endswith("<!-- /race -->\nafter\n"))
        plain = " ".join(text.split())
        for words in (
            " points, 5 % at ", " hive beside its own copy: ", " equal; half of a 95 % interval is ", "seen at 2 of 2 points, called REGRESSED at 2",
            "Time of hive over that of each peer. Faster, slower: the whole 95 % interval is beyond the controls' margin",
            "| hive against | faster | slower | unresolved |", "| onetbb | 0 | ", "**Where hive loses:** ", ", the worst: `", "] of onetbb",
            "**To repeat it:** `scripts/apiary race --no-build", "rounds: 10", "Bold: slower; in parentheses: undecided.",
            "Source: not verified: ", f"(results/{folder.name}/summary.md)",
        ):
            self.assertIn(words, plain)
        self.assertLess(len(text.splitlines()), 31)
        self.assertLessEqual(max(len(line) for line in text.splitlines() if not line.startswith("|")), splice.WIDTH)
        summed = (folder / "summary.md").read_text()
        self.assertIn("## Point by point", summed)
        self.assertIn("| scenario | onetbb | tokio |", summed)
        self.assertIn("| `post_throughput` · batch 1, producers 1 | **1.6", summed)

    def test_the_page_of_a_room_speaks_of_its_own_and_names_every_loss(self) -> None:
        folder = self.folder()
        rows = tables.read(folder / "rows.csv", tables.ROWS)
        mine = [row | ({"role": "candidate"} if row["subject"] == "onetbb" else {}) for row in rows]
        mine += [row for row in points.copied(mine) if row["subject"] == "onetbb-aa"]
        tables.write(folder / "rows.csv", tables.ROWS, mine)
        self.page = self.root / "rooms" / "onetbb" / "README.md"
        self.page.parent.mkdir(parents=True)
        self.page.write_text(PAGE)
        _, _, text = self.splice(folder)
        self.assertIn("Time of onetbb over that of each peer (hive raced, too).", text)
        self.assertIn("| onetbb against |", text)
        self.assertIn("matrix-onetbb-dark.svg", text)
        self.assertTrue((folder / "matrix-onetbb.svg").exists())
        self.assertNotIn("matrix.svg", text)
        self.page = self.root / "rooms" / "PAGE.md"
        self.page.write_text(PAGE)
        _, _, text = self.splice(folder)
        for words in ("Time of hive and onetbb over", "| against |", "| hive / tokio |", "| onetbb / tokio |", "matrix-dark.svg"):
            self.assertIn(words, text)
        self.page = self.root / "rooms" / "hive" / "README.md"
        self.page.parent.mkdir()
        self.page.write_text(PAGE)
        tables.write(folder / "rows.csv", tables.ROWS, rows)
        _, _, text = self.splice(folder)
        lost = re.findall(r"^- `", text, re.M)
        told = re.search(r"\*\*Where hive loses:\*\* (\d+) of (\d+) comparisons\.\n", text)
        self.assertEqual(len(lost), int(told[1]), text)
        self.assertGreater(len(lost), splice.FEW)
        self.assertNotIn("raced, too", text)

    def test_a_floor_of_an_older_race_stands_apart_and_counts_nowhere(self) -> None:
        """Once machine_calls raced as a peer."""
        folder = self.folder()
        rows = tables.read(folder / "rows.csv", tables.ROWS)
        tables.write(folder / "rows.csv", tables.ROWS, [row | {"subject": row["subject"].replace("onetbb", "machine_calls")} for row in rows])
        self.assertNotIn("machine_calls", self.splice(folder)[2], "the first page has no room for it")
        self.page = self.root / "rooms" / "hive" / "README.md"
        self.page.parent.mkdir(parents=True)
        self.page.write_text(PAGE)
        _, _, text = self.splice(folder)
        peers, floors = text.split("**Floors:**")
        self.assertIn("**Where hive loses:** 0 of ", peers)
        self.assertNotIn("machine_calls", peers)
        self.assertRegex(floors, r"\| hive over the floor \| comparisons \| .*\n.*\n\| machine_calls \| 4 \| ×1\.\d\d .* \| ×1\.\d\d")
        for drawn in folder.glob("*.svg"):
            self.assertNotIn("machine_calls", drawn.read_text())

    def test_a_drawing_goes_with_it_light_and_dark(self) -> None:
        folder = self.folder()
        _, _, text = self.splice(folder)
        shown = re.findall(r'(?:srcset|src)="([^"]+)"', text)
        self.assertEqual(shown, [f"results/{folder.name}/{name}" for name in ("matrix-dark.svg", "matrix.svg")])
        drawings = [(self.root / name).read_text() for name in shown]
        self.assertEqual(len(set(drawings)), 2)
        for drawn in drawings:
            root = ElementTree.fromstring(drawn)
            words = [node.text for node in root.iter() if node.tag.endswith("text")]
            self.assertEqual(words[1:3], ["onetbb", "tokio"])
            self.assertEqual(words[3], "post_throughput")
            self.assertRegex(words[4], r"^− ×1\.\d\d")
            self.assertRegex(words[5], r"^\+ ×0\.\d\d")
            width = float(root.get("width"))
            self.assertTrue(all(0 <= float(node.get("x")) < width for node in root.iter() if node.get("x")))
            caption = " ".join(words)
            for told in ("one figure of each point: processor time on one CPU, the median of a latency", "summary.md has the other percentiles", "Empty: the other cannot express it."):
                self.assertIn(told, caption)
            self.assertLess(max(picture.LETTER * len(line) for line in words), width, "a line that goes on beyond the edge is cut")

    def test_what_is_published_is_small_and_the_report_is_made_again(self) -> None:
        folder = self.folder()
        record = {"source_hash": "abc", "commit": "c", "complete": True, "verdicts": []}
        env = repo.read_json(folder / "env.json")
        env["verification"]["prove"] = record
        repo.write_json(folder / "env.json", env)
        self.assertEqual(apiary(self.root, "report", folder.name).returncode, 0)
        page, plain = (folder / "report.html").read_text(), {name: (folder / name).read_bytes() for name in ("rows.csv", "hist.csv")}
        for again in ("", "again"):
            self.assertEqual(self.splice(folder)[0], 0, again)
            self.assertEqual({name: lzma.decompress((folder / f"{name}.xz").read_bytes()) for name in plain}, plain)
            left = {path.name for path in folder.iterdir()}
            self.assertFalse(left & {"report.html", *plain})
            (proof,) = (folder.parent / "proofs").iterdir()
            self.assertEqual(json.loads(lzma.decompress(proof.read_bytes())), record)
            self.assertEqual(repo.read_json(folder / "env.json")["verification"]["prove"], {"kept_in": proof.name.removesuffix(".xz")})
            self.assertEqual(apiary(self.root, "report", folder.name).returncode, 0)
            self.assertEqual((folder / "report.html").read_text(), page)
        held = proof.read_bytes()
        for torn in (b"", held[: len(held) // 2], None):
            proof.write_bytes(torn) if torn is not None else proof.unlink()
            done = apiary(self.root, "report", folder.name)
            self.assertEqual((done.returncode, "its proof record" in done.stderr), (2, True), done.stderr)
        proof.write_bytes(held)
        packed = (folder / "hist.csv.xz").read_bytes()
        (folder / "hist.csv.xz").write_bytes(packed[: len(packed) // 2])
        done = apiary(self.root, "report", folder.name)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no whole result folder", done.stderr)

    def test_too_few_rounds_are_not_published(self) -> None:
        folder = self.folder("--rounds", "6")
        code, err, text = self.splice(folder)
        self.assertEqual((code, text), (2, PAGE), err)
        for words in ("is VALID, and is not published", "6 rounds, 10 are the least"):
            self.assertIn(words, err)
        self.assertTrue((folder / "hist.csv").exists(), "what is refused is left alone")
        self.assertIn("not for publication: a batch has 6 rounds", (folder / "summary.md").read_text())
        self.assertIn("<b>Batch VALID</b> Not for publication", (folder / "report.html").read_text())
        self.assertEqual(apiary(self.root, "report", "--index").returncode, 0)
        listed = (self.root / "results" / "index.html").read_text()
        self.assertRegex(listed, r'class="badge note">VALID<')
        self.assertNotIn("<th>how fine it looks</th>", listed, "what is not published stands in the fold")
        self.assertIn("6 rounds, 10 are the least", listed)

    def test_the_first_line_says_which_try_it_is(self) -> None:
        """Of the same plan, programs and source: another number of rounds is another plan, and changed source another batch."""
        first = self.folder("--rounds", "6").name
        again = "--plan", str(self.root / "build" / "plan.toml"), *(word for name in self.named for word in ("--subject", name))
        for words in (("--rounds", "5"), ("--rounds", "6"), ("--rounds", "6")):
            self.assertEqual(self.race(*again, *words).returncode, 0)
        other, second, third = sorted(path for path in (self.root / "results").iterdir() if path.name != first)
        before = [repo.read_json(path / "env.json")["race"]["earlier"] for path in (other, second, third)]
        self.assertEqual(before, [[], [first], [first, second.name]])
        page = (third / "report.html").read_text()
        self.assertIn(f"Try 3 of this plan on this source, after {first}, {second.name}.",
                      (third / "summary.md").read_text().split("\n\n")[2])
        self.assertLess(page.index("Try 3 of this plan"), page.index("<section"))
        (self.root / "impl" / "apiary" / "new.hpp").write_text("// another source\n")
        self.assertEqual(self.race(*again, "--rounds", "6").returncode, 0)
        newest = max((self.root / "results").iterdir())
        self.assertEqual(repo.read_json(newest / "env.json")["race"]["earlier"], [])

    def test_an_invalid_batch_is_refused(self) -> None:
        folder = self.folder(hive={"behaviour": "odd_control"})
        code, err, text = self.splice(folder)
        self.assertEqual((code, text), (2, PAGE))
        self.assertIn("is INVALID", err)

    def test_a_page_without_marks_is_refused_and_nothing_is_done(self) -> None:
        folder = self.folder()
        self.page.write_text("no marks\n")
        code, err, text = self.splice(folder)
        self.assertEqual((code, text), (2, "no marks\n"))
        self.assertIn("PAGE.md has no place for this", err)
        self.assertEqual(list(folder.glob("*.svg")), [])
        self.assertTrue((folder / "hist.csv").exists())

    def test_a_sweep_and_a_qualification_are_no_races_and_keep_their_summary(self) -> None:
        """Their arms are settings, or copies of one program; the newest folder may be one."""
        folder = self.folder()
        summed = folder / "summary.md"
        summed.write_text("keep the defaults\n")
        for name in ("tune.csv", "ablation.csv", "qualify.csv"):
            (folder / name).touch()
            done = apiary(self.root, "report")
            self.assertEqual((done.returncode, summed.read_text()), (2, "keep the defaults\n"), name)
            self.assertIn(f"{folder.name} is no race\n  cause:  it has {name}", done.stderr)
            (folder / name).unlink()
        (folder / "tune.csv").touch()
        code, err, text = self.splice(folder)
        self.assertEqual((code, text), (2, PAGE))
        self.assertIn("tune.csv", err)

    def test_a_folder_that_compares_nothing_is_refused(self) -> None:
        folder = self.folder()
        rows = tables.read(folder / "rows.csv", tables.ROWS)
        tables.write(folder / "rows.csv", tables.ROWS, [row for row in rows if row["subject"] == "hive"])
        code, err, text = self.splice(folder)
        self.assertEqual((code, text), (2, PAGE))
        self.assertIn("compares nothing", err)


class Tries(unittest.TestCase):
    def env(self, run_id: str, commit: str, source: str = "a") -> dict:
        race = {"plan": "p", "points": ["x"], "rounds_planned": 10, "block_ms": 20, "workers": 2, "commit": commit}
        return {"run_id": run_id, "env_id": "e", "race": race, "verification": {"prove_hash": source, "stress_hash": source}}

    def test_a_commit_of_prose_begins_nothing_anew_and_one_of_source_does(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            results = Path(name)
            (results / "first").mkdir()
            repo.write_json(results / "first" / "env.json", self.env("first", "1" * 40))
            self.assertEqual(folders.earlier(self.env("second", "2" * 40), results), ["first"])
            self.assertEqual(folders.earlier(self.env("second", "1" * 40, "b"), results), [])

    def test_a_folder_of_strange_content_ends_no_race(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            results = Path(name)
            for number, race in enumerate(([], {"arms": None}, {"arms": [5]}, "x")):
                (results / str(number)).mkdir()
                repo.write_json(results / str(number) / "env.json", {"race": race})
            self.assertEqual(folders.earlier(self.env("second", "1" * 40), results), [])

    def test_the_first_line_says_how_fine_it_looks_and_which_try_it_is(self) -> None:
        found = comparing.Validity(comparing.VALID, (), (), (), tells="tells 10 % at 3 of 4 points, 5 % at 1")
        self.assertEqual(splice.batch_line({"race": {}}, found), "Tells 10 % at 3 of 4 points, 5 % at 1.")
        self.assertIn("Try 2 of this plan", splice.batch_line({"race": {"earlier": ["first"]}}, found))


def compared(text: str) -> str:
    """What raced.sentence said when this page was made."""
    found = re.search(r"(?:The sources raced.* are those|Not the sources) of \S.*? compared\)(?:\.|: .*?\.|, but for .*? byte for byte\.)(?= Every row:|$)", " ".join(text.split()))
    return found[0] if found else ""


class FirstPage(unittest.TestCase):
    """README.md: short, and what it shows is what the tools say."""

    TEXT = (REAL_ROOT / "README.md").read_text()

    def test_it_is_short(self) -> None:
        self.assertLessEqual(len(self.TEXT.splitlines()), 100)
        self.assertEqual([line for line in self.TEXT.splitlines() if len(line) > splice.WIDTH and line[0] != "|"], [])

    def test_its_links_lead_somewhere(self) -> None:
        found = re.findall(r"\]\(([^)#]+)\)", self.TEXT)
        self.assertGreater(len(found), 8)
        self.assertEqual([name for name in found if not (REAL_ROOT / name).exists()], [])

    def test_what_a_page_links_to_is_in_the_repository(self) -> None:
        """A result folder that git ignores is there for its author alone."""
        def git(*words: str) -> list[str]:
            return subprocess.run(["git", "ls-files", *words], cwd=REAL_ROOT, capture_output=True, text=True).stdout.splitlines()

        there = {str(one) for name in git() for one in (Path(name), *Path(name).parents)}
        if not there:
            self.skipTest("no clone")
        lost = []
        for page in git("*.md", ":!results/2*"):
            text = (REAL_ROOT / page).read_text()
            for to in re.findall(r"\]\(([./\w-]*/[./\w-]+)|(?:src|srcset)=\"([^\"]+)\"", text):
                path = os.path.normpath(Path(page).parent / "".join(to))
                lost += [] if path in there else [f"{page}: {path}"]
        self.assertEqual(lost, [])

    def test_what_is_published_is_what_a_splice_says_today(self) -> None:
        """A rule of verdicts that changes changes them on the pages, too: report DIR --splice PAGE, then report DIR."""
        pages = [REAL_ROOT / "README.md", *sorted((REAL_ROOT / "impl/apiary/schedulers").rglob("*.md"))]
        said = {page: re.search(r"<!-- race -->\n(.*)\n<!-- /race -->", page.read_text(), re.S) for page in pages}
        said = {page: found[1] for page, found in said.items() if found and not re.search(r"No race[^.]* is published yet", found[1])}
        self.assertGreater(len(said), 4)
        told = set()  # a folder's summary is asked for once, however many pages show the folder
        read = mock.patch.object(summary, "load", functools.cache(summary.load))  # each folder is asked for by a page's text and by its summary
        for page, text in said.items():
            with self.subTest(page=page), read, mock.patch.object(raced, "sentence", lambda *_, text=text: compared(text)):
                folder = REAL_ROOT / "results" / re.search(r"\[results/([\w-]+)\]", text)[1]
                body, (report, ours) = splice.race(folder, page)
                self.assertEqual(text, body)
                for theme in picture.THEMES:
                    drawn = html.render("matrix.svg", c=picture.COLOURS[theme], **picture.view(report, ours))
                    self.assertEqual((folder / picture.file(theme, ours, report.ours)).read_text(), drawn)
                if folder not in told:
                    self.assertEqual((folder / "summary.md").read_text(), page_summary.markdown(page_data.load(folder)))
                told.add(folder)
        with read:
            found = six.lines(summary.load)
            self.assertEqual(six.DRAWING.read_text(), six.drawn(found))
            for page in (REAL_ROOT / "README.md", six.ROOMS / "README.md"):
                if text := re.search(r"<!-- six -->\n(.*)\n<!-- /six -->", page.read_text(), re.S):
                    with mock.patch.object(raced, "sentence", lambda *_, text=text[1]: compared(text)):
                        self.assertEqual(text[1], six.body(page, found, summary.load), page)

    def test_what_a_page_says_of_its_sources_is_of_the_day_when_it_was_made(self) -> None:
        """The commit that has the page is a later one, and its sources change after that."""
        for said in ("The sources raced are those of commit abc (2 files, compilers, packages and flags compared).",
                     "The sources raced are those of commit abc (2 files, compilers, packages and flags compared), but for a.rs: every program comes out the same, byte for byte.",
                     "The sources raced by 1 of 4 races, the others left no record, are those of commit abc (2 files, compilers, packages; flags were not compared).",
                     "Not the sources of commit abc with uncommitted changes (2 files, compilers, packages; flags were not compared): a/b.hpp, c.cpp and 3 more."):
            text = "\n\n".join(["before.", splice.filled(f"Source: proved. {said} Every row: [results/x](x)."), "after"])
            self.assertEqual((compared(text), compared(splice.filled(f"Raced at commit abc. {said}"))), (said, said))
        self.assertEqual(compared("Source: proved. Every row: x."), "", "raced before there was a record")

    def test_each_of_the_six_has_its_worst_loss_beside_how_fine_the_race_looked(self) -> None:
        text = next(text for page in (self.TEXT, (REAL_ROOT / "impl/apiary/schedulers/README.md").read_text())
                    if (text := page.partition("<!-- six -->")[2].partition("<!-- /six -->")[0]))
        rows = re.findall(r"^\| \[(\w+)\].*$", text, re.M)
        self.assertEqual(rows, [name for name, _ in six.listed()])
        self.assertEqual(len(re.findall(r"^\| \[\w+\].* tells (?:\d|×).* \| (?:×[\d.]+ of \S+, [a-z ]+|none )[^`|]*\(\d+ of \d+\) \|.*$", text, re.M)), len(rows))

    def test_its_commands_of_apiary_parse_and_those_of_the_page_that_it_names(self) -> None:
        for text in (self.TEXT, (REAL_ROOT / "bench" / "README.md").read_text()):
            joined = text.replace("\\\n", " ")
            found = re.findall(r"^\s*(?:\$APIARY/)?scripts/apiary (\w+)([^#|\n]*)", joined, re.M)
            self.assertGreaterEqual(len(found), 3)
            for verb, words in found:
                main.parse(verb, words.partition("||")[0].split())


class Garbage(unittest.TestCase):
    def test_curves_that_are_no_table_are_told_by_name(self) -> None:
        with tempfile.TemporaryDirectory() as name, mock.patch.object(six, "CURVES", Path(name) / "curves.csv"):
            for text in ("subject,scenario\nhive,fib\n", "subject,scenario,workers,ns\nhive,fib,many,1\n", "subject,scenario,workers,ns\nhive\n", "\0"):
                six.CURVES.write_text(text)
                with self.subTest(text=text), self.assertRaisesRegex(Fault, "curves.csv cannot be read"):
                    six.modelled()

    def test_a_torn_race_is_not_the_widest_and_ends_no_page(self) -> None:
        def load(folder: Path) -> tuple:
            raise Fault(f"{folder} is no whole result folder")

        with tempfile.TemporaryDirectory() as name, mock.patch.object(repo, "RESULTS", Path(name)):
            torn = Path(name) / "20261126T010203Z-x"
            torn.mkdir()
            repo.write_json(torn / "env.json", {"race": {"plan": "scaling"}})
            self.assertIsNone(six.widest(load))

    def test_a_stamp_of_no_month_is_no_date(self) -> None:
        self.assertEqual([six.date(stamp) for stamp in ("20261126T01", "20261326T01", "20260026T01")], ["26 November 2026", "20261326T01", "20260026T01"])


if __name__ == "__main__":
    unittest.main()
