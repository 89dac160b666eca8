"""hunt_test: each wrong program is found, with its kind and its label, within so many runs, and replays to the bit; each right one
stays silent for thirty seeds.

usage: hunt_test.py FOLDER        where hunted_small and its like lie
       hunt_test.py FOLDER --table   prints runs to the first failure over seven seeds: README.md's table
"""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
from apiary_cli.verify.hunted_mutants import places_of  # noqa: E402

FOLDER = Path(".")
SILENT_SEEDS = 30


def hunt(program: list[str], more_environment: int = 0, **asked: object) -> dict:
    """The lines that the runtime wrote, by their first word; of `run` and `summary` the fields."""
    environment = os.environ | {"MORE": "x" * more_environment}
    with tempfile.NamedTemporaryFile() as out:
        words = ";".join(f"{name}={value}" for name, value in {"out": out.name, "limit": 20, **asked}.items())
        done = subprocess.run([FOLDER / program[0], *program[1:]], env={**environment, "APIARY_HUNT": words}, capture_output=True,
                              timeout=300, text=True)
        lines = [line.split("\t") for line in Path(out.name).read_text().splitlines()]
    found: dict = {"exit": done.returncode, "said": done.stdout + done.stderr, "text": "", "rows": [], "sites": [], "knobs": []}
    for kind, *rest in lines:
        if kind == "run":
            found |= dict(zip(("seed", "length", "kind", "status", "steps", "switches", "stale", "early", "threads", "hash", "strategy",
                               "run", "seconds", "base"), rest))
        elif kind in ("text", "output"):
            found["text"] += "\t".join(rest) + "\n"
        elif kind == "row":
            found["rows"].append(rest)
        elif kind == "site":
            found["sites"].append(rest)
        elif kind == "knob":
            found["knobs"].append(rest[0])
        elif kind == "reach":
            found["reach"] = dict(zip(("pairs", "sites", "by two", "met", "waits", "waited", "freed", "used again"), map(int, rest)))
        elif kind == "least":
            found["least"] = [int(one) for one in rest]
        elif kind == "needs":
            found["needs"] = rest[0]
        else:
            found["summary"] = rest
    return found


def running(scenario: str) -> list[bytes]:
    """The command lines of this machine's processes that run it."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            lines.append(path.read_bytes())
    return [line for line in lines if line.endswith(f"hunted_small\0{scenario}\0".encode())]


# name of the program -> (kind, label, runs at most, a word of what is said)
WRONG = {
    "passing_plain": ("race", "neither", 100, "data race"),
    "passing_atomic": ("Aborted", "a stale read", 300, "data.load"),
    "passing_wide": ("Aborted", "a stale read", 300, "data.load"),
    "dekker": ("Aborted", "a stale read", 300, "inside.fetch_add"),
    "two_writes": ("Aborted", "a stale read", 600, "x.load"),
    "race_on_a_counter": ("race", "neither", 20, "not ordered after thread"),
    "two_locks": ("deadlock", "neither", 100, "waits: lock, held by thread"),
    "lost_wake": ("deadlock", "neither", 600, "waits: condition wait"),
    "lost_wake_amid_others": ("deadlock", "neither", 1000, "waits: condition wait"),
    "spins_for_ever": ("livelock", "neither", 1, "no thread has changed anything"),
    "freed_twice": ("misuse", "neither", 1, "double free"),
    "one_too_far": ("outside of a block", "neither", 1, "beside what thread"),
    "across_its_end": ("outside of a block", "neither", 1, "beside what thread"),
    "beside_what_was_written": ("race", "neither", 20, "data race"),
    "written_once_more": ("race", "neither", 100, "data race"),
    "before_its_beginning": ("outside of a block", "neither", 1, "allocation"),
    "uncaught": ("Aborted", "neither", 1, "std::runtime_error"),
    "needs_an_odd_time": ("Aborted", "an odd time", 3000, "in_time"),
    "unlocks_what_another_has": ("misuse", "neither", 1, "does not own it"),
    "signal_between_two_stores": ("Aborted", "neither", 300, "ordered.load"),
    "counts_signals": ("Aborted", "neither", 300, "delivered.load"),
    "an_ignored_signal": ("race", "neither", 300, "data race"),
    "a_blocked_signal": ("race", "neither", 300, "data race"),
    "cancels": ("refused", "neither", 1, "not supported: pthread_cancel"),
    "forks_and_starts_a_thread": ("refused", "neither", 1, "not supported: a thread in a child that the program forked"),
    "notifies_what_is_gone": ("race", "neither", 100, "data race"),
    "posts_to_what_is_gone": ("use after free", "neither", 100, "not ordered after"),
    "polls_a_volatile_flag": ("race", "neither", 20, "data race"),
    "starts_a_thread_of_c": ("refused", "neither", 1, "not supported: thrd_create"),
    "makes_a_robust_mutex": ("refused", "neither", 1, "not supported: a robust mutex"),
    "mixes_sizes": ("refused", "neither", 1, "atomics of different sizes"),
    "semaphore": ("deadlock", "a stale read", 20_000, "futex wait"),
}
# libstdc++'s own: later versions have them mended.
OF_THE_LIBRARY = {"atomic_shared_ptr": ("race", 50), "semaphore": ("deadlock", 20_000)}
# The trial's programs, for README.md's table.
TABLE = [["hunted_small", "semaphore"], ["hunted_small", "atomic_shared_ptr"], ["hunted_small", "passing_plain"],
         ["hunted_small", "passing_atomic"], ["hunted_small", "dekker"], ["hunted_atomic_queue"], ["hunted_xenium"],
         ["hunted_moodycamel"]]


class Wrong(unittest.TestCase):
    def test_each_is_found_for_what_it_is_and_replays(self) -> None:
        for name, (kind, needs, runs, word) in WRONG.items():
            if name in OF_THE_LIBRARY:
                continue
            with self.subTest(program=name):
                seen = hunt(["hunted_small", name], runs=runs, seconds=60)
                self.assertEqual((seen.get("kind"), seen.get("needs"), seen["exit"]), (kind, needs, 1), seen)
                self.assertIn(word, seen["text"])
                again = hunt(["hunted_small", name], 777, first=seen["seed"], length=seen["length"], replay=1)
                self.assertEqual({key: again.get(key) for key in ("kind", "steps", "hash", "rows")},
                                 {key: seen[key] for key in ("kind", "steps", "hash", "rows")})

    def test_a_block_that_is_forgotten_is_found_where_it_was_asked_for(self) -> None:
        seen = hunt(["hunted_small", "forgets_a_block"], runs=300, seconds=60, leaks=1)
        self.assertEqual((seen.get("kind"), seen.get("needs"), seen["exit"]), ("leak", "neither", 1), seen)
        self.assertRegex(seen["text"], r"1 block of 4 bytes in all that nothing points to at the end\n +one of 4 bytes, allocated\n +at 0x")
        again = hunt(["hunted_small", "forgets_a_block"], first=seen["seed"], length=seen["length"], replay=1, leaks=1)
        self.assertEqual((again["kind"], again["hash"]), ("leak", seen["hash"]))
        self.assertEqual(hunt(["hunted_small", "forgets_a_block"], runs=300, seconds=60)["exit"], 0)

    def test_of_blocks_beside_mappings_that_of_the_one_that_is_gone_is_found(self) -> None:
        seen = hunt(["hunted_small", "forgets_a_block_beside_a_mapping"], runs=3, seconds=60, leaks=1)
        self.assertEqual((seen.get("kind"), seen["exit"]), ("leak", 1), seen)
        self.assertIn("1 block of 5 bytes in all", seen["text"])

    def test_what_is_told_has_the_fewest_switches_and_stale_reads(self) -> None:
        seen = hunt(["hunted_small", "lost_wake_amid_others"], runs=1000, seconds=60, strategy="random,weak")
        before, after, stale_before, stale_after, _ = seen["least"]
        self.assertEqual((seen["kind"], stale_after), ("deadlock", 0))
        self.assertGreater(before, 15)
        self.assertLessEqual(after, 8)  # two that begin, and each of five threads ends or waits
        whole = hunt(["hunted_small", "lost_wake_amid_others"], runs=1000, seconds=60, strategy="random,weak", least=0)
        self.assertEqual((whole["seed"], int(whole["switches"]), int(whole["stale"])), (seen["seed"], before, stale_before))
        self.assertGreaterEqual(int(hunt(["hunted_small", "two_writes"], runs=600, seconds=60)["stale"]), 1)  # it needs one

    def test_a_debugger_stops_before_the_operation_that_was_asked_for(self) -> None:
        if not shutil.which("gdb"):
            self.skipTest("gdb is not installed: apt-get install gdb")
        seen = hunt(["hunted_small", "dekker"], runs=300, seconds=60)
        step = next(row[0] for row in seen["rows"] if row[2] == "load")
        words = f"first={seen['seed']};length={seen['length']};stop={step}"
        said = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set startup-with-shell off", "-ex", "break apiary_hunt_stops_here", "-ex", "run",
                               "-ex", "backtrace", "--args", FOLDER / "hunted_small", "dekker"], env=os.environ | {"APIARY_HUNT": words},
                              capture_output=True, text=True, timeout=60).stdout
        self.assertRegex(said, r"atomic.*load|dekker")
        self.assertIn("apiary_hunt_stops_here", said)

    def test_both_accesses_have_their_stack(self) -> None:
        for name, first in (("race_on_a_counter", "not ordered after"), ("freed_twice", "freed before by"), ("one_too_far", "beside what thread"),
                            ("in_the_second_call", "not ordered after")):
            with self.subTest(program=name):
                _, _, rest = hunt(["hunted_small", name], runs=20, seconds=60)["text"].partition(first)
                places = [line.split() for line in rest.splitlines()[1:]]
                self.assertEqual([word for word, *_ in places[:2]], ["at", "by"])
                told = subprocess.run(["addr2line", "-fCe", FOLDER / "hunted_small", *(address for _, address, *_ in places)],
                                      capture_output=True, text=True).stdout
                self.assertIn(name, told)
                self.assertEqual("the_second_call" in told, name == "in_the_second_call")
                self.assertNotIn("the_first_call", told)

    def test_a_livelock_is_one_where_each_thread_comes_back_to_where_it_was(self) -> None:
        for name in ("spins_for_ever", "wait_for_each_other"):
            for how in ("random", "bursts", "pct", "pos"):
                with self.subTest(program=name, strategy=how):
                    self.assertEqual(hunt(["hunted_small", name], runs=1, quiet=5_000, strategy=how, least=0)["kind"], "livelock")
        seen = hunt(["hunted_small", "polls_for_long"], runs=8, quiet=5_000)
        self.assertEqual((seen["exit"], seen["summary"][0], seen["summary"][4]), (0, "8", "0"), seen)

    def test_a_block_is_used_after_its_end(self) -> None:
        kinds = {hunt(["hunted_small", "after_free"], first=first, runs=100)["kind"] for first in range(1, 400, 50)}
        self.assertIn("use after free", kinds)
        self.assertLessEqual(kinds, {"race", "use after free"})

    def test_a_failure_is_told_as_what_it_is_though_the_runs_that_label_it_are_cut(self) -> None:
        seen = hunt(["hunted_small", "dekker_before_long_work"], runs=600, seconds=60, steps=500)
        self.assertEqual((seen.get("kind"), seen.get("needs")), ("Aborted", "a stale read"), seen)
        self.assertEqual(int(seen["summary"][4]) + 1, int(seen["summary"][0]))  # all others are cut

    def test_without_weak_memory_these_are_not_found(self) -> None:
        for name in ("passing_atomic", "passing_wide", "dekker", "two_writes"):
            with self.subTest(program=name):
                self.assertEqual(hunt(["hunted_small", name], runs=200, seconds=60, strategy="sc")["exit"], 0)

    def test_the_library_s_own(self) -> None:
        seen = hunt(["hunted_small", "atomic_shared_ptr"], runs=50, seconds=60)
        self.assertEqual(seen.get("kind"), "race")

    def test_libraries_of_others_where_they_are_installed(self) -> None:
        for name, kind, runs, package in (("atomic_queue", "race", 20, "libatomic-queue-dev"), ("xenium", "Aborted", 500, "libxenium-dev"),
                                          ("lockfree", "use after free", 500, "libboost-dev")):
            with self.subTest(library=name):
                if not (FOLDER / f"hunted_{name}").exists():
                    self.skipTest(f"{name} is not installed: apt-get install {package}")
                self.assertEqual(hunt([f"hunted_{name}"], runs=runs, seconds=60).get("kind"), kind)
                if name == "lockfree":
                    self.assertEqual(hunt([f"hunted_{name}", "raw"], runs=runs, seconds=60)["exit"], 0)


class Strategies(unittest.TestCase):
    def test_each_by_itself_finds_what_needs_a_switch_and_what_needs_a_stale_read(self) -> None:
        for how in ("random", "bursts", "pct", "pos"):
            for name in ("two_locks", "lost_wake", "dekker", "two_writes"):
                with self.subTest(strategy=how, program=name):
                    seen = hunt(["hunted_small", name], runs=4000, seconds=60, strategy=f"{how},weak", least=0)
                    self.assertEqual((seen.get("kind"), seen.get("strategy")), (WRONG[name][0], f"{how},weak"))

    def test_what_was_not_reached_is_told(self) -> None:
        seen = hunt(["hunted_small", "never_meets"], runs=30, seconds=60, reach=1)
        locks = {(state, wait) for _, operation, _, state, wait in seen["sites"] if operation == "lock"}
        self.assertEqual((locks, seen["reach"]["met"], seen["reach"]["waited"]), ({("never together", "never waited")}, 0, 0))
        self.assertRegex(" ".join(seen["knobs"]), "waits were never entered.*no two threads ever met")
        seen = hunt(["hunted_small", "mixed"], runs=60, seconds=60, reach=1)
        states = {(operation, state, wait) for _, operation, _, state, wait in seen["sites"]}
        self.assertIn(("lock", "met", "waited"), states)
        self.assertIn(("condition wait", "met", "waited"), states)
        self.assertGreater(seen["reach"]["pairs"], 20)
        self.assertGreater(seen["reach"]["used again"], 0)


class Mutants(unittest.TestCase):
    def test_an_operation_has_the_weaker_order_that_it_is_given(self) -> None:
        program = FOLDER / "hunted_small"
        lines = [number for number, line in enumerate(Path(__file__).with_name("right.cpp").read_text().splitlines(), 1)
                 if "mine.store(1, Order);" in line]
        self.assertEqual(len(lines), 1)
        places = places_of(program, "model_check/hunt/tests/")["model_check/hunt/tests/right.cpp", lines[0], "store"]
        self.assertGreaterEqual(len(places), 1)
        weaker = ",".join(f"{place:x}.3" for place in places)
        seen = hunt(["hunted_small", "dekker_seq_cst"], runs=300, seconds=60, least=0, mutant=weaker)
        self.assertEqual((seen.get("kind"), seen["exit"]), ("Aborted", 1), seen)
        fences = [number for (_, number, operation) in places_of(program, "model_check/hunt/tests/") if operation == "fence"]
        self.assertGreaterEqual(len(fences), 1)

    def test_what_is_no_mutant_is_refused(self) -> None:
        many = ",".join(f"{place:x}.0" for place in range(1, 4098))
        for words, said in (("", "no such mutant"), ("x", "no such mutant"), ("4012af", "no such mutant"), ("4012af.9", "no such mutant"),
                            ("4012af.0x", "no such mutant"), ("4012af.0+2", "no such mutant"), (many, "more than 4096 places"),
                            ("12.0,1.0,12.2", "a place that stands there twice")):
            with self.subTest(words=words[:60]):
                seen = hunt(["hunted_small", "mixed"], mutant=words)
                self.assertEqual(seen["exit"], 2)
                self.assertIn(said, seen["said"])
        self.assertEqual(hunt(["hunted_small", "mixed"], mutant=many.rpartition(",")[0], runs=1)["exit"], 0)


class Right(unittest.TestCase):
    def test_each_is_silent(self) -> None:
        programs = [(program, name) for program in ("hunted_small", "hunted_litmus")
                    for name in subprocess.run([FOLDER / program], capture_output=True, text=True).stdout.split()]
        self.assertGreater(len(programs), 80)
        for program, name in programs:
            with self.subTest(program=name):
                seen = hunt([program, name], runs=SILENT_SEEDS, seconds=120, leaks=1)
                self.assertEqual((seen["exit"], seen["summary"][0], seen["summary"][4]), (0, str(SILENT_SEEDS), "0"), seen)

    def same_runs(self, name: str, word: str, how: int = 1) -> tuple[dict, dict]:
        """With and without it."""
        one, each = (hunt(["hunted_small", name], runs=20, seconds=120, leaks=1, **{word: on}) for on in (how, 0))
        self.assertEqual((one["exit"], each["exit"]), (0, 0), one)
        kept = {0, 2, 3, 4, 6, 7}  # runs, steps, stale reads, cuts, accesses, hash
        self.assertEqual([one["summary"][i] for i in kept], [each["summary"][i] for i in kept])
        return one, each

    def test_runs_in_one_process_are_those_of_a_process_for_each(self) -> None:
        in_one = {"mixed", "atomic_wait", "statics", "timers_and_pipes", "hundred_threads", "large_frees", "a_library_changes_a_count"}
        # They leave a child, a handler, a mapping, a descriptor.
        not_in_one = {"forks", "a_signal_ends_waits", "maps_memory", "errors_of_calls", "leaves_a_descriptor"}
        for name in sorted(in_one | not_in_one):
            with self.subTest(program=name):
                one, each = self.same_runs(name, "restarts")
                self.assertEqual((one["summary"][8], each["summary"][8]), ("1" if name in in_one else "20", "20"))

    def test_swapped_threads_are_those_that_the_kernel_switches(self) -> None:
        swapped = {"mixed", "turns", "statics", "timers_and_pipes", "hundred_threads", "forks", "keeps_what_is_its_own", "main_ends_first",
                   "names_itself_in_a_child"}
        # Their masks and handlers, stacks of these, users, folders are the kernel's.
        not_swapped = {"a_signal_ends_waits", "a_handler_waits_amid_a_wait", "asks_the_kernel_for_its_own",
                       "faults_in_each_thread", "sets_its_user", "changes_what_the_kernel_has_of_it", "has_a_user_for_files",
                       "has_a_directory_of_its_own", "asks_for_a_namespace", "has_a_personality",
                       *(f"looks_by_{how}" for how in ("readlink", "readlinkat", "realpath", "a_stream", "fopen", "opendir", "open", "openat"))}
        # 2: where the processor does not let a program write the base of its thread-local data.
        for name, how in ((name, how) for name in sorted(swapped | not_swapped) for how in (1, 2) if how == 1 or name in swapped):
            with self.subTest(program=name, how=how):
                one, each = self.same_runs(name, "swaps", how)
                self.assertEqual((one["summary"][9], each["summary"][9]), ("1" if name in swapped else "0", "0"))

    def test_by_itself_a_program_runs_once(self) -> None:
        done = subprocess.run([FOLDER / "hunted_small", "mixed"], env={k: v for k, v in os.environ.items() if k != "APIARY_HUNT"})
        self.assertEqual(done.returncode, 0)


class BadInput(unittest.TestCase):
    def test_no_such_strategy(self) -> None:
        seen = hunt(["hunted_small", "mixed"], strategy="clever")
        self.assertEqual(seen["exit"], 2)
        self.assertIn("no such strategy: clever", seen["said"])

    def test_no_such_decisions(self) -> None:
        for list_ in ("p,1.2", "p,x", "q", "p,1.2s3,", "p,99999999.1s2"):
            with self.subTest(list=list_):
                seen = hunt(["hunted_small", "mixed"], length=f"7/{list_}")
                self.assertEqual(seen["exit"], 2)
                self.assertIn(f"no such seed: 7/{list_}", seen["said"])

    def test_what_a_run_forked_ends_with_it(self) -> None:
        self.assertEqual(hunt(["hunted_small", "leaves_a_child"], runs=1, seconds=60)["kind"], "Aborted")
        until = time.monotonic() + 60  # one that was killed is there until it has had a processor to end on; one that was not stays
        while (left := running("leaves_a_child")) and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual(left, [])

    def test_a_program_that_never_ends_is_cut(self) -> None:
        seen = hunt(["hunted_small", "long_quiet_work"], runs=2, steps=50)
        self.assertEqual((seen["exit"], seen["summary"][4]), (0, "2"))


def table() -> None:
    for program in TABLE:
        if not (FOLDER / program[0]).exists():
            print(f"{' '.join(program)}: not built")
            continue
        found = [hunt(program, first=1 + 1_000_000 * i, runs=20_000, seconds=120, strategy="portfolio") for i in range(7)]
        runs = sorted(int(one["run"]) for one in found if "run" in one)
        seconds = sorted(float(one["seconds"]) for one in found if "run" in one)
        if runs:
            print(f"{' '.join(program)}: found by {len(runs)} of 7: {runs[0]} / {statistics.median(runs):.0f} / {runs[-1]} runs, "
                  f"{statistics.median(seconds):.3f} s; {', '.join(sorted({one['kind'] for one in found if 'run' in one}))}")
        else:
            print(f"{' '.join(program)}: not found")


if __name__ == "__main__":
    FOLDER = Path(sys.argv.pop(1))
    if sys.argv[1:] == ["--table"]:
        table()
    else:
        unittest.main()
