"""A-priori bounds of rounding errors [1]_.

A sum of n products computed in float64, in any order, with or without fused operations, differs from the exact value by
at most ``gamma(n) = n u / (1 - n u)`` times the sum of the magnitudes of its terms, ``u = 2^-53``, and by n times the
smallest positive number where products underflow. So bounds become valid in real arithmetic for a product of magnitudes
more.

References
----------
.. [1] Higham, "Accuracy and Stability of Numerical Algorithms", SIAM 2002, section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from torch import Tensor

from creases._program import Step

#: Half the distance from 1 to the next number.
UNIT = 2.0**-53

#: More than the products of a sum can lose by underflow, and magnitudes whose products are far from it.
UNDERFLOW, SAFE = 1e-290, 1e-140

#: Steps that only move numbers.
_MOVES = ("reshape", "permute", "gather", "concat", "stack", "pad")


def gamma(n: int) -> float:
    """Return the relative error of a sum of n products, with room for errors in the sum of magnitudes itself.

    Larger than Higham's by a tenth and eight terms: the sum of magnitudes is rounded too, and so is what is added to
    it or subtracted afterwards.
    """
    return 1.1 * (n + 8) * UNIT if n else 0.0


def forward_terms(step: Step, shapes: Sequence[tuple[int, ...]]) -> int:
    """Return the most products that an entry of an affine step's linear part adds up; 0 for steps that move numbers.

    Parameters
    ----------
    shapes
        Of the step's inputs.
    """
    if step.op in _MOVES:
        return 0
    if step.op == "linear":
        return int(step.tensors["weight"].shape[1])
    if step.op == "conv":
        return prod(step.tensors["weight"].shape[1:])
    if step.op == "scale":
        return 1
    if step.op == "add":
        return len(shapes)
    return sum(map(prod, shapes))


def backward_terms(step: Step, shapes: Sequence[tuple[int, ...]]) -> int:
    """Return the most products that an entry of the transposed linear part adds up."""
    if step.op == "linear":
        return len(step.tensors["weight"])
    if step.op == "conv":
        weight = step.tensors["weight"]
        return prod(weight.shape[2:]) * len(weight) // int(step.options["groups"])
    if step.op in ("reshape", "permute", "pad", "concat"):
        return 0
    if step.op in ("add", "scale") and all(shape == step.shape for shape in shapes):
        return 0 if step.op == "add" else 1
    return prod(step.shape)


def underflow(step: Step, values: Sequence[Tensor]) -> float:
    """Return what products of a step's weights and values can lose by underflow: 0 unless some of them are tiny."""
    if step.op in ("add", *_MOVES):
        return 0.0
    weights = [step.tensors[name] for name in ("weight", "factor", "matrix", "leak") if name in step.tensors]
    return UNDERFLOW if any(_is_tiny(part) for part in (*weights, *values)) else 0.0


def _is_tiny(values: Tensor) -> bool:
    size = values.abs()
    return bool(((size > 0) & (size < SAFE)).any())


def linear_error(step: Step, sizes: Sequence[Tensor], terms: int) -> Tensor:
    """Bound the rounding error (b, *shape) of a linear part that adds up so many products of inputs of some sizes."""
    total = step.linear_magnitude(sizes)
    if step.op == "interpolate":  # torch rounds its weights: an absolute error, whatever they are
        peak = sum((size.flatten(1).amax(1) for size in sizes), total.new_zeros(()))
        total = total + prod(step.shape) * peak.reshape(-1, *[1] * (total.ndim - 1))
    return gamma(terms) * total + underflow(step, sizes)
