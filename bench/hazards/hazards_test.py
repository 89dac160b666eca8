"""Ours meet every hazard that they can meet, each in a child of its own, and the control comes out red: a test of `check`, which
judges no time by the clock, and has stacks of 1 MiB and little patience for the idle."""

import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from apiary_cli.base import proc  # noqa: E402
from apiary_cli.race import hazards  # noqa: E402

proc.install_signals()
proc.become_subreaper()
resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
known = hazards.read()
limits = hazards.Limits(settle_ms=200, depth=100_000, patience=10, clock=False, stacks=False)
failures = hazards.control_flaws(limits)
met = 0
for runtime, name in hazards.offered(Path(sys.argv[1])):
    if name == "half_quota":  # the same work as in oversubscribed, in a control group
        continue
    cell = hazards.meet(Path(sys.argv[1]), runtime, known[name], limits)
    met += 1
    if cell.word != "yes":
        failures.append(f"{runtime} {name}: {cell.shown()}; again: {cell.command}")
if met < 60:
    failures.append(f"only {met} cells, where seven schedulers meet at least 60 hazards")
print("\n".join(failures) or f"{met} cells are yes, and the control is red")
sys.exit(1 if failures else 0)
