#!/usr/bin/env python3
"""What the façade makes of checks that do wrong on purpose: facade_test.py PROGRAM."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)


def verdict(name, *arguments, engine="relacy"):
    done = run(name, "--engine", engine, "--json", "-", *arguments)
    lines = done.stdout.splitlines()
    assert len(lines) == 1, done.stdout + done.stderr
    return json.loads(lines[0]), done.returncode


class Verdicts(unittest.TestCase):
    def expect(self, name, word, as_expected, reason, *arguments):
        v, code = verdict(name, *arguments)
        self.assertEqual((v["verdict"], v["as_expected"]), (word, as_expected), v)
        self.assertIn(reason, v["reason"])
        self.assertEqual(code, 0 if as_expected else 1)
        return v

    def test_a_quiet_check_passes(self):
        self.expect("quiet", "pass", True, "")

    def test_a_broken_law_fails_the_check(self):
        self.expect("loses_a_count", "fail", False, "increment was lost")

    def test_an_exhibit_must_fail_for_the_stated_reason(self):
        self.expect("exhibit_seen", "fail", True, "increment was lost")
        self.expect("exhibit_for_another_reason", "fail", False, 'expected: "some other reason"')
        self.expect("exhibit_not_caught", "pass", False, "not caught", "--budget", "1000x")

    def test_an_engine_that_is_said_to_pass_an_exhibit_must_pass_it(self):
        v = self.expect("only_the_explorer_sees", "pass", True, "", "--budget", "1000x")
        self.assertEqual(v["differs"], "it is made so")
        self.assertEqual(verdict("only_the_explorer_sees", engine="explorer")[0]["differs"], "")
        self.expect("relacy_sees_it_after_all", "fail", False, "relacy sees it after all: ")

    def test_a_branch_that_is_never_reached_is_red(self):
        self.expect("never_reaches", "pass", False, "never reached facade.never")

    def test_a_crash_is_an_error(self):
        self.expect("crashes", "error", False, "signal")

    def test_a_simulation_that_hangs_is_stopped(self):
        self.expect("hangs", "error", False, "did not end within its time", "--timeout", "1")

    def test_memory_laws(self):
        self.expect("leaks", "fail", False, "leak")
        self.expect("uses_after_free", "fail", False, "freed memory")

    def test_waiting(self):
        self.expect("spins_for_ever", "fail", False, "livelock")
        self.expect("awaits_for_ever", "fail", False, "deadlock")
        self.expect("awaits", "pass", True, "")
        self.expect("awaits", "pass", True, "", "--mode", "full")

    def test_an_invariant_is_asked_after_every_step(self):
        self.expect("breaks_an_invariant", "fail", False, "n is two")

    def test_a_litmus_test_needs_its_exact_set(self):
        self.expect("wrong_set", "fail", False, "never saw (2)")


class Traces(unittest.TestCase):
    def test_a_loop_is_shown_once_and_counted(self):
        done = run("spins_without_await", "--engine", "explorer")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("a waiting loop needs await()", done.stdout)
        self.assertRegex(done.stdout, r"…  \| row \d+ again, \d+ times")
        self.assertLess(len(done.stdout.splitlines()), 30, done.stdout)

    def trace(self, name):
        found, _ = verdict(name, engine="explorer")
        # Cells are wrapped: put the second thread's column together again.
        lines = found["trace"].splitlines()[2:]
        return " ".join(" ".join(line.split("|")[k].strip() for line in lines if line.count("|") > k) for k in (1, 2))

    def test_a_missing_acquire_is_named(self):
        self.assertRegex(
            " ".join(self.trace("misses_a_message").split()),
            r"stale: reads .*no happens-before edge from row \d+ to this read: row \d+ \(load relaxed\) takes the value "
            r"of row \d+, which releases it, but is relaxed; acquire would make the edge",
        )

    def test_a_missing_fence_is_named(self):
        self.assertRegex(
            " ".join(self.trace("misses_each_other").split()),
            r"each thread misses the other's store \(row \d+, row \d+\), which only seq_cst forbids: no seq_cst fence "
            r"stands between row \d+ and",
        )

    def test_the_page_has_verdicts_traces_and_the_line_that_replays(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.html")
            done = run("misses_a_message", "quiet", "--engine", "explorer", "--html", str(page))
            self.assertEqual(done.returncode, 0, done.stderr)
            text = page.read_text()
        self.assertNotIn("http", text)  # self-contained
        self.assertIn("the &lt;flag&gt; is released", text)
        self.assertIn('<div class="stale">stale: reads the initial value, not row', text)
        self.assertIn('<div class="choice">could have read the initial value, row', text)
        self.assertIn("misses_a_message --engine explorer --replay x1:", text)
        self.assertIn(">caught<", text)
        self.assertEqual(text.count("<tr"), text.count("</tr>"))

    def test_a_page_that_cannot_be_written_is_refused(self):
        self.assertEqual(run("quiet", "--html", "/nowhere/page.html").returncode, 2)


class Replay(unittest.TestCase):
    def replays(self, *mode):
        found, _ = verdict("loses_a_count", *mode)
        self.assertTrue(found["trace"])
        line = found["replay"].split()
        first, second = run(*line), run(*line)
        self.assertEqual(first.returncode, 1)
        self.assertIn("1 executions", first.stdout)
        # The same steps, the same rows: only the time may differ.
        self.assertEqual(first.stdout.splitlines()[1:], second.stdout.splitlines()[1:])
        again, _ = verdict(*line, "--engine", "relacy")
        self.assertEqual((again["reason"], again["trace"]), (found["reason"], found["trace"]))

    def test_every_mode_reproduces_its_failure(self):
        for mode in (["--mode", "standard"], ["--mode", "random", "--seed", "7"], ["--mode", "pct", "--bound", "2"],
                     ["--mode", "bound", "--bound", "1"], ["--mode", "full"]):
            with self.subTest(mode=mode):
                self.replays(*mode)

    def test_a_token_of_a_random_mode_reproduces_without_shortening(self):
        found, _ = verdict("loses_a_count", "--replay", "random-7-5-16")
        again, _ = verdict("loses_a_count", "--replay", "random-7-5-16")
        self.assertEqual((found["verdict"], found["trace"]), (again["verdict"], again["trace"]))
        self.assertEqual(found["executions"], 1)

    def test_the_same_seed_gives_the_same_search(self):
        one, _ = verdict("loses_a_count", "--seed", "3", "--mode", "random")
        two, _ = verdict("loses_a_count", "--seed", "3", "--mode", "random")
        self.assertEqual(one["executions"], two["executions"])


class Searching(unittest.TestCase):
    def test_full_search_ends_and_says_how_many(self):
        v, _ = verdict("quiet", "--mode", "full")
        self.assertEqual((v["verdict"], v["mode"]), ("pass", "full"))
        self.assertGreater(v["executions"], 1)

    def test_a_cut_search_is_no_pass(self):
        v, _ = verdict("quiet", "--mode", "full", "--budget", "1x")
        self.assertEqual(v["verdict"], "budget")

    def test_shards_of_the_random_mode_find_what_the_whole_finds(self):
        found = [verdict("loses_a_count", "--shard", f"{i}/2", "--mode", "random")[0]["verdict"] for i in (0, 1)]
        self.assertEqual(found, ["fail", "fail"])

    def test_without_a_trace_a_failure_is_told_as_found(self):
        for engine in ("relacy", "explorer"):
            found, code = verdict("loses_a_count", "--no-trace", engine=engine)
            self.assertEqual((found["verdict"], code), ("fail", 1))
            whole, _ = verdict("loses_a_count", engine=engine)
            self.assertEqual((found["executions"], found["reason"]), (whole["executions"], whole["reason"]))
        self.assertEqual(verdict("loses_a_count", "--no-trace")[0]["trace"], "")

    def test_a_mutation_names_its_place(self):
        done = run("quiet", "--engine", "relacy", "--mutate", "nowhere.cpp:1=relaxed")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no operation at nowhere.cpp:1 ran", done.stderr)
        sites = verdict("quiet")[0]["sites"]
        site = next(s for s in sites if s.endswith("fetch_add"))
        self.assertEqual(verdict("quiet", "--mutate", f"{site}=seq_cst")[1], 0)

    def test_a_mutation_that_changes_nothing_is_no_pass(self):
        site, written = next((s, o) for s, o in verdict("quiet")[0]["sites"].items() if s.endswith("fetch_add"))
        for engine in ("relacy", "explorer"):
            for order in (written, "dropped"):
                with self.subTest(engine=engine, order=order):
                    done = run("quiet", "--engine", engine, "--mutate", f"{site}={order}")
                    self.assertEqual(done.returncode, 2, done.stdout)
                    self.assertIn("nothing was weakened", done.stderr)

    def test_a_source_of_the_last_look_can_be_left_out(self):
        for engine in ("relacy", "explorer"):
            with self.subTest(engine=engine):
                whole, code = verdict("looks_again", engine=engine)
                self.assertEqual((whole["verdict"], code), ("pass", 0))
                self.assertEqual(whole["sites"]["recheck:facade.work"], "kept")
                for form in ("recheck:facade.work", "recheck:facade.work=dropped"):
                    found, code = verdict("looks_again", "--mutate", form, engine=engine)
                    self.assertEqual((found["verdict"], code), ("fail", 1))
                    self.assertIn("deadlock", found["reason"])
                    again, _ = verdict(*found["replay"].split(), engine=engine)
                    self.assertEqual(again["trace"], found["trace"])
                self.assertEqual(run("looks_again", "--engine", engine, "--mutate", "recheck:elsewhere").returncode, 2)
        self.assertIn("no value for --mutate", run("looks_again", "--mutate", "recheck:facade.work=relaxed").stderr)


class Explorer(unittest.TestCase):
    def test_a_verdict_states_its_bounds_and_counts(self):
        v, code = verdict("quiet", "--bounds", "cas=0,reuse=2", engine="explorer")
        self.assertEqual((v["verdict"], code, v["mode"]), ("pass", 0, "exhaustive"))
        self.assertEqual((v["graphs"], v["executions"], v["blocked"]), (2, 2, 0))
        for words in ("0 spurious compare-exchange failures", "1 timeout,", "2 reuses of freed memory", "1000 steps"):
            self.assertIn(words, v["bound"])

    def test_bounds_travel_with_the_replay(self):
        self.assertEqual(verdict("fails_on_a_match", engine="explorer")[0]["verdict"], "pass")
        found, _ = verdict("fails_on_a_match", "--bounds", "cas=2", engine="explorer")
        self.assertEqual(found["verdict"], "fail")
        self.assertIn("--bounds cas=2,timeout=1,spurious=1,reuse=1,steps=1000", found["replay"])
        again, _ = verdict(*found["replay"].split(), engine="explorer")
        self.assertEqual((again["reason"], again["trace"]), (found["reason"], found["trace"]))

    def test_an_estimate_comes_before_the_search(self):
        done = run("quiet", "--engine", "explorer", "--estimate", "--json", "-")
        self.assertIn("estimate quiet: about 2 executions", done.stderr)
        v = json.loads(done.stdout)
        self.assertEqual((v["executions"], v["estimated_executions"]), (2, 2))
        self.assertNotIn("estimated_executions", verdict("quiet", engine="explorer")[0])

    def test_progress_is_told_when_asked_for(self):
        done = run("immense", "--engine", "explorer", "--progress", "--budget", "3s", "--json", "-")
        # After 2 s, and later where the machine stood still.
        self.assertRegex(done.stderr, r"progress immense: \d+ s, \d+ graphs, \d+ executions, \d+/s, about \d+\.\d % covered")
        v = json.loads(done.stdout)
        self.assertEqual((v["verdict"], done.returncode), ("budget", 1))
        self.assertIn("% of the search tree covered", v["bound"])
        self.assertEqual(run("immense", "--engine", "explorer", "--budget", "3s").stderr, "")

    def test_few_preemptions_are_no_proof(self):
        v, code = verdict("immense", "--mode", "bound", "--bound", "1", "--budget", "300x", engine="explorer")
        self.assertEqual((v["verdict"], v["mode"], code), ("budget", "bound(1)", 0))
        v, code = verdict("quiet", "--mode", "bound", "--bound", "1", engine="explorer")
        self.assertEqual((v["verdict"], v["mode"], code), ("pass", "bound(1)", 0))
        self.assertIn("at most 1 preemption, not all executions", v["bound"])


class CommandLine(unittest.TestCase):
    def nonsense(self, text, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(text, done.stderr)

    def test_unknown_names_print_those_that_exist(self):
        self.nonsense("loses_a_count", "loses_a_cuont")
        self.nonsense("--help lists the options", "--bugdet", "5s")
        self.nonsense("no value for --mode", "--mode", "fast")
        self.nonsense("no value for --budget", "--budget", "5")
        self.nonsense("no value for --shard", "--shard", "2/2")
        self.nonsense("'wakes' is no bound; there are cas, timeout, spurious, reuse, steps", "--bounds", "wakes=1")
        self.nonsense("'cas' of --bounds is not NAME=N; there are cas, timeout", "--bounds", "steps=9,cas")
        self.nonsense("'-1' is no value for the bound cas; it is a number from 0", "--bounds", "cas=-1")
        self.nonsense("'0' is no value for the bound steps; it is a number from 1 to 60000", "--bounds", "steps=0")
        self.nonsense("'--bounds' is the explorer's", "--bounds", "cas=1", "--engine", "relacy")
        self.nonsense("leave out --mode", "--estimate", "--mode", "pct")
        self.nonsense("name that check", "--replay", "random-1-1-1")

    def test_a_bad_token_is_an_error(self):
        v, code = verdict("quiet", "--replay", "random-x")
        self.assertEqual((v["verdict"], code), ("error", 1))
        self.assertIn("no token of this engine", v["reason"])

    def test_the_list_is_machine_readable(self):
        done = run("--list", "--json")
        entries = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertIn({"name": "wrong_set", "kind": "litmus", "engines": ["relacy"], "threads": 2,
                       "what": "nothing wrong at all", "must_reach": [], "too_large": False, "must_see": ["relacy"], "one_engine": ""}, entries)
        self.assertEqual([(e["engines"], e["must_see"]) for e in entries if e["name"] == "only_the_explorer_sees"],
                         [(["relacy", "explorer"], ["explorer"])])
        self.assertEqual(next(e for e in entries if e["name"] == "never_reaches")["must_reach"], ["facade.never"])


if __name__ == "__main__":
    unittest.main()
