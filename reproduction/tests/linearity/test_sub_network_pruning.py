"""Exhaustive and iterative pruning against plain torch loops."""

from itertools import combinations

import numpy as np
import pytest
import torch
from torch import nn

from creases import lab
from creases.errors import InputError
from creases_reproduction.linearity.sub_network_pruning import exhaustive, iterative, without_each

POINTS = np.array([[-1, -1, -1], [-1, -1, 1], [-1, 1, -1], [-1, 1, 1], [1, -1, -1], [1, -1, 1], [1, 1, -1], [1, 1, 1]])
PARITY = (POINTS == 1).sum(axis=1) % 2


def learned(widths, seed=0, count=20):
    start = lab.Batch.initial(count, widths, seed=seed, init="he", dtype=np.float64)
    done = lab.train(start, POINTS, PARITY, epochs=2000, loss="binary_cross_entropy", lr=0.025, until_accuracy=1.0)
    return done.batch[np.flatnonzero(done.accuracy == 1)]


def tuned_by_torch(model, epochs):
    """Whether full-batch Adam gets all samples right within so many epochs, looked at before each."""
    x, y = torch.from_numpy(POINTS).double(), torch.from_numpy(PARITY).double()
    steps = torch.optim.Adam(model.parameters(), lr=0.025)
    for epoch in range(epochs + 1):
        out = model(x)[:, 0]
        if bool(((out > 0) == (y > 0)).all()):
            return True
        if epoch < epochs:
            steps.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(out, y).backward()
            steps.step()
    return False


def sub_network(model, units):
    units = list(units)
    small = nn.Sequential(nn.Linear(3, len(units)), nn.ReLU(), nn.Linear(len(units), 1)).double()
    with torch.no_grad():
        small[0].weight.copy_(model[0].weight[units])
        small[0].bias.copy_(model[0].bias[units])
        small[2].weight.copy_(model[2].weight[:, units])
        small[2].bias.copy_(model[2].bias)
    return small


@pytest.mark.thorough
def test_exhaustive_counts_what_a_loop_over_torch_modules_counts():
    network = learned([3, 5, 1])[:1]
    found = exhaustive(network, POINTS, PARITY, epochs=60)
    model = network.module(0)
    for k in range(1, 6):
        right = [units for units in combinations(range(5), k) if tuned_by_torch(sub_network(model, units), 60)]
        if right:
            break
    assert (found.width, found.successes) == (k, len(right))
    assert [tuple(units) for units in found.units] == right
    assert found.tried == {i: len(list(combinations(range(5), i))) for i in range(1, k + 1)}
    assert found.networks.widths == (3, k, 1)
    assert (found.networks.losses(POINTS, PARITY, "binary_cross_entropy") < np.log(2)).all()


@pytest.mark.thorough
def test_exhaustive_takes_a_torch_module():
    network = learned([3, 4, 1])[:1]
    a, b = exhaustive(network, POINTS, PARITY, epochs=100), exhaustive(network.module(0), POINTS, PARITY, epochs=100)
    assert (a.width, a.successes) == (b.width, b.successes)


def test_exhaustive_tells_when_no_width_suffices():
    found = exhaustive(lab.Batch.initial(1, [3, 2, 1], seed=0), POINTS, PARITY, epochs=5)
    assert (found.width, found.successes, found.networks, found.complete) == (None, 0, None, True)


def test_one_class_needs_one_unit():
    found = exhaustive(learned([3, 4, 1])[:1], POINTS, np.zeros(8, int), epochs=500)
    assert found.width == 1


def test_ctrl_c_keeps_what_was_found():
    def stop(what, done, total):
        raise KeyboardInterrupt

    found = exhaustive(learned([3, 4, 1])[:1], POINTS, PARITY, epochs=10, progress=stop)
    assert not found.complete
    assert found.tried == {1: 4}


def test_removing_the_only_unit_of_a_layer_that_is_always_on_is_exact():
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(1, *shape)) for shape in ((4, 3), (1, 4), (5, 1), (2, 5))]
    biases = [rng.normal(size=(1, n)) for n in (4, 1, 5, 2)]
    biases[1][:] = 100.0
    batch = lab.Batch(tuple(weights), tuple(biases))
    (shorter,) = [without_each(batch, 0, 1)]
    assert shorter.widths == (3, 4, 5, 2)
    X = rng.uniform(-1, 1, (50, 3))
    np.testing.assert_allclose(shorter.outputs(X), batch.outputs(X), rtol=1e-12)


def test_without_each_leaves_out_one_unit_after_another():
    batch = lab.Batch.initial(1, [3, 4, 2, 1], seed=0, dtype=np.float64)
    parts = without_each(batch, 0, 0)
    assert parts.widths == (3, 3, 2, 1)
    for gone in range(4):
        model = batch.module(0)
        with torch.no_grad():
            model[2].weight[:, gone] = 0.0
        expected = model(torch.from_numpy(POINTS).double()).detach().numpy()
        np.testing.assert_allclose(parts[gone : gone + 1].outputs(POINTS)[0], expected, rtol=1e-12)


def test_iterative_pruning_ends_with_networks_that_are_right_and_cannot_lose_a_unit():
    batch = learned([3, 8, 8, 1], count=4)[:2]
    found = iterative(batch, POINTS, PARITY, restarts=2, epochs=100)
    assert len(found.trajectories) == 4
    for one in found.trajectories:
        assert one.ended == "smallest"
        assert (one.network.outputs(POINTS)[0, :, 0] > 0).tolist() == (PARITY == 1).tolist()
        assert [sum(step.widths) for step in one.steps] == [16 - i for i in range(1, len(one.steps) + 1)]
        assert one.units == 16 - len(one.steps)
        for layer in range(len(one.hidden)):
            rest = without_each(one.network, 0, layer)
            done = lab.train(
                rest, POINTS, PARITY, epochs=100, loss="binary_cross_entropy", lr=0.025, until_accuracy=1.0
            )
            assert (done.accuracy < 1).all()
    assert found.best.units == min(one.units for one in found.trajectories)


def test_units_are_drawn_by_the_inverse_of_the_loss_without_them():
    model = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1)).double()
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), ([[1], [1]], [0, 0], [[1, 10]], [-0.5]), strict=True):
            parameter.copy_(torch.tensor(value))
    found = iterative(model, [[-1.0], [1.0]], [0, 1], restarts=300, epochs=0)
    first = [one.steps[0] for one in found.trajectories]
    losses = {step.unit: step.loss for step in first}
    assert losses[1] == pytest.approx(2 * losses[0], rel=1e-3)
    assert 170 < sum(step.unit == 0 for step in first) < 230  # two thirds


def test_iterative_pruning_repeats_by_its_seed_and_does_not_depend_on_the_others():
    batch = learned([3, 6, 6, 1], count=4)[:2]
    both = iterative(batch, POINTS, PARITY, restarts=2, epochs=20, seed=5)
    alone = iterative(batch[:1], POINTS, PARITY, restarts=2, epochs=20, seed=5)
    assert [one.steps for one in alone.trajectories] == [one.steps for one in both.trajectories[:2]]


def test_iterative_pruning_keeps_what_it_has_after_ctrl_c():
    def stop(what, done, total):
        if what.startswith("step 3,"):
            raise KeyboardInterrupt

    found = iterative(learned([3, 8, 8, 1], count=4)[:1], POINTS, PARITY, restarts=2, epochs=20, progress=stop)
    assert {one.ended for one in found.trajectories} == {"interrupted"}
    assert [len(one.steps) for one in found.trajectories] == [3, 3]


def test_wrong_arguments_are_refused_by_name():
    untrained = lab.Batch.initial(1, [3, 4, 1], seed=0)
    with pytest.raises(InputError, match=r"model must classify all samples correctly, got .* for network 0; train it"):
        iterative(untrained, POINTS, PARITY)
    with pytest.raises(InputError, match="restarts must be a positive integer"):
        iterative(untrained, POINTS, PARITY, restarts=0)
    with pytest.raises(InputError, match="model must be one network with one hidden layer"):
        exhaustive(lab.Batch.initial(1, [3, 4, 4, 1], seed=0), POINTS, PARITY)
    with pytest.raises(InputError, match=r"max_units must be from min_units \(at least 1\) to 4, got 5"):
        exhaustive(untrained, POINTS, PARITY, max_units=5)
    with pytest.raises(InputError, match="max_networks must be at least 10, to train the 6 sub-networks of width 2"):
        exhaustive(untrained, POINTS, PARITY, epochs=0, max_networks=5)
    with pytest.raises(InputError, match="X must be finite in"):
        exhaustive(untrained, POINTS * np.nan, PARITY)
    with pytest.raises(InputError, match=r"model must be a lab.Batch or a torch.nn.Sequential"):
        exhaustive(nn.Linear(3, 1), POINTS, PARITY)
