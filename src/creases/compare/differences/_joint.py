"""Two networks of one input read as one network, so that everything exact about one is exact about the pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from creases._typing import Ints
from creases.errors import InputError
from creases.network import Network
from creases.network.program import Step, bit_widths


def join_networks(a: Network, b: Network) -> Network:
    """One network with the outputs of a, then those of b, flattened: (m_a + m_b,).

    Steps that both have on the same values (a common trunk, say) are there once. In the wider of their dtypes.

    Examples
    --------
    >>> import creases
    >>> a = creases.read([([[1.0], [2.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])
    >>> b = creases.read([([[1.0], [2.0]], [0.0, 0.0]), ([[1.0, -1.0]], [0.5])])
    >>> both = join_networks(a, b)
    >>> both([3.0]).tolist(), both.n_units
    ([9.0, -2.5], 2)
    """
    steps, ends, shape = _side_by_side(a, b)
    _append(steps, "concat", ends, (a.n_out + b.n_out,), {"dim": 0})
    return Network(steps, shape)


def subtract_networks(a: Network, b: Network) -> Network:
    """The network ``a - b`` of two with as many outputs, (m,)."""
    check_pair(a, b)
    steps, ends, shape = _side_by_side(a, b)
    _append(steps, "add", ends, (a.n_out,), {"signs": [1, -1]})
    return Network(steps, shape)


@dataclass(frozen=True, eq=False)
class Joint:
    """Two networks and their decisions as one: on each of its regions both networks are affine and decide for a class.

    Its output is a (m,), b (m,), and what decides: the largest output of each (for one output: its positive part).
    """

    net: Network  #: output (2 m + 2,); its last two units are the decisions of a and of b
    outputs: int  #: m

    @classmethod
    def of(cls, a: Network, b: Network) -> Joint:
        """Two networks with as many outputs."""
        check_pair(a, b)
        steps, ends, shape = _side_by_side(a, b)
        # Two steps even where both networks are one: each has a decision of its own.
        own = [_append(steps, "reshape", (end,), (1, a.n_out), {"shape": [1, a.n_out]}) for end in ends]
        op = "choice" if a.n_out > 1 else "relu"
        decisions = [
            _append(steps, op, (value,), (1,) if op == "choice" else (1, 1), path=f"{name}.decision")
            for value, name in zip(own, "ab", strict=True)
        ]
        flat = [_append(steps, "reshape", (value,), (1,), {"shape": [1]}) for value in decisions]
        _append(steps, "concat", (*ends, *flat), (2 * a.n_out + 2,), {"dim": 0})
        return cls(Network(steps, shape), a.n_out)

    def classes(self, patterns: NDArray[np.uint8]) -> tuple[Ints, Ints]:
        """The class that a and the class that b decides for on regions with these patterns (R, n_bytes): (R,) each."""
        widths = bit_widths(self.net)
        stop = int(widths.sum())
        bits = int(widths[-1])
        first = (stop - 2 * bits) // 8
        tail = np.unpackbits(patterns[:, first:], axis=1, count=stop - 8 * first, bitorder="little").astype(np.int64)
        weights = 1 << np.arange(bits)
        return tail[:, -2 * bits : -bits] @ weights, tail[:, -bits:] @ weights

    def differences(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """``a - b`` (n, m) from this network's outputs (n, 2 m + 2)."""
        m = self.outputs
        return np.asarray(values[:, :m] - values[:, m : 2 * m])


def check_pair(a: Any, b: Any, *, outputs: bool = True) -> None:
    """Two networks of the same input, and with as many outputs."""
    for name, net in (("a", a), ("b", b)):
        if not isinstance(net, Network):
            raise InputError(f"{name}: expected a Network (creases.read makes one), got {type(net).__name__}")
    if a.n_in != b.n_in:
        raise InputError(
            f"a, b: expected networks of the same inputs, got {a.n_in} numbers of shape {a.input_shape} and {b.n_in} "
            f"of shape {b.input_shape}"
        )
    if outputs and a.n_out != b.n_out:
        raise InputError(
            f"a, b: expected as many outputs of both to subtract, got {a.n_out} and {b.n_out}; compare hidden layers "
            "with hidden_cka"
        )
    if not a.n_out:
        raise InputError("a, b: have no outputs")


def _side_by_side(a: Network, b: Network) -> tuple[list[Step], tuple[int, int], tuple[int, ...]]:
    """The steps of both on one input, where the flattened outputs of each are, and the input's shape."""
    check_pair(a, b, outputs=False)
    dtype = torch.promote_types(a.dtype, b.dtype)
    steps: list[Step] = []
    ends = [_add(steps, net.to(dtype).to(a.device), name, a.input_shape) for net, name in ((a, "a"), (b, "b"))]
    return steps, (ends[0], ends[1]), a.input_shape


def _add(steps: list[Step], net: Network, name: str, shape: tuple[int, ...]) -> int:
    """Add a network's steps; the number of its flattened output."""
    place = {0: 0}
    if net.input_shape != shape:
        place[0] = _append(steps, "reshape", (0,), net.input_shape, {"shape": list(net.input_shape)})
    for i, step in enumerate(net.steps):
        own = replace(step, inputs=tuple(place[value] for value in step.inputs), path=f"{name}.{step.path}")
        found = next((k for k, there in enumerate(steps) if _same(there, own)), None)
        if found is None:
            steps.append(own)
            found = len(steps) - 1
        place[i + 1] = found + 1
    end = place[len(net.steps)]
    return (
        end if len(net.output_shape) == 1 else _append(steps, "reshape", (end,), (net.n_out,), {"shape": [net.n_out]})
    )


def _append(
    steps: list[Step],
    op: str,
    inputs: Sequence[int],
    shape: tuple[int, ...],
    options: dict[str, Any] | None = None,
    path: str = "",
) -> int:
    """One more step; the number of its value."""
    steps.append(Step(op, tuple(inputs), shape, options or {}, path=path or op))
    return len(steps)


def _same(one: Step, other: Step) -> bool:
    """Whether two steps compute the same from the same values."""
    return (
        (one.op, one.inputs, one.shape, one.options) == (other.op, other.inputs, other.shape, other.options)
        and one.tensors.keys() == other.tensors.keys()
        and all(torch.equal(one.tensors[key], other.tensors[key]) for key in one.tensors)
    )
