"""Explanations in sentences that are true and read well for one unit and for several."""

from __future__ import annotations

import pytest

from creases.growth._explanation import explain, explain_reason

ONE = {"place": "0", "units": 1}

SAID = {
    "a random unit that raises the loss": (
        {"method": "random", "seed": 3, "gain": -2e-5},
        "1 unit added to '0' because the method draws units at random (seed 3); the mean loss is predicted to rise "
        "by 2e-05.",
    ),
    "a copy": (
        {"method": "split", "split": [0], "noise": 0.05},
        "1 unit added to '0' because unit 0 was copied with noise of 0.05; each copy gets half of the outgoing "
        "weights.",
    ),
    "copies": (
        {"method": "split", "split": [0, 2], "noise": 0.0, "units": 2},
        "2 units added to '0' because units 0, 2 were copied exactly (without noise, training keeps copies equal); "
        "each copy gets half of the outgoing weights.",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_the_reason_is_said_in_one_sentence(name):
    explanation, said = SAID[name]
    assert explain(ONE | explanation) == explain_reason(ONE | explanation) == said


def test_a_method_of_ones_own_is_named():
    assert explain({"method": "mine", "place": "0"}) == "1 unit added to '0' by mine."
