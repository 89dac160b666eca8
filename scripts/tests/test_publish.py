"""publish: its plan, what it refuses, and that it goes on where it was stopped; by a runner that only pretends."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import signal
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from apiary_cli.analysis import compare_folders, comparing, former
from apiary_cli.base import errors, repo, stats
from apiary_cli.base.errors import Fault, HARNESS, INCORRECT, INVALID_BATCH
from apiary_cli.race import folder as folders, plans, raced, scenarios, shelf
from apiary_cli.verbs import publish

PROOFS = publish.Step("proofs", publish.EVIDENCE, 1, ("prove",))
STEPS = (PROOFS, publish.track("posts", "publish", 2, "hive"), publish.track("loops", "no_such_plan", 3),
         publish.track("graphs", "graphs", 2, "task_graph"))
GOOD = {"folder": "results/2026", "published": True, "tells": "tells 10 % at 3 of 3 points"}


def asked(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    publish.arguments(parser)
    return parser.parse_args(words)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(TemporaryDirectory()))
        self.state_file = self.folder / "publication-m.json"
        self.commit, self.outdated = "c1", {}
        for name, value in (("STATES", self.folder), ("FOLDER", self.folder), ("STEPS", STEPS)):
            self.enterContext(mock.patch.object(publish, name, value))
        self.enterContext(mock.patch.object(publish, "warn", lambda text: self.said.append(text)))
        self.enterContext(mock.patch.object(repo, "commit", lambda: self.commit))
        self.enterContext(mock.patch.object(raced, "configured", raced.Tree))
        self.shelved: list[str] = []
        self.enterContext(mock.patch.object(shelf, "publish", lambda folder: self.shelved.append(folder.name)))
        self.enterContext(mock.patch.object(publish, "outdated", lambda step, *_: self.outdated.get(step.name, "")))
        self.told = self.enterContext(contextlib.redirect_stdout(io.StringIO()))
        self.ran: list[str] = []
        self.said: list[str] = []

    def state(self, machine: str = "m") -> publish.State:
        return publish.State(machine, publish.kept(machine, False))

    def perform(self, *ends: tuple[int, dict], machine: str = "m", minutes: float | None = None, steps: tuple = STEPS) -> int:
        """Each step that runs ends by the next of these; after the last with what is good."""
        left, state = list(ends), self.state()

        def pretend(words, _):
            self.ran.append(" ".join(words[:3]))
            return left.pop(0) if left else (0, GOOD)

        return publish.perform(steps, state, pretend, lambda: state.same(machine), minutes)


class GoesOn(Case):
    def test_all_is_done_once_and_a_plan_that_is_not_here_is_named(self) -> None:
        self.assertEqual(self.perform(), 0)
        self.assertEqual(self.ran, ["prove", "race --plan publish", "race --plan graphs"])
        self.assertEqual(self.said, ["loops is left out: no plan no_such_plan in this tree"])
        self.assertEqual(self.shelved, ["2026", "2026"], "tracks alone")
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
        asked = [*STEPS[1].words[1:], "--json", str(publish.told_by(STEPS[1]))]
        repo.write_json(left / folders.STATE, {"words": asked})
        raced.write(left, [], plans.plan("publish"))
        with mock.patch.object(folders, "unfinished", lambda: [left]):
            self.assertEqual(publish.words_of(STEPS[1], self.state()), ("race", "--resume", f"{since}-vm"))
            self.assertEqual(publish.words_of(STEPS[3], self.state()), STEPS[3].words, "of another plan")
            repo.write_json(left / folders.STATE, {"words": ["--plan", "publish", "--believe"]})
            self.assertEqual(publish.words_of(STEPS[1], self.state()), STEPS[1].words, "a race by hand, with options of its own")
            repo.write_json(left / folders.STATE, {"words": asked})
            with mock.patch.object(repo, "utc_stamp", lambda: "2999"):
                self.perform((130, {}))
            self.assertEqual((self.ran[-1], self.state().of("posts")["since"]), (f"race --resume {since}-vm", since), "stopped again, it goes on again")
            with mock.patch.object(raced, "why_not", lambda *_: "changed since"):
                self.assertEqual(publish.words_of(STEPS[1], self.state()), STEPS[1].words, "of another source")
        older = self.folder / f"20200101T000000Z-vm{folders.UNFINISHED}"
        older.mkdir()
        repo.write_json(older / folders.STATE, {"words": asked})
        with mock.patch.object(folders, "unfinished", lambda: [older]):
            self.assertEqual(publish.words_of(STEPS[1], self.state()), STEPS[1].words, "of an earlier day")

    def test_a_disk_that_is_full_when_a_folder_is_made_small_loses_no_race(self) -> None:
        with mock.patch.object(shelf, "publish", side_effect=OSError(28, "No space left on device")), self.assertRaises(OSError):
            self.perform()
        self.assertTrue(self.state().done("posts"))

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
    def test_another_machine_is_never_mixed_in(self) -> None:
        self.perform((0, {}), (130, {}))
        with self.assertRaisesRegex(Fault, "of another machine"):
            self.perform(machine="other")
        with self.assertRaisesRegex(Fault, "of another machine"):
            publish.State("other", publish.kept("m", False))
        self.assertEqual(len(self.ran), 2)

    def test_each_kind_of_machine_goes_on_with_its_own(self) -> None:
        self.perform((0, {}), (130, {}))
        kinds = ("An AMD (R) 7, 2 CPUs, hypervisor KVM", "An AMD (R) 7, 4 CPUs, hypervisor KVM")
        self.assertEqual(publish.state_of(kinds[0]).name, "publication-an-amd-r-7-2-cpus-hypervisor-kvm.json")
        for kind in kinds:
            self.assertEqual(self.state(kind).told["steps"], {}, "nothing of another's is taken over")
            self.state(kind).keep()
        self.assertTrue(self.state().done("proofs"))

    def test_a_dirty_tree_is_refused_and_what_a_publication_writes_is_not_dirt(self) -> None:
        with self.assertRaisesRegex(Fault, "differs from its commit"):
            publish.refuse_dirty(["impl/x.hpp"])
        publish.refuse_dirty([])
        self.assertEqual([publish.written(path) for path in ("results/six.svg", "README.md", "impl/apiary/schedulers/hive/README.md", "bench/hazards/README.md",
                                                             "impl/apiary/schedulers/hive/hive.hpp", "scripts/x.py")], [True] * 4 + [False] * 2)

    def test_a_publication_begins_with_a_clean_tree_and_goes_on_beside_its_own_pages(self) -> None:
        with mock.patch.multiple(publish, changed=lambda: ["results/six.svg"], kind_of_machine=lambda: "m"):
            with self.assertRaisesRegex(Fault, "differs from its commit"):
                publish.begun(anew=False)
            self.state().keep()
            publish.begun(anew=False)
            with mock.patch.object(publish, "changed", lambda: ["results/six.svg", "impl/x.hpp"]), self.assertRaisesRegex(Fault, "differs"):
                publish.begun(anew=False)

    def test_a_race_beside_the_state_and_the_pages_of_its_publication_is_of_a_clean_tree(self) -> None:
        (self.folder / "impl").mkdir()
        (self.folder / "impl" / "x.hpp").write_text("int a;\n")
        with mock.patch.object(repo, "ROOT", self.folder):
            for words in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")):
                repo.git(*words, must=True)
            for name, dirty in (("results/publication-m.json", False), ("impl/README.md", False), ("impl/y.hpp", True)):
                repo.write_text(self.folder / name, "{}")
                with self.subTest(name=name):
                    self.assertEqual(repo.dirty(), dirty)
            (self.folder / "impl" / "y.hpp").unlink()
            (self.folder / "impl" / "x.hpp").write_text("int b;\n")
            self.assertTrue(repo.dirty())

    def test_a_torn_state_is_refused(self) -> None:
        whole = '{"machine": "m", "began": "b", "steps": {"posts": %s}}'
        for text in ("{", "[]", "{}", '{"machine": "m", "began": "b"}', '{"machine": "m", "began": "b", "steps": []}', '{"machine": 1, "began": "b", "steps": {}}',
                     whole % "0", whole % '{"took": "long"}', whole % '{"folder": 7}', whole % '{"code": []}', whole % '{"commit": null}', whole % '{"bars": "few"}', whole % '{"reasons": [1]}'):
            self.state_file.write_text(text)
            for words in ([], ["--dry-run"]):
                with (self.subTest(text=text, words=words), mock.patch.object(publish, "kind_of_machine", lambda: "m"),
                      self.assertRaisesRegex(Fault, "cannot be read")):
                    publish.run(asked(*words))

    def test_a_dry_run_says_what_would_be_refused_and_what_would_be_done_again_and_keeps_nothing(self) -> None:
        self.perform()
        before, self.outdated = self.state_file.read_text(), {"posts": "impl/x.hpp changed"}
        configured = self.enterContext(mock.patch.object(raced, "configured"))
        self.state("other").keep()
        with mock.patch.multiple(publish, changed=lambda: ["impl/x.hpp"], kind_of_machine=lambda: "m"):
            self.said.clear()
            self.assertEqual(publish.run(asked("--dry-run")), 0)
        self.assertEqual([said.partition(":")[0] for said in self.said], ["it would be refused"])
        self.assertIn("of other kinds of machines: publication-other.json", self.told.getvalue())
        configured.assert_not_called()
        self.assertIn("posts: again, since impl/x.hpp changed", self.told.getvalue())
        self.assertEqual(self.state_file.read_text(), before)

    def test_two_at_once_are_refused(self) -> None:
        with publish.alone(), self.assertRaisesRegex(Fault, "another publication"):
            publish.run(asked())


class Sources(Case):
    """Several quiet hours, with commits in between."""

    def test_what_is_done_stays_done_at_a_later_commit_and_says_where_it_was_done(self) -> None:
        self.perform((0, {}), (130, {}))
        self.commit = "c2"
        self.assertEqual(self.perform(), 0)
        self.assertEqual(self.ran, ["prove", "race --plan publish", "race --plan publish", "race --plan graphs"])
        self.assertEqual([row[3] for row in publish.rows(self.state())], ["c1", "c2", "", "c2"])

    def test_a_step_whose_sources_changed_is_done_again_and_no_other(self) -> None:
        self.perform()
        self.ran.clear()
        self.commit, self.outdated = "c2", {"posts": "changed since it was raced: impl/x.hpp"}
        self.assertEqual(self.perform(), 0)
        self.assertEqual(self.ran, ["race --plan publish"])
        self.assertIn("posts: again, since changed since it was raced: impl/x.hpp", self.told.getvalue())
        self.assertEqual([row[3] for row in publish.rows(self.state())], ["c1", "c2", "", "c1"])

    def test_a_step_that_is_to_be_done_again_and_was_stopped_before_is_to_do(self) -> None:
        self.perform()
        self.outdated = {"posts": "why"}
        self.assertEqual(self.perform(minutes=0.001), 0)
        self.assertEqual([row[1] for row in publish.rows(self.state())][:2], ["done", "to do again"])
        self.outdated = {}
        self.ran.clear()
        self.assertEqual((self.perform(), self.ran), (0, ["race --plan publish"]), "a source that came back brings no rows back")


class Minutes(Case):
    def test_whole_steps_that_fit_are_done_and_the_rest_is_named(self) -> None:
        self.assertEqual(self.perform(minutes=4), 0)
        self.assertEqual(self.ran, ["prove", "race --plan publish", "race --plan graphs"], "a pretended step takes no time")
        self.state_file.unlink()
        self.ran.clear()
        self.assertEqual(self.perform(minutes=1.5), 0)
        self.assertEqual(self.ran, ["prove"])
        self.assertIn("posts waits: it takes about 2 min 00 s", self.told.getvalue())
        self.assertIn("remains: posts, graphs; about 4 min 00 s", self.told.getvalue())

    def test_what_a_step_took_is_its_next_estimate_and_what_is_done_of_it_is_not_asked_again(self) -> None:
        state = self.state()
        self.assertEqual(state.seconds(STEPS[1]), 120)
        state.note("posts", took=50.0)
        self.assertEqual(state.seconds(STEPS[1]), 50)
        state.note("posts", spent=30)
        self.assertEqual(state.seconds(STEPS[1]), 20)
        publish.perform(STEPS[1:2], state, lambda *_: (130, {}), lambda: None)
        self.assertEqual(state.of("posts")["took"], 50, "a stop changes no estimate")
        with mock.patch.object(publish.time, "monotonic", iter(range(0, 90, 10)).__next__):
            publish.do(STEPS[1], state, lambda *_: (0, GOOD))
        self.assertEqual(state.of("posts")["took"], 10)

    def test_a_track_that_was_stopped_and_begins_anew_is_given_all_its_minutes(self) -> None:
        """Another clone has not the rounds, and a changed source throws them away."""
        self.perform((0, {}), (130, {}))
        self.state().note("posts", spent=110)
        self.assertEqual((self.perform(minutes=1, steps=STEPS[1:2]), len(self.ran)), (0, 2))
        self.assertIn("posts waits: it takes about 2 min 00 s", self.told.getvalue())

    def test_a_signal_to_the_publication_itself_keeps_what_was_spent_on_a_race(self) -> None:
        def stop(*_: object) -> None:
            raise errors.Stopped(signal.SIGTERM)

        state = self.state()
        with mock.patch.object(publish.time, "monotonic", iter(range(0, 900, 50)).__next__), self.assertRaises(errors.Stopped):
            publish.do(STEPS[1], state, stop)
        self.assertEqual((self.state().of("posts").get("spent"), self.state().seconds(STEPS[1])), (50, 70))
        self.assertNotIn("code", self.state().of("posts"))

    def test_no_track_begins_while_evidence_waits_unless_it_is_named(self) -> None:
        state = self.state()
        state.note("proofs", took=600.0)
        self.assertEqual((self.perform(minutes=5), self.ran), (0, []))
        self.assertIn("posts waits: it needs the evidence: proofs", self.told.getvalue())
        self.assertEqual((self.perform(minutes=5, steps=STEPS[1:2]), self.ran), (0, ["race --plan publish"]))

    def test_pages_wait_for_what_is_left(self) -> None:
        made = []
        with mock.patch.multiple(publish, pages=lambda _: made.append("pages") or {}, by_command=lambda *_: (0, GOOD), clean=lambda _: None,
                                 kind_of_machine=lambda: "m", PAGE=self.folder / "summary.md"):
            self.assertEqual((publish.published([], self.state(), 1.5), made), (0, []))
            self.assertEqual((publish.published([], self.state()), made), (0, ["pages"]))


class Builds(Case):
    def build(self, *words: str, gone: str = "") -> list[str]:
        """The subjects that are built, where all but `gone` can be."""
        got: dict[str, list[str]] = {}

        def build_all(names):
            got["built"] = list(names)
            return [Path(f"/b/subject_{name}") for name in names if name != gone]

        with (mock.patch.object(publish.setup, "ensure", lambda peers: got.update(installed=peers)),
              mock.patch.object(publish.subjects, "build_all", build_all), mock.patch.object(publish, "perform") as performed):
            self.assertEqual(publish.run(asked("--build", *words)), 0)
        self.assertEqual((got["installed"], performed.called, self.state_file.exists()), (got["built"], False, False), "nothing is begun")
        return got["built"]

    def test_what_tracks_race_is_built_before_their_minutes_and_nothing_else_is_done(self) -> None:
        graphs = list(plans.plan("graphs").subjects)
        self.assertEqual(self.build("--step", "graphs"), graphs)
        self.assertEqual(set(self.build()), {*plans.plan("publish").subjects, *graphs}, "each once, of the plans that are here")
        for step in ("proofs", "loops"):  # evidence builds its own; of the other this tree has no plan
            with mock.patch.object(publish.setup, "ensure") as installed:
                self.assertEqual((publish.run(asked("--build", "--step", step)), installed.called), (0, False))
            self.assertIn(f"nothing to build: no track of this tree is among {step}", self.told.getvalue())

    def test_it_waits_for_a_publication_and_refuses_what_it_would_ignore(self) -> None:
        with publish.alone(), self.assertRaisesRegex(Fault, "another publication"):
            self.build("--step", "graphs")
        for words, named in ((("--anew",), "--anew"), (("--minutes", "5"), "--minutes"), (("--anew", "--minutes", "5"), "--anew and --minutes")):
            with self.assertRaisesRegex(Fault, f"--build with {named}"):
                self.build(*words)

    def test_a_peer_that_would_be_missing_is_named_before_an_hour_is_raced_without_it(self) -> None:
        with self.assertRaisesRegex(Fault, f"would not race: {plans.plan('graphs').subjects[1]}"):
            self.build("--step", "graphs", gone=plans.plan("graphs").subjects[1])


class Outdated(unittest.TestCase):
    """By what is in the folders, the records and the tree."""

    def setUp(self) -> None:
        self.root = Path(self.enterContext(TemporaryDirectory()))
        for name, value in (("ROOT", self.root), ("RESULTS", self.root / "results"), ("BUILD", self.root / "build")):
            self.enterContext(mock.patch.object(repo, name, value))
        self.enterContext(mock.patch.object(raced, "RUNNER", ()))
        self.state = publish.State("m")
        (self.root / "impl").mkdir()
        (self.root / "impl" / "a.hpp").write_text("int a;\n")
        self.record = self.root / "build" / "prove.json"

    def why(self, step: publish.Step) -> str:
        return publish.outdated(step, self.state, raced.Tree())

    def raced(self, text: str | None = None) -> publish.Step:
        folder = self.root / "results" / "2026"
        folder.mkdir(parents=True, exist_ok=True)
        raced.write(folder, [], plans.plan("graphs"))
        told = (folder / raced.FILE).read_text()
        digest = raced.sources.digest(self.root / "impl" / "a.hpp")
        (folder / raced.FILE).write_text(f"{digest}  impl/a.hpp\n{told}" if text is None else text)
        self.state.told["steps"]["graphs"] = {"code": 0, "folder": "results/2026"}
        return STEPS[3]

    def test_a_track_stands_until_a_file_of_its_programs_or_a_point_of_its_plan_changes(self) -> None:
        track = self.raced()
        self.assertEqual(self.why(track), "")
        (self.root / "impl" / "b_test.cpp").write_text("another file")
        self.assertEqual(self.why(track), "")
        (self.root / "impl" / "a.hpp").write_text("int b;\n")
        self.assertEqual(self.why(track), "changed since it was raced: impl/a.hpp")
        (self.root / "impl" / "a.hpp").write_text("int a;\n")
        self.assertEqual(self.why(track), "")
        fewer = plans.plan("loops")
        with mock.patch.object(plans, "plan", lambda _: fewer):
            self.assertEqual(self.why(track), "changed since it was raced: the plan graphs")

    def test_a_folder_that_is_gone_or_says_nothing_that_can_be_read_is_raced_again(self) -> None:
        track = self.raced()
        for text in ("", "garbage", "00  x\n", "\0\0", "z" * 64 + "  impl/a.hpp\n", raced.sources.digest(self.root / "impl/a.hpp") + "  impl/a.hpp\n"):
            self.raced(text)
            with self.subTest(text=text):
                self.assertEqual(self.why(track), "results/2026 has no sources.txt that can be read")
        for folder in ("results/2025", "/etc", "../..", ""):
            self.state.told["steps"]["graphs"]["folder"] = folder
            with self.subTest(folder=folder):
                self.assertRegex(self.why(track), "is not here$|has no sources.txt")

    def test_a_program_that_does_not_say_what_it_was_made_of_is_of_no_tree(self) -> None:
        program = self.root / "peer"
        program.write_text("#!/bin/sh\n")
        folder = self.root / "results" / "2026"
        folder.mkdir(parents=True)
        raced.write(folder, [program], plans.plan("graphs"))
        self.assertIn("peer, which does not say what it was made of", raced.why_not(folder, raced.Tree()))

    def test_evidence_stands_while_its_record_is_of_this_source(self) -> None:
        step = publish.Step("proofs", publish.EVIDENCE, 1, ("prove",), (), ("impl",), self.record)
        self.assertEqual(self.why(step), "build/prove.json is not here", "cleaned away, or another clone")
        self.state.told["steps"]["proofs"] = {"code": 0, "source_hash": repo.source_hash("impl")}
        repo.write_json(self.record, {"source_hash": repo.source_hash("impl")})
        self.assertEqual(self.why(step), "")
        (self.root / "impl" / "a.hpp").write_text("int b;\n")
        self.assertEqual(self.why(step), "build/prove.json is not of this source")
        repo.write_json(self.record, {"source_hash": repo.source_hash("impl")})
        self.assertEqual(self.why(step), "one of impl changed", "a call for a single check left this record")
        self.record.write_text("torn {")
        self.assertEqual(self.why(step), "build/prove.json is not of this source")

    def test_another_clone_gets_the_records_that_git_has_if_they_are_of_its_source(self) -> None:
        step = publish.Step("proofs", publish.EVIDENCE, 1, ("prove",), (), ("impl",), self.record)
        found = {"source_hash": repo.source_hash("impl"), "passed": 7}
        with mock.patch.object(publish, "KEPT", self.root / "results" / "evidence"), mock.patch.object(publish, "warn") as warned:
            publish.keep_record(step)
            self.assertFalse(publish.KEPT.exists(), "there is none yet")
            repo.write_json(self.record, found)
            publish.keep_record(step)
            self.record.unlink()
            publish.bring_records_back([step, publish.track("graphs", "graphs", 2)])
            self.assertEqual(repo.read_json(self.record), found)
            repo.write_json(self.record, {"source_hash": "of a later run"})
            publish.bring_records_back([step])
            self.assertEqual(repo.read_json(self.record), {"source_hash": "of a later run"}, "what is here stays")
            self.record.unlink()
            (self.root / "impl" / "a.hpp").write_text("int b;\n")
            publish.bring_records_back([step])
            self.assertFalse(self.record.exists(), "of another source")
            warned.assert_not_called()
            (publish.KEPT / "prove.json.xz").write_bytes(b"torn")
            publish.bring_records_back([step])
            self.assertFalse(self.record.exists())
            self.assertIn("results/evidence/prove.json cannot be read", warned.call_args[0][0])

    def test_evidence_that_asks_stress_programs_is_of_those_too(self) -> None:
        step = publish.Step("slips", publish.EVIDENCE, 1, ("mutate",), (), ("impl",), self.record, stressed=True)
        (self.root / "stress").mkdir()
        self.state.told["steps"]["slips"] = {"code": 0, "source_hash": repo.source_hash("impl"), "reasons_hash": repo.reasons_hash()}
        repo.write_json(self.record, {"source_hash": repo.source_hash("impl"), "stress_hash": repo.source_hash(*repo.STRESSED_FOLDERS)})
        self.assertEqual(self.why(step), "")
        (self.root / "model_check").mkdir()
        (self.root / "model_check" / "logic_survivors.csv").write_text("a reason that came, or went\n")
        self.assertEqual(self.why(step), "why a mutant may live is told otherwise")
        (self.root / "stress" / "a_stress.cpp").write_text("int main() {}\n")
        self.assertEqual(self.why(step), "build/prove.json is not of this source")
        self.assertEqual([one.name for one in publish.STEPS if one.stressed], ["mutate_logic"])

    def test_what_has_no_record_stands_while_its_folders_do(self) -> None:
        step = publish.Step("curves", publish.AFTER, 1, ("virtual",), (), ("impl",))
        self.state.told["steps"]["curves"] = {"code": 0, "source_hash": repo.source_hash("impl")}
        self.assertEqual(self.why(step), "")
        (self.root / "impl" / "a.hpp").write_text("int b;\n")
        self.assertEqual(self.why(step), "one of impl changed")

    def test_a_page_says_what_was_compared(self) -> None:
        self.raced()
        folder = self.root / "results" / "2026"
        with mock.patch.multiple(repo, commit=lambda: "abc", git=lambda *_: ""):
            self.assertEqual(raced.sentence([folder]), "The sources raced are those of commit abc (1 files, compilers, packages; flags were not compared).")
            self.assertIn("raced by 1 of 2 races, the others left no record, are those of", raced.sentence(iter([folder, self.root])), "no claim of the others")
            (self.root / "impl" / "a.hpp").write_text("int b;\n")
            self.assertEqual(raced.sentence([folder]), "Not the sources of commit abc (1 files, compilers, packages; flags were not compared): impl/a.hpp.")
        with mock.patch.multiple(repo, commit=lambda: "abc", dirty=lambda: True):
            self.assertIn("commit abc with uncommitted changes", raced.sentence([folder]))
        with mock.patch.multiple(repo, commit=lambda: "none", git=lambda *_: None):
            self.assertIn("the sources of this tree (", raced.sentence([folder]))
        self.assertEqual(raced.sentence([self.root]), "", "of rows without a record nothing is said")


class Shelved(unittest.TestCase):
    def test_a_full_disk_leaves_no_half_of_a_proof_record_that_is_taken_for_one(self) -> None:
        """/dev/full in the place of the half that is written: the same call fails as on a disk without room."""
        with TemporaryDirectory() as name:
            proofs, record = Path(name) / "proofs", {"source_hash": "ab", "verdicts": []}
            kept = proofs / f"ab-{hashlib.sha256(repo.json_text(record).strip().encode()).hexdigest()[:8]}.json"
            repo.half(kept).symlink_to("/dev/full")
            with self.assertRaises(OSError):
                shelf.keep(proofs, record)
            self.assertEqual(list(proofs.iterdir()), [])
            self.assertEqual(shelf.kept(proofs / shelf.keep(proofs, record)), record)

    def test_a_full_disk_leaves_a_long_table_as_it_was(self) -> None:
        with TemporaryDirectory() as name:
            rows = Path(name) / "rows.csv"
            rows.write_text("run_id\nx\n")
            repo.half(Path(f"{rows}.xz")).symlink_to("/dev/full")
            with self.assertRaises(OSError):
                shelf.publish(rows.parent)
            self.assertEqual([one.name for one in rows.parent.iterdir()], ["rows.csv"])
            shelf.publish(rows.parent)
            self.assertEqual([one.name for one in rows.parent.iterdir()], ["rows.csv.xz"])


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

    def test_a_track_without_a_room_is_held_to_the_race_that_its_own_page_shows(self) -> None:
        root = Path(self.enterContext(TemporaryDirectory()))
        steps = [step for step in publish.STEPS if step.kind == publish.TRACK]
        state = publish.State("m", {"machine": "m", "began": "b", "steps": {step.name: {"code": 0, "folder": f"results/new-{step.name}"} for step in steps}})
        for step in steps:
            for which in ("old", "new"):
                repo.write_json(root / "results" / f"{which}-{step.name}" / "env.json", {})
            for page in step.pages():
                repo.write_text(root / "rooms" / page, f"<!-- race -->\nsee [results/old-{step.name}](x)\n<!-- /race -->\n")
        repo.write_text(root / "rooms" / "README.md", "")
        repo.write_text(root / "README.md", "")
        nothing = lambda *_: None  # noqa: E731
        with (mock.patch.multiple(repo, ROOT=root, RESULTS=root / "results"), mock.patch.object(publish.six, "ROOMS", root / "rooms"),
              mock.patch.object(publish.summary, "load", lambda folder: ({}, [folder.name], [])), mock.patch.object(publish.splice, "into", nothing),
              mock.patch.object(publish.site, "write", nothing), mock.patch.object(shelf, "publish", nothing),
              mock.patch.object(former, "found", lambda old, new, name: {"slower": {"ours": [f"{new[0]} over {old[0]}, {name}"]}})):
            slower = publish.pages(state)
        self.assertEqual(slower, {step.name: [f"ours: new-{step.name} over old-{step.name}, old-{step.name}"] for step in steps})

    def test_the_page_of_the_publication_begins_with_it(self) -> None:
        state = publish.State("m")
        text = publish.summed(state, {"posts": ["hive: fib ×1.50"]})
        self.assertLess(text.index("- posts: hive: fib ×1.50"), text.index("## Steps"))


if __name__ == "__main__":
    unittest.main()
