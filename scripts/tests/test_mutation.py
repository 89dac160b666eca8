"""Mutation: which mutants there are, who kills them, and what counts as reviewed; from end to end with fake programs."""

from __future__ import annotations

import csv
import json
import re
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from apiary_cli.base import proc
from apiary_cli.base.errors import Fault
from apiary_cli.verify import hunted_mutants, inventory, mutation
from apiary_cli.verify.hunt_units import Unit

from . import fakes
from .support import TreeCase, apiary


def site(operation: str, order: str) -> inventory.Item:
    return inventory.Item("impl/apiary/queues/x.hpp", 3, 7, operation, order, "x::push", "a.load()")


class Ladders(unittest.TestCase):
    def test_every_legal_step_down_is_taken_once(self) -> None:
        self.assertEqual(mutation.mutants(site("load", "seq_cst")), ["acquire", "relaxed"])
        self.assertEqual(mutation.mutants(site("store", "seq_cst")), ["release", "relaxed"])
        self.assertEqual(mutation.mutants(site("exchange", "seq_cst")), ["acq_rel", "acquire", "release", "relaxed"])
        self.assertEqual(mutation.mutants(site("fetch_add", "release")), ["relaxed"])
        self.assertEqual(mutation.mutants(site("fence", "seq_cst")), ["acq_rel", "acquire", "release", "dropped"])
        for fence in ("fence_light", "fence_heavy"):
            self.assertEqual(mutation.mutants(site(fence, "seq_cst")), ["dropped"], "no weaker form")
        self.assertEqual(mutation.mutants(site("compare_exchange_weak.failure", "acquire")), ["relaxed"])
        self.assertEqual(mutation.mutants(site("recheck", "kept")), ["dropped"])
        self.assertEqual(mutation.mutants(site("load", "relaxed")), [])


class Chains(unittest.TestCase):
    def test_chains_of_children_run_side_by_side_and_give_what_they_return(self) -> None:
        def chain(number: int):
            said = ""
            for step in range(number):
                done = yield proc.Spec(["sh", "-c", f"echo {number}.{step}"], timeout=600)
                said += done.out.strip() + " "
            return said

        found = sorted(proc.run_chains((chain(n) for n in (0, 3, 1, 2)), 2))
        self.assertEqual(found, ["", "1.0 ", "2.0 2.1 ", "3.0 3.1 3.2 "])


class Hunted(unittest.TestCase):
    """Hunts of our own tests: which mutants are drawn, and which hunt kills one. A hunt here is a shell that tells of a failure."""

    def test_without_the_tools_that_name_lines_nothing_is_said_of_what_a_case_reaches(self) -> None:
        with mock.patch.object(hunted_mutants.hunting.shutil, "which", lambda tool: None if tool == "addr2line" else tool):
            with self.assertRaisesRegex(Fault, "addr2line not found"):
                hunted_mutants.places_of(Path("/bin/true"))

    def test_a_seed_draws_the_same_of_what_checks_kill(self) -> None:
        drawn = hunted_mutants.drawn(48, 40)
        self.assertEqual((drawn, len(set(drawn))), (hunted_mutants.drawn(48, 40), 40))
        self.assertNotEqual(drawn, hunted_mutants.drawn(49, 40))
        listed = mutation.reviewed()
        self.assertFalse([one for one in drawn if mutation.key(*one) in listed])
        self.assertEqual({item.operation for item, _ in drawn} & {"recheck", *inventory.ASYMMETRIC}, set())

    def test_calls_are_named_after_the_operation_that_they_are(self) -> None:
        for symbol, name in (("__tsan_atomic64_fetch_add", "fetch_add"), ("__tsan_atomic8_compare_exchange_weak", "compare_exchange_weak"),
                             ("__tsan_atomic_thread_fence", "fence"), ("__atomic_load_16", "load")):
            self.assertEqual(hunted_mutants.operation_of(symbol), name)

    def hunted(self, fails_when: str, operation: str = "load", reached: str = "met", without: int = 30,
               ends: str = "") -> tuple[hunted_mutants.Result, list[str]]:
        """The mutant relaxed of an operation at 0x41, hunted by one case that fails if its words match; where they match `ends`, the
        runtime refuses them."""
        case = hunted_mutants.Case(Unit("x.case", Path("/x_test"), ()), {0x41: reached} if reached else {}, 10)
        suite = hunted_mutants.Suite(Path("/x_test"), [case], {("impl/apiary/queues/x.hpp", 3, operation.removesuffix(".failure")): [0x41]})
        asked: list[str] = []

        def hunt(_: Unit, words: str, seconds: float, out: Path) -> proc.Spec:
            asked.append(words)
            if ends and re.search(ends, words):
                return proc.Spec(["sh", "-c", "echo apiary hunt: no such mutant >&2; exit 2"], timeout=600)
            run = "run\t5\t9\trace\t66\t9\t1\t0\t0\t2\tab\tpct,weak\t3\t0.1\t0\n" if re.search(fails_when, words) else ""
            runs = 3 if "mutant=" in words else without
            return proc.Spec(["sh", "-c", f"printf '{run}summary\t{runs}\t{seconds}\t9\t0\t0\t0\t9\n' > {out}"], timeout=600)

        with TemporaryDirectory() as folder, mock.patch.object(hunted_mutants, "hunt", hunt):
            chain = hunted_mutants.try_mutant(site(operation, "acquire"), "relaxed", [suite], 2.0, Path(folder))
            return next(iter(proc.run_chains([chain], 1))), asked

    def test_a_case_that_fails_by_the_mutant_alone_kills_it(self) -> None:
        found, asked = self.hunted("mutant=")
        self.assertEqual((found.verdict, found.killed_by, found.kind, found.nearest), ("killed", "x_test x.case", "race", "met"))
        self.assertRegex(asked[0], r";mutant=41\.0$")
        self.assertRegex(asked[1], r"runs=30$")
        self.assertRegex(self.hunted("mutant=", "compare_exchange_weak.failure")[1][0], r";mutant=41\.0f$")

    def test_a_case_that_fails_anyway_kills_nothing(self) -> None:
        found, asked = self.hunted("")
        self.assertEqual((found.verdict, len(asked)), ("survived", 2))

    def test_a_case_that_runs_less_often_without_the_mutant_kills_nothing(self) -> None:
        found, asked = self.hunted("mutant=", without=2)
        self.assertEqual((found.verdict, len(asked)), ("survived", 2))

    def test_a_hunt_or_a_control_that_did_not_run_is_a_fault_and_no_survivor(self) -> None:
        for ends in ("mutant=", "runs="):
            with self.subTest(ends), self.assertRaisesRegex(Fault, "exited with status 2 before its hunt was over"):
                self.hunted("mutant=", ends=ends)

    def test_what_no_case_fails_by_or_reaches_survives(self) -> None:
        found, asked = self.hunted("never")
        self.assertEqual((found.verdict, found.seconds), ("survived", 2.0))
        self.assertEqual([words.split(";")[0] for words in asked], ["seconds=0.500", "seconds=1.500"])
        found, asked = self.hunted("", reached="")
        self.assertEqual((found.verdict, found.cases, found.nearest, asked), ("survived", 0, "", []))


class Reviewed(unittest.TestCase):
    def test_the_committed_survivors_have_reasons_and_are_still_there(self) -> None:
        listed = mutation.reviewed()
        self.assertGreater(len(listed), 0)
        self.assertEqual(mutation.vanished(listed, inventory.read()[0]), [])

    def test_a_survivor_without_a_reason_or_twice_is_refused(self) -> None:
        row = "impl/x.hpp,f,a.load(),load,relaxed,"
        for rows in ([row], [row + "free", row + "free again"]):
            with self.subTest(rows), TemporaryDirectory() as folder:
                path = Path(folder) / "survivors.csv"
                path.write_text("\n".join([",".join(mutation.SURVIVOR_COLUMNS), *rows]) + "\n")
                with mock.patch.object(mutation, "SURVIVORS", path), self.assertRaises(Fault):
                    mutation.reviewed()

    def test_a_changed_line_needs_another_review(self) -> None:
        item = site("load", "acquire")
        listed = {mutation.key(item, "relaxed"): "free"}
        self.assertEqual(mutation.vanished(listed, [item]), [])
        changed = inventory.Item(**{**vars(item), "code": "b.load()"})
        self.assertEqual(mutation.vanished(listed, [changed]), list(listed))
        relaxed = inventory.Item(**{**vars(item), "order": "relaxed"})
        self.assertEqual(mutation.vanished(listed, [relaxed]), list(listed), "it is no mutant any more")
        self.assertEqual(mutation.vanished(listed, [changed], {"impl/apiary/queues/y.hpp"}), [], "nobody asked about it")


BOX = """struct box {
    bool take() { return word_.load(std::memory_order_acquire) && Sync::recheck("box.word"); }
    void put() { word_.store(1, std::memory_order_release); }
    void never() { word_.store(0, std::memory_order_relaxed); }
};
"""
LOAD, STORE, LOOK = "impl/box.hpp:2:36:load", "impl/box.hpp:3:29:store", "recheck:box.word"
SITES = {LOAD: "acquire", STORE: "release", LOOK: "kept"}


class EndToEnd(TreeCase):
    def setUp(self) -> None:
        super().setUp()
        text = BOX.replace("    void never() { word_.store(0, std::memory_order_relaxed); }\n", "")
        (self.root / "impl/box.hpp").write_text(text)
        self.survivors([])

    def survivors(self, rows: list[list[str]]) -> None:
        with (self.root / "model_check/survivors.csv").open("w", newline="") as file:
            csv.writer(file).writerows([mutation.SURVIVOR_COLUMNS, *rows])

    def programs(self, *killed: str) -> None:
        fakes.manifest(self.root, "model", "checks", [
            fakes.mutable(self.root / "build/model/bin/box_check", "box_small", SITES, []),
            fakes.mutable(self.root / "build/model/bin/pool_check", "pool_large", SITES, list(killed)),
        ])

    def mutate(self, *words: str):
        return apiary(self.root, "mutate", "--no-build", *words)

    def row(self, mutant: str = "relaxed", code: str = "word_.load(std::memory_order_acquire)") -> list[str]:
        return ["impl/box.hpp", "box::take", code, "load", mutant, "free: nothing is read through it"]

    def test_everything_killed_is_green_and_tabled(self) -> None:
        self.programs(f"{LOAD}=relaxed", f"{STORE}=relaxed", f"{LOOK}=dropped")
        done = self.mutate("--jobs", "2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("3 of 3 mutants killed", done.stdout)
        with (self.root / "build/model/mutation.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(r["line"], r["operation"], r["order"], r["mutant"], r["verdict"], r["killed_by"], r["engine"],
                           r["mode"]) for r in rows], [
            ("2", "load", "acquire", "relaxed", "killed", "pool_large", "explorer", "exhaustive"),
            ("2", "recheck", "kept", "dropped", "killed", "pool_large", "explorer", "exhaustive"),
            ("3", "store", "release", "relaxed", "killed", "pool_large", "explorer", "exhaustive"),
        ])

    def test_a_new_survivor_is_red_and_gives_the_row_to_fill(self) -> None:
        self.programs(f"{STORE}=relaxed", f"{LOOK}=dropped")
        done = self.mutate()
        self.assertEqual(done.returncode, 1)
        self.assertIn("1 of them unexplained", done.stdout)
        self.assertIn("impl/box.hpp,box::take,word_.load(std::memory_order_acquire),load,relaxed,\n", done.stdout)
        self.assertIn("exhaustive in 2 of 2 searches", done.stdout)
        self.survivors([self.row()])
        self.assertEqual(self.mutate().returncode, 0, "reviewed, with a reason")

    def test_a_reviewed_survivor_that_is_killed_or_gone_is_red(self) -> None:
        self.programs(f"{LOAD}=relaxed", f"{STORE}=relaxed", f"{LOOK}=dropped")
        self.survivors([self.row()])
        done = self.mutate()
        self.assertEqual(done.returncode, 1)
        self.assertIn("killed after all, by pool_large on explorer", done.stdout)
        self.survivors([self.row(code="gone.load(std::memory_order_acquire)")])
        done = self.mutate("--inventory")
        self.assertEqual(done.returncode, 1)
        self.assertIn("lists what is no longer there: impl/box.hpp box::take gone.load", done.stdout)

    def test_a_site_that_no_check_executes_is_red(self) -> None:
        (self.root / "impl/box.hpp").write_text(BOX)
        self.programs()
        done = self.mutate("--inventory")
        self.assertEqual(done.returncode, 1)
        self.assertIn("NEVER RUN", done.stdout)
        self.assertIn("no check executes impl/box.hpp:4:31 store in box::never", done.stdout)
        told = json.loads(self.mutate("--inventory", "--json", "-").stdout)
        self.assertEqual((told["exit"], told.get("never")), (1, ["impl/box.hpp:4:31:store"]))
        self.assertIn("no check executes", told["red"][0])

    def test_only_the_headers_asked_about_count(self) -> None:
        (self.root / "impl/other.hpp").write_text(BOX.replace("box.word", "other.word") + "#define STORE(a) a.store(0, std::memory_order_relaxed)\n")
        self.programs(f"{LOAD}=relaxed", f"{STORE}=relaxed", f"{LOOK}=dropped")
        self.assertEqual(self.mutate("--inventory").returncode, 1)
        self.assertEqual(self.mutate("--inventory", "other").returncode, 1)
        self.assertEqual(self.mutate("--inventory", "box").returncode, 0)

    def test_a_site_of_a_named_header_that_a_glance_misses_is_looked_for_longer(self) -> None:
        fakes.manifest(self.root, "model", "checks", [
            fakes.mutable(self.root / "build/model/bin/box_check", "box_small", SITES, [f"{site}=relaxed" for site in SITES], STORE)])
        self.assertEqual(self.mutate("--inventory", "box").returncode, 0)

    def test_a_crash_under_a_mutant_is_an_error_and_no_kill(self) -> None:
        self.programs(f"{LOAD}=relaxed", f"{STORE}=relaxed", f"{LOOK}=crash")
        done = self.mutate()
        self.assertEqual(done.returncode, 1)
        self.assertIn("error: recheck:box.word=dropped", done.stdout)

    def test_an_unknown_structure_is_told_which_there_are(self) -> None:
        self.programs()
        done = self.mutate("crate")
        self.assertEqual(done.returncode, 2)
        self.assertIn("impl/box.hpp", done.stderr)


if __name__ == "__main__":
    unittest.main()
