"""Networks as rows of a mixed-integer program [1]_, for HiGHS by scipy.

Every value of a network is carried as an affine function of the program's variables, through the network's own
operations. A unit whose side is decided in the box stays such a function; any other becomes a variable, with four rows
and a binary for its side (for a choice: a binary for each candidate that can win).

HiGHS relaxes rows and binaries by 1e-6. That enlarges the set it searches, so a bound stays a bound; the value at a
solution is to be taken from the network itself.

References
----------
.. [1] Tjeng, Xiao, Tedrake, "Evaluating Robustness of Neural Networks with Mixed Integer Programming", ICLR 2019,
   arXiv:1711.07356.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, hstack, vstack
from torch import Tensor

from creases._typing import Bools, Floats, Ints
from creases.certify.propagation import Interval, linear_value_bounds
from creases.network import Network
from creases.network.program import Step

#: Relative slack of HiGHS's bounds: its tolerance on reduced costs is 1e-7.
SOLVER_SLACK = 1e-7


@dataclass(frozen=True, eq=False)
class Encoding:
    """A network over a box as ``least <= rows v <= most`` and ``low <= v <= high``; v starts with the inputs.

    Columns that are added later come last, so that those of inputs and units keep their numbers.
    """

    n_in: int  #: the first columns are the inputs
    low: Floats  #: (v,)
    high: Floats  #: (v,)
    integral: Bools  #: (v,) whether a variable is an integer
    rows: csr_array  #: (r, v)
    least: Floats  #: (r,)
    most: Floats  #: (r,)
    outputs: Floats  #: (m, v) the network's outputs are ``outputs v + offset``
    offset: Floats  #: (m,)
    binaries: Ints  #: (n_units,) the column of each ReLU's side; -1 where it is decided, and for choices

    def add_columns(self, low: Any, high: Any, *, integral: bool = False) -> tuple[Encoding, Ints]:
        """Return the program with further variables between bounds (k,), and the numbers of their columns."""
        low, high = np.atleast_1d(np.asarray(low, float)), np.atleast_1d(np.asarray(high, float))
        v, k = len(self.low), len(low)
        larger = replace(
            self,
            low=np.append(self.low, low),
            high=np.append(self.high, high),
            integral=np.append(self.integral, np.full(k, integral)),
            rows=csr_array(hstack([self.rows, csr_array((self.rows.shape[0], k))])),
            outputs=np.pad(self.outputs, ((0, 0), (0, k))),
        )
        return larger, np.arange(v, v + k)

    def add_rows(self, rows: Any, least: Any, most: Any) -> Encoding:
        """Return the program with further rows (k, v), or (k, n_in) in the inputs alone, between limits (k,)."""
        extra = csr_array(np.atleast_2d(rows) if isinstance(rows, np.ndarray | list) else rows)
        k = extra.shape[0]
        extra = csr_array((extra.data, extra.indices, extra.indptr), shape=(k, len(self.low)))
        return replace(
            self,
            rows=csr_array(vstack([self.rows, extra])),
            least=np.append(self.least, np.broadcast_to(least, k)),
            most=np.append(self.most, np.broadcast_to(most, k)),
        )

    def maximize(
        self, cost: Floats, *, time_limit: float | None = None, gap: float = 1e-9, relax: bool = False
    ) -> Solution:
        """Maximize ``cost v`` (v,), at most ``time_limit`` seconds, to a relative ``gap``; ``relax`` drops integrality.

        Examples
        --------
        >>> import creases
        >>> net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # |x|
        >>> program = encode_network(net, np.array([[-1.0, 2.0]]))
        >>> solution = program.maximize(program.outputs[0])
        >>> solution.point[:1].tolist(), round(solution.bound, 6)
        ([2.0], 2.0)
        """
        options: Any = {"mip_rel_gap": gap}
        if time_limit is not None:
            options["time_limit"] = max(time_limit, 0.01)
        integrality = np.zeros(len(self.low), np.int64) if relax else self.integral.astype(np.int64)
        problem: dict[str, Any] = {
            "integrality": integrality,
            "bounds": Bounds(self.low, self.high),
            "constraints": LinearConstraint(self.rows, self.least, self.most) if len(self.least) else (),
        }
        answer = milp(-cost, **problem, options=options)
        if answer.status == 4:  # the presolve of some symmetric programs fails
            answer = milp(-cost, **problem, options=options | {"presolve": False})
        if answer.status == 2:
            return Solution(None, -np.inf, True)
        dual = answer.get("mip_dual_bound")
        if (relax or not self.integral.any()) and answer.status == 0:
            dual = answer.fun
        bound = np.inf if dual is None or not np.isfinite(dual) else -float(dual)
        reach = float(np.abs(cost) @ np.maximum(np.abs(self.low), np.abs(self.high)))
        slack = SOLVER_SLACK * min(abs(bound) + 1.0, reach) if np.isfinite(bound) else 0.0
        return Solution(None if answer.x is None else np.asarray(answer.x), bound + slack, answer.status == 0)


@dataclass(frozen=True, eq=False)
class Solution:
    """What a program's solver reports."""

    point: Floats | None  #: (v,) the best point; None where there is none, or none was reached in time
    bound: float  #: no point has a larger value, up to the solver's tolerance; -inf: there is no point
    complete: bool  #: whether the solver ended by itself


def encode_network(net: Network, box: Floats, bounds: Mapping[int, Interval] | None = None) -> Encoding:
    """Return a network over a box as a mixed-integer program.

    Parameters
    ----------
    net
        In float64, on the CPU; of any steps and bends.
    box
        (n_in, 2), finite.
    bounds
        Of what enters each bend over the box, by the number of the value, as
        :func:`creases.certify.propagation.linear_value_bounds` returns them, which is the default. The tighter they
        are, the fewer binaries and the faster the solver.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [1.0]], [0.0, 5.0]), ([[1.0, 1.0]], [0.0])])
    >>> program = encode_network(net, np.array([[-1.0, 1.0]]))  # the second unit is always on
    >>> int(program.integral.sum()), program.binaries.tolist()
    (1, [2, -1])
    """
    ends = np.asarray(box, float)
    if bounds is None:
        bounds = linear_value_bounds(net, torch.from_numpy(ends))
    with torch.no_grad():
        return _Encoder(net, ends, bounds).run()


class _Encoder:
    """Variables and rows, gathered bend by bend; continuous variables and binaries are numbered apart until the end."""

    def __init__(self, net: Network, box: Floats, bounds: Mapping[int, Interval]) -> None:
        self.net, self.bounds = net, bounds
        self.low, self.high = [box[:, 0]], [box[:, 1]]
        self.count, self.n_binaries = len(box), 0
        self.rows: list[tuple[Tensor, list[tuple[int, float]], float]] = []  # f(v) + binaries <= limit
        self.binaries = np.full(net.n_units, -1)

    def run(self) -> Encoding:
        net = self.net
        start = torch.cat([torch.zeros(1, net.n_in), torch.eye(net.n_in)]).double()
        values = [start.reshape(-1, *net.input_shape)]
        for i, step in enumerate(net.steps):
            inputs = [self._pad(values[value]) for value in step.inputs]
            if step.is_bend:
                values.append(self._bend(i, step, inputs[0]))
                continue
            out = step.linear(inputs)
            if step.offset is not None:
                out = torch.cat([out[:1] + step.offset, out[1:]])
            values.append(out)
        return self._finish(self._pad(values[-1]).flatten(1).numpy())

    def _pad(self, value: Tensor) -> Tensor:
        """Return an affine function (1 + variables, *shape) of all variables so far."""
        missing = 1 + self.count - len(value)
        return torch.cat([value, value.new_zeros(missing, *value.shape[1:])]) if missing else value

    def _bend(self, i: int, step: Step, z: Tensor) -> Tensor:
        known = self.bounds[step.inputs[0]]
        first = int(self.net.unit_starts[self.net.bends.index(i)])
        if step.op == "choice":
            return self._choice(z, known, step.shape)
        return self._relu(z, known, step, first)

    def _relu(self, z: Tensor, known: Interval, step: Step, first: int) -> Tensor:
        flat, low, high = z.flatten(1), known.low.flatten(), known.high.flatten()
        leak = torch.zeros_like(low) if step.leak is None else step.leak.expand(known.low.shape).flatten().double()
        open_units = ((low < 0) & (high > 0) & (leak != 1)).nonzero().flatten().tolist()
        slope = torch.where(low >= 0, 1.0, leak)
        out = self._new_variables(flat * slope, open_units)
        for k, unit in enumerate(open_units):
            column = self.count - len(open_units) + k
            a, lo, hi = float(leak[unit]), float(low[unit]), float(high[unit])
            ends = [max(end, a * end) if a <= 1 else min(end, a * end) for end in (lo, hi)]
            self.low.append(np.array([min(*ends, 0.0)]))
            self.high.append(np.array([max(*ends, 0.0)]))
            self.binaries[first + unit] = self.n_binaries
            h, f, sign, size = self._unit(column), self._pad(flat[:, unit]), 1.0 if a < 1 else -1.0, abs(1 - a)
            self.rows += [
                (sign * (f - h), [], 0.0),
                (sign * (a * f - h), [], 0.0),
                (sign * (h - f), [(self.n_binaries, -size * lo)], -size * lo),
                (sign * (h - a * f), [(self.n_binaries, -size * hi)], 0.0),
            ]
            self.n_binaries += 1
        return out.reshape(-1, *step.shape)

    def _choice(self, z: Tensor, known: Interval, shape: tuple[int, ...]) -> Tensor:
        K = z.shape[-1]
        flat, low, high = z.reshape(len(z), -1, K), known.low.reshape(-1, K), known.high.reshape(-1, K)
        best = low.argmax(dim=-1)
        can_win = high > low.amax(dim=-1, keepdim=True)
        can_win[torch.arange(len(best)), best] = True
        open_units = (can_win.sum(dim=-1) > 1).nonzero().flatten().tolist()
        out = self._new_variables(flat[:, torch.arange(len(best)), best], open_units)
        for k, unit in enumerate(open_units):
            candidates = can_win[unit].nonzero().flatten().tolist()
            h = self._unit(self.count - len(open_units) + k)
            top = float(high[unit, candidates].max())
            self.low.append(np.array([float(low[unit].max())]))
            self.high.append(np.array([top]))
            for k_s, candidate in enumerate(candidates):
                f, reach = self._pad(flat[:, unit, candidate]), top - float(low[unit, candidate])
                self.rows += [(f - h, [], 0.0), (h - f, [(self.n_binaries + k_s, reach)], reach)]
            sides = range(self.n_binaries, self.n_binaries + len(candidates))
            self.rows += [(0 * h, [(side, sign) for side in sides], sign) for sign in (1.0, -1.0)]
            self.n_binaries += len(candidates)
        return out.reshape(-1, *shape)

    def _new_variables(self, values: Tensor, units: list[int]) -> Tensor:
        """Add a variable for each of these units; return the functions (1 + variables, units) with them in place."""
        self.count += len(units)
        values = self._pad(values.clone())
        values[:, units] = 0
        values[1 + self.count - len(units) + torch.arange(len(units)), units] = 1
        return values

    def _unit(self, column: int) -> Tensor:
        """Return a variable as an affine function (1 + variables,)."""
        axis = torch.zeros(1 + self.count, dtype=torch.float64)
        axis[1 + column] = 1
        return axis

    def _finish(self, outputs: Floats) -> Encoding:
        n, k = self.count, self.n_binaries
        left = np.zeros((len(self.rows), n + k))
        most = np.zeros(len(self.rows))
        for r, (f, sides, limit) in enumerate(self.rows):
            function = f.numpy()
            left[r, : len(function) - 1] = function[1:]
            for side, weight in sides:
                left[r, n + side] = weight
            most[r] = limit - function[0]
        return Encoding(
            n_in=self.net.n_in,
            low=np.concatenate([*self.low, np.zeros(k)]),
            high=np.concatenate([*self.high, np.ones(k)]),
            integral=np.arange(n + k) >= n,
            rows=csr_array(left),
            least=np.full(len(most), -np.inf),
            most=most,
            outputs=np.hstack([outputs[1:].T, np.zeros((outputs.shape[1], k))]),
            offset=outputs[0].copy(),
            binaries=np.where(self.binaries >= 0, self.binaries + n, -1),
        )
