from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from creases.errors import InputError
from creases.splines import Shallow
from creases.splines.theory import degenerate_units, hessian
from creases_reproduction.splines.theory.critical import gram_rank
from splines_cases import shallow_cases

X = np.linspace(-2, 2, 13)


def kinds(net, x=X):
    return {(one.kind, one.units): one.extra for one in degenerate_units(net, x)}


def zeros(net, x=X):
    """Zero eigenvalues of the Hessian at a perfect fit, beyond the gauge."""
    eigenvalues = np.linalg.eigvalsh(hessian(net, x, net(x)).matrix)
    return int((eigenvalues < 1e-9 * eigenvalues.max()).sum()) - net.width


def exact_gram_rank(net, x):
    """Rank of {a_i, x a_i (v != 0), phi_i (v = 0), 1[, x]}, exactly: the definition."""
    rows = [[Fraction(1)] * len(x)] + ([[Fraction(float(t)) for t in x]] if net.c1 != 0 else [])
    for w, b, v, leak in zip(net.w, net.b, net.v, net.leak, strict=True):
        a = [Fraction(1) if w * t + b > 0 else Fraction(float(leak)) for t in x]
        if v != 0:
            rows += [a, [s * Fraction(float(t)) for s, t in zip(a, x, strict=True)]]
        else:
            line = [Fraction(float(w)) * Fraction(float(t)) + Fraction(float(b)) for t in x]
            rows.append([s * z for s, z in zip(a, line, strict=True)])
    return _rank(rows)


def _rank(rows):
    rank = 0
    for column in range(len(rows[0])):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for r in range(rank + 1, len(rows)):
            factor = rows[r][column] / rows[rank][column]
            rows[r] = [value - factor * top for value, top in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    return rank


# Three units in general position; one of them is spoiled in each case.
W, B, V = np.array([1.0, -1.0, 1.0]), np.array([1.1, -0.4, -0.9]), np.array([1.0, 2.0, -1.5])

CASES = {  # of the third unit: w, b, v; the degeneracy
    "none": ((1.0, -0.9, -1.5), None),
    "zero bias": ((1.0, 0.0, -1.5), None),
    "shared": ((2.0, 2.1, -1.5), ("shared pattern", (0, 2), 2)),
    "complementary": ((-2.0, -2.1, -1.5), ("complementary patterns", (0, 2), 1)),
    "all": ((0.1, 1.0, -1.5), ("all active", (2,), 1)),
    "dead": ((0.1, -1.0, -1.5), ("none active", (2,), 2)),
    "single": ((1.0, -1.9, -1.5), ("single sample", (2,), 1)),
    "v": ((1.0, -0.9, 0.0), ("no output weight", (2,), 1)),
    "w on": ((0.0, 0.7, -1.5), ("no input weight", (2,), 1)),
    "w off": ((0.0, -0.7, -1.5), ("no input weight", (2,), 2)),
}


def case(name):
    unit, expected = CASES[name]
    w, b, v = (np.append(part[:2], value) for part, value in zip((W, B, V), unit, strict=True))
    return Shallow(w, b, v, 0.3), expected


@pytest.mark.parametrize("name", CASES)
def test_each_degeneracy_adds_its_zero_eigenvalues_and_names_its_units(name):
    net, expected = case(name)
    assert [tuple(vars(each).values()) for each in degenerate_units(net, X)] == ([] if expected is None else [expected])
    assert zeros(net) == (expected[2] if expected else 0)


def test_an_inner_piece_of_one_datum_names_the_units_around_it():
    net = Shallow([1.0, 1.0], [-0.2, -0.5], [1.0, 1.0])  # X has 1/3 between 0.2 and 0.5
    assert kinds(net) == {("single sample", (0, 1)): 1}
    assert zeros(net) == 1


def test_a_single_first_datum_costs_nothing_to_a_unit_that_sees_the_others():
    net = Shallow([1.0, 1.0], [1.9, 0.2], [1.0, 1.0])  # x is spanned, and nothing else would have been
    assert kinds(net) == {}
    assert zeros(net) == 0


def test_the_line_is_spanned_once():
    """Two complementary pairs, or one and an all-active unit: 1 + 2."""
    net = Shallow([1.0, -1.0, 1.0, -1.0], [0.2, -0.2, 1.2, -1.2], [1.0, 1.0, 1.0, 1.0])
    assert kinds(net) == {("complementary patterns", (0, 1)): 1, ("complementary patterns", (2, 3)): 2}
    assert zeros(net) == 3
    net = Shallow([1.0, -1.0, 0.1], [0.2, -0.2, 1.0], [1.0, 1.0, 1.0])
    assert kinds(net) == {("complementary patterns", (0, 1)): 1, ("all active", (2,)): 2}
    assert zeros(net) == 3


def test_a_skip_makes_all_active_units_and_complements_cost_two():
    for name, extra in (("all", 2), ("complementary", 2), ("dead", 2), ("none", 0)):
        net, _ = case(name)
        net = Shallow(net.w, net.b, net.v, net.c0, 0.5)
        assert sum(kinds(net).values()) == zeros(net) == extra


def test_with_a_leak_a_dead_unit_still_gives_a_line():
    net, _ = case("dead")
    net = Shallow(net.w, net.b, net.v, net.c0, leak=0.1)
    assert kinds(net) == {("none active", (2,)): 1}
    assert zeros(net) == 1


@settings(max_examples=300, deadline=None)
@given(shallow_cases())
def test_the_rank_is_that_of_the_generating_vectors_in_exact_arithmetic(case):
    net, x, _ = case
    assert gram_rank(net, x) == exact_gram_rank(net, x)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 12), st.booleans())
def test_the_rank_of_clustered_breakpoints_is_exact(seed, H, N, skip):
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, N).astype(float)  # data repeat, and every gap is small
    w = rng.choice([-1.0, 1.0, 0.0, 2.0], H, p=[0.4, 0.4, 0.1, 0.1])
    b = -w * (rng.integers(-4, 5, H) + 0.5) + (w == 0) * rng.choice([-1.0, 1.0], H)
    v = rng.choice([1.0, -2.0, 0.0], H, p=[0.6, 0.3, 0.1])
    leak = rng.choice([0.0, 0.0, 0.1, 1.0, -1.0], H)
    net = Shallow(w, b, v, 0.0, float(skip), leak)
    assert gram_rank(net, x) == exact_gram_rank(net, x)


def test_the_rank_is_numpys_on_three_thousand_random_networks():
    rng = np.random.default_rng(0)
    for _ in range(3000):
        H, N = rng.integers(1, 9), rng.integers(1, 15)
        net, x = Shallow(*rng.normal(size=(2, H)), rng.choice([-1, 1], H) * rng.uniform(0.5, 2, H)), rng.normal(size=N)
        a = (net.w[:, None] * x + net.b[:, None] > 0).astype(float)
        vectors = np.concatenate([a, a * x, np.ones((1, N))])
        assert gram_rank(net, x) == np.linalg.matrix_rank(vectors, tol=1e-7)


def test_far_from_zero_the_rank_is_still_exact():
    x = 1e8 + np.arange(5.0)
    net = Shallow([1.0, 1.0], [-1e8 - 1.5, -1e8 - 2.5], [1.0, 1.0])
    assert gram_rank(net, x) == exact_gram_rank(net, x) == 4
    assert np.linalg.matrix_rank(hessian(net, x, net(x)).gram) < 4  # what float64 makes of it


def test_one_datum_leaves_one_dimension():
    net = Shallow([1.0, -1.0], [0.0, 0.0], [1.0, 1.0], c1=1.0)
    assert gram_rank(net, [1.0, 1.0]) == 1
    assert sum(kinds(net, [1.0]).values()) == 2 * 2 + 2 - 1


def test_a_network_without_units_has_the_rank_of_its_line():
    assert gram_rank(Shallow([], [], [], 1.0), [1.0, 2.0]) == 1
    assert gram_rank(Shallow([], [], [], 1.0, 1.0), [1.0, 2.0]) == 2


def test_without_data_there_is_nothing_to_tell():
    with pytest.raises(InputError, match="x must have at least one sample"):
        degenerate_units(Shallow([1.0], [0.0], [1.0]), [])


def test_units_that_overflow_still_have_sides():
    net = Shallow([1e300, -1e300], [0.0, 1e300], [1.0, 1e-300])
    assert gram_rank(net, [-1e10, 1e10]) == 2
    assert kinds(net, [-1e10, 1e10])[("complementary patterns", (0, 1))] == 2
