"""The judge of proofs is judged itself: by areas, by points, by other brute force and by exact identities."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog

from nearest_cases import NORMS, brute_force
from proof_cases import build, random_case
from rational_answers import largest, nearest_distance
from rational_programs import as_floats, maximize, upper_bound
from rational_regions import Layer, TooManyRegionsError, clamp, cube_rows, exact_outputs, leaky, regions
from reference import exact_regions

SEEDS = range(6)


def small_case(seed: int, n_in: int | None = None, limit: int = 300):
    """The first case from a seed on with few regions, and its regions."""
    for k in range(100):
        case = random_case(1000 * seed + k, n_in)
        try:
            return case, case.regions(limit)
        except TooManyRegionsError:
            continue
    raise AssertionError("no small case")


def polygon_area(cell) -> Fraction:
    """The area of a cell of the plane: the square, clipped by one row after the other."""
    corners = [(Fraction(x), Fraction(y)) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    for a, b, c in cell.rows:
        clipped = []
        for p, q in zip(corners, [*corners[1:], corners[0]], strict=True):
            at_p, at_q = a * p[0] + b * p[1] + c, a * q[0] + b * q[1] + c
            if at_p >= 0:
                clipped.append(p)
            if at_p * at_q < 0:
                t = Fraction(at_p) / (at_p - at_q)
                clipped.append((p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])))
        corners = clipped
    pairs = zip(corners, [*corners[1:], corners[0]], strict=True)
    return abs(sum(p[0] * q[1] - p[1] * q[0] for p, q in pairs)) / 2


def value(row, u) -> Fraction:
    return sum((a * p for a, p in zip(row, u, strict=False)), Fraction(row[-1]))


@pytest.mark.parametrize("seed", SEEDS)
def test_areas_of_regions_sum_to_the_box(seed):
    case, found = small_case(seed, 2)
    whole = found if case.A is None else regions([case.layers], case.box)
    assert sum(map(polygon_area, whole.cells)) == 4


@pytest.mark.parametrize("seed", SEEDS)
def test_regions_of_a_plane_are_those_of_clipped_polygons(seed):
    rng = np.random.default_rng(seed)
    leak = [0.0, 0.25][seed % 2]
    widths = [2, 4, 3, 1]
    pairs = [
        (np.round(4 * rng.standard_normal((k, n))) / 4, np.round(4 * rng.standard_normal(k)) / 4)
        for n, k in pairwise(widths)
    ]
    layers = [*(Layer(W, b, leaky(leak)) for W, b in pairs[:-1]), Layer(*pairs[-1])]
    found = regions([layers], [(-1, 1)] * 2)
    reference = exact_regions(pairs, [(-1.0, 1.0)] * 2, leak=leak)
    assert sorted(map(polygon_area, found.cells)) == sorted(reference.areas)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_every_point_is_in_one_region_and_its_function_is_the_network(seed):
    case, found = small_case(seed)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        u = [Fraction(int(p), 2**40) for p in rng.integers(-(2**40), 2**40, len(case.box))]
        x = found.to_input(u)
        if case.A is not None and any(
            sum(Fraction(float(a)) * v for a, v in zip(row, x, strict=True)) > Fraction(float(limit))
            for row, limit in zip(case.A, case.b, strict=True)
        ):
            continue
        inside = [cell for cell in found.cells if all(value(row, u) > 0 for row in cell.rows)]
        assert len(inside) == 1
        unit = Fraction(2) ** inside[0].values.exponent
        outputs = [unit * value(row, u) for row in inside[0].values.rows.tolist()]
        assert outputs == [*exact_outputs(case.layers, x), *x, 1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_networks_of_creases_are_the_judged_ones(seed):
    case, _ = small_case(seed)
    rng = np.random.default_rng(seed)
    X = rng.uniform(*case.box.T, size=(20, case.n_in))
    exact = np.array([[float(y) for y in exact_outputs(case.layers, x.tolist())] for x in X])
    size = max(float(np.abs(layer.W).max()) for layer in case.layers[1:]) + np.abs(exact).max()
    rounding = 1e-9 if case.scale == "thin" else 1e-12
    np.testing.assert_allclose(case.net()(X), exact, rtol=0, atol=rounding * size * 100)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_the_largest_value_is_reached_and_no_sample_exceeds_it(seed):
    case, found = small_case(seed)
    rng = np.random.default_rng(seed)
    row = rng.standard_normal(case.n_out)
    best = largest(found, row[None])
    outputs = exact_outputs(case.layers, best.x)
    assert sum(Fraction(a) * y for a, y in zip(row.tolist(), outputs, strict=True)) == best.value
    X = rng.uniform(*case.box.T, size=(500, case.n_in))
    if case.A is not None:
        X = X[(case.b > X @ case.A.T).all(axis=1)]
    assert (case.net()(X) @ row).max() <= float(best.value) + 1e-9 * abs(float(best.value))
    several = np.vstack([row, -row])
    least = largest(found, several)
    at = [
        sum(Fraction(a) * y for a, y in zip(r, exact_outputs(case.layers, least.x), strict=True))
        for r in several.tolist()
    ]
    assert min(at) == least.value


@pytest.mark.parametrize("seed", range(20))
def test_programs_in_integers_agree_with_linprog_and_bounds_hold(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 6)), int(rng.integers(0, 10))
    span = 2**40 if seed % 2 else 4  # small integers: ties
    rows = [[*map(int, rng.integers(-span, span, n)), int(rng.integers(0, span))] for _ in range(m)]
    objective = [*map(int, rng.integers(-span, span, n)), 3]
    best = maximize(objective, [*rows, *cube_rows(n)], [Fraction(0)] * n)
    assert value(objective, best.point) == best.value
    assert all(value(row, best.point) >= 0 for row in [*rows, *cube_rows(n)])
    floats = np.array([*map(as_floats, rows), *map(as_floats, cube_rows(n))]) if n else None
    cost = np.array(objective[:-1]) / span
    answer = linprog(-cost, -floats[:, :-1], floats[:, -1], bounds=[(-1, 1)] * n)
    assert float(best.value - 3) / span == pytest.approx(-answer.fun, abs=1e-7)
    assert upper_bound(objective, rows, rng.uniform(0, 2, m)) >= best.value


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(3))
def test_nearest_distances_agree_with_every_pattern_of_sides(norm, seed):
    rng = np.random.default_rng(seed)
    bend = [leaky(), leaky(0.125), clamp(0.0, 1.0)][seed % 3]
    width = 2 if len(bend.breaks) == 2 else 3
    first = Layer(rng.standard_normal((width, 2)), rng.standard_normal(width), bend)
    layers = [first, Layer(rng.standard_normal((2, width)), np.zeros(2))]
    box = [(-2.0, 2.0)] * 2
    x = rng.uniform(-2, 2, 2)
    outputs = exact_outputs(layers, x.tolist())
    predicted = outputs.index(max(outputs))
    goal = np.array([[1.0, -1.0]]) if predicted else np.array([[-1.0, 1.0]])
    found = nearest_distance(regions([layers], box), x, [1.0, 1.0], norm, [goal])
    expected = brute_force(build(layers), x, (-2.0, 2.0), norm)
    if found is None:
        assert expected == np.inf
    else:
        assert found.is_exact
        assert float(found.upper) ** (0.5 if norm == "l2" else 1.0) == pytest.approx(expected, rel=1e-6)
