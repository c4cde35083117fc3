"""Affine maps, distances, cross-entropies, compression, sensitivity and hidden layers on networks known in advance."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.cluster import BisectingKMeans
from torch import nn

import creases
from agreement import seeded
from creases.compare import Coefficients, active_subspace, coefficients, compress, count_regions
from creases.compare._compression import bisect
from creases.compare.measures import affine_map, cross_entropies, distances, mapped_accuracies
from creases.compare.measures._distance import hidden_cka
from creases.errors import InputError

RNG = torch.Generator().manual_seed(0)
X = torch.randn(200, 6, dtype=torch.float64, generator=RNG)


def net(seed: int, units: int = 4, inputs: int = 6) -> creases.Network:
    torch.manual_seed(seed)
    return creases.read(nn.Sequential(nn.Linear(inputs, units), nn.ReLU(), nn.Linear(units, 3)).double())


def scaled(C: Coefficients, factor: float) -> Coefficients:
    return Coefficients(C.features * factor, C.basis, C.values * factor)


def test_equal_networks_are_at_distance_zero_and_scale_does_not_matter() -> None:
    C = coefficients(net(0), X)
    found = distances([C, C, scaled(C, 7.5)])
    assert found[0, 1] == 0
    assert found[0, 2] < 1e-30


def test_distances_are_those_of_the_whole_matrices() -> None:
    one, other = coefficients(net(0), X), coefficients(net(1, units=9), X)
    rows = [torch.stack([C.rows(j) for j in range(3)]) for C in (one, other)]
    by_hand = ((rows[0] / rows[0].abs().max() - rows[1] / rows[1].abs().max()) ** 2).mean()
    assert distances([one, other])[0, 1] == pytest.approx(float(by_hand), rel=1e-12)
    as_printed = ((rows[0] / rows[0].max() - rows[1] / rows[1].max()) ** 2).mean()
    assert distances([one, other], scale="largest")[0, 1] == pytest.approx(float(as_printed), rel=1e-12)


def test_cross_entropy_is_torchs() -> None:
    one, other = coefficients(net(0), X), coefficients(net(1), X)
    expected = F.cross_entropy(other.values, one.values.softmax(1))
    assert cross_entropies([one, other])[0, 1] == pytest.approx(float(expected), rel=1e-12)


def test_a_map_that_exists_is_found_exactly() -> None:
    C = coefficients(net(0, units=9), X)  # wide: rows are kept whole
    M = torch.randn(7, 7, dtype=torch.float64, generator=RNG)
    D = Coefficients(torch.stack([C.rows(j) @ M for j in range(3)]), None, C.values)
    for j in range(3):
        assert (C.features[j] @ affine_map(C, D, j) - D.features[j]).abs().max() < 1e-9


@pytest.mark.parametrize("count", [5, 200], ids=["few samples", "many"])
def test_maps_are_least_squares_also_where_coefficients_have_low_rank(count: int) -> None:
    one, other = coefficients(net(0), X[:count]), coefficients(net(1, units=9), X[:count])
    for a, b in ((one, other), (other, one)):
        A, B = a.rows(1).numpy(), b.rows(1).numpy()
        best = np.linalg.lstsq(A, B, rcond=1e-10)[0]
        ours = (a.features[1] @ affine_map(a, b, 1)).numpy()
        ours = ours if b.basis is None else ours @ b.basis.numpy()
        assert np.abs(ours - A @ best).max() < 1e-9


def test_mapped_accuracy_is_that_of_the_mapped_rows() -> None:
    nets = [net(0), net(1, units=9), net(2)]
    fresh = torch.randn(80, 6, dtype=torch.float64, generator=RNG)
    labels = torch.arange(80) % 3
    train, test = ([coefficients(one, x) for one in nets] for x in (X, fresh))
    found = mapped_accuracies(train, test, fresh, labels)
    points = F.pad(fresh, (0, 1), value=1.0)
    for a in range(3):
        for b in range(3):
            outputs = [
                (test[a].rows(j) @ torch.linalg.pinv(train[a].rows(j), rtol=1e-10) @ train[b].rows(j) * points).sum(1)
                for j in range(3)
            ]
            expected = (torch.stack(outputs, 1) if a != b else test[a].values).argmax(1) == labels
            assert found[a, b] == float(expected.double().mean())


def test_with_as_many_clusters_as_pieces_nothing_is_lost() -> None:
    one = net(0)
    labels = one(X).argmax(1)
    C = coefficients(one, X)
    pieces = count_regions(one, X)
    found = compress(C, C, X, labels, k=[1, pieces, 150])
    assert found.accuracy[1] == found.accuracy[2] == found.original == 1
    assert found.inertia[0] > found.inertia[1]
    assert found.inertia[1] < 1e-25
    assert found.accuracy[0] < 1


@pytest.mark.parametrize("seed", range(4))
def test_with_a_cluster_for_each_distinct_row_the_distances_are_rounding(seed: int) -> None:
    torch.manual_seed(seed)
    net = creases.read(nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 3)).double())
    x = torch.randn(80, 7, dtype=torch.float64)
    C = coefficients(net, x)
    distinct = max(len(np.unique(C.features[j].numpy(), axis=0)) for j in range(3))
    found = compress(C, C, x, C.values.argmax(1), k=[distinct])
    assert distinct < 80
    assert found.inertia[0] < 1e-25
    assert found.accuracy == (1.0,)


def test_bisection_is_as_good_as_that_of_scikit_learn() -> None:
    rows = coefficients(net(0, units=12), X).features[0]
    for k, centres in zip([1, 5, 20, 60], bisect(rows, [1, 5, 20, 60], 0), strict=True):
        assert centres.shape == (k, rows.shape[1])
        theirs = BisectingKMeans(k, random_state=0).fit(rows.numpy()).inertia_
        assert float(torch.cdist(rows, centres).amin(1).square().sum()) <= 1.1 * theirs


@pytest.mark.parametrize("copies", [1, 3])
def test_bisection_ends_with_a_cluster_for_each_distinct_row(copies: int) -> None:
    rows = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64).repeat(copies, 1)
    one, nine, more = bisect(rows, [1, 9, 9 * copies], 0)
    assert torch.allclose(one[0], rows.mean(0))
    for centres in (nine, more):
        assert len(centres) == 9
        assert torch.cdist(rows, centres).amin(1).max() < 1e-7


@pytest.mark.thorough
def test_samples_may_be_arrays_and_must_be_those_of_the_coefficients() -> None:
    torch.manual_seed(0)
    C = coefficients(creases.read(nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)).double()), X)
    labels = C.values.argmax(1)
    assert compress(C, C, X.numpy(), labels.numpy(), k=[3]) == compress(C, C, X, labels, k=[3], n_jobs=2)
    assert mapped_accuracies([C], [C], X.numpy(), labels.numpy()).tolist() == [[1.0]]
    with pytest.raises(InputError, match="X must be the test samples"):
        compress(C, C, X[1:], labels, k=[3])


def test_one_cluster_is_the_mean_piece() -> None:
    C = coefficients(net(1, units=9), X)
    labels = C.values.argmax(1)
    mean = torch.stack([F.pad(X, (0, 1), value=1.0) @ C.rows(j).mean(0) for j in range(3)], dim=1)
    assert compress(C, C, X, labels, k=[1]).accuracy[0] == float((mean.argmax(1) == labels).double().mean())


def test_distinct_regions_are_those_of_the_plane() -> None:
    flat = net(3, units=3, inputs=2)
    grid = torch.cartesian_prod(*[torch.linspace(-20, 20, 301, dtype=torch.float64)] * 2)
    assert count_regions(flat, grid) == 7  # three lines in general position


@pytest.mark.parametrize("count", [5, 200], ids=["few samples", "many"])
@pytest.mark.parametrize("units", [4, 9], ids=["narrow", "wide"])
def test_active_subspaces_are_eigenvectors_of_the_mean_of_gradient_products(units: int, count: int) -> None:
    C = coefficients(net(0, units), X[:count])
    for j in range(3):
        J = C.rows(j)[:, :-1]
        sizes, vectors = torch.linalg.eigh(J.T @ J / len(J))
        found = active_subspace(C, j)
        rank = min(units, 6, count)
        assert np.allclose(found.eigenvalues[:rank], sizes.flip(0)[:rank], atol=1e-12)
        assert abs(found.directions[0] @ vectors[:, -1].numpy()) == pytest.approx(1, abs=1e-9)
        assert found.total == pytest.approx(float(J.square().sum(1).mean()), rel=1e-12)


def test_an_output_of_one_number_is_explained_by_it() -> None:
    w = torch.tensor([3.0, 0, -4, 0, 0, 0], dtype=torch.float64) / 5
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1)).double()
    with torch.no_grad():
        model[0].weight.copy_(torch.linspace(0.5, 2, 8)[:, None] * w)
    one = creases.read(model)
    found = active_subspace(coefficients(one, X), 0, n_directions=1)
    assert found.share == pytest.approx(1, abs=1e-12)
    assert np.abs(found.directions[0] + w.numpy()).max() < 1e-7  # the largest entry is made positive


def test_hidden_layers_of_equal_networks_match_on_the_diagonal() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 2)).double()
    one = creases.read(seeded(model))
    names, others, found = hidden_cka(one, one, X)
    assert names == others == ["1", "3", "output"]
    assert np.allclose(np.diag(found), 1)
    values = torch.relu(model[0](X))
    from creases.compare import cka

    assert found[0, 2] == pytest.approx(cka(values.detach(), one(X)), abs=1e-10)


def test_networks_that_do_not_fit_are_refused() -> None:
    C, D = coefficients(net(0), X), coefficients(net(0), X[:50])
    with pytest.raises(InputError, match="must have the same numbers of outputs, samples and inputs"):
        distances([C, D])
    with pytest.raises(InputError, match="scale must be 'magnitude' or 'largest'"):
        distances([C, C], scale="mean")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="test must have the same networks as train"):
        mapped_accuracies([C], [C, C], X, torch.zeros(200))
    with pytest.raises(InputError, match=r"k must be at most the number of training samples, 200, got 201"):
        compress(C, C, X, torch.zeros(200), k=[201])
    with pytest.raises(InputError, match="j must be an integer from 0 to 2"):
        active_subspace(C, 3)
