"""A small network as a difference of two max-polynomials, a tropical rational function.

Every output is ``F(x) - G(x)`` with ``F = max_k (a_k x + c_k)`` and G alike, both convex: ``F - G`` is one way to write
any piecewise-linear function. Weighted sums of units are Minkowski sums of terms, so their number grows fast.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import torch
from numpy.typing import NDArray

from creases._program import Step, check_chain
from creases._schema import BOOL
from creases._typing import Floats
from creases._validation import check_arguments, check_count
from creases.errors import InputError
from creases.network import Network, NetworkLike, PointsLike, as_network
from creases.regions._halfspaces import UndecidedError, maximize

#: A term is kept when somewhere it is larger than all others by more than this, in units of the constants' range.
MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class Tropical:
    """For each output two lists of terms (k, d + 1), slopes and a constant; the output is ``max F - max G``."""

    F: tuple[Floats, ...]
    G: tuple[Floats, ...]
    input_shape: tuple[int, ...]
    error: float  #: largest difference to the network at 256 points, relative to the largest F + G there

    @property
    def n_terms(self) -> tuple[tuple[int, int], ...]:
        """Number of terms of F and G of every output."""
        return tuple((len(f), len(g)) for f, g in zip(self.F, self.G, strict=True))

    def evaluate(self, x: PointsLike) -> Floats:
        """Return the outputs (n, m) at points (n, d)."""
        points = Network([], self.input_shape).as_batch(x)[0].to(torch.float64).flatten(1).cpu().numpy()
        return np.stack([_value(f, points) - _value(g, points) for f, g in zip(self.F, self.G, strict=True)], axis=1)


@check_arguments(prune=BOOL)
def tropical(net: NetworkLike, *, prune: bool = True, max_terms: int = 20_000) -> Tropical:
    """Write a small fully connected network as a difference of max-polynomials.

    Sattelberg's dissertation (2026), section 5.4. With pre-activations ``z = W h + b``, ``h = F - G`` and W split into
    positive and negative parts: ``F_z = W+ F + W- G + b`` and ``G_z = W+ G + W- F`` (Minkowski sums of terms); a ReLU
    makes ``(max(F, G), G)``, one with leak a ``((1 - a) max(F, G) + a F, G)``. Terms with equal slopes are one; a term
    is kept when ``max t <= 1  s.t.  (a_k - a_j) x + c_k - c_j >= t`` has t > 1e-9 (HiGHS), in units of the constants'
    range.

    Parameters
    ----------
    net
        A network, torch module or file name: a chain of linear layers and (leaky) ReLUs.
    prune
        Remove terms that are nowhere the largest; without it only terms with equal slopes are merged.
    max_terms
        The most terms that a polynomial may have at any time; more raise an error.

    Examples
    --------
    >>> import creases
    >>> xor = creases.read([([[1.0, 1.0], [1.0, 1.0]], [2.0, 0.0]), ([[1.0, -2.0]], [-1.0])])  # eq. 5.21, b corrected
    >>> creases.tropical(xor).n_terms  # max(-1, 1 + s) - max(0, 2 s), s = x1 + x2
    ((2, 2),)
    """
    net = as_network(net).to(torch.float64)
    max_terms = check_count(max_terms, "max_terms")
    check_chain(net.steps, "net", "other networks have no tropical form here; use line, plane or cell instead")
    d = net.n_in
    F = [np.eye(1, d + 1, i) for i in range(d)]
    G = [np.zeros((1, d + 1)) for _ in range(d)]
    simplify = _Simplifier(prune, max_terms)
    for step in net.steps:
        if step.op == "linear":
            F, G = _linear(step, F, G, simplify)
        else:
            leak = np.broadcast_to(0.0 if step.leak is None else step.leak.cpu().numpy(), step.shape)
            pairs = [_relu(f, g, float(a), simplify) for f, g, a in zip(F, G, leak, strict=True)]
            F, G = [f for f, _ in pairs], [g for _, g in pairs]
    form = Tropical(tuple(F), tuple(G), net.input_shape, 0.0)
    points = np.random.default_rng(0).normal(size=(256, net.n_in)) * 2
    size = np.stack([np.abs(_value(f, points)) + np.abs(_value(g, points)) for f, g in zip(F, G, strict=True)], axis=1)
    largest = size.max(axis=0)
    errors = np.abs(form.evaluate(points) - net(points).reshape(len(points), -1)) / np.where(largest > 0, largest, 1.0)
    return replace(form, error=float(errors.max()))


@dataclass(frozen=True)
class _Simplifier:
    """Keeps polynomials small: merges equal slopes, removes terms that are never the largest."""

    prune: bool
    max_terms: int

    def add(self, p: Floats, q: Floats) -> Floats:
        """Return the terms of the sum of two max-polynomials: all sums of a term of each."""
        if len(p) * len(q) > self.max_terms:
            raise InputError(
                "max_terms",
                f"be at least {len(p) * len(q)} for this network",
                f"{self.max_terms}",
                "raise it, or use a smaller network",
            )
        return self((p[:, None] + q[None]).reshape(-1, p.shape[1]))

    def __call__(self, terms: Floats) -> Floats:
        slopes = terms[:, :-1]
        scale = np.abs(slopes).max(initial=0) or 1.0
        order = np.argsort(-terms[:, -1], kind="stable")
        _, first = np.unique(np.round(slopes[order] / scale, 12) + 0.0, axis=0, return_index=True)
        terms = terms[np.sort(order[first])]  # of terms with equal slopes the one with the largest constant
        return _prune(terms) if self.prune and len(terms) > 1 else terms


def _linear(step: Step, F: list[Floats], G: list[Floats], simplify: _Simplifier) -> tuple[list[Floats], list[Floats]]:
    weight = step.tensors["weight"].cpu().numpy()
    offset = np.zeros(len(weight)) if step.offset is None else np.broadcast_to(step.offset.cpu().numpy(), len(weight))
    above, below = [], []
    for row, b in zip(weight, offset, strict=True):
        zero = np.zeros((1, F[0].shape[1]))
        pairs = [(w, f, g) if w > 0 else (-w, g, f) for w, f, g in zip(row, F, G, strict=True) if w != 0]
        start = zero.copy()
        start[0, -1] = b
        above.append(reduce(simplify.add, [w * f for w, f, _ in pairs], start))
        below.append(reduce(simplify.add, [w * g for w, _, g in pairs], zero))
    return above, below


def _relu(f: Floats, g: Floats, leak: float, simplify: _Simplifier) -> tuple[Floats, Floats]:
    """``z > 0 ? z : leak z`` of ``z = f - g``, with M = max(f, g); the parts keep non-negative weights for any leak."""
    both = simplify(np.vstack([f, g]))
    if leak == 0:
        return both, g
    if leak < 0:  # z + |leak| (...): (1 - leak) M - (g - leak f)
        return (1 - leak) * both, simplify.add(g, -leak * f)
    if leak <= 1:
        return (f if leak == 1 else simplify.add((1 - leak) * both, leak * f)), g
    return leak * f, simplify.add(g, (leak - 1) * both)


def _prune(terms: Floats) -> Floats:
    """Keep terms that are the largest somewhere, by more than MARGIN of the range of their constants."""
    keep, original = np.ones(len(terms), bool), terms
    spread = np.ptp(terms, axis=0)
    terms = (terms - terms.min(axis=0)) / np.where(spread > 0, spread, 1.0)  # other units of x and of values
    for k in np.flatnonzero(~_clearly_largest(terms)):
        keep[k] = False
        others = terms[keep]
        if not len(others):
            keep[k] = True
            continue
        rows = np.column_stack([others[:, :-1] - terms[k, :-1], np.ones(len(others))])
        room = terms[k, -1] - others[:, -1]
        last = np.eye(1, terms.shape[1], terms.shape[1] - 1)
        try:
            margin, _ = maximize(last[0], np.vstack([rows, last]), np.append(room, 1.0))
            keep[k] = margin > MARGIN
        except UndecidedError:  # a term too many changes nothing, one too few might
            keep[k] = True
    return original[keep]


def _clearly_largest(terms: Floats) -> NDArray[np.bool_]:
    """Whether terms are clearly the largest at one of many points: these need no linear program."""
    d = terms.shape[1] - 1
    rng = np.random.default_rng(0)
    points = rng.normal(size=(64 * (d + 1), d)) * np.exp2(rng.integers(-4, 8, size=(64 * (d + 1), 1)))
    values = points @ terms[:, :-1].T + terms[:, -1]  # (points, terms)
    largest = np.zeros(len(terms), bool)
    top = np.partition(values, -2, axis=1)
    clear = top[:, -1] - top[:, -2] > np.maximum(2 * MARGIN, 1e-12 * np.abs(values).max(axis=1))
    largest[values.argmax(axis=1)[clear]] = True
    return largest


def _value(terms: Floats, points: Floats) -> Floats:
    return np.asarray((points @ terms[:, :-1].T + terms[:, -1]).max(axis=1))
