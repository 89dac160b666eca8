"""completion: prints a script with which a shell completes verbs, options and names."""

from __future__ import annotations

import argparse

from ..base import repo, source_names
from ..base.say import say
from ..race import plans, scenarios

SUMMARY = "print the script by which a shell completes verbs, options and names"
DESCRIPTION = """\
Prints a script for your shell. In bash, this turns completion on for the session:
  eval "$(scripts/apiary completion)"
Names of presets, plans, scenarios, subjects, checks and result folders are read from this tree.

writes:  nothing
takes:   a moment"""

SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", nargs="?", default="bash", choices=SHELLS, help="your shell (default bash)")


def folders() -> list[str]:
    return [path.parent.name for path in repo.RESULTS.glob("*/env.json")]


def saved() -> list[str]:
    return ["HEAD", *(path.name for path in repo.BASELINES.glob("*"))]


def compared() -> list[str]:
    return [".", *saved(), *folders()]


# (verb, or any; the argument) -> the names that it takes
NAMES = {
    ("build", "preset"): lambda: [*repo.presets(), "rust", "all"],
    ("prove", "names"): lambda: [*source_names.GROUPS, *sorted(source_names.checks()[0])],
    ("museum", "names"): lambda: sorted(source_names.checks("exhibit")[0]),
    ("report", "dir"): folders,
    ("compare", "old"): compared,
    ("compare", "new"): compared,
    ("bisect", "good"): saved,
    ("bisect", "bad"): saved,
    ("", "plan"): lambda: [one.name for one in plans.every()],
    ("", "scenario"): lambda: list(scenarios.SCENARIOS),
    ("", "subject"): lambda: sorted(source_names.subjects()),
    ("", "placement"): lambda: list(plans.PLACEMENTS),
    ("", "preset"): repo.presets,
}


def complete(verb: str, parser: argparse.ArgumentParser) -> None:
    """Gives the arguments of a verb their names, for argcomplete."""
    for action in parser._actions:
        found = NAMES.get((verb, action.dest)) or NAMES.get(("", action.dest))
        if found:
            action.completer = lambda found=found, **_: found()


def run(args: argparse.Namespace) -> int:
    import argcomplete

    say(argcomplete.shellcode(["apiary", "scripts/apiary", "./scripts/apiary"], shell=args.shell))
    return 0
