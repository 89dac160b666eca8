"""Mutation: each atomic site weakened by each legal step, and what the checks say to it."""

from __future__ import annotations

import csv
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import checks, proc, repo
from .errors import Fault, USAGE
from .say import Progress

SURVIVORS = repo.ROOT / "model_check" / "survivors.csv"
SURVIVOR_COLUMNS = ["file", "code", "operation", "mutant", "reason"]
TABLE = repo.BUILD / "model" / "mutation.csv"
TABLE_COLUMNS = [
    "schema_version", "file", "line", "column", "operation", "order", "mutant", "verdict", "killed_by", "engine",
    "executions", "seconds", "reason",
]

# One legal step weaker at a time, down to relaxed.
LOAD = {"seq_cst": ("acquire",), "acquire": ("relaxed",)}
STORE = {"seq_cst": ("release",), "release": ("relaxed",)}
READ_MODIFY_WRITE = {
    "seq_cst": ("acq_rel",), "acq_rel": ("acquire", "release"), "acquire": ("relaxed",), "release": ("relaxed",),
}
FENCE = {"seq_cst": ("acq_rel",), "acq_rel": ("acquire", "release"), "acquire": ("dropped",), "release": ("dropped",)}


@dataclass(frozen=True)
class Site:
    """An atomic operation in a header, as the engines name it."""

    file: str
    line: int
    column: int
    operation: str
    order: str

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}:{self.column}:{self.operation}"

    def code(self) -> str:
        """The source line: it names a site for the reviewed survivors, whatever moves above it."""
        lines = (repo.ROOT / self.file).read_text().splitlines()
        return " ".join(lines[self.line - 1].split("//")[0].split())


@dataclass
class Result:
    site: Site
    mutant: str
    verdict: str            # killed, survived, error
    killed_by: str = ""
    engine: str = ""
    executions: int | None = None
    seconds: float = 0.0
    reason: str = ""

    def key(self) -> tuple[str, str, str, str]:
        return self.site.file, self.site.code(), self.site.operation, self.mutant


def parse_site(name: str, order: str) -> Site:
    file, line, column, operation = name.rsplit(":", 3)
    return Site(file, int(line), int(column), operation, order)


def ladder(operation: str) -> dict[str, tuple[str, ...]]:
    if operation == "fence":
        return FENCE
    if operation == "load" or operation.endswith(".failure"):
        return LOAD
    return STORE if operation == "store" else READ_MODIFY_WRITE


def mutants(site: Site) -> list[str]:
    """Every weaker order that steps of the ladder lead to, each once, mildest first."""
    steps, found, front = ladder(site.operation), [], [site.order]
    while front:
        front = [weaker for order in front for weaker in steps.get(order, ()) if weaker not in found]
        found += [order for order in dict.fromkeys(front)]
    return list(dict.fromkeys(found))


def baseline(entries: list[checks.Entry], options: checks.Options) -> dict[Site, list[checks.Entry]]:
    """Which checks execute which site, found by running them once; they must pass."""
    verdicts = checks.run_entries(entries, options, "unmutated")
    by_name = {entry.name: entry for entry in entries}
    reached: dict[Site, list[checks.Entry]] = {}
    for verdict in verdicts:
        if verdict.get("verdict") not in ("pass", "budget"):
            raise Fault(f"{verdict['name']} fails before anything was weakened", verdict.get("reason", ""),
                        "scripts/apiary prove " + verdict["name"])
        for name, order in verdict.get("sites", {}).items():
            executed_by = reached.setdefault(parse_site(name, order), [])
            if by_name[verdict["name"]] not in executed_by:
                executed_by.append(by_name[verdict["name"]])
    return reached


def try_mutant(site: Site, mutant: str, killers: list[checks.Entry], budget: str) -> Result:
    """Run the checks that execute the site until one fails: the explorer first, which is sure."""
    result = Result(site, mutant, "survived")
    with tempfile.TemporaryDirectory(prefix="apiary-mutate-") as folder:
        for engine in ("explorer", "relacy"):
            for entry in killers:
                if engine not in entry.engines:
                    continue
                record = Path(folder) / f"{entry.name}-{engine}.json"
                done = proc.run(
                    [entry.program, entry.name, "--engine", engine, "--mutate", f"{site.name}={mutant}", "--budget",
                     budget, "--json", record],
                    cwd=repo.ROOT, timeout=600,
                )
                for verdict in checks.read_verdicts(record):
                    result.seconds += float(verdict.get("seconds") or 0)
                    if verdict.get("verdict") == "fail":
                        return Result(site, mutant, "killed", entry.name, engine, verdict.get("executions"),
                                      result.seconds, verdict.get("reason", ""))
                if done.timed_out or done.rc not in (0, 1):
                    result.verdict, result.reason = "error", f"{entry.name} on {engine} {done.how()}"
    return result


def run(structures: list[str], budget: str, jobs: int) -> tuple[list[Result], set[str]]:
    """All mutants of the headers whose path contains one of the names; and the headers there are."""
    entries = [entry for entry in checks.all_entries() if entry.kind == "check"]
    options = checks.Options(budgets=(budget,))
    options.jobs = jobs
    reached = {site: by for site, by in baseline(entries, options).items() if site.file.startswith("impl/")}
    headers = {site.file for site in reached}
    unknown = [name for name in structures if not any(name in header for header in headers)]
    if unknown:
        raise Fault(f"no check executes a header called {unknown[0]!r}", "", "there are: " + ", ".join(sorted(headers)),
                    USAGE)
    chosen = sorted((site for site in reached if not structures or any(name in site.file for name in structures)),
                    key=lambda site: (site.file, site.line, site.column, site.operation))
    work = [(site, mutant) for site in chosen for mutant in mutants(site)]
    results = []
    with Progress("mutants", len(work)) as progress:
        for site, mutant in work:
            # Small checks first: most mutants die in milliseconds.
            killers = sorted(reached[site], key=lambda entry: (entry.threads, entry.name))
            results.append(try_mutant(site, mutant, killers, budget))
            progress.advance(f"{site.file.rsplit('/', 1)[-1]}:{site.line} {site.operation}={mutant}")
    return results, headers


def reviewed() -> dict[tuple[str, str, str, str], str]:
    """The survivors that were looked at, with the reason of each."""
    if not SURVIVORS.exists():
        return {}
    with SURVIVORS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if list(row) != SURVIVOR_COLUMNS or not row["reason"].strip():
            raise Fault(f"{SURVIVORS.relative_to(repo.ROOT)}: {row}", "every survivor needs all columns and a reason",
                        "columns: " + ",".join(SURVIVOR_COLUMNS))
    return {(row["file"], row["code"], row["operation"], row["mutant"]): row["reason"] for row in rows}


def write_table(results: list[Result]) -> None:
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(TABLE_COLUMNS)
        for r in results:
            s = r.site
            writer.writerow([1, s.file, s.line, s.column, s.operation, s.order, r.mutant, r.verdict, r.killed_by, r.engine,
                             "" if r.executions is None else r.executions, f"{r.seconds:.3f}", r.reason])
