"""Servers: what a page shows of its own figures, a line for each point: percentiles, and requests of a second of processor time."""

from __future__ import annotations

from ..base.say import markdown
from ..race import tables
from .page_data import Cell, Report, merged, percentiles, read_hist

PRICE = "cpu_ns_per_request"
DEPTHS = (0.5, 0.99, 0.999)
HEAD = ["point", "p50:n", "p99:n", "p99.9:n", "requests:n", "the most of a peer"]
LEGEND = ("Of {name} alone: percentiles in µs, of the answers of all rounds at once; requests of a second of the server's processor time, "
          "in the median round, and those of the peer that has the most there. What of that is resolved stands above.")


def point(cell: Cell) -> str:
    params = tables.params_of(cell.key[1])
    connections = int(params.get("connections", 1))
    words = [f"{int(params['bytes']):,} bytes"] if "bytes" in params else []
    words += [f"{connections:,} connection{'s' * (connections != 1)}", f"{int(params['rate']):,} requests a second"]
    return f"`{cell.key[0]}`, {', '.join(words)}"


def table(report: Report, name: str) -> list[str]:
    """In Markdown; nothing where no server of that name was asked."""
    priced = [cell for cell in report.cells if cell.metric.column == PRICE]
    ours = [cell for cell in priced if cell.subject == name]
    if not ours:
        return []
    answers = read_hist(report.folder / "hist.csv")
    lines = []
    for cell in ours:
        told = percentiles(merged(answers.get((*cell.key[:2], name), {})), DEPTHS)
        peers = [one for one in priced if one.key == cell.key and one.subject in report.peers]
        best = min(peers, key=lambda one: one.median, default=None)
        figures = ["–" if value is None else f"{value / 1000:,.0f}" for value in told]
        most = f"{1e9 / best.median:,.0f}, {best.subject}" if best else "–"
        lines.append([point(cell), *figures, f"{1e9 / cell.median:,.0f}", most])
    return markdown(HEAD, lines)
