"""The grammar of expressions in files: which syntax trees are of it. Nothing here computes anything."""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from outrisk.errors import ExpressionError, first_line

LONGEST = 5_000  # characters
_LARGEST_POWER = 64
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "log": np.log, "log10": np.log10, "log2": np.log2, "log1p": np.log1p, "exp": np.exp, "expm1": np.expm1,
    "sqrt": np.sqrt, "abs": np.abs, "round": np.round, "floor": np.floor, "ceil": np.ceil, "sign": np.sign,
    "minimum": np.minimum, "maximum": np.maximum, "isna": pd.isna,
}  # fmt: skip
MOST_ARGUMENTS = {"round": 2, "minimum": 2, "maximum": 2}  # a further one would be written to; 1 for all others
METHODS = {"abs": 0, "between": 2, "isin": 1, "isna": 0, "notna": 0, "round": 1}  # with how many arguments at most
ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_SIGNS = (ast.USub, ast.UAdd)
_BITS = (ast.BitAnd, ast.BitOr)


def parse_python(source: str) -> ast.expr:
    """The tree of one Python expression, which nothing is done with; ExpressionError where there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's advice on odd literals
            return ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError("is not an expression; write for example age >= 27") from None


def named_in(text: str, names: Iterable[str]) -> list[str]:
    """Those of some names that stand in a text as words of their own."""
    return [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]


def refuse(node: ast.AST, words: str = "") -> ExpressionError:
    """The error for a part of an expression that the grammar does not have."""
    shown = first_line(ValueError(ast.unparse(node)))
    shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
    return ExpressionError(
        f"has {shown!r}, which {words or 'no expression may have'} (docs/study-file.md has the grammar)"
    )


def check_tree(node: ast.expr, check_call: Callable[[ast.Call], None] | None = None, bits: bool = False) -> None:
    """ExpressionError unless the tree is of the grammar.

    check_call: says which calls are, by default those of FUNCTIONS and METHODS. bits: & and | are in the tree.
    """

    def check(part: ast.expr) -> None:
        check_tree(part, check_call, bits)

    if isinstance(node, ast.Name):
        if node.id.startswith("__"):
            raise refuse(node)
    elif isinstance(node, ast.Constant):
        check_constant(node)
    elif isinstance(node, ast.BoolOp):
        for part in node.values:
            check(part)
    elif isinstance(node, ast.UnaryOp):
        check(node.operand)
    elif isinstance(node, ast.BinOp) and (type(node.op) in ARITHMETIC or (bits and isinstance(node.op, _BITS))):
        _check_arithmetic(node)
        check(node.left)
        check(node.right)
    elif isinstance(node, ast.Compare):
        check(node.left)
        for sign, part in zip(node.ops, node.comparators, strict=True):
            if not _has_list(node, sign, part):
                check(part)
    elif isinstance(node, ast.Call):
        (check_call or _check_call)(node)
    else:
        raise refuse(node)


def check_constant(node: ast.Constant) -> None:
    """A number, text, True or False."""
    if not isinstance(node.value, str | int | float):
        raise refuse(node, "is neither a number nor text")
    if isinstance(node.value, int) and abs(node.value) > 2**63:
        raise refuse(node, "is too large")


def _check_arithmetic(node: ast.BinOp) -> None:
    """No text, and no power that takes long to compute."""
    if any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, node.right)):
        raise refuse(node, "computes with text")
    if isinstance(node.op, ast.Pow):
        named = any(isinstance(part, ast.Name) for part in ast.walk(node))
        exponent = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
        small = isinstance(exponent, ast.Constant) and abs(float(exponent.value)) <= _LARGEST_POWER  # type: ignore[arg-type]
        computed = any(isinstance(part, ast.Name) for part in ast.walk(exponent))
        if not named or not (small or computed):
            raise refuse(node, f"is a power above {_LARGEST_POWER}, or one of numbers alone: write the number")


def _has_list(node: ast.Compare, sign: ast.cmpop, part: ast.expr) -> bool:
    """Whether a comparison is with a list of values, as one by `in` must be."""
    if not isinstance(part, ast.List | ast.Tuple):
        if type(sign) not in COMPARISONS:
            raise refuse(node, "needs a list of values, as in x in [1, 2]")
        return False
    if not isinstance(sign, ast.In | ast.NotIn | ast.Eq | ast.NotEq):
        raise refuse(node)
    check_list(part)
    return True


def check_list(node: ast.expr) -> None:
    """A list of numbers or texts."""
    if not isinstance(node, ast.List | ast.Tuple):
        raise refuse(node, "is not a list")
    for part in node.elts:
        number = part.operand if isinstance(part, ast.UnaryOp) and isinstance(part.op, _SIGNS) else part
        if not isinstance(number, ast.Constant):
            raise refuse(part, "is not a value in a list")
        check_constant(number)


def _check_call(node: ast.Call) -> None:
    if node.keywords:
        raise refuse(node, "names an argument")
    function = node.func
    if isinstance(function, ast.Name) and function.id in FUNCTIONS:
        check_arguments(node, function.id)
        for part in node.args:
            check_tree(part)
    elif isinstance(function, ast.Attribute) and function.attr in METHODS:
        check_tree(function.value)
        if len(node.args) > METHODS[function.attr]:
            raise refuse(node, f"has more arguments than {function.attr} takes")
        for part in node.args:
            if isinstance(part, ast.List | ast.Tuple):
                check_list(part)
            else:
                check_tree(part)
    else:
        raise refuse(node, "is no function of expressions")


def check_arguments(node: ast.Call, function: str) -> None:
    """As many arguments as a function takes."""
    if not 1 <= len(node.args) <= MOST_ARGUMENTS.get(function, 1):
        raise refuse(node, f"has not the arguments that {function} takes")
