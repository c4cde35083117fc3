"""Functions of one input to fit on [-3, 3], from the lecture "Understanding Neural Nets as Splines"."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from creases._schema import BOOL, STRING
from creases._typing import Floats
from creases._validation import check_arguments, check_count, check_number
from creases.errors import InputError
from creases.problems._planar import Seed, generator
from creases.problems._problem import Problem
from creases.problems._problem import standardize as to_standard

#: The interval of every curve.
INTERVAL = (-3.0, 3.0)

#: Functions of one input by name, elementwise on arrays, and their formulas. The lecture does not define its sawtooth:
#: here it has period 2, rises from -1 to 1 and jumps at the odd numbers.
_CURVES: dict[str, tuple[Callable[[Floats], Floats], str]] = {
    "sine": (lambda x: np.sin(2 * x), "sin 2x"),
    "quadratic": (lambda x: x**2 / 2, "x^2 / 2"),
    "cubic": (lambda x: x**3, "x^3"),
    "chirp": (lambda x: np.sin(x**2 / 2), "sin(x^2 / 2)"),
    "arctan": (lambda x: np.arctan(x), "arctan x"),
    "sawtooth": (lambda x: x - 2 * np.floor((x + 1) / 2), "x - 2 floor((x + 1) / 2)"),
}
TARGETS: dict[str, Callable[[Floats], Floats]] = {name: function for name, (function, _) in _CURVES.items()}


@check_arguments(target=STRING, spaced=BOOL)
def curve(
    target: str = "sine",
    *,
    n: int = 60,
    seed: Seed = 0,
    noise: float = 0.0,
    spaced: bool = False,
    standardize: bool = False,
) -> Problem:
    """Make a regression problem of a function of one input at n points of [-3, 3], in increasing order.

    Parameters
    ----------
    target
        ``"sine"`` (sin 2x), ``"quadratic"`` (x^2 / 2), ``"cubic"`` (x^3), ``"chirp"`` (sin(x^2 / 2)), ``"arctan"`` or
        ``"sawtooth"``: a name in ``TARGETS``.
    n
        Number of points.
    seed
        A seed, or a generator.
    noise
        Standard deviation of the noise added to y.
    spaced
        Points at equal distances, both ends included, instead of uniformly at random.
    standardize
        Bring x to mean 0 and standard deviation 1; y stays.

    Examples
    --------
    >>> from creases.problems import curve
    >>> curve("quadratic", n=3, spaced=True).y
    array([4.5, 0. , 4.5])
    """
    if target not in TARGETS:
        raise InputError("target", f"be a curve: {', '.join(TARGETS)}", repr(target))
    count, noise, rng = check_count(n, "n"), check_number(noise, "noise", least=0), generator(seed)
    x = np.linspace(*INTERVAL, count) if spaced else np.sort(rng.uniform(*INTERVAL, count))
    y = TARGETS[target](x)
    if noise > 0:
        y = y + rng.normal(0.0, noise, count)
    X = x[:, None]
    return Problem(
        name=f"{target}_curve",
        X=to_standard(X) if standardize else X,
        y=y,
        features=("x",),
        description=f"y = {_CURVES[target][1]} on [-3, 3]",
        citation="Understanding Neural Nets as Splines (lecture)",
    )
