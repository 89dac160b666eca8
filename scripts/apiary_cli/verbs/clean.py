"""clean: remove files that can be made again."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from ..base import repo
from ..base.say import say
from ..race import folder

SUMMARY = "remove build folders and caches (results only when asked)"
DESCRIPTION = """\
Removes build/, tokio_baseline/target/, Python caches and half-made result folders
(results/.tmp-*). Results stay unless --results is given; results that git tracks always stay.
While another apiary works in this tree, its builds and half-made folders stay, too.

writes:  nothing; removes the above
takes:   a second"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", action="store_true", help="also remove result folders, unfinished ones too, that git does not track")
    parser.add_argument("--dry-run", action="store_true", help="say what would be removed")


def doomed(results: bool) -> list[Path]:
    """What to remove. Only folders that this tool or its builds made."""
    paths = [repo.BUILD, repo.RUST / "target"]
    paths += sorted((repo.ROOT / "scripts").rglob("__pycache__"))
    paths += sorted(repo.RESULTS.glob(".tmp-*"))
    if results:
        kept = tracked()
        own = {path.parent for path in repo.RESULTS.glob("*/env.json")} | set(repo.RESULTS.glob(f"*{folder.UNFINISHED}"))
        paths += sorted(path for path in own if path not in kept)
    return [path for path in paths if path.exists()]


def tracked() -> set[Path]:
    """Result folders that hold a file of this repository."""
    told = repo.git("ls-files", "-z", "--", str(repo.RESULTS)) or ""
    return {repo.RESULTS / Path(name).parts[1] for name in told.split("\0") if len(Path(name).parts) > 2}


def needed(path: Path) -> bool:
    """By another apiary, whatever it does: programs and libraries, and the folders that a race fills."""
    return path in (repo.BUILD, repo.RUST / "target") or path.name.startswith(".tmp-") or path.name.endswith(folder.UNFINISHED)


def run(args: argparse.Namespace) -> int:
    with repo.at_work(alone=True) as alone:
        found = doomed(args.results)
        if not found:
            say("nothing to remove")
        for path in found:
            shown = repo.shown(path)
            if not alone and needed(path):
                say(f"{shown} stays: another apiary works in this tree")
                continue
            say(f"{'would remove' if args.dry_run else 'removing'} {shown}")
            if not args.dry_run:
                shutil.rmtree(path)
    return 0
