"""Standard errors of effects: as large as those of models of other rows of the same kind."""

import sys
import warnings

import pandas as pd
import pytest

from documents import ROOT

sys.path.append(str(ROOT / "bench"))
from standard_errors import deviations


@pytest.mark.thorough
def test_a_line_that_a_fit_may_bend_by_chance_is_no_surer_in_its_middle_than_it_says():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        is_covered = pd.DataFrame([deviations(seed) for seed in range(100)]).abs() <= 1.96
    assert 0.92 <= is_covered["z near 0"].mean() <= 0.98
