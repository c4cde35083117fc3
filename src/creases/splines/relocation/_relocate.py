"""Moving the least useful breakpoint to where the residual needs one most."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from creases._typing import Floats
from creases._validation import check_number, check_vector
from creases.errors import InputError
from creases.splines._spline import Shallow


@dataclass(frozen=True)
class Move:
    """One unit's breakpoint taken to another place, and the outgoing weights of all units fitted again."""

    unit: int
    was: float  #: its breakpoint before; NaN where the unit had none (w = 0)
    now: float
    before: float  #: sum of squared errors without the move
    after: float


@dataclass(frozen=True, eq=False)
class RelocationResult:
    """A network whose outgoing weights were fitted and whose bad breakpoints were moved."""

    net: Shallow
    moves: tuple[Move, ...]
    before: float  #: sum of squared errors as given
    after: float


def relocate(
    net: Shallow,
    x: ArrayLike,
    y: ArrayLike,
    *,
    moves: int = 3,
    ridge: float = 1e-5,
    gain: float = 0.01,
    bias: bool = True,
) -> RelocationResult:
    """Fit the outgoing weights, then move bad breakpoints while the error falls, and balance the units' scales.

    A move takes the unit that costs least to lose, ``v_i^2 / (G^-1)_ii`` with G the ridge regression's Gram matrix, to
    the middle between two neighbouring x where a new unit, facing right, gains most: ``(r . phi)^2 / phi' M phi`` with
    M the projection off what the other units span. The new unit has ``|w|`` the median of all. Both formulas are exact
    for the ridge regression's objective. Afterwards every unit is scaled so that ``w^2 + b^2 = v^2``, which leaves the
    function as it is.

    Parameters
    ----------
    net
        Its skip ``c1`` stays as it is.
    x, y
        (N,) data.
    moves
        How many, at most.
    ridge
        Penalty ``ridge N ||v||^2`` of the fit.
    gain
        A move is kept if it lowers the sum of squared errors by this share at least; the first that does not ends it.
    bias
        Whether the output's bias ``c0``, which no penalty falls on, is fitted too.

    Examples
    --------
    >>> import numpy as np
    >>> from creases.splines import Shallow
    >>> from creases.splines.relocation._relocate import relocate
    >>> x = np.linspace(-1, 1, 41)
    >>> net = Shallow(w=[1, -1, 1], b=[0, 0, 5], v=[1, 1, 0])  # |x|; the third unit's breakpoint is off the data
    >>> moved = relocate(net, x, np.abs(x) + np.maximum(x - 0.52, 0))
    >>> [(move.unit, round(move.now, 3)) for move in moved.moves]
    [(2, 0.525)]
    """
    places = check_vector(x, "x")
    data = _Data(places, check_vector(y, "y", len(places)) - net.c1 * places, ridge * max(len(places), 1), bias)
    if not len(places) or net.width == 0:
        raise InputError(f"x, net: expected data and units, got {len(places)} data and {net.width} units")
    if check_number(ridge, "ridge") <= 0 or not 0 <= check_number(gain, "gain") < 1:
        raise InputError(f"ridge, gain: expected ridge > 0 and 0 <= gain < 1, got {ridge} and {gain}")
    before = data.error(net)
    fitted = data.refitted(net)
    net, error = (fitted, data.error(fitted)) if data.error(fitted) < before else (net, before)
    done: list[Move] = []
    while len(done) < moves:
        unit, place = data.worst(fitted), data.wanted(fitted, data.worst(fitted))
        if place is None:
            break
        trial = data.refitted(_moved(fitted, unit, place))
        after = data.error(trial)
        if not after < (1 - gain) * error:
            break
        was = -fitted.b[unit] / fitted.w[unit] if fitted.w[unit] else np.nan
        done.append(Move(unit, float(was), place, error, after))
        net, fitted, error = trial, trial, after
    return RelocationResult(balance_units(net), tuple(done), before, error)


def balance_units(net: Shallow) -> Shallow:
    """The same function with ``w^2 + b^2 = v^2`` for every unit that has both sides of it."""
    norms = np.hypot(net.w, net.b)
    some = (norms > 0) & (net.v != 0)
    scale = np.sqrt(np.abs(net.v), where=some, out=np.ones_like(norms))
    scale = np.divide(scale, np.sqrt(norms), where=some, out=np.ones_like(norms))
    return replace(net, w=net.w * scale, b=net.b * scale, v=net.v / scale)


@dataclass(frozen=True, eq=False)
class _Data:
    """Data (N,) and how outgoing weights are fitted to them."""

    x: Floats
    y: Floats  #: without the skip's part
    penalty: float
    bias: bool

    def features(self, net: Shallow) -> Floats:
        """What the units give, (N, H), less its mean where a bias takes that up."""
        z = self.x[:, None] * net.w + net.b
        return self.free(np.where(z > 0, z, net.leak * z))

    def free(self, values: Floats) -> Floats:
        """Values (N, ...) less what a bias takes up."""
        return values - values.mean(axis=0) if self.bias else values

    def target(self, net: Shallow) -> Floats:
        """What the units are fitted to, (N,)."""
        return self.free(self.y) if self.bias else self.y - net.c0

    def error(self, net: Shallow) -> float:
        """Sum of squared errors."""
        return float(((replace(net, c1=0.0)(self.x) - self.y) ** 2).sum())

    def gram(self, features: Floats) -> Floats:
        """Of features (N, H), with the penalty: (H, H)."""
        return np.asarray(features.T @ features + self.penalty * np.eye(features.shape[1]))

    def refitted(self, net: Shallow) -> Shallow:
        """The network with the ridge regression's outgoing weights."""
        features = self.features(net)
        v = cho_solve(cho_factor(self.gram(features)), features.T @ self.target(net))
        fitted = replace(net, v=v)
        if not self.bias:
            return fitted
        return replace(fitted, c0=net.c0 + float((self.y - replace(fitted, c1=0.0)(self.x)).mean()))

    def worst(self, net: Shallow) -> int:
        """The unit that costs least to lose."""
        inverse = cho_solve(cho_factor(self.gram(self.features(net))), np.eye(net.width))
        return int(np.argmin(net.v**2 / np.diag(inverse)))

    def wanted(self, net: Shallow, gone: int) -> float | None:
        """The middle between data where a unit gains most in place of another; None where there is no middle."""
        distinct = np.unique(self.x)
        middles = distinct[:-1] + np.diff(distinct) / 2
        if not len(middles):
            return None
        size = _usual(net)
        z = size * (self.x[:, None] - middles)
        new = self.free(np.where(z > 0, z, net.leak[gone] * z))  # (N, middles)
        others = np.delete(self.features(net), gone, axis=1)
        off = new - others @ cho_solve(cho_factor(self.gram(others)), others.T @ new)
        gains = (self.target(net) @ off) ** 2 / ((new * off).sum(axis=0) + self.penalty)
        return float(middles[np.argmax(gains)])


def _moved(net: Shallow, unit: int, place: float) -> Shallow:
    """The network with one unit facing right from a place."""
    w, b = net.w.copy(), net.b.copy()
    w[unit] = _usual(net)
    b[unit] = -w[unit] * place
    return replace(net, w=w, b=b)


def _usual(net: Shallow) -> float:
    """Median |w| of the units that have a breakpoint."""
    sizes = np.abs(net.w[net.w != 0])
    return float(np.median(sizes)) if len(sizes) else 1.0
