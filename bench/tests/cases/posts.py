"""Posts as fast as they go, in blocks: from outside, to a target, to successors, and as Tokio's benchmarks have them."""

from __future__ import annotations

import re

from expected import expected_check

from .subject import Case, call, listed, ONE_BLOCK

class PostThroughput(Case):
    def test_every_mix_of_producers_and_batches(self) -> None:
        for producers, batch in ((1, 1), (3, 1), (1, 16), (2, 256)):
            with self.subTest(producers=producers, batch=batch):
                row = self.run_ok("post_throughput", 1001, "--param", "ops=1001", "--param", f"producers={producers}",
                                  "--param", f"batch={batch}", "--seed", 9, "--warmup-blocks", 2, "--blocks", 1)
                self.assertEqual((row["seed"], row["blocks"], row["lat_count"]), ("9", "1", ""))
                self.assertIn(row["steady"], ("0", "1"))
                self.assertAlmostEqual(float(row["ns_per_op"]), int(row["wall_ns"]) / 1001, places=2)

    def test_calibration_doubles_from_the_floor(self) -> None:
        if "post_throughput" not in listed():
            self.skipTest("unsupported")
        done = call("run", "--scenario", "post_throughput", "--workers", 1, "--block-ms", 5, "--blocks", 1,
                    "--warmup-blocks", 0)
        row = self.row_of(done)
        ops = int(row["ops"])
        self.assertIn(ops, [16384 << k for k in range(20)])
        self.assertEqual((row["check"], row["warmup_blocks"], row["steady"]), (expected_check(ops), "0", "0"))

    def test_the_built_in_slow_down_is_there(self) -> None:
        # In every 64th post of the one producer, and in every 64th task of a worker.
        row = self.run_ok("post_throughput", 200, "--param", "ops=200", "--slowdown-ns", 3_000_000, "--blocks", 1)
        self.assertGreaterEqual(int(row["wall_ns"]), 3 * 3_000_000)


class Blocks(Case):
    """Every scenario made of blocks, at a size that shows whether each task runs once."""

    def test_targeted_throughput(self) -> None:
        for producers, targets in ((1, 1), (3, 2)):
            with self.subTest(producers=producers, targets=targets):
                self.run_ok("targeted_throughput", 1001, "--param", "ops=1001", "--param", f"producers={producers}",
                            "--param", f"targets={targets}", *ONE_BLOCK)
        self.assert_refused("targets=3", "targeted_throughput", "targets=3")

    def test_steal_pressure(self) -> None:
        row = self.run_ok("steal_pressure", 500, "--param", "ops=500", "--warmup-blocks", 1, "--blocks", 2)
        flags = r"^elsewhere_ppm=\d+;bytes_each=\d+" + (r";lat_mean_ns=(\d+)$" if int(row["lat_count"]) else "$")
        self.assertRegex(row["flags"], flags)
        if int(row["lat_count"]):
            mean = int(re.match(flags, row["flags"])[1])
            self.assertLessEqual(int(row["lat_min_ns"]), mean)
            self.assertLessEqual(mean, int(row["lat_max_ns"]))
            if row["lat_count"] == "2":
                self.assertEqual(mean, (int(row["lat_min_ns"]) + int(row["lat_max_ns"])) // 2)
        self.assertLessEqual(int(re.match(r"elsewhere_ppm=(\d+)", row["flags"])[1]), 1_000_000)
        self.assertIn(row["lat_count"], ("0", "1", "2"), "at most one sample per measured block")
        # By the wall, for the system brings the time of a thread that runs elsewhere up to date at its ticks. Three threads at most.
        self.assertGreaterEqual(3 * int(row["wall_ns"]), 500 * 1000 // 2, "the children do work")

    def test_steal_pressure_with_one_worker_has_no_thief(self) -> None:
        row = self.run_ok("steal_pressure", 50, "--param", "ops=50", *ONE_BLOCK, workers=1)
        self.assertEqual((row["flags"].partition(";")[0], row["lat_count"]), ("elsewhere_ppm=0", "0"))

    def test_successor(self) -> None:
        for chains in (1, 3, 100):
            with self.subTest(chains=chains):
                self.run_ok("successor", 100, "--param", "ops=100", "--param", f"chains={chains}", *ONE_BLOCK)
        self.assert_refused("chains=4", "successor", "ops=3", "chains=4")

    def test_the_slow_down_is_in_every_64th_task_of_a_worker(self) -> None:
        row = self.run_ok("successor", 640, "--param", "ops=640", "--slowdown-ns", 1_000_000, *ONE_BLOCK)
        # On three threads at most: eight waits at least, of which one thread has three. A wait may pass beside the next task.
        self.assertGreaterEqual(int(row["wall_ns"]), 3 * 1_000_000)


class Tokio(Case):
    """Tokio's own eight, two iterations each."""

    def two_iterations(self, scenario: str, *params: str) -> None:
        words = [word for param in ("tasks=20", "ops=40", *params) for word in ("--param", param)]
        self.run_ok(scenario, 40, *words, *ONE_BLOCK)

    def test_refuses_part_of_an_iteration(self) -> None:
        self.assert_refused("ops=30", "chained_spawn", "tasks=20", "ops=30")


for _name, *_params in (("spawn_many_local",), ("spawn_many_remote_idle",),
                        ("spawn_many_remote_busy1", "yielders=3", "stall_us=1"),
                        ("spawn_many_remote_busy2", "stallers=3", "stall_us=1"), ("ping_pong",),
                        ("yield_many", "yields=7"), ("chained_spawn",), ("remote_spawn", "threads=3")):
    setattr(Tokio, f"test_{_name}", lambda self, n=_name, p=tuple(_params): self.two_iterations(n, *p))
