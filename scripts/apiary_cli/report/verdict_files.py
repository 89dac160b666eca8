"""--junit, --sarif and --html: the verdicts of a verb in the files that CI systems, code viewers and people read."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..base import json_result, repo
from . import html, junit, sarif
from .junit import PASSED, Part, Verdict

KINDS = ("junit", "sarif", "html")


def arguments(parser: argparse.ArgumentParser) -> None:
    for kind, told in zip(KINDS, ("for CI", "SARIF 2.1.0, for code viewers", "a page with each failure's trace")):
        parser.add_argument(f"--{kind}", metavar="FILE", help=f"also write the verdicts to FILE: {told}")


def check(args: argparse.Namespace) -> None:
    """Refuses before the work what cannot be written after it."""
    for kind in KINDS:
        if (name := getattr(args, kind)) is not None:
            setattr(args, kind, repo.writable(f"--{kind}", name))


def write(args: argparse.Namespace, title: str, about: str, verdicts: list[Verdict], seconds: float) -> list[Path]:
    """The files that were asked for."""
    made = {
        "junit": lambda: junit.xml([Part(title.replace(" ", "_"), list(verdicts), seconds)]),
        "sarif": lambda: sarif.text(title, verdicts),
        "html": lambda: page(title, about, verdicts),
    }
    asked = [kind for kind in KINDS if getattr(args, kind)]
    for kind in asked:
        repo.write_text(getattr(args, kind), made[kind]())
    json_result.note(files={kind: str(getattr(args, kind)) for kind in asked})
    return [getattr(args, kind) for kind in asked]


def page(title: str, about: str, verdicts: list[Verdict]) -> str:
    bad = [one for one in verdicts if one.kind]
    rows = [[one.name, html.macro("badge", {"level": "bad" if one.kind else "good" if one.status == PASSED else "note", "link": False,
                                            "text": one.kind or one.status}),
             f"{one.seconds:.1f}", one.message.splitlines()[0] if one.message else ""] for one in verdicts]
    return html.render("verdicts.html", title=title, about=about, rows=rows, bad=[
        {"open": True, "name": one.name, "engine": "", "what": "", "reason": f"{one.kind}; {one.message.splitlines()[0]}",
         "trace": one.trace, "replay": one.replay} for one in bad])
