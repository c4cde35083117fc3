"""Two networks with the same input as one network, so that all exact methods apply to the pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from creases._program import Step, bit_widths
from creases._text import plural
from creases._typing import Ints
from creases.errors import InputError
from creases.network import Network, as_network

#: Why an answer that a search showed has no proof.
NO_TREE = "the search that showed it recorded no tree, or its bounds are infinite"


def join_networks(a: Network, b: Network) -> Network:
    """Return one network with the outputs of a, then those of b, flattened: (m_a + m_b,).

    Steps that both apply to the same values (a common trunk, say) occur once. The dtype is the wider of the two.

    Examples
    --------
    >>> import creases
    >>> a = creases.read([([[1.0], [2.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])
    >>> b = creases.read([([[1.0], [2.0]], [0.0, 0.0]), ([[1.0, -1.0]], [0.5])])
    >>> both = join_networks(a, b)
    >>> both([3.0]).tolist(), both.n_units
    ([9.0, -2.5], 2)
    """
    a, b = as_pair(a, b, same_outputs=False)
    steps, ends, shape = _side_by_side(a, b)
    return concatenate(steps, ends, a.n_out + b.n_out, shape)


def subtract_networks(a: Network, b: Network) -> Network:
    """Return the network ``a - b`` of two networks with m outputs each, (m,)."""
    a, b = as_pair(a, b)
    steps, ends, shape = _side_by_side(a, b)
    _append(steps, "add", ends, (a.n_out,), {"signs": [1, -1]})
    return Network(steps, shape)


@dataclass(frozen=True, eq=False)
class Joint:
    """Two networks and their decisions as one: on each of its regions both are affine and decide for one class.

    Its output is a (m,), b (m,), and the largest output of each (for one output: its positive part).
    """

    net: Network  #: output (2 m + 2,); its last two units are the decisions of a and of b
    outputs: int  #: m

    @classmethod
    def from_pair(cls, a: Network, b: Network) -> Joint:
        """Join two networks with the same number of outputs."""
        a, b = as_pair(a, b)
        steps, ends, shape = _side_by_side(a, b)
        # Two steps even where both networks are the same: each has a decision of its own.
        outputs = [_append(steps, "reshape", (end,), (1, a.n_out), {"shape": [1, a.n_out]}) for end in ends]
        op = "choice" if a.n_out > 1 else "relu"
        decisions = [
            _append(steps, op, (value,), (1,) if op == "choice" else (1, 1), path=f"{name}.decision")
            for value, name in zip(outputs, "ab", strict=True)
        ]
        flat = [_append(steps, "reshape", (value,), (1,), {"shape": [1]}) for value in decisions]
        return cls(concatenate(steps, (*ends, *flat), 2 * a.n_out + 2, shape), a.n_out)

    def classes(self, patterns: NDArray[np.uint8]) -> tuple[Ints, Ints]:
        """Return the classes that a and b decide for on regions with these patterns (R, n_bytes): (R,) each."""
        widths = bit_widths(self.net)
        stop = int(widths.sum())
        bits = int(widths[-1])
        first = (stop - 2 * bits) // 8
        tail = np.unpackbits(patterns[:, first:], axis=1, count=stop - 8 * first, bitorder="little").astype(np.int64)
        weights = 1 << np.arange(bits)
        return tail[:, -2 * bits : -bits] @ weights, tail[:, -bits:] @ weights

    def differences(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``a - b`` (n, m) from this network's outputs (n, 2 m + 2)."""
        m = self.outputs
        return np.asarray(values[:, :m] - values[:, m : 2 * m])


def as_pair(a: Any, b: Any, *, same_outputs: bool = True) -> tuple[Network, Network]:
    """Return two networks with the same input, and with the same number of outputs."""
    a, b = as_network(a), as_network(b)
    if a.n_in != b.n_in:
        raise InputError(
            "b",
            f"have {plural(a.n_in, 'input')} of shape {a.input_shape}, as the first network",
            f"{b.n_in} of shape {b.input_shape}",
        )
    if same_outputs and a.n_out != b.n_out:
        raise InputError(
            "b",
            f"have {plural(a.n_out, 'output')}, as the first network",
            f"{b.n_out}",
            "compare hidden layers with creases.compare.measures.hidden_cka",
        )
    if not a.n_out:
        raise InputError("a", "have outputs", "none")
    return a, b


def _side_by_side(a: Network, b: Network) -> tuple[list[Step], tuple[int, int], tuple[int, ...]]:
    """Return the steps of both on one input, the numbers of their flattened outputs, and the input's shape."""
    dtype = torch.promote_types(a.dtype, b.dtype)
    steps: list[Step] = []
    ends = [add_network(steps, net.to(dtype).to(a.device), name, a.input_shape) for net, name in ((a, "a"), (b, "b"))]
    return steps, (ends[0], ends[1]), a.input_shape


def add_network(
    steps: list[Step], net: Network, name: str, shape: tuple[int, ...], columns: Sequence[int] | None = None
) -> int:
    """Add a network's steps to those of others on an input of some shape; return the number of its flattened output.

    Steps that do the same to the same values occur once. With ``columns`` the network takes these entries of the input.
    """
    number = {0: 0}  # of each value of the network among the values of all
    if columns is not None and list(columns) != list(range(prod(shape))):
        index = {"index": torch.tensor(columns)}
        number[0] = _put(steps, Step("gather", (0,), (net.n_in,), tensors=index, path=f"inputs of {name}"))
        shape = (net.n_in,)
    if net.input_shape != shape:
        number[0] = _append(steps, "reshape", (number[0],), net.input_shape, {"shape": list(net.input_shape)})
    for i, step in enumerate(net.steps):
        inputs = tuple(number[value] for value in step.inputs)
        number[i + 1] = _put(steps, replace(step, inputs=inputs, path=f"{name}.{step.path}"))
    end = number[len(net.steps)]
    if len(net.output_shape) == 1:
        return end
    return _append(steps, "reshape", (end,), (net.n_out,), {"shape": [net.n_out]})


def _put(steps: list[Step], new: Step) -> int:
    """Append a step unless there is the same; return the number of its value."""
    for k, old in enumerate(steps):
        is_like = all(getattr(old, name) == getattr(new, name) for name in ("op", "inputs", "shape", "options"))
        is_like = is_like and old.tensors.keys() == new.tensors.keys()
        if is_like and all(torch.equal(old.tensors[key], new.tensors[key]) for key in old.tensors):
            return k + 1
    steps.append(new)
    return len(steps)


def concatenate(steps: list[Step], ends: Sequence[int], size: int, shape: tuple[int, ...]) -> Network:
    """Return the network of steps on an input of some shape, with flat values (size,) one after another."""
    _append(steps, "concat", ends, (size,), {"dim": 0})
    return Network(steps, shape)


def _append(
    steps: list[Step],
    op: str,
    inputs: Sequence[int],
    shape: tuple[int, ...],
    options: dict[str, Any] | None = None,
    path: str = "",
) -> int:
    """Append a step; return the number of its value."""
    steps.append(Step(op, tuple(inputs), shape, options or {}, path=path or op))
    return len(steps)
