"""The sections of report.html: for each a view of the report, which a macro of sections.html writes; or nothing."""

from __future__ import annotations

from collections import Counter, defaultdict

from ..base import stats
from ..base.say import human, in_prose
from ..verify import verification
from ..verify.verdicts import cut, how_far, unfinished
from ..race import metrics, scenarios
from ..analysis import comparing, peer_summary, summary, verdict
from ..analysis.comparing import Comparison
from . import page_data, svg
from .html import macro, place, raw
from .page_data import Report

CLASS = {stats.IMPROVED: "good", stats.REGRESSED: "bad", stats.EQUIVALENT: "open", stats.INCONCLUSIVE: "open"}
WORDS = {
    stats.IMPROVED: "{c} is faster",
    stats.REGRESSED: "{b} is faster",
    stats.EQUIVALENT: "no difference beyond the margin",
    stats.INCONCLUSIVE: "undecided",
}
SPENT = WORDS | {stats.IMPROVED: "{c} spends less", stats.REGRESSED: "{b} spends less"}
UNDECIDED = {
    "not_ranked": "not ranked: injector-limited",
    "dropping_decides": "undecided: otherwise with the pairs that the injector spoilt",
    comparing.CONTROL_FAILED: "undecided: the A/A pair differs here",
    comparing.NO_CONTROL: "undecided: there is no A/A pair here",
}
MOST_BANDS = 4  # more of them hide each other


def grouped(named: list) -> list[str]:
    """The class of each row of a table: what it is of begins a group, or goes on with one."""
    return ["first" if one != before else "inner" for before, one in zip([None, *named], named)]


# ----------------------------------------------------------------------------------------------- who wins


def batch(report: Report) -> dict:
    """The first line: whether any of it may be believed."""
    found = report.validity
    kind = "good" if found.published else "bad" if found.word == comparing.INVALID else "note"
    text = ("No figure below decides anything. " if kind == "bad" else "") + verdict.why(found)
    tried = summary.try_line(report.race)
    return {"kind": kind, "word": found.word, "text": f"{tried}. {text}" if tried else text, "controls": bool(found.aa or found.slow10)}


def standing(report: Report) -> str:
    """The answer in one table: against each other program, at how many comparisons ours is faster or slower, and
    from which factor to which. No average: no weights would be right for everybody."""
    every = peer_summary.of(report.comparisons)
    alone, rows = len({one.ours for one in every}) == 1, []
    for one in every:
        unranked = one.time.unranked + one.spent.unranked
        cells = []
        for cls, found in (("bad", one.time.lost), ("good", one.time.won), ("bad", one.spent.lost), ("good", one.spent.won)):
            ends = sorted(each.found.ratio for each in found)
            ends = dict.fromkeys(f"×{stats.ratio_text(ratio)}" for ratio in (*ends[:1], *ends[-1:]))
            cells.append(macro("count", {"n": len(found), "cls": cls, "span": " to ".join(ends)}))
        rest = one.time.unresolved + one.spent.unresolved - unranked
        rows.append([one.other if alone else f"{one.ours} / {one.other}", *cells, rest, unranked])
    invalid = report.validity.word == comparing.INVALID
    return macro("standing", every[0].ours if alone else "", rows, invalid, report.race.get("command", "")) if rows else ""


def findings(report: Report) -> str:
    """What the batch says against its own subject, above everything else."""
    return macro("findings", report.findings)


def failures(report: Report) -> list[str]:
    return summary.failures(report.rows) + report.race.get("problems", []) + report.race.get("side_failures", [])


def lost(report: Report) -> dict | None:
    """Named in a line above the matrix: how many, to whom, and where most."""
    found = [one for one in report.claims if one.verdict == stats.REGRESSED]
    counts = Counter(one.other for one in found).most_common()
    worst = max(found, key=peer_summary.ratio, default=None)
    named = ", ".join(f"{n} to {other}" for other, n in counts)
    most = f"; most in {place(worst.key)}, {worst.metric.what}: ×{worst.found.ratio:.2f} of {worst.other}" if worst else ""
    decided = any(one.verdict in (stats.IMPROVED, stats.EQUIVALENT) for one in report.claims)
    kind = "bad" if found else "good" if decided and report.validity.word != comparing.INVALID else "note"
    more = named + most if found or decided else "nothing is decided"
    told = {"ours": peer_summary.losers(report.ours), "n": len(found), "of": len(report.claims), "more": more, "kind": kind}
    return told if report.claims else None


def losses(report: Report) -> str:
    """Where ours is beaten, each by name; of what was won the matrix has everything."""
    groups = []
    for word, spent in (("slower", False), ("spends more", True)):
        found = peer_summary.lost([one for one in report.claims if one.metric.spent == spent])
        if found:
            heading = f"{word} in {sum(map(len, found))} of {len(report.claims)} comparisons"
            groups.append((heading, [[(one, comparing.cost_beside(one, report.comparisons)) for one in point] for point in found]))
    return macro("losses", groups, len(report.claims), report.validity.word == comparing.INVALID)


def limited_cell(cell: page_data.Cell | None) -> str:
    return macro("median", cell) if cell else ""


def costs(report: Report) -> str:
    """Latency and what it was bought with, side by side: a runtime that spins is quick and costs a processor."""
    groups: dict[tuple[comparing.Key, str], dict[str, page_data.Cell]] = defaultdict(dict)
    for cell in report.cells:
        groups[cell.key, cell.subject][cell.metric.column] = cell
    columns, rows, keys = [metric.column for metric in (*metrics.LATENCY, *metrics.TAIL)], [], []
    for (key, subject), cells in groups.items():
        spent = next((cell for cell in cells.values() if cell.metric.spent), None)
        if spent and cells.keys() & set(columns):
            figures = [limited_cell(cells.get(column)) for column in columns]
            rows.append(["" if key in keys else place(key), subject, *figures, macro("bold", limited_cell(spent)),
                         f"{1e9 / spent.median:,.0f}"])
            keys.append(key)
    return macro("costs", rows, grouped(keys))


def bare(report: Report) -> str:
    """What scheduling costs: everybody over the same work without a scheduler."""
    names, rows, keys = report.ours + sorted(report.peers), [], []
    for found in comparing.against_bare(report.comparisons):
        by = {one.ours: macro("distance", one) for one in found}
        median = macro("word", "", human(comparing.bare_median(report.rows, found[0])))
        rows.append([f"{place(found[0].key)}, {found[0].metric.what}", found[0].other, median, *(by.get(name, "–") for name in names)])
        keys.append(found[0].key)
    return macro("bare", names, rows, grouped(keys))


# --------------------------------------------------------------------------------------------- the forest


def left_out(one: Comparison) -> str:
    """How many pairs the injector spoilt, and whose figures."""
    name = "injector_limited_"
    shares = [flag.removeprefix(name).replace("=", " ") for flag in one.flags if flag.startswith(name)]
    dropped = one.whole.n - one.found.n if one.whole else 0
    return f" ({dropped} left out; injector-limited: {', '.join(shares)})" if shares else ""


def forest_row(report: Report, one: Comparison, scale: svg.LogScale) -> tuple:
    """The comparison, the class and the words of its verdict, what was left out, what it could have told, the badge of its source,
    the drawing."""
    why_not = next((why for flag, why in UNDECIDED.items() if flag in one.flags), None)
    cls = CLASS[one.verdict] + (" unranked" if why_not else "")
    words = why_not or (SPENT if one.metric.spent else WORDS)[one.verdict].format(c=one.ours, b=one.other)
    if one.control:
        met = comparing.seen(one) if one.pairing.kind == "slow10" else not comparing.differs(one)
        cls, words = "good" if met else "bad", {"aa": "must be 1", "slow10": "must be seen"}[one.pairing.kind]
    label = f"{one.ours} over {one.other}, {place(one.key)}, {one.metric.what}"
    pairs = [a / b for a, b in one.pairs]
    drawn = svg.forest_row(scale, one.found.ratio, one.found.lo, one.found.hi, one.margin, pairs, cls, label)
    return one, cls, words, left_out(one), summary.tells(one), badge(report, one.ours), raw(drawn)


def forest_of(report: Report, comparisons: list[Comparison], left: str, right: str) -> list[dict]:
    """Each point on a scale of its own: what is wide at one hides the intervals of no other."""
    points = []
    for key in dict.fromkeys(one.key for one in comparisons):
        group = [one for one in comparisons if one.key == key]
        scale = svg.forest_scale([(one.found.lo, one.found.hi) for one in group])
        rows = [forest_row(report, one, scale) for one in group]
        points.append({"name": place(key), "axis": raw(svg.forest_axis(scale, left, right)), "rows": rows})
    return points


def forest(report: Report) -> str:
    """Ratios with intervals and the margin band; apart, what claims nothing and could not have told a tenth."""
    fine, coarse = ([one for one in report.claims if one.coarse is so] for so in (False, True))
    ends = f"{in_prose(report.ours)} takes less", "the other takes less"
    return macro("ratios", forest_of(report, fine, *ends), forest_of(report, coarse, *ends))


def controls(report: Report) -> str:
    """The same machinery on what is known: a program and its copy, and one slowed down on purpose."""
    found = [one for one in report.comparisons if one.control]
    disturbed = summary.disturbance_line(report.rows) or "no run was disturbed by other work on this machine"
    told = [line.strip() for line in summary.control_lines(report.validity)[1:]]
    return macro("controls", [*told, disturbed], forest_of(report, found, "copy takes less", "copy takes more"))


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
    return macro("medians", [
        [f"{place(cell.key)}, {cell.metric.what}", cell.subject, macro("bold", limited_cell(cell)),
         f"{human(cell.low)} – {human(cell.high)}", cell.n, macro("badge", badge(report, cell.subject))]
        for cell in report.cells
    ])


def keys(report: Report, names) -> str:
    """The colours of these, in the order of the report."""
    return macro("keys", [(name, colour) for name, colour in report.colours.items() if name in names])


def points(report: Report) -> str:
    """Raw values by round, and for latencies the percentile spectrum, of each point."""
    return raw("").join(point(report, key) for key in dict.fromkeys(cell.key for cell in report.cells))


def point(report: Report, key: comparing.Key) -> str:
    known, parts = scenarios.SCENARIOS[key[0]], []
    metric = known.metrics_at(key[2])[0]
    series = {cell.subject: list(cell.series) for cell in report.cells if (cell.key, cell.metric) == (key, metric)}
    curves, bands = {}, {}
    for name in report.colours:
        rounds = report.hist.get((key[0], key[1], name)) if known.histogram else None
        if rounds and (curve := page_data.curve(page_data.merged(rounds))):
            curves[name], bands[name] = curve, page_data.spread(rounds)
    if series:
        drawn = svg.rounds_chart(series, report.colours, f"{place(key)}: {metric.what} by round")
        parts.append(macro("figure", f"{metric.what} of every process, by round", raw(drawn)))
    if curves:
        crowded = len(curves) > MOST_BANDS
        drawn = svg.spectrum_chart(curves, {} if crowded else bands, report.colours, f"{place(key)}: percentile spectrum")
        band = "" if crowded else "the band is the quartiles between rounds; "
        words = f"percentiles over all rounds; {band}a curve ends where fewer than 100 samples lie above"
        parts.append(macro("figure", words, raw(drawn)))
    return macro("point", place(key), known.poor, keys(report, {*series, *curves}), parts)


# --------------------------------------------------------------------------- beside the race, and how it was run


def unpaired(report: Report) -> str:
    """Micro-benchmarks and whole-process times: unpaired, so no ratios are claimed."""
    whole = [[r["command"], f"{float(r['median']):.2f} ms", f"{r['min']} – {r['max']} ms", r["runs"]] for r in report.startup]
    alone = [
        [r["benchmark"], human(float(r["median"])), f"{human(float(r['min']))} – {human(float(r['max']))}",
         f"{100 * float(r['cv']):.1f} %", r["repetitions"]]
        for r in report.micro
    ]
    return macro("unpaired", whole, alone)


def proofs(report: Report) -> str:
    """What is proved and stressed about the source that was raced."""
    taken = report.env.get("verification") or {}
    verdicts = (taken.get("prove") or {}).get("verdicts") or []
    rows = [
        [v["name"], v["kind"], v["engine"], v["mode"], f"{v['executions']:,}" if v.get("executions") else "",
         f"{float(v['seconds'] or 0):.2f}", macro("badge", verdict_badge(v))]
        for v in verdicts
    ]
    blind = sorted({(v["engine"], v["blind"]) for v in verdicts if v.get("blind")})
    return macro("proofs", report.statuses, taken.get("prove_hash"), taken.get("stress_hash"), rows, blind)


def verdict_badge(verdict: dict) -> dict:
    level, text = "good", "caught" if verdict["kind"] == "exhibit" else verdict["verdict"]
    if unfinished(verdict):
        level, text = "note", "not finished"
    elif cut(verdict) and verdict["as_expected"]:
        level, text = "note", f"not exhausted: {how_far(verdict)}"
    elif not verdict["as_expected"]:
        level, text = "bad", f"{verdict['verdict']}, unexpected"
    return {"level": level, "text": text, "link": False}


def shown(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{k} {shown(v)}" for k, v in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(shown, value)) or "none"
    return "unreadable" if value in ("", None) else str(value)


def harness_cost(probed: dict) -> list[tuple[str, str]]:
    """What measuring adds to each task: the ledger's account, and the looks at the clock."""
    found = probed.get("harness") or {}
    alone, both, own = (found.get(name) for name in ("ledger_alone_ns", "ledger_two_threads_ns", "clock_read_ns"))
    counted = found.get("ledger_instructions")
    ledger = (
        f"{human(alone)} where one thread runs tasks, {human(both)} where two do at once, in every task of every arm and "
        f"not taken off; {f'{counted:.0f} instructions' if counted else 'instructions not counted: scripts/apiary exact'}"
        if alone and both
        else "not measured: harness_exact is not built"
    )
    return [
        ("the ledger, for each task", ledger),
        ("clock read", human(own) if own else f"{human(probed['clock_read_ns'])} at most"),
        ("clock reads of the harness", "none in the tasks of a block; in an open loop one in each task"),
    ]


def environment(report: Report) -> str:
    env, rows = report.env, []
    for name, value in (*env.get("machine", {}).items(), *env.get("toolchain", {}).items()):
        if name == "mitigations":
            value = ", ".join(k for k, v in value.items() if v != "Not affected") or "none needed"
        rows.append((name.replace("_", " "), shown(value)))
    if probed := env.get("probes"):
        late = {"a sleep of 1 ms ends late by": probed["sleep_1ms_overshoot_ns"]}
        late |= {f"wake, {name.replace('_', ' ')}": told for name, told in probed["wake_ns"].items()}
        rows += harness_cost(probed)
        rows += [(name, f"p50 {human(t['p50'])}, p99 {human(t['p99'])}" if t else "not measured") for name, t in late.items()]
    rows += [(name.replace("_", " "), env.get(name, {}).get("loadavg", "")) for name in ("load_before", "load_after")]
    arms = [[arm[name] for name in ("label", "role", "subject_version", "build_id")] for arm in report.race.get("arms", [])]
    return macro("environment", env["env_id"], rows, arms)


def commands(report: Report, points: list[comparing.Key]) -> str:
    """For each row the command that reproduces it."""
    ran = defaultdict(set)
    for row in report.rows:
        if row["row_kind"] == "measure" and row["status"] != "unsupported":
            ran[comparing.key_of(row)].add(row["subject"])
    items = []
    for key in points:
        subjects = sorted(ran[key], key=report.rank)
        named = [name for name in subjects if report.roles.get(name) != "baseline"]
        items.append({"name": place(key), "race": page_data.race_command(report, key, named),
                      "subjects": [(name, page_data.subject_command(report, key, name)) for name in subjects]})
    return macro("again", report.race.get("command", ""), report.env["run_id"], items)
