"""Units that are on one side all over a box, each with a tree that shows it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from creases._validation import check_box, check_finite, check_points
from creases.certify._maximize.domain import check_domain
from creases.certify._maximize.objectives import LeastRow
from creases.certify._maximize.search import Limits, open_search
from creases.certify.proofs import Proof
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import ClaimProof, UnitsStatement
from creases.certify.propagation import Interval
from creases.certify.propagation._linear import linear_value_bounds
from creases.network import Network, NetworkLike, as_network

#: Units of networks that are searched; the most nodes of a search, and of all of them, times units squared.
MAX_UNITS, MAX_NODES, WORK = 1024, 256, 2**25


class UnitSides(NamedTuple):
    """What is proved of the inputs of bends over a box."""

    bounds: dict[int, Interval]  #: by the number of the value; with 0 at the end of a unit that never changes side
    off: tuple[int, ...] = ()  #: units of ReLUs that are never positive, and have a tree
    on: tuple[int, ...] = ()  #: those that are never negative
    proof: Proof | None = None  #: of both, for :func:`creases.certify.proofs.check_proof`


def decide_sides(net: NetworkLike, box: Any, X: Any) -> UnitSides:
    """Bound what enters bends over a box, and prove which units of ReLUs never change side.

    Linear bounds decide most units. Those that they leave open, and that are on one side at all samples, are decided by
    branch and bound over the sides of the units before them, in networks of at most 1,024 units and within a fixed
    amount of work.

    Parameters
    ----------
    net
        A :class:`creases.Network`, a torch module or a file name; computed in float64.
    box
        ``(lo, hi)`` for all inputs, or a pair for each.
    X
        (n, n_in) samples.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.5]), ([[1.0]], [0.0])])  # |x| - 1.5
    >>> decide_sides(net, (-1, 1), [[0.0], [1.0]]).off
    (2,)
    """
    net = as_network(net).to("cpu").to(torch.float64)
    ends, samples = check_box(box, net.n_in), check_points(X, net.n_in, "X")
    check_finite(samples, "X")
    bounds = linear_value_bounds(net, torch.from_numpy(ends))
    if net.n_units > MAX_UNITS:
        return UnitSides(bounds)
    seen = net.sides(samples) == 1
    sides: dict[str, list[int]] = {"off": [], "on": []}
    left = WORK // max(1, net.n_units) ** 2
    domain, limits = check_domain(box, None, None, net.n_in), Limits(np.inf, stop_above=0.0, stop_below=0.0)
    trees = []
    for i, (start, stop) in zip(net.bends, zip(net.unit_starts[:-1], net.unit_starts[1:], strict=True), strict=True):
        number = net.steps[i].inputs[0]
        if net.steps[i].op != "relu":
            continue
        prefix = Network(net.steps[:number], net.input_shape) if number else None
        low, high = (end.clone(memory_format=torch.contiguous_format) for end in bounds[number])
        is_on = seen[:, start:stop]
        for name, end, sign, is_crossed in (
            ("off", high, 1.0, is_on.any(axis=0)),
            ("on", low, -1.0, ~is_on.all(axis=0)),
        ):
            for place in np.flatnonzero((sign * end.flatten().numpy() <= 0) | ~is_crossed).tolist():
                is_open = sign * float(end.view(-1)[place]) > 0
                if prefix is None or (is_open and left <= 0):
                    continue
                objective = LeastRow(prefix, sign * np.eye(1, prefix.n_out, place), np.zeros(1))
                search = open_search(objective, domain, limits, lambda what, done, total: None)
                tree = search.prove(domain.middle[None], min(MAX_NODES, left))
                left -= len(search.record) if is_open else 0
                if tree is not None:
                    sides[name].append(int(start) + place)
                    trees.append(ClaimProof((name, int(start) + place), tree))
                    end.view(-1)[place] = sign * min(sign * float(end.view(-1)[place]), 0.0)
        bounds[number] = Interval(low, high)
    off, on = tuple(sides["off"]), tuple(sides["on"])
    statement = UnitsStatement(tuple((low, high) for low, high in ends.tolist()), off, on)
    return UnitSides(bounds, off, on, make_proof(statement, tuple(trees), net=net) if trees else None)
