"""The sources of what a race ran, in its folder: what the programs say of themselves, the packages of peers, the points of the plan,
and the scripts that start runs and pair them. By these, and not by a commit's name, a later commit is held to the rows. A comment makes
no other program: where files differ and each program comes out the same, byte for byte, the rows are of that commit, too."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Iterable

from ..base import building, packages, repo, sources
from ..base.errors import Fault
from . import plans, scenarios

FILE = "sources.txt"  # lines as of sha256sum; what is no file of the tree has a colon in its name
RUNNER = tuple(f"scripts/apiary_cli/{name}.py" for name in ("base/proc", "race/rounds", "race/subjects", "race/quota", "race/disturbance",
                                                            "race/planfile", "race/sharpening"))
SCRIPTS = Path(__file__).resolve().parents[3]  # the tree that these run from, whatever tree they look at
NOTHING = "0" * 64  # the hash of a file that cannot be read
OF_A_ROW = ("subjects", "batches", "block_ms", "blocks", "warmup_blocks", "controls")  # of a plan, beside its points
OF_A_SCENARIO = (*scenarios.FLAGS, "slow_every")
RELEASE = "release"
FETCHED = f"build/{packages.PYPI.name}/"
BESIDE_PROGRAMS = ("plan", "package", "tool", "program")  # kinds of entries that the bytes of a program do not stand for
CODE = "code"  # the kind of entry that tells what of a program is loaded (sources.code), or what a script was made of


def of_plan(plan: plans.Plan) -> str:
    """What of a plan decides what is run and compared; how many rounds there were is told by the rows."""
    points = [(p.label, p.plan_seconds, p.times, p.every, p.measured, p.metric.column, [getattr(p.scenario, name) for name in OF_A_SCENARIO])
              for p in plan.points]
    return hashlib.sha256(repr((points, [getattr(plan, name) for name in OF_A_ROW])).encode()).hexdigest()


def installed(name: str) -> str:
    """The hash of a version that no program's record tells: `tool:rustc`, or `package:` and its name."""
    kind, _, rest = name.partition(":")
    return hashlib.sha256((packages.rustc_version() if kind == "tool" else packages.version_here(rest)).encode()).hexdigest()


def code_of(program: Path) -> str | None:
    """A script has no code: what it says it was made of stands for it. None where it says nothing."""
    if code := sources.code(program):
        return code
    files = sorted(one for one in sources.recorded(program) or () if one[1] != ".")
    return hashlib.sha256(repr(files).encode()).hexdigest() if files else None


def beside(program: Path) -> set[str]:
    """What else decides what it is made of: a peer's packages, and the compiler of Rust, which leaves no record."""
    needed = packages.of_peers([program.name.removeprefix("subject_")])
    names = {f"package:{name}" for name in (*packages.names_here(needed), *(one.name for one in needed if one.version))}
    return names | {"tool:rustc"} if any(program.is_relative_to(crate) for crate in (repo.RUST, repo.PEERS)) else names


def found(programs: Iterable[Path], plan: plans.Plan) -> sources.Record:
    """A program that says nothing of its source is an entry that no tree has."""
    entries = {(of_plan(plan), f"plan:{plan.name}")} | {(sources.digest(SCRIPTS / name) or NOTHING, name) for name in RUNNER}
    now = sources.Present(folder=repo.BUILD / RELEASE)

    def of_any_clone(digest: str, name: str) -> str:
        kind, _, made = name.partition(":")
        return now.flags_anywhere(made) or digest if kind == "flags" and digest == now.hash(name) else digest

    served = [repo.LOAD] * any(point.scenario.served for point in plan.points)
    for program in dict.fromkeys([*programs, *served]):
        said = sources.recorded(program) or {(sources.digest(program) or NOTHING, f"program:{program.name}")}
        entries |= {(of_any_clone(*one), one[1]) for one in said if one[1] != "."}
        entries |= {(installed(name), name) for name in beside(program)}
        entries.add((code_of(program) or NOTHING, f"{CODE}:{program.name}"))
    return frozenset(entries)


def write(folder: Path, programs: Iterable[Path], plan: plans.Plan) -> None:
    """When a race begins: one that goes on keeps what it began with."""
    if not (folder / FILE).exists():
        told = sorted(found(programs, plan), key=lambda one: (":" in one[1], one[1]))
        repo.write_text(folder / FILE, "".join(f"{digest}  {name}\n" for digest, name in told))


def taken(folder: Path) -> sources.Record:
    """What the folder says; nothing where it does not, or where that is no such record."""
    try:
        told = sources.parse((folder / FILE).read_text())
    except (OSError, UnicodeDecodeError):
        return frozenset()
    whole = told and all(len(digest) == 64 and not digest.strip("0123456789abcdef") and name for digest, name in told)
    return told if whole and any(name.startswith("plan:") for _, name in told) else frozenset()


def plan_now(name: str) -> str | None:
    try:
        return of_plan(plans.plan(name))
    except Fault:
        return None


def programs() -> list[Path]:
    """Those that a race may run, where this tree builds them."""
    return [*repo.manifest(RELEASE, "subjects"), *building.rust_programs(), *building.peer_programs(), repo.LOAD]


class Tree(sources.Present):
    """The tree as it is now, which many folders are held to. Flags count where the build folder is configured as the tree says."""

    def __init__(self) -> None:
        folder = repo.BUILD / RELEASE
        configured = (folder / "compile_commands.json").exists() and not sources.misconfigured(folder)
        super().__init__(folder=folder if configured else None)

    def find(self, name: str) -> str | None:
        """As for a program, and what is beside it; flags as they are in each clone."""
        kind, _, rest = name.partition(":")
        if kind in ("package", "tool"):
            return installed(name)
        if kind in ("flags", "plan"):
            return self.flags_anywhere(rest) if kind == "flags" else plan_now(rest)
        return sources.digest(SCRIPTS / name) if name in RUNNER else super().find(name)

    @functools.cached_property
    def built(self) -> dict[str, Path]:
        """By name: the programs that are made of the tree as it is, and say so."""
        here = sources.Present(folder=self.folder)  # a program's own record tells the flags of this clone
        return {path.name: path for path in programs() if self.folder and path.exists() and not here.differing(path)}

    def code(self, name: str) -> str | None:
        return code_of(self.built[name]) if name in self.built else None

    def changed(self, told: sources.Record) -> list[str]:
        """In words: what differs, unless it makes no other program."""
        return self.held(told)[0]

    def held(self, told: sources.Record) -> tuple[list[str], list[str]]:
        """What differs, and what differs and makes no other program."""
        strict, compiled = self.other(told)
        spared = compiled if compiled and self.same_programs(told) else set()
        return sorted({*strict, *map(words_for, compiled - spared)}), sorted(map(words_for, spared))

    def other(self, told: sources.Record) -> tuple[list[str], set[str]]:
        """What differs, whatever the programs are, in words; and the entries that differ and count only by them."""
        lacking = {f"{name} (not recorded)" for name in set(RUNNER) - {name for _, name in told}}
        counted = {one for one in told if not one[1].startswith(f"{CODE}:") and (self.folder or not one[1].startswith("flags:"))}
        names = {name for digest, name in counted if self.hash(name) != digest}
        compiled = set(filter(of_programs, names))
        return sorted(lacking | set(map(words_for, names - compiled))), compiled

    def same_programs(self, told: sources.Record) -> bool:
        codes = codes_of(told)
        return bool(codes) and all(digest == self.code(name) for name, digest in codes.items())

    def unknown(self, told: sources.Record) -> list[str]:
        """The programs of which only a build tells whether they came out the same; none where these rows are of another source anyway."""
        codes = codes_of(told)
        certain = self.other(told)[0] or NOTHING in codes.values() or any(digest != self.code(name) for name, digest in codes.items() if name in self.built)
        return [] if certain else sorted(codes.keys() - self.built.keys())


def codes_of(told: sources.Record) -> dict[str, str]:
    return {name.partition(":")[2]: digest for digest, name in told if name.startswith(f"{CODE}:")}


def of_programs(name: str) -> bool:
    """Whether this entry counts only by the programs that are made of it."""
    return name not in RUNNER and name.partition(":")[0] not in BESIDE_PROGRAMS and not name.startswith(FETCHED)


def words_for(name: str) -> str:
    """The files of a package of PyPI are one thing for a reader."""
    kind, _, rest = name.partition(":")
    if name.startswith(FETCHED):
        kind, rest = "package", name.removeprefix(FETCHED).partition("/")[0]
    other = f"{rest} (another version, or none)"
    return {"plan": f"the plan {rest}", "package": other, "tool": other, "program": f"{rest}, which does not say what it was made of"}.get(kind) or sources.words_for(name)


def configured() -> Tree:
    """As Tree, and flags do count."""
    if building.stale(repo.BUILD / RELEASE):
        building.configure(RELEASE)
    return Tree()


def why_not(folder: Path, tree: Tree) -> str:
    """Why the rows of this folder are not of the tree; nothing where they are."""
    if not folder.is_dir():
        return f"{repo.shown(folder)} is not here"
    told = taken(folder)
    if not told:
        return f"{repo.shown(folder)} has no {FILE} that can be read"
    changed = tree.changed(told)
    if not changed:
        return ""
    unknown = tree.unknown(told)
    build = f" (whether {repo.some(unknown)} came out the same is told after a build)" if unknown else ""
    return f"changed since it was raced: {repo.some(changed)}{build}"


def sentence(folders: Iterable[Path], tree: Tree | None = None) -> str:
    """For a page: whether the sources of these rows are those of this commit, as was just compared. Nothing where all were raced before
    there was a record."""
    folders = list(folders)
    known = [(folder, told) for folder in folders if (told := taken(folder))]
    if not known:
        return ""
    tree = tree or Tree()
    what = f"{len({one for _, told in known for one in told if ':' not in one[1]})} files, compilers, packages{' and flags' if tree.folder else '; flags were not'} compared"
    commit = repo.commit()  # "none" where git does not know this tree
    now = "this tree" if commit == "none" else f"commit {commit[:12]}{' with uncommitted changes' if repo.dirty() else ''}"
    which = "" if len(known) == len(folders) else f" by {len(known)} of {len(folders)} races, the others left no record,"
    held = [tree.held(told) for _, told in known]
    if changed := sorted({name for names, _ in held for name in names}):
        return f"Not the sources of {now} ({what}): {repo.some(changed)}."
    spared = sorted({name for _, names in held for name in names})
    but = f", but for {repo.some(spared)}: every program comes out the same, byte for byte" if spared else ""
    return f"The sources raced{which} are those of {now} ({what}){but}."
