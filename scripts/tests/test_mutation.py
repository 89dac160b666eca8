"""Mutation: which mutants there are, who kills them, and what counts as reviewed; from end to end with fake programs."""

from __future__ import annotations

import csv
import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from apiary_cli.base import proc
from apiary_cli.base.errors import Fault
from apiary_cli.verify import inventory, mutation

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
