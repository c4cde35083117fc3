"""Built-in problems by name."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from inspect import signature
from typing import Any

from creases._arguments import check_arguments
from creases._schema import STRING
from creases.errors import InputError
from creases.problems._curves import TARGETS, curve
from creases.problems._planar import circle, moons, overlapping_quadratic, quadratic, sine, spirals
from creases.problems._problem import Problem
from creases.problems._shells import shells
from creases.problems._shipped import breast_cancer, diabetes, digits, iris, wine
from creases.problems._toy import circle_annulus, xor, xor_circles
from creases.problems.images._cifar10 import cifar10
from creases.problems.images._images import as_problem
from creases.problems.images._mnist import mnist

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
