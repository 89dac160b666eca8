"""prove.html, and proofs.html of the site: what is red, then what is proved of each structure, then all verdicts and traces."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from ..base import repo
from ..verify import checks, mutation, structures, unreached
from ..verify.engine_agreement import BOTH, by_engine, disagreements, limit, mode, report, signs
from ..verify.verdicts import KINDS, count, cut, expected, how_far, names, searches, unfinished, wrong
from ..race import shelf
from . import html

PAGE = checks.RECORD.with_suffix(".html")
SHORT = 160  # letters of a cause in a table


def row(v: dict, sign: dict[str, str]) -> list[str]:
    level = "bad" if wrong(v) else "note" if cut(v) else "good"
    return [
        v["name"], v["kind"], v.get("engine", ""), mode(v), sign.get(limit(v), ""), count(v.get("executions")),
        count(v.get("graphs") or None), f"{float(v.get('seconds') or 0):.2f}",
        html.macro("badge", {"level": level, "text": v.get("verdict", "error"), "link": False}),
        ", ".join(f"{what} {n:,}" for what, n in sorted((v.get("reach") or {}).items())),
    ]


def trace(v: dict, what: dict[str, str]) -> dict:
    return {"open": wrong(v), "name": v["name"], "engine": v.get("engine", ""), "what": what.get(v["name"], ""),
            "reason": v.get("reason") or v.get("verdict", ""), "trace": v.get("trace"), "replay": v.get("replay")}


def by_structure(verdicts: list[dict], sign: dict[str, str], weakened: dict | None) -> list[list[str]]:
    """A row for each: its properties, the bounds that they hold within, how much was searched, mutants noticed, defects caught."""
    groups: dict[str, list[dict]] = defaultdict(list)
    mutants: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for v in verdicts:
        groups["litmus tests" if v["kind"] == "litmus" else structures.of_check(v["name"])].append(v)
    for header, told in ((weakened or {}).get("headers") or {}).items():
        sums = mutants[structures.of_header(header)]
        sums[:] = (a + told[key] for a, key in zip(sums, ("killed", "explained", "mutants")))
    out = []
    for name in sorted({*groups, *(name for name, sums in mutants.items() if sums[2])}):
        found, (killed, explained, all_) = groups.get(name, []), mutants[name]
        proved, shown = ([v for v in found if (v["kind"] == "exhibit") == exhibit] for exhibit in (False, True))
        letters = ", ".join(dict.fromkeys(sign[limit(v)] for v in proved if limit(v)))
        searched = sum(v.get("graphs") or v.get("executions") or 0 for v in found)
        told = f"{killed} of {all_}" + (f", {explained} explained" if explained else "") if all_ else ""
        red, late = (names(list(filter(of, found))) for of in (wrong, unfinished))
        state = {"level": "bad" if red else "note" if late else "good", "link": False,
                 "text": f"{len(red)} red" if red else f"{len(late)} not finished" if late else "as they must be"}
        alone = "" if found else ", the other headers"
        out.append([name + alone, len(names(proved)) or "", letters, count(searched or None), told, len(names(shown)) or "", html.macro("badge", state) if found else ""])
    return out


def unreached_rows(verdicts: list[dict]) -> list[list]:
    """Where --reach asked: a row for each kind of thing that no execution of a scenario as it is came to."""
    return [[one.scenario, one.what, len(one.places) or "", html.macro("some", one.places) if one.places else "", one.would]
            for one in unreached.kinds(verdicts)]


def shipped(name: str) -> bool:
    """A structure of ours, no test of the checkers and no library of others."""
    return (repo.ROOT / "impl" / "apiary" / name.partition(",")[0].split("/")[0]).is_dir()


def told_why(verdicts: list[dict]) -> bool:
    """Whether the record has each disagreement's explanation: one that a race took along has not."""
    return any("differs" in v for v in verdicts)


def causes(verdicts: list[dict], entries: list[checks.Entry]) -> list[list[str]]:
    """Disagreements of one cause in one line, those that nobody explains first, then the most common."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in disagreements(verdicts, entries):
        groups[one.explanation, one.seen if not one.explanation else ""].append(one.name)
    order = sorted(groups.items(), key=lambda group: (bool(group[0][0]), -len(group[1]), group[0]))
    return [[why or f"UNEXPLAINED: {seen}", len(found), html.macro("some", found)] for (why, seen), found in order]


def summed(verdicts: list[dict]) -> str:
    """How many of each kind."""
    words = {"litmus": "litmus tests", "check": "checks", "exhibit": "exhibits of defects"}
    numbers = {kind: len(names([v for v in verdicts if v["kind"] == kind])) for kind in KINDS}
    engines = [engine for engine in BOTH if any(v.get("engine") == engine for v in verdicts)]
    both = sum(len(found) > 1 for found in by_engine(verdicts).values())
    told = ", ".join(f"{n:,} {words[kind]}" for kind, n in numbers.items() if n)
    return f"{told}; {both:,} of them by two engines" if len(engines) > 1 else told


def newest_record() -> tuple[dict | None, dict | None]:
    """The newest record of proofs, of those kept beside the races and that of the build; and the mutants of the same source."""
    kept = []
    for path in (repo.RESULTS / shelf.PROOFS).glob("*.json*"):
        try:
            kept.append(shelf.kept(path.with_name(path.name.removesuffix(".xz"))))
        except ValueError:
            continue
    here = repo.read_json(checks.RECORD)
    whole = [one for one in [*kept, here] if one and one.get("complete") and one.get("verdicts")]
    record = max(whole, key=lambda one: str(one.get("utc")), default=None)
    if not record:
        return None, None
    envs = (repo.read_json(path) or {} for path in repo.RESULTS.glob("*/env.json"))
    mutants = [repo.read_json(mutation.RECORD), *((one.get("verification") or {}).get("mutation") for one in envs)]
    return record, next((one for one in mutants if one and one.get("source_hash") == record.get("source_hash")), None)


def sentence(record: dict, mutants: dict | None) -> str:
    red, late = (sum(map(of, record["verdicts"])) for of in (wrong, unfinished))
    state = f"{red} are not as they must be" if red else "none is red" if late else "all are as they must be"
    short = [v for v in record["verdicts"] if cut(v) and expected(v)]
    told = f"{summed(record['verdicts'])}; {state}" + (f", {late} searches did not end within their budget" if late else "")
    told += f"; {searches(short)} stopped early, as {'its check allows' if len(short) == 1 else 'their checks allow'}" if short else ""
    sums = [sum(one[key] for one in mutants["headers"].values()) for key in ("killed", "mutants")] if mutants else [0, 0]
    return told + (f"; of {sums[1]} weakened memory orders {sums[0]} are noticed." if sums[1] else ".")


def view(verdicts: list[dict], entries: list[checks.Entry], stamp: dict, mutants: dict | None = None) -> dict:
    what, sign = {entry.name: entry.what for entry in entries}, signs(verdicts)
    caught = [v for v in verdicts if expected(v) and v["kind"] == "exhibit" and v.get("trace")]
    told = by_structure(verdicts, sign, mutants)
    bad, late = list(filter(wrong, verdicts)), list(filter(unfinished, verdicts))
    short = [v for v in verdicts if cut(v) and expected(v)]
    return {
        "stamp": {"source_hash": "", "commit": "", "utc": ""} | stamp, "summed": summed(verdicts), "red": report(verdicts, entries)[1] if entries else [],
        "structures": [one for one in told if shipped(one[0])], "apart": [one for one in told if not shipped(one[0])], "bad": [trace(v, what) for v in bad],
        "bad_rows": [[v["name"], v.get("engine", ""), v.get("verdict", "error"), (v.get("reason") or "")[:SHORT]] for v in bad],
        "late": [[v["name"], how_far(v)] for v in late], "short": [[v["name"], how_far(v)] for v in short],
        "differ": causes(verdicts, entries) if entries or told_why(verdicts) else [], "bounds": list(sign.items()),
        "unreached": unreached_rows(verdicts), "rows": [row(v, sign) for v in verdicts], "caught": [trace(v, what) for v in caught], "mutation": bool(mutants),
    }


def write(verdicts: list[dict], entries: list[checks.Entry], stamp: dict, path: Path | None = None, mutants: dict | None = None,
          pages: list[tuple[str, str]] | None = None) -> None:
    """`pages`: of the site, when this is one of them. `mutants`: of this source; none: those of the build, if they are."""
    here = mutants or repo.read_json(mutation.RECORD)
    told = view(verdicts, entries, stamp, here if here and here.get("source_hash") == stamp.get("source_hash") else None)
    repo.write_text(path or PAGE, html.render("prove.html", title="What is proved", pages=pages or [], here="proofs.html", **told))
