"""--json FILE: a verb's result for a program to read. The verb notes what it found; main.py writes it when the verb ends,
with the exit status, also if the verb ends by a fault."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import repo

FOUND: dict = {}
STDOUT = "-"


def note(**found: object) -> None:
    """Anything that JSON can say."""
    FOUND.update(found)


def argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", metavar="FILE", help="also write the result to FILE as JSON; - is standard output, and prose then goes to stderr")


def write(where: str | Path, verb: str, code: int, seconds: float, fault: dict | None) -> None:
    told = {"schema_version": 1, "verb": verb, "exit": code, "seconds": round(seconds, 3)} | ({"fault": fault} if fault else {}) | FOUND
    if where == STDOUT:
        sys.stdout.write(repo.json_text(told))
    else:
        repo.write_json(where, told)
