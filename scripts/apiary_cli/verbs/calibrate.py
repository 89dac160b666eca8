"""calibrate: what operations cost on this machine, as a profile for the virtual one."""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from pathlib import Path

from ..base import argument_kinds, building, json_result, proc, repo
from ..base.errors import Fault, USAGE
from ..base.say import duration, say
from . import setup, virtual

SUMMARY = "what operations cost on this machine: a profile for the virtual one"
DESCRIPTION = """\
Measures with two pinned threads what two processors can show: how a line moves between them, changes,
fences, membarrier, sleeps and wakes, yields, clock reads, a basic block of plain instructions. Prints a
profile of bench/virtual, whose comments say of each price whether it was measured, with its quartiles,
or kept from the defaults. A price whose quartiles lie too far apart keeps its default: run it again when
nothing else runs.

writes:  nothing, or the profile that --out names
takes:   about ten seconds after building
exit:    0 the profile is whole, whatever could be measured; 2 bad arguments; 3 a thread cannot be pinned,
         or the harness failed"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="FILE", help="write the profile to FILE instead of standard output")
    parser.add_argument("--defaults", default="flat", metavar="PROFILE", help="the profile whose prices stand for those that are not measured (default flat)")
    parser.add_argument("--processors", metavar="A,B", help="pin the threads to these two, or to a single one (default: the first two of this process)")
    parser.add_argument("--batches", type=argument_kinds.whole(10, 1_000_000), default=2000, metavar="N",
                        help="batches of measurements for each price (default 2000)")
    parser.add_argument("--most-spread", type=argument_kinds.whole(0, 10_000), default=50, metavar="PERCENT",
                        help="a price whose quartiles lie farther apart, in percent of its median, keeps its default (default 50)")
    parser.add_argument("--no-build", action="store_true", help="take the build as it is")


def run(args: argparse.Namespace) -> int:
    started = time.monotonic()
    defaults = virtual.profile(args.defaults)
    out = Path(args.out) if args.out else None
    if out and not out.resolve().parent.is_dir():
        raise Fault(f"--out {out}", "there is no such folder", "another one", USAGE)
    if not args.no_build:
        setup.ensure()
        building.build("release", only="calibrate")
    found = repo.built("release", "calibrate")
    if not found:
        raise Fault("there is no apiary_calibrate", "build/release/manifest/calibrate.txt names none", "scripts/apiary build release")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calibrated.profile"
        words = ["--processors", args.processors] if args.processors else []
        done = proc.run([found[0], "--defaults", str(defaults), "--out", str(path), "--batches", str(args.batches),
                         "--most-spread", str(args.most_spread), *words], timeout=600)
        if not done.ok:
            told = re.sub(r"^apiary_calibrate: ", "", done.err.strip()) or done.how()
            raise Fault(told, "", "", USAGE if done.rc == USAGE else 3)
        text = path.read_text()
    if out:
        out.write_text(text)
        say(f"wrote {repo.shown(out.resolve())}: scripts/apiary virtual --profile {out}")
    else:
        say(text.rstrip())
    say(done.err.strip(), f"took {duration(time.monotonic() - started)}")
    json_result.note(defaults=defaults.stem, out=str(out or ""), profile=text)
    return 0
