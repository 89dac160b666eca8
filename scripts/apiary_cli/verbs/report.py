"""report: make report.html again from the CSVs of a result folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..base import argument_kinds, repo
from ..base.errors import Fault, USAGE, unknown
from ..base.say import say
from ..race import folder, shelf, tables
from ..report import page, page_data, page_frontier, page_summary, site, six, splice
from ..report.page_data import Report

SUMMARY = "make report.html again from a result folder"
DESCRIPTION = """\
Reads rows.csv, hist.csv, micro.csv, startup.csv and env.json of a result folder and writes
report.html: one self-contained file, no network, light and dark, readable on a phone and on paper.

A page is never replaced by a poorer one, with fewer charts or sections (as without hist.csv): remove it before.
A folder of tune or qualify is refused: its summary.md is its report.

With --splice FILE the folder is published: it goes into a page of this repository, a race between <!-- race -->
and <!-- /race --> (the page of a scheduler that raced speaks of that scheduler, and names every loss), a
qualification between <!-- qualify --> and <!-- /qualify --> (METHODOLOGY.md; of one CPU: qualify one_cpu), an
ablation between <!-- ablation --> and <!-- /ablation --> (impl/apiary/workers/README.md). Of the folder remains
what git keeps: rows.csv, hist.csv, micro.json and startup.json compressed (.xz), its proof record
in results/proofs/, and no report.html, which `report` makes again.
Refused are: a page without the marks; a batch that is INVALID, has fewer than 10 rounds, or a red finding. The
page's first line says how small a difference the batch could have told, at how many points.

With --six FILE: the six schedulers, each with its nearest rival and its worst loss, between <!-- six --> and
<!-- /six -->, and their drawing results/six.svg. A scheduler's own page says which race speaks for it.

With --index: the site, for any static host (.github/workflows/pages.yml puts it beside the folders). Its first page,
results/index.html, has the six schedulers and the tracks; proofs.html, curves.html, museum.html, trophies.html and
history.html stand beside it.

writes:  DIR/report.html and DIR/summary.md; or FILE, DIR and results/proofs/ as above, and of a race DIR/matrix*.svg;
         or FILE and results/six.svg; or the site, results/*.html
takes:   a few seconds"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", nargs="?", metavar="DIR", help="the result folder (default: the newest)")
    parser.add_argument("--splice", metavar="FILE", help="write what it says between the marks of this page")
    parser.add_argument("--index", action="store_true", help="write the site, results/*.html, and nothing else")
    parser.add_argument("--six", metavar="FILE", help="write the table of the six schedulers between the marks of this page, and its drawing")


def write(folder: Path, poorer: bool = True) -> Report:
    """Writes folder/report.html and summary.md, and returns what they show. Unless `poorer`, a page that shows more than the new
    one is kept, by a Fault."""
    found = page_data.load(folder)
    path, text = folder / "report.html", page.render(found)
    if path.exists() and not poorer:
        before, after = contents(path.read_text(errors="replace")), contents(text)
        less = [f"{after[name]} {name} in place of {before[name]}" for name in before if after[name] < before[name]]
        if less:
            absent = "" if tables.stored(folder / "hist.csv") else "hist.csv is absent: the percentiles come from it"
            remedy = "bring back what is missing, or remove the page, which was left as it is"
            raise Fault(f"the new page would be poorer: {', '.join(less)}", absent, remedy, USAGE)
    repo.write_text(path, text)
    repo.write_text(folder / "summary.md", page_summary.markdown(found))
    page_frontier.write(found, folder)
    return found


def contents(text: str) -> dict[str, int]:
    """How much a page shows."""
    return {"charts": text.count('<svg class="chart'), "sections": text.count("<section")}


def named(name: str) -> Path | None:
    """The result folder of this name, or at this path."""
    for candidate in (Path(name), repo.RESULTS / name):
        if candidate.is_dir():
            folder.refuse_unfinished(candidate)
        if (candidate / "env.json").exists():
            return candidate
    return None


def find(name: str | None) -> Path:
    whole = (path.parent for path in repo.RESULTS.glob("*/env.json"))
    known = sorted(path for path in whole if not path.name.endswith(folder.UNFINISHED))
    if name is None and not known:
        raise Fault("there is no result folder yet", "", "scripts/apiary race --quick", USAGE)
    found = known[-1] if name is None else named(name)
    if not found:
        raise unknown("result folder", name, [path.name for path in known])
    return found


def run(args: argparse.Namespace) -> int:
    if args.index:
        if args.dir or argument_kinds.besides(args, arguments, "dir", "index"):
            raise Fault("--index lists every folder", "with it no folder is chosen, and no page spliced", "leave the rest away", USAGE)
        say(f"site: {repo.shown(site.write())}")
        return 0
    if args.six:
        if args.dir or args.splice:
            raise Fault("--six goes by the pages of the schedulers", "with it no folder is chosen", "leave the rest away", USAGE)
        six.splice(Path(args.six))
        say(f"{args.six}: what stands between <!-- six --> and <!-- /six --> is that of today's pages")
        return 0
    folder = find(args.dir)
    if args.splice:
        name = splice.into(Path(args.splice), folder)
        shelf.publish(folder)
        say(f"{args.splice}: what stands between <!-- {name} --> and <!-- /{name} --> is that of {folder.name}")
        return 0
    write(folder, poorer=False)
    say(f"report: {repo.shown((folder / 'report.html').resolve())}")
    return 0
