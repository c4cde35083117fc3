"""Whether an output rises or falls with a column everywhere in a box."""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy as np
import torch

from creases._typing import Floats, Progress
from creases._validation import check_choice, check_index, check_number
from creases.certify._maximize.by_partition import list_regions
from creases.certify._maximize.domain import Domain, check_domain
from creases.certify._maximize.objectives import Coefficient
from creases.certify._maximize.search import Extreme, Limits, maximize_objective
from creases.certify.propagation._gradients import gradient_bounds
from creases.certify.propagation._linear import LinearBounds
from creases.certify.properties._verdict import Verdict
from creases.network import Network, NetworkLike, as_network
from creases.regions.geometry import region_polytope


def monotone(
    net: NetworkLike,
    column: int,
    box: Any,
    *,
    output: int = 0,
    direction: Literal["rising", "falling"] = "rising",
    A: Any = None,
    b: Any = None,
    tolerance: float = 1e-6,
    budget: float = 60.0,
    progress: Progress | None = None,
) -> Verdict:
    """Decide whether an output never falls (or never rises) as one input grows and the others stay.

    It never falls if the input's coefficient is at least 0 in every region. With up to four inputs all regions are
    listed; otherwise coefficients are bounded by branch and bound and mixed-integer programs.

    Parameters
    ----------
    net
        A :class:`creases.Network`, a torch module or a file name.
    column
        Number of the input.
    box
        ``(lo, hi)`` for all inputs, or a pair for each.
    output
        Number of the output.
    direction
        ``"rising"``: it must never fall; ``"falling"``: it must never rise.
    A, b
        (r, n_in) and (r,): only inputs of the box with ``A x <= b``.
    tolerance
        A coefficient of the wrong sign counts from this size on, relative to a bound of all its values.
    budget
        Seconds.
    progress
        Called with the number of boxes done.

    Returns
    -------
    Verdict
        The counterexample is a pair of inputs (2, n_in) in one region that differ in the column only, the first with
        the smaller value.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0, 0.0], [-1.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # relu(x0) + relu(x1 - x0)
    >>> monotone(net, 1, (-1, 1)).status
    'holds'
    >>> refuted = monotone(net, 0, (-1, 1))
    >>> refuted.status, bool(refuted.outputs[1, 0] < refuted.outputs[0, 0])
    ('violated', True)
    """
    work = as_network(net).to("cpu").to(torch.float64)
    column = check_index(column, work.n_in, "column")
    output = check_index(output, work.n_out, "output")
    check_choice(direction, ["rising", "falling"], "direction")
    domain = check_domain(box, A, b, work.n_in)
    begin = time.monotonic()
    deadline = begin + check_number(budget, "budget", above=0)
    sign = 1.0 if direction == "rising" else -1.0
    objective = Coefficient(work, -sign * np.eye(work.n_out)[output], column)  # large where it has the wrong sign
    slack = check_number(tolerance, "tolerance", least=0) * _scale(objective, domain)
    extreme = _from_regions(objective, domain, deadline)
    if extreme is None:
        limits = Limits(deadline, stop_above=slack, stop_below=slack)
        extreme = maximize_objective(objective, domain, limits, progress=progress)
    seconds = time.monotonic() - begin
    if extreme.lower > slack:
        pair = _pair(work, domain, extreme.where, column)
        values = np.asarray(work(pair), np.float64).reshape(2, -1)
        if sign * (values[1, output] - values[0, output]) < 0:
            detail = f"a coefficient of {-sign * extreme.lower:.6g}"
            return Verdict("violated", pair, values, time.monotonic() - begin, detail)
    if extreme.upper <= slack:
        return Verdict("holds", seconds=seconds)
    least, most = sorted([-sign * extreme.lower, -sign * extreme.upper])
    return Verdict("unknown", seconds=seconds, detail=f"the worst coefficient is between {least:.6g} and {most:.6g}")


def _scale(objective: Coefficient, domain: Domain) -> float:
    """Return a bound of the coefficient's magnitude over the box."""
    bounds = LinearBounds(objective.net, torch.from_numpy(domain.box)[None])
    sizes = gradient_bounds(bounds, torch.from_numpy(objective.row)[None])[0].size
    return float(sizes.flatten(2)[0, 0, objective.column])


def _from_regions(objective: Coefficient, domain: Domain, deadline: float) -> Extreme | None:
    listed = list_regions(objective.net, domain, deadline)
    if listed is None:
        return None
    partition, inside = listed
    J = partition.pieces().J[inside][:, : objective.net.n_out, objective.column]
    values = J @ objective.row
    worst = int(values.argmax())
    return Extreme(float(values[worst]), partition.inner[inside][worst], float(values[worst]))


def _pair(net: Network, domain: Domain, x: Floats, column: int) -> Floats:
    """Return the ends (2, n_in) of nine tenths of the segment along a column through ``x`` in its region."""
    region = region_polytope(net, net.sides(x))
    n = len(x)
    Q = np.vstack([region.Q, domain.A, np.eye(n), -np.eye(n)])
    p = np.concatenate([region.p, domain.b, domain.box[:, 1], -domain.box[:, 0]])
    room, slope = np.maximum(p - Q @ x, 0.0), Q[:, column]
    forward = np.min(room[slope > 0] / slope[slope > 0], initial=np.inf)
    backward = np.min(room[slope < 0] / -slope[slope < 0], initial=np.inf)
    pair = np.stack([x, x])
    pair[:, column] += -0.9 * backward, 0.9 * forward
    return np.clip(pair, *domain.box.T)
