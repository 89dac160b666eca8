"""Processes that send messages."""

from __future__ import annotations

from pathlib import Path

from . import subject
from .subject import Case, call, listed, ONE_BLOCK

class Messages(Case):
    """The programs of processes: the row's sum is right only if the sum of all values was."""

    def program(self, scenario: str, flag: str, *params: str) -> dict[str, str]:
        words = [word for param in ("ops=3", *params) for word in ("--param", param)]
        row = self.run_ok(scenario, 3, *words, *ONE_BLOCK)
        self.assertRegex(row["flags"], f"^{flag}$")
        return row

    def test_a_ring_of_two_and_one_hop(self) -> None:
        self.program("msg_ring", "messages_per_op=1", "processes=2", "hops=1")

    def test_one_of_everything(self) -> None:
        for scenario, flag, *params in (
                ("msg_ping_pong", "messages_per_op=2", "pings=1"), ("msg_count", "messages_per_op=1", "messages=1"),
                ("msg_create", "spawns_per_op=1", "processes=1"),
                ("msg_throughput", "messages_per_op=1", "processes=1", "messages=1"),
                ("chameneos", "messages_per_op=4", "processes=2", "meetings=1"),
                ("big", "messages_per_op=2", "processes=1", "pings=1"),
                ("bounded_buffer", "messages_per_op=4", "capacity=1", "producers=1", "consumers=1", "items=1"),
                ("restart_storm", "restarts_per_op=1", "processes=1", "restarts=1")):
            with self.subTest(scenario=scenario):
                self.program(scenario, flag, *params)

    def test_rounds_with_a_message_to_itself_between_them(self) -> None:
        for rounds in (7, 1000, 5000):
            with self.subTest(rounds=rounds):
                self.program("msg_throughput", "messages_per_op=3000", "processes=3", "messages=1000", f"rounds={rounds}")

    def test_what_was_woken_runs_before_the_message_to_itself(self) -> None:
        # Of those that promise it. Else all letters lie in memory before the first is read.
        if Path(subject.PROGRAM).name not in ("subject_machine", "subject_processes"):
            self.skipTest("not promised")
        cut = Path(subject.PROGRAM).name == "subject_processes"  # lets others run behind so many letters, unless it is told not to
        for processes in (60, 200):
            sizes = []
            for rounds, letters in ((0, 0), (16, 0), *([(0, 4096)] if cut else [])):
                params = (f"processes={processes}", f"messages={1_200_000 // processes}", f"rounds={rounds}", "ops=1")
                words = [word for param in params for word in ("--param", param)]
                words += ["--tune", f"letters_a_step={letters}"] if cut else []
                sizes.append(int(self.run_ok("msg_throughput", 1, *words, *ONE_BLOCK, workers=1)["maxrss_kib"]))
            for less in sizes[1:]:
                self.assertLess(4 * less, sizes[0], f"{processes} processes: {sizes}")

    def test_a_crowd_that_waits_takes_memory(self) -> None:
        row = self.program("idle_processes", r"spawns_per_op=20000;bytes_each=\d+", "processes=20000")
        self.assertIn(int(row["flags"].partition("bytes_each=")[2]), range(16, 20_000))

    def test_a_circle_of_full_channels_and_a_crowd_without_end_are_refused(self) -> None:
        if Path(subject.PROGRAM).name in ("subject_boost_fiber", "subject_coro_pool", "subject_coro_pool_heap"):
            self.assertNotIn("big", listed())
            self.assert_unsupported("big")
            self.assert_unsupported("idle_processes", "--param", "processes=262145", "--param", "ops=1")

    def test_one_worker(self) -> None:
        for scenario in ("msg_ping_pong", "big"):
            if scenario in listed():
                params = ("--param", "ops=1", "--param", "pings=50")
                self.run_ok(scenario, 1, *params, *ONE_BLOCK, workers=1)

    def test_the_slow_down_is_in_every_64th_letter(self) -> None:
        # A token is with one process at a time: 15 letters of a thousand, two fewer for what either thread has left over.
        if "msg_ring" in listed():
            slow = call("run", "--scenario", "msg_ring", "--workers", 2, "--param", "hops=1000", "--param", "ops=3", *ONE_BLOCK,
                        "--slowdown-ns", 2_000_000)
            self.assertGreaterEqual(int(self.row_of(slow)["wall_ns"]), 3 * 13 * 2_000_000)


for _name, _flag, *_params in (
        ("msg_ping_pong", "messages_per_op=200", "pings=100"), ("msg_count", "messages_per_op=5000", "messages=5000"),
        ("msg_ring", "messages_per_op=1000", "processes=7", "hops=1000"), ("msg_create", "spawns_per_op=500", "processes=500"),
        ("msg_throughput", "messages_per_op=7000", "processes=7", "messages=1000"),
        ("chameneos", "messages_per_op=2000", "processes=9", "meetings=500"),
        ("big", "messages_per_op=2000", "processes=50", "pings=20"),
        ("bounded_buffer", "messages_per_op=1600", "capacity=3", "producers=8", "consumers=5", "items=50"),
        ("restart_storm", "restarts_per_op=300", "processes=7", "restarts=300"),
        ("idle_processes", r"spawns_per_op=500;bytes_each=\d+", "processes=500")):
    setattr(Messages, f"test_{_name}", lambda self, n=_name, f=_flag, p=tuple(_params): self.program(n, f, *p))
