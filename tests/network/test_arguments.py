"""Bad arguments of networks and of ``read`` are refused by name."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import creases
from creases.errors import InputError

LAYERS = [(np.eye(2), np.zeros(2)), (np.ones((1, 2)), np.zeros(1))]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_on_no_side(bad: float) -> None:
    net = creases.read(LAYERS)
    x = np.array([[0.0, 1.0], [bad, 0.0]])
    for ask in (net.sides, net.pattern, net.piece, lambda x: next(net.jacobians(x))):
        with pytest.raises(InputError, match="x must be finite, got NaN or infinity in point 1"):
            ask(x)


def test_complex_points_are_refused() -> None:
    with pytest.raises(InputError, match=r"x must be an array of numbers.*complex"):
        creases.read(LAYERS)(np.array([1j, 0]))


@pytest.mark.parametrize("leak", [np.nan, np.inf, "a", None])
def test_leaks_that_are_no_finite_number_are_refused(leak) -> None:
    with pytest.raises(InputError, match="leak must be a finite number"):
        creases.network._reading.arrays.from_arrays(LAYERS, leak=leak)


def test_weights_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(InputError, match=r"model must be a list of pairs \(W, b\).*complex128 \(layer 0\)"):
        creases.read([(np.eye(2) * 1j, np.zeros(2))])
    with pytest.raises(InputError, match=r"model must have inputs in each layer, got W \(2, 0\) in layer 0"):
        creases.read([(np.zeros((2, 0)), np.zeros(2))])


def test_bad_units_patterns_memory_and_dtypes_are_refused() -> None:
    net = creases.read(LAYERS)
    for index in ("a", 1.5, -1, 2):
        with pytest.raises(InputError, match="index must be an integer from 0 to 1, got"):
            net.unit(index)
    with pytest.raises(InputError, match="pattern must hold packed bits as uint8, got float64"):
        net.unpack([[1.0]])
    with pytest.raises(InputError, match="memory must be a positive number of bytes, got 0"):
        next(net.jacobians(np.zeros((1, 2)), memory=0))
    with pytest.raises(InputError, match="target must be a device or a floating-point dtype"):
        net.to(torch.int32)
