"""Sums in a data file: numbers and names under + - * / min max. Nothing else is read, and nothing is run."""

from __future__ import annotations

import ast
import operator


def share(whole: float, parts: float) -> float:
    """Nothing where there are no parts: a forecast is no place to fail."""
    return whole / parts if parts else 0.0


OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: share}
FUNCTIONS = {"min": min, "max": max}


class Sum:
    """What a text says; ValueError where it says something else."""

    def __init__(self, text: str):
        try:
            self.tree = ast.parse(text, mode="eval").body
        except (SyntaxError, RecursionError) as error:
            raise ValueError(f"it cannot be read: {error}") from error
        self.names = frozenset(self.names_in(self.tree))

    def names_in(self, node: ast.expr) -> list[str]:
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return []
            case ast.Name(id=name):
                return [name]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATIONS:
                return self.names_in(left) + self.names_in(right)
            case ast.Call(func=ast.Name(id=name), args=[*args], keywords=[]) if name in FUNCTIONS and len(args) > 1:
                return [found for one in args for found in self.names_in(one)]
        raise ValueError(f"{ast.unparse(node)!r} is neither a number, a name, nor + - * / min max of such")

    def value(self, known: dict[str, float], node: ast.expr | None = None) -> float:
        match node or self.tree:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return known[name]
            case ast.BinOp(left=left, op=op, right=right):
                return OPERATIONS[type(op)](self.value(known, left), self.value(known, right))
            case ast.Call(func=func, args=args):
                return FUNCTIONS[func.id](self.value(known, one) for one in args)
        raise AssertionError("names_in has let something through")
