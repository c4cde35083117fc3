"""A program is immutable, and everything that analyses a function works on it without a network."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import torch

import creases
from creases._program import Program, forward, forward_sides, pack_sides, pattern_pieces

NET = creases.read(
    [(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([0.0, -1.0, 0.5])), (np.ones((2, 3)), [0, 1])]
)


def test_a_program_does_not_change() -> None:
    program = Program(NET.steps, NET.input_shape)
    with pytest.raises(FrozenInstanceError):
        program.steps = ()  # type: ignore[misc]
    assert repr(program) == "Program(2 -> 2, 1 bend, 3 units, float64)"


def test_a_network_is_a_program_with_more_methods() -> None:
    assert isinstance(NET, Program)
    assert type(NET.to(torch.float32)) is creases.Network
    assert type(Program(NET.steps, NET.input_shape).to(torch.float32)) is Program


def test_a_program_is_evaluated_without_a_network() -> None:
    program = Program(NET.steps, NET.input_shape)
    x = np.random.default_rng(0).normal(size=(20, 2))
    batch, single = program.as_batch(x)
    assert not single
    np.testing.assert_array_equal(forward(program, batch).numpy(), NET(x))
    (sides,) = forward_sides(program, batch)
    np.testing.assert_array_equal(sides.numpy(), NET.sides(x))
    pieces = pattern_pieces(program, pack_sides(program, NET.sides(x)), np.zeros(2), np.eye(2))
    np.testing.assert_allclose(pieces.J, NET.piece(x).J)
    np.testing.assert_allclose(pieces.y, NET.piece(x).y, atol=1e-14)
