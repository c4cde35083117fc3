"""The model of a table that can be read whole: a curve for each input, planes for a few pairs, as one network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._typing import Floats
from creases.tables._stages.parts import Curve, Plane, Step, Units

if TYPE_CHECKING:
    from creases.network import Network


@dataclass(frozen=True, eq=False)
class CurveModel:
    """A sum of curves, planes and units, which is a ReLU network.

    The scores are the predicted values, the logit of the second of two classes, or one score for each of more. Changing
    a part is making another model, ``dataclasses.replace(model, curves=...)``: the network follows.
    """

    features: tuple[str, ...]  #: names of the d encoded inputs
    n_classes: int  #: 0 for a regression
    intercept: Floats  #: (m,) the scores of a row for which all parts are 0
    curves: Mapping[str, Curve]  #: by input, in their order
    planes: tuple[Plane, ...] = ()
    units: Units | None = None
    steps: tuple[Step, ...] = ()  #: what each stage brought

    @cached_property
    def network(self) -> Network:
        """The same function as a network of encoded rows; with classes it has a logit for each."""
        from creases.network import read
        from creases.tables._stages.module import to_module

        return read(to_module(self))

    @property
    def n_bends(self) -> int:
        """Knots within the ranges of inputs, hinges of planes, and units."""
        knots = {(j, float(q)) for j, curve in enumerate(self.curves.values()) for q in curve.bends}
        spreads = [each.hinges.knots.items() for each in self.planes]
        spreads += [dict(enumerate(self.units.knots)).items()] if self.units else []
        knots |= {(j, float(q)) for spread in spreads for j, each in spread for q in each[1:-1]}
        n_units = len(self.units.biases) if self.units else 0
        return len(knots) + sum(len(each.weights) for each in self.planes) + n_units

    def scores(self, X: Floats) -> Floats:
        """Return the scores (n, m) of encoded rows X (n, d)."""
        result = np.repeat(self.intercept[None], len(X), axis=0)
        for part in self.parts(X).values():
            result += part
        return result

    def parts(self, X: Floats) -> dict[str, Floats]:
        """Return what each curve, each plane and the units add to the scores of encoded rows X (n, d), (n, m) each.

        Together with the intercept they are the scores. The key of a plane is its name, that of the units ``units``.
        """
        X = np.asarray(X, np.float64)
        parts = {name: curve(X[:, j]) for j, (name, curve) in enumerate(self.curves.items())}
        for name, part in self._mixed_parts():
            while name in parts:  # an input may have this name
                name += "'"
            parts[name] = part(X)
        return parts

    def _mixed_parts(self) -> list[tuple[str, Plane | Units]]:
        planes: list[tuple[str, Plane | Units]] = [(plane.name, plane) for plane in self.planes]
        return planes + ([("units", self.units)] if self.units else [])

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain JSON values, from which :meth:`from_dict` makes the same model, bit for bit."""
        from creases.tables._stages.storage import model_to_dict

        return model_to_dict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> CurveModel:
        """Return the model that :meth:`to_dict` stored; ValueError says what is wrong with other values."""
        from creases.tables._stages.storage import model_from_dict

        return model_from_dict(stored)
