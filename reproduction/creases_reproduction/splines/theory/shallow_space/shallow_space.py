"""Write a deep network with as few hidden layers as its number of inputs needs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import nn

from creases._typing import Floats
from creases._validation import check_count
from creases.errors import InputError
from creases.network import Network, as_network
from creases.regions import SpacePartition, space
from creases_reproduction.splines.theory.shallow_space.convex_parts import (
    ConvexParts,
    Integers,
    as_integers,
    point_parts,
    region_parts,
)
from creases_reproduction.splines.theory.shallow_space.maxima import MaximaLayers
from creases_reproduction.splines.theory.shallow_space.triangulation import Face, triangulate


@dataclass(frozen=True, eq=False)
class ShallowSpace:
    """A network of few hidden layers that equals a given one inside a box."""

    module: nn.Sequential  #: Linear, ReLU, ..., Linear in float64
    box: Floats  #: (n, 2) bounds of the inputs
    regions: int  #: of the given network in the box
    simplices: int  #: of the triangulations of both convex parts, for all outputs
    gap: float  #: proved: with weights that are not rounded, the largest difference on the regions of the box
    deviation: float  #: largest difference, with weights in float64, at the corners of all regions

    @property
    def widths(self) -> tuple[int, ...]:
        """Units of the hidden layers."""
        return tuple(layer.out_features for layer in list(self.module)[:-1] if isinstance(layer, nn.Linear))


def to_shallow_space(model: Any, box: Any, *, max_regions: int = 20_000, max_simplices: int = 100_000) -> ShallowSpace:
    """Write a network of n inputs, however deep, with at most ``ceil(log2(n + 1))`` hidden layers.

    That is one for one input, two for two and three, and three for four to seven. The network is a difference of two
    convex functions, each the maximum of one affine function for every region. Such a maximum is a signed sum of
    maxima of at most n + 1 of the functions [1]_, found here by a triangulation of their slopes, and a maximum of n + 1
    numbers takes ``ceil(log2(n + 1))`` layers [2]_. All weights are finite; with infinite weights three hidden layers
    are enough for any n [3]_. The functions and the triangulations are computed in integer arithmetic.

    Parameters
    ----------
    model
        A network, a torch module or a file name: a chain of linear layers and (leaky) ReLUs.
    box
        The bounds of the inputs, ``(lo, hi)`` or a pair for each; outside it the two networks may differ.
    max_regions, max_simplices
        The most regions in the box, and simplices of one triangulation; more raise an error.

    Returns
    -------
    ShallowSpace
        Its ``gap`` is a proof of equality: each convex part of the network is compared in integer arithmetic with its
        affine function at the corners of every region, which bounds the difference in between. The ``deviation`` adds
        the rounding of weights and values to float64.

    References
    ----------
    .. [1] Shuning Wang, Xusheng Sun, "Generalization of Hinging Hyperplanes", IEEE Transactions on Information Theory
       51, 2005.
    .. [2] Raman Arora, Amitabh Basu, Poorya Mianjy, Anirbit Mukherjee, "Understanding Deep Neural Networks with
       Rectified Linear Units", ICLR 2018.
    .. [3] Mattia Jacopo Villani, Nandi Schoots, "Any Deep ReLU Network is Shallow", arXiv:2306.11827, 2023.

    Examples
    --------
    >>> import torch
    >>> from creases_reproduction.splines import theory
    >>> _ = torch.manual_seed(0)
    >>> layers = [torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3)]
    >>> deep = torch.nn.Sequential(*layers, torch.nn.ReLU(), torch.nn.Linear(3, 1)).double()
    >>> shallow = theory.to_shallow_space(deep, (-2, 2))
    >>> len(shallow.widths), shallow.gap < 1e-12, shallow.deviation < 1e-12
    (2, True, True)
    """
    net = as_network(model).to("cpu").to(torch.float64)
    max_regions = check_count(max_regions, "max_regions")
    max_simplices = check_count(max_simplices, "max_simplices")
    point_parts(net, np.zeros((1, net.n_in)))  # refuse other networks before the regions are computed
    partition = space(net, box, method="vertices", max_regions=max_regions)
    if not partition.complete:
        raise InputError(
            "max_regions",
            "be at least the number of regions in the box",
            f"{max_regions}, and there are more",
            "raise it, or choose a smaller box or network",
        )
    parts = region_parts(net, partition.sides())
    terms: list[Integers] = []
    sums: list[Counter[Face]] = []
    simplices = first = 0
    for output in range(net.n_out):
        faces: Counter[Face] = Counter()
        for part, sign in ((parts.F, 1), (parts.G, -1)):
            found = triangulate(part[:, output], max_simplices=max_simplices)
            for face, own_sign in found.signed_faces().items():
                faces[tuple(first + k for k in face)] = sign * own_sign
            terms.append(found.terms)
            first += len(found.terms)
            simplices += len(found.simplices)
        sums.append(faces)
    module = MaximaLayers(np.concatenate(terms), parts.shift, partition.box[:, 0]).module(sums)
    deviation = np.abs(as_network(module)(partition.vertices) - partition.values).max()
    return ShallowSpace(
        module, partition.box, partition.count, simplices, _gap(net, partition, parts), float(deviation)
    )


def _gap(net: Network, partition: SpacePartition, parts: ConvexParts) -> float:
    """Return the largest excess of a convex part over its affine function on a region, at the corners of the region.

    A part is at least the maximum of all functions, and convex: between the corners it exceeds the function of a region
    by no more than at the corners. So this bounds the difference of the part and that maximum.
    """
    at = point_parts(net, partition.vertices)
    vertices, shift = as_integers(partition.vertices)
    place = np.concatenate([vertices, np.full((len(vertices), 1), 2**shift, dtype=object)], axis=1)
    owner = np.repeat(np.arange(partition.count), np.diff(partition.starts))
    largest = Fraction(0)
    for functions, values in ((parts.F, at.F), (parts.G, at.G)):
        affine = (functions[owner] * place[partition.corners, None]).sum(axis=2)
        scale = parts.shift + shift  # of affine; of values at.shift
        both = max(scale, at.shift)
        excess = values[partition.corners, :, 0] * 2 ** (both - at.shift) - affine * 2 ** (both - scale)
        largest = max(largest, Fraction(int(np.abs(excess).max(initial=0)), 2**both))
    return float(largest)
