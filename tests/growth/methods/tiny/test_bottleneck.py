"""TINY's identities in float64, and inputs that make S singular."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from creases.growth.methods._first_order.statistics import statistics
from creases.growth.methods._tiny.bottleneck import best_moves, bottleneck, optimal_units, projected_pairs, scale_moves
from first_order import activities, conv, data, loss, mlp, place_of


def changes(units, before, path):
    """First-order activity changes V_k (k, out, n) for slope 1."""
    return torch.stack(
        [torch.outer(units.omega[path][:, k], before.T @ units.alpha[:, k]) for k in range(len(units.values))]
    )


@pytest.mark.parametrize("name", ["0", "2"])
@pytest.mark.parametrize("seed", range(3))
def test_units_reduce_the_bottleneck_by_the_squares_of_the_singular_values(name, seed):
    model, (x, y) = mlp(seed=seed), data(seed=seed)
    place = place_of(model, name)
    path = place.consumers[0].path
    sums = statistics(model, place, (x, y), loss)
    before, after, goal = activities(model, place, x, y)
    left = goal - best_moves(sums)[path].T @ after
    units = optimal_units(sums)
    for k in range(len(units.values) + 1):
        remaining = float((left - changes(units, before, path)[:k].sum(0)).square().sum()) / len(x)
        assert remaining == pytest.approx(
            bottleneck(sums) - float(units.values[:k].square().sum()), abs=1e-8 * bottleneck(sums)
        )


def test_units_are_orthogonal_in_the_trace_product():
    model, (x, y) = mlp(), data()
    place = place_of(model, "2")
    units = optimal_units(statistics(model, place, (x, y), loss))
    v = changes(units, activities(model, place, x, y)[0], "4").flatten(1)
    product = v @ v.T / len(x)
    assert torch.allclose(product, torch.diag(units.values.square()), atol=1e-10 * float(units.values[0] ** 2))


def test_a_few_units_then_others_are_all_of_them_at_once():
    model, (x, y) = mlp(widths=(4, 6, 5)), data((4,))
    y = (y + 2 * (x[:, 2] > 0)) % 5
    place = place_of(model, "0")
    sums = statistics(model, place, (x, y), loss)
    before, _, _ = activities(model, place, x, y)
    both, first = optimal_units(sums, count=3), optimal_units(sums, count=1)
    # to first order the goal that is left is V_proj, for the same dW, less what the first unit gives
    rest = sums.copy()
    rest.consumers["2"].pairs -= changes(first, before, "2").sum(0) @ before.T
    second = optimal_units(rest, count=2)
    assert torch.allclose(torch.cat([first.values, second.values]), both.values, atol=1e-9)
    total = changes(first, before, "2").sum(0) + changes(second, before, "2").sum(0)
    assert torch.allclose(total, changes(both, before, "2").sum(0), atol=1e-8)


def test_no_other_unit_does_better():
    model, (x, y) = mlp(), data()
    place = place_of(model, "0")
    sums = statistics(model, place, (x, y), loss)
    before, after, goal = activities(model, place, x, y)
    left = goal - best_moves(sums)["2"].T @ after
    best = float(optimal_units(sums, count=1).values[0] ** 2)
    numbers = torch.Generator().manual_seed(0)
    for _ in range(50):
        z = torch.randn(4, generator=numbers, dtype=torch.float64) @ before
        gain = float((left @ z).square().sum() / z.square().sum()) / len(x)
        assert gain <= best * (1 + 1e-12)


@pytest.mark.parametrize("factor", [1e-4, 1e3])
def test_the_units_scale_with_the_loss_and_against_the_inputs(factor):
    model, (x, y) = mlp(nn.ReLU), data()
    one = optimal_units(statistics(model, "0", (x, y), loss))
    other = optimal_units(statistics(model, "0", (x, y), lambda out, target: factor * loss(out, target)))
    assert torch.allclose(other.values, factor * one.values, rtol=1e-8)
    scaled = mlp(nn.ReLU)
    with torch.no_grad():
        scaled[0].weight /= factor
    shrunk = optimal_units(statistics(scaled, "0", (factor * x, y), loss))
    assert torch.allclose(shrunk.values, one.values, rtol=1e-7)
    assert torch.allclose(factor * shrunk.alpha[:3].abs(), one.alpha[:3].abs(), rtol=1e-5)


@pytest.mark.parametrize("kind", ["constant", "zero", "twice", "few"])
def test_singular_inputs_give_finite_and_bounded_units(kind):
    model, (x, y) = mlp(widths=(6, 4, 2)), data((6,))
    x[:, 3] = {"constant": 2.0, "zero": 0.0, "twice": x[:, 1], "few": x[:, 3]}[kind]
    x, y = (x[:4], y[:4]) if kind == "few" else (x, y)
    sums = statistics(model, "0", (x, y), loss)
    units = optimal_units(sums)
    assert bool(torch.isfinite(units.alpha).all())
    assert float(units.values.square().sum()) <= bottleneck(sums) * (1 + 1e-8) + 1e-15
    assert float(units.alpha.abs().sum()) < 1e4


def test_the_units_solve_the_generalised_eigenproblem():
    """Prop. 3.3: N N' alpha = lambda^2 S alpha, and omega is N' alpha up to a factor."""
    model, (x, y) = mlp(widths=(60, 8, 4, 2)), data((60,), 400)
    sums = statistics(model, "0", (x, y), loss)
    units, n = optimal_units(sums, count=3), projected_pairs(sums, best_moves(sums))["2"].T  # (d, out)
    s = sums.features / sums.count
    assert torch.allclose(n @ (n.T @ units.alpha), s @ units.alpha * units.values.square(), atol=1e-10)
    assert torch.allclose(n.T @ units.alpha, units.omega["2"] * units.values, atol=1e-10)


@pytest.mark.parametrize(("model", "shape"), [(mlp(), (3,)), (conv(), (2, 7, 7))])
def test_a_small_best_move_lowers_the_loss_as_predicted(model, shape):
    x, y = data(shape, 60)
    for name in ("0", "2", "4")[: 2 if shape == (3,) else 3]:
        place = place_of(model, name, shape)
        sums = statistics(model, place, (x, y), loss)
        move = scale_moves(model, best_moves(sums), 1.0)
        step = 1e-5
        other = {key: value + step * move.get(key, 0) for key, value in model.state_dict().items()}
        after = torch.func.functional_call(model, other, (x,))
        fall = float((loss(model(x), y) - loss(after, y)).detach()) / step
        expected = sums.mean_goal - bottleneck(sums)  # <V_goal, V_0*> = |V_goal|^2 - |V_proj|^2
        assert fall == pytest.approx(expected, rel=1e-3)
