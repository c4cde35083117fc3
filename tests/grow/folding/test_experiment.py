"""Experiment A of the XNG slides at a small scale: 2-2-2 grown by one fold, against 2-3-2 from random weights."""

import pytest
import torch

from creases.grow import apply, fold
from creases.problems import quadratic
from grow_batch import initial, losses, module, stacked, train

COUNT = 100


@pytest.mark.slow
def test_networks_grown_by_a_fold_end_lower_than_networks_of_that_size_from_random_weights():
    X, y = (torch.from_numpy(part) for part in quadratic())
    random = losses(train(initial(COUNT, 3, seed=1), X, y, 5000), X, y)
    small = train(initial(COUNT, 2, seed=0), X, y, 2000)
    folded = losses(small, X, y)  # where the layer is dead there is no fold, and the network stays as it is
    models, proposals = [module(small, n) for n in range(COUNT)], {}
    for n, model in enumerate(models):
        proposal = fold(model, "0", X, y)
        if proposal.count:
            apply(proposal, model)
            proposals[n] = proposal
    assert len(proposals) >= 0.9 * COUNT
    folded[list(proposals)] = losses(train(stacked([models[n] for n in proposals]), X, y, 3000), X, y)
    assert random.mean() - folded.mean() > 2 * ((random.var() + folded.var()) / COUNT) ** 0.5
    solved = 0.02  # the best known loss is below 0.01, the linear model's 0.35
    assert (folded < solved).sum() > 2 * (random < solved).sum()
