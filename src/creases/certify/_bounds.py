"""Bounds of the outputs and of the units of a network over a box."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from creases._typing import Floats
from creases._validation import check_box, check_choice
from creases.certify._form import search_form
from creases.certify._maximize.domain import Domain, outward
from creases.certify._maximize.linear_program import Solver
from creases.certify._maximize.multipliers import bound_sum, shift_rows
from creases.certify._maximize.triangle import Triangle
from creases.certify._nodes import root_node
from creases.certify.propagation import Interval, value_bounds
from creases.certify.propagation._linear import linear_value_bounds
from creases.certify.propagation._regions import exact_value_bounds
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network

Method = Literal["interval", "linear", "lp", "exact"]


def output_bounds(
    net: NetworkLike, box: Any, *, method: Method = "linear", max_regions: int = 200_000
) -> tuple[Floats, Floats]:
    """Bound every output of a network over a box.

    Parameters
    ----------
    net
        A :class:`creases.Network`, a torch module or a file name; computed in float64.
    box
        ``(lo, hi)`` for all inputs, or a pair for each.
    method
        From quick to tight: ``"interval"`` arithmetic; ``"linear"`` bounds carried backwards (CROWN [1]_), exact where
        no unit changes side in the box; ``"lp"``, linear programs over the convex relaxation of each bend [2]_, for
        networks without choices; ``"exact"``, from the regions of the box, for few inputs.
    max_regions
        The most regions that ``"exact"`` may list.

    Returns
    -------
    low, high : ndarray (n_out,)
        No output is outside: in real arithmetic; of ``"exact"`` up to rounding.

    References
    ----------
    .. [1] Zhang, Weng, Chen, Hsieh, Daniel, "Efficient Neural Network Robustness Certification with General Activation
       Functions", NeurIPS 2018.
    .. [2] Ehlers, "Formal Verification of Piece-Wise Linear Feed-Forward Neural Networks", ATVA 2017.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # |x|
    >>> [bound.round(9).tolist() for bound in output_bounds(net, (-1, 1))]
    [[0.0], [1.0]]
    """
    work, bounds = _bounds(net, box, method, max_regions)
    return _flat(bounds[len(work.steps)])


def unit_bounds(
    net: NetworkLike, box: Any, *, method: Method = "linear", max_regions: int = 200_000
) -> list[tuple[Floats, Floats]]:
    """Bound what enters each bend over a box: low and high, (units,) each; for a choice among K (units * K,).

    A ReLU whose upper bound is at most 0 is off in the whole box, one whose lower bound is at least 0 is on.

    Parameters
    ----------
    net, box, method, max_regions
        As for :func:`output_bounds`.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [-1.0]], [0.0, 2.0]), ([[1.0, 1.0]], [0.0])])
    >>> [[bound.round(9).tolist() for bound in bend] for bend in unit_bounds(net, (-1, 1))]
    [[[-1.0, 1.0], [1.0, 3.0]]]
    """
    work, bounds = _bounds(net, box, method, max_regions)
    return [_flat(bounds[work.steps[i].inputs[0]]) for i in work.bends]


def _bounds(
    net: NetworkLike, box: Any, method: str, max_regions: int
) -> tuple[Network, list[Interval] | dict[int, Interval]]:
    """Return the network in float64, and bounds of its values by their number."""
    check_choice(method, ["interval", "linear", "lp", "exact"], "method")
    work = as_network(net).to("cpu").to(torch.float64)
    ends = torch.from_numpy(check_box(box, work.n_in))
    if method == "linear":
        return work, linear_value_bounds(work, ends)
    if method == "interval":
        return work, value_bounds(work, ends)
    return work, _exact(work, ends, max_regions) if method == "exact" else _relaxed(work, ends)


def _relaxed(net: Network, box: Tensor) -> dict[int, Interval]:
    """Bound what enters bends, and the output, by the convex relaxation of all units before it."""
    domain, solver = Domain(box.numpy(), np.zeros((0, len(box))), np.zeros(0)), Solver()
    bounds = linear_value_bounds(net, box)
    for number in [number for number in bounds if number]:
        form = search_form(Network(net.steps[:number], net.input_shape))
        if form is None:
            raise InputError(
                "net",
                "consist of linear layers and ReLUs, without choices and not too large, for method='lp'",
                repr(net),
                "use {0}",
                [("method", "linear")],
            )
        nodes = root_node(form.recenter(domain.middle), *(end[None] for end in outward(domain.box, domain.middle)))
        rows = shift_rows(domain.A, domain.b, domain.middle)
        triangle, offset = Triangle(nodes, 0, rows), np.zeros(1)
        ends = []
        for sign in (-1.0, 1.0):
            upper = np.full(len(form.output.c), np.inf)
            for unit, row in enumerate(sign * np.eye(len(upper))[:, None]):
                relaxed = triangle.maximize(solver, row, offset)
                if relaxed is not None:
                    upper[unit] = bound_sum(nodes, 0, row, offset, rows, relaxed.weights)[0]
            ends.append(torch.from_numpy(sign * upper).reshape(bounds[number].low.shape))
        bounds[number] = bounds[number].intersect(Interval(ends[0], ends[1]))
    return bounds


def _exact(net: Network, box: Tensor, max_regions: int) -> list[Interval]:
    bounds = exact_value_bounds(net, box, max_regions=max_regions)
    if bounds is None:
        raise InputError(
            "max_regions",
            "be at least the number of regions in the box",
            f"{max_regions:,}, which are fewer",
            "raise it, or use {0}",
            [("method", "linear")],
        )
    return bounds


def _flat(bounds: Interval) -> tuple[Floats, Floats]:
    return np.asarray(bounds.low.flatten().numpy()), np.asarray(bounds.high.flatten().numpy())
