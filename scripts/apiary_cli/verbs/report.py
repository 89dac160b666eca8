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
report.html: one self-contained file without network access, light and dark, for a phone and for paper.

A page with more charts or sections than the new one (as when hist.csv is missing now) is not replaced: remove it first.
A folder of tune or qualify is refused: its summary.md is its report.

--splice FILE publishes the folder: it writes the results between the marks of a page of this repository. A race goes
between <!-- race --> and <!-- /race -->: the page of a scheduler that raced gets that scheduler's results, with every
loss. A qualification goes between <!-- qualify --> and <!-- /qualify --> (METHODOLOGY.md; qualify one_cpu if it is of
one CPU). An ablation goes between <!-- ablation --> and <!-- /ablation --> (impl/apiary/workers/README.md). The folder
then keeps only what belongs into git: rows.csv, hist.csv, micro.json and startup.json, compressed (.xz). Its proof
record goes to results/proofs/, and report.html is removed, since `report` makes it again.
It refuses a page without the marks, and a batch that is INVALID, has fewer than 10 rounds, or has a red finding. The
first line between the marks says how small a difference the batch could have told, and at how many points.

--six FILE writes the table of the six schedulers between <!-- six --> and <!-- /six -->, each with its nearest rival
and its worst loss, and draws it: results/six.svg. Each scheduler's own page says which race its row is taken from.

--index writes the site, for any static host (.github/workflows/pages.yml puts it beside the folders). Its first page,
results/index.html, has the six schedulers and the tracks; proofs.html, curves.html, museum.html, trophies.html and
history.html stand beside it.

writes:  DIR/report.html and DIR/summary.md; or FILE, DIR and results/proofs/ as above, and for a race DIR/matrix*.svg
         and, where latency has several prices, results/frontier.svg and results/frontier-narrow.svg;
         or FILE and results/six.svg; or the site, results/*.html
takes:   a few seconds; to compress the histograms of a race of latencies, a minute"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", nargs="?", metavar="DIR", help="the result folder (default: the newest)")
    parser.add_argument("--splice", metavar="FILE", help="publish the folder: write its results between the marks of this page")
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
