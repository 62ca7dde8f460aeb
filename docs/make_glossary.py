"""Write docs/glossary.md: words of the pages, and each measure with what the code says that it counts."""

from __future__ import annotations

from pathlib import Path

from outrisk.risk.meanings import MEANINGS

PAGE = Path(__file__).with_name("glossary.md")
WORDS = {
    "appetite": "the environment's rules: its margin, thresholds of cells, people who may be told for certain",
    "attribution": "learning somebody's target from their keys, rightly or not",
    "certain": "follows from the released numbers by arithmetic; nothing is estimated",
    "codebook": "the variables with the values they can take; it counts as public",
    "direct look": "what the released numbers say outright, without evolution",
    "fold": "a part of the data (whole, half, quarter) whose numbers are released and evolved by themselves",
    "holdout": "people of the same population who were not in the data behind the numbers",
    "keys": "what an intruder knows of a person",
    "margin": "how large a marginal risk the environment accepts",
    "marginal risk": "how much more a release tells about people in the data than about people who are not",
    "match": "a synthetic record has a person's keys",
    "refit": "the released analysis carried out afresh on synthetic data, by statsmodels or pandas",
    "register": "an intruder's list of everybody's keys",
    "released output": "published numbers with the analysis that made them",
    "run": "one evolution from its own seed",
    "synthetic data": "records evolved from released numbers alone; none was collected from a person",
    "target": "what an intruder wants to learn of a person",
}  # fmt: skip
SHORT = {
    "ACRO": "Automatic Checking of Research Outputs, a package that checks researchers' outputs by rules",
    "ACM": "Association for Computing Machinery, in a source",
    "AER": "Applied Econometrics with R, a package of it",
    "AIC": "Akaike's information criterion: twice the number of coefficients less twice the log-likelihood",
    "API": "application programming interface: the functions for Python",
    "AUC": "area under the curve of hits against false alarms; 0.5 is chance",
    "CAP": "correct attribution probability: how often synthetic records with a person's keys have the person's target",
    "CR1": "concentration ratio: the largest contributor's share of a total; `CR4`: that of the four largest",
    "CR2": "see CR1",
    "CSV": "comma-separated values, a text file of a table",
    "DEAP": "Distributed Evolutionary Algorithms in Python, the library behind the genetic algorithm",
    "DIR": "a directory that you name",
    "FAQ": "questions that are asked often",
    "FR": "following record: nearest in keys (in `fr_nn`)",
    "GB": "gigabyte",
    "HHI": "Herfindahl-Hirschman index of concentration: the sum of squared shares of a total",
    "GIS": "geographical information system",
    "HR": "hazard ratio: exp(b) of a Cox model",
    "HTML": "the format of web pages",
    "ID": "identifiability, a privacy metric",
    "IV": "instrumental variables: what tells a regression of terms that its errors go with",
    "IRR": "incidence rate ratio: exp(b) of a regression of counts",
    "JSON": "a text format for programs",
    "MAE": "mean absolute error, of released numbers against their refit, in the units they are printed in",
    "MB": "megabyte",
    "MIA": "membership inference attack: was this person in the data?",
    "MLP": "multilayer perceptron, a neural network",
    "MOVER": "method of variance estimates recovery: an interval of a difference from those of its two sides",
    "MSE": "mean squared error",
    "NaN": "not a number: undefined, and said to be so",
    "OLS": "ordinary least squares, a linear regression",
    "OR": "odds ratio: exp(b) of a logit, or that of a 2 x 2 table",
    "PR": "prevalence ratio: exp(b) of a Poisson regression of a state",
    "RR": "rate ratio or relative risk: exp(b) of a Poisson regression, or the ratio of two risks",
    "NB2": "the negative binomial regression whose variance is mean + alpha mean²",
    "NN": "nearest neighbour",
    "PNG": "a format of pictures",
    "PNAS": "Proceedings of the National Academy of Sciences of the USA, in a source",
    "USENIX": "an association for computing systems, in a source",
    "USA": "United States of America",
    "PODS": "the ACM symposium on Principles of Database Systems, in a source",
    "README": "the page of the repository that is read first",
    "RUN": "a run directory that you name",
    "SACRO": "Semi-Automated Checking of Research Outputs: ACRO with a viewer for output checkers",
    "SARS": "Samples of Anonymised Records, of the British census of 1991",
    "SD": "standard deviation",
    "SE": "standard error",
    "SMD": "standardised mean difference: of two groups, in standard deviations",
    "SMR": "standardised mortality ratio: deaths over those expected at the rates of a reference population",
    "DSR": "directly standardised rate: the mean of the rates of age bands, weighted by a standard population",
    "SHA": "secure hash algorithm: a fingerprint of a file",
    "NOMREG": "the multinomial logit of SPSS",
    "PSU": "primary sampling unit: what a survey drew first, such as an area or a school",
    "PSPP": "a free program for the syntax and the files of SPSS",
    "SPSS": "a statistical package; its files end in .sav",
    "SAS": "a statistical package",
    "LaTeX": "a language that papers are set in",
    "RTF": "rich text format, of word processors",
    "PDF": "a format of printed pages",
    "XML": "a text format of nested elements",
    "GEE": "generalised estimating equations: regressions of records that belong together",
    "ODS": "Output Delivery System, by which SAS writes its output",
    "SVD": "singular value decomposition",
    "SVG": "a format of drawings",
    "SVM": "support vector machine, a classifier",
    "TLS": "transport layer security: encrypted connections",
    "TRE": "trusted research environment: where researchers work with data that must not leave",
    "UTF": "Unicode transformation format: how text is written in bytes",
    "WEAP": "within equivalence class attribution probability: the share of a synthetic record's class with its target",
    "YAML": "a text format for people, of studies and codebooks",
    "k-anonymity": "each record shares its keys with at least k - 1 others",
    "l-diversity": "each class of equal keys holds at least l values of the target",
    "WLS": "weighted least squares, a linear regression",
    "BIC": "Bayesian information criterion: like AIC, with the logarithm of the number of records for 2",
    "GLS": "generalised least squares",
    "ML": "maximum likelihood",
    "GMM": "generalised method of moments, another estimator with instruments",
    "LIML": "limited-information maximum likelihood, another estimator with instruments",
    "REML": "restricted (residual) maximum likelihood, of variances",
}  # fmt: skip


def page() -> str:
    """The page as Markdown."""
    measures = {name: text for name, text in MEANINGS.items() if not name.startswith("R_")}
    measures["R"] = "accuracy of an attacker who guesses the most frequent target among matching synthetic records"
    parts = [
        "# Glossary",
        "<!-- made by docs/make_glossary.py -->",
        "Words and abbreviations of all pages. [The measures](measures.md) and [privacy metrics](privacy-metrics.md) "
        "have the definitions with their sources.",
    ]
    for title, terms in (("Words", WORDS), ("Abbreviations", SHORT), ("Measures", measures)):
        rows = "\n".join(
            f"| {name} | {text} |" for name, text in sorted(terms.items(), key=lambda each: each[0].lower())
        )
        parts.append(f"## {title}\n\n| | |\n| --- | --- |\n{rows}")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
