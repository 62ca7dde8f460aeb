"""Expressions in files: one small grammar, checked as a syntax tree before anything is computed, and never run as code.

An expression is made of columns (a name with spaces in `backticks`), numbers, 'text', comparisons (also chained, and
`in [...]`), `and or not & | ~`, `+ - * / // % **` of numbers, the functions of `FUNCTIONS` and methods of `METHODS`.
Anything else is refused: other names and calls, attributes, `@`, subscripts, assignments. `&` and `|` bind like `and`
and `or`, as in pandas. The terms of a formula have a grammar of their own (see outputs.regression.terms).
"""

from __future__ import annotations

import ast
import operator
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
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
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_SIGNS = (ast.USub, ast.UAdd)
_BITS = (ast.BitAnd, ast.BitOr)


@dataclass(frozen=True, eq=False)
class Expression:
    """A checked expression: its text, its tree, and the columns that it names, by their name in the tree."""

    text: str
    tree: ast.expr
    columns: Mapping[str, str]

    def unknown(self, known: Iterable[str]) -> list[str]:
        """Names in it that are none of these columns, in alphabetical order."""
        return sorted(set(self.columns.values()) - set(known))

    def evaluate(self, frame: pd.DataFrame) -> Any:
        """Its value for each record (a Series), or one value for all; ExpressionError where it has none."""
        unknown = self.unknown(map(str, frame.columns))
        if unknown:
            raise ExpressionError(f"names '{unknown[0]}', which is no column")
        try:
            with np.errstate(all="ignore"):
                return _value(self.tree, {name: frame[column] for name, column in self.columns.items()})
        except ExpressionError:
            raise
        except Exception as error:  # pandas' own, such as of text that is compared with a number
            raise ExpressionError(f"fails: {first_line(error)}") from None


@lru_cache(maxsize=1024)
def read_expression(text: str) -> Expression:
    """Parse and check an expression; ExpressionError, in words that follow the expression, unless it is of the grammar.

    Nothing is computed.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"is longer than {LONGEST:,} characters; derive a variable first")
    source, quoted = _without_backticks(text)
    tree = parse_python(source)
    try:
        check_tree(tree)
    except RecursionError:
        raise ExpressionError("is nested too deeply; derive a variable first") from None
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - _called(tree)
    return Expression(text, tree, {name: quoted.get(name, name) for name in sorted(named)})


def parse_python(source: str) -> ast.expr:
    """The tree of one Python expression, which nothing is done with; ExpressionError where there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's advice on odd literals
            return ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError("is not an expression; write for example age >= 27") from None


def _without_backticks(text: str) -> tuple[str, dict[str, str]]:
    """The text with names for `quoted columns`, and with `and`, `or` for & and |; quoted text is left as it is."""
    pieces, quoted, at = list[str](), dict[str, str](), 0
    while at < len(text):
        sign = text[at]
        if sign in "'\"`":
            end = at + 1
            while end < len(text) and text[end] != sign:
                end += 2 if text[end] == "\\" and sign != "`" else 1
            if sign == "`":
                if end >= len(text):
                    raise ExpressionError("has a ` that is not closed")
                name = f"_quoted_column_{len(quoted)}"
                quoted[name] = text[at + 1 : end]
                pieces.append(f" {name} ")
            else:
                pieces.append(text[at : end + 1])
            at = end + 1
            continue
        pieces.append({"&": " and ", "|": " or "}.get(sign, sign))
        at += 1
    source = "".join(pieces)
    # Python reads a name in its compatibility form, so that a column may have another
    plain = {unicodedata.normalize("NFKC", word): word for word in _words(source) if not word.isascii()}
    return source, {**{name: word for name, word in plain.items() if name != word}, **quoted}


def _words(source: str) -> list[str]:
    return "".join(sign if sign.isalnum() or sign == "_" else " " for sign in source).split()


def _called(tree: ast.expr) -> set[str]:
    return {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}


def refuse(node: ast.AST, words: str = "") -> ExpressionError:
    """The error for a part of an expression that the grammar does not have."""
    shown = first_line(ValueError(ast.unparse(node)))
    shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
    return ExpressionError(f"has {shown!r}, which {words or 'no expression may have'} (docs/files.md has the grammar)")


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
    elif isinstance(node, ast.BinOp) and (type(node.op) in _ARITHMETIC or (bits and isinstance(node.op, _BITS))):
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
        large = isinstance(exponent, ast.Constant) and abs(float(exponent.value)) > _LARGEST_POWER  # type: ignore[arg-type]
        if large or not named:
            raise refuse(node, f"is a power above {_LARGEST_POWER}, or one of numbers alone: write the number")


def _has_list(node: ast.Compare, sign: ast.cmpop, part: ast.expr) -> bool:
    """Whether a comparison is with a list of values, as one by `in` must be."""
    if not isinstance(part, ast.List | ast.Tuple):
        if type(sign) not in _COMPARISONS:
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


def _value(node: ast.expr, columns: Mapping[str, Any]) -> Any:
    """The value of a checked tree."""
    if isinstance(node, ast.Name):
        return columns[node.id]
    if isinstance(node, ast.BoolOp):
        combine = operator.and_ if isinstance(node.op, ast.And) else operator.or_
        return reduce(combine, (_truth(_value(part, columns), part) for part in node.values))
    if isinstance(node, ast.UnaryOp):
        value = _value(node.operand, columns)
        if isinstance(node.op, ast.Not | ast.Invert):
            truth = _truth(value, node.operand)
            return not truth if isinstance(truth, bool) else ~truth
        return -value if isinstance(node.op, ast.USub) else +value
    if isinstance(node, ast.BinOp):
        return _ARITHMETIC[type(node.op)](*(_number(_value(side, columns), side) for side in (node.left, node.right)))
    if isinstance(node, ast.Compare):
        sides = [_value(part, columns) for part in (node.left, *node.comparators)]
        links = [_compared(*each) for each in zip(sides, node.ops, sides[1:], strict=False)]
        return reduce(operator.and_, links)
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(part, columns) for part in node.elts]
    if isinstance(node, ast.Call):
        arguments = [_value(part, columns) for part in node.args]
        if isinstance(node.func, ast.Attribute):
            return getattr(_value(node.func.value, columns), node.func.attr)(*arguments)
        return FUNCTIONS[node.func.id](*arguments)  # type: ignore[attr-defined]
    return node.value  # type: ignore[attr-defined]


def _compared(left: Any, sign: ast.cmpop, right: Any) -> Any:
    if not isinstance(right, list):
        return _COMPARISONS[type(sign)](left, right)
    found = left.isin(right) if isinstance(left, pd.Series) else left in right
    return found if isinstance(sign, ast.In | ast.Eq) else ~found if isinstance(left, pd.Series) else not found


def _number(value: Any, node: ast.expr) -> Any:
    """A value that can be computed with: text would be repeated as often as a number says."""
    if isinstance(value, pd.Series) and not pd.api.types.is_numeric_dtype(value.dtype):
        raise ExpressionError(f"fails: {ast.unparse(node)!r} is not a number for each record")
    return value


def _truth(value: Any, node: ast.expr) -> Any:
    """A value that is true or false, for each record or for all."""
    if isinstance(value, bool | np.bool_) or (isinstance(value, pd.Series) and pd.api.types.is_bool_dtype(value.dtype)):
        return bool(value) if isinstance(value, np.bool_) else value
    raise ExpressionError(f"fails: {ast.unparse(node)!r} is not true or false for each record")
