"""What a page of this repository shows of a result folder: the text between two marks, made by a command.

  <!-- race -->     the table of a race, from compare.csv and env.json
  <!-- qualify -->  what `qualify` found, from qualify.csv and env.json; of one CPU: <!-- qualify one_cpu -->
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Iterable

from . import comparing, plans, repo, stats, summary, tables, verification
from .errors import Fault, USAGE
from .svg import human

# Of several percentiles the median and the deepest are shown, and each at which a peer wins.
DEEPER = ("lat_p50_ns", "lat_p90_ns", "lat_p99_ns")
NOT_RANKED, CONTROL_FAILED = "not ranked", "A/A differs"


def between(text: str, name: str, body: str, where: str) -> str:
    """`text` with `body` between the marks of that name, which must stand there once."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if text.count(start) != 1 or text.count(end) != 1 or text.index(start) > text.index(end):
        raise Fault(
            f"{where} has no place for this",
            f"{start} and, behind it, {end} must stand in it once",
            "nothing was written",
            USAGE,
        )
    head, tail = text[: text.index(start)], text[text.index(end) :]
    return f"{head}{start}\n{body.rstrip()}\n{tail}"


def into(path: Path, folder: Path) -> str:
    """Splice what `folder` holds into the page `path`; returns the name of the marks."""
    name, body = qualification(folder) if (folder / "qualify.csv").exists() else ("race", race(folder))
    try:
        text = path.read_text()
    except OSError as error:
        remedy = "--splice FILE is a page with marks"
        raise Fault(f"{path} cannot be read", str(error.strerror), remedy, USAGE) from error
    path.write_text(between(text, name, body, path.name))
    return name


def date(env: dict) -> str:
    """20261121T170000Z-host -> 2026-11-21."""
    stamp = env["run_id"][:8]
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}"


def machine(env: dict) -> str:
    found = env.get("machine", {})
    kind = "CPUs" if found.get("hypervisor") in (None, "none seen") else "virtual CPUs"
    return f"{found.get('cpu', 'unknown CPU')}, {found.get('cpus', '?')} {kind}"


def preamble(env: dict) -> str:
    ran = env.get("race", {})
    dirty = " with uncommitted changes" if ran.get("dirty") else ""
    return f"`{ran.get('command', '')}`, {date(env)}, {machine(env)}, commit {str(ran.get('commit', ''))[:12]}{dirty}"


# ------------------------------------------------------------------------------------------------- a race


@dataclass(frozen=True)
class Line:
    """A row of the table: one point by one metric, for one of ours."""

    scenario: str
    params: str
    placement: str
    metric: str
    ours: str


def kind(row: dict[str, str]) -> str:
    """control, bare, or nothing where the other is a peer."""
    return next((flag for flag in row["flags"].split(";") if flag in ("control", "bare")), "")


def lines_of(
    rows: list[dict[str, str]], wanted: str = "", ours: str = "candidate", other: str = "baseline"
) -> dict[Line, dict[str, dict[str, str]]]:
    """Line -> peer -> its row of compare.csv; of latencies those of DEEPER stay."""
    out: dict[Line, dict[str, dict[str, str]]] = {}
    for row in rows:
        if kind(row) == wanted:
            key = (row[name] for name in ("scenario", "scenario_params", "placement", "metric", ours))
            out.setdefault(Line(*key), {})[row[other]] = row
    deepest: dict[tuple, str] = {}
    for line in out:
        if line.metric in DEEPER:
            deepest[place_of(line)] = max(deepest.get(place_of(line), ""), line.metric)
    shown = {(*place, metric) for place, metric in deepest.items()} | {(*place, DEEPER[0]) for place in deepest}
    return {
        line: found
        for line, found in out.items()
        if line.metric not in DEEPER or (*place_of(line), line.metric) in shown or any(map(lost, found.values()))
    }


def order(line: Line) -> tuple:
    known = list(plans.SCENARIOS)
    place = known.index(line.scenario) if line.scenario in known else len(known)
    words = line.params.replace("=", ";").split(";")
    sortable = [(False, int(word)) if word.isdigit() else (True, word) for word in words]
    metrics = [metric.column for metric in plans.METRICS]
    return place, sortable, line.placement, metrics.index(line.metric) if line.metric in metrics else len(metrics)


def place_of(line: Line) -> tuple[str, str, str, str]:
    return line.scenario, line.params, line.placement, line.ours


def beside(found: dict[Line, dict[str, dict[str, str]]], line: Line, peer: str) -> str:
    """Behind a latency: what the two spend at the same point, where that differs."""
    if line.metric.startswith("cpu_ns"):
        return ""
    rows = (
        at[peer] for other, at in found.items()
        if place_of(other) == place_of(line) and other.metric.startswith("cpu_ns") and peer in at
    )
    cost = next((row for row in rows if row["verdict"] in (stats.REGRESSED, stats.IMPROVED)), None)
    return f"; processor time of {line.ours} {figure(cost)}" if cost else ""


def lost(row: dict[str, str]) -> bool:
    return row["verdict"] == stats.REGRESSED


def listed(found: dict[Line, dict[str, dict[str, str]]]) -> list[Line]:
    """The points where a peer wins first; what a latency costs stands below it."""
    beaten = {place_of(line) for line, at in found.items() if any(map(lost, at.values()))}
    return sorted(found, key=lambda line: (place_of(line) not in beaten, order(line)))


def figure(row: dict[str, str]) -> str:
    values = [float(row[name]) for name in ("ratio", "ci_lo", "ci_hi")]
    return stats.ratio_text(*values)


def cell(row: dict[str, str] | None) -> str:
    """Bold where the peer is faster, in parentheses where nothing is decided."""
    if row is None:
        return "–"
    flags = row["flags"].split(";")
    if "not_ranked" in flags:
        return NOT_RANKED
    if "control_failed" in flags:
        return CONTROL_FAILED
    if "bare" in flags:
        return figure(row)
    if lost(row):
        return f"**{figure(row)}**"
    return figure(row) if row["verdict"] == stats.IMPROVED else f"({figure(row)})"


def name_of(line: Line, many: bool) -> str:
    words = line.params.replace("=", " ").replace(";", ", ")
    known = plans.SCENARIOS[line.scenario].metrics_at(line.placement) if line.scenario in plans.SCENARIOS else ()
    found = next((m.what for m in known if m.column == line.metric), line.metric)
    metric = "" if found == plans.THROUGHPUT[0].what else found
    place = "" if line.placement == "free" else "all on one CPU"
    return " · ".join(filter(None, (line.ours if many else "", f"`{line.scenario}`", words, place, metric)))


def left_out(rows: Iterable[dict[str, str]]) -> str:
    """The greatest share of pairs that a ranked comparison of the line left out."""
    flags = [row["flags"].split(";") for row in rows if "not_ranked" not in row["flags"].split(";")]
    shares = [tuple(map(int, f.split("=")[1].split("/"))) for own in flags for f in own if f.startswith("pairs_dropped=")]
    return " · at most {} of {} pairs left out".format(*max(shares, key=lambda s: s[0] / s[1])) if shares else ""


def race(folder: Path) -> str:
    env = repo.read_json(folder / "env.json")
    try:
        rows = tables.read(folder / "compare.csv", tables.COMPARE)
        measured = tables.read(folder / "rows.csv", tables.ROWS)
    except (OSError, ValueError) as error:
        raise Fault(f"{folder.name} is no race", str(error), "scripts/apiary race leaves one", USAGE) from error
    found = lines_of(rows)
    if env is None or not found:
        raise Fault(f"{folder.name} compares nothing", "no row of compare.csv is about a peer", "", USAGE)
    peers = sorted({peer for one in found.values() for peer in one})
    many = len({line.ours for line in found}) > 1
    ordered = listed(found)
    losses = [(line, peer) for line in ordered for peer in peers if peer in found[line] and lost(found[line][peer])]
    by_peer: dict[str, list[str]] = {}
    for line, peer in losses:
        by_peer.setdefault(peer, []).append(f"{name_of(line, many)} ({figure(found[line][peer])}{beside(found, line, peer)})")
    ours = " and ".join(sorted({line.ours for line in found}))
    out = [preamble(env) + f", {env['race'].get('workers', 2)} workers unless a row says otherwise."]
    out += [f"{summary.rounds_line(env['race']).capitalize()}. {controls(rows)}"]
    out += ["Verification of the raced source: " + "; ".join(
        f"{'**NOT**: ' if s.level == verification.BAD else ''}{s.name}: {s.text}"
        for s in verification.statuses(env.get("verification"))) + "."]
    if by_peer:
        out += ["", f"**Where a peer is faster than {ours}, or spends less processor time:**", ""]
        out += [f"- {peer}: {'; '.join(places)}" for peer, places in sorted(by_peer.items())]
    else:
        out += ["", f"No peer was faster than {ours} at any of these points, or spent less."]
    out += [
        "",
        f"Time of {ours} over that of the other, with 95 % intervals: below 1, {ours} is faster, or spends less where the "
        "line is one of processor time. (A runtime that spins is quick and costs a processor: read both lines.) Bold: the "
        "other is faster, or spends less; in parentheses: undecided, or equal within the margin; “–”: the other cannot express it; “not "
        "ranked”: the injector was too late in more than half of the pairs; where it was in fewer, they are left "
        "out and counted.",
        "",
        f"| scenario | {' | '.join(peers)} |",
        "|---" * (len(peers) + 1) + "|",
    ]
    out += [f"| {name_of(line, many)}{left_out(found[line].values())} | {' | '.join(cell(found[line].get(peer)) for peer in peers)} |" for line in ordered]
    out += bare_table(rows, measured, [*sorted({line.ours for line in found}), *peers])
    absent = summary.missing(env, measured) + summary.failures(measured)
    return "\n".join(out + ([""] + [f"- {line}" for line in absent] if absent else []))


def bare_table(rows: list[dict[str, str]], measured: list[dict[str, str]], subjects: list[str]) -> list[str]:
    """Everybody over the bare control."""
    found = lines_of(rows, "bare", "baseline", "candidate")
    if not found:
        return []
    out = [
        "",
        "**How far from the bare machine.** The same work done by threads that have no scheduler, where a scenario "
        "has such a control (METHODOLOGY, “The bare control”): its median, and the time of each program over its "
        "time, in the same rounds.",
        "",
        f"| scenario | bare control | {' | '.join(subjects)} |",
        "|---" * (len(subjects) + 2) + "|",
    ]
    for line in sorted(found, key=order):
        metric = next(m for m in plans.METRICS if m.column == line.metric)
        median = human(comparing.bare_median(measured, (line.scenario, line.params, line.placement), metric))
        cells = (cell(found[line].get(name)) for name in subjects)
        out.append(f"| {name_of(line, False)} | {median} | {' | '.join(cells)} |")
    return out


def controls(rows: list[dict[str, str]]) -> str:
    """The half-widths of the A/A pairs, and what the built-in slow-down came out as."""
    halves = {
        (r["scenario"], r["scenario_params"], r["placement"], r["metric"]): 100 * float(r["aa_halfwidth"])
        for r in rows
        if r["aa_halfwidth"]
    }
    aa = [r for r in rows if r["candidate"].endswith("-aa") and "control" in r["flags"].split(";")]
    slow = [r for r in rows if r["candidate"].endswith("-slow10") and "control" in r["flags"].split(";")]
    if not halves:
        return "No A/A pair was run."
    alarms = sum(r["verdict"] in (stats.REGRESSED, stats.IMPROVED) for r in aa)
    text = (
        f"A/A: {alarms} of {len(aa)} comparisons of the program with its own copy differ; half-width of the interval "
        f"{stats.median(list(halves.values())):.1f} % in the median, {max(halves.values()):.1f} % at most."
    )
    if slow:
        seen = sum(r["verdict"] == stats.REGRESSED for r in slow)
        text += f" A built-in slow-down of 10 % was called REGRESSED at {seen} of {len(slow)} points."
    return text


# ----------------------------------------------------------------------------------------- a qualification


def qualification(folder: Path) -> tuple[str, str]:
    """The name of its marks, and what belongs between them."""
    from .verbs import qualify  # a verb that imports this file

    env = repo.read_json(folder / "env.json")
    if env is None:
        raise Fault(f"{folder.name} has no env.json", "", "scripts/apiary qualify leaves one", USAGE)
    trials = qualify.read(folder / "qualify.csv")
    ran = env.get("race", {})
    batches = max((t.batch for t in trials), default=0)
    many = "batches" if batches != 1 else "batch"
    timed = any(t.point.ops() is None for t in trials)
    length = f"blocks of {ran.get('block_ms')} ms" if timed else "each block of a fixed number of tasks"
    head = f"{preamble(env)}; {batches} {many} of {ran.get('rounds')} rounds, {length}:"
    placement = next((t.point.placement for t in trials), "free")
    name = "qualify" if placement == "free" else f"qualify {placement}"
    return name, "\n".join([head, "", *(f"- {line}" for line in qualify.lines(trials))])
