#!/usr/bin/env python3
"""The control of the hazards: a runtime that is broken in every way that a cell can be red. Each of its cells must come out as
control.py --list says, or no cell of anybody is believed."""

import os
import sys
import time

SURVIVES = '{"survived": true, "figure": 1, "unit": "ms/s", "told": ""}'


def grow() -> None:
    kept = []
    while True:
        kept.append(bytearray(b"x") * (8 << 20))
        time.sleep(0.01)


def says(line: str, status: int = 0) -> None:
    print(line)
    sys.exit(status)


WAYS = {
    "hangs": lambda: time.sleep(600),
    "crashes": os.abort,
    "loses": lambda: says('{"survived": false, "told": "99 of 100 ran"}', 4),
    "grows": grow,
    "burns": lambda: says('{"survived": true, "figure": 1000, "unit": "ms/s", "told": ""}'),
    "shrugs": lambda: says('{"survived": true, "told": ""}'),
    "ends_early": lambda: sys.exit(0),
    "babbles": lambda: says("all is well"),
    "lies": lambda: says(SURVIVES, 4),
    "works": lambda: says(SURVIVES),
}

if sys.argv[1:] == ["--list"]:
    print("\n".join(f"control {way}" for way in WAYS))
elif sys.argv[1:] == ["--version"]:
    print("broken on purpose")
else:
    WAYS[sys.argv[2]]()
