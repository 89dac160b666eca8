"""Logic mutants: what the rules make of a text, how the mutated text asks, which mutants count as killed, and what is red."""

from __future__ import annotations

import csv
import json
import subprocess
import unittest
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from apiary_cli.base import proc
from apiary_cli.base.errors import Fault
from apiary_cli.verify import logic, logic_run

HEADER = """\
// A header.
#pragma once
namespace x {
struct counted {
    int add(int n) {
        if (n > 0 && open_) {
            total_ += n;
            ++calls_;
        }
        while (n != 0) --n;
        note("a;b");  // not; this
        waiters_.notify_all();
        Sync::reach("x.added");
        sync::reach("x.told");
        const int twice = total_ * 2;
        return twice;
    }
    int total_ = 0;
};
}
"""


def made() -> list[logic.Mutant]:
    return logic.candidates("impl/x.hpp", HEADER)


def changes(rule: str) -> list[tuple[str, str]]:
    return [(m.code, m.put) for m in made() if m.rule == rule]


class Rules(unittest.TestCase):
    def test_statements_are_dropped_but_not_declarations_nor_what_only_tells_an_engine(self) -> None:
        self.assertEqual([code for code, _ in changes("dropped")],
                         ["total_ += n;", "++calls_;", "--n;", 'note("a;b");', "waiters_.notify_all();"])

    def test_conditions_and_their_clauses_and_edges(self) -> None:
        self.assertEqual([code for code, _ in changes("negated")], ["n > 0 && open_", "n != 0"])
        self.assertEqual([code for code, _ in changes("clause dropped")], ["n > 0", "open_"])
        self.assertEqual(changes("another comparison"), [("n > 0", "n >= 0")])

    def test_two_assignments_are_independent_where_neither_names_what_the_other_writes(self) -> None:
        for one, other, alone in (("a = 1;", "b = c;", True), ("x.a += 1;", "--y->b;", True), ("a = b;", "b = 0;", False),
                                  ("a = 1;", "b = x.a;", False), ("++a;", "a = 2;", False), ("a = f();", "b = 1;", False),
                                  ("a[i] = 1;", "i = 2;", False), ("a = 1;", "note();", False), ("a = b = 0;", "c = b;", False),
                                  ("a = ++b;", "c = b;", False), ("a = *p;", "b = 1;", False)):
            with self.subTest(one=one, other=other):
                self.assertEqual(logic.independent(one, other), alone)

    def test_neighbours_numbers_and_waiters(self) -> None:
        self.assertEqual(changes("swapped"), [('note("a;b"); waiters_.notify_all();', 'waiters_.notify_all(); note("a;b");')],
                         "total_ += n; ++calls_; in another order is the same")
        self.assertEqual(changes("another call"), [("waiters_.notify_all();", "waiters_.notify_one();")])
        self.assertEqual(changes("one less"), [("2", "1")])
        spent = "struct counted { int get() { return word{of({1})}.spent(); } void set() { [&] { add(1); }(); } "
        both = [m.code for m in logic.candidates("impl/x.hpp", HEADER.replace("struct counted {", spent))]
        self.assertFalse({".spent();", "();"} & set(both), both)
        frame = logic.candidates("impl/x.hpp", HEADER.replace("total_ * 2", "total_ * of(__builtin_frame_address(2))"))
        self.assertNotIn("one less", [m.rule for m in frame], "g++ wants a constant there")
        self.assertEqual(changes("turned round"),
                         [("total_ += n;", "total_ -= n;"), ("++calls_;", "--calls_;"), ("--n;", "++n;")])

    def test_the_committed_headers_give_enough_and_at_least_three_each(self) -> None:
        drawn = logic.catalogue()
        self.assertGreaterEqual(len(drawn), 150)
        each = Counter(m.file for m in drawn)
        for path in logic.headers():
            file = str(path.relative_to(logic.repo.ROOT))
            most = len(logic.candidates(file, path.read_text())) - sum(key[0] == file for key in logic.left_out())
            self.assertGreaterEqual(each[file], min(3, most), file)
        self.assertEqual(drawn, logic.catalogue(), "the same each time")
        self.assertEqual(logic.idle_exclusions(), [])
        for file in logic.no_logic():
            self.assertTrue((logic.repo.ROOT / file).exists(), file)

    def test_a_draw_does_not_change_with_another_function(self) -> None:
        more = made() + [logic.Mutant("impl/x.hpp", 9000, 9010, "statement", "dropped", "x::other", "f();", "", 99)]
        before = {m.key for m in logic.draw(made(), [], 1, 0.5, 1)}
        self.assertLessEqual(len(before - {m.key for m in logic.draw(more, [], 1, 0.5, 1)}), 1)

    def test_a_written_mutant_names_one_place(self) -> None:
        with TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "impl" / "apiary").mkdir(parents=True)
            (root / "impl" / "apiary" / "x.hpp").write_text(HEADER)
            rows = root / "rows.toml"
            row = '[[mutant]]\nfile = "x.hpp"\nkind = "k"\nreason = "r"\nput = "f();"\nat = '
            rows.write_text(row + '"total_ += n;"\n')
            self.assertEqual([m.line for m in logic.written(root, rows)], [7])
            for at in ('"nowhere"', '"n"'):
                rows.write_text(row + at + "\n")
                with self.assertRaisesRegex(Fault, "places"):
                    logic.written(root, rows)
            rows.write_text('[[mutant]]\nfile = "x.hpp"\n')
            with self.assertRaises(Fault):
                logic.written(root, rows)


class Rendered(unittest.TestCase):
    def test_every_mutant_is_alive_alone_and_none_without_a_number(self) -> None:
        """Compiled: what the mutated text computes for each mutant is what the rule says."""
        source = HEADER.replace("struct counted", "struct sync { static void reach(const char*) {} };\nusing Sync = sync;\n"
                                "struct all { void notify_all() { told = 2; } void notify_one() { told = 1; } int told = 0; };\n"
                                "inline void note(const char*) {}\nstruct counted", 1)
        source = source.replace("int total_ = 0;", "int total_ = 0, calls_ = 0; bool open_ = true; all waiters_;")
        mutants = [m for m in logic.candidates("impl/x.hpp", source) if m.rule != "negated" and "n != 0" not in m.code
                   and m.code not in ("--n;", "0 #2")]
        with TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "apiary").mkdir()
            (root / "apiary" / "logic_mutant.hpp").write_text(logic.support(4096))
            kept: list[logic.Mutant] = []
            for m in mutants:
                if not any(logic.crosses(m, other) for other in kept):
                    kept.append(m)
            text = logic.rendered(source, list(enumerate(kept)))
            self.assertEqual(text.count("\n"), source.count("\n"), "line for line")
            (root / "x.hpp").write_text(text)
            (root / "main.cpp").write_text(
                '#include "x.hpp"\n#include <cstdio>\nint main() { x::counted c; const int r = c.add(3); c.add(0);'
                ' std::printf("%d %d %d %d", r, c.total_, c.calls_, c.waiters_.told); }\n')
            subprocess.run(["g++", "-std=c++20", f"-I{root}", root / "main.cpp", "-o", root / "main"], check=True)

            def said(number: int | None) -> str:
                return proc.run([root / "main"], env=logic_run.environment(number), timeout=20).out

            self.assertEqual(said(None), "6 3 1 2")
            by_change = {(m.rule, m.code): said(i) for i, m in enumerate(kept)}
            self.assertEqual(by_change["dropped", "++calls_;"], "6 3 0 2")
            self.assertEqual(by_change["another comparison", "n > 0"], "6 3 2 2")
            self.assertEqual(by_change["another call", "waiters_.notify_all();"], "6 3 1 1")
            self.assertEqual(by_change["one less", "2"], "3 3 1 2")

    def test_what_is_drawn_compiles(self) -> None:
        with TemporaryDirectory() as folder:
            logic.write_headers(logic.catalogue(), Path(folder))
            impl = logic.repo.ROOT / "impl"
            text = "".join(f'#include "{path.relative_to(impl)}"\n' for path in sorted(impl.rglob("*.hpp")))
            done = subprocess.run(["g++", "-std=c++20", "-fsyntax-only", "-w", f"-I{folder}", f"-I{impl}", "-x", "c++", "-"],
                                  input=text, text=True, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr[:3000])

    def test_places_that_were_passed_are_told(self) -> None:
        self.assertIn("APIARY_LOGIC_PASSED", logic.support(1))
        env = logic_run.environment(3, Path("/x"))
        self.assertEqual((env["APIARY_LOGIC_MUTANT"], env["APIARY_LOGIC_PASSED"]), ("3", "/x"))
        with mock.patch.dict("os.environ", {"APIARY_LOGIC_MUTANT": "7"}):
            self.assertNotIn("APIARY_LOGIC_MUTANT", logic_run.environment(None))


def done(rc: int = 0, out: str = "", seconds: float = 0.1, timed_out: bool = False) -> proc.Done:
    return proc.Done(["p"], rc, out, "", seconds, timed_out)


CHECK = logic_run.Killer(Path("/p_check"), "one", "explorer")
TEST = logic_run.Killer(Path("/p_test"), "s.t")


def verdict(word: str, expected: bool = True) -> str:
    return json.dumps({"verdict": word, "as_expected": expected, "reason": "because"})


class Outcomes(unittest.TestCase):
    def test_a_check_kills_by_a_failure_a_crash_or_a_branch_not_reached_and_not_by_its_budget(self) -> None:
        self.assertEqual(logic_run.outcome(CHECK, done(0, verdict("pass")))[0], "alive")
        self.assertEqual(logic_run.outcome(CHECK, done(1, verdict("budget", False)))[0], "alive")
        self.assertEqual(logic_run.outcome(CHECK, done(1, verdict("pass", False)))[0], "failed")
        self.assertEqual(logic_run.outcome(CHECK, done(1, verdict("fail", False)))[0], "failed")
        self.assertEqual(logic_run.outcome(CHECK, done(1, verdict("error", False)))[0], "crashed")
        self.assertEqual(logic_run.outcome(CHECK, done(0, ""))[0], "crashed")

    def test_a_unit_test_kills_by_its_status(self) -> None:
        self.assertEqual(logic_run.outcome(TEST, done())[0], "alive")
        self.assertEqual(logic_run.outcome(TEST, done(1))[0], "failed")
        self.assertEqual(logic_run.outcome(TEST, done(-6))[0], "crashed")
        self.assertEqual(logic_run.outcome(TEST, done(-9, timed_out=True))[0], "hung")

    def test_names_of_unit_tests(self) -> None:
        listing = "Running main()\na.\n  one\n  DISABLED_two\nall/b.  # TypeParam = int\n  three  # GetParam() = 2\n"
        self.assertEqual(logic_run.gtests(listing), ["a.one", "all/b.three"])


class Tries(unittest.TestCase):
    def run_against(self, *answers: proc.Done, known: dict | None = None) -> tuple[logic_run.Result, list[proc.Spec]]:
        """One mutant, with what its runs answer, in order."""
        known = known or {TEST: logic_run.Tried(0.1, frozenset({0}))}
        chain = logic_run.try_mutant(0, made()[0], known, "2000x", "0x", Counter(), [])
        specs, waiting = [], list(answers)
        try:
            specs.append(next(chain))
            while True:
                specs.append(chain.send(waiting.pop(0)))
        except StopIteration as end:
            return end.value, specs

    def test_a_failure_counts_when_the_unmutated_program_passes_behind_it(self) -> None:
        killed, specs = self.run_against(done(1), done(0))
        self.assertEqual((killed.verdict, killed.killed_by, killed.how), ("killed", "s.t", "failed"))
        self.assertEqual([("APIARY_LOGIC_MUTANT" in s.env) for s in specs], [True, False])
        self.assertEqual(self.run_against(done(1), done(1))[0].verdict, "survived")

    def test_a_hang_counts_only_when_the_unmutated_program_is_ten_times_as_fast(self) -> None:
        hung = done(-9, seconds=5, timed_out=True)
        killed, specs = self.run_against(hung, done(0, seconds=0.5))
        self.assertEqual((killed.verdict, killed.how), ("killed", "hung"))
        self.assertGreaterEqual(specs[0].timeout, logic_run.LEAST_LIMIT)
        self.assertEqual(self.run_against(hung, done(0, seconds=0.6))[0].verdict, "survived")
        self.assertEqual(logic_run.limit(logic_run.Tried(3.0, frozenset())), 30.0)

    def test_only_who_passes_the_place_is_asked(self) -> None:
        survived, specs = self.run_against(known={TEST: logic_run.Tried(0.1, frozenset({5}))})
        self.assertEqual((survived.verdict, survived.tries, specs), ("survived", 0, []))


class Judged(unittest.TestCase):
    def found(self, *words: str) -> logic_run.Run:
        mutants = made()
        return logic_run.Run([logic_run.Result(i, mutants[i % len(mutants)], verdict=word) for i, word in enumerate(words)])

    def test_survivors_without_a_reason_and_reasons_without_a_survivor_are_red(self) -> None:
        key = made()[0].key
        for words, listed, red in ((("survived",), {}, "without a reason"), (("survived",), {key: "why"}, ""),
                                   (("killed",), {key: "why"}, "killed after all"),
                                   (("killed",), {("impl/x.hpp", "f", "gone", "dropped"): "why"}, "no longer there"),
                                   (("survived",) * 6 + ("killed",) * 94, {m.key: "why" for m in made()}, "at least 95 %")):
            with self.subTest(red), mock.patch.object(logic, "idle_exclusions", return_value=[]):
                told = " ".join(logic_run.judged(self.found(*words), listed, made()))
                self.assertTrue(red in told if red else not told, told)

    def test_a_row_needs_a_reason_and_stands_there_once(self) -> None:
        for rows in (["f,g,c,dropped,"], ["f,g,c,dropped,a", "f,g,c,dropped,b"]):
            with TemporaryDirectory() as folder:
                path = Path(folder) / "logic_survivors.csv"
                path.write_text("\n".join([",".join(logic_run.SURVIVOR_COLUMNS), *rows]) + "\n")
                with mock.patch.object(logic_run, "SURVIVORS", path), self.assertRaises(Fault):
                    logic_run.reviewed()

    def test_the_committed_survivors_are_in_the_catalogue(self) -> None:
        there = {m.key for m in logic.catalogue()}
        self.assertEqual([key for key in logic_run.reviewed() if key not in there], [])

    def test_the_table_has_a_row_for_each(self) -> None:
        with TemporaryDirectory() as folder, mock.patch.object(logic_run, "TABLE", Path(folder) / "t.csv"):
            logic_run.write_table(self.found("killed", "survived").results)
            rows = list(csv.DictReader((Path(folder) / "t.csv").read_text().splitlines()))
        self.assertEqual([row["verdict"] for row in rows], ["killed", "survived"])
        self.assertEqual(list(rows[0]), logic_run.TABLE_COLUMNS)


if __name__ == "__main__":
    unittest.main()
