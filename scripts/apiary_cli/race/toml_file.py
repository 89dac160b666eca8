"""A TOML file of ours or of a user's: what stands in it is held to what may, and a fault says what was seen, why it is
refused, and the remedy."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Iterable

from ..base import given
from ..base.errors import Fault, USAGE, unknown


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

    def only(self, table: dict, keys: Iterable[str], of: str) -> None:
        """Refuses a key that nobody reads."""
        for key in table:
            if key not in keys:
                raise self.unknown(f"key of {of}", key, keys)

    def whole(self, key: str, value: object, least: int = 1, most: int = given.MOST) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            seen = repr(value) if len(repr(value)) < 60 else f"{repr(value)[:60]}…"
            raise self.refuse(f"{key} is {seen}", f"{key} is a whole number from {least} to {most}")
        return value

    def above_zero(self, key: str, value: object, most: float) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= most:
            raise self.refuse(f"{key} is {value!r}", f"{key} is a number above 0, at most {most:.0f}")
        return float(value)

    def flag(self, key: str, value: object) -> bool:
        if not isinstance(value, bool):
            raise self.refuse(f"{key} is {value!r}", f"{key} is true or false")
        return value

    def text(self, key: str, value: object) -> str:
        if not isinstance(value, str) or not value.strip() or "\n" in value:
            raise self.refuse(f"{key} is {value!r}", f"{key} is one line of words in quotation marks")
        return value

    def names(self, key: str, value: object, example: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise self.refuse(f"{key} is {value!r}", f"a list of names: {key} = {example}")
        return tuple(value)

    def table(self, key: str, value: object, example: str) -> dict:
        if not isinstance(value, dict):
            raise self.refuse(f"{key} is {value!r}", f"{key} = {example}")
        return value
