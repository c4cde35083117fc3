"""Networks with a narrow first layer: the affine map they begin with, and the network behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from creases.network import Network


@dataclass(frozen=True, eq=False)
class Factorisation:
    """A network ``f(x) = behind(W x + b)`` with fewer rows in W than inputs."""

    behind: Network  #: of the r numbers
    weight: Tensor  #: (r, n_in)
    offset: Tensor  #: (r,)

    def narrow(self, x: Tensor) -> Tensor:
        """Return what the rest of the network sees of inputs (b, n_in): (b, r)."""
        return x.flatten(1) @ self.weight.T + self.offset


def factorise(net: Network) -> Factorisation | None:
    """Split a network at its first linear layer, if that is narrower than the input and nothing bypasses it."""
    first = next((i for i, step in enumerate(net.steps) if step.op != "reshape"), len(net.steps))
    if first == len(net.steps) or net.steps[first].op != "linear":
        return None
    layer, seen = net.steps[first], first + 1
    (rows,) = layer.shape if len(layer.shape) == 1 else (net.n_in,)
    if rows >= net.n_in or any(value < seen for step in net.steps[seen:] for value in step.inputs):
        return None
    steps = [replace(step, inputs=tuple(value - seen for value in step.inputs)) for step in net.steps[seen:]]
    weight = layer.tensors["weight"]
    offset = layer.offset if layer.offset is not None else weight.new_zeros(rows)
    return Factorisation(Network(steps, (rows,)), weight, offset.expand(rows))


def orthonormal(weight: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
    """Write rows ``[W b; 0 1]`` (r + 1, n_in + 1) as ``mix @ basis``: basis with orthonormal rows, mix (r + 1, r + 1).

    A network's coefficients ``[G, rest] @ [W b; 0 1]`` have then the coordinates ``[G, rest] @ mix``, with the same
    lengths and angles.
    """
    ones = torch.zeros(1, weight.shape[1] + 1, dtype=torch.float64, device=weight.device)
    ones[0, -1] = 1
    rows = torch.cat([torch.cat([weight.double(), offset.double()[:, None]], dim=1), ones])
    Q, R = torch.linalg.qr(rows.T)  # (n_in + 1, r + 1), (r + 1, r + 1)
    return R.T.contiguous(), Q.T.contiguous()
