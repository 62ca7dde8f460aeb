"""Seeded mutations of studies, codebooks, released values and data: what a careless or hostile person may hand in."""

from __future__ import annotations

import copy
import datetime

import numpy as np
import yaml
from cli.command import CODEBOOK, STUDY, records
from payloads import payloads

OUTPUTS = [
    {
        "kind": "frequencies",
        "by": ["area", "ill"],
        "margins": True,
        "where": "age >= 1",
        "protection": {"threshold": 5},
    },
    {"kind": "frequencies", "by": ["age", "sex", "ill"], "ways": 2, "show": "row_percentages", "decimals": 1},
    {"kind": "univariate", "variables": ["age", "ill"]},
    {"kind": "magnitudes", "value": "age", "by": ["area"], "statistics": ["mean", "sd", "count"], "weight": "sex"},
    {"kind": "quantiles", "value": "age", "by": ["ill"], "quantiles": [0.25, "median"]},
    {"kind": "quantiles", "value": "age", "by": ["ill"], "quantiles": [0.25, "max"], "program": "stata"},
    {"kind": "mode", "variable": "area", "by": ["ill"]},
    {
        "kind": "rates",
        "numerator": "ill == 'yes'",
        "denominator": "age",
        "by": ["area"],
        "statistics": ["rate", "limits"],
        "per": 100,
        "protection": {"threshold": 5},
    },
    {"kind": "histogram", "value": "age", "breaks": [0, 2, 4], "show": "proportions"},
    {
        "kind": "correlations",
        "variables": ["age", "sex"],
        "statistics": ["correlation", "mean"],
        "decimals": {"mean": 1},
    },
    {"kind": "survival", "time": "age", "event": "ill", "by": ["area"], "times": [1, 3]},
    {
        "kind": "standardised",
        "event": "ill",
        "over": "sex",
        "by": ["area"],
        "standard": {1: 60, 2: 40},
        "time": "age",
        "statistics": ["rate", "limits", "events"],
        "per": 100,
        "interval": "fay-feuer",
    },
    {
        "kind": "standardised",
        "event": "ill",
        "over": ["age"],
        "where": "age >= 2",
        "method": "indirect",
        "reference": {2: 0.2, 3: 0.3, 4: 0.4},
        "statistics": ["ratio", "expected"],
        "decimals": {"ratio": 1},
    },
    {
        "kind": "margins",
        "formula": "ill ~ age + area",
        "dydx": ["age", "area"],
        "predictions": ["area"],
        "release": ["margins", "standard_errors", "n"],
    },
    {
        "kind": "proportions",
        "event": "ill",
        "by": ["area"],
        "statistics": ["proportion", "limits", "n"],
        "per": 100,
        "interval": "wilson",
    },
    {
        "kind": "proportions",
        "event": "area",
        "statistics": ["proportion", "standard error"],
        "decimals": {"proportion": 2},
    },
    {
        "kind": "association",
        "event": "ill",
        "exposure": "area",
        "over": ["sex"],
        "show": ["strata", "pooled"],
        "statistics": ["risk ratio", "limits", "cases", "chi-square"],
        "reference": "s",
    },
    {
        "kind": "association",
        "event": "ill",
        "exposure": "sex",
        "where": "age >= 2",
        "statistics": ["risk", "odds ratio", "n"],
        "per": 100,
        "decimals": {"risk": 1},
    },
    {
        "kind": "magnitudes",
        "value": "age",
        "by": ["ill"],
        "statistics": ["mean", "standard error", "limits", "n"],
        "design": {"weights": "sex", "strata": "area", "lonely": "average"},
    },
    {
        "kind": "proportions",
        "event": "ill",
        "statistics": ["proportion", "limits", "population"],
        "design": {"psu": "age", "subpop": "area == 's'", "program": "r"},
    },
    {"kind": "ols", "formula": "age ~ ill", "release": ["coefficients", "p_values"], "design": {"strata": "area"}},
    {"kind": "logit", "formula": "ill ~ C(area, Treatment(reference='s')) + np.log(age + 1)", "event": "yes"},
    {"kind": "ols", "response": "age", "terms": ["area", "sex"], "release": ["coefficients", "standard_errors", "r2"]},
    {"kind": "mixed", "formula": "age ~ sex + (1 | area)", "release": ["coefficients", "p_values", "sigma_u", "rho"]},
    {
        "kind": "iv",
        "formula": "age ~ sex + ill",
        "endogenous": "sex",
        "instruments": "C(area)",
        "release": ["coefficients", "p_values", "first_stage_f", "wald"],
        "program": "ivregress",
        "small": True,
    },
    {"kind": "iv", "formula": "age ~ sex | ill", "covariance": "HC0", "release": ["coefficients", "standard_errors"]},
    {"kind": "quantreg", "formula": "age ~ sex + area", "tau": [0.25, 0.5], "release": ["coefficients", "deviations"]},
    {"kind": "mnlogit", "formula": "area ~ age", "decimals": {"coefficients": 2}, "base": "s"},
    {"kind": "poisson", "formula": "age ~ area", "offset": "log(sex)", "exponentiate": True, "level": 0.9},
    {"kind": "ologit", "formula": "area ~ age", "exponentiate": True, "release": ["coefficients", "p_values"]},
    {"kind": "oprobit", "response": "area", "terms": ["age", "sex"], "where": "age > 1"},
    {"kind": "negbin", "formula": "age ~ sex", "offset": "log(sex)", "decimals": {"coefficients": 1}},
    {"kind": "custom", "function": "no.py:f", "variables": ["age"], "labels": ["a"], "decimals": [1]},
]
GIVEN = [
    {"kind": "frequencies", "by": ["area"], "values": [70, "1 to 90", "withheld"], "protection": {"threshold": 10}},
    {"kind": "frequencies", "by": ["ill"], "values": "values.csv"},
    {
        "kind": "magnitudes",
        "value": "age",
        "by": ["ill"],
        "values": {"ill=no: mean of age": 2.1, "ill=yes: mean of age": 1.9},
    },
    {"kind": "logit", "formula": "ill ~ age", "values": {"Intercept": 0.1, "age": 0.05}},
    {
        "kind": "rates",
        "numerator": "ill == 'yes'",
        "denominator": "age",
        "statistics": ["rate", "limits"],
        "per": 100,
        "values": [25, 19.94, 30.95],
    },
]
VALUES = "label,value\nill=no,80\nill=yes,80\n"


class Huge(int):
    """A whole number of more digits than Python writes; in hexadecimal, as YAML may have it."""

    __str__ = __repr__ = hex


yaml.SafeDumper.add_representer(Huge, lambda dumper, number: dumper.represent_int(hex(number)))


class Fuzzer:
    """Files of one input after the other, in a folder; the same seed, the same files."""

    def __init__(self, seed, mark):
        self.rng = np.random.default_rng(seed)
        self.texts = payloads(mark)

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def junk(self):
        """A value that is seldom right."""
        simple = [
            *(
                None,
                True,
                False,
                0,
                1,
                -1,
                2,
                0.5,
                -0.0,
                1e308,
                10**30,
                -(2**63),
                2**70,
                10**400,
                Huge(16**6_000),
                float("nan"),
                float("inf"),
                4.000001,
            ),
            *(
                "",
                " ",
                "x",
                "x" * 3_000,
                "\n",
                "\t",
                "a\nb",
                "\x07",
                "é",
                "\u202e",
                "💥",
                "null",
                "yes",
                "1",
                "1.5",
                "NaN",
            ),
            *(
                "all",
                "age",
                "area",
                "ill",
                "no such",
                "age=1",
                "Total",
                "withheld",
                "1 to 9",
                "9 to 1",
                "../..",
                "/",
                ".",
            ),
            *(
                [],
                {},
                [[]],
                [None],
                [1, 2],
                ["age", "age"],
                ["age", "ill"],
                {"a": 1},
                {"age": "ill"},
                {1: 2},
                {None: None},
            ),
            *(datetime.date(2020, 1, 1), list(range(200)), "small.csv", "no.csv", "values.csv", "small.yaml"),
        ]
        return self.pick(self.texts) if self.rng.random() < 0.35 else copy.deepcopy(self.pick(simple))

    def places(self, node, path=()):
        """Every place in a document."""
        found = [path] if path else []
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in items:
            found += self.places(value, (*path, key))
        return found

    def mutated(self, document):
        """A document with one or two of its places changed, added, doubled or dropped."""
        document = copy.deepcopy(document)
        for _ in range(int(self.rng.integers(1, 3))):
            path = self.pick(self.places(document) or [()])
            if not path:
                return self.junk()
            parent = document
            for key in path[:-1]:
                parent = parent[key]
            last, action = path[-1], self.rng.random()
            if action < 0.55:
                parent[last] = self.junk()
            elif action < 0.7:
                del parent[last]
            elif isinstance(parent, list):
                parent.insert(
                    int(self.rng.integers(len(parent) + 1)), self.pick([self.junk(), copy.deepcopy(parent[last])])
                )
            else:
                name = self.junk()
                parent[name if isinstance(name, str | int | float | None) else "new"] = copy.deepcopy(parent[last])
        return document

    def garbled(self, text):
        """A text with some of its signs changed, doubled or cut off."""
        data = bytearray(text.encode("utf-8", "surrogatepass"))
        for _ in range(int(self.rng.integers(1, 4))):
            at, action = int(self.rng.integers(len(data) + 1)), self.rng.random()
            if action < 0.4:
                signs = [
                    b"'",
                    b'"',
                    b"`",
                    b"\n",
                    b"\r",
                    b"\0",
                    b",",
                    b":",
                    b"-",
                    b"&a ",
                    b"*a",
                    b"{",
                    b"[",
                    b"!",
                    b"|",
                    b"#",
                    b"\xff",
                ]
                data[at:at] = self.pick(signs)
            elif action < 0.6:
                del data[at : at + int(self.rng.integers(1, 9))]
            elif action < 0.7:
                del data[at:]
            elif action < 0.8:
                data[at:at] = data[max(0, at - 20) : at]
            else:
                data[at : at + 1] = bytes([int(self.rng.integers(256))])
        return bytes(data)

    def write(self, folder):
        """Write one input; returns the command line for it, its output directory left out."""
        given = self.rng.random() < 0.35
        outputs = copy.deepcopy(GIVEN if given else [self.pick(OUTPUTS) for _ in range(2)])
        study = copy.deepcopy(STUDY) | {"outputs": outputs, "study": {"runs": 1, "folds": [1]}}
        if given:
            study = {name: study[name] for name in ("name", "codebook", "outputs", "evolve")} | {"records": 160}
        else:
            study["data"] |= {"where": "age >= 0", "derive": {"old": "age > 2"}}
        study["rules"] = ["age < 1 implies ill == 'no'"]
        what = self.pick(["study", "study", "study", "codebook", "data", "values", "text"])
        data = records(160).to_csv(index=False)
        codebook = {
            "variables": copy.deepcopy(CODEBOOK["variables"]) | {"old": {"kind": "integer", "min": 0, "max": 1}}
        }
        codebook["variables"] = {k: v for k, v in codebook["variables"].items() if k != "old" or not given}
        study = self.mutated(study) if what == "study" else study
        codebook = self.mutated(codebook) if what == "codebook" else codebook
        files = {
            "small.yaml": dump(study),
            "small.codebook.yaml": dump(codebook),
            "small.csv": data,
            "values.csv": VALUES,
        }
        if what in ("data", "values"):
            name = "small.csv" if what == "data" else "values.csv"
            lines = files[name].splitlines()
            row = int(self.rng.integers(min(len(lines), 6)))
            cells = lines[row].split(",")
            cells[int(self.rng.integers(len(cells)))] = str(self.junk())
            lines[row] = ",".join(cells)
            files[name] = "\n".join(lines) + "\n"
        garbled = self.pick(list(files)) if what == "text" or self.rng.random() < 0.1 else ""
        for name, text in files.items():
            content = self.garbled(text) if name == garbled else text.encode("utf-8", "surrogatepass")
            (folder / name).write_bytes(content)
        if given:
            return ["teach", folder / "small.yaml"]
        return [self.pick(["assess", "assess", "assess", "check"]), folder / "small.yaml"]


def dump(document):
    """A document as YAML."""
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
