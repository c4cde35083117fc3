"""Every method's bounds hold, each is at least as tight as the one before, and exact ones are reached."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import creases
from agreement import seeded
from creases.certify import output_bounds, unit_bounds
from creases.certify.propagation import value_bounds
from creases.certify.propagation._linear import linear_value_bounds
from creases.errors import InputError

PLAIN = nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 5), nn.LeakyReLU(0.2), nn.Linear(5, 3)).double()
METHODS = ["interval", "linear", "lp", "exact"]


@pytest.fixture(scope="module")
def net() -> creases.Network:
    return creases.read(seeded(PLAIN))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_bounds_hold_at_every_point_of_the_box(net: creases.Network, method: str) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, size=(10_000, 2))
    low, high = output_bounds(net, (-1, 1), method=method)
    assert (low - 1e-12 <= net(x).min(axis=0)).all()
    assert (net(x).max(axis=0) <= high + 1e-12).all()


@pytest.mark.slow
def test_tighter_methods_give_tighter_bounds(net: creases.Network) -> None:
    widths = [np.subtract(*output_bounds(net, (-1, 1), method=method)[::-1]) for method in METHODS]
    interval, linear, lp, exact = widths
    assert (linear <= interval + 1e-9).all()
    assert (lp <= interval + 1e-9).all()
    for width in (interval, linear, lp):
        assert (exact <= width + 1e-9).all()


def test_exact_bounds_are_reached_at_vertices_of_the_partition(net: creases.Network) -> None:
    y = net(creases.space(net, (-1, 1), method="vertices").vertices)
    low, high = output_bounds(net, (-1, 1), method="exact")
    np.testing.assert_allclose(low, y.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(high, y.max(axis=0), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_units_are_bounded_bend_by_bend(net: creases.Network, method: str) -> None:
    bounds = unit_bounds(net, (-1, 1), method=method)
    assert [len(low) for low, _ in bounds] == [6, 5]
    (low, high), _ = bounds
    W, b = PLAIN[0].weight.detach().numpy(), PLAIN[0].bias.detach().numpy()
    np.testing.assert_allclose(low, b - np.abs(W).sum(axis=1))  # the first layer is affine: exact by every method
    np.testing.assert_allclose(high, b + np.abs(W).sum(axis=1))


def test_linear_bounds_are_never_wider_than_intervals(net: creases.Network) -> None:
    box = torch.tensor([[-1.0, 1.0]] * 2, dtype=torch.float64)
    intervals = value_bounds(net, box)
    for value, bounds in linear_value_bounds(net, box).items():
        assert (bounds.low >= intervals[value].low).all()
        assert (bounds.high <= intervals[value].high).all()


def test_methods_that_do_not_apply_are_refused_with_advice(net: creases.Network) -> None:
    pooled = nn.Sequential(nn.Linear(2, 4), nn.Unflatten(1, (1, 4)), nn.MaxPool1d(2), nn.Flatten())
    with pytest.raises(InputError, match=r"net must consist of linear layers and ReLUs.*use method='linear'"):
        output_bounds(creases.read(pooled), (-1, 1), method="lp")
    with pytest.raises(InputError, match=r"max_regions must be at least .* got 3, .*use method='linear'"):
        output_bounds(net, (-1, 1), method="exact", max_regions=3)
    with pytest.raises(InputError, match="method must be 'interval', 'linear', 'lp' or 'exact', got 'crown'"):
        output_bounds(net, (-1, 1), method="crown")


def test_bicubic_interpolation_has_no_bounds() -> None:
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Unflatten(1, (1, 4, 4)), nn.Upsample(8, mode="bicubic"))
    with pytest.raises(InputError, match="net must have no bicubic interpolation"):
        output_bounds(model, (-1, 1))
