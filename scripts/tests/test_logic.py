"""Logic mutants: what the rules make of a text, how the mutated text asks, which mutants count as killed, and what is red."""

from __future__ import annotations

import argparse
import contextlib
import csv
import datetime
import io
import json
import subprocess
import unittest
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from apiary_cli.base import proc
from apiary_cli.base.errors import Fault
from apiary_cli.verbs import mutate
from apiary_cli.verify import logic, logic_run, verification

from .support import TreeCase

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

    def test_the_clauses_of_an_assigned_value_are_those_of_the_value(self) -> None:
        text = HEADER.replace("total_ += n;", "if (n == 7) return; auto look = [&] { return open_ = f() || n > 9; };")
        self.assertEqual([m.code for m in logic.candidates("impl/x.hpp", text) if m.form == "neither"], ["f()", "n > 9"])

    def test_two_writes_are_independent_where_neither_names_what_the_other_writes(self) -> None:
        for one, other, alone in (("a = 1;", "b = c;", True), ("x.a += 1;", "--y->b;", True), ("a = b;", "b = 0;", False),
                                  ("a = 1;", "b = x.a;", False), ("++a;", "a = 2;", False), ("a = f();", "b = 1;", False),
                                  ("a[i] = 1;", "i = 2;", False), ("a = 1;", "note();", False), ("a = b = 0;", "c = b;", False),
                                  ("a = ++b;", "c = b;", False), ("a = *p;", "b = 1;", False),
                                  ("a = b = 0;", "c = 1, d = 2;", True), ("a = b = 0;", "c = 1, d = b;", False),
                                  ("n->a.write(b.read());", "c[i + 1].store(d + 1, std::memory_order_relaxed);", True),
                                  ("n->a.write(b.read());", "b.store(1, std::memory_order_relaxed);", False),
                                  ("a.write(1);", "b.store(1, std::memory_order_release);", False), ("a.write(f());", "b = 1;", False),
                                  ("a = b.load(std::memory_order_acquire);", "c = 1;", False), ("a.write(1);", "b.add();", False),
                                  ("a = std::max(a, b);", "c += static_cast<int>(d);", True), ("a = b.get();", "b = 1;", False),
                                  ("a = c.load(std::memory_order_relaxed);", "b = c.load(std::memory_order_relaxed);", False),
                                  ("a = c.get();", "b = d.get();", True)):
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
        compiled = logic.candidates("impl/x.hpp", HEADER.replace("total_ * 2;", "of<true>(3)[4];\n int* some[5];\n const bool all[6] = {};"))
        self.assertEqual([m.code for m in compiled if m.rule in ("one more", "the other truth value")], ["0", "0 #2", "3", "4"])
        self.assertEqual(changes("turned round"),
                         [("total_ += n;", "total_ -= n;"), ("++calls_;", "--calls_;"), ("--n;", "++n;")])

    def test_pushes_are_turned_round_where_the_list_has_both_ends(self) -> None:
        for also, seen in (("", []), ("void keep(int n) { kept_.push_front(n); }", ["kept_.push_back(n);"])):
            text = HEADER.replace("total_ += n;", "kept_.push_back(n); other.push_back(n);").replace("int total_ = 0;", also)
            self.assertEqual([m.put for m in logic.candidates("impl/x.hpp", text) if m.put == "kept_.push_back(n);"], seen)
            self.assertEqual([m.code for m in logic.candidates("impl/x.hpp", text) if "push_front" in m.put and m.rule == "another call"],
                             ["kept_.push_back(n);"] if also else [])

    def test_what_could_not_be_compiled_is_not_made(self) -> None:
        def of(text: str) -> list[tuple[str, str, str]]:
            return [(m.rule, m.code, m.put) for m in logic.candidates("impl/x.hpp", HEADER.replace("total_ += n;", text))]

        clause = [code for rule, code, _ in of("if (c >= '0' && s != \"-\") total_ += n;") if rule == "clause dropped"]
        self.assertEqual(clause[2:], ["c >= '0'", 's != "-"'], "a literal is a part of its clause")
        self.assertNotIn("turned round", [rule for rule, code, _ in of('name += "x"; std::string to; to += c;') if "to" in code or "x" in code])
        guard = of("const struct guard { ~guard() { f(); } } at_end{g()};")
        self.assertFalse([code for _, code, _ in guard if code.startswith("at_end")], guard)
        truths = [code for rule, code, _ in of("goes_on<true>(n); twice(true);") if rule == "the other truth value"]
        self.assertEqual(truths, ["true"], "no run can choose an argument of a template")

    def test_the_committed_headers_give_enough_and_each_mutant_has_a_name_of_its_own(self) -> None:
        mutants = logic.catalogue()
        self.assertGreaterEqual(len(mutants), 6000)
        self.assertEqual([key for key, times in Counter(m.key for m in mutants).items() if times > 1], [])
        self.assertEqual(mutants, logic.catalogue(), "the same each time")
        self.assertEqual(logic.idle_exclusions(), [])
        for file in logic.no_logic():
            self.assertTrue((logic.repo.ROOT / file).exists(), file)

    def test_every_mutant_is_in_one_part_of_as_many_as_you_like(self) -> None:
        mutants = logic.catalogue()
        for of in (1, 6, 7):
            sizes = [sum(logic.Part(k, of).has(m) for m in mutants) for k in range(1, of + 1)]
            self.assertEqual(sum(sizes), len(mutants))
            self.assertTrue(all(any(logic.Part(k, of).has(m) for k in range(1, of + 1)) for m in mutants))
            self.assertLess(max(sizes) - min(sizes), len(mutants) / of / 5, sizes)

    def test_what_is_added_moves_no_other_mutant(self) -> None:
        lots = {m.key: m.lot for m in made()}
        more = HEADER.replace("int total_", "int more() { f(); return 3; }\n    int total_").replace("    int add", "\n\n    int add")
        later = {m.key: m.lot for m in logic.candidates("impl/x.hpp", more)}
        self.assertGreater(len(later), len(lots))
        self.assertEqual({key: later[key] for key in lots}, lots)

    def test_nights_a_day_or_a_week_apart_come_to_all_draws(self) -> None:
        first = datetime.date(2026, 11, 27)
        for step in (1, 7):
            days = [first + datetime.timedelta(step * i) for i in range(logic.DRAWS)]
            self.assertEqual(sorted(logic.draw_of(day).number for day in days), list(range(1, logic.DRAWS + 1)))
        self.assertEqual(logic.draw_of(first).of, logic.DRAWS)

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
            kept = mutants
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

    def test_swaps_with_both_neighbours_stand_side_by_side(self) -> None:
        """Compiled, too: one statement is swapped with the one before it and with the one after it."""
        source = "// x\n#include <string>\ninline std::string said;\ninline void put(char c) { said += c; }\n" \
                 "inline void all() {\n    put('a');  // one\n    put('b');\n    put('c');\n    put('d');\n}\n"
        swaps = [m for m in logic.candidates("impl/x.hpp", source) if m.rule == "swapped"]
        self.assertEqual(len(swaps), 3)
        with TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "apiary").mkdir()
            (root / "apiary" / "logic_mutant.hpp").write_text(logic.support(4096))
            text = logic.rendered(source, list(enumerate(swaps)))
            self.assertEqual(text.count("\n"), source.count("\n"), "line for line")
            (root / "x.hpp").write_text(text)
            (root / "main.cpp").write_text('#include "x.hpp"\n#include <cstdio>\nint main() { all(); std::puts(said.c_str()); }\n')
            subprocess.run(["g++", "-std=c++20", f"-I{root}", root / "main.cpp", "-o", root / "main"], check=True)
            said = [proc.run([root / "main"], env=logic_run.environment(n), timeout=20).out.strip() for n in (None, 0, 1, 2)]
        self.assertEqual(said, ["abcd", "bacd", "acbd", "abdc"])

    def test_every_mutant_compiles(self) -> None:
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
STRESS = logic_run.Killer(Path("/stress_p"), "stress_p", logic_run.THREADS)


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
        listing = "Running main()\na.\n  one\n  DISABLED_two\nall/b.  # TypeParam = int\n  three/0  # GetParam() = 2\n" \
            "  three/a_row\n  DISABLED_four/0\nkind/1.\n  five\n"
        self.assertEqual(logic_run.gtests(listing), ["a.one", "all/b.three/*", "kind/1.five"], "a table's rows are one test")


class Tries(unittest.TestCase):
    def run_against(self, *answers: proc.Done, known: dict | None = None, longer: str = "20000x",
                    explained: bool = False) -> tuple[logic_run.Result, list[proc.Spec]]:
        """One mutant, with what its runs answer, in order."""
        known = known or {TEST: logic_run.Tried(0.1, frozenset({0}))}
        chain = logic_run.try_mutant(0, made()[0], known, "2000x", longer, Counter(), [], explained)
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
        self.assertEqual(self.run_against(done(1), done(1), done(0))[0].verdict, "survived")

    def test_a_survival_is_repeated_and_unfinished_searches_go_on(self) -> None:
        killed, specs = self.run_against(done(0), done(1), done(0))
        self.assertEqual((killed.verdict, killed.round, killed.tries, len(specs)), ("killed", "again", 2, 3), "a flaky survival")
        known = {CHECK: logic_run.Tried(0.1, frozenset({0}))}
        late = [done(0, verdict("budget")), done(1, verdict("fail", False)), done(0, verdict("pass"))]
        killed, specs = self.run_against(*late, known=known)
        self.assertEqual((killed.verdict, killed.round), ("killed", "longer"))
        self.assertEqual([spec.argv[spec.argv.index("--budget") + 1] for spec in specs], ["2000x", "20000x", "20000x"])
        for answer, options in ((verdict("pass"), {}), (verdict("budget"), {"longer": "0x"}), (verdict("budget"), {"explained": True})):
            survived, specs = self.run_against(done(0, answer), known=known, **options)
            self.assertEqual((survived.verdict, len(specs)), ("survived", 1), "all was seen, or nothing more was asked for")

    def test_stress_programs_are_asked_last_and_of_what_has_no_reason(self) -> None:
        known = {STRESS: logic_run.Tried(2.1, frozenset({0})), TEST: logic_run.Tried(0.1, frozenset({0}))}
        race = done(66, "WARNING: ThreadSanitizer: data race")
        killed, specs = self.run_against(done(0), done(0), race, done(0), known=known)
        self.assertEqual((killed.verdict, killed.engine, killed.round), ("killed", "tsan", "stress"))
        self.assertIn("data race", killed.reason)
        self.assertIn("--seed", specs[2].argv)
        self.assertIn("halt_on_error=1", specs[2].env["TSAN_OPTIONS"])
        self.assertEqual(len(self.run_against(done(0), known=known, explained=True)[1]), 1)

    def test_a_hang_counts_only_when_the_unmutated_program_is_five_times_as_fast(self) -> None:
        hung = done(-9, seconds=5, timed_out=True)
        killed, specs = self.run_against(hung, done(0, seconds=1))
        self.assertEqual((killed.verdict, killed.how), ("killed", "hung"))
        self.assertGreaterEqual(specs[0].timeout, logic_run.LEAST_LIMIT)
        self.assertEqual(self.run_against(hung, done(0, seconds=1.1), done(0))[0].verdict, "survived")
        self.assertEqual(logic_run.limit(logic_run.Tried(3.0, frozenset())), 30.0)
        slow = {TEST: logic_run.Tried(1.0, frozenset({0}))}
        self.assertEqual(self.run_against(hung, done(0, seconds=1.3), known=slow)[0].verdict, "killed", "slower today by a third")

    def test_the_tests_of_a_program_are_asked_together_and_a_kill_is_of_one_alone(self) -> None:
        tests = [logic_run.Killer(Path("/p_test"), name) for name in ("s.a", "s.b", "s.c")]
        known = {test: logic_run.Tried(0.1, frozenset({0})) for test in tests}

        def asked(specs: list[proc.Spec]) -> list[str]:
            return [str(spec.argv[1]).removeprefix("--gtest_filter=") for spec in specs]

        failed = done(1, "[ RUN      ] s.a\n[  FAILED  ] s.b, where GetParam() = 3 (0 ms)\n[ RUN      ] s.c\n")
        crashed = done(-11, "[ RUN      ] s.a\n[       OK ] s.a\n[ RUN      ] s.b\n")
        for first in (failed, crashed):
            killed, specs = self.run_against(first, done(1), done(0), known=known)
            self.assertEqual((killed.verdict, killed.killed_by, asked(specs)), ("killed", "s.b", ["s.a:s.b:s.c", "s.b", "s.b"]))
        explained, specs = self.run_against(done(0), known=known, explained=True)
        self.assertEqual((explained.verdict, len(specs)), ("survived", 1))
        survived, specs = self.run_against(*[done(0)] * 4, known=known)
        self.assertEqual((survived.verdict, asked(specs)), ("survived", ["s.a:s.b:s.c", "s.a", "s.b", "s.c"]))
        survived, specs = self.run_against(failed, *[done(0)] * 6, known=known)
        self.assertEqual((survived.verdict, len(specs)), ("survived", 7), "together they failed, alone none does")
        remembered = logic_run.try_mutant(0, made()[0], known, "2000x", "0x", Counter(), ["s.c"])
        self.assertEqual(asked([next(remembered)]), ["s.c"])

    def test_only_who_passes_the_place_is_asked(self) -> None:
        survived, specs = self.run_against(known={TEST: logic_run.Tried(0.1, frozenset({5}))})
        self.assertEqual((survived.verdict, survived.tries, specs), ("survived", 0, []))


class Judged(unittest.TestCase):
    def found(self, *words: str) -> logic_run.Run:
        mutants = made()
        results = [logic_run.Result(i, mutants[i % len(mutants)], verdict=word) for i, word in enumerate(words)]
        return logic_run.Run(logic.Part(2, 6), 700, results=results)

    def test_survivors_without_a_reason_and_reasons_without_a_survivor_are_red(self) -> None:
        key = made()[0].key
        for words, listed, red in ((("survived",), {}, "without a reason"), (("survived",), {key: "why"}, ""),
                                   (("killed",), {key: "why"}, "killed after all"),
                                   (("killed",), {("impl/x.hpp", "f", "gone", "dropped"): "why"}, "no longer there"),
                                   (("killed",), {made()[1].key: "not asked"}, ""),
                                   (("survived",) * 6 + ("killed",) * 94, {m.key: "why" for m in made()}, "at least 95 %")):
            with self.subTest(red), mock.patch.object(logic, "idle_exclusions", return_value=[]):
                told = " ".join(logic_run.judged(self.found(*words), listed, made()))
                self.assertTrue(red in told if red else not told, told)

    def test_the_score_says_of_how_many(self) -> None:
        self.assertEqual(logic_run.score(self.found("killed", "survived")),
                         "1 of 2 logic mutants killed (50.0 %), part 2 of 6, of 700 in all")
        record = {"mutants": 2, "killed": 1, "explained": 1, "by_checks": 1, "source_hash": "h", "part": 2, "parts": 6, "known": 700}
        self.assertIn("part 2 of 6, of 700 in all", verification.logic_status(record, "h", "s").text)
        for stresses, said in (("s", "part 2 of 6"), ("t", "not scored for this source")):
            self.assertIn(said, verification.logic_status(record | {"stress_hash": "s"}, "h", stresses).text)

    def test_a_race_takes_no_record_that_does_not_say_of_which_stresses_it_is(self) -> None:
        for record, taken in (({"source_hash": "h"}, False), ({"source_hash": "h", "stress_hash": "s"}, True)):
            with mock.patch.object(verification.repo, "read_json", lambda _, record=record: record):
                self.assertEqual(verification.snapshot(("h", "s"), exported=True)["logic"] == record, taken)

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


class Shards(TreeCase):
    """One shard after another, with a test that always passes or always fails in place of the build."""

    def setUp(self) -> None:
        super().setUp()
        self.mutants = logic.catalogue()[:60]
        self.tried = 0

    def shard(self, part: logic.Part, stop_after: int = 1000, source: str = "h", killers: list[str] | None = None) -> logic_run.Run:
        def tried(number, mutant, *_):
            self.tried += 1
            if self.tried > stop_after:
                raise KeyboardInterrupt
            return logic_run.Result(number, mutant, verdict="killed" if number % 3 else "survived", killed_by="s.t")
            yield

        folder = self.root / "build" / "logic"
        with (
            mock.patch.multiple(logic_run, all_killers=lambda parts: [TEST], unmutated=lambda *_: {}, try_mutant=tried,
                                SHARDS=folder / "shards", TABLE=folder / "t.csv", LEARNT=folder / "l.json", reviewed=lambda: {}),
            mock.patch.object(logic_run.repo, "identity", return_value={"source_hash": source}),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            self.folder = logic_run.SHARDS
            return logic_run.run([], 1, self.mutants, part=part, keep=True, no_build=True, killers=killers)

    def joined(self, source: str = "h") -> logic_run.Run:
        with mock.patch.object(logic_run.repo, "identity", return_value={"source_hash": source}):
            return logic_run.joined(self.folder, self.mutants)

    def test_shards_that_end_early_go_on_and_together_have_every_mutant_once(self) -> None:
        with self.assertRaises(KeyboardInterrupt):
            self.shard(logic.Part(1, 2), stop_after=7)
        path = self.folder / "1-of-2.jsonl"
        path.write_text(path.read_text() + '{"key": ["cut')
        self.tried = 0
        first = self.shard(logic.Part(1, 2))
        self.assertEqual(self.tried, len(first.results) - 7, "those that were asked before stand")
        self.tried = 0
        self.assertEqual(len(self.shard(logic.Part(1, 2)).results), len(first.results))
        self.assertEqual(self.tried, 0)
        self.shard(logic.Part(2, 2))
        found = self.joined()
        self.assertEqual([r.mutant.key for r in found.results], [m.key for m in self.mutants])
        self.assertEqual([r.verdict for r in found.results], ["killed" if i % 3 else "survived" for i in range(60)])
        self.assertEqual(logic_run.score(found), "40 of 60 logic mutants killed (66.7 %), of 60 in all")

    def test_a_survival_that_some_programs_were_asked_about_is_asked_again_and_a_kill_is_not(self) -> None:
        some = len(self.shard(logic.Part(1, 1), killers=["s"]).results)
        self.assertEqual(logic_run.score(self.joined()), f"{self.tried * 2 // 3} of {some} logic mutants killed (66.7 %), of 60 in all")
        self.tried = 0
        self.assertEqual(len(self.shard(logic.Part(1, 1)).results), 60)
        self.assertEqual(self.tried, 20)
        self.tried = 0
        self.shard(logic.Part(1, 1))
        self.assertEqual(self.tried, 0)

    def test_a_mutant_in_two_shards_that_one_killed_is_killed(self) -> None:
        """A header's shard and a draw's share mutants, and one may have been asked of fewer programs."""
        self.shard(logic.Part(1, 1))
        score = logic_run.score(self.joined())
        shard = self.folder / "1-of-1.jsonl"
        for name in ("0.jsonl", "2.jsonl"):
            shard.with_name(name).write_text(shard.read_text().replace('"killed"', '"survived"'))
        self.assertEqual(logic_run.score(self.joined()), score)

    def test_a_shard_of_another_source_begins_anew_and_is_not_joined(self) -> None:
        self.shard(logic.Part(1, 2))
        self.tried = 0
        again = self.shard(logic.Part(1, 2), source="other")
        self.assertEqual(self.tried, len(again.results))
        with self.assertRaisesRegex(Fault, "does not go with"):
            self.joined()
        self.assertEqual(len(self.joined("other").results), len(again.results))


class CommandLine(unittest.TestCase):
    def test_a_draw_is_a_number_or_a_day(self) -> None:
        self.assertEqual(mutate.draw("3"), logic.Part(3, logic.DRAWS))
        self.assertEqual(mutate.draw("2026-11-27"), logic.draw_of(datetime.date(2026, 11, 27)))
        for text in ("0", "7", "2026-13-01", "monday", ""):
            with self.subTest(text), self.assertRaises(argparse.ArgumentTypeError):
                mutate.draw(text)

    def test_a_shard_is_one_of_so_many(self) -> None:
        self.assertEqual([mutate.shard(text) for text in ("3/6", "1", "1/1")], [logic.Part(3, 6), logic.Part(1, 1), logic.Part(1, 1)])
        for text in ("0/6", "7/6", "2", "1/0", "a/b", "1/2/3", ""):
            with self.subTest(text), self.assertRaises(argparse.ArgumentTypeError):
                mutate.shard(text)


if __name__ == "__main__":
    unittest.main()
