"""doctor: what follows from what is seen; each line's case, at its edges."""

from __future__ import annotations

import unittest
from unittest import mock

from apiary_cli.base import environment
from apiary_cli.race import probes
from apiary_cli.verbs import doctor

QUIET = {"affinity": [0, 1, 2, 3], "hypervisor": "none seen", "cgroup_cpu_max": "max 100000", "governor": "performance",
         "turbo": "off", "clocksource": "tsc"}


class Cases(unittest.TestCase):
    def seen(self, load: str = "0.1 0 0", psi: str = "some total=2000000\n", works: bool = True, **machine: object) -> dict:
        files = {"/proc/loadavg": load, "/proc/pressure/cpu": psi}
        with (
            mock.patch.object(environment, "machine", lambda: QUIET | machine),
            mock.patch.object(doctor, "read", files.get),
            mock.patch.object(probes, "hardware_counters", lambda: works),
            mock.patch("os.cpu_count", lambda: 4),
        ):
            return {one.topic: one for one in doctor.looks()}

    def test_a_quiet_machine_of_its_own_is_good_throughout(self) -> None:
        self.assertEqual({one.level for one in self.seen().values()}, {"good"})

    def test_each_trouble_has_its_level_and_what_follows(self) -> None:
        for machine, topic, level, word in (
            ({"affinity": [0]}, "cpus", "bad", "switcher"),
            ({"affinity": [0, 1]}, "cpus", "note", "share CPUs"),
            ({"hypervisor": "QEMU"}, "virtualisation", "note", "neighbours"),
            ({"governor": "unreadable"}, "frequency", "note", "unseen"),
            ({"turbo": "on"}, "frequency", "note", "cpupower"),
            ({"cgroup_cpu_max": "50000 100000"}, "cgroup", "bad", "quota's"),
            ({"psi": ""}, "pressure (PSI)", "note", "foreign CPU time"),
            ({"works": False}, "perf counters", "note", "callgrind"),
            ({"load": "2.1 0 0"}, "load", "bad", "repeated as disturbed"),
        ):
            with self.subTest(machine):
                found = self.seen(**machine)[topic]
                self.assertEqual(found.level, level)
                self.assertIn(word, found.follows)
        self.assertEqual(self.seen(load="2.0 0 0")["load"].level, "good", "half of the CPUs")

    def test_what_is_measured(self) -> None:
        for cost, level in ((250.0, "good"), (251.0, "bad")):
            with mock.patch.object(environment, "machine", lambda: QUIET):
                self.assertEqual(doctor.clock(cost).level, level)
        for late, wake, levels in ((1e5, 1e4, ["good", "good", "note"]), (5e5, 3e4, ["note", "note", "note"]), (2e6, 1e4, ["bad", "good", "note"])):
            with (
                mock.patch.object(probes, "sleep_overshoot_ns", lambda _: {"p50": 60.0, "p99": late}),
                mock.patch.object(probes, "timer_slack_ns", lambda: 50_000),
                mock.patch.object(probes, "wakes", lambda: {"cross_cpu": {"p50": wake, "p99": wake}, "same_cpu": None}),
            ):
                self.assertEqual([one.level for one in doctor.probed()], levels)


if __name__ == "__main__":
    unittest.main()
