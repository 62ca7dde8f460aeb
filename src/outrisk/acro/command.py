"""The command of an ACRO output, as far as one line of Python tells: read as a syntax tree, never run."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from outrisk.errors import ExpressionError
from outrisk.expressions import read_expression

_COMPARED = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}


@dataclass(frozen=True)
class Command:
    """What a command says. frames: names of the data frames it uses; where: a subset of one, as an expression.

    whole: it could be read to its end. unread: a subset or an argument that has no meaning outside its session.
    """

    method: str = ""
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    aggfunc: tuple[str, ...] = ()
    margins: bool = False
    normalize: str = ""
    formula: str = ""
    frames: tuple[str, ...] = ()
    where: str = ""
    whole: bool = True
    unread: tuple[str, ...] = ()


@dataclass
class _Reading:
    frames: list[str] = field(default_factory=list)
    where: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def read_command(text: str) -> Command:
    """The command; `whole` is False where its text breaks off or is no Python."""
    try:
        tree = ast.parse(text.strip(), mode="exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Command(method=text.partition("(")[0].rpartition(".")[2].strip(), whole=False)
    call = next((node for node in ast.walk(tree) if isinstance(node, ast.Call)), None)
    if call is None:
        return Command(whole=False)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
    options = {each.arg: each.value for each in call.keywords if each.arg}
    reading = _Reading()
    if method in ("crosstab", "surv_func"):
        first, second = ("index", "columns") if method == "crosstab" else ("time", "status")
        one, other = _argument(call, options, 0, first), _argument(call, options, 1, second)
        return Command(
            method,
            _names(one, reading),
            _names(other, reading),
            _names(options.get("values"), reading),
            _words(options.get("aggfunc")),
            _is_true(options.get("margins")),
            _normalize(options.get("normalize")),
            frames=tuple(dict.fromkeys(reading.frames)),
            where=" and ".join(dict.fromkeys(reading.where)),
            unread=tuple(reading.unread),
        )
    if method == "pivot_table":
        _frame(_argument(call, options, 0, "data"), reading)
        return Command(
            method,
            _names(options.get("index"), reading),
            _names(options.get("columns"), reading),
            _names(options.get("values"), reading),
            _words(options.get("aggfunc")) or ("mean",),
            _is_true(options.get("margins")),
            frames=tuple(dict.fromkeys(reading.frames)),
            where=" and ".join(dict.fromkeys(reading.where)),
            unread=tuple(reading.unread),
        )
    return _of_model(method, call, options, reading)


def _of_model(method: str, call: ast.Call, options: dict[str, ast.expr], reading: _Reading) -> Command:
    formula = _argument(call, options, 0, "formula")
    text = formula.value if isinstance(formula, ast.Constant) and isinstance(formula.value, str) else ""
    if text:
        _frame(_argument(call, options, 1, "data"), reading)
    return Command(
        method,
        formula=text,
        frames=tuple(dict.fromkeys(reading.frames)),
        where=" and ".join(dict.fromkeys(reading.where)),
        unread=tuple(reading.unread),
    )


def _argument(call: ast.Call, options: dict[str, ast.expr], at: int, name: str) -> ast.expr | None:
    return call.args[at] if len(call.args) > at else options.get(name)


def _names(node: ast.expr | None, reading: _Reading) -> tuple[str, ...]:
    """Names of variables in an argument: df.x, df["x"], "x", a bare name, or a list of these."""
    if node is None:
        return ()
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(name for each in node.elts for name in _names(each, reading))
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return (node.value,)
    if isinstance(node, ast.Attribute):
        _frame(node.value, reading)
        return (node.attr,)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        _frame(node.value, reading)
        return (node.slice.value,)
    if isinstance(node, ast.Name):
        return (node.id,)
    reading.unread.append(ast.unparse(node))
    return ("?",)


def _frame(node: ast.expr | None, reading: _Reading) -> None:
    """A data frame: its name, and the subset that it is cut down to."""
    if node is None:
        return
    if isinstance(node, ast.Name):
        reading.frames.append(node.id)
    elif isinstance(node, ast.Subscript):
        inner = node.value.value if isinstance(node.value, ast.Attribute) and node.value.attr == "loc" else node.value
        _frame(inner, reading)
        condition = _condition(node.slice)
        if condition and _is_expression(condition):
            reading.where.append(condition)
        else:
            reading.unread.append(ast.unparse(node))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        _frame(node.func.value, reading)
        query = node.args[0] if node.args else None
        if node.func.attr == "query" and isinstance(query, ast.Constant) and isinstance(query.value, str):
            if _is_expression(query.value):
                reading.where.append(query.value)
            else:
                reading.unread.append(query.value)
        elif node.func.attr not in ("copy", "reset_index", "dropna"):
            reading.unread.append(ast.unparse(node))
    else:
        reading.unread.append(ast.unparse(node))


def _condition(node: ast.expr) -> str:
    """A subset's condition as OutRisk writes one; '' for what it has no word for."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        left, right = _condition(node.left), _condition(node.right)
        word = "and" if isinstance(node.op, ast.BitAnd) else "or"
        return f"({left} {word} {right})" if left and right else ""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        inner = _condition(node.operand)
        return f"not ({inner})" if inner else ""
    if isinstance(node, ast.Compare) and all(type(each) in _COMPARED for each in node.ops):
        parts = [_value(node.left), *map(_value, node.comparators)]
        signs = [_COMPARED[type(each)] for each in node.ops]
        if all(parts):
            return parts[0] + "".join(f" {sign} {part}" for sign, part in zip(signs, parts[1:], strict=True))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "isin" and node.args:
        column, values = _value(node.func.value), _value(node.args[0])
        return f"{column} in {values}" if column and values else ""
    return ""


def _value(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return _quoted(node.attr)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return _quoted(node.slice.value)
    try:
        return repr(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return ""


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def _is_expression(text: str) -> bool:
    try:
        read_expression(text)
    except ExpressionError:
        return False
    return True


def _words(node: ast.expr | None) -> tuple[str, ...]:
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(word for each in node.elts for word in _words(each))
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return (node.value,)
    return () if node is None else (ast.unparse(node),)


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _normalize(node: ast.expr | None) -> str:
    if not isinstance(node, ast.Constant) or node.value is False:
        return ""
    if node.value is True:
        return "all"
    return {"0": "index", "1": "columns"}.get(str(node.value), str(node.value))
