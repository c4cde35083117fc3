"""Explanations in sentences that are true and read well for one unit and for several."""

from __future__ import annotations

import pytest

from creases.growth._explanation import explain, explain_reason

ONE = {"place": "0", "units": 1}

SAID = {
    "a random unit that raises the loss": (
        {"method": "random", "seed": 3, "gain": -2e-5},
        "1 unit added to '0' because random units were requested (seed 3); the mean loss is predicted to rise "
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


def test_a_method_of_an_earlier_version_is_named():
    assert explain({"method": "search", "place": "0", "tried": 72}) == "1 unit added to '0' by search."


FILLED = {
    "several": (
        {"method": "gradmax", "start": "zero", "units": 10, "supplied": 10, "filled": 54},
        "10 units added to '0' because new weights have the largest gradient there; incoming weights start at zero, so "
        "the function is unchanged. GradMax supplied 10 of 64 units; the other 54 are random and initially without "
        "effect.",
    ),
    "one": (
        {"method": "split", "split": [0], "noise": 0.05, "supplied": 1, "filled": 1},
        "1 unit added to '0' because unit 0 was copied with noise of 0.05; each copy gets half of the outgoing "
        "weights. Split supplied 1 of 2 units; the other one is random and initially without effect.",
    ),
    "a method of one's own": (
        {"method": "mine", "supplied": 1, "filled": 3},
        "1 unit added to '0' by mine. mine supplied 1 of 4 units; the other 3 are random and initially without effect.",
    ),
    "none": (
        {"method": "random", "seed": 3, "gain": 0.0, "units": 64, "asked": "tiny", "instead": "no gradient is left"},
        "64 random units added to '0', initially without effect, because TINY supplied none (no gradient is left).",
    ),
    "none, without a reason": (
        {"method": "random", "seed": 3, "gain": 0.0, "asked": "mine", "instead": ""},
        "1 random unit added to '0', initially without effect, because mine supplied none.",
    ),
}


@pytest.mark.parametrize("name", FILLED)
def test_units_that_the_method_did_not_supply_are_called_random(name):
    explanation, said = FILLED[name]
    assert explain(ONE | explanation) == explain_reason(ONE | explanation) == said
