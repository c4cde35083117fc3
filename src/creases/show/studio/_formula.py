"""Problems defined by a formula: y > f(x), or an inequality in x and y; parsed, never executed as Python."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import e, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._text import plural
from creases.errors import InputError
from creases.problems import Problem, make_problem

Value = float | NDArray[np.float64]

MAX_LENGTH = 200  #: characters

#: Functions by name: the name in numpy, and the number of arguments.
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
    """A formula of x, with class 1 above it, or an inequality in x and y, with class 1 where it holds.

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
        """Whether it is an inequality in x and y."""
        return isinstance(self.tree, ast.Compare)

    @property
    def classes(self) -> tuple[str, str]:
        """The names of the two classes."""
        return ("outside", "inside") if self.is_inequality else ("below", "above")

    @property
    def code(self) -> str:
        """The condition of class 1 as numpy code."""
        text = ast.unparse(ast.fix_missing_locations(_Numpy().visit(ast.parse(self.text, mode="eval"))))
        return text if self.is_inequality else f"y > {text}"

    def __call__(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which of the points x, y (n,) are of class 1."""
        names: dict[str, Value] = {**CONSTANTS, "x": x, "y": y}
        with np.errstate(all="ignore"):  # values that are not finite are refused below
            if isinstance(self.tree, ast.Compare):
                left, right = (_value(part, names) for part in (self.tree.left, self.tree.comparators[0]))
                above = _COMPARE[type(self.tree.ops[0])](left, right)
            else:
                above = y > _value(self.tree, names)
        return np.asarray(np.broadcast_to(above, x.shape), bool)


def parse(text: str) -> Formula:
    """Parse a formula of numbers, x (and y), and the functions and constants above."""
    if not isinstance(text, str) or not text.strip():
        raise InputError("formula", "not be empty", hint="write for example sin(3*x), or x**2 + y**2 < 0.5")
    text = text.strip()
    if len(text) > MAX_LENGTH:
        raise InputError("formula", f"have at most {MAX_LENGTH} characters", str(len(text)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        hint = "write for example sin(3*x), with * for every product"
        raise InputError("formula", "be an expression", repr(text), hint) from None
    if isinstance(tree, ast.Compare):
        if len(tree.ops) > 1 or type(tree.ops[0]) not in _COMPARE:
            raise InputError(
                "formula", "have one of <, <=, >, >= as an inequality", hint="for example x**2 + y**2 < 0.5"
            )
        _check(tree.left, True)
        _check(tree.comparators[0], True)
    else:
        _check(tree, False)
    return Formula(text, tree)


def formula_problem(text: str, *, rows: int, noise: float, seed: int) -> Problem:
    """Return random points of the square from -1 to 1 with the classes of a formula, then moved by noise."""
    formula, rng = parse(text), np.random.default_rng(seed)
    x, y = rng.uniform(-1, 1, (2, rows))
    above = formula(x, y)
    if above.all() or not above.any():
        side = formula.classes[int(above[0])]
        hint = "choose a formula whose boundary crosses the square from -1 to 1"
        raise InputError("formula", "separate two classes", f"all {rows} points {side}", hint)
    where = formula.text if formula.is_inequality else f"y > {formula.text}"
    problem = make_problem(
        formula.text,
        np.stack([x, y], axis=1),
        above,
        rng,
        noise=noise,
        standardized=False,
        classes=formula.classes,
        description=f"{rows} points in a square; class {formula.classes[1]!r} where {where}",
        citation="",
    )
    return replace(problem, features=("x", "y"))


def _check(node: ast.expr, inequality: bool) -> None:
    """Raise an error unless all parts of a formula are allowed."""
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
            if len(node.args) != FUNCTIONS[name][1] or any(isinstance(argument, ast.Starred) for argument in node.args):
                count = FUNCTIONS[name][1]
                raise InputError("formula", f"pass {plural(count, 'argument')} to {name}", _excerpt(node))
            for argument in node.args:
                _check(argument, inequality)
            return
    raise _refusal(node)


def _refusal(node: ast.expr) -> InputError:
    known = f"x, numbers, {', '.join(CONSTANTS)}, + - * / ** and {', '.join(FUNCTIONS)}"
    match node:
        case ast.Name(id="y"):
            hint = "to use y, write an inequality such as x**2 + y**2 < 0.5"
            return InputError("formula", "not contain y, which is already on the left (y > ...)", hint=hint)
        case ast.BinOp(op=ast.BitXor()):
            return InputError("formula", "use ** for powers", "^", "write x**2")
        case ast.Name(id=name):
            return InputError("formula", f"consist of {known}", f"the unknown name {name!r}")
        case ast.Call(func=ast.Name(id=name)):
            return InputError("formula", f"consist of {known}", f"the unknown function {name!r}")
        case ast.Compare():
            return InputError("formula", "not contain an inequality inside an expression", _excerpt(node))
    return InputError("formula", f"consist of {known}", _excerpt(node))


def _excerpt(node: ast.expr) -> str:
    text = ast.unparse(node)
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _value(node: ast.expr, names: Mapping[str, Value]) -> Value:
    """Return the value of a checked part; raise an error if it, or any part of it, is not finite."""
    match node:
        case ast.Constant(value=number):
            value: Any = float(number)  # type: ignore[arg-type]
        case ast.Name(id=name):
            value = names[name]
        case ast.UnaryOp(op=op):
            operand = _value(node.operand, names)
            value = -operand if isinstance(op, ast.USub) else operand
        case ast.BinOp(op=op):
            left, right = _value(node.left, names), _value(node.right, names)
            try:
                value = _BINARY[type(op)](left, right)
            except (ZeroDivisionError, OverflowError):  # of two numbers
                value = np.nan
        case ast.Call(func=ast.Name(id=name)):
            value = getattr(np, FUNCTIONS[name][0])(*(_value(argument, names) for argument in node.args))
        case _:
            raise AssertionError("checked before")
    _check_finite(node, value, names)
    return value  # type: ignore[no-any-return]


def _check_finite(node: ast.expr, value: Any, names: Mapping[str, Value]) -> None:
    bad = ~np.isfinite(value) | np.iscomplexobj(value)
    if not np.any(bad):
        return
    if np.ndim(value) == 0:
        raise InputError("formula", "be finite", f"an infinite or undefined value of {_excerpt(node)}")
    x, y = np.asarray(names["x"])[bad], np.asarray(names["y"])[bad]
    used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    at = f"x = {x[0]:.3g}" + (f", y = {y[0]:.3g}" if "y" in used else "")
    where = f"an infinite or undefined value of {_excerpt(node)} at {len(x)} of {np.size(value)} points, such as {at}"
    raise InputError("formula", "be finite for x and y from -1 to 1", where)


class _Numpy(ast.NodeTransformer):
    """Convert numbers to floats, and functions and constants to their names in numpy."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Return a number as a float."""
        return ast.Constant(float(node.value))  # type: ignore[arg-type]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return a constant by its name in numpy."""
        return ast.Name(f"np.{node.id}") if node.id in CONSTANTS else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Return a function by its name in numpy."""
        assert isinstance(node.func, ast.Name)
        return ast.Call(
            ast.Name(f"np.{FUNCTIONS[node.func.id][0]}"), [self.visit(argument) for argument in node.args], []
        )
