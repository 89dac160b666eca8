"""Work that comes at given times: latencies of posts and loads, timers, wakes."""

from __future__ import annotations

import re
import resource

from expected import mix

from .subject import Case, call, listed, FLOORS, ONE_BLOCK

def u_of(seed: int, i: int) -> float:
    """The number in [0, 1) that decides about the service of post i (CLI.md, latency_vs_load)."""
    return (mix((mix(seed) + i) % 2**64) >> 11) * 2.0**-53


class PostLatency(Case):
    def test_a_small_plan(self) -> None:
        plan = self.plan("# a burst every 500 us\n" + "".join(f"{i // 5 * 500_000}\n" for i in range(200)))
        hist = self.folder / "hist.csv"
        row = self.run_ok("post_latency", 200, "--plan", plan, "--hist", hist, "--param", "rate=10000")
        self.assertEqual((row["lat_count"], row["warmup_blocks"], row["blocks"]), ("180", "0", "1"))
        self.assertLessEqual(float(row["achieved_per_s"]), float(row["offered_per_s"]))
        self.assertRegex(row["flags"], r"(^|;)injector_us=\d+$")
        self.assertEqual(row["lat_p90_ns"], "", "18 samples lie above it")
        self.check_histogram(hist, row)

    def test_the_injector_is_no_part_of_the_processor_time(self) -> None:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        row = self.run_ok("post_latency", 400, "--plan", self.plan("".join(f"{i * 500_000}\n" for i in range(400))))
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        whole_us = 1e6 * (now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime)
        own_us = int(re.search(r"injector_us=(\d+)", row["flags"])[1])
        self.assertGreater(own_us, 0, "it sleeps 400 times")
        self.assertLessEqual(int(row["cpu_ns"]) / 1000 + own_us, 1.01 * whole_us, "together they are the process")

    def test_bad_plans(self) -> None:
        if "post_latency" not in listed():
            self.skipTest("unsupported")
        for text, seen in (("5\nx7\n", "x7"), ("5\n4\n", "4 after 5"), ("-1\n", "-1"), ("1\n\n2\n", "line 2"),
                           ("# none\n", "no release time")):
            with self.subTest(text=text):
                done = call("run", "--scenario", "post_latency", "--workers", 1, "--plan", self.plan(text))
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(seen, done.stderr)

    def test_a_plan_is_required(self) -> None:
        if "post_latency" not in listed():
            self.skipTest("unsupported")
        done = call("run", "--scenario", "post_latency", "--workers", 1)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--plan", done.stderr)


class Timers(Case):
    def test_timeouts_are_armed_again_and_none_fires(self) -> None:
        for pending in (1, 50, 1000):
            with self.subTest(pending=pending):
                self.run_ok("timers", 200, "--param", "ops=200", "--param", f"pending={pending}", *ONE_BLOCK)

    def test_small_chains(self) -> None:
        for pending in (1, 7, 40):
            with self.subTest(pending=pending):
                hist = self.folder / "hist.csv"
                row = self.run_ok("timer_lateness", 40, "--param", "ops=40", "--param", f"pending={pending}",
                                  "--param", "delay_us=500", "--hist", hist)
                self.assertEqual(row["lat_count"], "36")
                self.assertGreaterEqual(int(row["wall_ns"]), 40 // pending * 500_000)
                self.check_histogram(hist, row)
        self.assert_refused("pending=4", "timer_lateness", "ops=3", "pending=4")


class OpenLoops(Case):
    def loop(self, scenario: str, *params: str) -> dict[str, str]:
        if scenario not in listed():
            self.skipTest(f"unsupported: {scenario}")
        row = self.loop_if_it_can(scenario, *params)
        assert row, f"unsupported: {scenario} {params}"
        return row

    def loop_if_it_can(self, scenario: str, *params: str) -> dict[str, str] | None:
        """None where the subject says that it cannot do that."""
        plan, hist = self.plan("".join(f"{i * 100_000}\n" for i in range(50))), self.folder / "hist.csv"
        words = [word for param in params for word in ("--param", param)]
        done = call("run", "--scenario", scenario, "--workers", 2, "--plan", plan, "--hist", hist, *words)
        if done.returncode == 3:
            self.assertEqual(done.stdout, "")
            self.assertIn("unsupported", done.stderr)
            return None
        row = self.good_row(done, scenario, 50)
        self.assertEqual(row["lat_count"], "45")
        self.check_histogram(hist, row)
        return row

    def test_targeted_latency(self) -> None:
        self.loop("targeted_latency")
        row = self.loop("targeted_latency", "targets=2", "service_ns=30000")
        self.assertGreaterEqual(int(row["lat_min_ns"]), 30_000, "latency counts to the end of the service")

    def test_latency_vs_load(self) -> None:
        if "latency_vs_load" not in listed():
            self.skipTest("unsupported")
        for service, least in (("fixed", 100_000), ("exponential", 0), ("bimodal", 50_000)):
            with self.subTest(service=service):
                row = self.loop("latency_vs_load", f"service={service}", "scale=100")
                self.assertGreaterEqual(int(row["lat_min_ns"]), least)
        self.assert_refused("normal", "latency_vs_load", "service=normal", plan=True)
        self.assert_refused("101", "latency_vs_load", "idle_cpu=101", plan=True)
        for share in (50, 100):  # of a processor, which a runtime may be able to spend on looking for work, or not
            self.loop_if_it_can("latency_vs_load", f"idle_cpu={share}")
        # Ten slices each; and the longer service of bimodal, in a hundred slices.
        for params in (("scale=100", "slice_us=10"), ("service=bimodal", "slice_us=5")):
            row = self.loop_if_it_can("latency_vs_load", *params)
            if row and "scale=100" in params:
                self.assertGreaterEqual(int(row["lat_min_ns"]), 100_000)

    def test_latency_vs_load_of_the_short_ones_alone(self) -> None:
        if "latency_vs_load" not in listed():
            self.skipTest("unsupported")
        # Of these 600 posts three take half a millisecond, one of them of the first tenth.
        short = [u_of(6, i) < 0.995 for i in range(600)]
        self.assertEqual((short[:60].count(False), short[60:].count(False)), (1, 2))
        plan, hist = self.plan("".join(f"{i * 10_000}\n" for i in range(600))), self.folder / "hist.csv"
        row = self.run_ok("latency_vs_load", 600, "--plan", plan, "--hist", hist, "--seed", 6, "--param", "service=bimodal",
                          "--param", "latency_of=short")
        self.assertEqual(row["lat_count"], "538")
        self.check_histogram(hist, row)
        self.assert_refused("latency_of=short", "latency_vs_load", "latency_of=short", plan=True)
        self.assert_refused("long", "latency_vs_load", "latency_of=long", plan=True)

    def test_mixed_load(self) -> None:
        if "mixed_load" not in listed():
            self.skipTest("unsupported")
        can = []
        for beside in ("own", "workers", "second", "rayon"):
            with self.subTest(beside=beside):
                # A hundred of these do not fit beside the plan's few milliseconds, however long the machine stands still there.
                row = self.loop_if_it_can("mixed_load", "compute_us=20000", "compute_workers=1", f"beside={beside}")
                if row:
                    can.append(beside)
                    starved = r"starved_ppm=\d+;" if beside == "workers" else ""
                    self.assertRegex(row["flags"], rf"(^|;){starved}compute_tasks=\d+;compute_ns={row['wall_ns']}$", "too few to tell the share")
                    self.assertEqual("starved_ppm" in row["flags"], beside == "workers")
                    self.assertGreater(int(row["wall_ns"]), 0)
        self.assertIn("workers", can)
        self.loop_if_it_can("mixed_load", "compute_us=2000", "beside=workers", "slice_us=100")
        self.assert_refused("slice_us", "mixed_load", "beside=own", "slice_us=100", plan=True)
        # A hundred of these do, where the machine gives them 2 ms in a quarter of the plan: the longer, the surer.
        for ms in (500, 2000, 8000):
            row = self.run_ok("mixed_load", 2, "--plan", self.plan(f"0\n{ms}000000\n"), "--param", "compute_us=20",
                              "--param", f"beside={can[0]}")
            if "compute_lost_ppm" in row["flags"]:
                break
        self.assertRegex(row["flags"], r"(^|;)compute_tasks=\d+;compute_ns=\d+;compute_lost_ppm=-?\d+$")

    def test_post_latency_beside_tasks_that_respawn(self) -> None:
        if set(FLOORS) <= set(listed()):
            self.assert_unsupported("post_latency", "--param", "respawners=1", "--plan", self.plan("1\n"))
            return
        row = self.loop("post_latency", "respawners=3", "task_us=200")
        share = re.search(r"(?:^|;)starved_ppm=(\d+)$", row["flags"])
        self.assertTrue(share and int(share[1]) <= 1_000_000, row["flags"])


class Waking(Case):
    def test_wake_chain(self) -> None:
        for ops, sleeps in ((1, 0), (41, 20)):
            with self.subTest(ops=ops):
                row = self.run_ok("wake_chain", ops, "--param", f"ops={ops}", "--param", "sleep_us=50")
                self.assertEqual(row["lat_count"], str(ops - ops // 10))
                self.assertGreaterEqual(int(row["wall_ns"]), sleeps * 50_000)

    def test_idle_cpu(self) -> None:
        row = self.run_ok("idle_cpu", 2, "--param", "rate=2", "--param", "seconds=1")
        self.assertGreaterEqual(int(row["wall_ns"]), 1_000_000_000)
        self.assertRegex(row["flags"], r"^idle_switches=\d+$")
