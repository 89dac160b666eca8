"""apiary_virtual: moves and accesses of every scenario with 1, 4 and 16 workers, exactly as recorded for this compiler.

    gate_test.py PROGRAM FILE

Exit status: 0 the same; 1 a point differs, or is not recorded; 77 there is no FILE.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

WORKERS = ("16", "4", "1")  # the longest first
FLAT = Path(__file__).resolve().parents[1] / "profiles" / "flat.profile"
REMEDY = """\
  cause:  this change moves other cache lines, or moves them more or less often; or the model or its prices changed
  remedy: if that is meant, say in the commit why, and record it: scripts/apiary virtual --update.
          Which line, and from which place: scripts/apiary virtual SUBJECT --scenario NAME --processors N, before and after"""


def counts(program: str, subject: str, scenario: str, workers: str) -> tuple[str, str] | str:
    """Moves and accesses, or what went wrong."""
    done = subprocess.run([program, subject, scenario, workers, "--profile", str(FLAT)], capture_output=True, text=True, timeout=300,
                          check=False)
    if done.returncode != 0:
        return done.stderr.strip()
    point = json.loads(done.stdout)
    return f"{point['moves']:.4f}", f"{point['accesses']:.4f}"


def main() -> int:
    program, file = sys.argv[1], Path(sys.argv[2])
    if not file.exists():
        print(f"nothing is recorded for this compiler ({file})\n  remedy: scripts/apiary virtual --update")
        return 77
    with file.open(newline="") as handle:
        recorded = {(r["subject"], r["scenario"], r["workers"]): (r["moves"], r["accesses"]) for r in csv.DictReader(handle)}
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, timeout=300, check=True).stdout.splitlines()
    points = [(*line.split()[:2], workers) for workers in WORKERS for line in listed]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        now = dict(zip(points, pool.map(lambda point: counts(program, *point), points)))
    wrong = [f"{' '.join(key)}: recorded, and not there any more" for key in recorded if key[2] in WORKERS and key not in now]
    for point, one in sorted(now.items()):
        before, name = recorded.get(point), " ".join(point)
        if isinstance(one, str):
            wrong.append(f"{name}: {one}")
        elif before is None:
            wrong.append(f"{name}: not recorded")
        else:
            wrong += [f"{name}: {what} {was} -> {is_now} an operation"
                      for what, was, is_now in zip(("moves", "accesses"), before, one) if was != is_now]
    if wrong:
        print("\n".join([f"{len(wrong)} counts differ from {file.name}:", *wrong, REMEDY]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
