"""The expected `check` of a block of N operations: the sum of mix(0) … mix(N-1), see CLI.md."""

from __future__ import annotations

import functools
import re

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
HEX16 = re.compile(r"[0-9a-f]{16}")
COMPUTED_UP_TO = 100_000
SMALLEST_POWER = 14

# The sums for 2**14, 2**15, …, so that a block of millions need not be summed in Python.
# scripts/tests recompute the first of them; `python3 -m apiary_cli.ledger` does all, slowly.
POWERS = (
    "466f2163932ab32a",
    "7b6a550a5063c94e",
    "bc57902eff316e4c",
    "dceb862f81333b70",
    "c027856458ed4d5f",
    "8c6f9c0f16c4607b",
    "792e3ff740cdecb8",
    "78a256f27cd65954",
    "8e665855bd4512f1",
    "bc7ed4468f1aa6fc",
    "9c1357824d0123d0",
    "504c772f97ee22a4",
    "7f8310511ea31545",
    "77e127b5050c6e0a",
    "a94e714abf3d9ebb",
    "2980bba2bc5c08f7",
    "e026a210379c9607",
    "e85569d47993eb13",
)


def mix(i: int) -> int:
    """The finaliser of SplitMix64."""
    z = (i + GOLDEN) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


@functools.lru_cache(maxsize=64)
def computed(n: int) -> str:
    return f"{sum(map(mix, range(n))) & MASK:016x}"


def expected(n: int) -> str | None:
    """The check of n operations, or None where it is too long to compute here."""
    if n < 1:
        return None
    power = n.bit_length() - 1
    if n == 1 << power and 0 <= power - SMALLEST_POWER < len(POWERS):
        return POWERS[power - SMALLEST_POWER]
    return computed(n) if n <= COMPUTED_UP_TO else None


def check_flaw(text: str) -> str:
    return "" if HEX16.fullmatch(text) else f"check is {text!r}, not 16 lower-case hexadecimal digits"


def disagreements(rows: list[dict[str, str]]) -> list[tuple[dict[str, str], str]]:
    """Good rows of equal scenario, parameters and ops whose checks differ: each with the reason.

    Where the expected sum is known, judge() has already marked the wrong one. Here it is not, so
    that no one can say which subject is right: all of the group are wrong."""
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in rows:
        if row["status"] == "ok":
            groups.setdefault((row["scenario"], row["scenario_params"], row["ops"]), []).append(row)
    out = []
    for (_, _, ops), group in groups.items():
        seen = {row["check"]: row["subject"] for row in group}
        if len(seen) > 1:
            told = ", ".join(f"{subject} {check}" for check, subject in sorted(seen.items()))
            out += [(row, f"subjects disagree on the check of {ops} operations: {told}") for row in group]
    return out


if __name__ == "__main__":
    total, done = 0, 0
    for bits in range(SMALLEST_POWER, SMALLEST_POWER + len(POWERS)):
        total += sum(map(mix, range(done, 1 << bits)))
        done = 1 << bits
        print(f'    "{total & MASK:016x}",', flush=True)
