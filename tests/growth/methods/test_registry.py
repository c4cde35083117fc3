"""Every growth method exists as a function and as an object, with one set of defaults."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest
import torch
from torch import nn

from creases.errors import InputError
from creases.growth import methods
from creases.growth._objective import objective
from creases.growth._samples import InMemorySamples
from creases.growth.methods import METHODS, Evidence
from creases.growth.methods._registry import refusal
from creases.network import places

FUNCTIONS = {"random": methods.random_units}


@pytest.mark.parametrize("name", [name for name in METHODS if name != "auto"])  # a choice between two others
def test_function_and_object_have_the_same_defaults(name):
    function = FUNCTIONS.get(name) or getattr(methods, name)
    parameters = inspect.signature(function).parameters
    options = {field.name: field.default for field in fields(METHODS[name])}
    shared = set(options) & set(parameters)
    assert shared == set(options) - {"samples", "max_samples"}
    assert {option: options[option] for option in shared} == {option: parameters[option].default for option in shared}


def conv_models():
    return {
        "plain": nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Conv2d(3, 2, 3)),
        "max pool": nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 2, 2)),
        "sigmoid": nn.Sequential(nn.Conv2d(1, 3, 3), nn.Sigmoid(), nn.Conv2d(3, 2, 3)),
        "transposed": nn.Sequential(nn.ConvTranspose2d(1, 3, 3), nn.ReLU(), nn.Conv2d(3, 2, 3)),
    }


@pytest.mark.parametrize("name", list(METHODS))
@pytest.mark.parametrize("kind", conv_models())
def test_the_check_without_data_says_what_the_method_would_say(name, kind):
    model = conv_models()[kind].double()
    place = places(model, (1, 6, 6))[0]
    x = torch.randn(8, 1, 6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = torch.zeros_like(model(x)).detach()
    said = ""
    try:
        METHODS[name]()(model, place, Evidence(InMemorySamples(x, y), objective("regression"), 0))
    except InputError as problem:
        said = str(problem)
    assert refusal(name, model, place) == said


def test_a_function_of_the_users_own_is_never_refused_beforehand():
    model = conv_models()["transposed"]
    assert refusal(lambda *args: None, model, places(model, (1, 6, 6))[0]) == ""


def test_the_check_leaves_the_random_state_alone():
    model = nn.Sequential(nn.Linear(2, 3), nn.RReLU(), nn.Linear(3, 1)).train()
    state = torch.get_rng_state()
    for name in METHODS:
        refusal(name, model, places(model)[0])
    assert torch.equal(torch.get_rng_state(), state)
    assert model.training
