"""A user's formula as a labelled plane: y > f(x), or an inequality in x and y. It is read, never run as Python."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import e, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases.errors import InputError
from creases.problems import Problem, make_problem

Value = float | NDArray[np.float64]

LONGEST = 200  #: characters

#: Functions by name: numpy's name, and how many arguments there are.
FUNCTIONS: Mapping[str, tuple[str, int]] = {
    **{name: (name, 1) for name in ("abs", "sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "sign", "floor")},
    "min": ("minimum", 2),
    "max": ("maximum", 2),
}
CONSTANTS: Mapping[str, float] = {"pi": pi, "e": e}
_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}


@dataclass(frozen=True, eq=False)
class Formula:
    """A formula of x, whose class 1 is above it, or an inequality in x and y, whose class 1 is where it holds.

    Examples
    --------
    >>> parse("abs(x) - 0.5")(np.array([0.0, 1.0]), np.array([0.0, 0.0])).tolist()
    [True, False]
    >>> parse("x**2 + y**2 < 0.5").code
    'x ** 2.0 + y ** 2.0 < 0.5'
    """

    text: str
    tree: ast.expr

    @property
    def is_inequality(self) -> bool:
        """Whether it says itself where class 1 is."""
        return isinstance(self.tree, ast.Compare)

    @property
    def classes(self) -> tuple[str, str]:
        """What its two sides are called."""
        return ("outside", "inside") if self.is_inequality else ("below", "above")

    @property
    def code(self) -> str:
        """The same in numpy's names: what is true where class 1 is."""
        text = ast.unparse(ast.fix_missing_locations(_Numpy().visit(ast.parse(self.text, mode="eval"))))
        return text if self.is_inequality else f"y > {text}"

    def __call__(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each of the points x, y (n,) is of class 1."""
        names: dict[str, Value] = {**CONSTANTS, "x": x, "y": y}
        with np.errstate(all="ignore"):  # what is not finite is refused below, with where it is so
            if isinstance(self.tree, ast.Compare):
                left, right = (_value(part, names) for part in (self.tree.left, self.tree.comparators[0]))
                found = _COMPARE[type(self.tree.ops[0])](left, right)
            else:
                found = y > _value(self.tree, names)
        return np.asarray(np.broadcast_to(found, x.shape), bool)


def parse(text: str) -> Formula:
    """A formula from its text; refused where it has anything but numbers, x (and y), and what is listed above."""
    if not isinstance(text, str) or not text.strip():
        raise InputError("formula: is empty; write for instance sin(3*x), or x**2 + y**2 < 0.5")
    text = text.strip()
    if len(text) > LONGEST:
        raise InputError(f"formula: has {len(text)} characters; at most {LONGEST} are taken")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        message = f"formula: {text!r} is no formula; write for instance sin(3*x), with * for every product"
        raise InputError(message) from None
    if isinstance(tree, ast.Compare):
        if len(tree.ops) > 1 or type(tree.ops[0]) not in _COMPARE:
            raise InputError("formula: an inequality has one of <, <=, >, >= in it, such as x**2 + y**2 < 0.5")
        _check(tree.left, True)
        _check(tree.comparators[0], True)
    else:
        _check(tree, False)
    return Formula(text, tree)


def formula_problem(text: str, *, rows: int, noise: float, seed: int) -> Problem:
    """Random points of the square from -1 to 1 with the classes that a formula gives them, then moved by the noise."""
    formula, rng = parse(text), np.random.default_rng(seed)
    x, y = rng.uniform(-1, 1, (2, rows))
    above = formula(x, y)
    if above.all() or not above.any():
        side = formula.classes[int(above[0])]
        raise InputError(
            f"formula: all {rows} points are {side}; x and y run from -1 to 1: choose a formula that parts this square"
        )
    where = formula.text if formula.is_inequality else f"y > {formula.text}"
    problem = make_problem(
        formula.text,
        np.stack([x, y], axis=1),
        above,
        rng,
        noise=noise,
        standardised=False,
        classes=formula.classes,
        description=f"{rows} points of a square; class {formula.classes[1]!r} where {where}",
        citation="",
    )
    return replace(problem, features=("x", "y"))


def _check(node: ast.expr, inequality: bool) -> None:
    """Refuse what is no part of a formula."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return
        case ast.Name(id=name) if name in CONSTANTS or name == "x" or (name == "y" and inequality):
            return
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            return _check(node.operand, inequality)
        case ast.BinOp(op=op) if type(op) in _BINARY:
            _check(node.left, inequality)
            return _check(node.right, inequality)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in FUNCTIONS:
            if len(node.args) != FUNCTIONS[name][1] or any(isinstance(one, ast.Starred) for one in node.args):
                raise InputError(f"formula: {name} takes {FUNCTIONS[name][1]} in its brackets, got {_shown(node)}")
            for argument in node.args:
                _check(argument, inequality)
            return
    raise InputError(f"formula: {_refusal(node)}")


def _refusal(node: ast.expr) -> str:
    known = f"known are x, numbers, {', '.join(CONSTANTS)}, + - * / ** and {', '.join(FUNCTIONS)}"
    match node:
        case ast.Name(id="y"):
            return "y stands alone on the other side already (y > ...); for more write an inequality: x**2 + y**2 < 0.5"
        case ast.BinOp(op=ast.BitXor()):
            return "^ is no power here; write x**2"
        case ast.Name(id=name):
            return f"{name!r} is not known; {known}"
        case ast.Call(func=ast.Name(id=name)):
            return f"{name!r} is no function here; {known}"
        case ast.Compare():
            return "only the whole formula can be an inequality"
    return f"{_shown(node)} is no part of a formula; {known}"


def _shown(node: ast.expr) -> str:
    text = ast.unparse(node)
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _value(node: ast.expr, names: Mapping[str, Value]) -> Value:
    """The value of a part that :func:`_check` let pass; refused where it, or any part of it, is not finite."""
    match node:
        case ast.Constant(value=number):
            found: Any = float(number)  # type: ignore[arg-type]
        case ast.Name(id=name):
            found = names[name]
        case ast.UnaryOp(op=op):
            value = _value(node.operand, names)
            found = -value if isinstance(op, ast.USub) else value
        case ast.BinOp(op=op):
            left, right = _value(node.left, names), _value(node.right, names)
            try:
                found = _BINARY[type(op)](left, right)
            except (ZeroDivisionError, OverflowError):  # of two plain numbers
                found = np.nan
        case ast.Call(func=ast.Name(id=name)):
            found = getattr(np, FUNCTIONS[name][0])(*(_value(argument, names) for argument in node.args))
        case _:
            raise AssertionError("checked before")
    _check_finite(node, found, names)
    return found  # type: ignore[no-any-return]


def _check_finite(node: ast.expr, found: Any, names: Mapping[str, Value]) -> None:
    bad = ~np.isfinite(found) | np.iscomplexobj(found)
    if not np.any(bad):
        return
    if np.ndim(found) == 0:
        raise InputError(f"formula: {_shown(node)} is not a finite number")
    x, y = np.asarray(names["x"])[bad], np.asarray(names["y"])[bad]
    used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    at = f"x = {x[0]:.3g}" + (f", y = {y[0]:.3g}" if "y" in used else "")
    raise InputError(
        f"formula: {_shown(node)} is not a finite number at {len(x)} of {np.size(found)} points, for instance {at}; "
        "x and y run from -1 to 1"
    )


class _Numpy(ast.NodeTransformer):
    """Numbers as floats, functions and constants by numpy's names."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.Constant(float(node.value))  # type: ignore[arg-type]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(f"np.{node.id}") if node.id in CONSTANTS else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        assert isinstance(node.func, ast.Name)
        return ast.Call(ast.Name(f"np.{FUNCTIONS[node.func.id][0]}"), [self.visit(one) for one in node.args], [])
