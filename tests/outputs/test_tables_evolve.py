"""Evolution from released tables alone reproduces them, by refit: also those of which only ranges are known."""

import numpy as np
import pytest
from tables import CODEBOOK, draw

from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Histogram, Magnitudes, Mode, Quantiles, Rates, release
from outrisk.outputs.tables.protection import Protection

THRESHOLD = Protection(threshold=5)
TABLES = {
    "withheld": Frequencies(CODEBOOK, "t", ("job", "ill", "age"), margins=True, protection=THRESHOLD),
    "rounded": Frequencies(
        CODEBOOK, "t", ("job", "age"), margins=True, protection=Protection(round_to=5, random=True, threshold=5)
    ),
    "weighted": Frequencies(CODEBOOK, "t", ("job", "ill"), weight="w"),
    "shares": Frequencies(CODEBOOK, "t", ("ill", "age"), show="column_percentages", digits=0),
    "means": Magnitudes(CODEBOOK, "t", "age", ("job",), ("mean", "count"), digits=(1, 0), protection=THRESHOLD),
    "rates": Rates(CODEBOOK, "t", "ill == 'yes'", "pay", ("job",), ("rate", "numerator"), protection=THRESHOLD),
    "quantiles": Quantiles(CODEBOOK, "t", "pay", ("job",), (0.0, 0.25, 0.5, 1.0)),
    "between": Quantiles(CODEBOOK, "t", "age", ("job",), (0.4, 0.5), digits=1),
    "mode": Mode(CODEBOOK, "t", "pay", ("age",)),
    "histogram": Histogram(CODEBOOK, "t", "age", (1, 2, 4, 8), ("job",), show="density", digits=2),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_reproduced(name):
    original = draw(400, 11)
    released = release(TABLES[name], original)
    problem = Problem(CODEBOOK, len(original), (released,))
    *_, end = evolve(problem, preset("fast", generations=300), np.random.default_rng(2))
    numbers = TABLES[name].refit(Microdata(CODEBOOK, end.codes))
    assert end.stop == "matched"
    assert (released.is_matched(numbers) | ~released.known).all()
