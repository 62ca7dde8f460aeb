"""What a formula may say: checked before formulaic reads it, for formulaic runs the code inside terms, even to read it.

Between terms: columns, numbers, `+ - * / : ** ^ ~ ( )` and `%in%`. Inside a term, as in `C(x)` or `{a + b}`: the
grammar of `outrisk.grammar` with formulaic's transforms instead of methods.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from formulaic.errors import FormulaSyntaxError
from formulaic.parser import DefaultFormulaParser
from formulaic.parser.algos.tokenize import tokenize
from formulaic.parser.types import ASTNode, Token
from formulaic.transforms import contrasts
from formulaic.utils.code import sanitize_variable_names

from outrisk.codebook import Codebook, format_value
from outrisk.errors import ExpressionError, first_line
from outrisk.expressions import Expression
from outrisk.grammar import (
    FUNCTIONS,
    LONGEST,
    check_arguments,
    check_constant,
    check_list,
    check_tree,
    parse_python,
    refuse,
)
from outrisk.outputs.base import refuse_stray

_OPERATORS = re.compile(r"[-+*/:^~]+|in")
_NUMBER = re.compile(r"\d+\.?\d*|\.\d+")
_MOST_TERMS = 2_000
_HIGHEST_ORDER = 6
_TRANSFORMS = ("C", "I", "bs", "cc", "center", "cr", "cs", "lag", "poly", "scale", "standardize")
_CODINGS = ("Diff", "Helmert", "Poly", "Sum", "Treatment")
_CONTRASTS = ("SAS", "diff", "helmert", "poly", "sum", "treatment")  # of `contr`
_OPTIONS = ("base", "center", "degree", "df", "include_intercept", "raw", "reference", "scale", "without")
_LARGEST_OPTION = 100  # such as degrees of freedom
_WHOLE = ("I", "abs", "ceil", "floor", "maximum", "minimum", "round", "sign")  # make whole numbers of whole ones
_BITS = 63  # of a whole number, beside its sign


class Treatment(contrasts.TreatmentContrasts):  # type: ignore[misc]
    """Comparisons with a reference level, which is found by how it is written: 3 means the level '3' too.

    `without`: levels that get no column, for a fit on records none of which has them.
    """

    def __init__(
        self, reference: Any = contrasts.UNSET, base: Any = contrasts.UNSET, without: Sequence[Any] = ()
    ) -> None:
        self.base: Any = base if reference is contrasts.UNSET else reference
        self.without = tuple(map(format_value, without))

    @contrasts.Contrasts.override  # type: ignore[untyped-decorator, unused-ignore]
    def apply(self, dummies: Any, levels: Sequence[Any], reduced_rank: bool = True, output: str | None = None) -> Any:
        """The coded columns of dummies (n, levels)."""
        if self.without:
            kept = [at for at, level in enumerate(levels) if format_value(level) not in self.without]
            levels, dummies = [levels[at] for at in kept], dummies.iloc[:, kept]
        if self.base is not contrasts.UNSET and self.base not in levels:
            self.base = next((each for each in levels if format_value(each) == format_value(self.base)), self.base)
        if self.base is not contrasts.UNSET and self.base not in levels:
            known = ", ".join(format_value(each) for each in levels[:20])
            raise ValueError(f"reference {self.base!r} is not a level; levels are {known}")
        return super().apply(dummies, levels, reduced_rank, output)


CONTEXT: Mapping[str, Any] = {  # what terms may name beside columns and formulaic's own transforms
    **FUNCTIONS,
    "np": SimpleNamespace(**FUNCTIONS),
    "Treatment": Treatment,
    "contr": SimpleNamespace(
        **{name: getattr(contrasts.ContrastsRegistry, name) for name in _CONTRASTS} | {"treatment": Treatment}
    ),
}


def check_formula(text: str, names: Sequence[str], codebook: Codebook | None = None) -> None:
    """ExpressionError, in words that follow the formula, unless it is of the grammar and names these columns alone.

    codebook: by it, no category is compared with what is none of its levels, and whole numbers stay within 64 bits:
    beyond, they would go on from the least. Nothing is computed.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"is longer than {LONGEST:,} characters; derive a variable first")
    try:
        tokens = list(tokenize(text))
    except FormulaSyntaxError as error:
        raise ExpressionError(f"cannot be read: {first_line(error)}") from None
    try:
        for before, token in zip([None, *tokens], tokens, strict=False):
            _check_token(token, before, names, codebook)
        if _terms(DefaultFormulaParser().get_ast(text, context={})) > _MOST_TERMS:
            raise ExpressionError(f"has more than {_MOST_TERMS:,} terms; leave interactions out")
    except RecursionError:
        raise ExpressionError("is nested too deeply; derive a variable first") from None
    except ExpressionError:
        raise
    except Exception as error:  # formulaic's own errors have no common base
        raise ExpressionError(f"cannot be read: {first_line(error)}") from None


def _check_token(token: Token, before: Token | None, names: Sequence[str], codebook: Codebook | None) -> None:
    kind, text = token.kind, token.token
    if kind is Token.Kind.NAME:
        if text not in names:
            raise ExpressionError(f"names '{text}', which is not a variable; variables are {list(names)}")
    elif kind is Token.Kind.PYTHON:
        check_term(text, names, codebook)
    elif kind is Token.Kind.OPERATOR:
        if not _OPERATORS.fullmatch(text):
            raise ExpressionError(f"has '{text}', which no formula may have (docs/study-file.md has the grammar)")
        if text in ("^", "**") and before is not None and before.kind is not Token.Kind.CONTEXT:
            raise ExpressionError(
                f"has '{before.token}{text}...', which in a formula is no power but interactions with itself; "
                f"write I({before.token}**2)"
            )
    elif kind is Token.Kind.VALUE:
        order = before is not None and before.token in ("^", "**")
        if not _NUMBER.fullmatch(text) or (order and not (text.isdigit() and int(text) <= _HIGHEST_ORDER)):
            what = f"is no order of interactions from 1 to {_HIGHEST_ORDER}" if order else "no formula may have"
            raise ExpressionError(f"has {text}, which {what} (docs/study-file.md has the grammar)")
    elif text not in ("(", ")"):
        raise ExpressionError(f"has '{text}', which no formula may have (docs/study-file.md has the grammar)")


def check_term(text: str, names: Sequence[str], codebook: Codebook | None = None) -> None:
    """ExpressionError unless the code of a term is of the grammar, names these columns alone (see `check_formula`)."""
    aliases: dict[str, str] = {}
    tree = parse_python(sanitize_variable_names(text, {}, aliases, template="quoted_{}"))
    check_tree(tree, _check_call, bits=True)
    spoken = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in spoken and not _is_coding(node):
            name = aliases.get(node.id, node.id)
            if name not in names and not _inside(node, tree):
                raise ExpressionError(f"names '{name}', which is not a variable; variables are {list(names)}")
    if codebook is not None:
        columns = {node.id: aliases.get(node.id, node.id) for node in ast.walk(tree) if isinstance(node, ast.Name)}
        refuse_stray(
            Expression(text, tree, {name: column for name, column in columns.items() if column in names}), codebook
        )
        _check_bounds(tree, {name: _largest(codebook, column) for name, column in columns.items()})


def _largest(codebook: Codebook, name: str) -> int | None:
    """The greatest magnitude of a variable of whole numbers; with gaps, it is computed with as other numbers are."""
    whole = name in codebook and codebook[name].kind == "integer" and not codebook[name].missing
    return max(map(abs, codebook[name].values)) if whole else None


def _check_bounds(node: ast.expr, largest: Mapping[str, int | None]) -> float | None:
    """The greatest magnitude that whole numbers of a checked tree can reach; None for other numbers.

    ExpressionError where that is more than 64 bits hold.
    """
    if isinstance(node, ast.Name):
        return largest[node.id]
    if isinstance(node, ast.Constant):
        return abs(node.value) if isinstance(node.value, int) else None
    parts = [_check_bounds(part, largest) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    if isinstance(node, ast.Compare | ast.BoolOp):
        return 1
    if isinstance(node, ast.Call):
        whole = ast.unparse(node.func).removeprefix("np.") in _WHOLE
        given = parts[1:]  # without the function
        return max(given) if whole and None not in given else None  # type: ignore[type-var]
    if isinstance(node, ast.UnaryOp):
        return parts[0]
    if not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Div) or None in parts:
        return None
    left, right = (float(part or 0) for part in parts)
    if isinstance(node.op, ast.Pow):
        bits = right * math.log2(max(left, 1))
    else:
        bits = math.log2(max(left * right if isinstance(node.op, ast.Mult) else left + right, 1))
    if bits >= _BITS:
        raise refuse(node, "can pass the whole numbers there are: divide first, as in (age / 10)")
    return float(2.0**bits)


def _inside(name: ast.Name, tree: ast.expr) -> bool:
    """Whether it is the `np` or `contr` of a listed attribute."""
    return any(isinstance(node, ast.Attribute) and node.value is name for node in ast.walk(tree))


def _is_coding(node: ast.expr) -> bool:
    """Whether it names a way of coding a category, such as Sum or contr.helmert."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id == "contr" and node.attr in _CONTRASTS
    return isinstance(node, ast.Name) and node.id in _CODINGS


def _check_call(node: ast.Call) -> None:
    function, name = node.func, ast.unparse(node.func).removeprefix("np.")
    if name in FUNCTIONS:
        if node.keywords:
            raise refuse(node, "names an argument")
        check_arguments(node, name)
    elif (isinstance(function, ast.Name) and name in _TRANSFORMS) or _is_coding(function):
        _check_options(node)
    else:
        raise refuse(node, "is no function of formulas")
    for value in node.args:
        if _is_coding(value):
            continue
        if isinstance(value, ast.List | ast.Tuple):
            check_list(value)
        else:
            check_tree(value, _check_call, bits=True)


def _check_options(node: ast.Call) -> None:
    """Arguments of a transform beside the column: numbers, text, lists of these, ways of coding."""
    for option in node.keywords:
        if option.arg not in (*_OPTIONS, "contrasts"):
            raise refuse(node, f"has an unknown option; options are {', '.join(_OPTIONS)}")
    of_category = isinstance(node.func, ast.Name) and node.func.id == "C"
    for value in [*node.args[1:], *(option.value for option in node.keywords)]:
        coding = value.func if isinstance(value, ast.Call) else value
        if _is_coding(coding):
            if isinstance(value, ast.Call):
                _check_options(value)
        elif of_category:
            raise refuse(node, "codes a category by none of Treatment, Sum, Helmert, Diff, Poly")
        elif isinstance(value, ast.List | ast.Tuple):
            check_list(value)
        elif isinstance(value, ast.Constant):
            check_constant(value)
            numeric = isinstance(value.value, int | float) and not _is_reference(node)
            if numeric and abs(float(value.value)) > _LARGEST_OPTION:  # type: ignore[arg-type]
                raise refuse(node, f"has an option above {_LARGEST_OPTION}")
        elif not (isinstance(value, ast.UnaryOp) and isinstance(value.operand, ast.Constant)):
            raise refuse(node, "has an option that is no number, text or list of these")


def _is_reference(node: ast.Call) -> bool:
    return _is_coding(node.func)


def _terms(node: Token | ASTNode) -> int:
    """How many terms a formula has at most, before those that are alike are put together."""
    if not isinstance(node, ASTNode):
        return 1
    sizes = [_terms(part) for part in node.args]
    sign = node.operator.symbol
    if len(sizes) < 2 or sign in ("+", "-", "~"):
        return sum(sizes)
    left, right = sizes
    if sign in ("^", "**"):
        return int(left ** int(node.args[1].token))
    return left * right + (left + right if sign == "*" else left if sign == "/" else right if sign == "in" else 0)
