"""The sections of report.html, one function each; every one returns HTML or an empty string."""

from __future__ import annotations

from ..base import stats
from ..base.say import human
from ..verify import verification
from ..race import metrics, scenarios
from ..analysis import comparing, summary
from ..analysis.comparing import Comparison
from . import page_data, svg
from .page_data import Report
from .svg import escape

CLASS = {stats.IMPROVED: "good", stats.REGRESSED: "bad", stats.EQUIVALENT: "open", stats.INCONCLUSIVE: "open"}
WORDS = {
    stats.IMPROVED: "{c} is faster",
    stats.REGRESSED: "{b} is faster",
    stats.EQUIVALENT: "no difference beyond the margin",
    stats.INCONCLUSIVE: "undecided",
}

SPENT = WORDS | {stats.IMPROVED: "{c} spends less", stats.REGRESSED: "{b} spends less"}

MOST_BANDS = 4  # more of them hide each other


def section(heading: str, body: str, anchor: str = "") -> str:
    where = f' id="{anchor}"' if anchor else ""
    return f"<section{where}><h2>{escape(heading)}</h2>\n{body}\n</section>"



def tile(kind: str, head: str, text: str) -> str:
    return f'<div class="tile {kind}"><b>{escape(head)}</b><p>{escape(text)}</p></div>'


def table(header: list[tuple[str, str]], rows: list[tuple[str, list[str]]], sorts: bool = False) -> str:
    """header: (title, class); rows: (class, cells that are HTML already). `sorts`: by a click on a head, and every
    row is whole by itself."""
    head = "".join(f'<th class="{cls}">{escape(name)}</th>' for name, cls in header)
    body = "".join(
        f'<tr class="{cls}">'
        + "".join(f'<td class="{header[i][1]}">{cell}</td>' for i, cell in enumerate(cells))
        + "</tr>"
        for cls, cells in rows
    )
    cls = ' class="sorts"' if sorts else ""
    return f'<div class="scroll"><table{cls}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def folded(name: str, body: str, filters: bool = False) -> str:
    """What few readers need: there, but out of the way; closed, it is not printed. `filters`: its table by words."""
    box = '<input type="search" data-filter placeholder="filter rows" aria-label="filter rows">' if filters else ""
    return f"<details><summary>{escape(name)}</summary>{box}{body}</details>"


def params(text: str) -> str:
    return ", ".join(part.replace("=", " ") for part in text.split(";") if part)


def place(key: comparing.Key) -> str:
    return " · ".join(filter(None, (key[0], params(key[1]), "" if key[2] == "free" else "all on one CPU")))


# --------------------------------------------------------------------------------- the strip and who wins


def batch(report: Report) -> str:
    """The first line: whether any of it may be believed."""
    found = report.validity
    kind = {comparing.VALID: "good", comparing.INVALID: "bad"}.get(found.word, "note")
    meaning = {
        comparing.VALID: "The controls did what they must.",
        comparing.INVALID: "The controls failed: no figure below decides anything.",
    }
    n = len(found.reasons)
    weak = (found.reasons[0] if n == 1 else f"{n} controls were too coarse or failed, each at its own point") + (
        ": small differences decide nothing there."
    ) if n else ""
    words = meaning.get(found.word) or (weak if n > 1 else found.reasons[0] if n else "")
    links = ['<a href="#controls">Controls</a>'] if found.aa or found.slow10 else []
    links.append('<a href="#verification">What is proved</a>')
    return f'<p class="verdict {kind}"><b>Batch {escape(found.word)}</b> {escape(words)} {" · ".join(links)}</p>'


def strip(report: Report) -> str:
    """In tiles: controls, proofs, sanitizers, disturbance."""
    found, tiles = report.validity, []
    if found.aa:
        widest = max(one.found.half_width for one in found.aa)
        alarms = sum(one.verdict in (stats.IMPROVED, stats.REGRESSED) for one in found.aa)
        tiles.append(
            tile(
                "bad" if alarms else "good",
                "Same against same",
                f"{len(found.aa)} comparisons of a program with its own copy, {alarms} false alarms; "
                f"half-width at most {100 * widest:.1f} %",
            )
        )
    if found.slow10:
        seen = sum(map(comparing.seen, found.slow10))
        ratios = ", ".join(f"×{one.found.ratio:.2f}" for one in found.slow10)
        tiles.append(
            tile(
                "good" if seen == len(found.slow10) else "bad",
                "Built-in slow-down",
                f"{comparing.seen_text(found.slow10)} ({ratios})"
                + ("" if seen == len(found.slow10) else ": at the others a tenth would be missed"),
            )
        )
    tiles += [tile(s.level, s.name[0].upper() + s.name[1:], s.text) for s in report.statuses]
    disturbed = summary.disturbance_line(report.rows)
    tiles.append(
        tile("note" if disturbed else "good", "Other work on the machine", disturbed or "no run was disturbed")
    )
    return f'<div class="strip">{"".join(tiles)}</div>'


def split(found: list[Comparison]) -> tuple[list[Comparison], list[Comparison]]:
    """How long it takes, and what it takes."""
    return [one for one in found if not one.metric.spent], [one for one in found if one.metric.spent]


def standing(report: Report) -> str:
    """The answer in one table: against each other program, at how many comparisons ours is faster or slower, and
    from which factor to which. No average: no weights would be right for everybody."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for one in report.comparisons:
        if one.claim:
            groups.setdefault((one.pairing.candidate, one.pairing.baseline), []).append(one)
    if not groups:
        return ""

    def cell(found: list[Comparison], cls: str) -> str:
        if not found:
            return '<span class="soft">none</span>'
        ratios = sorted(one.found.ratio for one in found)
        span = f"×{stats.ratio_text(ratios[0])}" + (f" to ×{stats.ratio_text(ratios[-1])}" if len(ratios) > 1 else "")
        return f'<b class="word {cls}">{len(found)}</b> <small class="soft num">{span}</small>'

    alone = len({ours for ours, _ in groups}) == 1
    name = next(iter(groups))[0] if alone else ""
    rows = []
    for (ours, other), found in sorted(groups.items()):
        won, less = split([one for one in found if one.verdict == stats.IMPROVED])
        lost, more = split([one for one in found if one.verdict == stats.REGRESSED])
        unranked = sum("not_ranked" in one.flags for one in found)
        rest = len(found) - len(won) - len(lost) - len(less) - len(more) - unranked
        called = escape(other if alone else f"{ours} / {other}")
        counts = [cell(lost, "bad"), cell(won, "good"), cell(more, "bad"), cell(less, "good")]
        rows.append(("", [called, *counts, str(rest), str(unranked)]))
    head = [
        (f"{name} against" if alone else "", ""),
        ("slower", ""),
        ("faster", ""),
        ("spends more", ""),
        ("spends less", ""),
        ("undecided, equal", "n"),
        ("not ranked", "n"),
    ]
    void = "<b>The batch is invalid: hints, no results.</b> " if report.validity.word == comparing.INVALID else ""
    again = report.race.get("command")
    return (
        f'<div class="standing">{table(head, rows)}<p class="caption">{void}Numbers of comparisons (a latency has one '
        "for each percentile), and from which to which factor of the other’s time or processor time: ×0.50 is half of it. Not ranked: "
        "the injector was too late.</p>"
        + (f'<p class="meta">Measure it again: <code>{escape(again)}</code></p>' if again else "")
        + "</div>"
    )


def findings(report: Report) -> str:
    """What the batch says against its own subject, above everything else."""
    items = "".join(
        f'<li class="{"lost" if one.red else "open"}">'
        f'<b class="word {"bad" if one.red else "open"}">{escape(one.line)}</b></li>'
        for one in report.findings
    )
    return section("Findings", f'<ul class="wins">{items}</ul>', "findings") if items else ""


def failures(report: Report) -> str:
    bad = summary.failures(report.rows) + report.race.get("problems", []) + report.race.get("side_failures", [])
    return (
        section("What went wrong", "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in bad) + "</ul>")
        if bad
        else ""
    )


def missing(report: Report) -> str:
    """What could not be raced; no row is left out in silence."""
    found = summary.missing(report.env, report.rows)
    items = "".join(f"<li>{escape(one)}</li>" for one in found)
    return section("What has no figure", f"<ul>{items}</ul>") if found else ""


def short_ratio(one: Comparison) -> str:
    ratio, interval = stats.ratio_text(one.found.ratio, one.found.lo, one.found.hi).split(" ", 1)
    return f'<span class="num">×{ratio}</span> <small class="soft num">{interval}</small>'


def at_cost(one: Comparison, report: Report) -> str:
    """Behind a latency: what it was bought with."""
    cost = comparing.cost_beside(one, report.comparisons)
    return f", and {short_ratio(cost)} of its processor time" if cost else ""


def lost_item(one: Comparison, report: Report) -> str:
    """A peer that wins gets a line of its own."""
    return (
        f'<li class="lost"><span class="soft">{escape(place(one.key))}, {escape(one.metric.what)}:</span> '
        f"<b>{escape(one.pairing.baseline)}</b> {summary.won(one)} {escape(one.pairing.candidate)}, "
        f"which takes {short_ratio(one)} of its {'processor ' if one.metric.spent else ''}time"
        f"{at_cost(one, report)}</li>"
    )


def dearer_items(lost: list[Comparison]) -> list[str]:
    """Who spends less is gathered: one line for each point and metric."""
    groups: dict[tuple, list[Comparison]] = {}
    for one in lost:
        groups.setdefault((one.key, one.metric.what, one.pairing.candidate), []).append(one)
    return [
        f'<li class="lost"><span class="soft">{escape(place(key))}, {escape(what)}:</span> {escape(ours)} takes '
        + ", ".join(f"{short_ratio(one)} of that of <b>{escape(one.pairing.baseline)}</b>" for one in group)
        + "</li>"
        for (key, what, ours), group in groups.items()
    ]


def losses(report: Report) -> str:
    """Where ours is beaten, each by name; of what was won the matrix has everything."""
    claims = [one for one in report.comparisons if one.claim]
    if not claims:
        return section("Losses", "<p>Nothing was compared.</p>", "losses")
    void = (
        "<p><b>The batch is invalid; read these as hints.</b></p>"
        if report.validity.word == comparing.INVALID
        else ""
    )
    lost = [one for one in claims if one.verdict == stats.REGRESSED]
    if not lost:
        return section("Losses", f"{void}<p>None of {len(claims)} comparisons.</p>", "losses")
    slower, dearer = split(lost)
    parts = []
    for found, what, items in (
        (slower, "slower", [lost_item(one, report) for one in slower]),
        (dearer, "spends more", dearer_items(dearer)),
    ):
        if found:
            heading = f"{what} in {len(found)} of {len(claims)} comparisons"
            parts.append(f'<h3>{heading}</h3><ul class="wins">{"".join(items)}</ul>')
    return section("Losses", void + "".join(parts), "losses")


def costs(report: Report) -> str:
    """Latency and what it was bought with, side by side: who spins is quick and costs a processor."""
    groups: dict[comparing.Key, dict[str, dict[str, page_data.Cell]]] = {}
    for cell in page_data.cells(report):
        groups.setdefault(cell.key, {}).setdefault(cell.subject, {})[cell.metric.column] = cell
    columns = [metric.column for metric in metrics.LATENCY]

    def shown(cell: page_data.Cell | None) -> str:
        return human(cell.median) + (" <small class=soft>limited</small>" if cell.limited else "") if cell else ""

    rows = []
    for key, subjects in groups.items():
        for subject, cells in subjects.items():
            spent = next((cell for cell in cells.values() if cell.metric.spent), None)
            if spent and any(column in cells for column in columns):
                first = not rows or rows[-1][1] != key
                figures = [*(shown(cells.get(column)) for column in columns), f"<b>{shown(spent)}</b>"]
                name = escape(place(key)) if first else ""
                rows.append(("first" if first else "inner", key, [name, escape(subject), *figures]))
    if not rows:
        return ""
    head = [("point", ""), ("subject", "w"), ("p50", "n"), ("p90", "n"), ("p99", "n"), ("processor time each", "n")]
    note = (
        '<p class="caption">Medians over rounds. Processor time of the whole process for each post or timer, its service '
        "included and what the injector takes for itself not. The ratios, with intervals, are below.</p>"
    )
    return section("Latency, and what it costs", note + table(head, [(cls, cells) for cls, _, cells in rows]))


def bare(report: Report) -> str:
    """What scheduling costs: everybody over the same work done by threads that have no scheduler."""
    names = report.ours + sorted(report.peers)
    rows, last = [], None

    def shown(one: Comparison | None) -> str:
        if one is None:
            return "–"
        text = short_ratio(one).replace(" <small", "<br><small")
        return text if one.ranked else text + "<br><small>limited</small>"

    for found in comparing.against_bare(report.comparisons):
        key, metric = found[0].key, found[0].metric
        by = {one.pairing.candidate: one for one in found}
        median = human(comparing.bare_median(report.rows, key, metric))
        cells = [shown(by.get(name)) for name in names]
        name = escape(f"{place(key)}, {metric.what}")
        rows.append(("first" if key != last else "inner", [name, f"<b>{median}</b>", *cells]))
        last = key
    if not rows:
        return ""
    note = (
        '<p class="caption">The bare control: threads that know beforehand what each will do, so that nothing is '
        "queued, shared out or looked for; the same tasks, clock reads and ledger. Its median, and the time of each "
        "program over its time in the same rounds, with 95 % intervals. It is a distance, nobody wins or loses "
        "against it. It is no lower bound either: it sleeps as a runtime may, and does not balance.</p>"
    )
    head = [("scenario and metric", ""), ("bare control", "n"), *((name, "w") for name in names)]
    return section("How far from the bare machine", note + table(head, rows), "bare")


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
    return f" ({dropped} left out; injector-limited: {escape(', '.join(shares))})" if shares else ""


def forest_entry(report: Report, one: Comparison, scale: svg.LogScale) -> str:
    why_not = next((why for flag, why in UNDECIDED.items() if flag in one.flags), None)
    cls = CLASS[one.verdict] + (" unranked" if why_not else "")
    raw = [a / b for a, b in one.pairs]
    words = why_not or (SPENT if one.metric.spent else WORDS)[one.verdict].format(c=one.pairing.candidate, b=one.pairing.baseline)
    if one.control:
        met = comparing.seen(one) if one.pairing.kind == "slow10" else not comparing.differs(one)
        cls = "good" if met else "bad"
        words = {"aa": "must be 1", "slow10": "must be seen"}[one.pairing.kind]
    verified = "" if one.control else f"<br>{badge(report, one.pairing.candidate)}"
    label = f"{one.pairing.candidate} over {one.pairing.baseline}, {place(one.key)}, {one.metric.what}"
    return (
        f'<div class="who">{escape(one.pairing.candidate)} / {escape(one.pairing.baseline)}'
        f"<br><small>{escape(one.metric.what)}</small>{verified}</div>"
        + svg.forest_row(scale, one.found.ratio, one.found.lo, one.found.hi, one.margin, raw, cls, label)
        + f'<div class="what num">×{one.found.ratio:.3f} [{one.found.lo:.3f}, {one.found.hi:.3f}]'
        f'<br><span class="word {cls}">{escape(words)}</span> '
        f"<small>{one.found.n} pairs{left_out(one)}, ±{100 * one.margin:.1f} %</small></div>"
    )


def forest_of(report: Report, comparisons: list[Comparison], left: str, right: str) -> str:
    edges = [v for one in comparisons for v in (one.found.lo, one.found.hi, 1 / (1 + one.margin), 1 + one.margin)]
    scale = svg.log_scale(edges, pad=0.05)
    body = f'<div class="axis-left"></div>{svg.forest_axis(scale, left, right)}<div class="axis-right"></div>'
    for number, key in enumerate(dict.fromkeys(one.key for one in comparisons)):
        body += f'<div class="group">{escape(place(key))}</div>'
        if number:  # the head is out of sight by now
            body += f'<div class="axis-left"></div>{svg.forest_axis(scale)}<div class="axis-right"></div>'
        body += "".join(forest_entry(report, one, scale) for one in comparisons if one.key == key)
    return f'<div class="forest">{body}</div>'


def forest(report: Report) -> str:
    """Ratios with intervals and the margin band."""
    claims = [one for one in report.comparisons if one.claim]
    if not claims:
        return ""
    ours = " and ".join(report.ours)
    note = (
        '<p class="caption">Each row is a ratio of times, ours over the other. The coloured line is the 95 % '
        "interval, the dot the estimate; small dots are the paired rounds. The band is the margin: what is smaller "
        "could not have been told from none here, so where the band is wide, “no difference beyond it” says little."
        "</p>"
    )
    return section("Ratios", note + forest_of(report, claims, f"{ours} faster", "the other faster"))


def controls(report: Report) -> str:
    """The same machinery on what is known: a program and its copy, and one slowed down on purpose."""
    found = [one for one in report.comparisons if one.control]
    if not found:
        return ""
    reasons = "".join(f"<li>{escape(one)}</li>" for one in report.validity.reasons)
    return section(
        "Controls",
        '<p class="caption">The same machinery on a program and its copy, and on a program slowed down on purpose.</p>'
        + (f"<ul>{reasons}</ul>" if reasons else "")
        + forest_of(report, found, "copy faster", "copy slower"),
    )


# ------------------------------------------------------------------------------------------ medians, points


def badge(report: Report, subject: str) -> str:
    """The verification status of the source behind a number."""
    role = report.roles.get(subject)
    if role == "baseline":
        return '<span class="badge bad">not verified (other source)</span>'
    if subject not in report.own:
        return f'<span class="badge none">{"bare control" if role == "bare" else "peer"}</span>'
    level, words = verification.word(report.statuses)
    short = "verified ✓" if level == verification.GOOD else words
    return f'<a href="#verification" title="{escape(words)}" class="badge {level}">{escape(short)}</a>'


def medians(report: Report) -> str:
    rows = []
    for cell in page_data.cells(report):
        name = escape(f"{place(cell.key)}, {cell.metric.what}")
        limited = " <small class=soft>injector-limited</small>" if cell.limited else ""
        rows.append(
            (
                "",
                [
                    name,
                    escape(cell.subject),
                    f"<b>{human(cell.median)}</b>{limited}",
                    f"{human(cell.low)} – {human(cell.high)}",
                    str(cell.n),
                    badge(report, cell.subject),
                ],
            )
        )
    if not rows:
        return ""
    note = (
        '<p class="caption">Medians over rounds, each round a fresh process, with the interquartile range. '
        "Ratios of these are not the paired ratios above.</p>"
    )
    return section(
        "Medians",
        note
        + table(
            [
                ("scenario and metric", ""),
                ("subject", "w"),
                ("median", "n"),
                ("quartiles", "n"),
                ("rounds", "n"),
                ("verification", ""),
            ],
            rows,
            sorts=True,
        ),
    )


def keys(report: Report, names: list[str]) -> str:
    return (
        '<div class="keys">'
        + "".join(f'<span class="key {report.colours[n]}"><i></i>{escape(n)}</span>' for n in names)
        + "</div>"
    )


def scenario(report: Report, key: comparing.Key) -> str:
    """Raw points by round, and for latencies the percentile spectrum."""
    found = [cell for cell in page_data.cells(report) if cell.key == key]
    known = scenarios.SCENARIOS.get(key[0])
    if not found or not known:
        return ""
    metric = known.metrics_at(key[2])[0]
    series = {cell.subject: list(cell.series) for cell in found if cell.metric == metric}
    curves, bands = {}, {}
    for name in report.colours:
        rounds = report.hist.get((key[0], key[1], name)) if known.histogram else None
        if rounds and page_data.curve(page_data.merged(rounds)):
            curves[name], bands[name] = page_data.curve(page_data.merged(rounds)), page_data.spread(rounds)
    crowded = len(curves) > MOST_BANDS
    names = [name for name in report.colours if name in series or name in curves]
    raw = (
        (
            f'<div><p class="caption">{escape(metric.what)} of every process, by round</p>'
            + svg.rounds_chart(series, report.colours, f"{place(key)}: {metric.what} by round")
            + "</div>"
        )
        if series
        else ""
    )
    spectrum = (
        (
            '<div><p class="caption">percentiles over all rounds; '
            + ("" if crowded else "the band is the quartiles between rounds; ")
            + "a curve ends where fewer than 100 samples lie above</p>"
            + svg.spectrum_chart(curves, {} if crowded else bands, report.colours, f"{place(key)}: percentile spectrum")
            + "</div>"
        )
        if curves
        else ""
    )
    both = f'<div class="pair">{raw}{spectrum}</div>' if raw and spectrum else raw + spectrum
    return section(
        place(key),
        f'<p class="soft">{escape(known.what)} A poor result means: {escape(known.poor)}</p>{keys(report, names)}<figure style="margin:0">{both}</figure>',
    )


def unpaired(report: Report) -> str:
    """Micro-benchmarks and whole-process times: unpaired, so no ratios are claimed."""
    parts = []
    if report.startup:
        rows = [
            ("", [escape(r["command"]), f"{float(r['median']):.2f} ms", f"{r['min']} – {r['max']} ms", r["runs"]])
            for r in report.startup
        ]
        parts.append(
            "<h3>Whole process, start to finish</h3>"
            "<p class=caption>16,384 posts and out, by hyperfine; not interleaved</p>"
            + table([("subject", ""), ("median", "n"), ("range", "n"), ("runs", "n")], rows)
        )
    if report.micro:
        rows = [
            (
                "",
                [
                    f"<code>{escape(r['benchmark'])}</code>",
                    human(float(r["median"])),
                    f"{human(float(r['min']))} – {human(float(r['max']))}",
                    f"{100 * float(r['cv']):.1f} %",
                    r["repetitions"],
                ],
            )
            for r in report.micro
        ]
        parts.append(
            "<h3>Structures alone</h3>"
            "<p class=caption>Google Benchmark, real time for each operation; not interleaved</p>"
            + table(
                [("benchmark", ""), ("median", "n"), ("range", "n"), ("variation", "n"), ("repetitions", "n")], rows
            )
        )
    return section("Beside the race", "".join(parts)) if parts else ""
