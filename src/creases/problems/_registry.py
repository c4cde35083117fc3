"""Built-in problems by name."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from inspect import signature
from typing import Any

from creases._schema import STRING
from creases._validation import check_arguments
from creases.errors import InputError
from creases.problems._curves import TARGETS, curve
from creases.problems._planar import PLANES, moons, overlapping_quadratic, plane_points, spirals
from creases.problems._problem import Problem
from creases.problems._toy import circle_annulus, shells, xor, xor_circles
from creases.problems.images._images import as_problem
from creases.problems.images._readers import cifar10, mnist

# Tables that are part of scikit-learn: nothing is downloaded.


#: By name: what each is, and where it comes from.
_TABLES = {
    "iris": (
        "three iris species, from petal and sepal sizes",
        "R. A. Fisher 1936, The use of multiple measurements in taxonomic problems",
    ),
    "wine": (
        "three wine growers, from chemical analyses of their wines",
        "M. Forina et al. 1991, PARVUS; UCI Machine Learning Repository",
    ),
    "breast_cancer": (
        "malignant or benign tumours, from measurements of cell nuclei",
        "W. H. Wolberg, W. N. Street & O. L. Mangasarian 1995, Breast Cancer Wisconsin (Diagnostic)",
    ),
    "digits": (
        "handwritten digits, 8 x 8 pixels",
        "E. Alpaydin & C. Kaynak 1998, Optical Recognition of Handwritten Digits, test set",
    ),
    "diabetes": (
        "progression of diabetes after one year, from ten measurements per patient",
        "B. Efron, T. Hastie, I. Johnstone & R. Tibshirani 2004, Least Angle Regression",
    ),
}


def _load_table(name: str, *, standardize: bool = False) -> Problem:
    """Load a table of scikit-learn; its numbers are in their own units."""
    from sklearn import datasets  # slow to import, and most problems do without

    description, citation = _TABLES[name]
    bunch = getattr(datasets, f"load_{name}")(**({"scaled": False} if name == "diabetes" else {}))
    classes = tuple(map(str, bunch.target_names)) if "target_names" in bunch else None
    problem = Problem(
        name, bunch.data, bunch.target, tuple(map(str, bunch.feature_names)), classes, description, citation
    )
    return problem.standardized() if standardize else problem


_MAKERS: dict[str, Callable[..., Problem]] = {
    **{name: partial(plane_points, name) for name in PLANES},
    "overlapping_quadratic": overlapping_quadratic,
    "circle_annulus": circle_annulus,
    "xor": xor,
    "xor_circles": xor_circles,
    "moons": moons,
    "spirals": spirals,
    "shells": shells,
    **{f"{target}_curve": partial(curve, target) for target in TARGETS},
    **{name: partial(_load_table, name) for name in _TABLES},
    "mnist": partial(as_problem, mnist),
    "cifar10": partial(as_problem, cifar10),
}


def names() -> tuple[str, ...]:
    """Return the names of the built-in problems, for :func:`get`.

    ``mnist`` and ``cifar10`` need files (see :func:`mnist`); the others need nothing.

    Examples
    --------
    >>> from creases import problems
    >>> "moons" in problems.names()
    True
    """
    return tuple(_MAKERS)


@check_arguments(name=STRING)
def get(name: str, **options: Any) -> Problem:
    """Return the built-in problem of a name.

    Plane     sine, quadratic, circle, overlapping_quadratic, xor, xor_circles, moons, spirals (also ``arms``,
              ``turns``), circle_annulus (also ``radii``): options ``n``, ``seed``, ``noise``, ``standardize``
    Space     shells: the same options, and ``d``, the dimension, and ``radii``
    Curves    sine_curve and others: ``n``, ``seed``, ``noise``, ``spaced``
    Tables    iris, wine, breast_cancer, digits, diabetes: ``standardize``
    Images    mnist, cifar10

    Examples
    --------
    >>> from creases import problems
    >>> problems.get("moons", n=100, noise=0.2)
    <Problem moons: 100 x 2, 2 classes>
    >>> X, y = problems.get("sine_curve")
    """
    make = _MAKERS.get(name.replace("-", "_"))
    if make is None:
        close = get_close_matches(name.replace("-", "_"), _MAKERS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else ""
        raise InputError("name", f"be a built-in problem: {', '.join(_MAKERS)}", repr(name), hint)
    known = [p.name for p in signature(make).parameters.values()]
    unknown = [option for option in options if option not in known]
    if unknown:
        raise InputError(name, f"have the options {', '.join(known)}", repr(unknown[0]))
    return make(**options)
