"""All regions of a plane through input space, exactly."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, cast

import torch

from creases._schema import BOOL
from creases._text import plural
from creases._typing import Progress
from creases._validation import check_arguments, check_box
from creases.errors import InputError
from creases.network import NetworkLike, PointsLike, as_network, read
from creases.regions._boundary import box_around, check_slice, slice_through
from creases.regions._plane.complex import Complex, box_mesh
from creases.regions._plane.partition import PlanePartition
from creases.regions._plane.patterns import region_patterns
from creases.regions._plane.perceptron import subdivide_perceptron
from creases.regions._plane.subdivision import (
    DeviceComplex,
    has_choice,
    is_wide,
    merge_by_pattern,
    subdivide,
    subdivide_by_changing_units,
)
from creases.regions._resources import MemoryLimit, no_progress

#: Bytes that values at vertices may take on the CPU; beyond that, units are processed a few at a time.
MEMORY = 2**31

#: Bytes held while a complex is subdivided, as a multiple of those of its arrays: copies of them, and of their parts.
COPIES = 8

#: Space around three points, as a fraction of their extent.
MARGIN = 0.25


@check_arguments(exact=BOOL)
def plane(
    net: NetworkLike,
    box: Any = (-1, 1),
    origin: PointsLike | None = None,
    basis: PointsLike | None = None,
    *,
    exact: bool = False,
    max_memory: float | None = None,
    progress: Progress | None = None,
) -> PlanePartition:
    """Return all regions of a network in a box of the plane ``x = origin + basis t``.

    Parameters
    ----------
    net
        A network, torch module or file name, of any input dimension. On a GPU the whole subdivision runs there; on a
        CPU values are computed on as many threads as torch uses, with the same result.
    box
        ``(lo, hi)`` for both coordinates of t, or a pair for each.
    origin, basis
        A point (n_in,) and two directions (n_in, 2); for a network of two inputs the default is the input plane.
    exact
        Decide every sign in filtered exact arithmetic: no sliver is lost, no coincidence missed. Slower.
    max_memory
        About how many bytes the work may hold; no limit by default. Beyond it :class:`creases.errors.LimitError` says
        how many regions there were; :func:`plane_tiles` needs little memory. Not accepted with ``exact``, whose numbers
        have no fixed size, and on a GPU, where torch raises its own error when memory is full.
    progress
        Called with the number of regions so far, after every bend and, in large partitions, within one; in small
        ones of perceptrons at the end. An exception raised by it ends the computation.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1, 0], [0, 1]], [0, 0]), ([[1, 1]], [0])])
    >>> creases.plane(net, box=[(-1, 1), (-1, 1)]).count
    4
    """
    net = as_network(net)
    bounds = check_box(box, 2)
    start, directions = check_slice(net, origin, basis)
    limit = MemoryLimit(max_memory, "choose a smaller box, or use plane_tiles, whose memory is bounded by one tile")
    if max_memory is not None and (exact or net.device.type != "cpu"):
        raise InputError("max_memory", "be left out in exact arithmetic and on a GPU", f"{max_memory:g} bytes")
    memory = limit.block(MEMORY)
    if exact:
        from creases.regions._exact import exact_plane

        mesh, patterns = exact_plane(net, bounds, start, directions, progress or no_progress)
        if has_choice(net):
            mesh, patterns = merge_by_pattern(net, mesh, patterns)
        return PlanePartition.from_mesh(net, bounds, start, directions, mesh, patterns)
    start_mesh = box_mesh(bounds)
    if net.device.type == "cpu" and not is_wide(net):
        small = subdivide_perceptron(net, start_mesh, start, directions, memory)
        if small is not None:
            found = PlanePartition.from_mesh(net, bounds, start, directions, *small)
            if progress is not None:
                progress("finding regions", found.count, None)
            return found
    double = net.to(torch.float64)
    part: Complex | DeviceComplex
    if net.device.type == "cpu":
        part = Complex.from_mesh(start_mesh, memory)

        def report(count: int, part: Complex = part) -> None:
            limit.check(COPIES * part.nbytes * count / part.count, plural(count, "region"))
            if progress is not None:
                progress("finding regions", count, None)

        part.report = report
    else:
        part = DeviceComplex.from_mesh(start_mesh, net.device)
    forward = values = None
    bend: int | None = 0
    if not isinstance(part, Complex) or not is_wide(net):
        values, bend = subdivide(double, part, start, directions, progress)
    if bend is not None:
        some = cast(Complex, part)
        forward = subdivide_by_changing_units(double, some, start, directions, bounds, memory, progress, bend)
    mesh, patterns = part.mesh(), region_patterns(net, part.signs, memory)
    if has_choice(net):
        mesh, patterns = merge_by_pattern(net, mesh, patterns)
        values = None
    if forward is not None:
        values = forward.output(mesh.vertices)
    return PlanePartition.from_mesh(net, bounds, start, directions, mesh, patterns, values)


@check_arguments(exact=BOOL)
def plane_through(
    net: NetworkLike,
    a: PointsLike,
    b: PointsLike,
    c: PointsLike,
    *,
    margin: float = MARGIN,
    exact: bool = False,
    max_memory: float | None = None,
    progress: Progress | None = None,
) -> PlanePartition:
    """Return all regions of a network in the plane through three points.

    The origin is a, the basis follows by Gram-Schmidt: the points' slice coordinates are (0, 0), (|b - a|, 0) and
    those of c.

    Parameters
    ----------
    net
        A network, torch module or file name.
    a, b, c
        Points in the model's input shape or flattened, not on one line.
    margin
        The box contains the three points and this fraction of their extent around them.
    exact, max_memory, progress
        As for :func:`plane`.
    """
    net = as_network(net)
    origin, basis, t = slice_through(net, [a, b, c])
    return plane(net, box_around(t, margin), origin, basis, exact=exact, max_memory=max_memory, progress=progress)


def compile_kernels(announce: Callable[[], None]) -> None:
    """Load the kernels of the plane, or compile them, which takes seconds once per machine.

    Parameters
    ----------
    announce
        Called before kernels are compiled; not where numba's cache holds them, nor without numba.
    """
    if importlib.util.find_spec("numba") is None:
        return
    from creases._compiled import is_cached
    from creases.regions._plane import kernel

    if not is_cached(kernel):
        announce()
    plane(read([([[1.0, 1.0]], [0.0]), ([[1.0]], [-0.5])])).boundary()  # numba compiles on first use
