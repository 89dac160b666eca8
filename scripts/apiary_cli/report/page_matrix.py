"""The answer before any word: points down, the other programs across, a ratio in each cell."""

from __future__ import annotations

from ..base import stats
from ..race import metrics, scenarios
from ..analysis import comparing, matrix
from ..analysis.comparing import Comparison
from .page_data import Report
from .svg import escape

# A sign beside the colour: what is read in grey, in print, and by those who do not tell red from green.
SIGNS = {
    stats.IMPROVED: ("+", "good"),
    stats.REGRESSED: ("−", "bad"),
    stats.EQUIVALENT: ("=", "open"),
    stats.INCONCLUSIVE: ("?", "open"),
}
NOT_RANKED = ("·", "open")
SHORT = {
    "lat_p50_ns": "p50",
    "lat_p90_ns": "p90",
    "lat_p99_ns": "p99",
    "cpu_ns_per_post": "processor",
    "cpu_ns_per_timer": "processor",
    "cpu_ns_per_op": "processor",
    "ns_per_op": "time",
}

KEY = (
    '<p class="caption">Time of {ours} over that of the other program, with its 95 % interval: ×0.50 is half of it. '
    '<b class="word good">+</b> faster, or spends less; <b class="word bad">−</b> slower, or spends more; '
    '<span class="word open">=</span> no difference beyond the margin; <span class="word open">?</span> these rounds cannot '
    'tell; <span class="word open">·</span> not ranked, since the injector was too late; – the other cannot express it. '
    "A small word is a further figure of the same runs that says otherwise.</p>"
)


def sign(one: Comparison) -> tuple[str, str]:
    return NOT_RANKED if "not_ranked" in one.flags else SIGNS[one.verdict]


def words(one: Comparison) -> str:
    return f"{one.metric.what}: ×{stats.ratio_text(one.found.ratio, one.found.lo, one.found.hi)}, {one.verdict}"


def cell(found: list[Comparison]) -> str:
    """The metric that the scenario is known by in full; of the others those that say otherwise, by their sign."""
    if not found:
        return '<td class="soft">–</td>'
    first, *others = found
    mark, kind = sign(first)
    ratio, interval = stats.ratio_text(first.found.ratio, first.found.lo, first.found.hi).split(" ", 1)
    further = " ".join(
        f'<span class="word {sign(one)[1]}" title="{escape(words(one))}">{SHORT.get(one.metric.column, one.metric.column)}'
        f"&nbsp;{sign(one)[0]}</span>"
        for one in others
        if sign(one)[1] != kind
    )
    return (
        f'<td class="{kind}" title="{escape(chr(10).join(map(words, found)))}"><b class="word {kind}">{mark} ×{ratio}</b> '
        f'<small class="num">{escape(interval)}</small>{f"<small class=more>{further}</small>" if further else ""}</td>'
    )


def anchor(scenario: str) -> str:
    return f"s-{scenario}"


def grouped(report: Report) -> dict[tuple[comparing.Key, str], dict[str, list[Comparison]]]:
    """(point, ours) -> the other -> its comparisons, the metric that the scenario is known by first."""
    order = {metric.column: i for i, metric in enumerate(scenarios.METRICS)}
    out: dict[tuple[comparing.Key, str], dict[str, list[Comparison]]] = {}
    for one in report.comparisons:
        if one.claim:
            out.setdefault((one.key, one.pairing.candidate), {}).setdefault(one.pairing.baseline, []).append(one)
    for (key, _), others in out.items():
        known = scenarios.known_by(key[0], key[2])
        for found in others.values():
            found.sort(key=lambda one: (one.metric != known, order.get(one.metric.column, len(order))))
    return out


def table(report: Report) -> str:
    """Nothing where nothing was compared."""
    found = grouped(report)
    if not found:
        return ""
    others = sorted({name for row in found.values() for name in row})
    ours = list(dict.fromkeys(name for _, name in found))
    head = "".join(f"<th>{escape(name)}</th>" for name in others)
    rows, last = [], None
    for key, own in sorted(found, key=lambda one: (matrix.order(matrix.Line(*one[0], "", one[1])), one[1])):
        where = ", ".join(
            filter(None, (key[1].replace("=", " ").replace(";", ", "), "" if key[2] == "free" else "one CPU"))
        )
        known = scenarios.known_by(key[0], key[2])
        name = f'<a href="#{anchor(key[0])}">{escape(key[0])}</a>' if key[0] != last else '<span class="ditto">″</span>'
        said = ", ".join(filter(None, (own if len(ours) > 1 else "", where)))
        what = known.what if known and known.what != metrics.THROUGHPUT[0].what else ""
        rows.append(
            f'<tr class="{"first" if key[0] != last else "inner"}"><th scope="row">{name} '
            f'<small>{escape(" · ".join(filter(None, (said, what))))}</small></th>'
            + "".join(cell(found[key, own].get(other, [])) for other in others)
            + "</tr>"
        )
        last = key[0]
    return (
        f'<div class="scroll"><table class="matrix"><thead><tr><th>{escape(" and ".join(ours))} against</th>{head}</tr></thead>'
        f'<tbody>{"".join(rows)}</tbody></table></div>{KEY.format(ours=escape(" and ".join(ours)))}'
    )
