import copy
from dataclasses import replace
from importlib import import_module
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from creases import line, places
from creases.certify import unit_bounds
from creases.certify._unit_sides import UnitSides
from creases.certify.proofs import check_proof
from creases.certify.propagation import value_bounds
from creases.errors import InputError
from creases.network import read
from creases.prune import exact
from creases.prune._exact import Edit
from strategies import cases
from surgery_models import MODELS, built

ROOM = import_module("creases.prune._exact")


def module(layers, leak=0.0, dtype=torch.float64):
    parts = []
    for W, b in layers:
        linear = nn.Linear(*np.shape(W)[::-1], dtype=dtype)
        with torch.no_grad():
            linear.weight.copy_(torch.as_tensor(np.array(W)))
            linear.bias.copy_(torch.as_tensor(np.array(b)))
        parts += [linear, nn.LeakyReLU(leak) if leak else nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def points(box, count=300, seed=1):
    """Points in a box, its corners among them."""
    low, high = np.array(box, float).T
    inner = np.random.default_rng(seed).uniform(low, high, (count, len(low)))
    corners = np.array(list(product(*box)))
    return torch.from_numpy(np.vstack([inner, corners]))


@torch.no_grad()
def largest(one, other, x):
    return float((one(x) - other(x)).abs().max())


def widths(model):
    return [layer.out_features for layer in model if isinstance(layer, nn.Linear)]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(case=cases(), double=st.booleans())
def test_the_function_stays_on_the_box(case, double):
    model = module(case.layers, case.leak, torch.float64 if double else torch.float32)
    found = exact(model, case.box)
    x = points(case.box)
    before, after = (copy.deepcopy(one).double()(x).detach() for one in (model, found.model))
    rounding = 1e-9 * float(before.abs().max())
    change = float((after - before).abs().max())
    assert change <= found.bound + rounding
    assert change <= 1e-6 * max(found.scale, float(before.abs().max())) + rounding
    assert found.change <= found.bound + rounding
    assert min(widths(found.model)) >= 1
    assert found.parameters_after <= found.parameters_before


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(case=cases(max_depth=2))
def test_without_a_box_the_function_stays_everywhere(case):
    model = module(case.layers, case.leak)
    found = exact(model)
    far = points([(-1e4, 1e4)] * case.widths[0])
    before, after = model(far).detach(), found.model(far).detach()
    assert float((after - before).abs().max()) <= 1e-9 * float(before.abs().max()) + found.bound


def wide(rng, hidden=(6, 5), n=2, m=3):
    sizes = [n, *hidden, m]
    return [(rng.normal(size=(o, i)), 0.1 * rng.normal(size=o)) for i, o in pairwise(sizes)]


@pytest.mark.slow
def test_planted_units_are_found_and_named():
    layers = wide(np.random.default_rng(0))
    W, b = layers[0]
    b[1] = -100.0  # dead in the box
    W[3], b[3] = 2.5 * W[0], 2.5 * b[0]  # a multiple
    layers[1][0][:, 4] = 0.0  # unread
    W[5], b[5] = 0.0, 2.0  # constant
    found = exact(module(layers), [(-1, 1), (-1, 1)])
    first = {step.kind: step.units for step in found.reductions if step.place == "0"}
    assert first["unread"] == (4,)
    assert set(first["constant"]) == {1, 4}  # numbered after 4 was taken away
    assert first["duplicate"] == (2,)
    assert widths(found.model)[0] == 2
    assert repr(found).startswith("ExactResult(model=")
    assert len(repr(found)) < 250


@pytest.mark.slow
def test_a_unit_that_is_nearly_another_does_not_keep_an_exact_duplicate():
    layers = wide(np.random.default_rng(0))
    W, b = layers[0]
    W[1], b[1] = W[0], b[0]
    W[3], b[3] = W[2] + 4e-6 * np.abs(W[2]).max(), b[2]  # changes the function by more than the tolerance
    for box in ((-1, 1), None):
        duplicates = [step.units for step in exact(module(layers), box).reductions if step.kind == "duplicate"]
        assert duplicates[0] == (1,)


def test_always_on_units_become_as_many_as_their_rank():
    rng = np.random.default_rng(1)
    layers = wide(rng, hidden=(8,), n=3, m=2)
    layers[0][1][:] = 50.0
    layers[0][1][:2] = 0.0
    found = exact(module(layers), (-1, 1))
    assert widths(found.model)[0] == 4  # two that bend, two that carry a map to two outputs
    (step,) = found.reductions
    assert step.kind == "linear"
    assert len(step.units) == 4
    assert str(step).startswith("0: 4 units of 8 removed (linear): ")


def test_a_dead_unit_of_the_second_layer_needs_more_than_intervals():
    # h = (relu(x), relu(-x)); relu(h0 + h1 - 1.5) is dead on [-1, 1], but intervals give up to 2 - 1.5.
    layers = [([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0], [1.0, -1.0]], [-1.5, 0.0]), ([[1.0, 1.0]], [0.0])]
    model = module(layers)
    plain = value_bounds(read(model), torch.tensor([[-1.0, 1.0]], dtype=torch.float64))
    assert 0.5 <= float(plain[3].high[0]) <= 0.5 + 1e-14  # rounded outward
    found = exact(model, [(-1, 1)])
    assert [step.units for step in found.reductions if step.place == "2"] == [(0,)]
    assert found.change == 0.0
    assert found.proof.statement.off == (2,)
    assert check_proof(found.proof, model)
    lie = replace(found.proof, statement=replace(found.proof.statement, box=((-1.0, 2.0),)))  # |x| - 1.5 reaches 0.5
    assert "refused: claim off 2, node 0" in str(check_proof(lie, model))
    assert not check_proof(found.proof, module([*layers[:1], (layers[1][0], [-0.5, 0.0]), *layers[2:]]))


def test_a_unit_that_is_active_between_floats_stays():
    # 5.99e-18 - |p(x)| is above 0 where p is 0, which is at no float.
    layers = [([[0.3], [-0.3]], [-0.1, 0.1]), ([[-1.0, -1.0], [1.0, -1.0]], [5.99e-18, 0.0]), ([[1.0, 1.0]], [0.0])]
    assert exact(module(layers), [(0, 1)]).reductions == ()


@pytest.mark.slow
@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_linear_programs_never_cut_off_what_small_networks_reach(leak):
    """Of few units bounds are near the truth, so that a chord a little too low is seen."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        sizes = [1, 2, 2, 2, 1]
        net = read([(rng.normal(size=(m, n)), rng.normal(size=m)) for n, m in pairwise(sizes)], leak=leak)
        values = [torch.from_numpy(2 * line(net, [-1.0], [1.0]).ends - 1)[:, None]]
        for step in net.steps:
            values.append(step.apply([values[number] for number in step.inputs]))
        for i, (low, high) in zip(net.bends, unit_bounds(net, (-1, 1), method="lp"), strict=True):
            reached = values[net.steps[i].inputs[0]].numpy()
            assert (reached >= low - 1e-12 * np.abs(low)).all()
            assert (reached <= high + 1e-12 * np.abs(high)).all()


def test_what_only_looks_spare_is_named_and_left_alone(monkeypatch):
    monkeypatch.setattr(ROOM, "decide_sides", lambda *args: UnitSides({}))
    layers = [([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0], [1.0, -1.0]], [-1.5, 0.0]), ([[1.0, 1.0]], [0.0])]
    found = exact(module(layers), [(-1, 1)])
    assert found.reductions == ()
    assert [(one.place, one.dead) for one in found.undecided] == [("2", (0,))]


@pytest.mark.slow
@pytest.mark.parametrize("name", list(MODELS))
def test_duplicates_and_dead_units_of_any_model_are_taken_away(name):
    model, shape = built(name)
    place = next(p for p in places(model, shape) if p.width > 1)
    layer = model.get_submodule(place.name)
    with torch.no_grad():
        axis = 1 if "Transpose" in type(layer).__name__ else 0
        layer.weight.select(axis, 1).copy_(layer.weight.select(axis, 0))
        if layer.bias is not None:
            layer.bias[1] = layer.bias[0]
        for link in place.carriers:
            carrier = model.get_submodule(link.path)
            for entry in (carrier.state_dict()[key] for key in carrier.state_dict() if key != "num_batches_tracked"):
                entry[link.start + 1] = entry[link.start]
    found = exact(model, (-1, 1), input_shape=shape)
    assert any(step.place == place.name and 1 in step.units for step in found.reductions)
    x = torch.rand(50, *shape, dtype=torch.float64) * 2 - 1
    assert torch.allclose(model(x), found.model(x), rtol=1e-9, atol=1e-9)


def test_a_wrong_reduction_is_seen_in_the_measured_change(monkeypatch):
    def unread(site):
        if site.place.width == 6:
            yield Edit((0,), "wrong")

    monkeypatch.setattr(ROOM, "unread", unread)
    found = exact(module(wide(np.random.default_rng(4))), (-1, 1))
    assert found.change > 1e-3 > found.bound


def test_where_all_units_are_dead_one_stays():
    layers = wide(np.random.default_rng(0), hidden=(4,))
    layers[0][1][:] = -100.0
    found = exact(module(layers), (-1, 1))
    assert widths(found.model) == [1, 3]


def test_behind_padding_a_constant_is_left_where_it_is():
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Conv2d(3, 2, 3, padding=1), nn.Flatten(), nn.Linear(32, 2))
    with torch.no_grad():
        model[0].weight[0], model[0].bias[0] = 0.0, 1.0
        model[0].bias[1] = -100.0
    found = exact(model, (0, 1), input_shape=(1, 6, 6))
    assert [(step.kind, step.units) for step in found.reductions] == [("constant", (1,))]


def test_the_bound_counts_what_sums_over_positions_add_up():
    """Units that are alike but for rounding differ by as much at each position, and the sum by all of it."""

    class Summed(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.act, self.last = nn.Conv2d(1, 2, 1), nn.ReLU(), nn.Linear(2, 1)

        def forward(self, x):
            return self.last(self.act(self.conv(x)).sum((2, 3)))

    model = Summed().double()
    with torch.no_grad():
        model.conv.weight[:, 0, 0, 0] = torch.tensor([1.0, 1.0 + 1e-7], dtype=torch.float64)
        model.conv.bias[:] = torch.tensor([1.0, 1.0], dtype=torch.float64)
        model.last.weight[:] = torch.tensor([[1.0, -1.0]], dtype=torch.float64)
        model.last.bias[:] = 1.0
    found = exact(model, (-1, 1), input_shape=(1, 8, 8), tolerance=1e-3)
    assert [step.kind for step in found.reductions] == ["duplicate"]
    middle = torch.zeros(1, 1, 8, 8, dtype=torch.float64)
    assert 3e-6 < largest(found.model, model, middle) <= found.bound < 1e-5


def test_networks_and_files_are_pruned_into_modules_and_left_alone(tmp_path):
    model = module(wide(np.random.default_rng(0))).double()
    with torch.no_grad():
        model[0].bias[2] = -50.0  # never active in the box
    net, before = read(model), copy.deepcopy(model.state_dict())
    expected = exact(model, (-1, 1))
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    for source in (net, net.save(tmp_path / "net.safetensors"), str(net.save(tmp_path / "net.onnx"))):
        found = exact(source, (-1, 1))
        assert isinstance(found.model, nn.Module)
        assert found.parameters_after == expected.parameters_after < found.parameters_before
        assert [step.units for step in found.reductions] == [step.units for step in expected.reductions]


def test_wrong_arguments_are_refused_by_name():
    model = module(wide(np.random.default_rng(0)))
    with pytest.raises(InputError, match=r"box must be \(lo, hi\), or 2 pairs"):
        exact(model, [(0, 1)] * 3)
    with pytest.raises(InputError, match="tolerance must be a finite number at least 0"):
        exact(model, tolerance=-1)
    with pytest.raises(InputError, match="n_samples must be a positive integer, got 0"):
        exact(model, n_samples=0)
    with torch.no_grad():
        model[0].weight[0, 0] = torch.nan
    with pytest.raises(InputError, match="NaN or infinite"):
        exact(model)
