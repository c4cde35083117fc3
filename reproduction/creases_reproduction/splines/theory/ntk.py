"""The neural tangent kernel of a shallow network, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from creases._typing import Floats
from creases._validation import check_column
from creases.splines import Shallow
from creases_reproduction.splines.theory.residuals import check_overflow, unit_values


def ntk(net: Shallow, x: Any, other: Any = None) -> Floats:
    """Return the neural tangent kernel K (n, n') between inputs x (n,) and ``other`` (n',), by default x itself.

    ``K(x, x') = sum_i v_i^2 a_i a_i' (1 + x x') + sum_i phi_i phi_i' + 1``, plus ``x x'`` if there is a skip (c1 is not
    0): the inner product of the function's gradients in the weights. Under gradient flow of ``1/2 sum e^2`` the
    function changes by ``f' = -K e``.

    Examples
    --------
    >>> ntk(Shallow([1.0], [0.0], [2.0]), [1.0, -1.0])
    array([[10.,  1.],
           [ 1.,  1.]])
    """
    x = check_column(x, "x")
    z = x if other is None else check_column(other, "other")
    (a, phi), (a2, phi2) = unit_values(net, x), unit_values(net, z)
    with np.errstate(over="ignore", invalid="ignore"):
        product = np.multiply.outer(x, z)
        kernel = (a.T @ ((net.v**2)[:, None] * a2)) * (1 + product) + phi.T @ phi2 + 1
        kernel = kernel + product if net.c1 != 0 else kernel
    check_overflow("net", kernel)
    return np.asarray(kernel)
