"""Folding: the invariants of a fold, on networks of all kinds."""

import copy
import json
import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import creases
from creases.errors import InputError
from creases.growth import apply, explain
from creases.growth.methods import Fold, fold
from creases.growth.methods.folding import EfficientScore, as_logits, decisions, fold_entries, subnetwork_at
from creases.network import places
from creases.problems import get
from fold_models import cost, data, fold_cases, perceptron, train_briefly


def two_logits(model, X):
    z = model(torch.from_numpy(np.atleast_2d(X))).detach().numpy()
    return z if z.shape[1] > 1 else np.column_stack([np.zeros(len(z)), z])


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(fold_cases())
def test_a_fold_is_at_the_boundary_near_a_typical_mistake_and_says_what_it_changes(case):
    proposal = fold(case.model, "0", case.X, case.y)
    explanation = proposal.explanation
    assert json.loads(json.dumps(explanation, allow_nan=False)) == explanation
    assert explain(explanation).startswith(("1 unit added to '0' because", "No unit added to '0': "))
    if not proposal.count:
        assert explanation["reason"]
        return
    assert_instance_is_typical(case, explanation["why"])
    assert_crease_is_at_the_boundary(case, proposal)
    assert_change_is_bounded(case, proposal)


def assert_instance_is_typical(case, why):
    """It is mispredicted, of the classes recorded, and so are the examples beside it."""
    predicted = two_logits(case.model, case.X).argmax(axis=1)
    assert predicted[why["instance"]] == why["predicted"] != why["true"] == case.y[why["instance"]]
    assert why["features"] == case.X[why["instance"]].tolist()
    assert 1 <= why["cluster"]["same_mistake"] <= why["cluster"]["mispredicted"] <= why["cluster"]["size"]
    assert (predicted != case.y)[why["cluster"]["examples"]].all()


def assert_crease_is_at_the_boundary(case, proposal):
    """The crease passes through the fold point, which lies on the boundary, in the closure of the region used."""
    why, where = proposal.explanation["why"], proposal.explanation["where"]
    x_f = np.array(where["fold_point"])
    w, b = proposal.fan_in[0].numpy(), proposal.bias[0].item()
    assert abs(w @ x_f + b) <= 1e-10 * (np.abs(w) @ np.abs(x_f) + abs(b))
    z, i, j = two_logits(case.model, x_f)[0], why["predicted"], why["true"]
    net = creases.read(case.model)
    J, y = net.piece(x_f)
    size = np.abs(J).sum(axis=0) @ np.abs(x_f) + np.abs(y).sum() + np.abs(z).sum()
    assert abs(z[i] - z[j]) <= 1e-10 * size
    assert where["residual"] == pytest.approx(abs(z[i] - z[j]), abs=1e-12 * size)
    assert z.max() - z[i] <= 1e-9 * size  # i and j are the top classes there
    region = creases.regions._polytope.region_polytope(net, np.array([int(side) for side in where["region"]]))
    assert (region.Q @ x_f - region.p <= 1e-10 * (np.abs(region.Q) @ np.abs(x_f) + np.abs(region.p) + 1)).all()
    assert where["distance"] == pytest.approx(np.linalg.norm(x_f - case.X[why["instance"]]), rel=1e-9, abs=1e-12)


def assert_change_is_bounded(case, proposal):
    """No output changes by more than the bound, and every new parameter has a gradient."""
    model, effect = copy.deepcopy(case.model), proposal.explanation["effect"]
    certificate = apply(proposal, model, data=torch.from_numpy(case.X))
    assert certificate.change == pytest.approx(effect["largest_change"], rel=1e-9, abs=1e-12)
    if len(case.model) > 3:  # behind a later bend a unit may feed what is off everywhere
        return
    u, x_f = np.array(proposal.explanation["crease"]["normal"]), proposal.explanation["where"]["fold_point"]
    rho = np.median(np.linalg.norm(case.model[0].weight.detach().numpy(), axis=1))
    half = 1.0 if case.model[-1].out_features == 1 else 0.5
    assert effect["bound"] == pytest.approx(0.05 * (rho or 1.0) * max(0, ((case.X - x_f) @ u).max()) * half)
    assert certificate.change <= effect["bound"] * (1 + 1e-9) + 1e-12
    cost(model, torch.from_numpy(case.X), torch.from_numpy(case.y)).backward()
    assert (model[0].weight.grad[-1] != 0).all()
    assert model[0].bias.grad[-1] != 0
    assert (model[2].weight.grad[:, -1] != 0).all()


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(fold_cases())
def test_the_first_order_change_is_the_derivative_of_the_loss(case):
    proposal = fold(case.model, "0", case.X, case.y, eps=1e-6)
    if not proposal.count:
        return
    X, y = torch.from_numpy(case.X), torch.from_numpy(case.y)
    model, before = copy.deepcopy(case.model), cost(case.model, X, y).item()
    apply(proposal, model)
    change = cost(model, X, y).item() - before
    assert change == pytest.approx(proposal.explanation["effect"]["first_order_change"], rel=1e-2, abs=1e-12)


@pytest.mark.parametrize("widths", [[2, 4, 2], [5, 6, 3], [3, 4, 1], [2, 4, 4, 3]])
def test_a_fold_turns_and_scales_with_the_inputs(widths):
    rng = np.random.default_rng(5)
    model = perceptron(widths, rng)
    X, y = data(80, widths[0], max(2, widths[-1]), rng)
    train_briefly(model, X, y)
    R, scale, shift = np.linalg.qr(rng.normal(size=(widths[0], widths[0])))[0], 3.7, rng.normal(size=widths[0])
    turned = copy.deepcopy(model)
    with torch.no_grad():
        turned[0].weight.copy_(model[0].weight @ torch.from_numpy(R.T) / scale)
        turned[0].bias.sub_(turned[0].weight @ torch.from_numpy(shift))
    one, two = fold(model, "0", X, y), fold(turned, "0", scale * X @ R.T + shift, y)
    assert one.count == two.count == 1
    assert one.explanation["why"]["instance"] == two.explanation["why"]["instance"]
    there = scale * R @ one.explanation["where"]["fold_point"] + shift
    assert np.allclose(there, two.explanation["where"]["fold_point"], atol=1e-8)
    assert np.allclose(R @ one.explanation["crease"]["normal"], two.explanation["crease"]["normal"], atol=1e-6)
    assert one.gain == pytest.approx(two.gain, rel=1e-6)


def test_a_fold_is_the_same_for_the_same_seed_and_leaves_the_model_alone():
    X, y = get("circle", n=200)
    model = train_briefly(perceptron([2, 3, 2], np.random.default_rng(0)), X, y)
    before, state = copy.deepcopy(model.state_dict()), torch.random.get_rng_state()
    one, two = fold(model, "0", X, y, seed=3), fold(model, "0", X, y, seed=3)
    assert torch.equal(one.fan_in, two.fan_in)
    assert torch.equal(one.bias, two.bias)
    assert one.explanation == two.explanation
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert torch.equal(state, torch.random.get_rng_state())


def test_nothing_is_folded_where_nothing_is_mispredicted():
    X, _ = get("quadratic", n=50)
    model = perceptron([2, 3, 2], np.random.default_rng(0))
    y = model(torch.from_numpy(X)).argmax(dim=1).numpy()
    proposal = fold(model, "0", X, y)
    assert proposal.count == 0
    assert proposal.gain == 0
    assert explain(proposal.explanation) == "No unit added to '0': no sample is mispredicted."


def test_nothing_is_added_to_a_dead_layer_and_dead_units_are_reported():
    X, y = get("quadratic", n=50)
    model = perceptron([2, 3, 2], np.random.default_rng(0))
    with torch.no_grad():
        model[0].bias[1] = -100.0
    assert fold(model, "0", X, y).explanation["dead_units"] == [1]
    with torch.no_grad():
        model[0].bias[:] = -100.0
    proposal = fold(model, "0", X, y)
    assert proposal.count == 0
    assert proposal.explanation["reason"].startswith("dead layer: no unit of '1' is active on any sample; reinitialise")


def test_one_output_is_the_case_of_two_classes():
    X, y = get("circle", n=150)
    one = train_briefly(perceptron([2, 3, 1], np.random.default_rng(1)), X, y)
    two = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).double()
    with torch.no_grad():
        two[0].load_state_dict(one[0].state_dict())
        two[2].weight.copy_(torch.cat([-one[2].weight / 2, one[2].weight / 2]))
        two[2].bias.copy_(torch.cat([-one[2].bias / 2, one[2].bias / 2]))
    first, second = fold(one, "0", X, y), fold(two, "0", X, y)
    assert torch.allclose(first.fan_in, second.fan_in)
    assert first.gain == pytest.approx(second.gain)
    assert torch.allclose(first.fan_out["2"][0], second.fan_out["2"][1] - second.fan_out["2"][0])


@pytest.mark.parametrize("bend", [nn.ReLU(), nn.LeakyReLU(0.1)])
@pytest.mark.parametrize("outputs", [1, 3])
def test_a_deeper_layer_folds_in_the_space_of_what_enters_it(bend, outputs):
    rng = np.random.default_rng(2)
    model = perceptron([3, 6, 5, outputs], rng, bend)
    X, y = data(120, 3, max(2, outputs), rng)
    train_briefly(model, X, y, 50)
    proposal = fold(model, "2", X, y)
    assert proposal.count == 1
    assert proposal.fan_in.shape == (1, 6)
    where, why = proposal.explanation["where"], proposal.explanation["why"]
    assert where["space"] == "what enters 2"
    assert why["features"] == X[why["instance"]].tolist()
    x_f = torch.tensor(where["fold_point"], dtype=torch.float64)
    assert abs(proposal.fan_in[0] @ x_f + proposal.bias[0]) <= 1e-10
    z = two_logits(model[2:], x_f.numpy())[0]
    assert abs(z[why["true"]] - z[why["predicted"]]) <= 1e-10 * np.abs(z).sum() + 1e-12
    assert apply(proposal, model, data=torch.from_numpy(X)).change <= proposal.explanation["effect"]["bound"] + 1e-12


def test_options_give_the_rules_of_the_slides():
    X, y = get("circle", n=300)
    model = train_briefly(perceptron([2, 3, 2], np.random.default_rng(1)), X, y)
    slides = fold(model, "0", X, y, choose="mean", point="foot", direction="alignment")
    assert len(slides.explanation["candidates"]) == 1
    assert slides.explanation["where"]["found"] == "foot, not checked"
    assert slides.explanation["crease"]["angle_to_boundary"] == pytest.approx(0, abs=1e-5)
    best = fold(model, "0", X, y)
    assert len(best.explanation["candidates"]) == 3
    assert best.gain == max(one["gain"] for one in best.explanation["candidates"] if "gain" in one)
    assert fold(model, "0", X, y, direction="alignment").gain <= best.gain


def test_folds_as_printed_grow_a_network_through_every_door():
    X, y = get("quadratic", n=200)
    data = torch.from_numpy(X).float(), torch.from_numpy(y)
    for options in ({"loop": "explained"}, {"loop": "sized", "when": 2, "budget": 6}):
        model = perceptron([2, 2, 2], np.random.default_rng(1)).float()
        _, history = creases.grow(model, data, "classification", how="fold", as_printed=True, progress=False, **options)
        assert [record.explanation["as_printed"] for record in history.records if record.method == "fold"]
    with pytest.raises(InputError, match="as_printed must be True for fold and tiny only"):
        creases.grow(model, data, "classification", how="split", as_printed=True)
    with pytest.raises(InputError, match="loss must be 'classification' as printed"):
        fold(model, "0", X, X, loss="regression", as_printed=True)


def test_words_name_the_classes_and_the_points():
    X, y = get("quadratic")
    model = train_briefly(perceptron([2, 2, 2], np.random.default_rng(4)), X, y)
    said = explain(fold(model, "0", X, y).explanation, classes=("below", "above"))
    assert "'above' sample" in said or "'below' sample" in said
    assert "misclassified as" in said
    assert "Its crease meets the boundary between the two classes at (" in said
    X, y = get("wine").standardized()
    model = train_briefly(perceptron([13, 2, 3], np.random.default_rng(4)), X, y, 30)
    assert "meets the boundary between the two classes, " in explain(fold(model, "0", X, y).explanation)


@pytest.mark.slow
@pytest.mark.parametrize("outputs", [1, 2])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000))
def test_in_regression_the_crease_passes_through_the_instance(outputs, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    y = np.column_stack([np.abs(X[:, 0]), X[:, 1] ** 2])[:, :outputs]
    model = perceptron([2, 3, outputs], rng)
    proposal = fold(model, "0", X, y, loss="regression")
    if not proposal.count:
        assert "dead layer" in proposal.explanation["reason"]
        return
    t = proposal.explanation["why"]["instance"]
    assert proposal.explanation["where"]["fold_point"] == X[t].tolist()
    assert abs(proposal.fan_in[0] @ torch.from_numpy(X[t]) + proposal.bias[0]) <= 1e-10
    inputs_, targets = torch.from_numpy(X), torch.from_numpy(y)
    before = ((model(inputs_) - targets) ** 2).sum(dim=1).mean().item() / 2
    model = copy.deepcopy(model)
    apply(fold(model, "0", X, y, loss="regression", eps=1e-6), model)
    after = ((model(inputs_) - targets) ** 2).sum(dim=1).mean().item() / 2
    effect = proposal.explanation["effect"]
    assert (after - before) / 1e-6 == pytest.approx(effect["first_order_change"] / 0.05, rel=1e-3, abs=1e-7)
    json.dumps(proposal.explanation, allow_nan=False)
    said = explain(proposal.explanation)
    assert "the prediction was off by" in said if outputs == 2 else re.search("predict.* too (low|high)", said)


def test_a_perfect_fit_is_not_folded():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = perceptron([2, 3, 1], np.random.default_rng(1))
    y = model(torch.from_numpy(X)).detach().numpy()
    assert fold(model, "0", X, y, loss="regression").count == 0


class Skip(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.inner, self.outer, self.last = (nn.Linear(a, b) for a, b in ((2, 4), (4, 3), (3, 4), (4, 2)))

    def forward(self, x):
        h = torch.relu(self.first(x))
        return self.last(torch.relu(h + self.outer(torch.relu(self.inner(h))))) + x


@pytest.mark.parametrize(
    ("model", "place", "why"),
    [
        (nn.Sequential(nn.Linear(2, 3, bias=False), nn.ReLU(), nn.Linear(3, 2)), "0", "it has no bias"),
        (nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2)), "0", r"its bend \(tanh\) has no crease at 0"),
    ],
)
def test_places_that_cannot_be_folded_are_refused_with_the_reason(model, place, why):
    with pytest.raises(InputError, match=why):
        fold(model, place, np.zeros((4, 2)), np.zeros(4))


@pytest.mark.parametrize(
    ("model", "place", "why"),
    [
        (nn.Sequential(nn.Linear(2, 3), nn.ReLU6(), nn.Linear(3, 2)), "0", "is not a relu of each unit alone"),
        (nn.Sequential(nn.Linear(2, 3), nn.PReLU(3), nn.Linear(3, 2)), "0", "have a slope of their own"),
        (Skip(), "inner", "also reads what comes before it"),
    ],
)
def test_places_whose_folds_are_not_exact_are_refused_and_get_random_units_by_default(model, place, why):
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    with pytest.raises(InputError, match=why):
        fold(model, place, X, y)
    data = torch.from_numpy(X).float(), torch.from_numpy(y)
    _, history = creases.grow(copy.deepcopy(model), data, "classification", where=place, when=1, budget=2)
    assert {record.method for record in history.records} - {"revive"} == {"random"}  # dead units may be drawn anew


def test_units_of_convolutions_are_not_folded():
    filters = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Conv2d(2, 2, 1), nn.Flatten())
    (place,) = places(filters, X=torch.zeros(1, 1, 3, 3))
    assert "it is a Conv2d, whose units bend at many patches; use how='random' there" in Fold().check(filters, place)
    with pytest.raises(InputError, match="it is a Conv2d, whose units bend at many patches"):
        fold(filters, place, np.zeros((4, 1, 3, 3)), np.zeros(4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eps": 0}, "eps must be a finite number above 0, got 0"),
        ({"count": 0}, "count must be a positive integer, got 0"),
        ({"k": 0}, "k must be a positive integer, got 0"),
        ({"loss": "huber"}, "loss must be 'classification' or 'regression', got 'huber'"),
        ({"choose": "max"}, "choose must be 'gain' or 'mean', got 'max'"),
        ({"y": [0, 1, 2, 0]}, "y must have classes from 0 to 1, got 0.0 to 2.0"),
        ({"y": [0, 1]}, "y must have a class for each of the 4 samples"),
        ({"X": np.full((4, 2), np.nan)}, "X must be finite; remove NaN and infinite entries"),
        ({"X": np.zeros((4, 3))}, "X must have shape"),
        ({"X": np.zeros(2)}, "X must be a batch of inputs"),
        ({"loss": "regression", "direction": "alignment"}, "direction must be 'score' in regression"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    model = perceptron([2, 3, 2], np.random.default_rng(0))
    arguments = {"X": np.ones((4, 2)), "y": [0, 1, 0, 1]} | options
    with pytest.raises(InputError, match=message):
        fold(model, "0", **arguments)


def test_float32_models_and_tensors_are_taken_as_they_are():
    X, y = get("circle", n=100)
    model = train_briefly(perceptron([2, 3, 2], np.random.default_rng(0)), X, y).float()
    tensor = torch.from_numpy(X).float()
    proposal = fold(model, creases.places(model)[0], tensor, torch.from_numpy(y))
    done = apply(proposal, model, data=tensor)
    assert model[0].weight.dtype == torch.float32
    assert done.change <= proposal.explanation["effect"]["bound"] + 1e-5


@pytest.mark.parametrize("widths", [[2, 3, 3], [3, 5, 4]])
def test_where_one_class_is_predicted_everywhere_the_crease_passes_through_the_instance(widths):
    rng = np.random.default_rng(1)
    model = perceptron(widths, rng)
    with torch.no_grad():
        model[-1].weight[:] = 0
    X, y = data(60, widths[0], widths[-1], rng)
    assert fold(model, "0", X, y).count == 0
    proposal = fold(model, "0", X, y, point="effective or sample")
    assert proposal.count == 1
    where = proposal.explanation["where"]
    assert where["found"] == "the instance itself"
    assert where["fold_point"] == X[proposal.explanation["why"]["instance"]].tolist()
    assert abs(proposal.fan_in[0] @ torch.tensor(where["fold_point"], dtype=torch.float64) + proposal.bias[0]) <= 1e-10
    assert proposal.gain > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_layers_of_one_unit_can_be_folded(seed):
    rng = np.random.default_rng(seed)
    model = perceptron([5, 1, 1, 4], rng)
    X, y = data(300, 5, 4, rng)
    with torch.no_grad():
        model[2].weight.abs_()
        model[2].bias.fill_(0.1)  # alive
    for place in ("0", "2"):
        for count in (1, 3):
            assert fold(model, place, X, y, count=count, point="effective or sample").count == count


@pytest.mark.parametrize("widths", [[2, 3, 2], [3, 4, 3], [2, 3, 4, 2]])
def test_each_of_several_units_is_scored_for_what_the_stronger_ones_leave(widths):
    rng = np.random.default_rng(7)
    X, y = data(150, widths[0], widths[-1], rng)
    model = train_briefly(perceptron(widths, rng), X, y, 60)
    proposal = fold(model, "0", X, y, count=4)
    entries = fold_entries(proposal.explanation)
    assert proposal.count == len(entries) == 4
    place = creases.places(model)[0]
    subnet = subnetwork_at(model, place)
    state, F = decisions(subnet.outputs(X), y), subnet.view(X).features
    rho = subnet.row_norm
    for k, entry in enumerate(entries):
        contrast = proposal.fan_out[place.consumers[0].path][:, k].numpy()
        sign_free = contrast * 4 / 0.05  # the units share eps
        score = EfficientScore(F, *state.along(as_logits(subnet.view(X).slopes(sign_free))))
        h = np.maximum(X @ proposal.fan_in[k].numpy() + proposal.bias[k].item(), 0) / rho
        assert score.evaluate(h[:, None]).gain[0] == pytest.approx(entry["effect"]["predicted_gain"], rel=1e-6)
        F = np.column_stack([F, h])
    assert proposal.gain == pytest.approx(sum(entry["effect"]["predicted_gain"] for entry in entries))
    done = apply(proposal, copy.deepcopy(model), data=torch.from_numpy(X))
    assert done.change == pytest.approx(proposal.explanation["effect"]["largest_change"], rel=1e-9)
    if len(widths) == 3:
        assert done.change <= proposal.explanation["effect"]["bound"] * (1 + 1e-9)
    assert json.loads(json.dumps(proposal.explanation, allow_nan=False)) == proposal.explanation
    assert explain(proposal.explanation).startswith("4 units added to '0' because ")


def test_samples_that_were_folded_at_in_vain_represent_no_mistake():
    X, y = get("circle", n=200)
    model = train_briefly(perceptron([2, 3, 2], np.random.default_rng(1)), X, y)
    tried = []
    for _ in range(4):
        proposal = fold(model, "0", X, y, tried=tried)
        instances = [one["instance"] for one in proposal.explanation["candidates"]]
        assert not set(instances) & set(tried)
        assert proposal.explanation.get("noise", []) == sorted(tried)
        tried += instances
    assert "as noise, because an earlier crease there did not help." in explain(proposal.explanation)
    wrong = np.flatnonzero(two_logits(model, X).argmax(axis=1) != y)
    reason = fold(model, "0", X, y, tried=wrong).explanation["reason"]
    assert reason == "earlier folds at all mispredicted samples did not help, so these are treated as noise"
