"""The kinds of numbers on the command line. Each kind refuses values that make no sense, before anything is built."""

from __future__ import annotations

import argparse
import math
import re
import shlex
import sys
from typing import Callable

from .errors import Fault, USAGE

MOST = 10**6  # the most of anything that is counted: more is a typing mistake
SEEDS = 2**63
DECIMAL = re.compile(r"[0-9]{1,12}(\.[0-9]{0,9})?|\.[0-9]{1,9}")
YEAR = 365.0 * 24 * 3600
SPAN = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)([smh])", re.ASCII)


def command() -> str:
    """This call of scripts/apiary, to paste into a shell."""
    return spelled(sys.argv[1:])


def spelled(words: list[str]) -> str:
    """A call as pages show it: where it writes JSON is this machine's own, and repeats nothing."""
    kept = [word for before, word in zip(["", *words], words) if "--json" not in (before, word) and not word.startswith("--json=")]
    return shlex.join(["scripts/apiary", *kept])


def repeatable(parser: argparse.ArgumentParser, option: str, metavar: str | None, help: str) -> None:
    parser.add_argument(option, action="append", default=[], metavar=metavar, help=help)


def besides(args: argparse.Namespace, arguments: Callable[[argparse.ArgumentParser], None], *known: str) -> str:
    """The options of this call, except `known` and --json, as one text. `arguments` declares all options of the verb."""
    usual = argparse.ArgumentParser()
    arguments(usual)
    mixed = [name for name, value in vars(args).items() if name not in ("json", *known) and value != usual.get_default(name)]
    return ", ".join(f"--{name.replace('_', '-')}" for name in mixed)


def refuse(text: str, wanted: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"{text!r} is not {wanted}")


def whole(least: int, most: int = MOST) -> Callable[[str], int]:
    """A whole number within these bounds."""

    def read(text: str) -> int:
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 25 and least <= int(text) <= most):
            raise refuse(text, f"a whole number from {least} to {most}")
        return int(text)

    return read


def above_zero(unit: str, most: float) -> Callable[[str], float]:
    """A number above zero; neither nan nor inf."""

    def read(text: str) -> float:
        value = float(text) if DECIMAL.fullmatch(text) else math.nan
        if not 0 < value <= most:
            raise refuse(text, f"a number of {unit} above 0, at most {most:.0f}")
        return value

    return read


def span(option: str, text: str) -> float:
    """Seconds, of 90s, 60m or 3h."""
    match = SPAN.fullmatch(text)
    value = float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]] if match else 0.0
    if not 0 < value <= YEAR:
        raise Fault(f"{option} {text} cannot be read", "", "a number and s, m or h: 90s, 60m, 3h; a year at most", USAGE)
    return value


count = whole(1)  # of rounds, workers, jobs, …
several = whole(0)  # a count that may be 0
seed = whole(0, SEEDS - 1)
part = above_zero("parts of 1", 1)
seconds = above_zero("seconds", YEAR)
minutes = above_zero("minutes", YEAR / 60)
block_ms = whole(1, 60_000)
workers = whole(1, 4096)
