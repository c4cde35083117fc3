"""Narrow layers one after the other make any changes of class."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import creases
from creases.boolean.intervals._constructions import deep_interval_network, layers_needed
from creases.boolean.intervals._intervals import Intervals
from creases.errors import InputError


def hidden(model):
    return [layer.out_features for layer in model if isinstance(layer, torch.nn.Linear)][:-1]


@pytest.mark.thorough
@pytest.mark.parametrize("touching", [False, True])
@pytest.mark.parametrize("width", [2, 3, 5])
@pytest.mark.parametrize("leak", [0.0, 0.1, 0.6])
def test_every_gap_has_one_change_and_nothing_else_has(leak, width, touching):
    for changes in range(1, 13):
        ends = np.sort(np.random.default_rng(changes).uniform(0, 10, 2 * changes + 2)).reshape(-1, 2)
        if touching:
            ends[1:, 0] = ends[:-1, 1]
        found = Intervals.from_ends(ends, (-1) ** changes)
        model = deep_interval_network(ends, width, first=found.first, leak=leak)
        assert len(hidden(model)) == layers_needed(changes, width, leak=leak)
        assert max(hidden(model)) <= width
        start, stop = ends[0, 0], ends[-1, 1]
        boundary = creases.line(creases.read(model), [start], [stop]).boundary()
        where = start + boundary.t * (stop - start)
        assert len(where) == changes
        assert (where >= ends[:-1, 1] - 1e-9).all()
        assert (where <= ends[1:, 0] + 1e-9).all()
        middles = torch.from_numpy(ends.mean(axis=1, keepdims=True))
        assert (model(middles).detach().numpy().ravel() * found.classes > 0).all()


def test_a_layer_of_w_units_takes_away_w_minus_one_changes():
    assert [layers_needed(s, 2) for s in range(7)] == [0, 1, 1, 2, 3, 4, 5]
    assert [layers_needed(s, 2, leak=0.1) for s in range(7)] == [0, 1, 1, 1, 2, 3, 4]
    assert [layers_needed(s, 3) for s in range(9)] == [0, 1, 1, 1, 1, 2, 2, 3, 3]


def test_layers_of_one_unit_make_one_change():
    assert hidden(deep_interval_network([(0, 1), (2, 3)], 1)) == [1]
    with pytest.raises(InputError, match="width must be at least 2 for 2 changes of class, got 1"):
        deep_interval_network([(0, 1), (2, 3), (4, 5)], 1)


def test_a_width_that_is_none_is_refused():
    with pytest.raises(InputError, match="width"):
        deep_interval_network([(0, 1), (2, 3)], 0)
