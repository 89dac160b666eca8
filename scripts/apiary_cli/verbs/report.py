"""report: make report.html again from the CSVs of a result folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import repo, splice
from ..errors import Fault, USAGE, unknown
from ..say import say

SUMMARY = "make report.html again from a result folder"
DESCRIPTION = """\
Reads rows.csv, hist.csv, micro.csv, startup.csv and env.json of a result folder and writes
report.html: one self-contained file, no network, light and dark, readable on a phone and on paper.

With --splice FILE the folder goes into a page of this repository: a race between <!-- race --> and
<!-- /race --> (README.md), a qualification between <!-- qualify --> and <!-- /qualify --> (METHODOLOGY.md).
A page without the marks is refused.

writes:  DIR/report.html, or FILE
takes:   a few seconds"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", nargs="?", metavar="DIR", help="the result folder (default: the newest)")
    parser.add_argument("--splice", metavar="FILE", help="write its table between the marks of this page")


def write(folder: Path) -> Path:
    """Write folder/report.html."""
    from .. import page

    path = folder / "report.html"
    path.write_text(page.render(folder))
    return path


def find(name: str | None) -> Path:
    known = sorted(path.parent for path in repo.RESULTS.glob("*/env.json"))
    if name is None:
        if not known:
            raise Fault("there is no result folder yet", "", "scripts/apiary race --quick", USAGE)
        return known[-1]
    for candidate in (Path(name), repo.RESULTS / name):
        if (candidate / "env.json").exists():
            return candidate
    raise unknown("result folder", name, [path.name for path in known])


def run(args: argparse.Namespace) -> int:
    folder = find(args.dir)
    if args.splice:
        name = splice.into(Path(args.splice), folder)
        say(f"{args.splice}: what stands between <!-- {name} --> and <!-- /{name} --> is that of {folder.name}")
        return 0
    path = write(folder).resolve()
    say(f"report: {path.relative_to(repo.ROOT) if path.is_relative_to(repo.ROOT) else path}")
    return 0
