"""Every growth method exists as a function and as an object, with one set of defaults."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

from creases.growth import methods
from creases.growth.methods import METHODS

FUNCTIONS = {"random": methods.random_units, "search": methods.crease_search}


@pytest.mark.parametrize("name", METHODS)
def test_function_and_object_have_the_same_defaults(name):
    function = FUNCTIONS.get(name) or getattr(methods, name)
    parameters = inspect.signature(function).parameters
    options = {field.name: field.default for field in fields(METHODS[name])}
    shared = set(options) & set(parameters)
    assert shared == set(options) - {"samples", "max_samples"}
    assert {option: options[option] for option in shared} == {option: parameters[option].default for option in shared}
