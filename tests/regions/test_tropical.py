"""Tropical forms against the network, counts of regions and the dissertation's examples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import nn

import creases
from creases.errors import InputError
from creases.network._network import Network
from creases.network._reading.arrays import from_arrays
from creases.regions._counts import bounds
from creases.regions._tropical import tropical
from strategies import Case, cases


def random_net(*widths: int, seed: int = 0, leak: float = 0.0) -> Network:
    rng = np.random.default_rng(seed)
    pairs = itertools.pairwise(widths)
    return from_arrays([(rng.normal(size=(b, a)), rng.normal(size=b)) for a, b in pairs], leak=leak)


def sorted_terms(terms: np.ndarray) -> list[list[float]]:
    return sorted(terms.tolist())


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(cases(max_depth=2, max_width=3, max_flags=2))
def test_f_minus_g_is_the_network(case: Case) -> None:
    net = from_arrays(case.layers, leak=case.leak)
    form = tropical(net)
    assert form.error <= 1e-8  # terms that lead by less than 1e-9 of the range are left out
    lo, hi = np.array(case.box).T
    points = np.random.default_rng(0).uniform(lo, hi, size=(50, len(lo)))
    terms = np.concatenate([*form.F, *form.G])
    size = (np.abs(terms[:, :-1]) @ np.abs(points).T).max() + np.abs(terms[:, -1]).max() + 1
    np.testing.assert_allclose(form.evaluate(points), net(points), rtol=0, atol=1e-8 * size)


def test_terms_that_no_linear_program_decides_are_kept() -> None:
    """Slopes of 1 beside 1e6: HiGHS gives up on one of the programs at the tolerance asked of it."""
    first = [[1.0, 0.0, 0.0], [-5.61690049e05, 3.79159896e05, 1.36734315e06]], [-9.53674316e-07, 1.36347974]
    second = [[-0.70373524, -1.26542147], [0.04132598, -2.32503077]], [-0.62327446, -0.21879166]
    net = from_arrays([first, second, ([[-1.24591095, -0.73226735]], [-0.54425898])])
    assert tropical(net).error <= 1e-12


@pytest.mark.thorough
@pytest.mark.parametrize("leak", [0.0, 0.1, 1.0, 2.0, -0.3, -1.0])
@pytest.mark.parametrize("widths", [(2, 3, 3, 1), (1, 4, 2), (3, 3, 2), (2, 2)])
def test_pointwise_error_is_that_of_rounding(widths: tuple[int, ...], leak: float) -> None:
    for seed in range(2):
        assert tropical(random_net(*widths, seed=seed, leak=leak)).error <= 1e-12


@pytest.mark.parametrize(("n", "terms"), [(2, 22), (3, 42)])
def test_positive_outgoing_weights_have_a_term_for_every_region(n: int, terms: int) -> None:
    rng = np.random.default_rng(0)
    net = from_arrays([(rng.normal(size=(6, n)), rng.normal(size=6)), (rng.uniform(0.5, 1, size=(1, 6)), [0.0])])
    assert tropical(net).n_terms == ((terms, 1),)
    assert bounds([6], n).zaslavsky == terms
    assert tropical(net, prune=False).n_terms == ((2**6, 1),)


def test_xor_has_the_corrected_form_of_the_text() -> None:
    # eq. (5.21) with b = (2, 0), which is XOR: max(-1, 1 + s) - max(0, 2 s), s = x1 + x2, eq. (5.22)
    net = from_arrays([(np.ones((2, 2)), [2.0, 0.0]), ([[1.0, -2.0]], [-1.0])])
    form = tropical(net)
    assert sorted_terms(form.F[0]) == [[0, 0, -1], [1, 1, 1]]
    assert sorted_terms(form.G[0]) == [[0, 0, 0], [2, 2, 0]]
    corners = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    assert (form.evaluate(corners)[:, 0] > 0).tolist() == [False, True, True, False]
    # eq. (5.14), b corrected: the terms of the patterns 11, 10 and 00, with boundaries at s = 0 and s = -2
    for x, value in [((1.0, 2.0), -2.0), ((-0.5, 0.0), 0.5), ((-3.0, 0.0), -1.0)]:
        s = x[0] + x[1]
        assert form.evaluate(np.array([x]))[0, 0] == value == (-s + 1 if s >= 0 else s + 1 if s >= -2 else -1)


def test_xor_as_printed_is_not_xor() -> None:
    net = from_arrays([(np.ones((2, 2)), [1.0, 0.0]), ([[1.0, -2.0]], [-1.0])])
    form = tropical(net)
    assert sorted_terms(form.F[0]) == [[0, 0, -1], [1, 1, 0]]
    assert form.evaluate(np.zeros((1, 2)))[0, 0] == 0


def test_pruning_leaves_few_of_many_terms_and_the_same_function() -> None:
    net = random_net(2, 3, 3, 1)
    short, long = tropical(net), tropical(net, prune=False)
    (f, g), (all_f, all_g) = short.n_terms[0], long.n_terms[0]
    assert f < all_f / 2
    assert g < all_g / 2
    points = np.random.default_rng(1).normal(size=(1000, 2)) * 5
    np.testing.assert_allclose(short.evaluate(points), long.evaluate(points), atol=1e-10)


def test_every_kept_term_leads_somewhere() -> None:
    form = tropical(random_net(1, 4, 3, 1))
    x = np.linspace(-200, 200, 400_001)[:, None]
    for terms in (*form.F, *form.G):
        assert len(np.unique((x @ terms[:, :-1].T + terms[:, -1]).argmax(axis=1))) == len(terms)


def test_equal_units_share_their_terms() -> None:
    row = np.array([[1.0, 2.0]])
    net = from_arrays([(np.repeat(row, 4, axis=0), np.full(4, 0.5)), (np.ones((1, 4)), [0.0])])
    assert tropical(net).n_terms == ((2, 1),)


def test_too_many_terms_are_refused_with_the_number() -> None:
    with pytest.raises(InputError, match=r"max_terms must be at least \d+ for this network, got 50"):
        tropical(random_net(3, 8, 8, 1), max_terms=50)


def test_what_is_no_chain_of_layers_is_named() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv1d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4, 1)).double()
    with pytest.raises(
        InputError, match=r"net must be a chain of linear layers and \(leaky\) ReLUs, got conv.* at step 0"
    ):
        tropical(creases.read(model, (1, 4)))
