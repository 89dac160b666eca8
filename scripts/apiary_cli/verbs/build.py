"""build: configure and build presets."""

from __future__ import annotations

import argparse
import shutil

from ..base import argument_kinds, building, packages, repo
from ..base.errors import unknown
from ..base.say import say

SUMMARY = "configure and build presets (and the Rust twin)"
DESCRIPTION = """\
Configures and builds the named presets (default: release), 'rust' for tokio_baseline,
or 'all' (without clang where clang-19 is missing). Quiet unless something fails, and then
it shows the failing command's output.
Programs that differ from the source are built anew, whatever the time stamps say.

writes:  build/<preset>/ (programs in bin/, the log in apiary-build.log), tokio_baseline/target/
takes:   one to three minutes for each preset on two cores, seconds when little changed"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("preset", nargs="*", default=["release"], help="preset names, 'rust', or 'all'")
    parser.add_argument("--jobs", type=argument_kinds.count, metavar="N", help="compile N files at a time (default: Ninja's)")


def every() -> list[str]:
    """Whatever can be built here: the second compiler is no part of the set-up that asks for nothing more."""
    presets = repo.presets()
    absent = [name for name in presets if name == "clang" and not shutil.which(building.compiler(name))]
    for name in absent:
        say(f"build {name}: left out, {building.compiler(name)} was not found; scripts/apiary setup --with-lint brings it")
    return [name for name in presets if name not in absent] + ["rust"]


def run(args: argparse.Namespace) -> int:
    packages.require("cmake", "ninja", "g++")
    known = repo.presets() + ["rust", "all"]
    for name in args.preset:
        if name not in known:
            raise unknown("preset", name, known)
    for name in every() if "all" in args.preset else args.preset:
        if name == "rust":
            building.build_rust()
        else:
            building.build(name, args.jobs)
    return 0
