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
    from creases.regions._boundary import Boundary as Boundary
    from creases.regions._cell import Cell as Cell
    from creases.regions._cell import Explanation as Explanation
    from creases.regions._cell import cell as cell
    from creases.regions._counts import bounds as bounds
    from creases.regions._counts import estimate_regions as estimate_regions
    from creases.regions._decision import DecisionPolytope as DecisionPolytope
    from creases.regions._decision import decision_polytopes as decision_polytopes
    from creases.regions._line.line import line as line
    from creases.regions._line.line import lines as lines
    from creases.regions._line.partition import LinePartition as LinePartition
    from creases.regions._plane.partition import PlanePartition as PlanePartition
    from creases.regions._plane.plane import compile_kernels as compile_kernels
    from creases.regions._plane.plane import plane as plane
    from creases.regions._plane.plane import plane_through as plane_through
    from creases.regions._plane.tiles import PlaneTiles as PlaneTiles
    from creases.regions._plane.tiles import plane_tiles as plane_tiles
    from creases.regions._space.partition import SpacePartition as SpacePartition
    from creases.regions._space.space import space as space
    from creases.regions._topology import Topology as Topology
    from creases.regions._tropical import tropical as tropical

__getattr__, __dir__, __all__ = open_on_use(__name__)
