"""A TOML file of ours or of a user's: what stands in it is held to what may, and a fault says what was seen, why it is
refused, and the remedy. What may stand there is data: for each key a kind, which reads a value or refuses it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Callable, Iterable

from ..base import argument_kinds
from ..base.errors import Fault, USAGE, unknown

Kind = Callable[["TomlFile", str, object], object]  # given the file, what the value is called, and the value


class TomlFile:
    """A file, what it is (a plan, …) and where an example of it stands."""

    def __init__(self, path: Path, kind: str, example: str):
        self.path, self.kind, self.example = path, kind, example

    def read(self) -> dict:
        where = f"{self.kind} {self.path}"
        try:
            return tomllib.loads(self.path.read_text())
        except OSError as error:
            remedy = f"{self.example} has an example to begin with"
            raise Fault(f"{where} cannot be read", str(error.strerror), remedy, USAGE) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise Fault(f"{where} is no TOML", str(error), f"{self.example} has an example", USAGE) from error

    def refuse(self, seen: str, remedy: str, cause: str = "") -> Fault:
        return Fault(f"{self.kind} {self.path}: {seen}", cause, remedy, USAGE)

    def unknown(self, kind: str, seen: object, names: Iterable[str]) -> Fault:
        fault = unknown(kind, str(seen), names)
        fault.cause = f"{fault.cause} ({self.path})" if fault.cause else f"it stands in {self.path}"
        return fault

    def record(self, told: dict, kinds: dict[str, Kind], what: str, name: str = "", needed: Iterable[str] = ()) -> dict:
        """What a table says, read by the kind of each key. `what`: of which kind the table is; `name`: which of them."""
        for key in told:
            if key not in kinds:
                raise self.unknown(f"key of {what}", key, kinds)
        for key in needed:
            if key not in told:
                raise self.refuse(f"{what} has no {key}", f"the comment at its head says what {key} is")
        return {key: kinds[key](self, f"{key} of {name}" if name else key, value) for key, value in told.items()}


def whole(least: int = 1, most: int = argument_kinds.MOST) -> Kind:
    def read(file: TomlFile, key: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            seen = repr(value) if len(repr(value)) < 60 else f"{repr(value)[:60]}…"
            raise file.refuse(f"{key} is {seen}", f"{key} is a whole number from {least} to {most}")
        return value

    return read


def above_zero(most: float) -> Kind:
    def read(file: TomlFile, key: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= most:
            raise file.refuse(f"{key} is {value!r}", f"{key} is a number above 0, at most {most:.0f}")
        return float(value)

    return read


def flag(file: TomlFile, key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise file.refuse(f"{key} is {value!r}", f"{key} is true or false")
    return value


def text(file: TomlFile, key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\n" in value:
        raise file.refuse(f"{key} is {value!r}", f"{key} is one line of words in quotation marks")
    return value


def one_of(kind: str, known: Iterable[str]) -> Kind:
    def read(file: TomlFile, _: str, value: object) -> str:
        if not isinstance(value, str) or value not in known:
            raise file.unknown(kind, value, known)
        return value

    return read


def names(example: str = "", least: int = 1, kind: str = "", known: Iterable[str] = ()) -> Kind:
    """A list of names; of a `kind` those that are `known`."""
    example = example or f'["{next(iter(known))}"]'

    def read(file: TomlFile, key: str, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise file.refuse(f"{key} is {value!r}", f"a list of names: {key} = {example}")
        if len(value) < least:
            raise file.refuse(f"{key} is empty", f"at least one: {key.split()[0]} = {example}")
        for name in value if kind else ():
            if name not in known:
                raise file.unknown(kind, name, known)
        return tuple(value)

    return read


def table(example: str) -> Kind:
    def read(file: TomlFile, key: str, value: object) -> dict:
        if not isinstance(value, dict):
            raise file.refuse(f"{key} is {value!r}", f"{key} = {example}")
        return value

    return read


def tables(example: str, least: int = 1) -> Kind:
    def read(file: TomlFile, key: str, value: object) -> list[dict]:
        if not isinstance(value, list) or len(value) < least or not all(isinstance(one, dict) for one in value):
            raise file.refuse(f"{key} is {value!r}", f"at least one: {key.split()[0]} = [{example}]")
        return value

    return read
