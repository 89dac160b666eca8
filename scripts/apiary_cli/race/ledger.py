"""The expected `check` of a block of N operations: the sum of mark(0) … mark(N-1), see CLI.md."""

from __future__ import annotations

import functools
import re
from collections import defaultdict

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
HEX16 = re.compile(r"[0-9a-f]{16}")
COMPUTED_UP_TO, AT_ONCE = 1 << 24, 1 << 20
SMALLEST_POWER = 14

# The sums for 2**14, 2**15, …, so that a block of millions need not be summed here. The tests compute the first again.
POWERS = """
    466f017f00004000 7b6a14f500008000 bc570f8400010000 dcea850c00020000 c025838f00040000 8c6b99b200080000
    79263d1000100000 789254e400200000 8e46569700400000 bc3ed16200800000 9b93518e01000000 4f4c6c2302000000
    7d830db804000000 73e1281208000000 a14e7b0610000000 1980dd6720000000 c026ba0a40000000 a855906380000000
""".split()


def mix(i: int) -> int:
    """The finaliser of SplitMix64; of a number, or of an array of them."""
    z = (i + GOLDEN) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def mark(i: int) -> int:
    """What task number i adds: 32 bits of hash above a one."""
    return mix(i) >> 32 << 32 | 1


@functools.lru_cache(maxsize=64)
def computed(n: int) -> str:
    import numpy  # here, so that setup runs without it

    parts = (numpy.arange(low, min(low + AT_ONCE, n), dtype=numpy.uint64) for low in range(0, n, AT_ONCE))
    return f"{sum(int(mark(part).sum()) for part in parts) & MASK:016x}"


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


def unverified(rows: list[dict[str, str]]) -> int:
    """Good rows whose check nobody here can compute: held only to the other subjects' of as many operations."""
    return sum(row["status"] == "ok" and int(row["ops"] or 0) > 0 and expected(int(row["ops"])) is None for row in rows)


def now_and_then(rows: list[dict[str, str]]) -> list[tuple[dict[str, str], str]]:
    """Rows that are `unsupported` where the same program, or its copy, has done the same work: each with the reason. A subject
    that chooses its runs so would leave out its slow ones."""
    def of(row: dict[str, str]) -> tuple[str, ...]:
        return row["scenario"], row["scenario_params"], row["placement"], re.sub(r"-(aa|slow5|slow10)$", "", row["subject"])

    done = {of(row) for row in rows if row["status"] == "ok"}
    return [(row, "it ended as unsupported, and has done this work in other runs")
            for row in rows if row["status"] == "unsupported" and of(row) in done]


def disagreements(rows: list[dict[str, str]]) -> list[tuple[dict[str, str], str]]:
    """Good rows of equal scenario, parameters and ops whose checks differ: each with the reason.

    Where the expected sum is known, judge() has already marked the wrong one. Here it is not, so
    that no one can say which subject is right: all of the group are wrong."""
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        if row["status"] == "ok":
            groups[row["scenario"], row["scenario_params"], row["ops"]].append(row)
    out = []
    for (_, _, ops), group in groups.items():
        seen = {row["check"]: row["subject"] for row in group}
        if len(seen) > 1:
            told = ", ".join(f"{subject} {check}" for check, subject in sorted(seen.items()))
            out += [(row, f"subjects disagree on the check of {ops} operations: {told}") for row in group]
    return out
