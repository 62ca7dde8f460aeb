"""Every option that a message names is one of the command that prints it."""

import ast
import inspect
import re
from pathlib import Path

import pytest
import typer.main

import outrisk
from outrisk.cli.commands import app

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "outrisk"
OPTION = re.compile(r"(?<![\w(-])--[a-z][a-z-]*")
OF_A_COMMAND = re.compile(r"outrisk (\w+)[^`;<\n]*")  # up to the end of what is quoted
PRINTED_BY = {  # the commands that can print a module's messages
    "acro/folder_faults.py": (),  # it names the command
    "acro/study_of_session.py": ("init",),
    "api/acro_copies.py": ("report",),
    "api/acro_folders.py": ("init",),
    "api/measuring.py": ("measure",),
    "api/not_over_inputs.py": ("assess", "teach"),
    "api/starter.py": ("init",),
    "api/studies.py": ("assess",),
    "assess/backends.py": ("assess",),
    "assess/certain_people.py": ("prove",),
    "assess/look/data_changed.py": ("assess", "check"),
    "assess/look/unlike_data.py": ("assess", "check"),
    "cli/assess.py": ("assess",),
    "cli/check.py": ("check",),
    "cli/init.py": ("init",),
    "codebook.py": (),  # it names the command
    "config.py": ("assess", "check", "prove", "follow", "teach"),
    "records/directory.py": ("assess", "teach"),
    "report/comparison.py": ("compare",),
    "report/pages/measured_page.py": ("measure",),
    "report/templates/study/certain_values.html": (),  # it names the command
    "report/templates/teaching/making.html": ("teach",),
    "report/templates/teaching/relations.html": ("teach",),
    "risk/synthpop/disclosure.py": ("measure",),
    "side_by_side/forked.py": ("assess",),
    "tabular/delimited.py": ("assess", "check", "prove", "follow", "teach", "init", "measure"),
    "teach/making.py": ("teach",),
}
NO_MESSAGES = {"report/drawing.py"}  # names of colours in a style sheet
COMMANDS = typer.main.get_command(app).commands
OPTIONS = {name: {word for each in command.params for word in each.opts} for name, command in COMMANDS.items()}


def texts_of(tree):
    """Every text that is no docstring, an f-string with {} for what it inserts."""
    holders = (ast.Module, ast.FunctionDef, ast.ClassDef)
    nodes = [node for node in ast.walk(tree) if isinstance(node, holders) and isinstance(node.body[0], ast.Expr)]
    apart = {id(node.body[0].value) for node in nodes}
    found = []
    for node in ast.walk(tree):
        if id(node) in apart:
            continue
        if isinstance(node, ast.JoinedStr):
            apart |= {id(part) for part in node.values}
            found.append("".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return found


def said():
    """(place, text) of every text in the package that names an option."""
    for path in sorted(PACKAGE.rglob("*")):
        place = path.relative_to(PACKAGE).as_posix()
        if place == "cli/commands.py":
            for part in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(part, ast.FunctionDef) and part.name in COMMANDS:
                    yield from ((part.name, text) for text in texts_of(part) if OPTION.search(text))
        elif path.suffix in (".py", ".html") and place not in NO_MESSAGES:
            content = path.read_text(encoding="utf-8")
            found = texts_of(ast.parse(content)) if path.suffix == ".py" else [content]
            yield from ((place, text) for text in found if OPTION.search(text))


SAID = list(said())


def unknown(place, text):
    """Options named in a text that none of its commands, or the command that it names itself, has."""
    wrong = []

    def of_a_command(found):
        options = OPTIONS.get(found.group(1), set())
        wrong.extend(f"{found.group(1)} {option}" for option in OPTION.findall(found.group()) if option not in options)
        return ""

    rest = OF_A_COMMAND.sub(of_a_command, text)
    for option in OPTION.findall(rest):
        commands = (place,) if place in COMMANDS else PRINTED_BY.get(place, ())
        wrong += [
            f"{command} {option}" for command in commands or ("nobody",) if option not in OPTIONS.get(command, ())
        ]
    return wrong


def test_the_package_is_searched():
    assert len(SAID) > 40
    assert {place for place, _ in SAID} <= set(PRINTED_BY) | set(COMMANDS)


@pytest.mark.parametrize(("place", "text"), SAID)
def test_each_option_that_is_named_is_one_of_the_command(place, text):
    assert unknown(place, text) == []


def test_an_option_that_does_not_exist_is_seen():
    assert unknown("api/measuring.py", "say it: --sepp") == ["measure --sepp"]
    assert unknown("api/starter.py", "say it: `outrisk assess --sep ';'`, or --sep here") == ["assess --sep"]


OF_FILES = {  # what only a command has: files that it reads and writes, a study that is trusted, what it prints
    *("acro", "csv", "data", "decimal", "details", "dta", "encoding", "force", "html", "json", "out", "parquet"),
    *("records", "sav", "sep", "study", "trust", "help", "each_one"),
}


@pytest.mark.parametrize("command", ["assess", "check", "follow", "init", "measure", "prove", "teach"])
def test_options_are_called_as_in_python(command):
    """An option that is given again and again is in the singular."""
    known = inspect.signature(getattr(outrisk, command)).parameters
    options = {parameter.name for parameter in COMMANDS[command].params} - OF_FILES
    assert {name for name in options if name not in known and f"{name}s" not in known} == set()
