import numpy as np

from outrisk.codebook import Codebook, Variable
from outrisk.outputs import CorrelationsEntry, CoxEntry, Frequencies, Logit, RegressionEntry, read_rules, released
from outrisk.teach.relations import relations

CODEBOOK = Codebook(tuple(Variable(name, "integer", (0, 1, 2)) for name in "abcdefgh"))


def of(*outputs, rules=()):
    known = [released(output, [0.0] * len(output.labels)) for output in outputs]
    return relations(CODEBOOK, known, read_rules(CODEBOOK, rules))


def test_a_table_relates_its_variables_and_its_subset_in_part():
    found = of(Frequencies(CODEBOOK, "t", ("a", "c"), where="b > 0"), Frequencies(CODEBOOK, "u", ("d",)))
    assert found.direct == (("a", "c"),)
    assert found.partial == (("a", "b"), ("b", "c"))
    assert found.absent == (("a", "d"), ("b", "d"), ("c", "d"))
    assert found.unseen == ("e", "f", "g", "h")
    assert found.ruled == ()


def test_a_regression_relates_the_response_to_each_term_and_terms_only_in_part():
    logit = Logit(CODEBOOK, "l", "d ~ a + b * c", event="2", where="e == 0")
    found = of(logit)
    assert found.direct == (("a", "d"), ("b", "c"), ("b", "d"), ("c", "d"))
    assert found.partial == (("a", "b"), ("a", "c"), ("a", "e"), ("b", "e"), ("c", "e"), ("d", "e"))
    assert found.absent == ()


def test_correlations_relate_every_pair_of_theirs():
    (output,) = CorrelationsEntry(kind="correlations", variables=["a", "c", "d"]).build(CODEBOOK, 1)
    found = relations(CODEBOOK, [released(output, *output.publish(np.zeros(len(output.labels))))])
    assert found.direct == (("a", "c"), ("a", "d"), ("c", "d"))
    assert found.unseen == ("b", "e", "f", "g", "h")


def test_standard_errors_do_not_relate_the_terms_of_a_regression():
    entry = RegressionEntry(kind="ols", formula="c ~ a + b", release=["coefficients", "standard_errors"])
    (output,) = entry.build(CODEBOOK, 1)
    found = relations(CODEBOOK, [released(output, np.ones(len(output.labels)))])
    assert found.direct == (("a", "c"), ("b", "c"))
    assert found.partial == (("a", "b"),)


def test_what_one_output_relates_in_part_another_may_relate_directly():
    found = of(Logit(CODEBOOK, "l", "c ~ a + b", event="1"), Frequencies(CODEBOOK, "t", ("a", "b")))
    assert found.direct == (("a", "b"), ("a", "c"), ("b", "c"))
    assert found.partial == ()


def test_rules_tie_what_no_output_relates():
    tables = [Frequencies(CODEBOOK, name, (name,)) for name in "abc"]
    found = of(*tables, rules=["a > 1 implies b > 1", "c + h > 0"])
    assert found.ruled == (("a", "b"), ("c", "h"))
    assert found.absent == (("a", "c"), ("b", "c"))
    assert "h" in found.unseen


def test_a_cox_model_relates_time_and_event_to_each_other_and_to_each_term():
    entry = CoxEntry(kind="cox", formula="c ~ a + b", status="d", event="1", strata="e")
    (output,) = entry.build(CODEBOOK, 1)
    found = relations(CODEBOOK, [released(output, np.ones(len(output.labels)))])
    assert {("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")} <= set(found.direct)
    assert found.partial == (("a", "b"),)
