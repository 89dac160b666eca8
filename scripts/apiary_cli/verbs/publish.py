"""publish: everything that the pages show, from one tree, on one kind of machine; it goes on where it was stopped."""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable, Sequence

from ..base import argument_kinds, environment, json_result, repo
from ..base.errors import Fault, HARNESS, INCORRECT, INVALID_BATCH, Stopped, USAGE, gravest, unknown
from ..base.say import duration, heading, markdown, say, table, warn
from ..race import folder as folders, plans, shelf
from ..analysis import former, summary
from ..report import site, six, splice

SUMMARY = "all races and proofs of one tree for the pages, resumable"
DESCRIPTION = """\
What the pages of this repository show, made anew: first the evidence (instructions, proofs, museum, mutants,
stresses), since a race keeps with its rows what is proved of its source when it begins; then the tracks, each with
its minutes, 150 in all; then hazards and the virtual curves; last the pages, each with what is slower than before
as its first line.

The tree must be clean, and stay at one commit; the machine must be of one kind (processor, their number, virtual or
not). Whatever is stopped, by a signal or a fault, goes on by the same command: what is done stays done, and a race
goes on with its next round. Evidence that is red ends the publication. A track that is INVALID, or has a red finding,
is not published, and the next call races it again. Tracks whose plan this tree does not have are named, and left out.

writes:  build/publish/state.json and summary.md; result folders; at the end the pages, results/six.svg, the site
takes:   150 minutes of racing, and about as long for the evidence; --dry-run says each
exit:    0 published; 1 red evidence, or a track with a red finding; 2 a dirty tree, another commit or machine; 3 a step
         failed; 4 a track's controls failed and nothing else"""

FOLDER = repo.BUILD / "publish"
STATE, PAGE = FOLDER / "state.json", FOLDER / "summary.md"
EVIDENCE, TRACK, AFTER = "evidence", "track", "after"
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


def track(name: str, plan: str, minutes: int, *rooms: str) -> Step:
    return Step(name, TRACK, minutes, ("race", "--plan", plan, "--limit", str(minutes), "--no-sidecars"), rooms)


STEPS = (
    Step("exact", EVIDENCE, 3, ("exact",)),
    Step("prove", EVIDENCE, 12, ("prove",)),
    Step("museum", EVIDENCE, 4, ("museum",)),
    Step("mutate", EVIDENCE, 16, ("mutate",)),
    Step("mutate_logic", EVIDENCE, 60, ("mutate", "--logic")),
    Step("stress", EVIDENCE, 4, ("stress",)),
    track("posts", "publish", 32, "hive"),
    track("fork_join", "forkjoin", 28, "coro_pool", "fork_join"),
    track("messages", "messages", 24, "processes"),
    track("graphs", "graphs", 20, "task_graph"),
    track("loops", "loops", 12),
    track("servers", "servers", 8),
    track("timers", "timers", 6),
    track("frontier", "frontier", 20),
    Step("hazards", AFTER, 10, ("hazards",)),
    Step("virtual", AFTER, 2, ("virtual", "--processors", SERVER, "--profile", "server_64", "--csv", "results/virtual/curves.csv",
                               "--draw", "results/virtual/curves.svg", "--drawn", "fib,uts,spawn_many_local,msg_throughput,post_throughput,graph")),
)
Run = Callable[[Sequence[str], Path], tuple[int, dict]]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="say the plan, and what of it is done; do nothing")
    parser.add_argument("--anew", action="store_true", help="forget what was done of an earlier publication")
    argument_kinds.repeatable(parser, "--step", "NAME", "only this (repeatable); the pages are not made")


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


def written(path: str) -> bool:
    """What a publication itself may have changed."""
    pages = {str((six.ROOMS / room / "README.md").relative_to(repo.ROOT)) for step in STEPS for room in step.rooms}
    return path.startswith("results/") or path in {*pages, "README.md", str((six.ROOMS / "README.md").relative_to(repo.ROOT))}


def changed() -> list[str]:
    """Paths of the tree that differ from the commit."""
    asked = (("diff", "--name-only", "HEAD"), ("ls-files", "--others", "--exclude-standard"))
    return sorted({path for words in asked for path in (repo.git(*words, must=True) or "").splitlines()})


class State:
    """What is done. Written after each change, whole or not at all."""

    def __init__(self, commit: str, machine: str, told: dict | None = None):
        self.told = told or {"schema_version": 1, "commit": commit, "machine": machine, "began": repo.utc_stamp(), "steps": {}}
        self.same(commit, machine)

    def same(self, commit: str, machine: str) -> None:
        """One tree, one kind of machine: else what was done is of something else."""
        for what, now in (("commit", commit), ("machine", machine)):
            if self.told.get(what) != now:
                raise Fault(f"this publication is of another {what}", f"it began with {self.told.get(what)}, this is {now}",
                            "go back to it; or scripts/apiary publish --anew   begins another", USAGE)

    def of(self, name: str) -> dict:
        return self.told["steps"].get(name, {})

    def done(self, name: str) -> bool:
        return self.of(name).get("code") == 0

    def note(self, name: str, **found: object) -> None:
        self.told["steps"][name] = self.of(name) | found
        self.keep()

    def keep(self) -> None:
        STATE.parent.mkdir(parents=True, exist_ok=True)
        repo.write_json(STATE, self.told)


def kept(anew: bool) -> dict | None:
    """What an earlier call left, if it is to go on."""
    if anew or not STATE.exists():
        return None
    told = repo.read_json(STATE) or {}
    words, steps = [told.get(name) for name in ("commit", "machine", "began")], told.get("steps")
    if not (all(isinstance(one, str) for one in words) and isinstance(steps, dict) and all(isinstance(one, dict) for one in steps.values())):
        raise Fault(f"{repo.shown(STATE)} cannot be read", "it is torn, or no record of a publication",
                    "scripts/apiary publish --anew   begins another; the folders of races that were done stay in results/", USAGE)
    return told


def alone() -> contextlib.AbstractContextManager[None]:
    return repo.alone(FOLDER / "lock", "another publication works in this tree", "wait for its end, or stop it: it goes on later")


def begun(anew: bool) -> State:
    told = kept(anew)
    refuse_dirty([path for path in changed() if not (told and written(path))])
    return State(repo.commit(), kind_of_machine(), told)


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


def words_of(step: Step, state: State) -> tuple[str, ...]:
    """Of a track that was stopped: the same race goes on with its next round."""
    since = state.of(step.name).get("since", "")
    if step.kind == TRACK and since and "code" not in state.of(step.name):
        for path in reversed(folders.unfinished()):
            kept = (repo.read_json(path / folders.STATE) or {}).get("words", [])
            if path.name >= since and step.words[2] in kept:
                return ("race", "--resume", path.name.removesuffix(folders.UNFINISHED))
    return step.words


def perform(steps: Iterable[Step], state: State, run: Run, now: Callable[[], tuple[str, str]]) -> int:
    """`now`: the commit and the kind of machine, asked before each step."""
    for step in steps:
        if state.done(step.name):
            say(f"{step.name}: done before")
            continue
        if why := absent(step):
            warn(f"{step.name} is left out: {why}")
            continue
        state.same(*now())
        words = words_of(step, state)
        heading(f"{step.name}: scripts/apiary {' '.join(words)}   (about {step.minutes} minutes)")
        if words == step.words:
            state.told["steps"][step.name] = {"since": repo.utc_stamp()}
            state.keep()
        started = time.monotonic()
        code, told = run(words, FOLDER / f"{step.name}.json")
        if code > 128:
            say(f"stopped in {step.name}; scripts/apiary publish   goes on")
            return code
        if code not in (0, INCORRECT, INVALID_BATCH):  # of a verb that was refused, or could not start
            code = HARNESS
        if step.kind == TRACK and code == 0 and not told.get("published"):
            code = INVALID_BATCH
        state.note(step.name, code=code, seconds=round(time.monotonic() - started), **{key: told[key] for key in ("folder", "tells", "reasons", "bars") if key in told})
        if step.kind == EVIDENCE and code:
            say(f"{step.name} ended with {code}: nothing is published of a tree whose evidence is red")
            return code if code == HARNESS else INCORRECT
    return gravest(state.of(step.name).get("code", 0) for step in STEPS)


# -------------------------------------------------------------------------------------------------------- pages


def pages(state: State) -> dict[str, list[str]]:
    """Publishes each track that may be, and makes every page; returns what is slower than before, by track."""
    shown, slower = six.published(), {}
    for step in STEPS:
        if step.kind != TRACK or not state.done(step.name):
            continue
        folder = repo.ROOT / state.of(step.name)["folder"]
        old = next((shown[room] for room in step.rooms if room in shown and shown[room] != folder), None)
        if old and not (folder / former.FILE).exists():
            repo.write_json(folder / former.FILE, former.found(summary.load(old)[1], summary.load(folder)[1], old.name))
        slower[step.name] = [f"{name}: {one}" for name, found in (repo.read_json(folder / former.FILE) or {}).get("slower", {}).items() for one in found]
        for room in step.rooms:
            splice.into(six.ROOMS / room / "README.md", folder)
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
             "## Steps", "", *markdown(["step", "ended", "minutes:n", "folder", "what it can tell"], rows(state)), "",
             f"Commit {state.told['commit'][:12]}, {state.told['machine']}, begun {state.told['began']}."]
    return "\n".join(lines) + "\n"


def rows(state: State) -> list[list[str]]:
    words = {0: "done", INVALID_BATCH: "not published", INCORRECT: "RED", HARNESS: "FAILED"}
    out = []
    for step in STEPS:
        found = state.of(step.name)
        ended = absent(step) or words.get(found.get("code"), "stopped" if found else "to do")
        minutes = f"{found['seconds'] / 60:.1f}" if "seconds" in found else str(step.minutes)
        out.append([step.name, ended, minutes, Path(found.get("folder", "")).name, "; ".join(found.get("reasons", []) + found.get("bars", [])) or found.get("tells", "")])
    return out


def show(state: State) -> None:
    say(table(["step", "state", "minutes:n", "command"], [[step.name, row[1], row[2], f"scripts/apiary {' '.join(step.words)}"]
                                                         for step, row in zip(STEPS, rows(state))]))
    raced = sum(step.minutes for step in STEPS if step.kind == TRACK and not absent(step))
    rest = sum(step.minutes for step in STEPS if not absent(step) and not state.done(step.name))
    say(f"racing: {raced} of {RACING} minutes; left to do: about {duration(60.0 * rest)}")


def run(args: argparse.Namespace) -> int:
    known = {step.name: step for step in STEPS}
    for name in args.step:
        if name not in known:
            raise unknown("step", name, known)
    if args.dry_run:
        return told_only(kept(args.anew))
    with alone():
        return published([known[name] for name in args.step], begun(args.anew))


def told_only(told: dict | None) -> int:
    now = repo.commit(), kind_of_machine()
    state = State(told["commit"], told["machine"], told) if told else State(*now)
    show(state)
    refusals = (lambda: state.same(*now), lambda: refuse_dirty([path for path in changed() if not (told and written(path))]))
    for refuse in refusals:
        try:
            refuse()
        except Fault as fault:
            warn(f"it would be refused: {fault.seen}: {fault.cause}")
    return 0


def published(asked: list[Step], state: State) -> int:
    """`asked`: these steps alone, without the pages; none: all."""
    state.keep()
    steps = asked or list(STEPS)
    code = perform(steps, state, by_command, lambda: (repo.commit(), kind_of_machine()))
    json_result.note(steps=state.told["steps"], commit=state.told["commit"], machine=state.told["machine"])
    if code > 128 or asked or any(state.of(step.name).get("code") for step in STEPS if step.kind == EVIDENCE):
        return code
    slower = pages(state)
    repo.write_text(PAGE, summed(state, slower))
    json_result.note(slower=slower)
    say(PAGE.read_text(), "the pages are made; look at git diff, then: git add -f " + " ".join(
        state.of(step.name)["folder"] for step in STEPS if step.kind == TRACK and state.done(step.name)))
    return code
