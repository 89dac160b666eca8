"""The apiary command, in packages that stand one above the other: base, verify, race, analysis, report,
verbs; main.py stands on top. A package imports from those below it only (tests/test_layers.py)."""
