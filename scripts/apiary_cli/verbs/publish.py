"""publish: everything that the pages show, of one source, on one kind of machine; it goes on where it was stopped."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable, Sequence

from ..base import argument_kinds, environment, json_result, repo
from ..base.errors import Fault, HARNESS, INCORRECT, INVALID_BATCH, Stopped, USAGE, gravest, unknown
from ..base.say import duration, heading, markdown, say, table, warn
from ..race import folder as folders, plans, raced, shelf, subjects, tables
from ..analysis import former, summary
from ..report import site, six, splice
from ..verify import checks, exact, logic_run, mutation, stressing
from . import entrants, hazards, setup

SUMMARY = "race and prove everything that the pages show, in one resumable command"
DESCRIPTION = """\
Makes all figures on the pages of this repository anew. First comes the evidence (instructions, proofs, museum, mutants,
stresses), because a race stores beside its rows what was proved of its source before it began. Then the tracks are
raced, each for its minutes, 150 in all; then come hazards and the virtual curves. Last come the pages; the first line
of each says what has become slower.

The tree must be clean. Each kind of machine (processor, how many, virtual or not) has a publication of its own, so that
figures of two are never mixed, and one that was begun on another kind waits for it. A finished step stays done at
a later commit if its sources are the same: for a track the files, compilers and flags of its programs, the versions of
the peers' packages, the points of its plan and the scripts that run them (sources.txt in its folder); for another step
the hash of the folders that it covers. A step whose sources changed is done again; but a track stays done where every
program, built before (--build), comes out the same, byte for byte. The pages say at which commit each track was raced,
and whether this commit has the same sources. If a signal or a fault stops the publication, the same command continues
it: a race continues with its next round. --minutes N takes the whole steps that fit, and says what remains; builds and
installations count, so --build makes them before the quiet stretch. No track begins before the evidence is complete,
unless --step names it. Red evidence ends the publication. A track that is INVALID or has a red finding is not
published, and the next call races it again. Tracks whose plan this tree does not have are named and left out.

writes:  results/publication-KIND.json, results/evidence/, build/publish/; result folders; at the end the pages,
         results/*.svg, the site
takes:   150 minutes of racing, and about 100 for the evidence; --dry-run prints the minutes of each step
exit:    0 published, or all done that fits; 1 red evidence, or a track with a red finding; 2 a dirty tree, or a machine
         that became another on the way; 3 a step failed; 4 a track's controls failed and nothing else"""

FOLDER = repo.BUILD / "publish"
STATES = repo.RESULTS  # in git, beside the folders that they name: another clone goes on
KEPT = repo.RESULTS / shelf.EVIDENCE  # in git, too: the records of the evidence
PAGE = FOLDER / "summary.md"
EVIDENCE, TRACK, AFTER = "evidence", "track", "after"
OUTDATED = -1  # the code of a step that was done, of other sources
RACING = 150  # minutes of all tracks
ENDS_S = 60.0  # for a verb that is told to end
SERVER = "1,2,4,8,16,64,256"


@dataclass(frozen=True)
class Step:
    name: str
    kind: str
    minutes: int
    words: tuple[str, ...]
    rooms: tuple[str, ...] = ()  # schedulers whose pages show it
    folders: tuple[str, ...] = ()  # whose hash its sources are; a track's stand in its folder
    record: Path | None = None  # which says of what source it is
    stressed: bool = False  # it asks stress programs, too, and its record says of what source they were
    page: str = ""  # of its own, below six.ROOMS

    def pages(self) -> list[str]:
        return [*(f"{room}/README.md" for room in self.rooms), *filter(None, [self.page])]


def track(name: str, plan: str, minutes: int, *rooms: str, page: str = "") -> Step:
    return Step(name, TRACK, minutes, ("race", "--plan", plan, "--limit", str(minutes), "--no-sidecars"), rooms, page=page)


STEPS = (
    Step("exact", EVIDENCE, 3, ("exact",), (), exact.COUNTED_FOLDERS, exact.RECORD),
    Step("prove", EVIDENCE, 12, ("prove",), (), repo.PROVED_FOLDERS, checks.RECORD),
    Step("museum", EVIDENCE, 4, ("museum",), (), repo.PROVED_FOLDERS, checks.RECORD),
    Step("mutate", EVIDENCE, 16, ("mutate",), (), repo.PROVED_FOLDERS, mutation.RECORD),
    Step("mutate_logic", EVIDENCE, 60, ("mutate", "--logic", "--shard", "1/6"), (), repo.PROVED_FOLDERS, logic_run.RECORD, True),
    Step("stress", EVIDENCE, 4, ("stress",), (), repo.STRESSED_FOLDERS, stressing.RECORD),
    track("posts", "publish", 32, "hive"),
    track("fork_join", "forkjoin", 30, "coro_pool", "fork_join"),
    track("messages", "messages", 21, "processes"),
    track("graphs", "graphs", 17, "task_graph"),
    track("loops", "loops", 11, page="fork_join/LOOPS.md"),
    track("servers", "servers", 22, page="hive/SERVERS.md"),
    track("frontier", "frontier", 17, page="hive/LATENCY.md"),
    Step("hazards", AFTER, 10, ("hazards", "--update"), (), ("impl", "bench/hazards", "bench/rust_peers", "scripts/apiary_cli/race/hazards.py", *repo.BUILT_BY)),
    Step("virtual", AFTER, 2, ("virtual", "--processors", SERVER, "--profile", "server_64", "--csv", "results/virtual/curves.csv",
                               "--draw", "results/virtual/curves.svg", "--drawn", "fib,uts,spawn_many_local,msg_throughput,post_throughput,graph"),
         (), ("impl", "bench", "model_check/apiary/model_check/explorer", *repo.BUILT_BY)),
)
Run = Callable[[Sequence[str], Path], tuple[int, dict]]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="print the plan and which of its steps are done; run none")
    parser.add_argument("--anew", action="store_true", help="forget the finished steps of an earlier publication")
    argument_kinds.repeatable(parser, "--step", "NAME", "only this (repeatable); the pages are not made")
    parser.add_argument("--build", action="store_true", help="install and build what the tracks race, and do nothing else; with --step: these tracks")
    parser.add_argument("--minutes", type=argument_kinds.minutes, metavar="N", help="only the steps that fit into N minutes, by what they took "
                        "before; the pages are made when nothing is left")


def absent(step: Step) -> str:
    """Why this tree cannot do it; empty: it can."""
    if step.kind == TRACK:
        plan = step.words[2]
        return "" if plan in {one.name for one in plans.every()} else f"no plan {plan} in this tree"
    return "" if Path(__file__).with_name(f"{step.words[0]}.py").exists() else f"no verb {step.words[0]} in this tree"


def kind_of_machine(found: dict | None = None) -> str:
    found = found or environment.machine()
    return f"{found['cpu']}, {found['cpus']} CPUs, hypervisor {found['hypervisor']}"


# -------------------------------------------------------------------------------------------------------- state


def state_of(machine: str) -> Path:
    return STATES / f"publication-{re.sub('[^a-z0-9]+', '-', machine.lower()).strip('-')}.json"


def written(path: str) -> bool:
    """What a publication itself may have changed."""
    pages = {str((six.ROOMS / page).relative_to(repo.ROOT)) for step in STEPS for page in ("README.md", *step.pages())}
    return path.startswith("results/") or path in {*pages, "README.md", str(hazards.PAGE)}


def changed() -> list[str]:
    """Paths of the tree that differ from the commit."""
    asked = (("diff", "--name-only", "HEAD"), ("ls-files", "--others", "--exclude-standard"))
    return sorted({path for words in asked for path in (repo.git(*words, must=True) or "").splitlines()})


class State:
    """What is done. Written after each change, whole or not at all."""

    def __init__(self, machine: str, told: dict | None = None):
        self.told = told or {"schema_version": 2, "machine": machine, "began": repo.utc_stamp(), "steps": {}}
        self.same(machine)

    def same(self, machine: str) -> None:
        """One kind of machine: else what was done is of something else."""
        if self.told["machine"] != machine:
            raise Fault("this publication is of another machine", f"it is of {self.told['machine']}, this is {machine}",
                        "scripts/apiary publish   begins or continues that of this one", USAGE)

    def of(self, name: str) -> dict:
        return self.told["steps"].get(name, {})

    def done(self, name: str) -> bool:
        return self.of(name).get("code") == 0

    def folder(self, name: str) -> Path:
        """Of a track; one that no race left where the state says nothing that could be one."""
        return repo.RESULTS / Path(str(self.of(name).get("folder") or "none")).name

    def seconds(self, step: Step) -> float:
        """About how long it will take: as the last time, without what is already done of a race that goes on."""
        known = self.of(step.name).get("took")
        return max(1.0, (known or 60.0 * step.minutes) - self.of(step.name).get("spent", 0.0))

    def note(self, name: str, **found: object) -> None:
        self.told["steps"][name] = self.of(name) | found
        self.keep()

    def keep(self) -> None:
        repo.write_json(state_of(self.told["machine"]), self.told)


NUMBERS = ("took", "spent", "seconds", "code")  # of a step
WORDS = ("since", "commit", "source_hash", "reasons_hash", "folder", "tells")
LISTS = ("reasons", "bars")


def readable(told: dict) -> bool:
    steps = told.get("steps")
    return (all(isinstance(told.get(name), str) for name in ("machine", "began")) and isinstance(steps, dict)
            and all(isinstance(one, dict) and all(isinstance(one.get(name, 0), (int, float)) for name in NUMBERS)
                    and all(isinstance(one.get(name, ""), str) for name in WORDS)
                    and all(isinstance(one.get(name, []), list) and all(isinstance(said, str) for said in one.get(name, [])) for name in LISTS)
                    for one in steps.values()))


def kept(machine: str, anew: bool) -> dict | None:
    """What an earlier call left on this kind of machine, if it is to go on."""
    path = state_of(machine)
    if anew or not path.exists():
        return None
    told = repo.read_json(path) or {}
    if not readable(told):
        raise Fault(f"{repo.shown(path)} cannot be read", "it is torn, or no record of a publication",
                    "scripts/apiary publish --anew   begins another; the folders of races that were done stay in results/", USAGE)
    return told


def record_kept(step: Step) -> Path:
    return KEPT / step.record.name


def keep_record(step: Step) -> None:
    """A race takes with it what was proved of its source, in another clone, too."""
    if step.record and step.record.exists():
        repo.write_text(record_kept(step), step.record.read_text())
        tables.compress(record_kept(step))


def bring_records_back(steps: Iterable[Step]) -> None:
    """Those that the build does not have, if they are of this source."""
    for step in steps:
        if not step.record or step.record.exists() or not tables.stored(record_kept(step)):
            continue
        try:
            record = shelf.read(record_kept(step))
        except shelf.UNREADABLE as error:
            warn(f"{repo.shown(record_kept(step))} cannot be read: {error}; {step.name} is done again")
            continue
        if isinstance(record, dict) and record.get("source_hash") == repo.source_hash(*step.folders):
            repo.write_json(step.record, record)


def outdated(step: Step, state: State, tree: raced.Tree) -> str:
    """Of a step that was done: why it is to be done again; nothing where it stands."""
    if step.kind == TRACK:
        return raced.why_not(state.folder(step.name), tree)
    now = repo.source_hash(*step.folders)
    wanted = {"source_hash": now} | ({"stress_hash": repo.source_hash(*repo.STRESSED_FOLDERS)} if step.stressed else {})
    if step.record and not wanted.items() <= (repo.read_json(step.record) or {}).items():
        return f"{repo.shown(step.record)} is {'not of this source' if step.record.exists() else 'not here'}"
    if step.words[0] == "mutate" and state.of(step.name).get("reasons_hash") != repo.reasons_hash():
        return "why a mutant may live is told otherwise"
    # The record alone does not tell: a call for a single check leaves one of this source, too.
    return "" if state.of(step.name).get("source_hash") == now else f"one of {repo.some(step.folders)} changed"


def standing(steps: Iterable[Step], state: State, tree: raced.Tree | None = None) -> dict[str, str]:
    """Of the steps that were done: nothing, or why they are to be done again. `tree`: as it is, none configures it for its flags."""
    done = [step for step in steps if state.done(step.name)]
    tree = tree or (raced.configured() if any(step.kind == TRACK for step in done) else raced.Tree())
    return {step.name: outdated(step, state, tree) for step in done}


def alone() -> contextlib.AbstractContextManager[None]:
    return repo.alone(FOLDER / "lock", "another publication works in this tree", "wait for its end, or stop it: it goes on later")


def begun(anew: bool) -> State:
    machine = kind_of_machine()
    told = kept(machine, anew)
    clean(bool(told))
    return State(machine, told)


def clean(began: bool) -> None:
    """What a publication that began has written is no change."""
    refuse_dirty([path for path in changed() if not (began and written(path))])


def refuse_dirty(paths: list[str]) -> None:
    if paths:
        raise Fault("the tree differs from its commit", repo.some(paths), "commit it, or put it away: figures must be of a commit", USAGE)


# ------------------------------------------------------------------------------------------------------ running


def by_command(words: Sequence[str], told: Path) -> tuple[int, dict]:
    """A verb as its own process, whose output goes to the terminal: a fault of one step ends no other. Where the publication is
    stopped, so is the verb, and it has the time to keep what it has."""
    told.parent.mkdir(parents=True, exist_ok=True)
    told.unlink(missing_ok=True)
    with subprocess.Popen([sys.executable, str(repo.ROOT / "scripts" / "apiary"), *words, "--json", str(told)], cwd=repo.ROOT) as verb:
        try:
            code = verb.wait()
        except Stopped:
            verb.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                verb.wait(ENDS_S)
            verb.kill()
            say("stopped; scripts/apiary publish   goes on")
            raise
    return (128 - code if code < 0 else code), repo.read_json(told) or {}


def told_by(step: Step) -> Path:
    """Where its verb says what it found."""
    return FOLDER / f"{step.name}.json"


def words_of(step: Step, state: State) -> tuple[str, ...]:
    """Of a track that was stopped: the same race goes on with its next round, if its sources are those of the tree."""
    since = state.of(step.name).get("since", "")
    if step.kind == TRACK and since and "code" not in state.of(step.name):
        for path in reversed(folders.unfinished()):
            kept = (repo.read_json(path / folders.STATE) or {}).get("words", [])
            ours = kept in ([*step.words[1:]], [*step.words[1:], "--json", str(told_by(step))])  # not a race that somebody ran by hand
            if path.name >= since and ours and not raced.why_not(path, raced.configured()):
                return ("race", "--resume", path.name.removesuffix(folders.UNFINISHED))
    return step.words


def held_back(step: Step, state: State, waiting: list[Step], left: float | None) -> str:
    """Why a step does not begin in this call; nothing where it does."""
    takes = state.seconds(step)
    if left is not None and takes > left:
        return f"it takes about {duration(takes)}, and {duration(max(0.0, left))} are left"
    missing = [one.name for one in waiting if one.kind == EVIDENCE]
    return f"it needs the evidence: {', '.join(missing)}" if step.kind == TRACK and missing else ""


def perform(steps: Iterable[Step], state: State, run: Run, check: Callable[[], None], minutes: float | None = None) -> int:
    """`check` refuses a dirty tree or another machine, before each step."""
    steps = list(steps)
    bring_records_back(STEPS)
    stands, began, waiting = standing(steps, state), time.monotonic(), []
    for step in steps:
        if stands.get(step.name) == "":
            say(f"{step.name}: done before")
            continue
        if why := absent(step):
            warn(f"{step.name} is left out: {why}")
            continue
        if why := stands.get(step.name):
            say(f"{step.name}: again, since {why}")
            state.note(step.name, code=OUTDATED)
        if state.of(step.name).get("spent") and words_of(step, state) == step.words:
            state.note(step.name, spent=0)  # it was stopped and begins anew: what was spent on it is lost
        if why := held_back(step, state, waiting, None if minutes is None else 60 * minutes - (time.monotonic() - began)):
            say(f"{step.name} waits: {why}")
            waiting.append(step)
            continue
        check()
        code = do(step, state, run)
        if code > 128:
            say(f"stopped in {step.name}; scripts/apiary publish   goes on")
            return code
        if step.kind == EVIDENCE and code:
            say(f"{step.name} ended with {code}: nothing is published of a tree whose evidence is red")
            return code if code == HARNESS else INCORRECT
    if waiting:
        say(f"remains: {', '.join(step.name for step in waiting)}; about {duration(sum(map(state.seconds, waiting)))}. "
            f"scripts/apiary publish   goes on, in another clone, too, if git has {repo.shown(state_of(state.told['machine']))} and the folders "
            "that it names; evidence needs no quiet machine")
    return gravest(code for step in STEPS if (code := state.of(step.name).get("code", 0)) != OUTDATED)


def do(step: Step, state: State, run: Run) -> int:
    words = words_of(step, state)
    heading(f"{step.name}: scripts/apiary {' '.join(words)}   (about {duration(state.seconds(step))})")
    before = state.of(step.name)
    if words == step.words:
        fresh = {"since": repo.utc_stamp(), "commit": repo.commit()} | {name: before[name] for name in ("took",) if name in before}
        of = {"source_hash": repo.source_hash(*step.folders), "reasons_hash": repo.reasons_hash()} if step.folders else {}
        state.told["steps"][step.name] = fresh | of
        state.keep()
    began = time.monotonic() - state.of(step.name).get("spent", 0)
    try:
        code, told = run(words, told_by(step))
    except Stopped:
        state.note(step.name, spent=round(time.monotonic() - began))
        raise
    seconds = round(time.monotonic() - began)
    if code > 128:
        state.note(step.name, spent=seconds)
        return code
    if code not in (0, INCORRECT, INVALID_BATCH):  # of a verb that was refused, or could not start
        code = HARNESS
    if step.kind == TRACK and code == 0 and not told.get("published"):
        code = INVALID_BATCH
    took = {"took": seconds} if code != HARNESS else {}
    state.note(step.name, code=code, seconds=seconds, spent=0, **took, **{key: told[key] for key in ("folder", "tells", "reasons", "bars") if key in told})
    if step.kind == EVIDENCE and code == 0:
        keep_record(step)
    if step.kind == TRACK and code == 0:  # last: a full disk loses no race
        shelf.publish(repo.ROOT / told["folder"])  # small enough for git, where another clone finds it
    return code


# -------------------------------------------------------------------------------------------------------- pages


def pages(state: State) -> dict[str, list[str]]:
    """Publishes each track that may be, and makes every page; returns what is slower than before, by track."""
    slower = {}
    for step in STEPS:
        if step.kind != TRACK or not state.done(step.name):
            continue
        folder = state.folder(step.name)
        shown = (six.shown_by(six.ROOMS / page) for page in step.pages())  # not of its rooms alone: some tracks have none
        old = next((one for one in shown if one and one != folder), None)
        if old and not (folder / former.FILE).exists():
            repo.write_json(folder / former.FILE, former.found(summary.load(old)[1], summary.load(folder)[1], old.name))
        slower[step.name] = [f"{name}: {one}" for name, found in (repo.read_json(folder / former.FILE) or {}).get("slower", {}).items() for one in found]
        for page in step.pages():
            splice.into(six.ROOMS / page, folder)
        shelf.publish(folder)
    for page in (repo.ROOT / "README.md", six.ROOMS / "README.md"):
        if "<!-- six -->" in page.read_text():
            six.splice(page)
    site.write()
    return slower


def summed(state: State, slower: dict[str, list[str]]) -> str:
    """The page of the publication: what is slower first, then each step."""
    worse = [f"- {name}: {one}" for name, found in slower.items() for one in found]
    lines = ["# Publication", "", "## Slower than before", "", *(worse or ["Nothing that was raced before, by the ratio to the peers of both races."]), "",
             "## Steps", "", *markdown(["step", "ended", "minutes:n", "at commit", "folder", "what it can tell"], rows(state)), "",
             " ".join(filter(None, (f"{state.told['machine']}, begun {state.told['began']}.", raced.sentence(state.folder(step.name) for step in STEPS if step.kind == TRACK and state.done(step.name)))))]
    return "\n".join(lines) + "\n"


def rows(state: State) -> list[list[str]]:
    words = {0: "done", OUTDATED: "to do again", INVALID_BATCH: "not published", INCORRECT: "RED", HARNESS: "FAILED"}
    out = []
    for step in STEPS:
        found = state.of(step.name)
        ended = absent(step) or words.get(found.get("code"), "stopped" if found else "to do")
        minutes = f"{found['seconds'] / 60:.1f}" if "seconds" in found else str(step.minutes)
        out.append([step.name, ended, minutes, found.get("commit", "")[:12], Path(found.get("folder", "")).name, "; ".join(found.get("reasons", []) + found.get("bars", [])) or found.get("tells", "")])
    return out


def show(state: State) -> None:
    tree = raced.Tree()
    stands = standing(STEPS, state, tree)
    if not tree.folder and any(step.kind == TRACK for step in STEPS if step.name in stands):
        say("flags of tracks were not compared: build/release is not configured")
    for name, why in stands.items():
        if why:
            state.told["steps"][name] = state.of(name) | {"code": OUTDATED}  # told, not kept
            say(f"{name}: again, since {why}")
    say(table(["step", "state", "minutes:n", "at commit", "command"], [[step.name, *row[1:4], f"scripts/apiary {' '.join(step.words)}"]
                                                                       for step, row in zip(STEPS, rows(state))]))
    raced_for = sum(step.minutes for step in STEPS if step.kind == TRACK and not absent(step))
    rest = sum(state.seconds(step) for step in STEPS if not absent(step) and not state.done(step.name))
    say(f"racing: {raced_for} of {RACING} minutes; left to do: about {duration(rest)}")


def run(args: argparse.Namespace) -> int:
    known = {step.name: step for step in STEPS}
    for name in args.step:
        if name not in known:
            raise unknown("step", name, known)
    if args.dry_run:
        return told_only(args.anew)
    if ignored := [name for name, given in (("--anew", args.anew), ("--minutes", args.minutes is not None)) if args.build and given]:
        raise Fault(f"--build with {' and '.join(ignored)}", "it builds, and neither begins nor continues a publication",
                    "leave one of them away", USAGE)
    with alone():  # builds, too: beside a track they would take its processors
        if args.build:
            return build([known[name] for name in args.step] or STEPS)
        return published([known[name] for name in args.step], begun(args.anew), args.minutes)


def build(steps: Iterable[Step]) -> int:
    """What would otherwise be made in the minutes of the tracks. Evidence builds its own, and needs no quiet machine."""
    tracks = [step for step in steps if step.kind == TRACK and not absent(step)]
    if not tracks:
        say(f"nothing to build: no track of this tree is among {', '.join(step.name for step in steps)}; other steps build what they need")
        return 0
    wanted = list(dict.fromkeys(itertools.chain.from_iterable(plans.plan(step.words[2]).subjects for step in tracks)))
    setup.ensure(peers=wanted)
    there = {path.name.removeprefix("subject_") for path in subjects.build_all(wanted)}
    if lacking := [name for name in wanted if name not in there]:
        why, remedy = entrants.lacking(lacking)
        raise Fault(f"these peers would not race: {', '.join(lacking)}", why or "they are not built", remedy or "scripts/apiary build release rust   shows why")
    say(f"{len(wanted)} subjects are built; nothing is left to build for {', '.join(step.name for step in tracks)}")
    return 0


def told_only(anew: bool) -> int:
    machine = kind_of_machine()
    told = kept(machine, anew)
    bring_records_back(STEPS)
    show(State(machine, told))
    if others := sorted(path.name for path in STATES.glob("publication-*.json") if path != state_of(machine)):
        say(f"of other kinds of machines: {', '.join(others)}")
    try:
        clean(bool(told))
    except Fault as fault:
        warn(f"it would be refused: {fault.seen}: {fault.cause}")
    return 0


def published(asked: list[Step], state: State, minutes: float | None = None) -> int:
    """`asked`: these steps alone, without the pages; none: all."""
    state.keep()

    def check() -> None:
        clean(True)
        state.same(kind_of_machine())

    code = perform(asked or STEPS, state, by_command, check, minutes)
    left = [step.name for step in STEPS if not absent(step) and state.of(step.name).get("code", OUTDATED) == OUTDATED]
    json_result.note(steps=state.told["steps"], commit=repo.commit(), machine=state.told["machine"], left=left)
    if code > 128 or asked or left or any(state.of(step.name).get("code") for step in STEPS if step.kind == EVIDENCE):
        return code
    slower = pages(state)
    repo.write_text(PAGE, summed(state, slower))
    json_result.note(slower=slower)
    say(PAGE.read_text(), "the pages are made; look at git diff, then: git add -f " + " ".join(
        str(repo.shown(state.folder(step.name))) for step in STEPS if step.kind == TRACK and state.done(step.name)))
    return code
