"""Two models compared on the same rows: better, worse or level."""

import pytest

from creases.tables._scores.baselines import Comparison


@pytest.mark.parametrize(
    ("gap", "error", "verdict"),
    [(0.05, 0.01, "better"), (-0.05, 0.01, "worse"), (0.0, 0.0, "level"), (0.0204, 0.0199, "level")],
)
def test_a_difference_counts_if_it_shows_beside_its_error(gap, error, verdict):
    assert Comparison("Ridge", "R²", gap, error).verdict == verdict
