"""The smallest networks around a ball: one hidden layer of n + 1 units, and the polytopes they enclose.

Fewer units bound nothing; with n + 1 the zero set can be a hyperoctahedron (a square, an octahedron) or an expanded
simplex (a hexagon, a cuboctahedron): the dissertation, section 4.1 [1]_. This module has the weights of both in their
most regular form, with circumradius 1, and formulas for their shape. With y_i = u_i x the expanded simplex is the
section ``sum y = 0`` of the hyperoctahedron ``|y|_1 <= sqrt(2 (n + 1) / n)`` one dimension up.

From three dimensions on there are others, which the dissertation does not mention. Scaled by positive numbers, the
n + 1 units' pre-activations have a constant sum, ``sum y = beta`` (else nothing is bounded), and
``f = sum w_i relu(y_i) - t`` with all w_i > 0. For ``beta > 0`` the enclosed set depends on how many weights are small,
``w_i < t / beta``: one makes a hyperoctahedron, n + 1 (or ``beta <= 0``) an expanded simplex, and every number in
between another polytope: :func:`intermediate_polytope` builds its network, :func:`face_counts` counts its vertices and
facets.

References
----------
.. [1] Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State University, 2026.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product
from math import comb, exp, lgamma, log, pi, sqrt
from typing import Literal

import numpy as np
import torch
from torch import nn

from creases._typing import Floats
from creases._validation import check_choice, check_count, check_number
from creases.errors import InputError

Kind = Literal["hyperoctahedron", "expanded simplex"]


@dataclass(frozen=True, eq=False)
class Enclosure:
    """A polytope around the origin that n + 1 units can enclose, with circumradius 1."""

    kind: Kind
    n: int  #: dimension
    inner_radius: float  #: of the largest ball inside
    f_vector: tuple[int, ...]  #: number of faces of dimension 0 (vertices), ..., n - 1 (facets)
    volume: float

    @property
    def ratio(self) -> float:
        """Circumradius over inner radius: how far out a shell must begin to be separable from the ball inside."""
        return 1 / self.inner_radius

    def vertices(self) -> Floats:
        """Return all vertices (V, n)."""
        if self.kind == "hyperoctahedron":
            return np.vstack([np.eye(self.n), -np.eye(self.n)])
        u = simplex_directions(self.n)
        first, last = np.array(list(permutations(range(self.n + 1), 2))).T
        return np.asarray((u[first] - u[last]) * sqrt(self.n / (2 * (self.n + 1))))

    def facets(self) -> tuple[Floats, Floats]:
        """Return outward unit normals (F, n) and distances (F,) of all facets: ``normals @ x <= distances``."""
        if self.kind == "hyperoctahedron":
            normals = np.array(list(product((-1.0, 1.0), repeat=self.n)))
        else:  # one for every choice of units that is neither none nor all
            normals = np.array(list(product((0.0, 1.0), repeat=self.n + 1)))[1:-1] @ simplex_directions(self.n)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        return normals, (normals @ self.vertices().T).max(axis=1)


def hyperoctahedron(n: int, *, C: float = 2.0, leak: float = 0.0) -> nn.Sequential:
    """Build a network of n + 1 units that is negative within ``|x|_1 < 1`` and positive beyond.

    ``f = 2 sum relu(x_i) + relu(C - sum x) - (C + 1)``: the crease of the last unit misses the polytope, and the unit
    makes the function decrease where all others are off. With a leak a the weights 2 and 1 become 2 / (1 - a) and
    (1 + a) / (1 - a), and the zero set is the same.

    Parameters
    ----------
    n
        Number of inputs.
    C
        Above 1; ``C / sqrt(n)`` is the distance of the last crease.
    leak
        Slope of the bends on their negative side, in [0, 1).

    Examples
    --------
    >>> import torch
    >>> from creases_reproduction.linearity.enclosures import hyperoctahedron
    >>> f = hyperoctahedron(2)
    >>> f(torch.tensor([[0.0, 0.0], [0.5, 0.5], [0.0, -2.0]], dtype=torch.float64)).flatten().tolist()
    [-1.0, 0.0, 1.0]
    """
    n, leak, C = check_count(n, "n"), check_number(leak, "leak", least=0, below=1), check_number(C, "C", above=1)
    last = (1 + leak) / (1 - leak)
    return _shallow_network(
        np.vstack([np.eye(n), -np.ones(n)]),
        np.append(np.zeros(n), C),
        np.append(np.full(n, 2 / (1 - leak)), last),
        -last * C - 1,
        leak,
    )


def expanded_simplex(n: int, *, leak: float = 0.0) -> nn.Sequential:
    """Build a network of n + 1 units that is negative within the expanded simplex of circumradius 1, positive beyond.

    ``f = sum relu(u_i x) - sqrt((n + 1) / (2 n))``, u_i the directions of :func:`simplex_directions`; as they sum to 0,
    leaky bends only scale the sum by 1 - leak, and the weights by its inverse.

    Examples
    --------
    >>> import torch
    >>> from creases_reproduction.linearity.enclosures import expanded_simplex
    >>> f = expanded_simplex(3, leak=0.1)
    >>> [round(f(torch.tensor([r, 0.0, 0.0], dtype=torch.float64)).item(), 3) for r in (0.0, 2.0)]
    [-0.816, 0.816]
    """
    n, leak = check_count(n, "n"), check_number(leak, "leak", least=0, below=1)
    return _shallow_network(
        simplex_directions(n),
        np.zeros(n + 1),
        np.full(n + 1, 1 / (1 - leak)),
        -sqrt((n + 1) / (2 * n)),
        leak,
    )


def intermediate_polytope(n: int, small: int, *, C: float = 2.0) -> nn.Sequential:
    """Build a network of n + 1 units with some small weights, whose negative set has the :func:`face_counts`.

    ``f = sum w_i relu(x_i) + relu(C - sum x) - (C + 1)`` with small - 1 weights w_i of 1 and the others 2; one small
    weight is :func:`hyperoctahedron`.

    Parameters
    ----------
    n
        Number of inputs.
    small
        Number of units with small weights, from 1 to n + 1.
    C
        Above 1.
    """
    n = check_count(n, "n")
    _check_small(small, n)
    weights = np.where(np.arange(n + 1) < n + 1 - small, 2.0, 1.0)
    offsets = np.append(np.zeros(n), check_number(C, "C", above=1))
    return _shallow_network(np.vstack([np.eye(n), -np.ones(n)]), offsets, weights, -C - 1, 0.0)


def face_counts(n: int, small: int) -> tuple[int, int]:
    """Return the numbers of vertices and facets that n + 1 units enclose when ``small`` of them have small weights.

    A vertex is on all creases but two: y_i > 0 > y_j with w_i small, or both positive with one small; a facet has
    the units of a set on, with a small one among them.

    Examples
    --------
    >>> from creases_reproduction.linearity.enclosures import face_counts
    >>> [face_counts(3, small) for small in (1, 2, 3, 4)]
    [(6, 8), (10, 12), (12, 14), (12, 14)]
    """
    n = check_count(n, "n")
    _check_small(small, n)
    return small * (2 * n + 1 - small), 2 ** (n + 1) - 2 ** max(n + 1 - small, 1)


def enclosure(kind: Kind, n: int) -> Enclosure:
    """Return the shape of :func:`hyperoctahedron` or :func:`expanded_simplex`, by formula.

    Examples
    --------
    >>> from creases_reproduction.linearity.enclosures import enclosure
    >>> enclosure("expanded simplex", 3).f_vector, round(enclosure("expanded simplex", 4).inner_radius, 4)
    ((12, 24, 14), 0.6455)
    """
    n = check_count(n, "n")
    check_choice(kind, ["hyperoctahedron", "expanded simplex"], "kind")
    if kind == "hyperoctahedron":
        faces = tuple(2 ** (k + 1) * comb(n, k + 1) for k in range(n))
        return Enclosure(kind, n, 1 / sqrt(n), faces, exp(n * log(2) - lgamma(n + 1)))
    # A face is a product of two simplices: the coordinates y that are positive on it and those that are negative.
    faces = tuple(comb(n + 1, k + 2) * (2 ** (k + 2) - 2) for k in range(n))
    # comb(2n, n) unimodular simplices of the root lattice, whose cells have volume sqrt(n + 1) and roots length sqrt 2.
    log_volume = lgamma(2 * n + 1) - 3 * lgamma(n + 1) + 0.5 * log(n + 1) - n / 2 * log(2)
    return Enclosure(kind, n, facet_distance((n + 1) // 2, n), faces, exp(log_volume))


def facet_distance(k: int, n: int) -> float:
    """Return the distance d(k, n) from the center of an expanded simplex to a facet with k units on (eq. 4.6).

    The circumradius is 1. The nearest facet has half of the n + 1 units on: its distance is ``sqrt(2 / (n + 1))`` for
    odd n, ``sqrt(2 (n + 1) / (n (n + 2)))`` for even n (eq. 4.10).
    """
    if not 1 <= k <= n:
        raise InputError("k", f"be a number of active units, from 1 to n = {n}", repr(k))
    return sqrt((n + 1) / (2 * k * (n + 1 - k)))


def shell_volume(n: int, ratio: float) -> float:
    """Return the volume between spheres of radius 1 and ``ratio`` in n dimensions (eqs. 4.14 to 4.16).

    Eq. 4.16 of the dissertation omits the power n of the ratio.
    """
    return exp(n / 2 * log(pi) - lgamma(n / 2 + 1)) * (ratio**n - 1)


def simplex_directions(n: int) -> Floats:
    """Return unit directions (n + 1, n) from the center of a regular simplex to its corners; they sum to 0.

    Examples
    --------
    >>> from creases_reproduction.linearity.enclosures import simplex_directions
    >>> u = simplex_directions(2)
    >>> (u @ u.T).round(12).tolist()
    [[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]]
    """
    n = check_count(n, "n")
    # The corners e_i of a simplex in n + 1 dimensions, in an orthonormal basis of the hyperplane sum = 0 (Helmert).
    k = np.arange(1, n + 1)
    basis = np.where(np.arange(n + 1)[:, None] < k, 1.0, 0.0)
    basis[k, k - 1] = -k
    return np.asarray(basis / np.sqrt(k * (k + 1)) * sqrt((n + 1) / n))


def _shallow_network(W: Floats, b: Floats, v: Floats, c: float, leak: float) -> nn.Sequential:
    """Return ``v bend(W x + b) + c`` as a torch module in float64."""
    bend = nn.LeakyReLU(leak) if leak else nn.ReLU()
    layers = []
    for weight, bias in ((W, b), (v[None], np.array([c]))):
        linear = nn.Linear(weight.shape[1], weight.shape[0], device="meta").to_empty(device="cpu").double()
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(weight))
            linear.bias.copy_(torch.from_numpy(bias))
        layers.append(linear)
    return nn.Sequential(layers[0], bend, layers[1])


def _check_small(small: int, n: int) -> None:
    if not 1 <= small <= n + 1:
        raise InputError("small", f"be a number of units with small weights, from 1 to n + 1 = {n + 1}", repr(small))
