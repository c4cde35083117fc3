"""Experiment A of the XNG slides at a small scale: 2-2-2 grown by one fold, against 2-3-2 from random weights."""

import pytest
import torch

from creases.grow import apply, fold
from creases.problems import quadratic
from grow_batch import initial, losses, module, stacked, train


@pytest.mark.slow
def test_networks_grown_by_a_fold_end_lower_than_networks_of_that_size_from_random_weights():
    X, y = (torch.from_numpy(part) for part in quadratic())
    count = 40
    small = train(initial(count, 2, seed=0), X, y, 2000)
    models = [module(small, n) for n in range(count)]
    grown = []
    for n, model in enumerate(models):
        proposal = fold(model, "0", X, y)
        if proposal.count:  # else the layer is dead, and stays so: no fold
            apply(proposal, model)
            grown.append(n)
    assert len(grown) >= 0.9 * count
    folded = losses(train(stacked([models[n] for n in grown]), X, y, 3000), X, y)
    rest = losses(small, X, y)[[n for n in range(count) if n not in grown]]
    folded = torch.cat([folded, rest])
    random = losses(train(initial(count, 3, seed=1), X, y, 5000), X, y)
    error = (folded.var() / count + random.var() / count) ** 0.5
    assert random.mean() - folded.mean() > 2 * error
