"""Mutants of memory orders under hunts of our own tests: each is an operation of the machine code that the runtime is told to give a
weaker order (model_check/hunt/runtime/mutant.hpp), so a test program is built once."""

from __future__ import annotations

import random
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generator, Iterable

from ..base import proc, repo
from ..base.errors import Fault
from ..base.say import counted
from . import hunting, inventory, mutation
from .inventory import FAILURE, Item
from .hunt_units import Unit, cases
from .mutants import Outcome

TABLE = repo.BUILD / "model" / "hunted.csv"
COLUMNS = ["file", "line", "function", "code", "operation", "order", "mutant", "verdict", "killed_by", "kind", "runs", "seconds", "cases", "nearest"]
CALL = re.compile(r"^ +([0-9a-f]+):\s+(?:call|jmp) +[0-9a-f]+ <(__tsan_atomic\w+|__atomic_\w+_16)>\n +([0-9a-f]+):", re.MULTILINE)
# As std::memory_order counts; what is left out comes after the last.
NUMBERS = {"relaxed": 0, "acquire": 2, "release": 3, "acq_rel": 4, "seq_cst": 5, "dropped": 6}
POLICIES = "impl/apiary/sync/"  # an order that passes through them is their caller's
NUMBER, SEED, BUDGET, MARK = 40, 48, "60s", 0.8
GLANCE = 0.5  # seconds for each case; then those that are left have four times as much, and so on
LOOK = 0.5  # seconds for each case, to see which places it reaches
AGAIN = 10  # times the runs to a failure that a case has to pass without the mutant
STATES = ("met", "never together", "one thread")


@dataclass
class Result(Outcome):
    site: Item
    mutant: str
    kind: str = ""  # of the failure that killed it
    runs: int = 0
    cases: int = 0  # that reach the place
    nearest: str = ""  # how far two threads came together there, at best; empty: no case reaches it

    @property
    def told(self) -> str:
        return f"{self.site.name}={self.mutant}"


@dataclass
class Case:
    """A test, and how far two threads came together at each place that it reached, in a second of runs."""

    unit: Unit
    reached: dict[int, str] = field(default_factory=dict)  # address -> a word of STATES
    steps: int = 0  # of a run

    def nearness(self, addresses: Iterable[int]) -> int:
        return min((STATES.index(self.reached[one]) for one in addresses if one in self.reached), default=len(STATES))


@dataclass
class Suite:
    """A test program, its cases, and where in its machine code each operation of a header stands."""

    program: Path
    cases: list[Case]
    places: dict[tuple[str, int, str], list[int]]


def drawn(seed: int, number: int) -> list[tuple[Item, str]]:
    """Of the mutants that the checks kill: all but those with a row of survivors. A last look and an asymmetric fence are no order."""
    listed = mutation.reviewed()
    killed = [(item, mutant) for item in inventory.read()[0]
              if not item.real_only and item.operation != "recheck" and item.operation not in inventory.ASYMMETRIC
              for mutant in mutation.mutants(item) if mutation.key(item, mutant) not in listed]
    return sorted(random.Random(seed).sample(killed, min(number, len(killed))), key=lambda one: (one[0].file, one[0].line, one[1]))


def operation_of(symbol: str) -> str:
    return "fence" if symbol.endswith("thread_fence") else re.sub(r"__(?:tsan_atomic\d+|atomic)_|_16$", "", symbol)


def places_of(program: Path, folder: str = "impl/apiary/") -> dict[tuple[str, int, str], list[int]]:
    """(file below that folder, line, operation) -> addresses, as the runtime knows them: the last byte of the call."""
    hunting.must_have_places()
    text = proc.run(["objdump", "-d", "--no-show-raw-insn", program], timeout=300).out
    calls = {int(after, 16) - 1: operation_of(symbol) for _, symbol, after in CALL.findall(text)}
    found: dict[tuple[str, int, str], list[int]] = {}
    for address, there in hunting.frames(program, list(calls)):
        # Of what was inlined there the innermost that is no policy of sync/.
        for _, place in there:
            path, _, line = place.rpartition(":")
            at = path.rfind(f"/{folder}")
            if at >= 0 and f"/{POLICIES}" not in path and line.isdigit():
                found.setdefault((path[at + 1:], int(line), calls[address]), []).append(address)
                break
    return found


def look(case: Case, folder: Path) -> Generator[proc.Spec, proc.Done, Case]:
    out = folder / f"{abs(hash((str(case.unit.program), case.unit.name)))}"
    done = yield hunt(case.unit, f"seconds={LOOK};reach=1;least=0", LOOK, out)
    found = told_by(done, out)
    case.reached = {int(site["place"], 16): site["state"] for site in found.sites}
    case.steps = int(found.summary["steps"]) // max(1, int(found.summary["runs"]))
    return case


def suites(jobs: int, folder: Path) -> list[Suite]:
    programs = repo.manifest("model", "hunted")
    missing = [path.name for path in programs if not path.exists()]
    if not programs or missing:
        raise Fault(f"not built: {', '.join(missing) or 'no suite is HUNTED'}", "", "scripts/apiary mutate --hunted, without --no-build")
    found = [Suite(path, [Case(one) for one in cases(Unit(path.name, path, ()))], places_of(path)) for path in programs]
    all_cases = [case for suite in found for case in suite.cases]
    for _ in counted("cases", proc.run_chains((look(case, folder) for case in all_cases), jobs), len(all_cases), lambda case: case.unit.name):
        pass
    return found


def addresses_of(suite: Suite, site: Item) -> list[int]:
    operation = {inventory.WAIT: "load"}.get(site.operation, site.operation.removesuffix(FAILURE))
    return suite.places.get((site.file, site.line, operation), [])


def hunt(unit: Unit, words: str, seconds: float, out: Path) -> proc.Spec:
    told = f"{words};limit={max(10, int(seconds))};strategy=portfolio;out={out}"
    return proc.Spec([unit.program, *unit.words], cwd=unit.folder, env=unit.environment | {"APIARY_HUNT": told}, timeout=3 * seconds + 60)


def told_by(done: proc.Done, out: Path) -> hunting.Found:
    found = hunting.found_by(done, out)
    out.unlink(missing_ok=True)
    return found


def try_mutant(site: Item, mutant: str, every: list[Suite], seconds: float, folder: Path) -> Generator[proc.Spec, proc.Done, Result]:
    """Cases that reach the place are hunted for a glance each, and then for longer, until the time is up: those first in which
    two threads met there, and of these a header's own, in the suite that has the fewest others, and the shortest. A case does not count
    that fails without the mutant in ten times as many runs (one that fails now and then fails first with it half of the time), or that
    did not come to as many runs."""
    result, letter = Result(site, mutant), "f" if site.operation.endswith(FAILURE) else ""
    work = []
    for suite in every:
        addresses = addresses_of(suite, site)
        words = "mutant=" + ",".join(f"{one:x}.{NUMBERS[mutant]}{letter}" for one in addresses)
        work += [(case.nearness(addresses), len(suite.places), case.steps, case, words) for case in suite.cases if case.nearness(addresses) < len(STATES)]
    work.sort(key=lambda one: one[:3])
    result.cases, span, out = len(work), GLANCE, folder / f"{abs(hash((site.name, mutant)))}"
    if not work:
        return result
    result.nearest = STATES[work[0][0]]
    while work and result.seconds < seconds:
        left = []
        for number, (*_, case, words) in enumerate(work):
            if result.seconds >= seconds:
                break
            most = min(span, seconds - result.seconds)
            done = yield hunt(case.unit, f"seconds={most:.3f};least=0;{words}", most, out)
            found = told_by(done, out)
            result.runs += int(found.summary["runs"])
            result.seconds += float(found.summary["seconds"])
            if failed(found):
                runs = int(found.run["run"])
                done = yield hunt(case.unit, f"seconds={4 * most:.3f};least=0;runs={AGAIN * runs}", 4 * most, out)
                without = told_by(done, out)
                if not failed(without) and int(without.summary["runs"]) >= runs:
                    result.verdict, result.killed_by, result.kind = "killed", f"{case.unit.program.name} {case.unit.name}", found.run["kind"]
                    return result
            else:
                left.append(work[number])
        work, span = left, 4 * span
    return result


def failed(found: hunting.Found) -> bool:
    return bool(found.run) and found.run["kind"] not in ("refused", "cut")


def run(mutants: list[tuple[Item, str]], seconds: float, jobs: int) -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="apiary-hunted-") as name:
        folder = Path(name)
        every = suites(jobs, folder)
        chains = (try_mutant(item, mutant, every, seconds, folder) for item, mutant in mutants)
        results = list(counted("mutants", proc.run_chains(chains, jobs), len(mutants), lambda result: result.told))
    place = {(item.name, mutant): i for i, (item, mutant) in enumerate(mutants)}
    return sorted(results, key=lambda r: place[r.site.name, r.mutant])


def write_table(results: list[Result]) -> None:
    repo.write_csv(TABLE, COLUMNS, ([s.file, s.line, s.function, s.code, s.operation, s.order, r.mutant, r.verdict, r.killed_by, r.kind, r.runs,
                                     f"{r.seconds:.1f}", r.cases, r.nearest] for r in results for s in [r.site]))
