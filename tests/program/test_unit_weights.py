"""Incoming and outgoing weights of units are those of the layers."""

import numpy as np
import torch
from torch import nn

import creases
from creases._program._gradients import incoming_weights, outgoing_weights


def test_rows_and_columns_are_those_of_the_dense_layers_beside_a_bend():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 4, bias=False), nn.ReLU(), nn.Linear(4, 1))
    net = creases.read(model)
    first, second = model[0], model[2]
    with torch.no_grad():
        assert np.array_equal(incoming_weights(net, 0), torch.column_stack([first.weight, first.bias]).double())
        assert np.array_equal(incoming_weights(net, 1)[:, :-1], second.weight.double())
        assert not incoming_weights(net, 1)[:, -1].any()
        assert np.array_equal(outgoing_weights(net, 0), second.weight.T.double())
        assert np.array_equal(outgoing_weights(net, 1), model[4].weight.T.double())


def test_what_is_beside_no_dense_layer_has_none():
    model = nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 1), nn.ReLU())
    net = creases.read(model, (1, 3, 3))
    assert incoming_weights(net, 0) is None
    assert outgoing_weights(net, 0) is None  # the flattened values are what the layer reads
    assert incoming_weights(net, 1) is not None
    assert outgoing_weights(net, 1) is None  # it is the output
    assert incoming_weights(creases.read(nn.Sequential(nn.ReLU(), nn.Linear(2, 1)), (2,)), 0) is None
