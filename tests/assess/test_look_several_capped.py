"""Dominance near a top code where the largest contributor has it several times."""

import numpy as np
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look.contributions import dominance
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY

CODEBOOK = Codebook((Variable("pay", "integer", tuple(range(59))),))


@pytest.mark.parametrize(("pays", "certain"), [([58, 40], True), ([58, 58], False)])
def test_each_record_at_the_top_code_may_be_of_more(pays, certain):
    """Top code 50: two records at it print 100, and may be 116, which is not to within 10 %."""
    entry = {"kind": "magnitudes", "value": "pay", "statistics": ["count", "sum"], "protection": {"top_code": 50}}
    (output,) = REGISTRY["magnitudes"](**entry).build(CODEBOOK, 1)
    data = Microdata(CODEBOOK, np.array([[*pays, 4, 0]], dtype=np.uint16).T, person=np.array([0, 0, 1, 2]))
    (found,) = dominance(output, data, Appetite())
    assert found.certain == certain
