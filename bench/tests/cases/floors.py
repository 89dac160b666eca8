"""Controls that hand over without a scheduler."""

from __future__ import annotations

from .subject import Case, listed, FLOORS, ONE_BLOCK

class Floors(Case):
    def test_hand_overs(self) -> None:
        for scenario in FLOORS:
            with self.subTest(scenario=scenario):
                row = self.run_ok(scenario, 40, "--param", "ops=40", *ONE_BLOCK, workers=1)
                self.assertEqual(row["lat_count"], "0" if scenario == "floor_spin" else "40")

    def test_each_thread_of_the_bare_control_has_its_share_of_the_children(self) -> None:
        if not set(FLOORS) <= set(listed()):
            self.skipTest("no bare control")
        for workers, ops, elsewhere in ((1, 10, 0), (2, 500, 500_000), (3, 10, 600_000), (4, 4, 750_000)):
            with self.subTest(workers=workers, ops=ops):
                words = ("--param", f"ops={ops}", "--warmup-blocks", 2)
                row = self.run_ok("steal_pressure", ops, *words, workers=workers)
                self.assertEqual(row["flags"].partition(";")[0], f"elsewhere_ppm={elsewhere}")
        self.assert_unsupported("steal_pressure", "--param", "ops=1")
