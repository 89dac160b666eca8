"""Builds of other states of this repository: a commit, or the working tree, exported and built by itself."""

from __future__ import annotations

import functools
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import packages, proc, repo
from .errors import Fault, USAGE, tail
from .say import Progress

WORKING_TREE = "."
# States older than this line refuse to be configured without these peers, of which nothing is compiled here.
NOT_BUILT = ("-DBOOST_ASIO_INCLUDE=unused", "-DMOODYCAMEL_INCLUDE=unused")


@dataclass(frozen=True)
class Tree:
    """One exported state. `commit` is what records call it; a changed working tree is `dirty`."""

    asked: str
    commit: str
    dirty: bool
    source: Path

    @property
    def hashes(self) -> tuple[str, str]:
        """As verification.hashes(), of this state: so that only its own proofs count for it."""
        proved, stressed = (repo.source_hash(*folders, root=self.source) for folders in (repo.PROVED_FOLDERS, repo.STRESSED_FOLDERS))
        return proved, stressed


git = functools.partial(repo.git, must=True)


def baselines() -> dict[str, dict]:
    """Name -> commit and result folder, of those that race --save-baseline saved."""
    found = {path.name: repo.read_json(path) for path in sorted(repo.BASELINES.glob("*"))}
    return {name: one for name, one in found.items() if one}


def save_baseline(name: str, commit: str, folder: str) -> None:
    """A name that exists is moved."""
    repo.write_json(repo.BASELINES / name, {"commit": commit, "folder": folder, "utc": repo.utc_stamp()})


def resolve(name: str) -> tuple[str, str, bool]:
    """(tree, commit, dirty) of a revision, or of the working tree with what git does not ignore."""
    if name == WORKING_TREE:
        with tempfile.TemporaryDirectory(prefix="apiary-index-") as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            git("read-tree", "HEAD", env=index)
            git("add", "--all", env=index)
            return git("write-tree", env=index), repo.commit(), repo.dirty()
    known = baselines()
    commit = repo.git("rev-parse", "--verify", "--quiet", f"{known.get(name, {}).get('commit', name)}^{{commit}}")
    if not commit:
        gone = f"the baseline's commit {known[name].get('commit')} is not in this clone" if name in known else ""
        saved = ", ".join(sorted(known)) or "none; race --save-baseline NAME saves one"
        raise Fault(f"'{name}' is neither a result folder nor a commit, nor a baseline", gone or "git does not know it",
                    f"git log --oneline   ('.' is the working tree; results/* are result folders; baselines: {saved})", USAGE)
    return git("rev-parse", f"{commit}^{{tree}}"), commit, False


def export(name: str) -> Tree:
    """The state's files, below build/compare/: one folder for each tree, names of equal length."""
    tree, commit, dirty = resolve(name)
    target = repo.BUILD / "compare" / tree[:12]
    with repo.locked(f"export-{tree[:12]}"):
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".tmp-", dir=target.parent) as folder:
                archive, whole = Path(folder) / "tree.tar", Path(folder) / "tree"
                git("archive", "--format=tar", "-o", str(archive), tree)
                whole.mkdir()
                shutil.unpack_archive(archive, whole)
                whole.rename(target)
    return Tree(name, commit, dirty, target)


def build(tree: Tree, target: str, preset: str = "release") -> Path:
    """A program of that state, built by its own CMake files."""
    packages.require("cmake", "ninja", "g++")
    folder = tree.source / "build" / preset
    with repo.locked(f"compare-{tree.source.name}"), Progress(f"build {target} of {tree.asked}", 2) as progress:
        for words in (["cmake", "--preset", preset, *NOT_BUILT], ["cmake", "--build", str(folder), "--target", target]):
            done = proc.run(words, cwd=tree.source, merge=True)
            if not done.ok:
                again = f"cd {repo.shown(tree.source)} && {' '.join(words[:3])} …   shows it again"
                raise Fault(f"building {target} of {tree.asked} failed ({done.how()})", tail(done.out, 3000), again)
            progress.advance()
    return folder / "bin" / target
