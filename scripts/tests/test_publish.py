"""publish: its plan, what it refuses, and that it goes on where it was stopped; by a runner that only pretends."""

from __future__ import annotations

import argparse
import contextlib
import io
import signal
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from apiary_cli.analysis import compare_folders, comparing, former
from apiary_cli.base import errors, repo, stats
from apiary_cli.base.errors import Fault, HARNESS, INCORRECT, INVALID_BATCH
from apiary_cli.race import folder as folders, scenarios
from apiary_cli.verbs import publish

STEPS = (publish.Step("proofs", publish.EVIDENCE, 1, ("prove",)), publish.track("posts", "publish", 2, "hive"),
         publish.track("loops", "no_such_plan", 3), publish.track("graphs", "graphs", 2, "task_graph"))
GOOD = {"folder": "results/2026", "published": True, "tells": "tells 10 % at 3 of 3 points"}


def asked(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    publish.arguments(parser)
    return parser.parse_args(words)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(TemporaryDirectory()))
        self.state_file = self.folder / "state.json"
        for name, value in (("STATE", self.state_file), ("FOLDER", self.folder), ("STEPS", STEPS)):
            self.enterContext(mock.patch.object(publish, name, value))
        self.enterContext(mock.patch.object(publish, "warn", lambda text: self.said.append(text)))
        self.enterContext(contextlib.redirect_stdout(io.StringIO()))
        self.ran: list[str] = []
        self.said: list[str] = []

    def state(self, commit: str = "c", machine: str = "m") -> publish.State:
        return publish.State(commit, machine, repo.read_json(self.state_file))

    def perform(self, *ends: tuple[int, dict], now: tuple[str, str] = ("c", "m")) -> int:
        """Each step that runs ends by the next of these; after the last with what is good."""
        left = list(ends)

        def pretend(words, _):
            self.ran.append(" ".join(words[:3]))
            return left.pop(0) if left else (0, GOOD)

        return publish.perform(STEPS, self.state(), pretend, lambda: now)


class GoesOn(Case):
    def test_all_is_done_once_and_a_plan_that_is_not_here_is_named(self) -> None:
        self.assertEqual(self.perform(), 0)
        self.assertEqual(self.ran, ["prove", "race --plan publish", "race --plan graphs"])
        self.assertEqual(self.said, ["loops is left out: no plan no_such_plan in this tree"])
        self.assertEqual((self.perform(), len(self.ran)), (0, 3), "what is done stays done")

    def test_what_was_stopped_goes_on_and_what_was_done_before_it_does_not_run_again(self) -> None:
        self.assertEqual(self.perform((0, {}), (130, {})), 130)
        self.assertEqual(self.perform(), 0)
        self.assertEqual(self.ran, ["prove", "race --plan publish", "race --plan publish", "race --plan graphs"])

    def test_a_race_that_was_stopped_goes_on_with_its_next_round(self) -> None:
        self.perform((0, {}), (130, {}))
        since = self.state().of("posts")["since"]
        left = self.folder / f"{since}-vm{folders.UNFINISHED}"
        left.mkdir()
        repo.write_json(left / folders.STATE, {"words": ["--plan", "publish"]})
        with mock.patch.object(folders, "unfinished", lambda: [left]):
            self.assertEqual(publish.words_of(STEPS[1], self.state()), ("race", "--resume", f"{since}-vm"))
            self.assertEqual(publish.words_of(STEPS[3], self.state()), STEPS[3].words, "of another plan")
            with mock.patch.object(repo, "utc_stamp", lambda: "2999"):
                self.perform((130, {}))
            self.assertEqual((self.ran[-1], self.state().of("posts")["since"]), (f"race --resume {since}-vm", since), "stopped again, it goes on again")
        older = self.folder / f"20200101T000000Z-vm{folders.UNFINISHED}"
        older.mkdir()
        repo.write_json(older / folders.STATE, {"words": ["--plan", "publish"]})
        with mock.patch.object(folders, "unfinished", lambda: [older]):
            self.assertEqual(publish.words_of(STEPS[1], self.state()), STEPS[1].words, "of an earlier day")

    def test_red_evidence_ends_it_and_an_invalid_track_is_not_published_and_raced_again(self) -> None:
        self.assertEqual((self.perform((1, {})), self.ran), (INCORRECT, ["prove"]))
        self.assertEqual(self.perform((0, {}), (0, GOOD | {"published": False, "bars": ["few"]})), INVALID_BATCH)
        self.assertFalse(self.state().done("posts"))
        self.assertTrue(self.state().done("graphs"), "one track ends no other")
        self.ran.clear()
        self.assertEqual((self.perform(), self.ran), (0, ["race --plan publish"]))

    def test_a_step_that_ends_by_a_status_that_no_verb_promises_has_failed(self) -> None:
        for code in (2, 5, 127):
            with self.subTest(code=code):
                self.state_file.unlink(missing_ok=True)
                self.assertEqual(self.perform((0, {}), (code, {})), HARNESS)
                self.assertEqual(publish.rows(self.state())[1][1], "FAILED")
                self.assertEqual(self.perform((0, GOOD)), 0, "and runs again")

    def test_a_step_that_failed_is_kept_as_failed(self) -> None:
        self.assertEqual(self.perform((0, {}), (HARNESS, {})), HARNESS)
        self.assertEqual([row[1] for row in publish.rows(self.state())], ["done", "FAILED", "no plan no_such_plan in this tree", "done"])


class Refuses(Case):
    def test_another_commit_or_machine_is_never_mixed_in(self) -> None:
        self.perform((0, {}), (130, {}))
        for now in (("other", "m"), ("c", "other")):
            with self.assertRaisesRegex(Fault, "of another"):
                self.perform(now=now)
            with self.assertRaisesRegex(Fault, "of another"):
                publish.State(*now, repo.read_json(self.state_file))
        self.assertEqual(len(self.ran), 2)

    def test_a_dirty_tree_is_refused_and_what_a_publication_writes_is_not_dirt(self) -> None:
        with self.assertRaisesRegex(Fault, "differs from its commit"):
            publish.refuse_dirty(["impl/x.hpp"])
        publish.refuse_dirty([])
        self.assertEqual([publish.written(path) for path in ("results/six.svg", "README.md", "impl/apiary/schedulers/hive/README.md",
                                                             "impl/apiary/schedulers/hive/hive.hpp", "scripts/x.py")], [True] * 3 + [False] * 2)

    def test_a_publication_begins_with_a_clean_tree_and_goes_on_beside_its_own_pages(self) -> None:
        tree = {"changed": lambda: ["results/six.svg"], "kind_of_machine": lambda: "m"}
        with mock.patch.multiple(publish, **tree), mock.patch.object(repo, "commit", lambda: "c"):
            with self.assertRaisesRegex(Fault, "differs from its commit"):
                publish.begun(anew=False)
            self.state().keep()
            publish.begun(anew=False)
            with mock.patch.object(publish, "changed", lambda: ["results/six.svg", "impl/x.hpp"]), self.assertRaisesRegex(Fault, "differs"):
                publish.begun(anew=False)

    def test_a_torn_state_is_refused(self) -> None:
        for text in ("{", "[]", "{}", '{"commit": "c", "machine": "m"}', '{"commit": "c", "machine": "m", "steps": []}',
                     '{"commit": "c", "machine": "m", "steps": {"posts": 0}}', '{"commit": 1, "machine": "m", "steps": {}}'):
            self.state_file.write_text(text)
            for words in ([], ["--dry-run"]):
                with self.subTest(text=text, words=words), self.assertRaisesRegex(Fault, "cannot be read"):
                    publish.run(asked(*words))

    def test_a_dry_run_says_what_would_be_refused(self) -> None:
        self.state("another").keep()
        with mock.patch.object(publish, "changed", lambda: ["impl/x.hpp"]):
            self.assertEqual(publish.run(asked("--dry-run")), 0)
        self.assertEqual([said.partition(":")[0] for said in self.said], ["it would be refused"] * 2)
        self.assertIn("of another commit", self.said[0])

    def test_two_at_once_are_refused(self) -> None:
        with publish.alone(), self.assertRaisesRegex(Fault, "another publication"):
            publish.run(asked())


class Stopped(Case):
    def test_a_step_ends_by_itself_where_the_publication_is_stopped(self) -> None:
        """A race that was told to end leaves what it has; one that was killed does not."""
        verb = self.folder / "scripts" / "apiary"
        verb.parent.mkdir()
        verb.write_text("import os, signal, sys, time\ndef end(*_):\n    time.sleep(0.2); open(sys.argv[1], 'w').write('kept'); os._exit(143)\n"
                        "signal.signal(signal.SIGTERM, end)\nos.kill(os.getppid(), signal.SIGUSR1)\ntime.sleep(60)\n")

        def stop(number: int, _: object) -> None:
            raise errors.Stopped(number)

        self.addCleanup(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, stop))
        with mock.patch.object(repo, "ROOT", self.folder), self.assertRaises(errors.Stopped):
            publish.by_command([str(self.folder / "left")], self.folder / "told.json")
        self.assertEqual((self.folder / "left").read_text(), "kept")


class ItsPlan(unittest.TestCase):
    def test_the_tracks_take_150_minutes_in_all_and_evidence_comes_first(self) -> None:
        self.assertEqual(sum(step.minutes for step in publish.STEPS if step.kind == publish.TRACK), publish.RACING)
        kinds = [step.kind for step in publish.STEPS]
        self.assertEqual(kinds, sorted(kinds, key=(publish.EVIDENCE, publish.TRACK, publish.AFTER).index))

    def test_each_command_parses(self) -> None:
        from apiary_cli import main

        for step in publish.STEPS:
            if not publish.absent(step):
                main.parse(step.words[0], [*step.words[1:], "--json", "x"])


class Former(unittest.TestCase):
    def one(self, ratio: float, verdict: str, anchors: tuple = ("tokio",)) -> compare_folders.FolderComparison:
        estimate = stats.estimate([(ratio * one, one) for one in (1.0, 2.0, 3.0)])
        return compare_folders.FolderComparison(("fib", "n=27", "free"), scenarios.known_by("fib", "free"), "hive", anchors, estimate, 0.03, verdict, [])

    def test_what_is_slower_than_before_is_told_first_the_worst_of_it_before_the_rest(self) -> None:
        found = [self.one(1.2, stats.REGRESSED), self.one(1.5, stats.REGRESSED), self.one(0.5, stats.IMPROVED), self.one(9.0, stats.INCONCLUSIVE, ())]
        with mock.patch.object(compare_folders, "compare", lambda *_: found), TemporaryDirectory() as name:
            record = former.found([], [], "old")
            self.assertEqual(record["compared"], {"hive": 3})
            self.assertEqual([one.partition("×")[2][:4] for one in record["slower"]["hive"]], ["1.50", "1.20"])
            self.assertEqual(former.told(Path(name), ["hive"]), "", "the first of its track")
            repo.write_json(Path(name) / former.FILE, record)
            self.assertTrue(former.told(Path(name), ["hive"]).startswith("**Slower than before** (old, "))
            self.assertIn("Nothing is slower than in the race before, old (0 comparisons).", former.told(Path(name), ["task_graph"]))

    def test_the_page_of_the_publication_begins_with_it(self) -> None:
        state = publish.State("c" * 40, "m")
        text = publish.summed(state, {"posts": ["hive: fib ×1.50"]})
        self.assertLess(text.index("- posts: hive: fib ×1.50"), text.index("## Steps"))


if __name__ == "__main__":
    unittest.main()
