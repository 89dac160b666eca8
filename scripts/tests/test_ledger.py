"""The expected checks agree with the golden vectors that both languages reproduce."""

from __future__ import annotations

import json
import unittest

from apiary_cli.race import ledger
from apiary_cli.report import page_data

from .support import REAL_ROOT

GOLDEN = json.loads((REAL_ROOT / "bench" / "contract" / "golden.json").read_text())


def number(value: int | str) -> int:
    return value if isinstance(value, int) else int(value, 16)


class Golden(unittest.TestCase):
    def test_mix(self) -> None:
        for vector in GOLDEN["mix"]:
            self.assertEqual(ledger.mix(number(vector["i"])), number(vector["mix"]))

    def test_mark(self) -> None:
        for vector in GOLDEN["mark"]:
            self.assertEqual(ledger.mark(number(vector["i"])), number(vector["mark"]))

    def test_block_sums(self) -> None:
        known = [(v["n"], number(v["sum"])) for v in GOLDEN["block_sum"] if ledger.expected(number(v["n"]))]
        self.assertGreater(len(known), 3)
        for n, total in known:
            self.assertEqual(ledger.expected(n), f"{total:016x}")

    def test_percentiles(self) -> None:
        for vector in GOLDEN["percentile"]:
            buckets = [bucket(number(v)) + (number(c),) for v, c in zip(vector["values"], vector["counts"])]
            for quantile in vector["quantiles"]:
                with self.subTest(vector["name"], permille=quantile["permille"]):
                    (found,) = page_data.percentiles(page_data.merged({1: buckets}), (quantile["permille"] / 1000,))
                    if not quantile["printed"]:
                        self.assertIsNone(found)
                    else:
                        self.assertEqual(min(found, number(vector["max"])), number(quantile["value"]))


def bucket(value: int) -> tuple[int, int]:
    """The bucket of a value, by CSV.md."""
    shift = max(0, value.bit_length() - 8)
    low = value >> shift << shift
    return low, low + (1 << shift) - 1


class Table(unittest.TestCase):
    def test_stored_powers(self) -> None:
        for index, power in enumerate(ledger.POWERS[:4]):
            self.assertEqual(ledger.computed(1 << (ledger.SMALLEST_POWER + index)), power)

    def test_what_is_not_known(self) -> None:
        self.assertIsNone(ledger.expected(10**9 + 7))
        self.assertIsNone(ledger.expected(0))

    def test_disagreement_marks_the_whole_group(self) -> None:
        def row(subject: str, check: str, ops: str = "77") -> dict[str, str]:
            return {
                "scenario": "s",
                "scenario_params": "",
                "ops": ops,
                "status": "ok",
                "subject": subject,
                "check": check,
            }

        rows = [row("a", "1" * 16), row("b", "1" * 16), row("c", "2" * 16), row("d", "3" * 16, ops="78")]
        self.assertEqual([r["subject"] for r, _ in ledger.disagreements(rows)], ["a", "b", "c"])

    def test_a_subject_that_is_unsupported_now_and_then(self) -> None:
        def row(subject: str, status: str, scenario: str = "s") -> dict[str, str]:
            return {"scenario": scenario, "scenario_params": "", "placement": "free", "subject": subject, "status": status}

        rows = [row("a", "ok"), row("a-aa", "unsupported"), row("b", "unsupported"), row("c", "ok"), row("c", "unsupported", "t")]
        self.assertEqual([r["subject"] for r, _ in ledger.now_and_then(rows)], ["a-aa"])

    def test_what_is_too_long_to_compute_is_counted(self) -> None:
        rows = [{"status": "ok", "ops": ops} for ops in ("77", str(10**9 + 7), "")]
        self.assertEqual(ledger.unverified(rows), 1)
        self.assertEqual(ledger.computed((1 << 20) + 3), f"{(int(ledger.computed(1 << 20), 16) + sum(ledger.mark((1 << 20) + i) for i in range(3))) & ledger.MASK:016x}")
