"""Facts about the network that an estimator begins with."""

import numpy as np
import pytest
import torch

import creases
from creases.tables._fit.experiment import linear_start


def _live(n: int) -> torch.Tensor:
    return torch.ones(n, dtype=torch.bool)


@pytest.mark.parametrize("hidden", [(2,), (6,), (4, 6), (2, 2, 8)])
def test_of_even_widths_it_is_a_linear_function(hidden: tuple[int, ...]) -> None:
    model = linear_start(5, hidden, 3, live=_live(5), seed=0)
    x, y = torch.randn(2, 10, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    torch.testing.assert_close(model(2 * x - 3 * y), 2 * model(x) - 3 * model(y))
    assert model(x).detach().std() > 0.01


@pytest.mark.parametrize("hidden", [(1,), (3,), (3, 5)])
def test_odd_widths_are_as_asked_for(hidden: tuple[int, ...]) -> None:
    model = linear_start(4, hidden, 1, live=_live(4), seed=0)
    assert [layer.out_features for layer in model if isinstance(layer, torch.nn.Linear)] == [*hidden, 1]


def test_an_input_that_does_not_vary_has_no_weight() -> None:
    model = linear_start(3, (4,), 2, live=torch.tensor([True, False, True]), seed=0)
    assert not model[0].weight[:, 1].any()
    assert model[0].weight[:, [0, 2]].all()


def test_of_one_seed_it_is_one_network_and_no_other_random_numbers_are_drawn() -> None:
    before = torch.random.get_rng_state()
    one, two, other = (linear_start(3, (4,), 2, live=_live(3), seed=seed) for seed in (0, 0, 1))
    assert torch.equal(one[0].weight, two[0].weight)
    assert not torch.equal(one[0].weight, other[0].weight)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_all_its_places_can_grow() -> None:
    model = linear_start(3, (4, 2), 2, live=_live(3), seed=0)
    assert [place.name for place in creases.places(model)] == ["hidden1", "hidden2"]
    assert np.isfinite(creases.read(model)([1.0, 2.0, 3.0])).all()
