"""Folds from a part of the samples and directions, where there are many of both."""

import json

import numpy as np
import pytest
import torch

import creases
from creases.growth import explain
from creases.growth._budget import count_cost
from creases.growth.methods import fold
from creases.growth.methods._fold.fold_point import near_fold_points
from creases.growth.methods.folding import EfficientScore, as_logits, decisions, fold_entries, subnetwork_at
from fold_models import perceptron, train_briefly

D = 120


def problem(n, seed=0):
    """Three classes by the length of a few of many coordinates: a task that needs creases."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * np.where(np.arange(D) < 6, 2.0, 0.3)
    size = np.linalg.norm(X[:, :3], axis=1)
    return X, np.digitize(size, [2.5, 3.8])


@pytest.fixture(scope="module")
def trained():
    X, y = problem(4000)
    return train_briefly(perceptron([D, 8, 6, 3], np.random.default_rng(0)), X, y, 60), X, y


@pytest.mark.parametrize("place", ["0", "2"])
def test_the_gain_holds_on_new_samples(trained, place):
    model, X, y = trained
    proposal = fold(model, place, X, y)
    sizes, effect = proposal.explanation.get("samples"), proposal.explanation["effect"]
    assert (sizes is None) == (place == "2")  # eight inputs: all samples in all directions
    new, labels = problem(20_000, 1)
    where = next(p for p in creases.places(model) if p.name == place)
    subnet = subnetwork_at(model, where)
    inputs = subnet.head(torch.from_numpy(new)).reshape(len(new), -1).numpy()
    contrast = proposal.fan_out[where.consumers[0].path][:, 0].numpy() / 0.05
    state = decisions(subnet.outputs(inputs), labels)
    score = EfficientScore(subnet.features(inputs), *state.along(as_logits(subnet.slopes(inputs, contrast))))
    h = np.maximum(inputs @ proposal.fan_in[0].numpy() + proposal.bias[0].item(), 0) / subnet.row_norm
    gain = score.evaluate(h[:, None]).gain[0]
    assert gain > 0
    if sizes:
        assert sizes["scored"] == 2000
        assert proposal.gain == pytest.approx(gain, abs=4 * effect["gain_error"])
        assert "standard error of" in explain(proposal.explanation)


def test_fold_points_lie_on_the_boundary_of_the_network(trained):
    model, X, y = trained
    net = creases.read(model)
    z = np.asarray(net(X))
    predicted = z.argmax(axis=1)
    missing = 0
    wrong = np.flatnonzero(predicted != y)[:40]
    for t, at in zip(wrong, near_fold_points(net, X, predicted, y, wrong), strict=True):
        i, j = int(predicted[t]), int(y[t])
        if isinstance(at, str):
            missing += 1
            continue
        tie = np.asarray(net(at.x[None]))[0]
        assert abs(tie[i] - tie[j]) <= 1e-9 * (1 + np.abs(tie).max())
        assert tie.max() - tie[i] <= 1e-9 * (1 + np.abs(tie).max())
        assert at.distance == pytest.approx(np.linalg.norm(at.x - X[t]))
        J, c = net.piece(at.x)
        assert np.allclose(at.normal, J[i] - J[j])
        assert at.offset == pytest.approx(c[i] - c[j], abs=1e-9)
    assert missing <= 8


def test_several_folds_differ_and_pass_through_their_points(trained):
    model, X, y = trained
    proposal = fold(model, "0", X, y, count=6)
    entries = fold_entries(proposal.explanation)
    assert 2 <= proposal.count == len(entries) <= 6
    assert len({entry["why"]["instance"] for entry in entries}) == len(entries)
    w = proposal.fan_in / proposal.fan_in.norm(dim=1, keepdim=True)
    assert (w @ w.T - torch.eye(len(w))).abs().max() < 0.999
    assert json.loads(json.dumps(proposal.explanation, allow_nan=False)) == proposal.explanation
    same = fold(model, "0", X, y, count=6)
    assert torch.equal(proposal.fan_in, same.fan_in)
    for row, entry in zip(proposal.fan_in, entries, strict=True):
        i = entry["unit"] - 8
        assert abs(row @ torch.tensor(entry["where"]["fold_point"], dtype=torch.float64) + proposal.bias[i]) <= 1e-9


def test_points_do_not_depend_on_the_samples_beside_them(trained):
    model, X, y = trained
    net = creases.read(model)
    predicted = np.asarray(net(X)).argmax(axis=1)
    wrong = np.flatnonzero(predicted != y)[:6]
    for t, at in zip(wrong, near_fold_points(net, X, predicted, y, wrong), strict=True):
        (alone,) = near_fold_points(net, X, predicted, y, np.array([t]))
        assert isinstance(at, str) == isinstance(alone, str)
        if not isinstance(at, str):
            assert at.how == alone.how
            assert np.allclose(at.x, alone.x, atol=1e-8)


def test_the_work_is_charged(trained):
    model, X, y = trained
    with count_cost() as cost:
        fold(model, "0", X, y)
    assert cost.multiply_adds > len(X) * D * 8
