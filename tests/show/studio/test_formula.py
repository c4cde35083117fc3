"""Formulas of the studio: read by their grammar, never run."""

from __future__ import annotations

import builtins
import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from creases.errors import InputError
from creases.show.studio._formula import FUNCTIONS, formula_problem, parse

X = np.array([-0.9, -0.6, -0.3, 0.0, 0.3, 0.6, 0.9])
Y = np.linspace(0.8, -0.7, 7)

#: The smallest formulas.
LEAVES = st.sampled_from(["x", "pi", "e", "2", "0.5", "1e-3", "17"])


def join(parts):
    names = st.sampled_from(["sin", "cos", "tanh", "abs", "exp", "-"])
    unary = st.tuples(names, parts).map(lambda p: f"{p[0]}({p[1]})")
    both = st.tuples(parts, st.sampled_from("+-*/"), parts).map(lambda p: f"({p[0]} {p[1]} {p[2]})")
    most = st.tuples(st.sampled_from(["min", "max"]), parts, parts).map(lambda p: f"{p[0]}({p[1]}, {p[2]})")
    return unary | both | most


FORMULAS = st.recursive(LEAVES, join, max_leaves=8).filter(lambda text: len(text) <= 200)
PLAIN = {name: getattr(math, name) for name in FUNCTIONS if hasattr(math, name)} | {"pi": math.pi, "e": math.e}


@given(FORMULAS)
@settings(max_examples=100, deadline=None)
def test_a_formula_is_what_python_makes_of_the_same_text_point_by_point(text):
    def plain(x: float) -> float:
        return eval(text, {"__builtins__": {}}, {**PLAIN, "abs": abs, "min": min, "max": max, "x": x})

    try:
        expected = np.array([plain(x) for x in X.tolist()])
    except (ZeroDivisionError, OverflowError):
        return
    if not np.isfinite(expected).all():
        return
    try:
        above = parse(text)(X, Y)
    except InputError:
        return  # a part of it is not finite, though the whole is
    clear = np.abs(Y - expected) > 1e-9 * (1 + np.abs(expected))  # numpy's functions may differ in the last digit
    assert (above == (expected < Y))[clear].all()


@given(FORMULAS)
@settings(max_examples=50, deadline=None)
def test_the_code_of_a_formula_gives_the_same_classes(text):
    formula = parse(text)
    try:
        above = formula(X, Y)
    except InputError:
        return
    assert np.array_equal(np.broadcast_to(eval(formula.code, {"np": np, "x": X, "y": Y}), X.shape), above)


@pytest.mark.slow
@given(st.text(max_size=60) | st.text(alphabet="xy()[]{}.,:=+-*/<>_'\"\\ abcdefgimoprstuwl0123456789\n", max_size=60))
@example("__import__('os').system('true')")
@example("x.__class__.__mro__[1].__subclasses__()")
@example("(lambda: 1)()")
@example("[x for x in (1,)]")
@example("exec('1')")
@example("x if x else x")
@example("f'{x}'")
@example("sin(*[x])")
@example("sin(x=1)")
@example("(x := 1)")
@example("'\\d'")
@example("(" * 199)
@example("-" * 199 + "x")
@example("9**9**9**9")
@example("x" + "\0")
@settings(max_examples=300, deadline=None)
def test_no_text_does_anything_but_give_classes_or_be_refused(text):
    with mock.patch.object(builtins, "eval") as run, mock.patch.object(builtins, "exec") as run_too:
        try:
            found = parse(text)(X, Y)
        except InputError:
            found = None
    assert found is None or found.dtype == bool
    assert not run.called
    assert not run_too.called


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "formula must not be empty"),
        ("3x", "with \\* for every product"),
        ("x^2", "write x\\*\\*2"),
        ("y + x", "write an inequality"),
        ("z + x", "formula must consist of x, numbers, pi, e, .* got the unknown name 'z'"),
        ("foo(x)", "got the unknown function 'foo'"),
        ("min(x)", "formula must pass 2 arguments to min"),
        ("sin(x, x)", "formula must pass 1 argument to sin"),
        ("0 < x < 1", "one of <, <=, >, >="),
        ("x == y", "one of <, <=, >, >="),
        ("1 + (x < 0)", "formula must not contain an inequality inside an expression"),
        ("x" * 201, "at most 200"),
        ("True", "formula must consist of x, .* got 'True'"),
        ("1j * x", "formula must consist of x, .* got '1j'"),
    ],
)
def test_what_is_no_formula_is_refused_with_what_to_write(text, told):
    with pytest.raises(InputError, match=told):
        parse(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1/0", "formula must be finite, got an infinite or undefined value of '1 / 0'"),
        ("log(x)", r"'log\(x\)' at 4 of 7 points, such as x = -0.9"),
        ("(-8)**0.5 + x", "formula must be finite, got an infinite or undefined value"),
        ("9**9**9", "formula must be finite, got an infinite or undefined value"),
        ("1/x", r"'1 / x' at 1 of 7 points, such as x = 0"),
        ("sqrt(y) < 1", "such as x = 0.3, y = -0.2"),
    ],
)
def test_where_a_formula_is_not_finite_is_told(text, told):
    with pytest.raises(InputError, match=told):
        parse(text)(X, Y)


def test_points_are_above_or_below_and_the_noise_moves_them():
    still, moved = (formula_problem("sin(3*x)", rows=300, noise=noise, seed=1) for noise in (0.0, 0.1))
    x, y = still.X.T
    assert ((y > np.sin(3 * x)) == still.y).all()
    assert still.classes == ("below", "above")
    assert still.features == ("x", "y")
    assert np.abs(still.X).max() <= 1
    assert (still.y == moved.y).all()
    assert 0.05 < np.std(moved.X - still.X) < 0.15


def test_an_inequality_says_itself_where_its_class_is():
    problem = formula_problem("x**2 + y**2 < 0.5", rows=300, noise=0.0, seed=0)
    assert ((problem.X**2).sum(axis=1) < 0.5).tolist() == problem.y.astype(bool).tolist()
    assert problem.classes == ("outside", "inside")


def test_a_formula_that_parts_nothing_is_refused():
    with pytest.raises(InputError, match=r"formula must separate two classes, got all 50 points below; .* -1 to 1"):
        formula_problem("5", rows=50, noise=0.0, seed=0)
