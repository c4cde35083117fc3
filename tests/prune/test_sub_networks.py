"""The smallest sub-networks, against plain torch loops."""

from itertools import combinations

import numpy as np
import torch
from torch import nn

from creases import lab
from creases.prune import exhaustive, iterative


def test_all_smallest_sub_networks_for_xor_are_those_that_a_loop_over_torch_modules_finds():
    X, y = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]), np.array([0, 1, 1, 0])
    batch = lab.Batch.initial(1, [2, 4, 1], seed=0, dtype=np.float64)
    model = batch.module(0)
    for k in range(1, 5):
        right = []
        for units in map(list, combinations(range(4), k)):
            small = nn.Sequential(nn.Linear(2, k), nn.ReLU(), nn.Linear(k, 1)).double()
            state = {"0.weight": model[0].weight[units], "0.bias": model[0].bias[units]}
            small.load_state_dict(state | {"2.weight": model[2].weight[:, units], "2.bias": model[2].bias})
            steps = torch.optim.Adam(small.parameters(), lr=0.025)
            for _ in range(61):  # the last is looked at only
                out = small(torch.from_numpy(X).double())[:, 0]
                if ((out.detach() > 0).numpy() == y).all():
                    right.append(units)
                    break
                steps.zero_grad()
                nn.functional.binary_cross_entropy_with_logits(out, torch.from_numpy(y).double()).backward()
                steps.step()
        if right:
            break
    for source in (batch[0], model):
        smallest = exhaustive(source, X, y, epochs=60)
        assert (smallest.units.tolist(), list(smallest.tried)) == (right, list(range(1, k + 1)))
        assert ((smallest.networks.outputs(X)[..., 0] > 0) == y).all()
    (end,) = iterative(smallest.networks[0], X, y, restarts=1, epochs=60)
    assert not end.steps  # no unit of the smallest can go
