"""Exact partitions of lines, planes and boxes into the regions where a network is affine.

``cell`` returns the region of one input, in any dimension; ``line``, ``plane``, ``plane_through`` three points and
``space`` return all regions of a segment, of a plane through input space and of a box; ``plane_tiles`` writes a plane
that is too large for memory to files; ``lines`` follows a network along many segments at once; ``estimate_regions``
says what to expect before long work. ``decision_polytopes`` is the set where a class is decided, ``bounds`` limits the
number of regions, ``tropical`` writes a small network as a difference of max-polynomials.

Sub-modules: :mod:`creases.regions.diagnostics` (statistics and verification of a partition) and
:mod:`creases.regions.geometry` (polytopes and half-spaces).

>>> import creases
>>> net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])  # relu(x0) + relu(x1) - 1
>>> creases.line(net, [-1, 0.5], [1, 0.5]).breakpoints.tolist()
[0.5]
>>> partition = creases.plane(net, box=[(-1, 1), (-1, 1)])
>>> partition.count, partition.areas().sum().item()
(4, 4.0)
>>> partition.locate([(0.5, 0.5)]) == partition.locate([(0.25, 0.75)])
array([ True])
>>> partition.boundary().polylines()[0].tolist() in ([[0, 1], [1, 0]], [[1, 0], [0, 1]])
True
>>> creases.cell(net, [0.25, 0.5]).crease_distance
0.25
"""

from typing import TYPE_CHECKING

from creases._doors import open_on_use

if TYPE_CHECKING:
    from creases.regions._boundary import Boundary
    from creases.regions._cell import Cell, Explanation, cell
    from creases.regions._counts import bounds, estimate_regions
    from creases.regions._decision import DecisionPolytope, decision_polytopes
    from creases.regions._line.line import line, lines
    from creases.regions._line.partition import LinePartition
    from creases.regions._plane.plane import PlanePartition, compile_kernels, plane, plane_through
    from creases.regions._plane.tiles import PlaneTiles, plane_tiles
    from creases.regions._space.partition import SpacePartition
    from creases.regions._space.space import space
    from creases.regions._tropical import tropical

__all__ = [
    "Boundary",
    "Cell",
    "DecisionPolytope",
    "Explanation",
    "LinePartition",
    "PlanePartition",
    "PlaneTiles",
    "SpacePartition",
    "bounds",
    "cell",
    "compile_kernels",
    "decision_polytopes",
    "estimate_regions",
    "line",
    "lines",
    "plane",
    "plane_through",
    "plane_tiles",
    "space",
    "tropical",
]

_HOMES = {
    "_boundary": ("Boundary",),
    "_cell": ("Cell", "Explanation", "cell"),
    "_counts": ("bounds", "estimate_regions"),
    "_decision": ("DecisionPolytope", "decision_polytopes"),
    "_line.line": ("line", "lines"),
    "_line.partition": ("LinePartition",),
    "_plane.plane": ("PlanePartition", "compile_kernels", "plane", "plane_through"),
    "_plane.tiles": ("PlaneTiles", "plane_tiles"),
    "_space.partition": ("SpacePartition",),
    "_space.space": ("space",),
    "_tropical": ("tropical",),
}
__getattr__ = open_on_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
