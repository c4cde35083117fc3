"""Functions of several inputs as integrals of units: the density of units by the inverse dual Radon transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from creases._typing import Floats
from creases._validation import check_choice, check_count, check_number
from creases.errors import InputError
from creases.splines import Hyperplanes

#: From points (n, d) of frequency space to the Fourier transform ``F(k) = integral of f(x) exp(-i k . x)`` (n,).
Transform = Callable[[Floats], ArrayLike]

_NODES = 400  # frequencies of the quadrature


def ridge_coefficients(
    transform: Transform,
    directions: ArrayLike,
    offsets: ArrayLike,
    *,
    activation: Literal["relu", "step"] = "relu",
    cutoff: float = 12.0,
) -> Floats:
    """Return how much of each unit ``phi(xi . x - gamma)`` a function consists of, in any number of inputs.

    With them ``f(x)`` is the integral of ``c(xi, gamma) phi(xi . x - gamma)`` over all directions xi and offsets gamma,
    up to an affine function (a constant for steps)::

        c(xi, gamma) = gamma_d F^-1[ |theta|^(d - 1) L(theta) F(theta xi) ](gamma),    gamma_d = (2 pi)^(1 - d) / 2

    with ``L(theta) = -theta^2`` for ReLU and ``i theta`` for steps: Theorem 2 and Corollaries 4 and 5 of the lecture
    with ``|theta|`` for theta, without which it fails for an even number of inputs. The coefficient of a unit in a
    random network is c divided by the density of units there, see :func:`offset_distribution`.

    Parameters
    ----------
    transform
        The Fourier transform of f, a function of points (n, d); f is real and smooth, and decays.
    directions
        (K, d) unit vectors.
    offsets
        (M,) distances of creases from the origin.
    cutoff
        Frequencies above it are left out.

    Returns
    -------
    (K, M) array

    Examples
    --------
    >>> import numpy as np
    >>> from creases_reproduction.splines.theory import ridge_coefficients
    >>> def transform(k):  # of exp(-|x|^2 / 2) of three inputs
    ...     return (2 * np.pi) ** 1.5 * np.exp(-(k**2).sum(axis=1) / 2)
    >>> c = ridge_coefficients(transform, [[0.0, 0.0, 1.0]], [0.0])
    >>> bool(np.isclose(c[0, 0], -3 / (4 * np.pi)))
    True
    """
    check_choice(activation, ("relu", "step"), "activation")
    xi, gamma = np.atleast_2d(np.asarray(directions, float)), np.asarray(offsets, float).reshape(-1)
    if not np.allclose(np.linalg.norm(xi, axis=1), 1.0):
        raise InputError("directions", "be unit vectors", f"lengths {np.linalg.norm(xi, axis=1)[:3].round(3).tolist()}")
    d = xi.shape[1]
    theta, weights, F = _along_rays(transform, xi, cutoff)
    symbol = -(theta**2) if activation == "relu" else 1j * theta
    # a real function: the integral over negative frequencies is the complex conjugate of that over positive ones
    waves = np.exp(1j * np.outer(theta, gamma))  # (nodes, M)
    return np.asarray(((F * (weights * theta ** (d - 1) * symbol)) @ waves).real / (2 * np.pi) ** d)


def ridge_network(
    transform: Transform,
    n_inputs: Literal[2, 3],
    *,
    radius: float = 4.0,
    n_directions: int = 32,
    n_offsets: int = 2001,
    cutoff: float = 12.0,
) -> Hyperplanes:
    """Return a finite ReLU network that approximates a function by :func:`ridge_coefficients`.

    Parameters
    ----------
    transform
        The Fourier transform of f, as there.
    n_inputs
        2 or 3.
    radius
        Inputs up to this distance from the origin are covered: offsets go from ``-radius`` to ``radius``. Units beyond
        do not bend there; their sum is affine, and is known from the value and the gradient of f at the origin.
    n_directions
        On the circle; on the sphere half as many circles of latitude with so many directions each.
    n_offsets
        For each direction, equally spaced. The error falls with the square of their distance.
    cutoff
        Frequencies above it are left out.

    Returns
    -------
    Hyperplanes
        With ``n_directions * n_offsets`` units for two inputs. ``splines.to_module`` makes a torch module of it.

    Examples
    --------
    >>> import numpy as np
    >>> from creases_reproduction.splines.theory import ridge_network
    >>> network = ridge_network(lambda k: 2 * np.pi * np.exp(-(k**2).sum(axis=1) / 2), 2)
    >>> bool(abs(network([[1.0, 0.5]])[0] - np.exp(-0.625)) < 1e-5)
    True
    """
    xi, area = _sphere(n_inputs, n_directions)
    gamma = np.linspace(-radius, radius, n_offsets)
    mu = ridge_coefficients(transform, xi, gamma, cutoff=cutoff) * (area * (gamma[1] - gamma[0]))[:, None]
    mu[:, [0, -1]] /= 2  # the trapezoidal rule
    value, gradient = _at_origin(transform, xi, area, cutoff)
    active = np.where(gamma < 0, 1.0, np.where(gamma == 0, 0.5, 0.0))
    o0 = value - float((mu @ np.maximum(-gamma, 0.0)).sum())
    planes = np.repeat(xi, n_offsets, axis=0), np.tile(gamma, len(xi)), mu.reshape(-1)
    return Hyperplanes(o0, gradient - (mu @ active) @ xi, *planes)


def offset_distribution(n_inputs: int, sigma_w: float = 1.0, sigma_b: float = 1.0) -> stats.distributions.rv_frozen:
    """Return the distribution of a unit's offset ``-b / |w|`` for independent normal weights and biases.

    It is that of Student's t with ``n_inputs`` degrees of freedom, times ``sigma_b / (sigma_w sqrt(n_inputs))``; in one
    dimension the Cauchy distribution. Its direction is uniform on the sphere and independent of it.

    Examples
    --------
    >>> from creases_reproduction.splines.theory import offset_distribution
    >>> float(offset_distribution(1).cdf(1.0))
    0.75
    """
    check_count(n_inputs, "n_inputs")
    ratio = check_number(sigma_b, "sigma_b", above=0) / check_number(sigma_w, "sigma_w", above=0)
    return stats.t(n_inputs, scale=ratio / np.sqrt(n_inputs))


def _sphere(d: int, count: int) -> tuple[Floats, Floats]:
    """Return directions (K, d) and the area that each stands for."""
    angles = 2 * np.pi * np.arange(count) / count
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if d == 2:
        return circle, np.full(count, 2 * np.pi / count)
    if d != 3:
        raise InputError("n_inputs", "be 2 or 3", str(d), "ridge_coefficients takes any number")
    height, weights = np.polynomial.legendre.leggauss(count // 2)
    around = np.sqrt(1 - height**2)
    xi = np.concatenate([np.column_stack([r * circle, np.full(count, z)]) for r, z in zip(around, height, strict=True)])
    return xi, np.repeat(weights, count) * 2 * np.pi / count


def _at_origin(transform: Transform, xi: Floats, area: Floats, cutoff: float) -> tuple[float, Floats]:
    """Return f(0) and its gradient there, integrals of the Fourier transform."""
    d = xi.shape[1]
    theta, weights, F = _along_rays(transform, xi, cutoff)
    value = area @ (F @ (weights * theta ** (d - 1))).real
    slope = (area * (F @ (weights * theta**d * 1j)).real) @ xi
    return float(value) / (2 * np.pi) ** d, np.asarray(slope / (2 * np.pi) ** d)


def _along_rays(transform: Transform, xi: Floats, cutoff: float) -> tuple[Floats, Floats, NDArray[np.complex128]]:
    """Return frequencies (n,), their weights (n,) in an integral from 0 to the cutoff, and F(theta xi) (K, n)."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    theta = cutoff * (nodes + 1) / 2
    points = (theta[None, :, None] * xi[:, None]).reshape(-1, xi.shape[1])
    values = np.asarray(transform(points), np.complex128)
    if values.shape != (len(points),):
        raise InputError("transform", f"return one value for each of {len(points)} points", f"shape {values.shape}")
    return theta, cutoff * weights / 2, values.reshape(len(xi), _NODES)
