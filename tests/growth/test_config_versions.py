"""Configurations that earlier versions saved."""

from __future__ import annotations

import pytest

from creases.errors import InputError
from creases.growth import GrowthConfig


@pytest.mark.parametrize(
    "retired",
    [
        {"how": "steepest_split"},
        {"how": "search"},
        {"where": "bottleneck"},
        {"where": "round robin"},
        {"where": "gain"},
        {"when": "converged"},
        {"epoch_steps": 3},
    ],
)
def test_values_that_no_longer_exist_load_as_the_defaults(retired):
    assert GrowthConfig.from_dict({**retired, "budget": 7, "seed": 3}) == GrowthConfig(budget=7, seed=3)


def test_names_that_never_existed_are_refused():
    with pytest.raises(InputError, match="options must be names of the configuration, got 'epochs'"):
        GrowthConfig.from_dict({"epochs": 3})
