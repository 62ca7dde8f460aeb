"""What a look at released outputs finds, and the rules of the environment that it is held against."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from pydantic import BaseModel, ConfigDict, Field

SHOWN = 12  # cells of an output that a finding names


class Appetite(BaseModel):
    """An environment's rules for output checking, by ACRO's names and with its defaults (acro 1.0.2).

    safe_threshold: fewest records of a cell. safe_dof_threshold: fewest residual degrees of freedom of a model.
    safe_nk_n, safe_nk_k: the n largest contributions of a cell make up at most the share k of its total.
    safe_pratio_p: what is left without the two largest contributions is at least this share of the largest.
    survival_safe_threshold: fewest records at risk, and fewest events between two published times.
    zeros_are_disclosive: whether a group in which a value does not occur is reported.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    safe_threshold: int = Field(default=10, ge=1)
    safe_dof_threshold: int = Field(default=10, ge=0)
    safe_nk_n: int = Field(default=2, ge=1)
    safe_nk_k: float = Field(default=0.9, gt=0, le=1)
    safe_pratio_p: float = Field(default=0.1, ge=0)
    survival_safe_threshold: int = Field(default=10, ge=1)
    zeros_are_disclosive: bool = True


@dataclass(frozen=True)
class Finding:
    """One thing that outputs say outright, or a rule that one of them breaks.

    rule: which (see `RULES`). certain: whether readers of the release learn a value of people who belong to a group
    they can name, without any doubt; about: of which variable. output: the name of the output, or of two. cells: cells,
    coefficients or times concerned. people: records of the original concerned, each once; larger = riskier. what: in a
    sentence. places: the first of the cells, as the output itself names them. advice: what would mend it.
    """

    rule: str
    certain: bool
    output: str
    cells: int
    people: int
    what: str
    places: str = ""
    advice: str = ""
    about: str = ""

    def row(self) -> dict[str, object]:
        """A row of findings.csv."""
        return asdict(self)


def named(places: list[str]) -> str:
    """The first cells, and how many more there are."""
    more = f"; and {len(places) - SHOWN:,} more" if len(places) > SHOWN else ""
    return "; ".join(places[:SHOWN]) + more


def people(number: int) -> str:
    """A number of people in words."""
    return "1 person" if number == 1 else f"{number:,} people"


def plural(number: int, word: str) -> str:
    """A number with its noun."""
    return f"{number:,} {word}" + "s" * (number != 1)
