"""A session of Stata by its commands: each with what it prints, whom it is of, and how it is weighted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from outrisk.readers.smcl import is_smcl, plain_text

_PROMPT = re.compile(r"^\s*\. +(?![|.\d])(\S.*)$|^\.\s*$")
_IN_LOOP = re.compile(r"^\s{1,3}\d{1,3}\. (?!\s*\|)(\s*\S.*)$")
_CONTINUED = re.compile(r"^\s*> ?(.*)$")
_PREFIX = re.compile(
    r"""(?:(?:by|bys|byso|bysor|bysort|xi|svy|eststo|mi\s+est\w*|stepwise|bootstrap|jackknife|permute|nestreg|fp|mfp
    |statsby|rolling|collect|version\s[\d.]+|cap\w*|qui\w*|noi\w*)\b((?:[^:"']|"[^"]*")*):
    |(?:cap\w*|qui\w*|noi\w*|estpost|asdoc)(?=\s+[a-zA-Z])())\s*""",
    re.X,
)
_WEIGHT = re.compile(r"\[\s*([a-zA-Z]*w[a-zA-Z]*|[aipf]\w+)\s*=\s*([^\]]*)\]")
_SUBSET = re.compile(r"\b(if|in)\b(?!\()\s+(.+?)(?=\s+\b(?:in|using)\b\s|\s*\[|$)")
_COMMENT = re.compile(r"(?:^|\s)//(?!/).*$|/\*.*?\*/")
_COMMA = re.compile(
    r"(?<![\w.,])-?(?:\d{1,3}(?:\.\d{3})+|\d*),(?:\d{1,2}|\d{4,})(?![\w.,])|(?<![\w.,])-?,\d+(?![\w.,])"
)
_POINT = re.compile(
    r"(?<![\w.,])-?(?:\d{1,3}(?:,\d{3})+|\d*)\.(?:\d{1,2}|\d{4,})(?![\w.,])|(?<![\w.,])-?\.\d+(?![\w.,])"
)
_NUMBER = re.compile(r"(?<![\w.,])-?[\d.,]*\d[\d.,]*(?:e[+-]\d+)?(?![\w])")


@dataclass(frozen=True)
class Command:
    """A command in one line (of a loop several), '' for a print whose command is not there, and the lines below it."""

    said: str
    lines: tuple[str, ...]

    @cached_property
    def _parts(self) -> tuple[str, str, str]:
        """Prefixes, the command without them and its options, and the options."""
        said, prefixes = _COMMENT.sub(" ", self.said).strip(), ""
        while (found := _PREFIX.match(said)) and found.end():
            prefixes, said = prefixes + said[: found.end()], said[found.end() :]
        depth, quoted = 0, False
        for at, char in enumerate(said):
            quoted ^= char == '"'
            depth += 0 if quoted else (char in "([") - (char in ")]")
            if char == "," and depth == 0 and not quoted:
                return prefixes, said[:at].strip(), said[at + 1 :].strip()
        return prefixes, said, ""

    @property
    def name(self) -> str:
        """The command's own name as it is written; '' of a loop, or where it is not there."""
        word = re.match(r"[a-zA-Z]\w*", self._parts[1])
        return word[0] if word and "\n" not in self.said else ""

    @property
    def prefixes(self) -> str:
        """What stands before it: 'bysort area:'."""
        return self._parts[0]

    @property
    def options(self) -> str:
        """What stands behind its comma."""
        return self._parts[2]

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names behind the command, without conditions and weights."""
        body = _WEIGHT.sub(" ", _SUBSET.sub(" ", self._parts[1]))
        return tuple(body.split()[1:]) if self.name else ()

    @property
    def subset(self) -> str:
        """Whom it is of, as it says it: 'age > 30', 'in 1/50'; '' where it says nothing."""
        said = [_SUBSET.findall(each.partition(",")[0]) for each in (*self.prefixes.split("\n"), *self._bodies)]
        return " and ".join(of.strip() if how == "if" else f"in {of.strip()}" for each in said for how, of in each)

    @property
    def weight(self) -> str:
        """Its weight: 'fw=w'; '' without one."""
        said = next((found for each in self.said.split("\n") if (found := _WEIGHT.search(each))), None)
        return f"{said[1]}={said[2].strip()}" if said else ""

    @property
    def _bodies(self) -> Sequence[str]:
        return self.said.split("\n")[1:] if "\n" in self.said else [self._parts[1]]

    @property
    def text(self) -> str:
        """The command as a log has it, and its print."""
        first, *inner = self.said.split("\n")
        typed = [f". {first}", *(f"{at:3}. {each}" for at, each in enumerate(inner, 2))] if self.said else []
        return "\n".join([*typed, *self.lines])

    def has(self, option: str) -> bool:
        """Whether it has an option by this pattern."""
        return re.search(rf"(?:^|[\s,)])(?:{option})(?![\w])", self.options) is not None


def text_of_log(text: str) -> str:
    """A log without markup and with decimal points."""
    text = plain_text(text) if is_smcl(text) else text
    return _with_points(text) if _has_prompts(text) or re.search(r"-{5,}\+-{5,}|Percentiles +Smallest", text) else text


def commands_of(text: str) -> list[Command]:
    """The commands of a session in their order, first what stands above the first; all of a text without prompts as
    one.
    """
    found: list[tuple[list[str], list[str]]] = [([], [])]
    for line in text.splitlines():
        prompt, inner, more = _PROMPT.match(line), _IN_LOOP.match(line), _CONTINUED.match(line)
        said, lines = found[-1]
        if prompt:
            found.append(([prompt[1].strip()] if prompt[1] else [], []))
        elif more and said and not lines:
            said[-1] = f"{said[-1][:-3].rstrip()} {more[1]}" if said[-1].endswith("///") else said[-1] + more[1]
        elif more and lines and lines[-1].strip():
            lines[-1] += more[1]
        elif inner and said and not any(each.strip() for each in lines) and re.match(r".*\{\s*$", said[0]):
            said.append(inner[1].strip())
        else:
            lines.append(line)
    return [Command("\n".join(said), tuple(lines)) for said, lines in found if said or any(map(str.strip, lines))]


def begins_of(lines: Sequence[str]) -> list[int]:
    """Of each line of a session, and of its end, the line of the last command above it; 0 where there is none."""
    found = [0]
    for at, line in enumerate(lines):
        found.append(at if _PROMPT.match(line) else found[-1])
    return found


def sections_of(lines: Sequence[str]) -> list[tuple[dict[str, str], list[str]]]:
    """Lines by the groups of a prefix `by`, which stand above them ('-> area = north'); all as one without."""
    found: list[tuple[dict[str, str], list[str]]] = [({}, [])]
    for line in lines:
        head = re.match(r"^\s*-> (\w+ = .+)$", line)
        if head:
            pairs = re.split(r",\s*(?=\w+ = )", head[1].strip())
            found.append(({name: level.strip() for name, _, level in (each.partition(" = ") for each in pairs)}, []))
        else:
            found[-1][1].append(line)
    return [each for each in found if each[0] or any(map(str.strip, each[1]))]


def _has_prompts(text: str) -> bool:
    return any(re.match(r"^\s*\. +[a-zA-Z*/]", line) for line in text.splitlines())


def _tables(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if not _PROMPT.match(line) and re.search(r"[|=]|^\s*\d+%", line))


def _with_points(text: str) -> str:
    """The text with decimal points where its tables show decimal commas (`set dp comma`) and no points."""
    lines = list(_tables(text))
    commas, points = (sum(bool(each.search(line)) for line in lines) for each in (_COMMA, _POINT))
    if not commas or points:
        return text
    turned = []
    for line in text.splitlines():
        if not _PROMPT.match(line) and not _CONTINUED.match(line):
            line = _NUMBER.sub(lambda found: found[0].translate(str.maketrans(".,", ",.")), line)
        turned.append(line)
    return "\n".join(turned)
