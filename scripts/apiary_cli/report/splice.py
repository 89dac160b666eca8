"""What a page of this repository shows of a result folder: the text between two marks, made by a command.

  <!-- race -->     what a race says, its verdict first, a line for each other program; the rest is in the folder's summary.md.
                    The page in the room of one that raced speaks of that one, names every loss, and has
                    the floors, which count nowhere, in a table of their own
  <!-- qualify -->  what `qualify` found, from qualify.csv and env.json; of one CPU: <!-- qualify one_cpu -->
  <!-- ablation --> what `tune --ablate` found, rule by rule, from ablation.csv and its controls in rows.csv
  <!-- six -->      the six schedulers, from the races that their pages show (six.py)
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from ..base import repo, stats
from ..base.errors import Fault, USAGE
from ..base.say import in_prose
from ..verify import verification
from ..race import raced, scenarios, tables
from ..analysis import ablation, comparing, former, metg, peer_summary, qualification, summary, verdict
from ..analysis.comparing import Comparison, Validity
from . import page_frontier, page_servers, picture
from .page_data import Report, refuse_other

WIDTH = 100  # of prose
FEW = 2  # losses that a page names, unless it is the page of a room


def between(text: str, name: str, body: str, where: str) -> str:
    """`text` with `body` between the marks of that name, which must stand there once."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if text.count(start) != 1 or text.count(end) != 1 or text.index(start) > text.index(end):
        cause = f"{start} and, after it, {end} must stand in it once"
        raise Fault(f"{where} has no place for this", cause, "nothing was written", USAGE)
    return f"{text[: text.index(start)]}{start}\n{body.rstrip()}\n{text[text.index(end) :]}"


def into(path: Path, folder: Path) -> str:
    """Splice what `folder` holds into the page `path`; returns the name of the marks. A race that its controls do not
    carry is refused."""
    drawn = None
    if (folder / "qualify.csv").exists():
        name, body = qualify(folder)
    elif (folder / "ablation.csv").exists():
        name, body = "ablation", ablated(folder)
    else:
        name, (body, drawn) = "race", race(folder, path)
    try:
        text = path.read_text()
    except OSError as error:
        raise Fault(f"{path} cannot be read", str(error.strerror), "--splice FILE is a page with marks", USAGE) from error
    repo.write_text(path, between(text, name, body, path.name))
    if drawn:
        picture.write(*drawn)
        page_frontier.draw(drawn[0])
    return name


def preamble(env: dict) -> str:
    """What was run, when, where and of which source. run_id begins with the date, as 20261121."""
    stamp, ran = env["run_id"], env.get("race", {})
    virtual = env.get("machine", {}).get("hypervisor") not in (None, "none seen")
    machine = summary.machine(env).replace(" CPUs", " virtual CPUs") if virtual else summary.machine(env)
    return f"`{ran.get('command', '')}`, {stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}, {machine}, commit {summary.commit(ran)}"


def record(folder: Path, verb: str, *others: str) -> dict:
    """env.json; refused where it, or another file that is needed, is absent."""
    env = summary.env_of(folder)
    lacking = ["env.json"] * (env is None) + [name for name in others if not tables.stored(folder / name)]
    if lacking:
        raise Fault(f"{folder.name} has no {' and no '.join(lacking)}", "", f"scripts/apiary {verb} leaves one", USAGE)
    return env


# ------------------------------------------------------------------------------------------------- a race


def race(folder: Path, page: Path) -> tuple[str, tuple[Report, list[str]]]:
    """The text; and of which report, and which of ours, its drawing is."""
    if not tables.stored(folder / "rows.csv") or not (folder / "env.json").exists():
        raise Fault(f"{folder.name} is no race", "rows.csv or env.json is absent", "scripts/apiary race leaves one", USAGE)
    refuse_other(folder)
    report = Report(folder, *summary.load(folder))
    env, rows, comparisons = report.env, report.rows, report.comparisons
    every = sorted({one.ours for one in report.claims})
    if not every:
        raise Fault(f"{folder.name} compares nothing", "no pair of subjects was raced", "", USAGE)
    refuse_unborne(folder, report.validity)
    room = page.resolve().parent.name in every
    ours = [page.resolve().parent.name] if room else every
    told = [one for one in report.claims if one.ours in ours]
    stood = peer_summary.of(told)
    beside = in_prose([name for name in every if name not in ours])
    wrong = summary.failures(rows)
    source = verification.word(verification.statuses(env.get("verification")))[1]
    parts = [
        filled(former.told(folder, ours)),
        filled(f"{batch_line(env, report.validity)} {controls(comparisons)}"),
        page_frontier.reference(report, page),
        "\n".join(picture.reference(folder, page, ours, every)),
        filled(f"Time of {in_prose(ours)} over that of each peer{beside and f' ({beside} raced, too)'}. {peer_summary.legend(stood)}"),
        "\n".join(peer_summary.table(stood)),
        lost(told, ours, room),
        *(served(report, name) for name in ours if room),
        "\n".join(apart(comparisons, ours)) if room else "",
        "\n".join(metg.table(rows)) if room else "",
        filled(f"**Wrong work:** {'; '.join(wrong).rstrip('.')}.") if wrong else "",
        filled(" ".join(filter(None, (
            f"**To repeat it:** {preamble(env)}; {summary.rounds_line(env['race'])}. Source: {source}.", raced.sentence([folder]),
            f"Every row: [results/{folder.name}]({picture.seen_from(page, folder)}/summary.md).")))),
    ]
    return "\n\n".join(filter(None, parts)), (report, ours)


def filled(text: str, begin: str = "") -> str:
    later = " " * len(begin)
    return textwrap.fill(text, WIDTH, initial_indent=begin, subsequent_indent=later, break_long_words=False, break_on_hyphens=False)


def served(report: Report, name: str) -> str:
    """The figures of a server by themselves."""
    lines = page_servers.table(report, name)
    return "\n\n".join((filled(page_servers.LEGEND.format(name=name)), "\n".join(lines))) if lines else ""


def batch_line(env: dict, found: Validity) -> str:
    """The first line of what is published: how fine it looks, and which try it is. Only what is VALID is published."""
    tried = summary.try_line(env["race"])
    return " ".join(filter(None, (verdict.why(found), tried and f"{tried}.")))


def refuse_unborne(folder: Path, found: Validity) -> None:
    """What the controls do not carry is not published, nor what has too few rounds, or a red finding."""
    if not found.published:
        raise Fault(f"{folder.name} is {found.word}, and is not published", "; ".join([*found.reasons, *found.bars][:3]),
                    "race again, with enough rounds, on a quieter machine", USAGE)


def lost(told: list[Comparison], ours: list[str], room: bool) -> str:
    """The losses by name: in a room all, elsewhere the worst."""
    found = peer_summary.losses(told)
    count = sum(one.verdict == stats.REGRESSED for one in told)
    begin = f"**Where {peer_summary.losers(ours)}:** {count} of {len(told)} comparisons"
    if not found:
        return filled(f"{begin}.")
    if room:
        return "\n".join([f"{begin}.", "", *(filled(one, "- ") for one in found)])
    return filled(f"{begin}{', the worst' if len(found) > FEW else ''}: {'; '.join(found[:FEW])}.")


def apart(comparisons: list[Comparison], ours: list[str]) -> list[str]:
    """The floors, below all that is counted."""
    table = peer_summary.floors(comparisons, ours)
    return [filled("**Floors:** the same work without a scheduler, counted nowhere above."), "", *table] if table else []


def controls(comparisons: list[Comparison]) -> str:
    """The half-widths of all A/A pairs, not only of those that judge the batch, and what was seen of the slow-downs."""
    aa = [one for one in comparisons if one.pairing.kind == "aa"]
    if not aa:
        return "No A/A pair was run."
    widths, names = [100 * one.found.half_width for one in aa], sorted({one.other for one in aa})
    text = (
        f"{in_prose(names)} beside {'its own copy' if len(names) == 1 else 'their own copies'}: {comparing.equal_text(aa)}; "
        f"half of a 95 % interval is {stats.median(widths):.1f} % in the median, {max(widths):.1f} % at most."
    )
    slow = [one for one in comparisons if one.pairing.kind == "slow10" and one.metric == scenarios.known_by(one.key[0], one.key[2])]
    judging = [one for one in comparing.gating(comparisons) if one in slow]
    of_those = f" ({sum(map(comparing.seen, judging))} of the {len(judging)} that judge the batch)" if len(judging) < len(slow) else ""
    return f"{text} A built-in slow-down of 10 % was {comparing.seen_text(slow)}{of_those}." if slow else text


# ---------------------------------------------------------------------------------------------- an ablation


def ablated(folder: Path) -> str:
    """Its verdict first, then the table, rule by rule."""
    env, rows = record(folder, "tune --ablate", "rows.csv"), tables.read(folder / "rows.csv", tables.ROWS)
    found = verdict.poorest(verdict.of_sweep(env, rows))
    refuse_unborne(folder, found)
    told = [batch_line(env, found), ablation.LEGEND]
    last = f"{preamble(env)}. {summary.rounds_line(env['race'])}. Every figure: `results/{folder.name}/ablation.csv`."
    shown = ablation.table(tables.read(folder / "ablation.csv", ablation.COLUMNS))
    return "\n\n".join([*map(filled, told), "\n".join(shown), filled(last)])


# ----------------------------------------------------------------------------------------- a qualification


def qualify(folder: Path) -> tuple[str, str]:
    """The name of its marks, and what belongs between them."""
    env, trials = record(folder, "qualify"), qualification.read(folder / "qualify.csv")
    ran, batches = env.get("race", {}), max((t.batch for t in trials), default=0)
    timed = any(t.point.ops() is None for t in trials)
    length = f"blocks of {ran.get('block_ms')} ms" if timed else "each block of a fixed number of tasks"
    head = f"{preamble(env)}; {batches} {'batch' if batches == 1 else 'batches'} of {ran.get('rounds')} rounds, {length}:"
    placement = next((t.point.placement for t in trials), "free")
    name = "qualify" if placement == "free" else f"qualify {placement}"
    return name, "\n".join([head, "", *(f"- {line}" for line in qualification.lines(trials))])
