"""Convert torch modules to splines and back, exactly.

Every conversion is the algebra of one unit, ``v phi(w x + b) = mu (x - beta) [s (x - beta) > 0]`` plus what a leak adds
to the linear part, so nothing is fitted and errors are rounding errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from creases._schema import BOOL, instance
from creases._text import OneLine
from creases._typing import Floats
from creases._validation import check_arguments, check_choice, check_points
from creases.errors import InputError
from creases.network import as_network
from creases.splines._coefficients import coefficients
from creases.splines._spline import Pieces, Shallow, Spline

# Shallow networks of several inputs as sums of hinges on hyperplanes.


@dataclass(frozen=True, eq=False, repr=False)
class Hyperplanes(OneLine):
    """The function ``f(x) = o0 + o . x + sum_i mu_i (xi_i . x - gamma_i)_+`` of d inputs.

    The crease of unit i is the hyperplane ``xi_i . x = gamma_i``. In one dimension ``gamma = s beta``, and mu is the
    slope change ``|w| v``, which is s times the delta-slope of a ``Spline``.
    """

    o0: float  #: constant of the linear part
    o: Floats  #: (d,) slope of the linear part
    xi: Floats  #: (H, d) unit normals, towards the active side
    gamma: Floats  #: (H,) distance of the crease from 0 along the normal
    mu: Floats  #: (H,) change of the slope along the normal, ``(1 - leak) |w| v``

    def __call__(self, x: ArrayLike) -> Floats:
        """Return the values (n,) at points x (n, d); a single point (d,) is a batch of one."""
        points = check_points(x, len(self.o), "x")
        return np.asarray(self.o0 + points @ self.o + np.maximum(points @ self.xi.T - self.gamma, 0.0) @ self.mu)


def to_hyperplanes(model: Any) -> Hyperplanes:
    """Return the creases of a network with one output and one level of bends, of any number of inputs.

    Parameters
    ----------
    model
        A network, a torch module or a file name, as in :func:`creases.splines.from_module`. Units without a crease
        (zero weights) are added to the linear part.

    Examples
    --------
    >>> from creases.splines import to_hyperplanes
    >>> planes = to_hyperplanes([([[3.0, 4.0]], [10.0]), ([[2.0]], [0.0])])  # 2 relu(3 x + 4 y + 10)
    >>> planes.xi.tolist(), planes.gamma.tolist(), planes.mu.tolist()
    ([[0.6, 0.8]], [-2.0], [10.0])
    """
    W, b, v, c0, c, leak = coefficients(as_network(model))
    length = _row_lengths(W)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gamma, mu = -b / length + 0.0, (1 - leak) * length * v
        bent = np.isfinite(gamma)
        slope = v * np.where(bent | (b <= 0), leak, 1.0)
        o0, o = c0 + (slope * b).sum(), c + slope @ W
    if not np.isfinite([o0, *o, *mu[bent]]).all():
        raise InputError("model", "have weights whose products fit into float64", hint="scale the network down")
    return Hyperplanes(float(o0), o, W[bent] / length[bent, None], gamma[bent], mu[bent])


def _row_lengths(W: Floats) -> Floats:
    """Return the Euclidean lengths (H,) of rows, even if their squares over- or underflow."""
    largest = np.abs(W).max(axis=1, initial=0.0)
    scaled = W / np.where(largest > 0, largest, 1.0)[:, None]
    return np.asarray(largest * np.linalg.norm(scaled, axis=1))


Gauge = Literal["unit", "balanced"]


def from_module(model: Any) -> Shallow:
    """Return the weights of a network with one input, one output and one level of bends.

    Parameters
    ----------
    model
        A network, a torch module or a file name. Its bends may be ReLU, leaky ReLU, PReLU, abs and clamps (two units
        each); linear paths around them become the skip ``c1``.

    Examples
    --------
    >>> import torch
    >>> from creases.splines import from_module
    >>> model = torch.nn.Sequential(torch.nn.Linear(1, 5), torch.nn.LeakyReLU(0.1), torch.nn.Linear(5, 1))
    >>> from_module(model).width
    5
    """
    net = as_network(model)
    if net.n_in != 1:
        raise InputError("model", "have one input", str(net.n_in), "use splines.to_hyperplanes for several inputs")
    W, b, v, c0, c, leak = coefficients(net)
    return Shallow(W[:, 0], b, v, c0, float(c[0]), leak)


def to_module(function: Shallow | Hyperplanes, *, dtype: torch.dtype = torch.float64) -> nn.Module:
    """Return a trainable torch module with the given weights; hyperplanes get weights of length 1.

    The module is ``Sequential(Linear, bend, Linear)``, with a linear layer beside it if there is a skip, and that layer
    alone if there are no units. The bend is ReLU, LeakyReLU or, for units with different leaks, PReLU.
    """
    if isinstance(function, Hyperplanes):
        W, b, v, leak = function.xi, -function.gamma, function.mu, np.zeros(len(function.mu))
        c0, c = function.o0, function.o[None]
    elif isinstance(function, Shallow):
        W, b, v, leak = function.w[:, None], function.b, function.v, function.leak
        c0, c = function.c0, np.array([[function.c1]])
    else:
        raise InputError(
            "function",
            "be Shallow or Hyperplanes",
            type(function).__name__,
            "use splines.to_shallow for a Spline first",
        )
    if not len(v):
        return linear_layer(c, [c0], dtype)
    body = nn.Sequential(linear_layer(W, b, dtype), _bend(leak, dtype), linear_layer(v[None], [c0], dtype))
    return WithSkip(body, linear_layer(c, None, dtype)) if c.any() else body


class WithSkip(nn.Module):
    """The sum of two modules, ``body(x) + skip(x)``."""

    def __init__(self, body: nn.Module, skip: nn.Module) -> None:
        super().__init__()
        self.body, self.skip = body, skip

    def forward(self, x: Tensor) -> Tensor:
        """Return the values (n, 1) at x (n, d)."""
        out: Tensor = self.body(x) + self.skip(x)
        return out


@check_arguments(shallow=instance("Shallow"))
def to_spline(shallow: Shallow) -> Spline:
    """Return the breakpoints ``-b/w``, delta-slopes ``(1 - leak) w v``, orientations ``sign w`` and linear part.

    A unit without a breakpoint (w = 0, or so small that ``b/w`` overflows) is affine and is added to the linear part;
    one with v = 0 is kept, with delta-slope 0.
    """
    w, b, v, leak = shallow.w, shallow.b, shallow.v, shallow.leak
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        beta = -b / w + 0.0  # no -0.0
        mu = (1 - leak) * w * v
        bent = np.isfinite(beta)
        slope = np.where(bent | (b <= 0), leak, 1.0)  # of what each unit adds to the linear part
        o0, o1 = shallow.c0 + (slope * v * b).sum(), shallow.c1 + (slope * v * w).sum()
    if not np.isfinite([o0, o1, *mu[bent]]).all():
        raise InputError("shallow", "have weights whose products fit into float64", hint="scale the network down")
    return Spline(float(o0), float(o1), beta[bent], mu[bent], np.sign(w[bent]))


@check_arguments(skip=BOOL)
def to_shallow(spline: Spline | Pieces, gauge: Gauge = "unit", *, skip: bool = True) -> Shallow:
    """Return a ReLU network that computes a spline.

    Parameters
    ----------
    spline
        A spline, or pieces: these get one unit per knot, active on the side away from 0.
    gauge
        How a delta-slope is split into w and v, which does not change the function. ``"unit"``: |w| = 1.
        ``"balanced"``: ``w^2 + b^2 = v^2``, which gradient flow preserves; a unit without a jump becomes w = b = v = 0.
    skip
        Whether the network may have a linear skip c1. If not, a linear part is represented by a second unit, of the
        other orientation, at the breakpoint nearest to 0; a function without breakpoints gets two units at 0.
    """
    if not isinstance(spline, Spline | Pieces):
        raise InputError("spline", "be a Spline or Pieces", type(spline).__name__)
    check_choice(gauge, get_args(Gauge), "gauge")
    form = spline.spline() if isinstance(spline, Pieces) else spline
    if not skip:
        form = _without_skip(form)
    w = form.s * (np.sqrt(np.abs(form.mu) / np.hypot(1.0, form.beta)) if gauge == "balanced" else 1.0)
    v = np.divide(form.mu, w, out=np.zeros(len(w)), where=w != 0)
    return Shallow(w, -form.beta * w + 0.0, v, form.o0, form.o1)


def _without_skip(form: Spline) -> Spline:
    """Replace the slope o1 by two units: ``o1 x = o1 beta + o1 (x - beta) [x > beta] + o1 (x - beta) [x < beta]``."""
    if form.o1 == 0:
        return form
    o1 = form.o1
    if not form.width:
        return Spline(form.o0, 0.0, np.zeros(2), np.full(2, o1), np.array([1.0, -1.0]))
    k = int(np.abs(form.beta).argmin())  # near 0 the constant o1 beta is small
    mu = np.append(form.mu, o1)
    mu[k] += o1
    beta, s = np.append(form.beta, form.beta[k]), np.append(form.s, -form.s[k])
    return Spline(form.o0 + o1 * form.beta[k], 0.0, beta, mu, s)


def linear_layer(weight: Any, bias: Any, dtype: torch.dtype) -> nn.Linear:
    """Return a linear layer with the given weights, and a bias unless it is None."""
    matrix = torch.as_tensor(np.asarray(weight), dtype=dtype)
    layer: nn.Linear = nn.utils.skip_init(  # type: ignore[no-untyped-call]
        nn.Linear, matrix.shape[1], matrix.shape[0], bias=bias is not None, dtype=dtype
    )
    with torch.no_grad():
        layer.weight.copy_(matrix)
        if bias is not None:
            layer.bias.copy_(torch.as_tensor(np.asarray(bias), dtype=dtype))
    return layer


def _bend(leak: Floats, dtype: torch.dtype) -> nn.Module:
    if (leak != leak[0]).any():
        bend = nn.PReLU(len(leak), dtype=dtype)
        with torch.no_grad():
            bend.weight.copy_(torch.as_tensor(leak, dtype=dtype))
        return bend
    return nn.LeakyReLU(float(leak[0])) if leak[0] != 0 else nn.ReLU()
