"""Losses as sums over samples, and the scores that people read, beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, log_loss, r2_score
from torch import nn
from torch.nn import functional as F

from creases.errors import InputError
from creases.growth._objective import objective


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@given(st.integers(2, 30), st.integers(1, 3), st.booleans(), st.integers(0, 1000))
def test_the_regression_score_is_scikit_learns(n, m, weighted, seed):
    apart = 10 * torch.arange(n)[:, None]  # of targets that are nearly the same, both scores are rounding
    y, f, w = draw(n, m, seed=seed) + apart, draw(n, m, seed=seed + 1) + apart, draw(n, seed=seed + 2).abs() + 0.01
    goal = objective("regression", weighted=weighted)
    target = (y, w) if weighted else y
    parts = [goal.tally(f[s], (y[s], w[s]) if weighted else y[s]) for s in (slice(0, n // 2), slice(n // 2, n))]
    expected = r2_score(y.numpy(), f.numpy(), sample_weight=w.numpy() if weighted else None)
    assert goal.score(sum(parts)) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert goal.score(goal.tally(f, target)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_outputs_at_different_heights_do_not_look_explained():
    y = draw(200, 2) + torch.tensor([1000.0, 0.0])
    assert objective("regression").score(objective("regression").tally(torch.full_like(y, 500.0), y)) < 0


@pytest.mark.slow
@given(st.integers(1, 30), st.sampled_from([1, 2, 5]), st.booleans(), st.integers(0, 1000))
def test_the_classification_score_and_loss_are_scikit_learns(n, m, weighted, seed):
    outputs, w = draw(n, m, seed=seed), draw(n, seed=seed + 2).abs() + 0.01
    k = max(m, 2)
    y = draw(n, seed=seed + 1).mul(100).long() % k
    goal = objective("classification", weighted=weighted)
    target = (y, w) if weighted else y
    decided = (outputs[:, 0] > 0).long() if m == 1 else outputs.argmax(1)
    weights = w.numpy() if weighted else None
    assert goal.score(goal.tally(outputs, target)) == pytest.approx(accuracy_score(y, decided, sample_weight=weights))
    assert torch.equal(goal.decisions(outputs, target), decided)
    logits = torch.cat([torch.zeros_like(outputs), outputs], 1) if m == 1 else outputs
    shares = logits.softmax(1).numpy()
    expected = log_loss(y, shares / shares.sum(1, keepdims=True), labels=range(k), sample_weight=weights)
    total = float(w.sum()) if weighted else n
    assert float(goal.loss_sum(outputs, target, n)) / total == pytest.approx(expected)


def test_constant_targets_score_one_if_met_and_zero_if_not():
    goal, y = objective("regression"), torch.full((5, 1), 0.1, dtype=torch.float64)
    assert goal.score(goal.tally(y, y)) == 1.0
    assert goal.score(goal.tally(y + 1, y)) == 0.0


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("known", [True, False])
def test_any_reduction_is_summed_over_the_samples(reduction, known):
    f, y = draw(7, 1), draw(7, 1, seed=1)
    loss = nn.MSELoss(reduction=reduction)
    goal = objective(loss if known else lambda a, b: loss(a, b))
    assert float(goal.loss_sum(f, y, 7)) == pytest.approx(float((f - y).square().sum()))


def test_a_loss_of_zero_on_the_first_batch_tells_nothing_about_its_reduction():
    goal = objective(lambda f, y: (f - y).square().sum())
    f, y = draw(7, 1), draw(7, 1, seed=1)
    assert float(goal.loss_sum(f, f, 7)) == 0
    assert float(goal.loss_sum(f, y, 7)) == pytest.approx(float((f - y).square().sum()))


def test_tallies_of_no_samples_are_zeros_of_the_same_length():
    for name, f, y in [("regression", draw(4, 3), draw(4, 3)), ("classification", draw(4, 3), torch.zeros(4).long())]:
        goal = objective(name)
        assert goal.tally(None, y[:0]).tolist() == [0.0] * len(goal.tally(f, y))
        assert goal.score(goal.tally(None, y[:0])) is None


def test_torchs_own_losses_are_known_and_others_have_no_score():
    outputs, y = draw(6, 2), torch.tensor([0, 1, 0, 1, 1, 1])
    for loss in (nn.CrossEntropyLoss(), F.cross_entropy, nn.CrossEntropyLoss(label_smoothing=0.1)):
        assert objective(loss).score(objective(loss).tally(outputs, y)) is not None
    mine = objective(lambda f, y: F.cross_entropy(f, y))
    assert mine.score(mine.tally(outputs, y)) is None


@pytest.mark.parametrize(
    ("loss", "outputs", "y"),
    [
        (nn.BCEWithLogitsLoss(), draw(6, 3), (draw(6, 3) > 0).double()),  # several labels for each sample
        (nn.CrossEntropyLoss(), draw(6, 3), draw(6, 3).softmax(1)),  # shares
        (nn.CrossEntropyLoss(), draw(6, 3, 4, 4), torch.zeros(6, 4, 4).long()),  # a class for each pixel
    ],
)
def test_where_a_sample_has_not_one_class_there_is_no_score(loss, outputs, y):
    goal = objective(loss)
    assert float(goal.loss_sum(outputs, y, 6)) == pytest.approx(6 * float(loss(outputs, y)))
    assert goal.score(goal.tally(outputs, y)) is None
    assert goal.decisions(outputs, y) is None


def test_weights_with_a_users_loss_multiply_the_loss_of_each_sample():
    f, y, w = draw(5, 2), draw(5, 2, seed=1), torch.tensor([1.0, 2.0, 0.0, 1.0, 1.0])
    goal = objective(nn.MSELoss(reduction="none"), weighted=True)
    expected = ((f - y).square().sum(1) * w).sum()
    assert float(goal.loss_sum(f, (y, w), 5)) == pytest.approx(float(expected))
    with pytest.raises(InputError, match="one value per sample if there are weights; use reduction='none'"):
        objective(nn.MSELoss(), weighted=True).loss_sum(f, (y, w), 5)


def test_a_loss_that_gives_no_tensor_is_refused():
    with pytest.raises(InputError, match="loss must return a tensor, got float"):
        objective(lambda f, y: 0.5).loss_sum(draw(2, 1), draw(2, 1), 2)


def test_targets_as_columns_and_classes_as_floats_are_fine():
    objective("classification").check(torch.zeros(2, 2), torch.tensor([0.0, 1.0]), "data")
    objective("regression").check(torch.zeros(2, 1), torch.tensor([0.5, 1.0]), "data")
    column = torch.tensor([[0], [1]])
    assert objective("classification").loss_sum(draw(2, 3), column, 2).isfinite()
    assert np.isfinite(objective("classification").score(objective("classification").tally(draw(2, 3), column)))


@pytest.mark.parametrize(
    ("name", "task"),
    [("cross_entropy", "classification"), ("binary_cross_entropy", "classification"), ("squared_error", "regression")],
)
def test_a_loss_may_be_named_by_itself_or_by_its_task(name, task):
    named, by_task = objective(name), objective(task)
    assert (named.task, named.loss, named.is_builtin) == (by_task.task, by_task.loss, True)
