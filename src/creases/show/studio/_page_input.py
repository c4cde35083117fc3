"""What a page may ask for: problems, options of a run, and the choices that it offers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from creases.errors import CreasesError, InputError, RequestError
from creases.problems import Problem, names
from creases.problems import get as get_problem
from creases.show.studio._formula import formula_problem
from creases.show.studio._limits import Limits
from creases.tables import MIN_ROWS, parse_table

if TYPE_CHECKING:
    from creases.growth import GrowthConfig

#: Labels of the library's parameters on the page.
LABELS = {
    "how": "Method",
    "where": "Where to grow",
    "when": "When to grow",
    "hidden": "Hidden layers",
    "seed": "Seed",
    "lr": "Learning rate",
    "batch_size": "Batch size",
    "budget": "Epochs",
    "target": "Column to predict",
    "missing": "Missing values",
    "X": "The table",
    "y": "The column to predict",
    "data": "The problem",
    "problem": "The problem",
    "loss": "The training loss",
    "formula": "The formula",
    "from": "Input range from",
    "to": "Input range to",
}

#: Where the page offers settings that the library recommends.
SETTINGS = {
    ("missing", "drop"): "the option below",
    ("missing", "mean"): "the option below",
    ("missing", "indicate"): "the option below",
    ("header", True): "a text name for every column",
    ("header", False): "no header row",
}

#: Built-in problems that are too large for the studio.
TOO_LARGE = ("mnist", "cifar10")

#: Classes of drawn points.
LETTERS = "ABCDEFGHIJ"

#: Largest coordinate of a drawn point; the page draws in the square from -1 to 1.
FARTHEST = 1e6

#: Largest number in a table: scaling sums squares as float64.
LARGEST = 1e100


def make_problem(spec: Mapping[str, Any], limits: Limits) -> Problem:
    """Return the problem of a specification; refuse one that is too small or too large."""
    if not isinstance(spec, Mapping):
        raise RequestError("no problem given; choose one")
    kind = str(spec.get("kind"))[:40]
    if kind not in _MAKERS:
        raise RequestError(f"unknown kind of problem {kind!r}; choose one of: {', '.join(_MAKERS)}")
    problem = _MAKERS[kind](spec, limits)
    _check_size(problem, limits)
    return problem


def render_error(error: CreasesError) -> str:
    """Return an error's message with the page's labels in place of the names of parameters."""
    if not isinstance(error, InputError):
        return str(error)
    return error.render(
        lambda param: LABELS.get(param, param),
        lambda param, value: SETTINGS.get((param, value), f"{LABELS.get(param, param)}: {value}"),
    )


def check_integer(value: Any, name: str, least: int, most: int) -> int:
    """Return an integer within bounds."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(name, f"be an integer from {least} to {most}", _short(value))
    return value


def check_real(value: Any, name: str, least: float, most: float) -> float:
    """Return a number within bounds."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(name, f"be a number from {least:g} to {most:g}", _short(value))
    return float(value)


def check_text(value: Any, name: str, most: int) -> str:
    """Return a text that is not too long."""
    if not isinstance(value, str) or len(value) > most:
        raise InputError(name, f"be a text of at most {most} characters", _short(value))
    return value


def _short(value: Any) -> str:
    """Return the start of a value's repr."""
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _make_builtin(spec: Mapping[str, Any], limits: Limits) -> Problem:
    name = check_text(spec.get("name"), "name", 100)
    if name in TOO_LARGE:
        raise RequestError(f"{name} is too large for the studio; use the command line: creases grow {name}")
    return get_problem(name)


def table_name(spec: Mapping[str, Any]) -> str:
    """Return the name of a table's file, without its folder."""
    name = check_text(spec.get("name") or "", "name", 200)
    return re.split(r"[/\\]", name)[-1] or "table.csv"


def _make_table(spec: Mapping[str, Any], limits: Limits) -> Problem:
    name = table_name(spec)
    content = check_text(spec.get("text"), "table", limits.message)
    target = check_text(spec.get("target") or "", "target", 200).strip()
    if "\0" in content[:10_000]:
        raise RequestError(f"{name} is not a text file; save the table as CSV")
    if content.count("\n") > 2 * limits.rows:  # before anything is taken apart
        raise _too_many(name, f"more than {limits.rows} rows")
    return parse_table(content, name, target or None, **table_options(spec))


def table_options(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments for reading a table."""
    options = {name: spec[name] for name in ("task", "header") if spec.get(name) is not None}
    return options | {"missing": spec.get("missing") or "error"}


def _make_formula(spec: Mapping[str, Any], limits: Limits) -> Problem:
    return formula_problem(
        spec.get("formula", ""),
        rows=check_integer(spec.get("rows", 400), "points", 20, limits.rows),
        noise=check_real(spec.get("noise", 0.0), "noise", 0.0, 1.0),
        seed=check_integer(spec.get("seed", 0), "seed", 0, 2**31 - 1),
    )


def _make_drawn(spec: Mapping[str, Any], limits: Limits) -> Problem:
    """Return the problem of points drawn by hand."""
    X, y = spec.get("X"), spec.get("y")
    if not isinstance(X, list) or not isinstance(y, list) or len(X) != len(y):
        raise InputError("points", "have coordinates and a class each")
    if len(X) > limits.rows:
        raise InputError("points", f"be at most {limits.rows}", f"{len(X)}")
    if not all(isinstance(point, list) and len(point) == 2 for point in X):
        raise InputError("points", "have two coordinates each")
    places = np.array([[check_real(value, "points", -FARTHEST, FARTHEST) for value in point] for point in X])
    labels = np.array([check_integer(label, "class", 0, len(LETTERS) - 1) for label in y], int)
    used = np.unique(labels)
    if len(used) < 2:
        raise InputError("points", "have at least two classes", hint="draw points of another class too")
    return Problem(
        "drawn",
        places,
        np.searchsorted(used, labels),
        features=("x", "y"),
        classes=tuple(LETTERS[k] for k in used),
        description=f"{len(X)} points drawn by hand",
    )


_MAKERS: Mapping[str, Callable[[Mapping[str, Any], Limits], Problem]] = {
    "builtin": _make_builtin,
    "csv": _make_table,
    "formula": _make_formula,
    "draw": _make_drawn,
}


def _check_size(problem: Problem, limits: Limits) -> None:
    """Raise an error unless the problem is within the limits."""
    n, d = problem.X.shape
    for name, column in [*zip(problem.features, problem.X.T, strict=True), ("the column to predict", problem.y)]:
        if np.abs(column).max(initial=0.0) > LARGEST:
            raise RequestError(
                f"{name} has values beyond {LARGEST:g}, which is too large to train on; rescale the column"
            )
    if n < MIN_ROWS:
        raise RequestError(
            f"{problem.name} has {n} rows; at least {MIN_ROWS} are needed for training, validation and test"
        )
    classes = len(problem.classes or ())
    for count, most, what in (
        (n, limits.rows, f"{n} rows"),
        (d, limits.columns, f"{d} columns of numbers"),
        (n * d, limits.numbers, f"{n} x {d} numbers"),
        (classes, limits.classes, f"{classes} classes"),
    ):
        if count > most:
            raise _too_many(problem.name, f"{what} (limit {most})")


def _too_many(name: str, what: str) -> RequestError:
    return RequestError(
        f"{name} has {what}, which is too many for the studio; use a part of it, or the command line: creases grow FILE"
    )


# Options requested by a page, as the configuration of a run.


def make_config(request: Mapping[str, Any], limits: Limits) -> GrowthConfig:
    """Return the configuration of a run; options missing from the request have their defaults."""
    from creases.growth import GrowthConfig  # with torch, which the process that serves pages does not need
    from creases.growth.methods import METHODS

    how = check_text(request.get("how", GrowthConfig.how), "how", 40)
    if how not in METHODS:
        raise InputError("how", f"be one of {', '.join(METHODS)}", repr(how))
    options: dict[str, Any] = {"how": how}
    if "where" in request:
        options["where"] = check_text(request["where"], "where", 40)
    if "when" in request:
        when = str(request["when"])[:40]
        options["when"] = int(when) if when.isdecimal() else when
    if request.get("hidden", "auto") != "auto":
        options["hidden"] = _check_widths(request["hidden"], limits)
    if "seed" in request:
        options["seed"] = check_integer(request["seed"], "seed", 0, 2**31 - 1)
    if "lr" in request:
        options["lr"] = check_real(request["lr"], "lr", 1e-9, 10.0)
    if request.get("batch", "auto") != "auto":
        options["batch_size"] = check_integer(request["batch"], "batch_size", 1, limits.rows)
    if "epochs" in request:
        options["budget"] = check_integer(request["epochs"], "budget", 1, limits.epochs)
    return GrowthConfig(**options)


def _check_widths(widths: Any, limits: Limits) -> tuple[int, ...]:
    """Return the widths of the hidden layers; refuse too many layers or units."""
    if not isinstance(widths, list) or not 1 <= len(widths) <= limits.layers:
        raise InputError("hidden", f"be auto, or 1 to {limits.layers} widths such as 2 or 4,4")
    valid = tuple(check_integer(width, "hidden", 1, limits.units) for width in widths)
    if sum(valid) > limits.units:
        raise InputError("hidden", f"have at most {limits.units} units", f"{sum(valid)}")
    return valid


# The problems, growth methods and policies that a page offers, with their labels.

_PROBLEMS = {
    "xor_circles": "Disc and ring, by quadrant",
    "moons": "Two moons",
    "spirals": "Two spirals",
    "circle_annulus": "Disc inside a ring",
    "circle": "Inside a circle",
    "sine": "Above a sine wave",
    "quadratic": "Above a parabola",
    "overlapping_quadratic": "Above a parabola, overlapping",
    "xor": "XOR",
    "shells": "Two shells",
    "sine_curve": "Sine curve (one input)",
    "quadratic_curve": "Parabola (one input)",
    "cubic_curve": "Cubic (one input)",
    "chirp_curve": "Chirp (one input)",
    "arctan_curve": "Arctangent (one input)",
    "sawtooth_curve": "Sawtooth (one input)",
    "iris": "Iris (four inputs)",
    "diabetes": "Diabetes (ten inputs)",
    "wine": "Wine (thirteen inputs)",
    "breast_cancer": "Breast cancer (thirty inputs)",
    "digits": "Digits (64 inputs)",
}
#: All growth methods; not read from :mod:`creases.growth`, which would take seconds to import before a page can open.
_METHODS = {
    "auto": "Auto: fold, or random units for wide layers",
    "fold": "Fold at a typical mistake",
    "tiny": "TINY: best first-order update",
    "gradmax": "GradMax: largest gradient norm",
    "split": "Split a unit",
    "random": "Random units",
}
_WHERE = {"all": "All layers"}
_WHEN = {
    "stages": "Auto: one fold at a time, or in stages",
    "10": "Every 10 epochs",
    "50": "Every 50 epochs",
}


def choices() -> dict[str, list[tuple[str, str]]]:
    """Return values and labels of what a page offers: problems, methods, where and when to grow."""
    known = set(names()) - set(TOO_LARGE)
    labels = {name: label for name, label in _PROBLEMS.items() if name in known}
    return {
        "problems": list((labels | {name: name for name in sorted(known - set(labels))}).items()),
        "methods": list(_METHODS.items()),
        "where": list(_WHERE.items()),
        "when": list(_WHEN.items()),
    }
