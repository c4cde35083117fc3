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
from creases.problems._planar import circle, moons, overlapping_quadratic, quadratic, sine, spirals
from creases.problems._problem import Problem
from creases.problems._toy import circle_annulus, shells, xor, xor_circles
from creases.problems.images._cifar10 import cifar10
from creases.problems.images._images import as_problem
from creases.problems.images._mnist import mnist

# Tables that are part of scikit-learn: nothing is downloaded.


def iris(*, standardize: bool = False) -> Problem:
    """Load three species of iris, 150 flowers with 4 lengths each.

    Examples
    --------
    >>> iris().classes
    ('setosa', 'versicolor', 'virginica')
    """
    citation = "R. A. Fisher 1936, The use of multiple measurements in taxonomic problems"
    return _load("iris", "three iris species, from petal and sepal sizes", citation, standardize)


def wine(*, standardize: bool = False) -> Problem:
    """Load wines of three growers, 178 with 13 chemical measurements each.

    Examples
    --------
    >>> wine()
    <Problem wine: 178 x 13, 3 classes>
    """
    citation = "M. Forina et al. 1991, PARVUS; UCI Machine Learning Repository"
    return _load("wine", "three wine growers, from chemical analyses of their wines", citation, standardize)


def breast_cancer(*, standardize: bool = False) -> Problem:
    """Load malignant and benign tumours, 569 with 30 measurements of cell nuclei each.

    Examples
    --------
    >>> breast_cancer().classes
    ('malignant', 'benign')
    """
    citation = "W. H. Wolberg, W. N. Street & O. L. Mangasarian 1995, Breast Cancer Wisconsin (Diagnostic)"
    return _load(
        "breast_cancer", "malignant or benign tumours, from measurements of cell nuclei", citation, standardize
    )


def digits(*, standardize: bool = False) -> Problem:
    """Load handwritten digits, 1797 of 8 x 8 pixels with values 0 .. 16.

    Examples
    --------
    >>> digits()
    <Problem digits: 1797 x 64, 10 classes>
    """
    citation = "E. Alpaydin & C. Kaynak 1998, Optical Recognition of Handwritten Digits, test set"
    return _load("digits", "handwritten digits, 8 x 8 pixels", citation, standardize)


def diabetes(*, standardize: bool = False) -> Problem:
    """Load the progression of diabetes after a year, 442 patients with 10 measurements each: a regression.

    The measures are in their own units (scikit-learn's ``scaled=False``).

    Examples
    --------
    >>> diabetes()
    <Problem diabetes: 442 x 10, regression>
    """
    citation = "B. Efron, T. Hastie, I. Johnstone & R. Tibshirani 2004, Least Angle Regression"
    description = "progression of diabetes after one year, from ten measurements per patient"
    return _load("diabetes", description, citation, standardize, scaled=False)


def _load(name: str, description: str, citation: str, standardize: bool, **options: Any) -> Problem:
    from sklearn import datasets  # slow to import, and most problems do without

    bunch = getattr(datasets, f"load_{name}")(**options)
    problem = Problem(
        name=name,
        X=bunch.data,
        y=bunch.target,
        features=tuple(str(feature) for feature in bunch.feature_names),
        classes=tuple(str(c) for c in bunch.target_names) if "target_names" in bunch else None,
        description=description,
        citation=citation,
    )
    return problem.standardized() if standardize else problem


_MAKERS: dict[str, Callable[..., Problem]] = {
    "sine": sine,
    "quadratic": quadratic,
    "circle": circle,
    "overlapping_quadratic": overlapping_quadratic,
    "circle_annulus": circle_annulus,
    "xor": xor,
    "xor_circles": xor_circles,
    "moons": moons,
    "spirals": spirals,
    "shells": shells,
    **{f"{target}_curve": partial(curve, target) for target in TARGETS},
    "iris": iris,
    "wine": wine,
    "breast_cancer": breast_cancer,
    "digits": digits,
    "diabetes": diabetes,
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
