"""Subdivision of a plane by every bend: on the CPU, on a GPU, or by the units that change side, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._program import unit_of_bit
from creases._typing import Floats, Progress
from creases.network import Network
from creases.regions._plane import complex as planar
from creases.regions._plane import tensors
from creases.regions._plane.complex import (
    BendUnits,
    Complex,
    MemoryLimitError,
    Mesh,
    components,
    flatten_units,
    join_regions,
)
from creases.regions._plane.forward_pass import PlaneForwardPass, SliceForwardPass
from creases.regions._plane.tensors import Loops
from creases.regions._tolerance import SIGN_TOLERANCE

#: In networks with a wider bend, or a choice, values are computed from the units that change side.
WIDE = 1024


def has_choice(net: Network) -> bool:
    return any(net.steps[i].op == "choice" for i in net.bends)


def is_wide(net: Network) -> bool:
    """Whether values are computed from the units that change side instead of a forward pass."""
    return has_choice(net) or bool(np.diff(net.unit_starts).max(initial=0) > WIDE)


def subdivide(
    net: Network,
    part: Complex | DeviceComplex,
    origin: Floats,
    basis: Floats,
    progress: Progress | None,
) -> tuple[Floats | None, int | None]:
    """Subdivide the complex, in place, by every bend; return the output (V, n_out) at its vertices.

    Where values at all vertices take too much memory, return the first bend that is left, and no output.
    """
    start, directions = (torch.from_numpy(a).to(net.device) for a in (origin, basis))
    with torch.no_grad():
        forward = SliceForwardPass(net, torch.as_tensor(part.vertices, device=net.device), start, directions)
        while (z := forward.advance()) is not None:
            known = len(part.vertices)
            choice = net.steps[net.bends[forward.bend]].op == "choice"
            flat, terms = flatten_units(z, choice=choice), flatten_units(forward.terms, choice=choice)[0]
            try:
                Z = part.subdivide(flat, terms, forward.bend, int(net.unit_starts[forward.bend]), choice=choice)
            except MemoryLimitError:  # raised by Complex alone
                return None, forward.bend
            added = torch.as_tensor(part.vertices[known:], device=net.device)
            forward.extend(added, None if Z is None else torch.as_tensor(Z).reshape(-1, *z.shape[1:]))
            if progress is not None and isinstance(part, DeviceComplex):  # a Complex reports by itself
                progress("finding regions", part.count, None)
        return forward.output.cpu().numpy(), None


def subdivide_by_changing_units(
    net: Network,
    part: Complex,
    origin: Floats,
    basis: Floats,
    box: Floats,
    memory: int,
    progress: Progress | None,
    first_bend: int = 0,
) -> PlaneForwardPass:
    """Subdivide the complex, in place, by the units that change side, and return the forward pass at its end.

    Bends before ``first_bend`` have been processed.
    """
    forward = PlaneForwardPass(net, origin, basis, box)
    with torch.no_grad():
        while (found := forward.advance(part.vertices)) is not None:
            if found.bend >= first_bend:
                cut_in_groups(part, found, forward, memory, progress)
    return forward


def cut_in_groups(
    part: Complex, found: BendUnits, forward: PlaneForwardPass, memory: int, progress: Progress | None
) -> None:
    """Split by the units of the current bend that change side, as many at a time as memory allows."""
    first, size = 0, len(found.units)
    while True:
        size = max(1, min(size, memory // (8 * found.columns * 4 * len(part.vertices))))
        group = slice(first, first + size)
        units = found.units[group]
        bound = None if size == 1 else memory  # a single unit is always cut
        try:
            part.cut(
                forward.pre_activations(part.vertices, group),
                found.terms[group],
                found.bend,
                found.first_unit + units,
                choice=found.choice,
                units=units,
                sides=found.sides,
                memory=bound,
            )
        except MemoryLimitError:
            size //= 4
            continue
        if progress is not None:
            progress("finding regions", part.count, None)
        first += len(units)
        if first >= len(found.units):
            return


@dataclass
class DeviceComplex:
    """As :class:`creases.regions._plane.complex.Complex`, with tensors and no cut edges."""

    vertices: Tensor  #: (V, 2)
    ends: Tensor  #: (E, 2)
    label: Tensor  #: (E,)
    loops: Loops
    signs: list[planar.Signs] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of regions."""
        return len(self.loops.sizes)

    @classmethod
    def from_mesh(cls, mesh: Mesh, device: torch.device) -> DeviceComplex:
        """Move a finished complex to a device, ready for subdivision."""
        parts = (mesh.vertices, mesh.ends, mesh.label, mesh.corners, mesh.corner_edges, mesh.starts)
        X, ends, label, corners, edges, starts = (torch.from_numpy(part).to(device) for part in parts)
        loops = Loops(corners.long(), edges.long(), starts.long())
        return cls(X, ends.long(), label.long(), loops)

    def mesh(self) -> Mesh:
        """Return the complex as arrays."""
        region, corners, edges = self.loops.region(), self.loops.corners, self.loops.edges
        sides = torch.full_like(self.ends, -1)
        sides[edges, (self.ends[edges, 0] != corners).long()] = region
        arrays = (self.ends, self.label, sides, corners, edges, self.loops.starts)
        return Mesh(self.vertices.cpu().numpy(), *(array.int().cpu().numpy() for array in arrays))

    def subdivide(self, z: Tensor, terms: Tensor, bend: int, first_unit: int, *, choice: bool) -> Tensor | None:
        """As :meth:`Complex.subdivide`; a choice goes through the compiled kernel on the CPU."""
        if choice:
            part = planar.Complex.from_mesh(self.mesh())
            part.subdivide(z.cpu(), terms.cpu(), bend, first_unit, choice=True)
            fresh = DeviceComplex.from_mesh(part.mesh(), z.device)
            self.vertices, self.ends, self.label, self.loops = fresh.vertices, fresh.ends, fresh.label, fresh.loops
            self.signs += part.signs
            return None
        labels = torch.arange(first_unit, first_unit + z.shape[1], device=z.device)
        self.vertices, Z, self.ends, self.label, self.loops, parent, positive = tensors.subdivide(
            self.vertices, z, SIGN_TOLERANCE * terms, labels, self.ends, self.label, self.loops
        )
        words = positive.cpu().numpy().view(np.uint64)
        self.signs.append(planar.Signs(bend, parent.int().cpu().numpy(), words, words))
        return Z


def merge_by_pattern(net: Network, mesh: Mesh, patterns: NDArray[np.uint8]) -> tuple[Mesh, NDArray[np.uint8]]:
    """Merge parts of regions: a choice is split along ties of pairs, also where a third candidate is larger.

    An edge may come from a unit that does not change there while another does (windows that overlap): it gets the first
    unit that changes.
    """
    left, right = mesh.regions.T
    inner = (left >= 0) & (right >= 0)
    different = patterns[left] ^ patterns[right]
    changes = inner & different.any(axis=1)
    group = components(len(mesh.starts) - 1, mesh.regions[inner & ~changes])
    merged = np.empty((group.max() + 1, patterns.shape[1]), np.uint8)
    merged[group] = patterns
    label = mesh.label.copy()
    bits = different[changes]  # the first that is set names the unit
    byte = (bits != 0).argmax(axis=1)
    lowest = np.unpackbits(bits[np.arange(len(bits)), byte][:, None], axis=1, bitorder="little").argmax(axis=1)
    label[changes] = unit_of_bit(net)[8 * byte + lowest]
    return join_regions(replace(mesh, label=label), group), merged
