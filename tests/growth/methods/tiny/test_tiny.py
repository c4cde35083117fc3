"""TINY's proposals: exact slopes, sizes from held-out samples, and honest refusals."""

from __future__ import annotations

import copy
import json

import pytest
import torch
from torch import nn

import creases
from creases.errors import InputError
from creases.growth._explanation import explain
from creases.growth._proposal import apply
from creases.growth.methods._first_order.statistics import sample_size, statistics
from creases.growth.methods._first_order.units import choose_signs
from creases.growth.methods._tiny.tiny import tiny
from first_order import apply_to_copy, conv, data, loss, mean_loss, mlp, place_of, slope
from surgery_models import Branches

#: Units that a linear correlation gives, however weak.
PLAIN = {"fallback": None, "above_noise": False}
BENDS = [nn.Tanh, nn.ReLU, nn.SELU, nn.GELU, nn.SiLU, lambda: nn.LeakyReLU(0.2), nn.PReLU, nn.ELU, lambda: nn.PReLU(3)]


class Block(nn.Module):
    """The inner width of a residual block, with a mean over positions behind it."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.head = nn.Conv2d(2, 3, 3, padding=1), nn.Conv2d(3, 2, 3, padding=1), nn.Linear(2, 2)

    def forward(self, x):
        return self.head((x + self.two(torch.relu(self.one(x)))).mean((2, 3)))


class Wide(nn.Module):
    """Convolutions in one dimension, then a linear layer behind a mean over positions."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv1d(2, 3, 3, padding=1, padding_mode="circular"), nn.Conv1d(3, 4, 2, stride=2)
        self.pool, self.head = nn.AvgPool1d(2), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(torch.selu(self.two(self.pool(torch.relu(self.one(x))))).mean(2))


class Tokens(nn.Module):
    """Linear layers at every position."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.head = nn.Linear(3, 4), nn.Linear(4, 3, bias=False), nn.Linear(15, 2)

    def forward(self, x):
        return self.head(torch.tanh(self.two(torch.relu(self.one(x)))).flatten(1))


def seeded(make):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make().double().eval()


PLACES = [(lambda bend=bend: mlp(bend, (3, 3, 3, 2)), (3,), name) for bend in BENDS for name in ("0", "2")]
PLACES += [(conv, (2, 7, 7), name) for name in ("0", "2", "4")]
PLACES += [(lambda: conv(nn.ReLU, bias=True), (2, 7, 7), name) for name in ("0", "2", "4")]
PLACES += [(Block, (2, 5, 5), "one"), (Wide, (2, 9), "one"), (Wide, (2, 9), "two"), (Branches, (3,), "first")]
PLACES += [(Tokens, (5, 3), "one"), (Tokens, (5, 3), "two")]


@pytest.mark.slow
@pytest.mark.parametrize("project", [True, False])
@pytest.mark.parametrize(("make", "shape", "name"), PLACES)
def test_the_gain_is_the_exact_slope_and_the_search_saw_the_grown_model(make, shape, name, project):
    model, (x, y) = seeded(make), data(shape)
    held = (torch.cat([x, data(shape, 20, 7)[0]]), torch.cat([y, data(shape, 20, 7)[1]]))
    proposal = tiny(
        model, place_of(model, name, shape), (x, y), loss, validation=held, count=3, tau=0, project=project, **PLAIN
    )
    if not proposal.count:
        assert project
        assert "train them further, or pass project=False" in proposal.explanation["reason"]
        return
    step = proposal.explanation["line_search"]["amplitude"] ** -0.5 * 1e-3
    assert slope(model, proposal, x, y, step) == pytest.approx(proposal.gain, rel=1e-4)
    assert mean_loss(apply_to_copy(model, proposal), *held) == pytest.approx(
        proposal.explanation["line_search"]["loss_after"], rel=1e-10
    )


@pytest.mark.parametrize("make", [mlp, lambda: mlp(nn.ReLU), conv, lambda: conv(nn.ReLU)])
def test_every_weight_of_a_new_unit_has_a_gradient(make):
    model = make()
    shape = (3,) if isinstance(model[0], nn.Linear) else (2, 7, 7)
    x, y = data(shape)
    place = place_of(model, "0", shape)
    proposal = tiny(model, place, (x, y), loss, validation=(x, y), tau=0, count=4, project=False, **PLAIN)
    after = apply_to_copy(model, proposal)
    loss(after(x), y).backward()
    new = proposal.place.width
    assert proposal.count
    assert bool((after[0].weight.grad[new:].flatten(1).abs().sum(1) > 0).all())
    assert bool((after[2].weight.grad[:, new:].movedim(1, 0).flatten(1).abs().sum(1) > 0).all())


def test_for_relu_the_better_sign_is_chosen():
    model, (x, y) = mlp(nn.ReLU), data()
    from creases.growth.methods._first_order.observation import observe_batches
    from creases.growth.methods._first_order.route import Route
    from creases.growth.methods._first_order.units import scale_units
    from creases.growth.methods._tiny.bottleneck import optimal_units

    observer, source = observe_batches(model, "2", (x, y), loss)
    seen = list(source)
    route = Route(observer.twin, observer.place, seen[0])
    units = optimal_units(statistics(model, "2", (x, y), loss))
    minus = -torch.ones_like(units.values)
    one, two = choose_signs(route, seen, units), choose_signs(route, seen, scale_units(units, minus, minus))
    assert torch.allclose(one.gains, two.gains)
    assert one.flipped + two.flipped == len(one.gains)


def test_an_amplitude_of_zero_adds_nothing():
    model, (x, y) = mlp(), data(n=20)
    proposal = tiny(model, "2", (x, y), loss, validation=(x, 1 - y), tau=0, count=1, **PLAIN)
    assert proposal.count == 0
    assert "the new units do not lower the loss" in proposal.explanation["reason"]
    assert explain(proposal.explanation).startswith("No unit added to '2': the new units")


def test_where_all_units_together_do_not_help_the_strongest_may():
    x = data((2,), 100)[0]
    model = mlp(widths=(2, 1, 2))
    with torch.no_grad():
        model[2].weight.zero_()
    # the second correlation does not hold for held-out samples, where it is turned round
    seen, held = x * torch.tensor([2.0, 1.0]), x * torch.tensor([2.0, -10.0])
    proposal = tiny(model, "0", (x, seen), nn.MSELoss(), validation=(x, held), project=False, **PLAIN)
    assert (proposal.count, proposal.explanation["candidates"]) == (1, 2)
    assert float(proposal.fan_out["2"][0].abs()) > 5 * float(proposal.fan_out["2"][1].abs())


def test_held_out_samples_of_ones_own_make_the_proposal_independent_of_batches_and_order():
    model, (x, y), held = mlp(), data(), data(seed=3)
    whole = tiny(model, "0", (x, y), loss, validation=held, tau=0, **PLAIN)
    parts = [(x[part], y[part]) for part in torch.arange(120).flip(0).split(50)]
    other = tiny(model, "0", parts, loss, validation=held, tau=0, **PLAIN)
    assert torch.allclose(
        torch.einsum("ki,ok->oi", whole.fan_in, whole.fan_out["2"]),
        torch.einsum("ki,ok->oi", other.fan_in, other.fan_out["2"]),
        atol=1e-9,
    )


def test_the_number_of_units_follows_the_spectrum():
    model, (x, y) = mlp(widths=(6, 3, 4)), data((6,))
    y = (y + 2 * (x[:, 2] > 0)) % 4
    every = tiny(model, "0", (x, y), loss, tau=0, count=9, **PLAIN)
    squares = [value**2 for value in every.explanation["lambda"]]
    tau = (squares[0] + squares[1]) / 2 / every.explanation["loss"]
    assert every.count > 1
    assert tiny(model, "0", (x, y), loss, tau=tau, **PLAIN).count == 1
    assert tiny(model, "0", (x, y), loss, tau=0, count=2, **PLAIN).count <= 2
    none = tiny(model, "0", (x, y), loss, tau=1e3, **PLAIN)
    assert (none.count, none.gain) == (0, 0.0)
    assert "no linear correlation" in none.explanation["reason"]


def test_dead_layers_are_reported_and_get_nothing():
    model, (x, y) = mlp(nn.ReLU), data()
    behind, before = copy.deepcopy(model), copy.deepcopy(model)
    with torch.no_grad():
        behind[2].bias -= 100
        before[0].bias -= 100
    for dead, name, why in (
        (behind, "0", "the loss does not depend on '2'"),
        (before, "2", "no input of '2' is active"),
    ):
        proposal = tiny(dead, name, (x, y), loss, **PLAIN)
        assert proposal.count == 0
        assert proposal.explanation["reason"].startswith("dead layer: ")
        assert why in proposal.explanation["reason"]


def test_the_explanation_is_json_and_can_be_said():
    model, (x, y) = mlp(nn.ReLU), data()
    proposal = tiny(model, "2", (x, y), loss, tau=0, count=2, **PLAIN)
    explanation = json.loads(json.dumps(proposal.explanation))
    assert 0 < explanation["bottleneck_after"] < explanation["bottleneck"]
    assert explanation["samples"] + explanation["line_search"]["samples"] == 120
    said = explain(explanation)
    assert "added to '2' because updates of the existing weights cannot reach" in said
    assert "on 24 held-out samples" in said


def test_to_first_order_the_bottleneck_falls_as_the_spectrum_says():
    model, (x, y) = mlp(), data()
    options = {"tau": 0, "ridge": 0.0, **PLAIN}
    found = tiny(model, "2", (x, y), loss, validation=(x, y), **options).explanation
    values = found["lambda"][: found["units"]]
    # units of one size, alpha' S alpha = |omega| = 1, give lambda_k each, and are orthogonal
    expected = found["bottleneck"] - sum(values) ** 2 / len(values)
    assert found["bottleneck_after"] == pytest.approx(expected, rel=1e-9)


def test_places_that_the_mathematics_does_not_allow_are_refused():
    x, y = data()
    plain = nn.BatchNorm1d(4, affine=False)
    for between, why in ((plain, "one batch norm with weights, .* got '0'"), (nn.Sigmoid(), "whose bend is 0.5 there")):
        model = nn.Sequential(nn.Linear(3, 4), between, nn.Linear(4, 2)).double()
        with pytest.raises(InputError, match=why):
            tiny(model, "0", (x, y), loss, **PLAIN)
    with pytest.raises(InputError, match="a bend with a slope at 0"):
        tiny(nn.Sequential(nn.Linear(3, 4), nn.Hardshrink(), nn.Linear(4, 2)).double(), "0", (x, y), loss, **PLAIN)
    with pytest.raises(InputError, match="count must be a positive integer"):
        tiny(mlp(), "0", (x, y), loss, count=0, **PLAIN)
    with pytest.raises(InputError, match="fallback must be 'second', 'random' or None"):
        tiny(mlp(), "0", (x, y), loss, tau=10, fallback="third", above_noise=False)


@pytest.mark.parametrize(("make", "shape", "name"), [(lambda: mlp(nn.ReLU), (3,), "0"), (conv, (2, 7, 7), "2")])
def test_the_best_move_of_the_present_weights_lowers_the_loss_by_what_its_search_saw(make, shape, name):
    model, (x, y), held = make(), data(shape), data(shape, 40, 9)
    options = {"validation": held, "tau": 0, **PLAIN, "move": True, "project": False}
    proposal = tiny(model, place_of(model, name, shape), (x, y), loss, **options)
    said = proposal.explanation["move"]
    assert proposal.count
    assert said["amplitude"] > 0
    alone, share = copy.deepcopy(model), said["alone"] / said["amplitude"]  # equation 6 searches without the units
    with torch.no_grad():
        for key, change in proposal.change.items():
            alone.get_parameter(key).add_(share * change)
    assert mean_loss(model, *held) == pytest.approx(said["loss_before"], rel=1e-10)
    assert mean_loss(alone, *held) == pytest.approx(said["loss_after"], rel=1e-10)
    assert said["loss_after"] < said["loss_before"]
    search = proposal.explanation["line_search"]
    assert search["loss_before"] == pytest.approx(said["loss_after"], rel=1e-10)
    assert mean_loss(apply_to_copy(model, proposal), *held) == pytest.approx(search["loss_after"], rel=1e-10)


def test_a_move_that_raises_the_loss_on_held_out_samples_is_left_out():
    model, (x, y) = mlp(nn.ReLU, (3, 4, 2)), data()
    options = {"tau": 0, **PLAIN, "project": False, "move": True}
    assert tiny(model, "0", (x, y), loss, validation=(x, y), **options).change
    against = tiny(model, "0", (x, y), loss, validation=(x, 1 - y), **options)  # the loss is convex in the last layer
    assert against.explanation["move"]["amplitude"] == 0
    assert not against.change


@pytest.mark.parametrize("fallback", ["second", "random"])
@pytest.mark.parametrize("bend", [nn.ReLU, nn.SELU])
def test_where_no_linear_correlation_is_left_others_are_found(fallback, bend):
    # x^2 on symmetric inputs: no correlation with x, and the constant is already right
    x = torch.linspace(-1, 1, 201, dtype=torch.float64)[:, None]
    y = 3 * (x.square() - x.square().mean())
    model = nn.Sequential(nn.Linear(1, 1, bias=False), bend(), nn.Linear(1, 1)).double()
    with torch.no_grad():
        model[0].weight.zero_(), model[2].weight.fill_(1.0), model[2].bias.zero_()
    assert tiny(model, "0", (x, y), nn.MSELoss(), validation=(x, y), tau=1e-6, **PLAIN).count == 0
    proposal = tiny(
        model, "0", (x, y), nn.MSELoss(), validation=(x, y), fallback=fallback, tau=1e-6, count=2, above_noise=False
    )
    assert proposal.count
    assert proposal.explanation["line_search"]["gain"] > 1e-3 * proposal.explanation["loss"]
    after = mean_loss(apply_to_copy(model, proposal), x, y, nn.MSELoss())
    assert after == pytest.approx(proposal.explanation["line_search"]["loss_after"])
    small = mean_loss(apply_to_copy(model, proposal.scale(1.0, 1e-5)), x, y, nn.MSELoss())
    assert (mean_loss(model, x, y, nn.MSELoss()) - small) / 1e-5 == pytest.approx(proposal.gain, rel=1e-3)
    assert "no linear correlation helps" in explain(proposal.explanation)


def test_samples_grow_with_the_square_root_of_the_widths():
    model = mlp(widths=(100, 4, 400, 3))
    assert [sample_size(model, place) for place in creases.places(model)] == [2000, 200]


def test_float32_models_are_grown_from_float64_statistics():
    model, (x, y) = mlp(nn.ReLU).float(), data()
    proposal = tiny(model, "0", (x.float(), y), loss, tau=0, count=2, **PLAIN)
    double = tiny(mlp(nn.ReLU), "0", (x, y), loss, tau=0, count=2, **PLAIN)
    apply(proposal, model)
    assert model[0].weight.dtype == torch.float32
    assert proposal.explanation["lambda"] == pytest.approx(double.explanation["lambda"], rel=1e-4)
