"""Plane partitions on the network's device: tensors throughout, arrays only at the end."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from creases.regions._plane import complex as planar
from creases.regions._plane import tensors
from creases.regions._plane.mesh import Mesh
from creases.regions._plane.tensors import Loops
from creases.regions._tolerance import SIGN_TOLERANCE


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
