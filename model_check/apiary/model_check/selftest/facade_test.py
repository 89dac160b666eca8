#!/usr/bin/env python3
"""What the façade makes of checks that do wrong on purpose: facade_test.py PROGRAM SHIM. The shim (cut_short.cpp) is preloaded
to make verdicts come short."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

PROGRAM = sys.argv.pop(1)
SHIM = sys.argv.pop(1)


def run(*arguments, **environment):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300, env=os.environ | environment)


def verdict(name, *arguments, engine="relacy", **environment):
    done = run(name, "--engine", engine, "--json", "-", *arguments, **environment)
    lines = done.stdout.splitlines()
    assert len(lines) == 1, done.stdout + done.stderr
    return json.loads(lines[0]), done.returncode


class Verdicts(unittest.TestCase):
    def expect(self, name, word, as_expected, reason, *arguments, engine="relacy"):
        v, code = verdict(name, *arguments, engine=engine)
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

    def test_a_brief_hunt_is_shorter_beside_a_search_that_sees_all(self):
        self.assertEqual([verdict(name, *words)[0]["executions"] for name in ("quiet", "never_reaches") for words in ((), ("--brief",))],
                         [60_000, 5_000, 60_000, 20_000])

    def test_a_crash_is_an_error(self):
        self.expect("crashes", "error", False, "signal")

    def test_a_simulation_that_hangs_is_stopped(self):
        self.expect("hangs", "error", False, "did not end within its time", "--timeout", "1")

    def test_memory_laws(self):
        self.expect("leaks", "fail", False, "leak")
        self.expect("uses_after_free", "fail", False, "freed memory")

    def test_scopes_and_bytes_are_watched_by_both_engines(self):
        for engine in ("relacy", "explorer"):
            with self.subTest(engine):
                for name in ("atomic_of_an_ended_scope", "cell_of_an_ended_scope", "object_in_bytes_given_back"):
                    self.expect(name, "fail", False, "access to freed memory", engine=engine)
                self.expect("bytes_leak", "fail", False, "memory leak", engine=engine)
                early = "data race" if engine == "relacy" else "access to freed memory: an object ends in thread 1 while thread 0 uses"
                self.expect("constructed_anew_too_early", "fail", False, early, engine=engine)
                self.expect("constructed_anew_behind_its_use", "pass", True, "", engine=engine)
                self.expect("bytes_twice", "fail", False, "double free", engine=engine)
                for name in ("bytes_of_another_size", "bytes_of_another_alignment"):
                    self.expect(name, "fail", False, "bad deallocate", engine=engine)
                for name in ("scope_that_waits", "object_in_bytes_that_waits", "bytes_none"):
                    self.expect(name, "pass", True, "", engine=engine)

    def test_the_end_of_an_object_is_seen_where_no_other_begins(self):
        self.expect("constructed_over", "fail", False, "data race: thread 1 constructs an object where", engine="explorer")
        self.expect("ends_too_early", "fail", False, "access to freed memory", engine="relacy")
        self.expect("ends_too_early", "fail", False, "access to freed memory: an object ends in thread", engine="explorer")
        for name in ("atomic_of_an_ended_local", "cell_of_an_ended_local"):
            self.expect(name, "fail", False, "has ended", engine="explorer")
        for name in ("ends_behind_its_use", "local_that_waits"):
            with self.subTest(name):
                self.expect(name, "pass", True, "", engine="explorer")

    def test_current_is_of_the_modelled_thread_and_thread_local_is_not(self):
        for engine in ("relacy", "explorer"):
            with self.subTest(engine):
                self.expect("worker_by_thread_local", "fail", True, "the pointer of another", engine=engine)
                self.expect("worker_by_current", "pass", True, "", engine=engine)

    def test_waiting(self):
        self.expect("spins_for_ever", "fail", False, "livelock")
        self.expect("awaits_for_ever", "fail", False, "deadlock")
        self.expect("awaits", "pass", True, "")
        self.expect("awaits", "pass", True, "", "--mode", "full")

    def test_what_waits_for_ever_beside_a_deadline(self):
        for name in ("lock_circle_beside_a_timer", "lost_wake_beside_a_timer"):
            self.expect(name, "fail", False, "deadlock", engine="explorer")

    def test_waits_with_deadlines_end_as_they_may(self):
        self.expect("futex_wakes_for_nothing", "fail", False, "woken for nothing", engine="explorer")
        self.expect("parker_behind_its_deadline", "fail", False, "twice without", engine="explorer")

    def test_threads_that_are_said_to_be_alike_are_held_to_it(self):
        for name in ("alike_but_for_an_exchange", "alike_but_for_an_addition", "alike_but_for_an_order"):
            self.expect(name, "error", False, "declared alike are not", engine="explorer")

    def test_orders_that_an_operation_cannot_have(self):
        for name, words in (
            ("load_release", "load with the order release"), ("load_acq_rel", "load with the order acq_rel"),
            ("store_acquire", "store with the order acquire"), ("store_consume", "store with the order consume"),
            ("store_acq_rel", "store with the order acq_rel"),
            ("exchange_fails_release", "compare_exchange_strong with the failure order release"),
            ("exchange_fails_acq_rel", "compare_exchange_strong with the failure order acq_rel"),
        ):
            for engine in ("relacy", "explorer"):
                with self.subTest(name=name, engine=engine):
                    self.expect(name, "fail", False, f"undefined behaviour: {words} at model_check/", engine=engine)
        self.expect("exchange_fails_consume", "pass", True, "", engine="explorer")

    def test_mutexes_that_are_used_as_they_must_not_be(self):
        for name, explorer, relacy in (
            ("mutex_is_unlocked_by_another", "unlock of a mutex that this thread does not hold", "OWNERSHIP"),
            ("mutex_is_locked_twice", "deadlock", "RECURSION"),
            ("mutex_is_tried_by_its_owner", "try_lock of a mutex that this thread holds already (try_lock at model_", "RECURSION"),
            ("mutex_is_kept_to_the_end", "undefined behaviour: thread 0 ends and holds a mutex (lock at model_check/", "DESTROYING OWNED MUTEX"),
            ("mutex_ends_while_it_is_held", "undefined behaviour: a mutex ends that thread 0 holds (lock at model_check/", "DESTROYING OWNED MUTEX"),
            ("mutex_is_kept_behind_the_threads", "undefined behaviour: a mutex ends that is held (lock at", "DESTROYING OWNED MUTEX"),
        ):
            with self.subTest(name):
                self.expect(name, "fail", False, explorer, engine="explorer")
                self.expect(name, "fail", False, relacy)
        self.expect("two_wait_with_one_mutex", "pass", True, "", engine="explorer")
        self.expect("two_wait_with_two_mutexes", "fail", False, "wait for one condition variable with different mutexes",
                    engine="explorer")

    def test_an_invariant_is_asked_after_every_step(self):
        self.expect("breaks_an_invariant", "fail", False, "n is two")

    def test_a_litmus_test_needs_its_exact_set(self):
        self.expect("wrong_set", "fail", False, "never saw (2)")


class DidNothing(unittest.TestCase):
    """A check that looked at nothing is red, on both engines, and says why and what to do."""

    def red(self, name, *words):
        for engine in ("relacy", "explorer"):
            with self.subTest(name=name, engine=engine):
                v, code = verdict(name, engine=engine)
                self.assertEqual((v["verdict"], v["as_expected"], code), ("error", False, 1))
                for word in ("nothing was checked", "Cause:", "Remedy:", *words):
                    self.assertIn(word, v["reason"])

    def test_threads_that_run_nothing_that_is_watched(self):
        self.red("plain_words", "thread 0 ran no operation", "std::atomic")
        self.red("std_atomics", "thread 0 ran no operation", "std::atomic")
        self.red("one_idle_thread", "thread 1 ran no operation")

    def test_no_law(self):
        self.red("asserts_nothing", "no law was evaluated", "Sync::law")
        self.red("ledger_unused", "no law was evaluated")

    def test_a_law_of_the_engine_that_was_never_asked(self):
        self.red("never_waits", "'deadlock', which was never asked", "a wait without deadline")

    def test_what_was_asked_is_counted(self):
        for engine in ("relacy", "explorer"):
            v, code = verdict("rests_on_the_engine", engine=engine)
            self.assertEqual((v["verdict"], code, v["acted"]), ("pass", 0, [0, 1]))
            self.assertEqual(v["laws"]["check"], 0)
            self.assertTrue(all(v["laws"][law] for law in ("race", "deadlock", "lifetime")), v["laws"])
            v, _ = verdict("quiet", engine=engine)
            self.assertEqual(v["laws"]["check"], 2 * v["executions"])

    def test_a_mutant_is_not_killed_by_it(self):
        site = next(s for s in verdict("asserts_nothing", engine="explorer")[0]["sites"] if s.endswith("fetch_add"))
        self.assertEqual(verdict("asserts_nothing", "--mutate", f"{site}=acquire", engine="explorer")[1], 0)


class CutShort(unittest.TestCase):
    """What comes from a process counts only when it is whole and the process ended well."""

    FAILING = ("loses_a_count", "--jobs", "2")

    def with_fault(self, depth, **fault):
        v, code = verdict(*self.FAILING, engine="explorer", LD_PRELOAD=SHIM, CUT_DEPTH=str(depth), **fault)
        return v, code

    def test_the_shim_changes_nothing_by_itself(self):
        for depth in (0, 1, 2):
            v, code = self.with_fault(depth)
            self.assertEqual((v["verdict"], code), ("fail", 1), v)

    def test_fewer_bytes_are_an_error(self):
        for depth in (1, 2):
            for size in (0, 1, 2, 40, 400):
                with self.subTest(depth=depth, size=size):
                    v, code = self.with_fault(depth, CUT_BYTES=str(size))
                    self.assertEqual((v["verdict"], v["as_expected"], code), ("error", False, 1), v)
                    self.assertIn("without a whole verdict", v["reason"])

    def test_another_status_is_an_error(self):
        for depth in (1, 2):
            v, code = self.with_fault(depth, CUT_EXIT="3")
            self.assertEqual((v["verdict"], code), ("error", 1), v)
            self.assertIn("status 3", v["reason"])
            v, code = self.with_fault(depth, CUT_KILL="1")
            self.assertEqual((v["verdict"], code), ("error", 1), v)
            self.assertIn("ended by a signal: Killed", v["reason"])

    def test_a_job_that_dies_does_not_leave_the_others_waiting(self):
        v, code = verdict("immense", "--jobs", "2", "--budget", "2000x", engine="explorer", LD_PRELOAD=SHIM, CUT_DEPTH="2",
                          CUT_KILL="1")
        self.assertEqual((v["verdict"], code), ("error", 1), v)


class Orphans(unittest.TestCase):
    """No process outlives the program, however it ends."""

    def start(self, *arguments):
        self.token = f"APIARY_TEST_TOKEN={uuid.uuid4()}"
        name, value = self.token.split("=")
        self.addCleanup(lambda: [os.kill(process, signal.SIGKILL) for process in self.alive()])
        return subprocess.Popen([PROGRAM, "immense", "--engine", "explorer", "--jobs", "2", *arguments],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | {name: value})

    def alive(self):
        found = []
        for environment in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if self.token.encode() in environment.read_bytes():
                    found.append(int(environment.parent.name))
            except OSError:
                pass
        return found

    def until(self, condition):
        for _ in range(600):
            if condition():
                return
            time.sleep(0.05)
        self.fail(f"still alive: {self.alive()}")

    def test_a_time_that_runs_out_leaves_none(self):
        started = self.start("--timeout", "1")
        self.until(lambda: len(self.alive()) == 4 or started.poll() is not None)  # itself, the simulation, two jobs
        self.assertEqual(started.wait(60), 1)
        self.assertEqual(self.alive(), [])

    def test_a_signal_leaves_none(self):
        for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            started = self.start()
            self.until(lambda: len(self.alive()) == 4)
            started.send_signal(s)
            self.assertEqual(started.wait(60), -s)
            self.assertEqual(self.alive(), [])

    def test_being_killed_leaves_none(self):
        started = self.start()
        self.until(lambda: len(self.alive()) == 4)
        started.kill()
        started.wait(60)
        self.until(lambda: not self.alive())


class Traces(unittest.TestCase):
    def test_the_set_up_shows_what_is_stored_and_types_have_their_names(self):
        v, _ = verdict("leaks_a_noted", engine="explorer")
        self.assertIn("noted (4 bytes) was never destroyed", v["reason"])
        self.assertNotRegex(v["reason"], r"N\d")
        text = " ".join(v["trace"].split())
        for row in ("store this->n = 40", "-> 40, stores 42", "write word (plain write) = 77"):
            self.assertIn(row, text)
        v, _ = verdict("leaks_a_noted")
        self.assertRegex(v["trace"], r"store this->n <- 40")

    def test_a_loop_is_shown_once_and_counted(self):
        done = run("spins_without_await", "--engine", "explorer")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("a waiting loop needs spin_until()", done.stdout)
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
            self.assertEqual((found["trace"], whole["trace"] != ""), ("", True))

    def test_a_mutation_names_its_place(self):
        done = run("quiet", "--engine", "relacy", "--mutate", "nowhere.cpp:1=relaxed")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no operation at nowhere.cpp:1 ran", done.stderr)
        for wrong in ("bogus", "", "relax"):
            done = run("quiet", "--mutate", f"misbehaving.cpp:1={wrong}")
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("relaxed, acquire, release, acq_rel, seq_cst, dropped", done.stderr)
        sites = verdict("quiet")[0]["sites"]
        site = next(s for s in sites if s.endswith("fetch_add"))
        self.assertEqual(verdict("quiet", "--mutate", f"{site}=seq_cst")[1], 0)

    def test_several_mutations_are_made_at_once_and_each_must_be_met(self):
        sites = verdict("loses_a_count", engine="explorer")[0]["sites"]
        load, store = (next(s for s in sites if s.endswith(operation)) for operation in ("load", "store"))
        file, line, _, operation = store.rsplit(":", 3)  # the column may be left out
        both = ("--mutate", f"{load}=seq_cst", "--mutate", f"{file}:{line}:{operation}=seq_cst")
        found, code = verdict("loses_a_count", *both, engine="explorer")
        self.assertEqual((found["verdict"], code), ("fail", 1))
        done = run("loses_a_count", "--engine", "explorer", *both)
        self.assertIn(" ".join(both), done.stdout)  # the line that replays it
        for wrong, said in ((f"{file}:1=relaxed", f"no operation at {file}:1 ran"), (f"{store}=relaxed", "as it is written"),
                            ("recheck:work", "a recheck is left out alone")):
            done = run("loses_a_count", "--engine", "explorer", *both[:2], "--mutate", wrong)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(said, done.stderr)
        done = run("loses_a_count", "--engine", "relacy", *both)
        self.assertEqual((done.returncode, done.stderr.count("is the explorer's")), (2, 1), done.stderr)

    def test_a_mutation_that_changes_nothing_is_no_pass(self):
        for name, end, orders in (("quiet", "fetch_add", ("relaxed", "dropped")), ("loses_a_count", "load", ("relaxed", "release")),
                                  ("loses_a_count", "store", ("acquire", "acq_rel")), ("misses_each_other", "fence", ("relaxed",))):
            for engine in ("relacy", "explorer"):
                if name == "misses_each_other" and engine == "relacy":
                    continue
                site = next(s for s in verdict(name, engine=engine)[0]["sites"] if s.endswith(end))
                for order in orders:
                    with self.subTest(name=name, engine=engine, order=order):
                        done = run(name, "--engine", engine, "--mutate", f"{site}={order}")
                        self.assertEqual(done.returncode, 2, done.stdout)
                        self.assertIn("nothing was weakened", done.stderr)

    def test_all_mutations_by_one_command(self):
        done = run("looks_again", "--mutate-all", "misbehaving.cpp")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("9 of 9 mutants killed", done.stdout)
        self.assertRegex(done.stdout, r"recheck:facade.work +kept -> dropped +killed by looks_again, explorer, \d+ executions: deadlock")
        self.assertRegex(done.stdout, r":load +seq_cst -> relaxed +killed by")
        self.assertEqual(run("looks_again", "--mutate-all", "misbehaving.cpp").stdout, done.stdout)
        done = run("stronger_than_needed", "--mutate-all", "misbehaving.cpp")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r"fetch_add +acquire -> relaxed +SURVIVES")
        self.assertIn("0 of 1 mutants killed", done.stdout)
        for arguments, said in ((("quiet", "--mutate-all", "misbehaving.cpp"), "no operation that could be weakened"),
                                (("quiet", "--mutate-all", "nowhere.hpp"), "no operation that could be weakened"),
                                (("loses_a_count", "--mutate-all", "misbehaving.cpp"), "a check is red as the code stands")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(said, done.stdout)

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
        for budget in ("3s", "10s", "60s"):  # it is told after 2 s, where the machine does not stand still until the end
            done = run("immense", "--engine", "explorer", "--progress", "--budget", budget, "--json", "-")
            if done.stderr:
                break
        self.assertRegex(done.stderr, r"progress immense: \d+ s, \d+ graphs, \d+ executions, \d+/s, about \d+\.\d % covered")
        v = json.loads(done.stdout)
        self.assertEqual((v["verdict"], done.returncode), ("budget", 1))
        self.assertIn("% of the search tree covered", v["bound"])
        self.assertEqual(run("immense", "--engine", "explorer", "--budget", "3s").stderr, "")

    def test_a_budget_is_the_same_for_any_number_of_jobs(self):
        texts = set()
        for jobs in ("1", "2", "3"):
            v, code = verdict("immense", "--budget", "5000x", "--jobs", jobs, engine="explorer")
            self.assertEqual((v["verdict"], v["executions"], v["graphs"], code), ("budget", 5000, 5000, 1))
            texts.add(json.dumps({key: value for key, value in v.items() if key != "seconds"}))
        self.assertEqual(len(texts), 1, texts)

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
        self.nonsense("--mode: fast not in {bound,full,pct,random,standard}", "--mode", "fast")
        self.nonsense("no value for --budget", "--budget", "5")
        self.nonsense("no value for --shard", "--shard", "2/2")
        self.nonsense("'wakes' is no bound; there are cas, timeout, spurious, reuse, steps", "--bounds", "wakes=1")
        self.nonsense("'cas' of --bounds is not NAME=N; there are cas, timeout", "--bounds", "steps=9,cas")
        self.nonsense("'-1' is no value for the bound cas; it is a number from 0", "--bounds", "cas=-1")
        self.nonsense("'0' is no value for the bound steps; it is a number from 1 to 60000", "--bounds", "steps=0")
        self.nonsense("'--bounds' is the explorer's", "--bounds", "cas=1", "--engine", "relacy")
        self.nonsense("leave out --mode", "--estimate", "--mode", "pct")
        self.nonsense("name that check", "--replay", "random-1-1-1")
        self.nonsense("needs a FILE", "--json")
        self.nonsense("--jobs: '0' is no whole number from 1 to 10000", "--jobs", "0")
        self.nonsense("'x.hpp:3' is no value for --mutate", "--mutate", "x.hpp:3")

    def test_numbers_are_decimal_and_within_a_range(self):
        whole = "is no whole number from 0 to 18446744073709551615"
        for seen in ("-1", "18446744073709551616", "0x10", "+1", "1e3", "nan"):
            self.nonsense(f"--seed: '{seen}' {whole}", "--seed", seen)
        for option in ("--bound", "--jobs", "--loop-seconds"):
            for seen in ("-1", "4294967296", "0x10"):
                self.nonsense(f"{option}: '{seen}' is no whole number from", option, seen)
        for seen in ("nan", "inf", "-1", "0"):
            self.nonsense(f"--timeout: '{seen}' is no number from 0.001 to 1e+09", "--timeout", seen)
            self.nonsense("no value for --budget", "--budget", f"{seen}s")
        # Ten, and not the eight that it is in octal.
        self.assertIn("seed 10", verdict("quiet", "--mode", "random", "--seed", "010", "--budget", "100x")[0]["bound"])

    def test_help_names_every_option_of_a_call(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        for option in ("--budget", "--bounds", "--replay", "--mutate-all", "--html", "exit: 0"):
            self.assertIn(option, done.stdout)

    def test_a_bad_token_is_an_error(self):
        v, code = verdict("quiet", "--replay", "random-x")
        self.assertEqual((v["verdict"], code), ("error", 1))
        self.assertIn("no token of this engine", v["reason"])

    def test_the_list_is_machine_readable(self):
        done = run("--list", "--json")
        entries = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertIn({"name": "wrong_set", "kind": "litmus", "engines": ["relacy"], "threads": 2,
                       "what": "nothing wrong at all", "must_reach": [], "engine_laws": [], "exhibit": "", "as_it_is": False, "too_large": False, "must_see": ["relacy"], "one_engine": ""}, entries)
        self.assertEqual([(e["engines"], e["must_see"]) for e in entries if e["name"] == "only_the_explorer_sees"],
                         [(["relacy", "explorer"], ["explorer"])])
        self.assertEqual(next(e for e in entries if e["name"] == "never_reaches")["must_reach"], ["facade.never"])


if __name__ == "__main__":
    unittest.main()
