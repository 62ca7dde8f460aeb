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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import pandas as pd

from outrisk.errors import ExpressionError, first_line
from outrisk.grammar import ARITHMETIC, COMPARISONS, FUNCTIONS, LONGEST, check_tree, parse_python


@dataclass(frozen=True, eq=False)
class Expression:
    """A checked expression: its text, its tree, and the columns that it names, by their name in the tree."""

    text: str
    tree: ast.expr
    columns: Mapping[str, str]

    def unknown(self, known: Iterable[str]) -> list[str]:
        """Names in it that are none of these columns, in alphabetical order."""
        return sorted(set(self.columns.values()) - set(known))

    def stray(self, can_be: Callable[[str, Any], bool], numbers: Collection[str]) -> tuple[str, str] | None:
        """The first column that is tested for equality with what it cannot be, and that, as written.

        Such a test is true, or false, for every record, which is never what was meant. can_be: whether a column can
        have a value. numbers: columns of numbers, which may be compared with what is computed.
        """
        for name, other in self._equated():
            if isinstance(other, ast.Constant):
                fits = can_be(name, other.value)
            elif isinstance(other, ast.Name):
                fits = (name in numbers) == (self.columns[other.id] in numbers)
            else:
                fits = name in numbers
            if not fits:
                return name, ast.unparse(other)
        return None

    def _equated(self) -> Iterator[tuple[str, ast.expr]]:
        """Each column with what `==`, `!=`, `in`, `not in` or `isin` hold it against, values of a list one by one."""
        pairs = list[tuple[ast.expr, ast.expr]]()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                for left, sign, right in zip(sides, node.ops, sides[1:], strict=False):
                    if isinstance(sign, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
                        pairs += [(left, right), (right, left)]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "isin":
                pairs += [(node.func.value, part) for part in node.args]
        for column, other in pairs:
            if isinstance(column, ast.Name):
                for part in other.elts if isinstance(other, ast.List | ast.Tuple) else [other]:
                    yield self.columns[column.id], part

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
        left, right = (_number(_value(side, columns), side) for side in (node.left, node.right))
        if not isinstance(node.op, ast.FloorDiv | ast.Mod):
            left, right = left * 1.0, right * 1.0  # whole numbers of 64 bits go on from the least beyond the greatest
        return ARITHMETIC[type(node.op)](left, right)
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
        return COMPARISONS[type(sign)](left, right)
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
