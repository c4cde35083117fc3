"""The options of a run: spelt once, and read from what earlier versions saved."""

from __future__ import annotations

from inspect import signature

import pytest

from creases.errors import InputError
from creases.growth import Grower, GrowthConfig, grow
from creases.growth._config import GrowthOptions, RunOptions
from growth_runs import classes, mlp


def test_names_that_never_existed_are_refused():
    with pytest.raises(InputError, match="options must be names of the configuration, got 'epochs'"):
        GrowthConfig.from_dict({"epochs": 3})


@pytest.mark.parametrize("kind", [GrowthOptions, RunOptions])
def test_options_have_the_types_of_the_configuration(kind):
    types = {
        name: text for base in GrowthConfig.__mro__ for name, text in vars(base).get("__annotations__", {}).items()
    }
    assert {name: hint.__forward_arg__ for name, hint in kind.__annotations__.items()} == {
        name: types[name] for name in kind.__annotations__
    }


@pytest.mark.parametrize(("function", "kind"), [(grow, RunOptions), (Grower, GrowthOptions)])
def test_a_signature_shows_every_option_with_its_default(function, kind):
    parameters = signature(function).parameters
    assert {name: parameters[name].default for name in kind.__annotations__} == {
        name: getattr(GrowthConfig, name) for name in kind.__annotations__
    }


@pytest.mark.parametrize("name", ["epochs", "hidden", "tensorboard"])
def test_names_that_are_no_option_are_refused(name):
    with pytest.raises(TypeError, match=rf"grow\(\) got an unexpected keyword argument '{name}'"):
        grow(mlp(3, 2, 2), classes(), "classification", **{name: 3})


def test_options_of_training_are_not_those_of_a_loop_of_ones_own():
    with pytest.raises(TypeError, match=r"Grower\(\) got an unexpected keyword argument 'lr'"):
        Grower(mlp(3, 2, 2), None, classes(), "classification", lr=0.1)
