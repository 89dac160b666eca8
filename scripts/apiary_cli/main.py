"""Finds the verb, reads its options, runs it, and turns faults and signals into exit codes."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import errno
import importlib
import os
import re
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import NoReturn

from .base import environment, json_result, proc, repo
from .base.errors import Fault, HARNESS, Stopped, USAGE, columns, unknown
from .base.say import Progress, listing
from .verbs import completion, setup

VERBS = ("setup", "build", "check", "prove", "arbitrate", "hunt", "mutate", "museum", "stress", "faults", "soak", "selftest", "fuzz",
         "race", "compare", "bisect", "qualify", "tune", "hazards", "exact", "virtual", "calibrate", "report", "publish", "nightly", "merge",
         "doctor", "completion", "clean")
DECIDES = ("check", "prove", "arbitrate", "hunt", "mutate", "museum", "stress", "faults", "soak", "selftest", "fuzz", "race", "compare",
           "bisect", "qualify", "tune", "hazards", "exact", "virtual", "calibrate", "publish", "nightly", "merge", "doctor")
BARE = ("setup", "doctor", "clean")  # run without the libraries of scripts/requirements.txt
LISTS = ("prove", "race")  # whose --list does, too

INTRO = """\
apiary: a proving ground for task schedulers.

usage: scripts/apiary VERB [options]      scripts/apiary VERB --help says what a verb does
       scripts/apiary --version

two to begin with:
  scripts/apiary race --quick     set up, build, a short proof and stress, then a race and its report
  scripts/apiary check            set up, build, all tests
"""


class Parser(argparse.ArgumentParser):
    """argparse, but an unknown option is answered with the options that exist."""

    def error(self, message: str) -> NoReturn:
        options = sorted({name for action in self._actions for name in action.option_strings if name.startswith("--")})
        meaning = f"what they mean: {self.prog} --help"
        if message.startswith("the following arguments are required"):
            raise Fault(*self.lacking(message), USAGE)
        if value := re.fullmatch(r"argument (-\S+): '(.*)' is not (.*)", message, re.DOTALL):
            raise Fault(f"{value[1]} {value[2]}", f"it is not {value[3]}", f"{self.prog} --help", USAGE)
        given = re.fullmatch(r"unrecognized arguments: (--[\w-]+).*", message, re.DOTALL)
        near = difflib.get_close_matches(given[1], options, n=1, cutoff=0.6) if given else []
        raise Fault(f"{self.prog}: {message}", f"did you mean {near[0]}?" if near else "",
                    f"the options that exist:\n{columns(options)}\n{meaning}", USAGE)

    def lacking(self, message: str) -> tuple[str, str, str]:
        """Seen, cause and remedy. argparse counts a word that may be missing among the required ones."""
        words = {str(action.metavar or action.dest): action.nargs for action in self._actions if not action.option_strings}
        needed = [word for word, nargs in words.items() if nargs not in ("*", "?")]
        said, _, named = message.partition(": ")
        named = ", ".join(word for word in named.split(", ") if word not in words or word in needed)
        return f"{self.prog}: {said}: {named}", "", f"{' '.join([self.prog, *needed])}\nwhat they mean: {self.prog} --help"


def verb_module(name: str):
    return importlib.import_module(f".verbs.{name}", __package__)


def overview() -> str:
    return "\n".join([INTRO, "verbs:", listing((name, verb_module(name).SUMMARY) for name in VERBS)])


def parse(name: str, words: list[str]) -> argparse.Namespace:
    module = verb_module(name)
    parser = Parser(prog=f"scripts/apiary {name}", description=module.DESCRIPTION,
                    formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    arguments(name, parser)
    read = parser.parse_intermixed_args if getattr(module, "INTERMIXED", False) else parser.parse_args
    return read(words)


def arguments(name: str, parser: argparse.ArgumentParser) -> None:
    verb_module(name).arguments(parser)
    if name in DECIDES:
        json_result.argument(parser)


def answer_the_shell() -> None:
    """Where it asks for completions, argcomplete answers and ends the process."""
    import argcomplete

    parser = argparse.ArgumentParser(prog="scripts/apiary", add_help=False)
    parser.add_argument("--version", action="store_true")
    verbs = parser.add_subparsers(dest="verb")
    for name in VERBS:
        one = verbs.add_parser(name, help=verb_module(name).SUMMARY)
        arguments(name, one)
        completion.complete(name, one)
    argcomplete.autocomplete(parser, always_complete_options="long")


def dispatch(words: list[str]) -> int:
    if "_ARGCOMPLETE" in os.environ:
        answer_the_shell()
    if words[:1] == ["--version"]:
        print(f"apiary {repo.version()} ({repo.commit()[:12]}{', changed' if repo.dirty() else ''})")
        return 0
    if words[:1] == ["help"] and words[1:]:
        words = [*words[1:2], "--help"]
    if not words or words[0] in ("-h", "--help", "help"):
        print(overview())
        return 0 if words else USAGE
    name, *rest = words
    if name not in VERBS:
        raise unknown("option" if name.startswith("-") else "verb", name, [*VERBS, "help", "--help", "--version"])
    args = parse(name, rest)
    if getattr(args, "json", None) is not None:
        return with_record(name, args, args.json if args.json == json_result.STDOUT else repo.writable("--json", args.json))
    return carry_out(name, args)


def carry_out(name: str, args: argparse.Namespace) -> int:
    with contextlib.nullcontext() if name == "clean" else repo.at_work():
        if name not in BARE and not (name in LISTS and args.list):
            setup.fetch_libraries()
        return verb_module(name).run(args)


def with_record(name: str, args: argparse.Namespace, where: str | Path) -> int:
    """--json: what the verb noted, and how it ended."""
    began, code, told, real = time.monotonic(), HARNESS, None, sys.stdout
    try:
        if where == json_result.STDOUT:
            sys.stdout = sys.stderr
        code = carry_out(name, args)
        return code
    except BaseException as error:
        code, fault = ended_by(error, name)
        told = fault and {"seen": fault.seen, "cause": fault.cause, "remedy": fault.remedy}
        raise
    finally:
        Progress.hide()
        sys.stdout = real
        json_result.write(where, name, code, time.monotonic() - began, told)


def full_disks() -> list[str]:
    """The file systems of this work that have no room left: where, which, how much is free."""
    found = {}
    for path in (repo.ROOT, repo.BUILD, repo.RESULTS, Path(tempfile.gettempdir()), Path.cwd()):
        path = next(one for one in (path, *path.parents) if one.exists())
        room = os.statvfs(path)
        free = room.f_bavail * room.f_frsize
        if free < 1 << 20 or room.f_files and not room.f_favail:
            found.setdefault(os.stat(path).st_dev, f"{mount_of(path)} ({free // 1024} KiB and {room.f_favail} files free)")
    return list(found.values())


def mount_of(path) -> str:
    """The mount point of a path, and its device."""
    path = next(one for one in (path.resolve(), *path.resolve().parents) if os.path.ismount(one))
    mounts = map(str.split, environment.read("/proc/self/mounts").splitlines())
    devices = [words[0] for words in mounts if words[1:2] == [str(path)]]
    return f"{path} on {devices[-1]}" if devices else str(path)


def of_system(error: OSError) -> Fault:
    """What the system refused, and where it was asked."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        full = full_disks()
        where = ", ".join(full) or error.filename or "this user's share of it"
        from .race import folder  # here, so that a command starts without what it takes to read a race's

        remedy = "make room there: scripts/apiary clean removes the builds"
        if folder.unfinished():
            needed = "build/release, build/python and tokio_baseline/target"
            remedy = f"make room there, and leave {needed}: scripts/apiary race --resume goes on by them"
        return Fault(f"the disk is full: {where}", str(error.strerror), remedy)
    frames = traceback.extract_tb(error.__traceback__)
    where = ([frame for frame in frames if "apiary_cli" in frame.filename] or frames)[-1:]
    asked = "".join(f" (asked by {os.path.basename(frame.filename)}:{frame.lineno})" for frame in where)
    return Fault(f"{error.filename or 'a system call'} cannot be used", f"{error.strerror or error}{asked}",
                 "look at the path, its permissions, and the room on the disk (df -h .)")


def ended_by(error: BaseException, verb: str) -> tuple[int, Fault | None]:
    """The exit status of what ended a verb, and what is told of it."""
    if isinstance(error, Stopped):
        return 128 + error.signum, None
    if isinstance(error, BrokenPipeError):  # nobody reads on: what works has stopped half-way
        return (128 + signal.SIGPIPE if verb in VERBS and verb != "completion" else 0), None
    if isinstance(error, OSError):  # of the system: a disk that is full, a file that may not be read or written
        error = of_system(error)
    elif not isinstance(error, Fault):
        seen, where = f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)).rstrip()
        error = Fault(seen, where, "it is a mistake of these scripts, and says nothing about what they looked at")
    return error.code, error


def settle() -> None:
    """What this process has from its parent and should not: git's variables of a hook name another repository; a stream that
    cannot say a word says it otherwise."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX"):
        os.environ.pop(name, None)
    for stream in (sys.stdout, sys.stderr):
        if stream:  # it may be closed
            stream.reconfigure(errors="backslashreplace")
    proc.usual_limits()
    proc.install_signals()
    proc.become_subreaper()


def main(words: list[str]) -> int:
    """Stopped at any moment, also while it says why it failed, it ends by the signal's status."""
    try:
        settle()
        return answer(words)
    except Stopped as stopped:
        last_words(f"\napiary: stopped by signal {stopped.signum}; nothing was left running")
        return 128 + stopped.signum
    finally:
        proc.deafen()
        proc.kill_all()


def answer(words: list[str]) -> int:
    try:
        code = dispatch(words)
        sys.stdout.flush()
        return code
    except Exception as error:
        code, fault = ended_by(error, next(iter(words), ""))
        last_words(fault.text() if fault else "")
        return code


def last_words(text: str) -> None:
    """After all that was printed. What cannot be written goes nowhere: Python would try again at the exit, and change its status."""
    Progress.hide()
    for stream, more in ((sys.stdout, ""), (sys.stderr, f"{text}\n" if text else "")):
        try:
            if stream:  # it may be closed
                stream.write(more)
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
