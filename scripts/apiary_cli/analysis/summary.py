"""What a race says, in sentences: which runtime wins where, what may be believed of it; and a result folder, read back."""

from __future__ import annotations

import lzma
from collections import defaultdict
from pathlib import Path
from typing import Callable

from ..base import repo, stats
from ..base.errors import Fault, USAGE
from ..base.say import duration, human, in_prose, markdown
from ..race import ledger, shelf, tables
from . import comparing
from .comparing import Comparison, Validity

SCHEMA = 1  # of env.json


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def objects_of(*needed: str) -> Callable[[object], bool]:
    """A list of objects that have these keys."""
    return lambda value: isinstance(value, list) and all(
        isinstance(one, dict) and all(key in one for key in needed) for one in value)


def strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


# What a race has in env.json, where it has it: older folders lack some.
KINDS: dict[str, Callable[[object], bool]] = {
    "rounds": is_number,
    "rounds_planned": is_number,
    "rounds_of_batches": lambda value: isinstance(value, list) and all(map(is_number, value)),
    "limit_s": lambda value: value is None or is_number(value),
    "block_ms": is_number,
    "arms": objects_of("label"),
    "audits": objects_of("subject", "scenario", "found", "proved"),
    "expected_findings": objects_of("scenario", "scenario_params", "placement", "subject", "finding", "reason"),
    "absent": strings,
    "earlier": strings,
    "problems": strings,
    "side_failures": strings,
}


def env_of(folder: Path) -> dict | None:
    """env.json with its proofs; None where there is none. A Fault where its proof record is gone."""
    try:
        return shelf.env_of(folder)
    except ValueError as error:
        raise torn(folder, str(error)) from error


def load(folder: Path) -> tuple[dict, list[dict[str, str]], list[Comparison]]:
    """env.json, rows, and the comparisons computed from the rows. What is not whole is refused."""
    env = env_of(folder)
    if env is None:
        raise torn(folder, "env.json is absent, or no JSON object")
    lacking = [key for key, kind in (("run_id", str), ("env_id", str), ("race", dict)) if not isinstance(env.get(key), kind)]
    if lacking:
        raise torn(folder, f"env.json has no {', '.join(lacking)} of the right kind")
    odd = [key for key, kind in KINDS.items() if key in env["race"] and not kind(env["race"][key])]
    odd += [key for key in ("machine", "toolchain") if not isinstance(env.get(key, {}), dict)]
    if odd:
        raise torn(folder, f"in env.json {', '.join(odd)} is of another kind than a race writes")
    if env.get("schema_version", SCHEMA) != SCHEMA:
        raise torn(folder, f"env.json has schema_version {env['schema_version']!r}; this command reads {SCHEMA}")
    try:
        rows = tables.read(folder / "rows.csv", tables.ROWS)
        if wrong := (next(filter(None, map(strange, rows)), "") or twice(rows)):
            raise torn(folder, f"rows.csv: {wrong}")
        return env, rows, comparing.compare(rows)
    except (OSError, EOFError, ValueError, KeyError, lzma.LZMAError) as error:
        raise torn(folder, f"{type(error).__name__}: {error}") from error


STATUSES = {"ok", "unsupported", "disturbed", *comparing.FAILED}
ROLES = {"candidate", "baseline", "peer", "bare", "aa", "slow5", "slow10"}
FIGURES = [name for name in tables.SUBJECT if name.endswith("_ns") or name in ("ns_per_op", "ops", "lat_count")]


def strange(row: dict[str, str]) -> str:
    """What no race writes, or an empty string."""
    if row["status"] not in STATUSES or row["role"] not in ROLES:
        return f"{row['subject']} has the status {row['status']!r} and the role {row['role']!r}"
    if row["status"] != "ok":
        return ""
    for column in FIGURES:
        if row[column] and not 0 <= float(row[column]) < float("inf"):
            return f"{column} of {row['subject']} in {row['scenario']} is {row[column]!r}"
    return "" if int(row["round"]) > 0 and int(row["batch"]) > 0 else f"it has the round {row['round']} of batch {row['batch']}"


def twice(rows: list[dict[str, str]]) -> str:
    """A figure that stands there twice, or an empty string."""
    seen: set[tuple[str, ...]] = set()
    for row in comparing.good(rows):
        one = (row["batch"], row["round"], *comparing.key_of(row), row["subject"])
        if one in seen:
            return f"{row['subject']} in {row['scenario']} has two figures of round {row['round']}"
        seen.add(one)
    return ""


def torn(folder: Path, cause: str) -> Fault:
    remedy = "take another (a race leaves its folder whole or not at all; git checkout brings back a committed one)"
    return Fault(f"{folder} is no whole result folder of a race", cause, remedy, USAGE)


def ratio_text(one: Comparison) -> str:
    return f"×{one.found.ratio:.3f} [{one.found.lo:.3f}, {one.found.hi:.3f}]"


def at_cost(one: Comparison, comparisons: list[Comparison]) -> str:
    """Behind a latency: what it was bought with."""
    cost = comparing.cost_beside(one, comparisons)
    return f"; processor time of {cost.ours} ×{cost.found.ratio:.2f}" if cost else ""


def bare_lines(rows: list[dict[str, str]], comparisons: list[Comparison]) -> list[str]:
    """How far everybody stands from the same work without a scheduler."""
    out = []
    for one, *rest in comparing.against_bare(comparisons):
        ratios = ", ".join(f"{each.ours} {ratio_text(each)}" for each in (one, *rest))
        median = human(comparing.bare_median(rows, one))
        out.append(f"{comparing.place_name(one)}, {one.metric.what}, over the floor {one.other} ({median}): {ratios}")
    return out


def control_lines(found: Validity) -> list[str]:
    lines = [f"Batch: {found.word}", *(f"  {reason}" for reason in found.reasons)]
    lines += [f"  not for publication: {bar}" for bar in found.bars]
    lines += [f"  {found.tells}"] if found.tells else []
    if found.aa:
        widest = max(found.aa, key=lambda one: one.found.half_width)
        where = f"{comparing.place_name(widest)}, {widest.metric.what}"
        lines.append(f"  A/A pairs: {comparing.equal_text(found.aa)}; half-width at most {100 * widest.found.half_width:.1f} % ({where})")
    lines += [f"  built-in slow-down {comparing.seen_text(found.slow10)}"] if found.slow10 else []
    return lines + [f"  built-in slow-down came out as {ratio_text(one)} in {comparing.place_name(one)}" for one in found.slow10]


def failures(rows: list[dict[str, str]]) -> list[str]:
    out = []
    for failed, count in sorted(comparing.incorrect(rows).items()):
        one = next(row for row in rows if (row["subject"], row["status"]) == failed)
        out.append(f"{failed[0]}: {count} × {failed[1]}, e.g. {one['scenario']} {one['scenario_params']}: {one['error']}")
    return out


def disturbance_line(rows: list[dict[str, str]]) -> str:
    disturbed = sum("disturbed" in tables.flags_of(row) or row["status"] == "disturbed" for row in rows)
    told = f"{disturbed} of {len(rows)} runs stand in rounds that other work on this machine disturbed"
    return told if disturbed else ""


def trust_lines(race: dict) -> list[str]:
    """Whether the subjects' word was taken, or what asking them from outside found."""
    if race.get("believed", True):
        return ["the subjects' figures are their own word: no audit (bench/contract/TRUST.md)"] if "believed" in race else []
    told = race.get("audits", [])
    found = [one for one in told if one["found"]]
    open_ones = sum(not one["proved"] for one in told)
    line = f"audits of the subjects' figures: {len(told)}, {len(found)} with findings"
    line += f", {open_ones} could not be held" if open_ones else ""
    return [f"{line} (bench/contract/TRUST.md)", *(f"{one['subject']}, {one['scenario']}: {one['found']}" for one in found)]


def try_line(race: dict) -> str:
    """Which try of this batch it is, by the folders that were there (race/folder.py: earlier). Of a first one there is nothing to
    say, and an older folder has no record."""
    before = race.get("earlier") or []
    return f"Try {len(before) + 1} of this plan on this source, after {', '.join(before)}" if before else ""


def machine(env: dict) -> str:
    found = env.get("machine", {})
    return f"{found.get('cpu', 'unknown CPU')}, {found.get('cpus', '?')} CPUs"


def commit(race: dict) -> str:
    return str(race.get("commit", "none"))[:12] + (" with uncommitted changes" if race.get("dirty") else "")


def workers_line(rows: list[dict[str, str]]) -> str:
    """Of all points: each may have a number of its own."""
    numbers = sorted({int(row["workers"]) for row in rows if row["workers"].isdigit()})
    return f"{in_prose([str(number) for number in numbers])} workers"


def rounds_line(race: dict) -> str:
    """How many rounds there were, and why not as many as planned."""
    done, planned = race.get("rounds_of_batches") or [race.get("rounds") or 0], race.get("rounds_planned") or 0
    whole = [min(number, planned) if race.get("most_rounds") else number for number in done]
    text = f"rounds: {' and '.join(map(str, whole))}" + (" (a batch each)" if len(done) > 1 else "")
    if max(done, default=0) > max(whole, default=0):
        text += f", up to {max(done)} where a copy's pair could not tell {100 * stats.COARSE:.0f} %"
    if min(done, default=0) < planned and race.get("limit_s"):
        text += f" of {planned} planned for each batch, because none beyond the least begins after {duration(race['limit_s'])}"
    return text + f"; blocks of {race['block_ms']} ms" if "block_ms" in race else text


def missing(env: dict, rows: list[dict[str, str]]) -> list[str]:
    """What has no figure and why: a subject that cannot express a point, or that was not built. Nothing is left out
    in silence. (The floors have what they have, and runtimes have no scenario `floor_…`.)"""
    absent, points, cannot = env.get("race", {}).get("absent", []), defaultdict(set), defaultdict(lambda: defaultdict(set))
    for row in rows:
        floor, point = row["role"] == "bare" or row["scenario"].startswith("floor_"), (row["scenario_params"], row["placement"])
        points[row["scenario"]].add(point)
        if row["status"] == "unsupported" and row["row_kind"] == "measure" and not floor:
            cannot[row["subject"]][row["scenario"]].add(point)

    def told(scenario: str, some: set[tuple[str, str]]) -> str:
        whole = len(points[scenario])
        return scenario if len(some) == whole else f"{scenario} (at {len(some)} of {whole} points)"

    return [
        *([f"not raced, because not built: {', '.join(absent)}"] if absent else []),
        *(f"{name} cannot express: {', '.join(told(*one) for one in sorted(found.items()))}" for name, found in sorted(cannot.items())),
    ]


def unverified_line(rows: list[dict[str, str]]) -> str:
    found = ledger.unverified(rows)
    return f"checks too long to compute here: {found} of {len(rows)} rows, held to other subjects' alone" if found else ""


def tells(one: Comparison) -> str:
    """The least difference that this comparison could have told."""
    if one.resolution is None:
        return "nothing"
    if one.resolution >= 1:
        return f"×{1 + one.resolution:.1f}"
    return f"{100 * one.resolution:.{int(one.resolution < 0.0995)}f} %"


def comparison_table(comparisons: list[Comparison]) -> list[str]:
    """Point by point; apart, what claims nothing and could not have told a tenth."""
    def table(rows: list[Comparison]) -> list[str]:
        return markdown(["scenario", "metric", "candidate / baseline", "ratio [95 %]", "pairs", "tells:n", "verdict"], (
            [comparing.place_name(one), one.metric.what, f"{one.ours} / {one.other}", ratio_text(one), one.found.n,
             tells(one), one.verdict + (f" ({', '.join(one.flags)})" if one.flags else "")]
            for one in rows
        ))
    coarse = [one for one in comparisons if one.coarse]
    apart = ["", f"**Cannot tell {100 * stats.COARSE:.0f} %**, and claims nothing:", "", *table(coarse)] if coarse else []
    return [*table([one for one in comparisons if not one.coarse]), *apart]
