"""arbitrate: whether a ThreadSanitizer report is true, by the explorer, with exact fences."""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from pathlib import Path

from ..base import argument_kinds, building, json_result, proc, repo
from ..base.errors import Fault, HARNESS, INCORRECT, USAGE, tail
from ..base.say import say
from . import setup

SUMMARY = "is this ThreadSanitizer report true? searched for, with exact fences"
DESCRIPTION = """\
Takes the text that ThreadSanitizer printed about a data race, and scenarios that run the code in question: a source
file with APIARY_SCENARIO (--scenario), which is built here against the headers of --include, or a program that
apiary_check_as_is() built elsewhere (--program). The explorer looks for a race at just the two places of the report,
through every execution, with exact fences, which ThreadSanitizer ignores. It answers one of three:
a race, with an execution of it as a table and the line that replays it;
none within this bound, and which fences (or orders) keep the two places apart;
undecided, and why: not exhausted, never brought together by these scenarios, or a report of another build.
Of several reports in the text each is answered.

writes:  build/arbitrate/, with --scenario
takes:   seconds after building
exit:    0 none within this bound; 1 a race; 2 bad arguments, or a text without a report;
         3 undecided, or nothing could be asked"""

INTERMIXED = True  # scenarios may be named after the options, too

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(arbitrated LANGUAGES CXX)
find_package(apiary REQUIRED COMPONENTS as_it_is)
apiary_check_as_is(arbitrated SOURCES "{source}" COMPILE_OPTIONS {options})
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("report", metavar="REPORT", help="a file with the text; - is standard input")
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios of the program (default: all)")
    of = parser.add_mutually_exclusive_group(required=True)
    of.add_argument("--scenario", metavar="FILE.cpp", help="a source with scenarios, built here")
    of.add_argument("--program", metavar="FILE", help="a program of apiary_check_as_is()")
    argument_kinds.repeatable(parser, "--include", "DIR", "where the scenario's headers are; repeatable")
    argument_kinds.repeatable(parser, "--define", "NAME=VALUE", "a macro of the code in question; repeatable")


def built(scenario: Path, include: list[str], define: list[str]) -> Path:
    """The scenario's program; its project has a folder of its own, by what it is made of."""
    if not scenario.is_file():
        raise Fault(f"{scenario} is no file", "", "--scenario names a source with APIARY_SCENARIO", USAGE)
    for folder in include:
        if not Path(folder).is_dir():
            raise Fault(f"{folder} is no folder", "", "--include names one that holds headers", USAGE)
    for macro in define:
        if not re.fullmatch(r"\w+(=.*)?", macro):
            raise Fault(f"--define {macro} cannot be read", "it is NAME or NAME=VALUE", "", USAGE)
    setup.ensure(quiet=True)
    building.build("model", only="checks", names=("first_steps_as_is",))  # the libraries that it is linked with
    options = [f'"-I{Path(folder).resolve()}"' for folder in include] + [f'"-D{macro}"' for macro in define]
    text = PROJECT.format(source=scenario.resolve(), options=" ".join(options) or "-w")
    folder = repo.BUILD / "arbitrate" / hashlib.sha256(text.encode()).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "CMakeLists.txt").write_text(text)
    for command in (["cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={repo.BUILD / 'model'}"],
                    ["cmake", "--build", folder / "build"]):
        done = proc.run(command, merge=True)
        if not done.ok:
            raise Fault(f"building {scenario} failed ({done.how()})", tail(done.out, 3000),
                        "does it compile alone? --include DIR and --define NAME=VALUE say what it needs")
    return folder / "build" / "arbitrated"


def run(args: argparse.Namespace) -> int:
    if args.report != "-" and not Path(args.report).is_file():
        raise Fault(f"{args.report} is no file", "", "REPORT is a file with what ThreadSanitizer printed, or -", USAGE)
    if args.program and (args.include or args.define):
        raise Fault("--program with --include or --define", "it is built already", "leave them away, or --scenario", USAGE)
    text = sys.stdin.read() if args.report == "-" else Path(args.report).read_text(errors="replace")
    program = Path(args.program) if args.program else built(Path(args.scenario), args.include, args.define)
    if not program.is_file():
        raise Fault(f"{program} is no file", "", "--program names a program of apiary_check_as_is()", USAGE)
    report = repo.BUILD / "arbitrate" / "report.txt"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(text)
    done = proc.run([program.resolve(), *args.names, "--arbitrate", report])
    say(done.out.rstrip())
    if done.rc == USAGE:
        raise Fault("nothing could be asked", tail(done.err or done.out), "", USAGE)
    if done.rc not in (0, INCORRECT, HARNESS):
        raise Fault(f"{program.name} {done.how()}", tail(done.err), "does it run without --arbitrate?")
    json_result.note(answers=[line for line in done.out.splitlines() if re.match(r"a race|none within|undecided", line)])
    return done.rc
