"""A regression as tables over supports: the totals that the evolution works on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.special import gammaln

from outrisk.codebook import Codebook
from outrisk.outputs.base import joint_for
from outrisk.outputs.regression.newton import Newton
from outrisk.outputs.regression.release import INFERENCE, Kind, Release
from outrisk.outputs.regression.sandwich import OF_THE_MODEL, Covariance, Sandwich
from outrisk.outputs.survey_design import OverCodebook
from outrisk.problem.blocks import Array, Joint, Mask, Model, Term, Weight, spread_rows
from outrisk.problem.released import ModelPart, half_digit

Table = tuple[Joint, Array]  # a number at every combination of some variables, (joint.size,)


@dataclass(frozen=True, eq=False)
class Tables:
    """Design, response, offset, weight and subset of a regression, each as a table over the supports of its variables.

    Design columns are numbered from 0 over all `terms`; `equations` is their number (1, but for mnlogit), `shape` that
    of the parameters after the coefficients (see `Model`).
    """

    codebook: Codebook
    output: str
    kind: Kind
    release: Release
    terms: tuple[Term, ...]
    response: Table
    equations: int = 1
    offset: Table | None = None
    weight: Weight | None = None
    masks: tuple[Mask, ...] = ()
    covariance: Covariance = OF_THE_MODEL
    shape: int = 0

    @cached_property
    def has_constant(self) -> bool:
        """Whether the columns of some term add up to a constant, so that R2 is about the mean."""
        return any(spans_one(term.rows) for term in self.terms)

    def part(self, published: Array) -> ModelPart:
        """Totals at published numbers (k,), and the way back to these."""
        K = len(self.largest)
        coefficients = self.release.coefficients(published, K)
        half, own = half_digit(self.release.digits(K))[0], coefficients[K - self.shape :]
        if self.kind == "negbin":
            own[:] = np.maximum(own, half / 2.0)  # it may print as 0
        else:
            for j in range(1, self.shape):  # thresholds may print as equal; what is far below was not published
                own[j] = own[j - 1] + half if abs(own[j] - own[j - 1]) < 1.5 * half else own[j]
        return self._of(published, coefficients)

    def _at(self, published: Array, coefficients: Array) -> ModelPart:
        """The same at coefficients (K,) that need not be those published."""
        return self._of(self.release.beside(coefficients, published), coefficients)

    def _of(self, published: Array, coefficients: Array) -> ModelPart:
        released = set(self.release.parts)
        extras, cluster = self._extras(), self._cluster
        last = (
            Term(cluster, np.arange(len(extras), len(extras) + cluster.size), np.eye(cluster.size)) if cluster else None
        )
        K = len(coefficients)
        model = Model(
            self.kind,
            coefficients[: K - self.shape].reshape(self.equations, -1),
            *self.response,
            self.terms,
            offset=self.offset,
            information=bool(released & set(INFERENCE)),
            robust=bool(self.covariance),
            clusters=cluster,
            likelihood=self.kind == "ols" or bool(released & {"log_likelihood", "pseudo_r2"}),
            extra=(
                *(Term(joint, np.array([at]), values[:, None]) for at, (joint, values) in enumerate(extras.values())),
                *([last] if last else []),
            ),
            masks=self.masks,
            weight=self.weight,
            shape=coefficients[K - self.shape :],
        )
        first = model.size - model.n_extra
        n_clusters = cluster.size if cluster else 0
        over = self._sampled
        stratum = over.stratum if over else None
        sandwich = Sandwich(self.covariance, K, K + model.n_information, n_clusters, first + len(extras), stratum)
        newton = Newton(
            self.kind,
            coefficients,
            published,
            self.release,
            self.largest,
            {name: first + at for at, name in enumerate(extras)},
            model.information,
            model.likelihood,
            self.kind != "ols" or self.has_constant,
            self._shift,
            self.covariance,
            sandwich if self.covariance else None,
        )
        at = partial(self._at, published)
        errors, p_values = (self.release.places(part, K) for part in ("standard_errors", "p_values"))
        return ModelPart(model, newton, len(published), errors, p_values, newton, at)

    @property
    def _sampled(self) -> OverCodebook | None:
        survey = self.covariance.survey
        return OverCodebook(self.codebook, self.output, survey) if survey else None

    @property
    def _cluster(self) -> Joint | None:
        if over := self._sampled:
            return over.joint if over.design.psu else None
        name = self.covariance.cluster
        return joint_for(self.codebook, [name], self.output) if name else None

    @cached_property
    def largest(self) -> Array:
        """The largest size of what each parameter is multiplied with, (K,)."""
        return np.append(np.tile(largest_of(self.terms), self.equations), np.ones(self.shape))

    @cached_property
    def _shift(self) -> float:
        """The middle of the response's range: sums of squares about it are not swamped by its mean."""
        return float(self.response[1].min() + self.response[1].max()) / 2.0

    def _extras(self) -> dict[str, Table]:
        """What each record adds to further totals, times its weight.

        'records': n. 'weight': sum of weights. ols: 'y' and 'yy', sums of the response about `_shift` and of its
        squares; 'log_weight', half the sum of log weights. Others, for the log-likelihood of a constant alone:
        'outcome e', the weight of each outcome but the first; poisson: 'y' and 'exposure', sums of the response and of
        exp(offset), and 'fixed', the sum of y offset - log y!.
        """
        released = set(self.release.parts)
        place, y = self.response
        found: dict[str, Table] = {}
        if self.kind == "ols" or released != {"coefficients"}:
            found["records"] = self._by_weight(lambda weight: 1.0 / weight)
        if released & {"r2", "pseudo_r2"}:
            found["weight"] = self._by_weight(np.ones_like)
        if "r2" in released:
            found |= {"y": (place, y - self._shift), "yy": (place, (y - self._shift) ** 2)}
        if self.kind == "ols" and "log_likelihood" in released and self.weight:
            found["log_weight"] = self._by_weight(lambda weight: np.log(weight) / weight / 2.0)
        if "pseudo_r2" in released and self.kind != "poisson":
            last = max(self.equations, self.shape)
            found |= {f"outcome {e}": (place, (y == e).astype(float)) for e in range(1, last + 1)}
        elif "pseudo_r2" in released:
            found["y"] = self.response
            joint, offset = self.offset or (Joint((), (), 1), np.zeros(1))
            found["exposure"] = joint, np.exp(offset)
            both = self._joint([*place.variables, *joint.variables])
            y, offset = self._spread(self.response, both), self._spread((joint, offset), both)
            found["fixed"] = both, y * offset - gammaln(y + 1.0)
        return found

    def _by_weight(self, function: Callable[[Array], Array]) -> Table:
        """A function of the weight; 0 for a record of weight 0."""
        if self.weight is None:
            return Joint((), (), 1), np.asarray(function(np.ones(1)))
        values = np.zeros(len(self.weight.by_code))
        used = self.weight.by_code > 0
        values[used] = function(self.weight.by_code[used])
        return Joint((self.weight.variable,), (1,), len(values)), values

    def _joint(self, variables: Sequence[int]) -> Joint:
        return joint_for(self.codebook, [self.codebook.variables[j].name for j in sorted(set(variables))], self.output)

    def _spread(self, table: Table, joint: Joint) -> Array:
        """A table's numbers at every combination of more variables."""
        return spread_rows(Term(table[0], np.zeros(1, np.int64), table[1][:, None]), joint, self.codebook.sizes)[:, 0]


def largest_of(terms: Sequence[Term]) -> Array:
    """The largest size of each design column of some terms, (k,)."""
    largest = np.zeros(sum(len(term.columns) for term in terms))
    for term in terms:
        largest[term.columns] = np.maximum(np.abs(term.rows).max(axis=0), 1e-12)
    return largest


def spans_one(rows: Array) -> bool:
    """Whether columns (levels, k) add up to a constant."""
    ones = np.ones(len(rows))
    return bool(np.allclose(rows @ np.linalg.lstsq(rows, ones)[0], ones))
