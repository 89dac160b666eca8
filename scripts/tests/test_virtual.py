"""virtual: curves of a made-up program, what it refuses, and points that go wrong."""

from __future__ import annotations

import json
import sys
import unittest
from xml.etree import ElementTree

from . import fakes
from .support import TreeCase, apiary

PROGRAM = """#!{python} -ISE
import json, sys, time
if sys.argv[1:] == ["--list"]:
    print("hive post task\\nhive spin task\\nfork_join fib fork"); sys.exit(0)
if sys.argv[1:] == ["--tunables"]:
    print("hive naps 16 0 1000\\nhive search_ns 50000 1 4294967296\\nhive global_batch 16 1 64\\nhive looks_before_sleep 1 0 1000"
          "\\nhive long_deque_probes 8 1 1000\\nhive pinned 0 0 1"); sys.exit(0)
subject, scenario, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
words = sys.argv[4:]
assert words[:2][0] == "--profile" and open(words[1]).read() == "transfer = 80\\nbasic_block = 0.25\\n"
if "transfer=-1" in words:
    print("apiary_virtual: --price: transfer=-1 lies outside", file=sys.stderr); sys.exit(2)
if "leaves=0" in words:
    print("apiary_virtual: --param leaves is 0", file=sys.stderr); sys.exit(2)
if "pinned=1" in words:
    print("apiary_virtual: too few processors\\n  remedy: more", file=sys.stderr); sys.exit(2)
if scenario == "spin":
    time.sleep(60 if workers == 2 else 0)
if scenario == "fib" and workers == 8:
    print("apiary_virtual: virtual deadlock: no thread can go on", file=sys.stderr); sys.exit(1)
place = dict(place="impl/apiary/queues/deque.hpp:12", function="steal<1>", access="X", moves=0.5, ns=40)
line = dict(object="worker", offset=64, moves=0.5, queued_ns=0, ns=40, places=[place])
ns = (1000 if "tasks=7" in words else 100) / workers
if "--tune" in words:  # naps pay with four workers; half a batch costs little, twice as much gains
    ns *= dict([("naps=0", 1.5 if workers == 4 else 1.02), ("global_batch=32", 0.5)]).get(words[words.index("--tune") + 1], 1)
print(json.dumps(dict(subject=subject, scenario=scenario, operation="task", workers=workers, operations=10, ns=ns,
                      moves=workers - 1, sleeps=0, lines=[line] if workers > 1 else [])))
"""

PROFILE = "transfer = 80\nbasic_block = 0.25\n"


class Virtual(TreeCase):
    def setUp(self) -> None:
        super().setUp()
        program = fakes.script(self.root / "build" / "release" / "bin" / "apiary_virtual", PROGRAM.format(python=sys.executable))
        fakes.manifest(self.root, "release", "virtual", [program])
        profiles = self.root / "bench" / "virtual" / "profiles"
        profiles.mkdir(parents=True)
        (profiles / "flat.profile").write_text(PROFILE)

    def test_a_curve_and_its_lines(self) -> None:
        done = apiary(self.root, "virtual", "hive", "--no-build", "--scenario", "post", "--processors", "1,4", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual([(p["workers"], p["ns"]) for p in told["points"]], [(1, 100.0), (4, 25.0)])
        for part in ("hive post, for each task", "25.00", "4.00", "worker+64", "X deque.hpp:12 steal", "not a measurement"):
            self.assertIn(part, done.stderr)

    def test_what_goes_wrong_is_named_and_the_rest_is_shown(self) -> None:
        done = apiary(self.root, "virtual", "--no-build", "--processors", "1,2,8", "--host-seconds", "1")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("fork_join fib 8: apiary_virtual: virtual deadlock", done.stdout + done.stderr)
        self.assertIn("hive spin 2: did not end within 1 s of this machine", done.stdout + done.stderr)
        self.assertIn("hive post, for each task", done.stdout)

    def test_what_is_recorded_holds_until_a_count_differs(self) -> None:
        def program(moves: str) -> None:
            text = PROGRAM.format(python=sys.executable).replace("time.sleep", "float").replace("workers == 8", "False")
            text = text.replace("moves=workers - 1", f"moves={moves}, accesses=5")
            fakes.script(self.root / "build" / "release" / "bin" / "apiary_virtual", text)

        program("workers - 1")
        done = apiary(self.root, "virtual", "--no-build", "--gate")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("nothing is recorded", done.stdout + done.stderr)
        done = apiary(self.root, "virtual", "--no-build", "--update")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(apiary(self.root, "virtual", "--no-build", "--gate").returncode, 0)
        program("workers - 1 + (workers == 4) * 0.0001")
        done = apiary(self.root, "virtual", "--no-build", "--gate")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("fork_join fib 4: moves 3.0000 -> 3.0001", done.stdout + done.stderr)
        self.assertEqual(apiary(self.root, "virtual", "hive", "--no-build", "--gate").returncode, 2)

    def test_the_first_line_at_other_prices(self) -> None:
        text = PROGRAM.format(python=sys.executable)
        other = text.replace('line = dict(object="worker"', 'line = dict(object="other" if "transfer=40" in words else "worker"')
        words = ("virtual", "hive", "--no-build", "--scenario", "post", "--processors", "4", "--robust")
        fakes.script(self.root / "build" / "release" / "bin" / "apiary_virtual", other)
        done = apiary(self.root, *words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("worker+64 costs most in 3 of 4", done.stdout)
        self.assertRegex(done.stdout, r"transfer=40 +25\.00 +other\+64")
        fakes.script(self.root / "build" / "release" / "bin" / "apiary_virtual", text)
        self.assertIn("worker+64 costs most in 4 of 4", apiary(self.root, *words).stdout)

    def test_another_size_of_the_program(self) -> None:
        file = self.root / "points.csv"
        words = ("virtual", "hive", "--no-build", "--scenario", "post", "--processors", "4", "--param", "tasks=7")
        done = apiary(self.root, *words, "--robust", "--csv", str(file))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("250.00 to 250.00 ns, usually 250.00", done.stdout)
        self.assertIn("sizes: tasks=7", done.stdout)
        self.assertIn("flat, tasks=7", file.read_text())

    def test_a_curve_beside_what_a_race_recorded(self) -> None:
        text = PROGRAM.format(python=sys.executable).replace('"hive post task', '"hive spawn_many_local task')
        fakes.script(self.root / "build" / "release" / "bin" / "apiary_virtual", text)
        folder = self.root / "results" / "20260101T000000Z-vm"
        folder.mkdir(parents=True)
        (folder / "env.json").write_text(json.dumps({"machine": {"cpus": 4}}))
        head = "status,row_kind,placement,ns_per_op,subject,scenario,scenario_params,workers,flags,suite_commit"
        rows = [f"ok,measure,free,{ns},hive,spawn_many_local,workers={n},{n},,0123abc"
                for n, times in ((1, (100, 101, 102)), (2, (20, 21, 22)), (4, (10, 20, 26)), (8, (9, 9, 9))) for ns in times]
        (folder / "rows.csv").write_text("\n".join([head, *rows]) + "\n")
        done = apiary(self.root, "virtual", "hive", "--no-build", "--scenario", "spawn_many_local", "--processors", "1,2,4,8",
                      "--compare", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = {row[2]: row[6:9] for row in json.loads(done.stdout)["compared"]}
        # 100, 50, 25 ns: within 30 %, beyond it, within its own spread; eight workers on four processors are no point.
        self.assertEqual(told, {"1": ["-1%", "30%", "in"], "2": ["+138%", "30%", "out"], "4": ["+25%", "50%", "in"]})
        self.assertIn("2 of 3 points in, 1 out", done.stderr)

    def test_a_loop_beside_a_race_is_told_by_its_index(self) -> None:
        text = PROGRAM.format(python=sys.executable).replace('"hive post task', '"hive loop_for index')
        fakes.script(self.root / "build" / "release" / "bin" / "apiary_virtual", text)
        folder = self.root / "results" / "20260101T000000Z-vm"
        folder.mkdir(parents=True)
        (folder / "env.json").write_text(json.dumps({"machine": {"cpus": 2}}))
        head = "status,row_kind,placement,ns_per_op,subject,scenario,scenario_params,workers,flags,suite_commit"
        rows = [f"ok,measure,free,{ns},hive,loop_for,n={n};iterations=10;lengths={kind},1,,0123abc"
                for n, kind, ns in ((100_000, "equal", 8_000_000), (1000, "equal", 1), (100_000, "pareto", 1)) for _ in range(3)]
        (folder / "rows.csv").write_text("\n".join([head, *rows]) + "\n")
        done = apiary(self.root, "virtual", "hive", "--no-build", "--scenario", "loop_for", "--processors", "1", "--compare",
                      "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([row[4] for row in json.loads(done.stdout)["compared"]], ["80.00"])

    def test_points_as_a_table_and_as_a_drawing(self) -> None:
        done = apiary(self.root, "virtual", "hive", "--no-build", "--scenario", "post", "--processors", "1,4",
                      "--csv", str(self.root / "c.csv"), "--draw", str(self.root / "c.svg"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = (self.root / "c.csv").read_text().splitlines()
        self.assertEqual(len(rows), 3)
        self.assertTrue(rows[2].startswith("hive,post,task,4,25.0,3,"), rows)
        self.assertTrue(rows[2].endswith(",flat"), rows)
        drawing = ElementTree.fromstring((self.root / "c.svg").read_text())
        titles = [one.text for one in drawing.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(titles, ["post, 1 workers: 100.00 ns", "post, 4 workers: 25.00 ns"])
        self.assertNotIn('line former"', (self.root / "c.svg").read_text())

    def test_a_drawing_of_some_scenarios(self) -> None:
        words = ("virtual", "hive", "--no-build", "--processors", "1", "--draw", str(self.root / "c.svg"), "--drawn")
        self.assertEqual(apiary(self.root, *words, "post").returncode, 0)
        self.assertNotIn("spin", (self.root / "c.svg").read_text())
        self.assertEqual(apiary(self.root, *words, "pots").returncode, 2)

    def test_a_drawing_beside_what_was_before(self) -> None:
        words = ("virtual", "hive", "--no-build", "--scenario", "post", "--processors")
        self.assertEqual(apiary(self.root, *words, "1,2,4", "--csv", str(self.root / "c.csv")).returncode, 0)
        done = apiary(self.root, *words, "1,4", "--draw", str(self.root / "c.svg"), "--before", str(self.root / "c.csv"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = [one.get("points") for one in ElementTree.fromstring((self.root / "c.svg").read_text()).iter("{http://www.w3.org/2000/svg}polyline")]
        self.assertEqual(len(lines), 2)
        self.assertEqual(lines[0], lines[1])  # the same figures, and only with those workers
        self.assertEqual(apiary(self.root, *words, "1", "--draw", str(self.root / "c.svg"), "--before", "/none").returncode, 2)

    def test_what_each_rule_brings(self) -> None:
        done = apiary(self.root, "virtual", "hive", "--no-build", "--scenario", "post", "--processors", "1,4", "--ablate",
                      "--csv", str(self.root / "a.csv"), "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = {row[1]: row[2:] for row in json.loads(done.stdout)["ablation"]}
        self.assertEqual(told["naps=0"], ["nap", "1 of 2 (+50%: post 4)", "0 of 2", "it gains"])
        self.assertEqual(told["search_ns=4294967296"][3], "its cause is preemption, which the model has not")
        self.assertEqual(told["looks_before_sleep=0"][3], told["search_ns=4294967296"][3])
        self.assertEqual(told["long_deque_probes=1"][1:], ["0 of 2", "0 of 2", "nothing here; it was made for fib, skynet, too"])
        self.assertEqual(told["pinned=1"][1:3], ["0 of 0", "0 of 0"])
        self.assertIn("hive with pinned=1 is refused in 6 runs, e.g. apiary_virtual: too few processors\n", done.stderr)
        self.assertEqual(told["global_batch=32"][1:3], ["0 of 2", "2 of 2 (-50%: post 1)"])
        self.assertEqual(told["global_batch=8"][1:3], ["0 of 2", "0 of 2"])
        rows = (self.root / "a.csv").read_text().splitlines()
        self.assertIn("hive,naps=0,nap,post,4,25.00,25.00,25.00,37.50,37.50,37.50,slower without", rows)
        self.assertEqual(apiary(self.root, "virtual", "hive", "--no-build", "--ablate", "--compare").returncode, 2)
        done = apiary(self.root, "virtual", "hive", "--no-build", "--ablate", "--rule", "nap")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("did you mean 'naps'", done.stderr)
        done = apiary(self.root, "virtual", "fork_join", "--no-build", "--ablate")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("no numbers of their own", done.stderr)

    def test_a_rule_whose_own_scenario_shows_nothing_can_go(self) -> None:
        text = PROGRAM.format(python=sys.executable).replace("hive post task", "hive fib task\\nhive skynet task")
        fakes.script(self.root / "build" / "release" / "bin" / "apiary_virtual", text)
        done = apiary(self.root, "virtual", "hive", "--no-build", "--processors", "4", "--ablate", "--rule", "long_deque_probes",
                      "--scenario", "fib", "--scenario", "skynet", "--json", "-")
        told = {row[1]: row[5] for row in json.loads(done.stdout)["ablation"]}
        self.assertEqual(told, {"long_deque_probes=1": "nothing anywhere: it can go"})

    def test_members_are_named_by_the_lines_that_touch_them(self) -> None:
        source = self.root / "impl" / "apiary" / "queues" / "deque.hpp"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(12 * "\n")
        for line, named in (("  head_.compare_exchange_strong(h, h + 1, acq_rel, relaxed);", "head_"), ("x = slots_[h % n].exchange(0, relaxed);", "slots_"),
                            ("next->word_.fetch_or(1, a);", "word_"), ("f(a_, b_);", ""), ("tail_.load(acquire);", "tail_")):
            source.write_text(11 * "\n" + line + "\n")
            done = apiary(self.root, "virtual", "hive", "--no-build", "--scenario", "post", "--processors", "4", "--json", "-")
            self.assertEqual(json.loads(done.stdout)["points"][0]["lines"][0]["members"], [named] if named else [], line)

    def test_bad_input(self) -> None:
        for words, told in ((("hiv",), "did you mean 'hive'"), (("--scenario", "pots"), "did you mean 'post'"),
                            (("hive", "--scenario", "fib"), "no scenario of hive is called fib"),
                            (("--processors", "0"), "a whole number from 1 to 256"), (("--processors", "5000"), "from 1 to 256"),
                            (("--processors", "1,1"), "each number stands once"), (("--profile", "flut"), "did you mean 'flat'"),
                            (("--price", "transfer=-1"), "lies outside"), (("--param", "leaves=0"), "leaves is 0"),
                            (("--gate", "--param", "n=3"), "take no --param")):
            with self.subTest(words=words):
                done = apiary(self.root, "virtual", "--no-build", *words)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(told, done.stderr)


CALIBRATE = """#!{python} -ISE
import sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if words.get("--processors") == "0,99":
    print("apiary_calibrate: processor 99: no thread can be pinned to it", file=sys.stderr); sys.exit(3)
assert open(words["--defaults"]).read() == "transfer = 80\\n"
open(words["--out"], "w").write("transfer = 31  # measured, quartiles 30 to 32\\n")
print("apiary_calibrate: 1 prices measured, 0 too noisy, the others keep the default", file=sys.stderr)
"""


class Calibrate(TreeCase):
    def setUp(self) -> None:
        super().setUp()
        program = fakes.script(self.root / "build" / "release" / "bin" / "apiary_calibrate", CALIBRATE.format(python=sys.executable))
        fakes.manifest(self.root, "release", "calibrate", [program])
        profiles = self.root / "bench" / "virtual" / "profiles"
        profiles.mkdir(parents=True)
        (profiles / "flat.profile").write_text("transfer = 80\n")

    def test_a_profile_is_printed_or_written(self) -> None:
        done = apiary(self.root, "calibrate", "--no-build")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("transfer = 31  # measured", done.stdout)
        done = apiary(self.root, "calibrate", "--no-build", "--out", str(self.root / "here.profile"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.root / "here.profile").read_text(), "transfer = 31  # measured, quartiles 30 to 32\n")
        self.assertIn("1 prices measured", done.stdout)

    def test_what_is_refused(self) -> None:
        done = apiary(self.root, "calibrate", "--no-build", "--processors", "0,99")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("no thread can be pinned to it", done.stderr)
        for words, told in ((("--defaults", "flut"), "did you mean 'flat'"), (("--batches", "1"), "from 10 to"),
                            (("--out", "/none/at/all"), "there is no such folder")):
            with self.subTest(words=words):
                done = apiary(self.root, "calibrate", "--no-build", *words)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(told, done.stderr)


if __name__ == "__main__":
    unittest.main()
