"""What a page of this repository shows of a result folder: the text between two marks, made by a command.

  <!-- race -->     what a race says, in a few lines, its verdict first; the tables are in the folder's summary.md
  <!-- qualify -->  what `qualify` found, from qualify.csv and env.json; of one CPU: <!-- qualify one_cpu -->
  <!-- ablation --> what `tune --ablate` found, rule by rule, from ablation.csv and its controls in rows.csv
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from ..base import repo, stats
from ..base.errors import Fault, USAGE
from ..verify import verification
from ..race import plans, scenarios, tables
from ..analysis import ablation, comparing, findings, qualification, summary
from ..analysis.comparing import Comparison
from . import picture

TOKIO = ("tokio", "tokio-mimalloc")
WIDTH = 100  # of prose


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


def into(path: Path, folder: Path, weak: bool = False) -> str:
    """Splice what `folder` holds into the page `path`; returns the name of the marks. A race that its controls do not
    carry is refused: INVALID always, anything else short of VALID unless `weak`."""
    if (folder / "qualify.csv").exists():
        name, body = qualify(folder)
    elif (folder / "ablation.csv").exists():
        name, body = "ablation", ablated(folder, weak)
    else:
        name, body = "race", race(folder, path, weak)
    try:
        text = path.read_text()
    except OSError as error:
        remedy = "--splice FILE is a page with marks"
        raise Fault(f"{path} cannot be read", str(error.strerror), remedy, USAGE) from error
    repo.write_text(path, between(text, name, body, path.name))
    if name == "race":
        picture.write(folder)
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


def verdict(env: dict, rows: list[dict[str, str]], comparisons: list[Comparison]) -> tuple[str, list[str]]:
    """What stands first: VALID only where the controls did what they must, in enough rounds, with no red finding."""
    found = comparing.validity(comparisons)
    reasons = [one.line for one in findings.of(env, rows, comparisons) if one.red]
    done = env.get("race", {}).get("rounds_of_batches") or [env.get("race", {}).get("rounds", 0)]
    if min(done) < plans.LEAST_PUBLISHED:
        reasons.append(f"A batch has {min(done)} rounds, {plans.LEAST_PUBLISHED} are the least that is published")
    word = comparing.WEAK if reasons and found.word == comparing.VALID else found.word
    return word, reasons + list(found.reasons)


def race(folder: Path, page: Path, weak: bool = False) -> str:
    if not (folder / "rows.csv").exists() or not (folder / "env.json").exists():
        raise Fault(f"{folder.name} is no race", "rows.csv or env.json is absent", "scripts/apiary race leaves one", USAGE)
    env, rows, comparisons = summary.load(folder)
    claims = [one for one in comparisons if one.claim]
    if not claims:
        raise Fault(f"{folder.name} compares nothing", "no pair of subjects was raced", "", USAGE)
    word, reasons = verdict(env, rows, comparisons)
    refuse_unborne(folder, word, reasons, weak)
    ours = " and ".join(sorted({one.pairing.candidate for one in claims}))
    more = f", and {len(reasons) - 1} more reasons" if len(reasons) > 2 else f"; {reasons[1]}" if len(reasons) == 2 else ""
    told = [
        f"**Faster than Tokio?** {against(claims, TOKIO, ours)}",
        f"**Where {ours} loses:** {losses(claims)}",
        f"**What may be believed:** {summary.rounds_line(env['race'])}. {controls(comparisons)}",
        f"{preamble(env)}. "
        + f"Source: {verification.word(verification.statuses(env.get('verification')))[1]}. Every row: [results/{folder.name}]({picture.seen_from(page, folder)}/summary.md).",
    ]
    wrong = summary.failures(rows)
    told += [f"**Wrong work:** {'; '.join(wrong)}."] if wrong else []
    shown = "\n".join(picture.reference(folder, page))
    return "\n\n".join([filled(batch_line(word, reasons, more)), shown, *map(filled, told)])


def filled(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def batch_line(word: str, reasons: list[str], more: str = "") -> str:
    told = f"{reasons[0][0].upper()}{reasons[0][1:]}{more}." if reasons else "The controls did what they must."
    return f"**Batch: {word}.** {told}"


def refuse_unborne(folder: Path, word: str, reasons: list[str], weak: bool) -> None:
    """What the controls do not carry is not published; a WEAK batch is where that is asked for."""
    if word == comparing.INVALID or (word != comparing.VALID and not weak):
        remedy = "race again on a quieter machine" + ("" if word == comparing.INVALID else ", or --weak: the page says so first")
        raise Fault(f"{folder.name} is {word}", "; ".join(reasons[:3]), remedy, USAGE)


def span(found: list[Comparison]) -> str:
    """From which to which factor of the other's time."""
    ratios = sorted(one.found.ratio for one in found)
    texts = list(dict.fromkeys(f"×{stats.ratio_text(ratio)}" for ratio in (ratios[0], ratios[-1])))
    return " to ".join(texts)


def against(claims: list[Comparison], peers: tuple[str, ...], ours: str) -> str:
    """The answer in a sentence, for these peers together."""
    found = [one for one in claims if one.pairing.baseline in peers]
    if not found:
        return f"{' and '.join(peers)} did not race."
    cost = [one for one in found if one.metric.column.startswith("cpu_")]
    time = [one for one in found if one not in cost]
    told = [
        counted(f"In time {ours} is", time, "faster", "slower") if time else "",
        counted(f"In processor time {'it is' if time else f'{ours} is'}", cost, "cheaper", "dearer") if cost else "",
    ]
    return " ".join(filter(None, told))


def counted(begin: str, found: list[Comparison], better: str, worse: str) -> str:
    """How the comparisons of one kind came out, in a sentence."""
    won = [one for one in found if one.verdict == stats.IMPROVED]
    lost = [one for one in found if one.verdict == stats.REGRESSED]
    wins = f"{better} in {len(won)} ({span(won)})" if won else f"{better} in none"
    losses = f"{worse} in {len(lost)} ({span(lost)})" if lost else f"{worse} in none"
    return f"{begin} {wins} of {len(found)} comparisons, {losses}, undecided in {len(found) - len(won) - len(lost)}."


def losses(claims: list[Comparison]) -> str:
    """How often each peer wins, and by how much where one wins most."""
    lost: dict[str, list[Comparison]] = {}
    for one in claims:
        if one.verdict == stats.REGRESSED:
            lost.setdefault(one.pairing.baseline, []).append(one)
    if not lost:
        return "nowhere in these comparisons."
    counts = ", ".join(f"{len(found)} to {peer}" for peer, found in sorted(lost.items()))
    worst = max((one for found in lost.values() for one in found), key=lambda one: one.found.ratio)
    return (
        f"{counts}, of {len(claims)} comparisons. Most to {worst.pairing.baseline} in `{comparing.place_name(worst)}`, "
        f"{worst.metric.what}: {summary.ratio_text(worst)} of what {worst.pairing.baseline} takes"
        f"{summary.at_cost(worst, claims)}."
    )


def controls(comparisons: list[Comparison]) -> str:
    """The half-widths of all A/A pairs, not only of those that judge the batch, and what was seen of the slow-downs."""
    aa = [one for one in comparisons if one.pairing.kind == "aa"]
    if not aa:
        return "No A/A pair was run."
    widths = [100 * one.found.half_width for one in aa]
    text = (
        f"A program differs from its own copy in {sum(map(comparing.differs, aa))} of {len(aa)} comparisons; half-width "
        f"{stats.median(widths):.1f} % in the median, {max(widths):.1f} % at most."
    )
    slow = [one for one in comparisons if one.pairing.kind == "slow10"]
    slow = [one for one in slow if one.metric == scenarios.known_by(one.key[0], one.key[2])]
    seen = comparing.seen_text(slow)
    judging = [one for one in comparing.gating(comparisons) if one in slow]
    of_those = f" ({sum(map(comparing.seen, judging))} of the {len(judging)} that judge)" if len(judging) < len(slow) else ""
    return f"{text} A built-in slow-down of 10 % was {seen}{of_those}." if seen else text


# ---------------------------------------------------------------------------------------------- an ablation


def ablated(folder: Path, weak: bool = False) -> str:
    """Its verdict first, then the table, rule by rule."""
    for name in ("env.json", "rows.csv"):
        if not (folder / name).exists():
            raise Fault(f"{folder.name} has no {name}", "", "scripts/apiary tune --ablate leaves one", USAGE)
    env, rows = repo.read_json(folder / "env.json"), tables.read(folder / "rows.csv", tables.ROWS)
    found = ablation.poorest(ablation.validities(rows))
    refuse_unborne(folder, found.word, list(found.reasons), weak)
    reasons = list(found.reasons)
    more = f" ({len(reasons)} such reasons)" if len(reasons) > 1 else ""
    told = [batch_line(found.word, reasons, more), ablation.LEGEND]
    last = f"{preamble(env)}. {summary.rounds_line(env['race'])}. Every figure: `results/{folder.name}/ablation.csv`."
    shown = ablation.table(tables.read(folder / "ablation.csv", ablation.COLUMNS))
    return "\n\n".join([*map(filled, told), "\n".join(shown), filled(last)])


# ----------------------------------------------------------------------------------------- a qualification


def qualify(folder: Path) -> tuple[str, str]:
    """The name of its marks, and what belongs between them."""
    env = repo.read_json(folder / "env.json")
    if env is None:
        raise Fault(f"{folder.name} has no env.json", "", "scripts/apiary qualify leaves one", USAGE)
    trials = qualification.read(folder / "qualify.csv")
    ran = env.get("race", {})
    batches = max((t.batch for t in trials), default=0)
    many = "batches" if batches != 1 else "batch"
    timed = any(t.point.ops() is None for t in trials)
    length = f"blocks of {ran.get('block_ms')} ms" if timed else "each block of a fixed number of tasks"
    head = f"{preamble(env)}; {batches} {many} of {ran.get('rounds')} rounds, {length}:"
    placement = next((t.point.placement for t in trials), "free")
    name = "qualify" if placement == "free" else f"qualify {placement}"
    return name, "\n".join([head, "", *(f"- {line}" for line in qualification.lines(trials))])
