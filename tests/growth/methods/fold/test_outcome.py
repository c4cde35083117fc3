"""What became of a fold."""

import json

import numpy as np
import pytest
import torch

from creases.errors import InputError
from creases.growth import apply, explain
from creases.growth._proposal import first_units
from creases.growth.methods import fold
from creases.growth.methods._fold.explanation import fold_outcome, unrepaired_rows
from creases.growth.methods.folding import fold_entries
from creases.problems import get
from fold_models import cost, data, perceptron, train_briefly


@pytest.mark.slow
def test_the_outcome_counts_what_training_fixed_and_broke():
    X, y = get("circle", n=200)
    model = train_briefly(perceptron([2, 3, 2], np.random.default_rng(1)), X, y)
    inputs, targets = torch.from_numpy(X), torch.from_numpy(y)
    wrong = (model(inputs).argmax(dim=1) != targets).numpy()
    proposal = fold(model, "0", X, y)
    before = cost(model, inputs, targets).item()
    apply(proposal, model)
    train_briefly(model, X, y, 300)
    now = (model(inputs).argmax(dim=1) != targets).numpy()
    record = fold_outcome(proposal.explanation, model, X, y)
    after = record["after"]
    assert after["mean_loss_before"] == pytest.approx(before)
    assert after["mean_loss"] == pytest.approx(cost(model, inputs, targets).item())
    assert (after["errors_before"], after["errors"]) == (wrong.sum(), now.sum())
    assert after["fixed"] == np.flatnonzero(wrong & ~now).tolist()
    assert after["broken"] == np.flatnonzero(~wrong & now).tolist()
    assert after["instance_right"] == (not now[record["why"]["instance"]])
    cluster = set(record["why"]["cluster"]["mistakes"])
    assert after["cluster_fixed"] == len(cluster & set(after["fixed"]))
    w, b = model[0].weight[-1].detach().numpy(), model[0].bias[-1].item()
    distance = abs(w @ record["where"]["fold_point"] + b) / np.linalg.norm(w)
    assert after["crease_moved"] == pytest.approx(distance)
    assert json.loads(json.dumps(record)) == record
    assert "After training, the mean loss " in explain(record)


def test_a_crease_that_has_not_been_trained_has_not_moved():
    rng = np.random.default_rng(0)
    model = perceptron([3, 4, 1], rng)
    X, y = data(50, 3, 2, rng)
    proposal = fold(model, "0", X, y)
    apply(proposal, model)
    after = fold_outcome(proposal.explanation, model, X, y)["after"]
    assert after["crease_moved"] == pytest.approx(0, abs=1e-12)
    assert after["crease_turned"] == pytest.approx(0, abs=1e-5)
    assert after["fixed"] == proposal.explanation["effect"]["fixed"]
    assert after["broken"] == proposal.explanation["effect"]["broken"]


def test_regression_has_an_outcome_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    model, y = perceptron([2, 3, 1], rng), np.abs(X[:, 0])
    proposal = fold(model, "0", X, y, loss="regression")
    apply(proposal, model)
    record = fold_outcome(proposal.explanation, model, X, y)
    assert record["after"]["mean_loss"] < record["after"]["mean_loss_before"]
    assert explain(record).endswith(".")


def test_an_outcome_needs_a_fold_that_was_applied():
    rng = np.random.default_rng(0)
    model = perceptron([3, 4, 2], rng)
    X, y = data(50, 3, 2, rng)
    proposal = fold(model, "0", X, y)
    with pytest.raises(InputError, match="got 4; apply the proposal first"):
        fold_outcome(proposal.explanation, model, X, y)
    with pytest.raises(InputError, match="explanation must be that of a fold with a unit"):
        fold_outcome({"method": "fold", "place": "0", "reason": "no sample is mispredicted"}, model, X, y)


def test_each_of_several_folds_has_its_own_outcome():
    X, y = get("circle", n=200)
    model = train_briefly(perceptron([2, 3, 2], np.random.default_rng(1)), X, y, 50)
    proposal = fold(model, "0", X, y, count=3)
    apply(proposal, model)
    train_briefly(model, X, y, 300)
    now = (model(torch.from_numpy(X)).argmax(dim=1).numpy() != y).tolist()
    record = fold_outcome(proposal.explanation, model, X, y, units=[3, 4, 5])
    assert record["after"]["errors"] == sum(now)
    for entry, unit in zip(record["folds"], (3, 4, 5), strict=True):
        assert entry["after"]["instance_right"] == (not now[entry["why"]["instance"]])
        w, b = model[0].weight[unit].detach().numpy(), model[0].bias[unit].item()
        distance = abs(w @ entry["where"]["fold_point"] + b) / np.linalg.norm(w)
        assert entry["after"]["crease_moved"] == pytest.approx(distance)
    wrong = {entry["why"]["instance"] for entry in record["folds"] if now[entry["why"]["instance"]]}
    assert unrepaired_rows([record]) == wrong
    assert unrepaired_rows([proposal.explanation]) == frozenset()  # not trained yet
    assert "of the 3 samples above " in explain(record)
    fewer = first_units(proposal, 2)
    assert len(fold_entries(fewer.explanation)) == 2


def test_in_regression_a_fold_was_in_vain_where_the_loss_has_not_fallen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    model, y = perceptron([2, 3, 1], rng), np.abs(X[:, 0])
    proposal = fold(model, "0", X, y, loss="regression")
    instance = proposal.explanation["why"]["instance"]
    apply(proposal, model)
    with torch.no_grad():
        model[2].bias += 100.0
    assert unrepaired_rows([fold_outcome(proposal.explanation, model, X, y)]) == {instance}
