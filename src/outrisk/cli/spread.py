"""Options that take several values after one name: `--keys a b c` for `--keys a --keys b --keys c`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand, TyperOption

_NEGATIVE = re.compile(r"-\d+(\.\d+)?")


class Spread(TyperCommand):
    """A command whose repeatable options take values up to the next option; an argument stands before options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the name of a repeatable option before each of its values, then parse as usual."""
        repeatable = {
            name
            for parameter in self.params
            if isinstance(parameter, TyperOption) and parameter.multiple
            for name in parameter.opts
        }
        return super().parse_args(ctx, spread(args, repeatable))


def spread(arguments: Sequence[str], repeatable: set[str]) -> list[str]:
    """The arguments with each further value of a repeatable option under its own name.

    A value that begins with a dash is written `--keys=-x`; a number below zero is no option.
    """
    found: list[str] = []
    option, fresh = "", False
    for argument in arguments:
        if argument.startswith("-") and argument != "-" and not _NEGATIVE.fullmatch(argument):
            name = argument.split("=", 1)[0]
            option = name if name in repeatable else ""
            fresh = option != "" and "=" not in argument
            found.append(argument)
        elif option and not fresh:
            found += [option, argument]
        else:
            found.append(argument)
            fresh = False
    return found
