"""What an operation says of its matrix is so."""

import pytest
import torch

from one_step import NETWORKS


@pytest.mark.parametrize("name", [name for name, net in NETWORKS.items() if not net.bends])
def test_the_entries_of_an_operations_matrix_are_of_the_kind_that_it_says(name):
    net = NETWORKS[name]
    (step,) = net.steps
    units = torch.eye(net.n_in, dtype=torch.float64).reshape(net.n_in, *net.input_shape)
    places = range(len(step.inputs))
    each = [step.linear([units if i == k else torch.zeros_like(units) for i in places]) for k in places]
    matrix = torch.stack(each).reshape(-1, net.n_out)  # (inputs, out), of all inputs below one another
    weights = [t.flatten() for key, t in step.tensors.items() if key not in ("offset", "index")]
    assert bool(torch.isin(matrix.abs(), torch.cat([torch.arange(2.0), *weights]).abs()).all()) == (
        step.operation.entries != "averages"
    )
    only_moves = bool(torch.isin(matrix, torch.arange(2.0)).all()) and int(matrix.sum(dim=0).max()) <= 1
    assert only_moves == (step.operation.entries == "moves")
