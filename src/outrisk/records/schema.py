"""What stands in every file of a run directory: a class a file, its fields the columns or entries, in their order.

Tables are written and read as rows of these classes (`files.write_rows`, `files.read_rows`), documents as instances
(`files.write_json`, `files.read_document`). A number that is not defined is NaN here, empty or null in the file.
docs/run-files.md says the same to readers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BeforeValidator

from outrisk.problem.blocks import variables as variables_of
from outrisk.problem.refit import Compared
from outrisk.problem.released import Released
from outrisk.result_row import Row, Top

Number = Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
Pair = tuple[str, str]


# ---------------------------------------------------------------- tables of a study


@dataclass(frozen=True)
class Place:
    """Which run a row belongs to."""

    level: int
    fold: str
    run: int


@dataclass(frozen=True)
class Matched(Compared, Place):
    """matched.csv: each released number beside its refit."""


@dataclass(frozen=True)
class Given(Compared):
    """given.csv: each released number that the study gives beside what the whole data give (`refit`)."""


@dataclass(frozen=True)
class Step(Place):
    """trajectory.csv: the best candidate of a generation, errors by running totals."""

    generation: int
    mse: float
    mae: float
    chi2: float
    rate: float
    seconds: float
    matched: int


@dataclass(frozen=True)
class Snapshot(Place):
    """snapshots.csv: error by refit, and TCAP of the largest key set, at points along a run."""

    generation: int
    mse: float
    mae: float
    tcap_undefined_original: float
    tcap_undefined_holdout: float
    tcap_zero_original: float
    tcap_zero_holdout: float

    def risk(self, measure: str, side: str) -> float:
        """TCAP of a side, or of both the difference (`marginal`)."""
        if side == "marginal":
            return self.risk(measure, "original") - self.risk(measure, "holdout")
        return float(getattr(self, f"{measure}_{side}"))


@dataclass(frozen=True)
class Score(Place):
    """risk.csv: a measure of one side over one key set; certain, matched: the counts behind TCAP."""

    key_size: int
    keys: str
    measure: str
    side: str
    value: float
    certain: float
    matched: float
    reason: str


@dataclass(frozen=True)
class Measure(Row, Place):
    """measures.csv: a measure of any family, of the best candidate of a run."""


@dataclass(frozen=True)
class MeanOfRuns:
    """over_runs.csv: a measure's mean over the runs of a fold, or (fold empty) over all folds of a level.

    Fields as of `Row`; least, most: of the difference over runs, or of what stands in its place. runs_defined: of the
    runs, those with a value. reason, detail: why the others have none.
    """

    family: str
    level: int
    fold: str
    measure: str
    keys: str
    size: str
    target: str
    unit: str
    direction: str
    original: float
    original_low: float
    original_high: float
    holdout: float
    difference: float
    low: float
    high: float
    baseline: float
    worst_case: float
    synthetic: float
    least: float
    most: float
    runs: int
    runs_defined: int
    reason: str
    detail: str
    note: str


NOT_BOUNDED = "not bounded"  # the rule of findings that say what was not looked at, as it is too much
MINUS = " minus "  # between the names of outputs of which one is subtracted from the other
WITH = " with "  # between the names of outputs that tell something together


@dataclass(frozen=True)
class Finding:
    """findings.csv: one thing that outputs say outright, or a rule that one of them breaks.

    rule: which. certain: whether readers of the release learn a value of people who belong to a group
    they can name, without any doubt (of dominance: to within the share of the p % rule); about: of which variable.
    output: the name of the output, or of two. cells: cells, coefficients or times concerned. people: records of the
    original concerned, each once; larger = riskier. what: in a sentence. places: the first
    of the cells, as the output itself names them. advice: what would mend it. already: of how many of these people
    outputs that are already released say the same by themselves.
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
    already: int = 0

    def concerns(self, output: str) -> bool:
        """Whether it is about this output, or about a subtraction with it."""
        together = f"{WITH}{self.output}{WITH}"
        return output in (self.output, *self.output.split(MINUS)) or f"{WITH}{output}{WITH}" in together


@dataclass(frozen=True)
class Difference:
    """differencing.csv: the records of one output that another leaves out, whom a subtraction isolates.

    larger, smaller: names of the outputs. records: how many they are in the original; isolated: of how many people
    (records, where nothing says whose they are; so in all that follows). cells: those of them that hold anybody in the
    table of `variables` that the subtraction leaves (0 where the two have no table in common); below: how many of these
    hold fewer than `threshold`, and people: how many these hold; alike: of the people, those in groups (by the other
    variables of the table) that all have one value of the target. small_cells: listed only where that was asked for: a
    cell of one over many variables is a record. Fewer people, more cells below: riskier.
    """

    larger: str
    smaller: str
    group: str
    records: int
    isolated: int
    variables: str
    cells: int
    below: int
    threshold: int
    people: int
    alike: int
    small_cells: str
    note: str


@dataclass(frozen=True)
class Contrast:
    """marginal.csv: the marginal risk of a measure at a key set, or as a mean over key sets (keys empty).

    level: into how many folds the data were cut. key_size: 0 for the mean. about: empty for a set of the study's keys,
    the name of an output for the variables of that output. original, holdout: mean score of people by synthetic data of
    a release that they are in, and are not in; difference: the first less the second. low, high: its 95 % interval for
    itself; lowest, highest: 95 % limits that hold for all key sets (and measures of the verdict) at once. chance: how
    often labels dealt at random give some key set a difference as high. runs_share: the part of the search's chance in
    the square of the standard error.
    """

    level: int
    measure: str
    key_size: int
    keys: str
    about: str
    original: float
    holdout: float
    difference: float
    standard_error: float
    runs_share: float
    low: float
    high: float
    lowest: float
    highest: float
    chance: float


@dataclass(frozen=True)
class PeopleCount:
    """people.csv: of how many people the target is inferred rightly in at least 90 % of the runs, by all keys.

    inference: `certain` (the synthetic records with the person's keys agree) or `most frequent` (one value leads).
    group: everybody, those alone with their keys, those of one value of the target. people_original, right_original:
    people, each by the release that they are in; people_holdout, right_holdout: by a release that they are not in (the
    same people where folds are each other's holdout). beyond: people rightly inferred beyond what is so without them,
    difference x people_original, with its 95 % limits.
    """

    level: int
    inference: str
    group: str
    runs: int
    people_original: int
    right_original: int
    share_original: float
    people_holdout: int
    right_holdout: int
    share_holdout: float
    difference: float
    low: float
    high: float
    beyond: float
    beyond_low: float
    beyond_high: float
    reason: str = ""


@dataclass(frozen=True)
class Guessed:
    """register.csv: how often guesses of the target are right that use a register of everybody's keys, on each side.

    fold: empty for the mean over the folds of a level. people: `all`, or those `unique` on their keys on their side.
    measure: right; baseline (always the commonest value); confident (guessed with a chance of 0.9 or more) and
    confident_right (of these); tpr_01, tpr_001 (true claims made where at most 1 % or 0.1 % of the false ones are).
    original, holdout, difference with 95 % intervals; n_original, n_holdout: people guessed about.
    """

    level: int
    fold: str
    people: str
    measure: str
    original: float
    original_low: float
    original_high: float
    holdout: float
    holdout_low: float
    holdout_high: float
    difference: float
    low: float
    high: float
    n_original: int
    n_holdout: int
    reason: str


@dataclass(frozen=True)
class RunsOfFold:
    """The runs of a fold whose synthetic data are held against each other: how many, and by `of` which variables."""

    level: int
    fold: str
    of: str
    runs: int


@dataclass(frozen=True)
class Recurring(Top, RunsOfFold):
    """recurring.csv: records that recur over the runs of a fold, ranked by how often; are they those of people in it?

    of: `all variables`, or `keys and target`. Other fields as of `Top`.
    """


@dataclass(frozen=True)
class Reliability:
    """reliability.csv: people by the chance of their likeliest value, in [low, high): how many, their mean chance, the
    share of them guessed rightly.
    """

    level: int
    fold: str
    side: str
    low: float
    high: float
    people: int
    chance: float
    right: float


@dataclass(frozen=True)
class Contribution:
    """contributions.csv: what an output adds to the marginal risk, or (output empty) what all outputs give away.

    what: `together` (of all outputs), `emerges` (of all less the sum of each alone), `alone` (of this output alone),
    `adds` (of all less that of all but this one), `share` (its Shapley value), `new outputs add` (of all less that of
    those already released). measure, over, keys: where risk is looked at, as in decision.json. value with its standard
    error and 95 % interval for itself, larger = riskier. reproduced: whether all runs behind it met every number.
    """

    output: str
    what: str
    measure: str
    over: str
    keys: str
    value: float
    low: float
    high: float
    standard_error: float
    reproduced: bool


# ---------------------------------------------------------------- documents of a study


@dataclass(frozen=True)
class Input:
    """A file the run read, by digest."""

    what: str
    name: str
    sha256: Text = ""
    records: int | None = None


@dataclass(frozen=True)
class Slow:
    """What an output without an additive form has taken, over all runs."""

    output: str
    refits: int
    seconds: Number


@dataclass(frozen=True)
class Manifest:
    """manifest.json of a study. status: `complete` once the report stands beside it, else `interrupted`."""

    outrisk: str
    study: str
    status: str
    runs_done: int
    runs_planned: int
    versions: dict[str, str]
    inputs: tuple[Input, ...]
    started: Text = ""
    seconds: Number = math.nan
    seed: int | None = None
    workers: int | None = None
    peak_memory_mb: float | None = None  # where the system tells
    slow: tuple[Slow, ...] = ()
    time_limit: float | None = None  # seconds of the study
    run_time_limit: float | None = None  # seconds of a run's evolution
    late: bool = False  # the time limit ended the study
    remarks: tuple[str, ...] = ()  # how released numbers were read from files that print them, and what was left out


@dataclass(frozen=True)
class Identity:
    """What must be alike for a study to be gone on with: of what follows each entry by its name, in words."""

    study: dict[str, str]
    inputs: dict[str, str]
    versions: dict[str, str]


@dataclass(frozen=True)
class ReleasedOutput:
    """One released output: how many numbers, how many of them withheld, its share of the fitness, its variables."""

    name: str
    kind: str
    numbers: int
    notes: Text = ""
    withheld: int = 0
    importance: float = 1.0
    variables: tuple[str, ...] = ()

    @classmethod
    def of(cls, released: Released, names: Sequence[str] = ()) -> ReleasedOutput:
        """What is said of an output; `names` are those of the codebook's variables, in its order."""
        used = sorted({at for block in released.blocks for at in variables_of(block)}) if names else []
        known = int(released.known.sum())
        withheld = len(released.low) - known
        return cls(
            released.name,
            released.kind,
            known,
            released.output.notes,
            withheld,
            released.importance,
            tuple(names[at] for at in used),
        )

    @property
    def words(self) -> str:
        """The notes, and how important it was taken to be if not as every other."""
        more = f"importance {self.importance:g} in the fitness" if self.importance != 1 else ""
        return "; ".join(text for text in (self.notes, more) if text)


@dataclass(frozen=True)
class Estimate:
    """A risk with its 95 % interval; NaN with a reason where it is not defined."""

    measure: str
    keys: str
    side: str
    value: Number
    standard_error: Number
    low: Number
    high: Number
    n_key_sets: int
    n_undefined: int
    reason: Text = ""


@dataclass(frozen=True)
class Extrapolation:
    """The line risk = intercept + slope * error (MAE); NaN with a reason where the evidence is too thin.

    intercept: the risk at zero error, with its 95 % interval. correlation and r_squared: over all points, as the paper
    does. measured: mean risk of the runs' last points, those of least error. mae_from, mae_to: range of the errors
    used. measure, side: of which risk.
    """

    intercept: Number
    low: Number
    high: Number
    slope: Number
    correlation: Number
    r_squared: Number
    n_points: int
    n_runs: int
    mae_from: Number
    mae_to: Number
    measured: Number
    reason: Text = ""
    measure: str = ""
    side: str = ""


@dataclass(frozen=True)
class Run:
    """How one evolution ended; the errors are by refit. failures: outputs that could not be refitted, and why."""

    run: int
    stop: str
    generations: int
    seconds: Number
    mae: Number
    mse: Number
    largest_difference: Number
    matched: int
    near: int
    numbers: int
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fold:
    """One part of the data attacked, and the holdout it is read against (0 records where there was none)."""

    level: int
    fold: str
    n_original: int
    runs: tuple[Run, ...]
    estimates: tuple[Estimate, ...]
    extrapolation: tuple[Extrapolation, ...]
    n_holdout: int = 0
    holdout: Text = ""


@dataclass(frozen=True)
class Level:
    """Averages over the folds of one level."""

    level: int
    n_folds: int
    runs: int
    estimates: tuple[Estimate, ...]


@dataclass(frozen=True)
class Risk:
    """risk.json."""

    target: str
    keys: tuple[str, ...]
    key_sizes: tuple[int, ...]
    tau: float
    largest: int
    outputs: tuple[ReleasedOutput, ...]
    folds: tuple[Fold, ...]
    levels: tuple[Level, ...]
    outright: str = ""  # what the outputs say outright, in a sentence
    terms: dict[str, str] = field(default_factory=dict)  # what measures of the suite measure, by name
    learnt: str = ""  # what the intruder wants to learn: the target, perhaps to within a share of its value
    whose: str = ""  # of how many people or households the records are, in words, where the study says so

    @property
    def wanted(self) -> str:
        """What the intruder wants to learn, in words."""
        return self.learnt or self.target


@dataclass(frozen=True)
class LeftOut:
    """An output of which numbers are not used, and why."""

    output: str
    reason: str


@dataclass(frozen=True)
class RegisterFold:
    """How the guesses with a register were made in one fold; `skipped` says why there are none.

    equations: released numbers used. missed: by how many people the worst of them is missed; contradicted: no data set
    of these people fits them. converged: whether the search ended by itself. guesser, predictor: who is right most
    often about people in the data, and about people who are not.
    """

    level: int
    fold: str
    n_original: int
    n_holdout: int
    equations: int = 0
    missed: Number = math.nan
    contradicted: bool = False
    converged: bool = False
    guesser: str = ""
    predictor: str = ""
    skipped: str = ""
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True)
class Register:
    """register.json: what an intruder with a register of everybody's keys guesses. level: of the sentence.

    known_for: the share of the people in the data who are in the register; the others are not guessed about.
    """

    keys: tuple[str, ...]
    target: str
    known_for: float
    level: int
    assumption: str
    sentence: str
    folds: tuple[RegisterFold, ...]

    @property
    def said(self) -> tuple[str, ...]:
        """What is found, and what is assumed, for a decision."""
        return (f"Register: {self.sentence} {self.assumption}",)


# ---------------------------------------------------------------- the verdict of a study

DISCLOSIVE, FOUND, NOT_FOUND = "disclosive", "marginal risk found", "no marginal risk found, up to x"
CANNOT_TELL, NOT_REPRODUCED = "cannot tell", "not reproduced"
READS_LOWER = "Risks may read lower than they are"  # how a sentence of a decision ends that says why
VERDICTS = (DISCLOSIVE, FOUND, NOT_REPRODUCED, CANNOT_TELL, NOT_FOUND)  # the worst first


def with_number(verdict: str, up_to: float) -> str:
    """A verdict with its x, rounded up to three decimals."""
    return (
        f"{verdict.removesuffix('x')}{math.ceil(up_to * 1000 - 1e-9) / 1000:.3f}" if verdict == NOT_FOUND else verdict
    )


@dataclass(frozen=True)
class Limit:
    """One marginal risk beside the margin. over: `mean over key sets`, `all keys`, `worst key set` or `people`.

    keys: the key set. original, holdout, difference as in marginal.csv; low, high: 95 % limits, for all key sets at
    once. chance: permutation level, also for all at once. says: `above` the margin (low > margin), `below` (high <
    margin) or `open`.
    """

    measure: str
    over: str
    keys: Text
    original: Number
    holdout: Number
    difference: Number
    low: Number
    high: Number
    chance: Number
    margin: float
    says: str


@dataclass(frozen=True)
class Basis:
    """What the marginal risk was measured on. level: into how many folds the data were cut (1: the whole data).

    crossed: whether the holdout's release was evolved, too; not_crossed: why that of a given holdout was not. runs: on
    each release. key_sets: how many were looked at. divided_anew: how often the data were divided into folds, and for
    which outputs, if not once. original_of, holdout_of: of how many people or households the records are, in words,
    where the study says whose they are.
    """

    level: int
    n_original: int
    n_holdout: int
    runs: int
    crossed: bool
    key_sets: int
    permutations: int
    not_crossed: str = ""
    divided_anew: str = ""
    original_of: str = ""
    holdout_of: str = ""

    @property
    def measured_on(self) -> str:
        """In words: `3,183 people in the data and 3,183 who are not`."""
        return in_words((self.n_original, self.n_holdout), (self.original_of, self.holdout_of))


def in_words(records: tuple[int, int], of: tuple[str, str]) -> str:
    """Records on both sides, of so many people or households where that is known."""
    sides = zip(records, of, strict=True)
    data, others = (f"{n:,} records of {whose}" if whose else f"{n:,} people" for n, whose in sides)
    return f"{data} in the data and {others if of[1] else others.removesuffix(' people')} who are not"


@dataclass(frozen=True)
class Dose:
    """The marginal risk at one size of the data: the mean over key sets, or one key set; with its 95 % interval."""

    level: int
    n_records: int
    measure: str
    keys: Text
    difference: Number
    low: Number
    high: Number


@dataclass(frozen=True)
class NotReproduced:
    """An output that the synthetic data do not reproduce in some runs.

    matched: of its numbers, in the run that met the fewest; near: within 1 % of their sampling error, in the run that
    has the fewest such. worst: in the run that is furthest away, the number that is
    furthest beyond what is allowed. why: in words.
    """

    output: str
    runs: int
    numbers: int
    matched: int
    near: int
    worst: Text
    released: Number
    refit: Number
    why: Text


@dataclass(frozen=True)
class Unmet:
    """A released number that `runs` runs met neither at its digits nor to 1 % of its sampling error.

    level, fold, released, refit: in the run that is furthest away. reason: a code, as in matched.csv; why: that in
    words, and what to do.
    """

    output: str
    number: Text
    runs: int
    level: int
    fold: str
    released: Number
    refit: Number
    reason: Text
    why: Text


@dataclass(frozen=True)
class OutputDecision:
    """What is known of one output, all outputs released together: a verdict of the same five, its x, and why."""

    name: str
    verdict: str
    up_to: Number
    reason: str


@dataclass(frozen=True)
class Held:
    """What the verdict was held against: of the study's `appetite`."""

    margin: float
    measures: tuple[str, ...]
    people: int
    intruder: str
    rules_are_disclosive: bool = False


@dataclass(frozen=True)
class Decision:
    """decision.json: the verdict, and what it rests on.

    verdict: one of VERDICTS, word for word; up_to: the x of the last, else undefined. sentence: the verdict with its
    number, as the report and the terminal give it. reasons: what led to it, the worst first; settle: what would settle
    or change it. people: people told something for certain that the intruder is not taken to know, each once.
    rules_broken: findings of the direct look that are not certain. halves: what folds say about the whole data. unmet:
    the ten numbers that most runs are furthest from.
    """

    verdict: str
    up_to: Number
    sentence: str
    study: str
    target: str
    keys: tuple[str, ...]
    held_against: Held
    people: int
    rules_broken: int
    reasons: tuple[str, ...]
    settle: tuple[str, ...]
    basis: Basis | None
    limits: tuple[Limit, ...]
    not_reproduced: tuple[NotReproduced, ...]
    halves: str
    dose: tuple[Dose, ...]
    outputs: tuple[OutputDecision, ...] = ()
    intruders: tuple[str, ...] = ()
    unmet: tuple[Unmet, ...] = ()


@dataclass(frozen=True)
class Proof:
    """Outputs that together prove the target of so many people; smallest: no fewer outputs prove it of any of them."""

    outputs: tuple[str, ...]
    people: int
    smallest: bool


@dataclass(frozen=True)
class Certain:
    """certain.json: what the release proves to an intruder with a register; counts of people, never who they are.

    state: "complete", "stopped early" (there may be more), "skipped" (too large for a study) or "no data set fits" (the
    numbers contradict each other or the records). people: in the data; known: in the register; asked: of them, asked
    about; proved, with how many of each value (`values`); narrowed: not proved, but some values ruled out. left_out:
    outputs of which numbers were not used, and why. sharp: no claim is missed. counted: what all these are numbers of,
    "people", or "records" where the study says whose they are; `owners` is then how many people those proved are of.
    """

    state: str
    sentence: str
    assumption: str
    keys: tuple[str, ...]
    target: str
    people: int
    known: int
    asked: int = 0
    proved: int = 0
    narrowed: int = 0
    values: dict[str, int] = field(default_factory=dict)
    proofs: tuple[Proof, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    sharp: bool = False
    counted: str = "people"
    owners: int = 0


# ---------------------------------------------------------------- teaching data


@dataclass(frozen=True)
class Copied:
    """Which synthetic data set a row of teaching data belongs to."""

    copy: int


@dataclass(frozen=True)
class Reproduced(Compared, Copied):
    """reproduced.csv: each released number beside its refit on the written file.

    agrees: to how many decimals the two agree, NaN where not even in whole units.
    """

    agrees: float


@dataclass(frozen=True)
class SyntheticFile:
    """A file of synthetic records."""

    name: str
    sha256: str


@dataclass(frozen=True)
class TeachingCopy:
    """One synthetic data set; `broken`: records that break each rule; `failures`: outputs with no refit, and why."""

    copy_number: int
    stop: str
    generations: int
    seconds: float
    files: tuple[SyntheticFile, ...]
    matched: int
    near: int
    numbers: int
    broken: tuple[int, ...]
    failures: tuple[str, ...]


@dataclass(frozen=True)
class Relations:
    """Every pair of variables, in codebook order, by how the released numbers carry its relation.

    unseen: variables that no output names; their values are drawn without any information. direct: pairs that stand
    together in a table, or as response and explanatory variable of a regression. partial: pairs that only share an
    output otherwise, as two explanatory variables or as a variable and the subset `where` it was analysed. ruled: pairs
    that only a plausibility rule ties. absent: pairs that share nothing; those with an unseen variable are left out.
    """

    unseen: tuple[str, ...]
    direct: tuple[Pair, ...]
    partial: tuple[Pair, ...]
    ruled: tuple[Pair, ...]
    absent: tuple[Pair, ...]


@dataclass(frozen=True)
class Bars:
    """Records of a synthetic data set at each value of a variable, or in each span of its values."""

    name: str
    labels: tuple[str, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Chance:
    """A relation in synthetic data that no released number speaks of: where `first` is `group`, the `share` of records
    with `second` at `value` is not the `usual` one. p_values: chi-squared, of each data set, NaN where it has no two
    groups to compare; tested: pairs looked at.
    """

    first: str
    second: str
    group: str
    value: str
    share: float
    usual: float
    p_values: tuple[Number, ...]
    tested: int


@dataclass(frozen=True)
class Teaching:
    """teaching.json: all that the page says and reproduced.csv does not."""

    computed: bool  # the released numbers come from the study's own data
    source: str
    records: int
    outputs: tuple[ReleasedOutput, ...]
    rules: tuple[str, ...]
    relations: Relations
    copies: tuple[TeachingCopy, ...]
    bars: tuple[Bars, ...] = ()  # of the first data set
    chance: Chance | None = None
    remarks: tuple[str, ...] = ()  # how released numbers were read from files that print them, and what was left out
    synthetic: bool = True


@dataclass(frozen=True)
class TeachingManifest:
    """manifest.json of teaching data."""

    outrisk: str
    study: str
    status: str
    started: str
    seconds: float
    seed: int
    versions: dict[str, str]
    inputs: tuple[Input, ...]
    workers: int | None = None
    synthetic: bool = True
