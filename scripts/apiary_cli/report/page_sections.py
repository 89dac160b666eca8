"""The sections of report.html: for each a view of the report, which a macro of sections.html writes; or nothing."""

from __future__ import annotations

from collections import Counter

from ..base import stats
from ..base.say import human, in_prose
from ..verify import verification
from ..race import metrics, scenarios
from ..analysis import comparing, standing as standings, summary
from ..analysis.comparing import Comparison
from . import html, page_data, svg
from .html import macro, place, section, table
from .page_data import Report

CLASS = {stats.IMPROVED: "good", stats.REGRESSED: "bad", stats.EQUIVALENT: "open", stats.INCONCLUSIVE: "open"}
WORDS = {
    stats.IMPROVED: "{c} is faster",
    stats.REGRESSED: "{b} is faster",
    stats.EQUIVALENT: "no difference beyond the margin",
    stats.INCONCLUSIVE: "undecided",
}
SPENT = WORDS | {stats.IMPROVED: "{c} spends less", stats.REGRESSED: "{b} spends less"}
MOST_BANDS = 4  # more of them hide each other
VOID = "<p><b>The batch is invalid; read these as hints.</b></p>"


def bold(text: str) -> str:
    return html.raw("<b>{}</b>").format(text)


def joined(parts) -> str:
    """Markup and text as Markup: text is escaped."""
    return html.raw("").join(parts)


# --------------------------------------------------------------------------------- the strip and who wins


def batch(report: Report) -> dict:
    """The first line: whether any of it may be believed."""
    found, n = report.validity, len(report.validity.reasons)
    many = f"{n} controls were too coarse or failed, each at its own point: small differences decide nothing there."
    meaning = {
        comparing.VALID: "The controls did what they must.",
        comparing.INVALID: "The controls failed: no figure below decides anything.",
    }
    text = meaning.get(found.word) or (many if n > 1 else found.reasons[0] if n else "")
    kind = {comparing.VALID: "good", comparing.INVALID: "bad"}.get(found.word, "note")
    tried = summary.try_line(report.race, found.word)
    return {"kind": kind, "word": found.word, "text": f"{tried}. {text}" if tried else text, "controls": bool(found.aa or found.slow10)}


def strip(report: Report) -> str:
    """In tiles: controls, proofs, sanitizers, disturbance."""
    found, tiles = report.validity, []
    if found.aa:
        widest = max(one.found.half_width for one in found.aa)
        alarms = sum(one.verdict in (stats.IMPROVED, stats.REGRESSED) for one in found.aa)
        text = (f"{len(found.aa)} comparisons of a program with its own copy, {alarms} false alarms; "
                f"half-width at most {100 * widest:.1f} %")
        tiles.append(("bad" if alarms else "good", "Same against same", text))
    if found.slow10:
        every = sum(map(comparing.seen, found.slow10)) == len(found.slow10)
        ratios = ", ".join(f"×{one.found.ratio:.2f}" for one in found.slow10)
        text = f"{comparing.seen_text(found.slow10)} ({ratios})" + ("" if every else ": at the others a tenth would be missed")
        tiles.append(("good" if every else "bad", "Built-in slow-down", text))
    tiles += [(s.level, s.name[0].upper() + s.name[1:], s.text) for s in report.statuses]
    disturbed = summary.disturbance_line(report.rows)
    tiles.append(("note" if disturbed else "good", "Other work on the machine", disturbed or "no run was disturbed"))
    return html.raw('<div class="strip">') + joined(macro("tile", *one) for one in tiles) + html.raw("</div>")


def split(found: list[Comparison]) -> tuple[list[Comparison], list[Comparison]]:
    """How long it takes, and what it takes."""
    return [one for one in found if not one.metric.spent], [one for one in found if one.metric.spent]


def standing(report: Report) -> str:
    """The answer in one table: against each other program, at how many comparisons ours is faster or slower, and
    from which factor to which. No average: no weights would be right for everybody."""
    every = standings.of(report.comparisons)
    if not every:
        return ""

    def cell(found: list[Comparison], cls: str):
        ratios = sorted(one.found.ratio for one in found)
        ends = [f"×{stats.ratio_text(ratio)}" for ratio in ratios]
        span = " to ".join(dict.fromkeys((ends[0], ends[-1]))) if len(ends) > 1 else "".join(ends)
        return macro("count", {"n": len(found), "cls": cls, "span": span})

    alone, rows, name = len({one.ours for one in every}) == 1, [], every[0].ours
    for one in every:
        unranked = one.time.unranked + one.spent.unranked
        counts = [cell(one.time.lost, "bad"), cell(one.time.won, "good"), cell(one.spent.lost, "bad"), cell(one.spent.won, "good")]
        rest = one.time.unresolved + one.spent.unresolved - unranked
        rows.append(("", [one.other if alone else f"{one.ours} / {one.other}", *counts, rest, unranked]))
    head = [(f"{name} against" if alone else "", ""), ("slower", ""), ("faster", ""), ("spends more", ""), ("spends less", ""),
            ("undecided, equal", "n"), ("not ranked", "n")]
    void = "The batch is invalid: hints, no results. " if report.validity.word == comparing.INVALID else ""
    note = void + ("Numbers of comparisons (a latency has one for each percentile), and from which to which factor of the other’s "
                   "time or processor time: ×0.50 is half of it. Not ranked: the injector was too late.")
    again = html.raw('<p class="meta">Measure it again: <code>{}</code></p>').format(report.race.get("command", ""))
    return html.raw('<div class="standing">{}</div>').format(joined((table(head, rows), html.caption(note), again)))


def findings(report: Report) -> str:
    """What the batch says against its own subject, above everything else."""
    return macro("findings", report.findings)


def failures(report: Report) -> list[str]:
    return summary.failures(report.rows) + report.race.get("problems", []) + report.race.get("side_failures", [])


def ratio_of(one: Comparison) -> dict:
    ratio, interval = stats.ratio_text(one.found.ratio, one.found.lo, one.found.hi).split(" ", 1)
    return {"ratio": ratio, "interval": interval}


def loss_item(found: list[Comparison], report: Report) -> dict:
    """A line for each point and metric, with what a latency was bought with."""
    others = []
    for one in found:
        cost = comparing.cost_beside(one, report.comparisons)
        others.append(ratio_of(one) | {"other": one.pairing.baseline, "cost": ratio_of(cost) if cost else None})
    return {"where": f"{place(found[0].key)}, {found[0].metric.what}", "ours": found[0].pairing.candidate, "others": others}


def lost(report: Report) -> dict | None:
    """Named in a line above the matrix: how many, to whom, and where most."""
    claims = [one for one in report.comparisons if one.claim]
    found = [one for one in claims if one.verdict == stats.REGRESSED]
    counts = Counter(one.pairing.baseline for one in found).most_common()
    worst = max(found, key=lambda one: one.found.ratio, default=None)
    named = ", ".join(f"{n} to {other}" for other, n in counts)
    most = f"; most in {place(worst.key)}, {worst.metric.what}: ×{worst.found.ratio:.2f} of {worst.pairing.baseline}" if worst else ""
    return {"ours": standings.losers(report.ours), "n": len(found), "of": len(claims), "to": named + most} if claims else None


def losses(report: Report) -> str:
    """Where ours is beaten, each by name; of what was won the matrix has everything."""
    claims = [one for one in report.comparisons if one.claim]
    if not claims:
        return section("Losses", "<p>Nothing was compared.</p>", "losses")
    void = html.raw(VOID if report.validity.word == comparing.INVALID else "")
    groups = []
    for word, found in zip(("slower", "spends more"), map(standings.lost, split(claims))):
        if found:
            heading = f"{word} in {sum(map(len, found))} of {len(claims)} comparisons"
            groups.append((heading, [loss_item(one, report) for one in found]))
    body = macro("losses", groups) if groups else html.raw(f"<p>None of {len(claims)} comparisons.</p>")
    return section("Losses", void + body, "losses")


def costs(report: Report) -> str:
    """Latency and what it was bought with, side by side: who spins is quick and costs a processor."""
    groups: dict[comparing.Key, dict[str, dict[str, page_data.Cell]]] = {}
    for cell in page_data.cells(report):
        groups.setdefault(cell.key, {}).setdefault(cell.subject, {})[cell.metric.column] = cell
    columns, rows, last = [metric.column for metric in metrics.LATENCY], [], None
    for key, subjects in groups.items():
        for subject, cells in subjects.items():
            spent = next((cell for cell in cells.values() if cell.metric.spent), None)
            if spent and any(column in cells for column in columns):
                figures = [limited_cell(cells.get(column)) for column in columns]
                first, last = key != last, key
                rows.append(("first" if first else "inner", [place(key) if first else "", subject, *figures, bold(limited_cell(spent))]))
    if not rows:
        return ""
    head = [("point", ""), ("subject", "w"), ("p50", "n"), ("p90", "n"), ("p99", "n"), ("processor time each", "n")]
    note = ("Medians over rounds. Processor time of the whole process for each post or timer, its service included and what the "
            "injector takes for itself not. The ratios, with intervals, are above.")
    return section("Latency, and what it costs", html.caption(note) + table(head, rows))


def limited_cell(cell: page_data.Cell | None) -> str:
    return joined((human(cell.median), macro("small", " limited") if cell.limited else "")) if cell else ""


def bare(report: Report) -> str:
    """What scheduling costs: everybody over the same work without a scheduler."""
    names, rows, last = report.ours + sorted(report.peers), [], None
    for found in comparing.against_bare(report.comparisons):
        key, metric, floor = found[0].key, found[0].metric, found[0].pairing.baseline
        by = {one.pairing.candidate: one for one in found}
        cells = [joined((macro("ratio", ratio_of(by[n])), "" if by[n].ranked else " limited")) if n in by else "–" for n in names]
        median = macro("word", "", human(comparing.bare_median(report.rows, found[0])))
        rows.append(("first" if key != last else "inner", [f"{place(key)}, {metric.what}", floor, median, *cells]))
        last = key
    if not rows:
        return ""
    note = ("A floor is the same work without a scheduler: threads that know beforehand what each will do (machine), or recursion "
            "whose branches are calls (machine_calls); the same tasks, clock reads and ledger. Its median, and the time of each "
            "program over its time in the same rounds, with 95 % intervals. It is a distance, nobody wins or loses against it. It "
            "is no lower bound either: it sleeps as a runtime may, and does not balance.")
    head = [("scenario and metric", ""), ("floor", "w"), ("its median", "n"), *((name, "") for name in names)]
    return section("How far from the bare machine", html.caption(note) + table(head, rows))


# --------------------------------------------------------------------------------------------- the forest


UNDECIDED = {
    "not_ranked": "not ranked: injector-limited",
    "dropping_decides": "undecided: otherwise with the pairs that the injector spoilt",
    "control_failed": "undecided: the A/A pair differs here",
}


def left_out(one: Comparison) -> str:
    """How many pairs the injector spoilt, and whose figures."""
    name = "injector_limited_"
    shares = [flag.removeprefix(name).replace("=", " ") for flag in one.flags if flag.startswith(name)]
    dropped = one.whole.n - one.found.n if one.whole else 0
    return f" ({dropped} left out; injector-limited: {', '.join(shares)})" if shares else ""


def forest_row(report: Report, one: Comparison, scale: svg.LogScale) -> dict:
    why_not = next((why for flag, why in UNDECIDED.items() if flag in one.flags), None)
    cls = CLASS[one.verdict] + (" unranked" if why_not else "")
    words = why_not or (SPENT if one.metric.spent else WORDS)[one.verdict].format(c=one.pairing.candidate, b=one.pairing.baseline)
    if one.control:
        met = comparing.seen(one) if one.pairing.kind == "slow10" else not comparing.differs(one)
        cls, words = "good" if met else "bad", {"aa": "must be 1", "slow10": "must be seen"}[one.pairing.kind]
    label = f"{one.pairing.candidate} over {one.pairing.baseline}, {place(one.key)}, {one.metric.what}"
    found, pairs = one.found, [a / b for a, b in one.pairs]
    return {
        "ours": one.pairing.candidate, "other": one.pairing.baseline, "what": one.metric.what, "cls": cls, "words": words,
        "badge": None if one.control else badge(report, one.pairing.candidate), "pairs": found.n, "left_out": left_out(one),
        "ratio": f"{found.ratio:.3f}", "interval": f"[{found.lo:.3f}, {found.hi:.3f}]", "margin": f"{100 * one.margin:.1f}",
        "drawn": html.raw(svg.forest_row(scale, found.ratio, found.lo, found.hi, one.margin, pairs, cls, label)),
    }


def forest_of(report: Report, comparisons: list[Comparison], left: str, right: str) -> str:
    """Each point on a scale of its own: what is wide at one hides the intervals of no other."""
    points = []
    for key in dict.fromkeys(one.key for one in comparisons):
        group = [one for one in comparisons if one.key == key]
        scale = svg.forest_scale([(one.found.lo, one.found.hi) for one in group])
        rows = [forest_row(report, one, scale) for one in group]
        points.append({"name": place(key), "axis": html.raw(svg.forest_axis(scale, left, right)), "rows": rows})
    return macro("forest", points)


def forest(report: Report) -> str:
    """Ratios with intervals and the margin band."""
    claims = [one for one in report.comparisons if one.claim]
    if not claims:
        return ""
    note = ("Each row is a ratio of times, ours over the other. The coloured line is the 95 % interval, the dot the estimate; an "
            "arrow says that it goes on beyond the scale; small dots are the paired rounds. The band is the margin: what is smaller "
            "could not have been told from none here, so where the band is wide, “no difference beyond it” says little.")
    ours = in_prose(report.ours)
    return section("Ratios", html.caption(note) + forest_of(report, claims, f"{ours} faster", "the other faster"))


def controls(report: Report) -> str:
    """The same machinery on what is known: a program and its copy, and one slowed down on purpose."""
    found = [one for one in report.comparisons if one.control]
    if not found:
        return ""
    note = html.caption("The same machinery on a program and its copy, and on a program slowed down on purpose.")
    reasons = macro("bullets", report.validity.reasons) if report.validity.reasons else ""
    return section("Controls", joined((note, reasons, forest_of(report, found, "copy faster", "copy slower"))))


# ------------------------------------------------------------------------------------------ medians, points


def badge(report: Report, subject: str) -> dict:
    """The verification status of the source behind a number."""
    role = report.roles.get(subject)
    if role == "baseline":
        return {"level": "bad", "text": "not verified (other source)", "link": False}
    if subject not in report.own:
        return {"level": "none", "text": "floor" if role == "bare" else "peer", "link": False}
    level, words = verification.word(report.statuses)
    return {"level": level, "text": "verified ✓" if level == verification.GOOD else words, "title": words, "link": True}


def medians(report: Report) -> str:
    rows = [
        ("", [f"{place(cell.key)}, {cell.metric.what}", cell.subject, bold(limited_cell(cell)), f"{human(cell.low)} – {human(cell.high)}",
              cell.n, macro("badge", badge(report, cell.subject))])
        for cell in page_data.cells(report)
    ]
    if not rows:
        return ""
    note = ("Medians over rounds, each round a fresh process, with the interquartile range. Ratios of these are not the paired "
            "ratios above.")
    head = [("scenario and metric", ""), ("subject", "w"), ("median", "n"), ("quartiles", "n"), ("rounds", "n"), ("verification", "")]
    return section("Medians", html.caption(note) + html.folded(f"all {len(rows)} medians", table(head, rows, sorts=True), filters=True))


def keys(report: Report, names: list[str]) -> str:
    return macro("keys", [(name, report.colours[name]) for name in names])


def points(report: Report) -> str:
    """Raw values by round, and for latencies the percentile spectrum, of each point."""
    return "".join(point(report, key) for key in dict.fromkeys(cell.key for cell in page_data.cells(report)))


def point(report: Report, key: comparing.Key) -> str:
    known = scenarios.SCENARIOS.get(key[0])
    if not known:
        return ""
    metric, parts = known.metrics_at(key[2])[0], []
    series = {cell.subject: list(cell.series) for cell in page_data.cells(report) if (cell.key, cell.metric) == (key, metric)}
    curves, bands = {}, {}
    for name in report.colours:
        rounds = report.hist.get((key[0], key[1], name)) if known.histogram else None
        if rounds and (curve := page_data.curve(page_data.merged(rounds))):
            curves[name], bands[name] = curve, page_data.spread(rounds)
    if series:
        drawn = svg.rounds_chart(series, report.colours, f"{place(key)}: {metric.what} by round")
        parts.append(macro("figure", f"{metric.what} of every process, by round", html.raw(drawn)))
    if curves:
        crowded = len(curves) > MOST_BANDS
        drawn = svg.spectrum_chart(curves, {} if crowded else bands, report.colours, f"{place(key)}: percentile spectrum")
        band = "" if crowded else "the band is the quartiles between rounds; "
        words = f"percentiles over all rounds; {band}a curve ends where fewer than 100 samples lie above"
        parts.append(macro("figure", words, html.raw(drawn)))
    names = [name for name in report.colours if name in series or name in curves]
    poor = html.raw('<p class="soft">A poor result means: {}</p>').format(known.poor)
    return section(place(key), joined((poor, keys(report, names), macro("pair", parts)))) if parts else ""


def unpaired(report: Report) -> str:
    """Micro-benchmarks and whole-process times: unpaired, so no ratios are claimed."""
    parts = []
    if report.startup:
        rows = [
            ("", [r["command"], f"{float(r['median']):.2f} ms", f"{r['min']} – {r['max']} ms", r["runs"]]) for r in report.startup
        ]
        parts += [html.raw("<h3>Whole process, start to finish</h3>"),
                  html.caption("16,384 posts and out, by hyperfine; not interleaved"),
                  table([("subject", ""), ("median", "n"), ("range", "n"), ("runs", "n")], rows)]
    if report.micro:
        rows = [
            ("", [r["benchmark"], human(float(r["median"])), f"{human(float(r['min']))} – {human(float(r['max']))}",
                  f"{100 * float(r['cv']):.1f} %", r["repetitions"]])
            for r in report.micro
        ]
        parts += [html.raw("<h3>Structures alone</h3>"),
                  html.caption("Google Benchmark, real time for each operation; not interleaved"),
                  table([("benchmark", ""), ("median", "n"), ("range", "n"), ("variation", "n"), ("repetitions", "n")], rows)]
    return section("Beside the race", joined(parts)) if parts else ""
