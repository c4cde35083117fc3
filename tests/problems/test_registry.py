import numpy as np
import pytest

from creases import problems
from creases.errors import InputError
from creases.problems import Problem

HERE = [name for name in problems.names() if name not in ("mnist", "cifar10")]
SEEDED = [name for name in HERE if name not in ("iris", "wine", "breast_cancer", "digits", "diabetes")]


@pytest.mark.parametrize("name", HERE)
def test_every_problem_is_whole_and_says_what_it_is(name):
    problem = problems.get(name)
    assert isinstance(problem, Problem)
    assert problem.name == name
    assert problem.description
    assert problem.citation
    assert problem.X.dtype == np.float64
    assert np.isfinite(problem.X).all()
    assert len(problem.features) == problem.X.shape[1]
    if problem.classes is None:
        assert problem.y.dtype == np.float64
    else:
        assert problem.y.dtype == np.int64
        assert np.unique(problem.y).tolist() == list(range(len(problem.classes)))


@pytest.mark.parametrize("name", SEEDED)
def test_the_same_seed_gives_the_same_problem_and_another_another(name):
    first, same, other = (problems.get(name, n=30, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.X, same.X)
    np.testing.assert_array_equal(first.y, same.y)
    assert not np.array_equal(first.X, other.X)


@pytest.mark.parametrize("name", SEEDED)
def test_a_generator_can_be_drawn_from(name):
    rng = np.random.default_rng(5)
    first = problems.get(name, n=30, seed=rng)
    np.testing.assert_array_equal(first.X, problems.get(name, n=30, seed=5).X)
    assert not np.array_equal(first.X, problems.get(name, n=30, seed=rng).X)


@pytest.mark.parametrize("name", HERE)
def test_every_problem_can_be_standardized(name):
    X = problems.get(name, standardize=True).X
    spread = X.std(axis=0)
    assert np.all(np.isclose(spread, 1) | (spread == 0))
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-10)


def test_no_problem_touches_the_global_random_state():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    for name in SEEDED:
        problems.get(name, n=10)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_an_unknown_name_is_refused_with_the_nearest_and_all_names():
    with pytest.raises(
        InputError, match=r"name must be a built-in problem: sine, .* got 'moon'; did you mean 'moons'\?"
    ):
        problems.get("moon")
    with pytest.raises(InputError, match=r"name must be a built-in problem: sine, quadratic, .* got 'zzz'$"):
        problems.get("zzz")


def test_an_unknown_option_is_refused_with_the_options():
    with pytest.raises(InputError, match="sine must have the options n, seed, noise, standardize, got 'colour'"):
        problems.get("sine", colour=3)
    with pytest.raises(InputError, match=r"cubic_curve must have the options n, seed, .* got 'target'"):
        problems.get("cubic_curve", target="sine")


def test_names_may_be_written_with_hyphens():
    assert problems.get("circle-annulus").name == "circle_annulus"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [0.0, 1.0]}, r"X must have shape \(n, d\), got \(2,\)"),
        ({"y": [0]}, r"y must have shape \(2,\), a target for each sample, got \(1,\)"),
        ({"features": ("a", "b")}, "features must be 1 names, one for each column of X, got 2"),
        ({"X": [[0.0], [np.nan]]}, "must be finite"),
        ({"y": [0, 2]}, "y must be class numbers from 0 to 1, got 0 to 2"),
    ],
)
def test_a_problem_that_does_not_fit_together_is_refused(change, message):
    parts = {"X": [[0.0], [1.0]], "y": [0, 1], "features": ("a",), "classes": ("low", "high")} | change
    with pytest.raises(InputError, match=message):
        Problem("two", **parts)


def test_a_constant_column_is_standardized_to_zero():
    problem = Problem("constant", [[0.1, 1.0], [0.1, 3.0], [0.1, 2.0]], [0.0, 1.0, 2.0], features=("a", "b"))
    assert problem.standardized().X[:, 0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ["moons", "sine_curve"])
def test_a_problem_that_is_imported_as_a_function_says_how_to_get_it(name):
    with pytest.raises(ImportError, match=rf"use creases\.problems\.get\('{name}'\)"):
        exec(f"from creases.problems import {name}")
    with pytest.raises(ImportError, match=r"cannot import name 'moon' from"):
        exec("from creases.problems import moon")
    assert not hasattr(problems, "moon")
