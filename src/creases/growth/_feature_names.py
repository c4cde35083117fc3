"""What people call the things that explanations number: classes, features, points in the data's own units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from creases.growth._scaling import Scaling

#: Features of a point that are spoken at most; of an instance with more, those in which it differs most from others.
SPOKEN = 8


class NameOptions(TypedDict, total=False):
    """Names that explanations can be given: see :class:`Naming`."""

    classes: Sequence[str] | None
    features: Sequence[str] | None
    scaling: Scaling | None
    instance: str


@dataclass(frozen=True, eq=False)
class FeatureNames:
    """Names for classes, features and instances; without them they go by number."""

    classes: Sequence[str] | None = None
    features: Sequence[str] | None = None
    scaling: Scaling | None = None  #: what the network's inputs and targets were scaled by
    instance: str = "instance"  #: what one sample is called: "row" of a table

    def label(self, number: int) -> str:
        """A class by its name."""
        return str(number) if self.classes is None else str(self.classes[number])

    def one(self, number: int, x: Sequence[float]) -> str:
        """An instance: its number and, where there are few or they have names, its features (d,).

        A column of 0 and 1 made from a text column (``colour=red``) is spoken where it is 1 only.
        """
        values = self._values(x)
        if self.features is None:
            return f"{self.instance} {number}" + (f" {self.point(x)}" if len(x) <= SPOKEN else "")
        spoken = [_feature(name, value) for name, value in zip(self.features, values, strict=True)]
        told = [k for k, text in enumerate(spoken) if text]
        chosen = sorted(sorted(told, key=lambda k: -abs(x[k]))[:SPOKEN])
        more = ", ..." if len(told) > SPOKEN else ""
        return f"{self.instance} {number} (" + ", ".join(spoken[k] for k in chosen) + more + ")"

    def some(self, count: int) -> str:
        """So many instances."""
        return f"{count} {self.instance}" + ("" if count == 1 else "s")

    def point(self, x: Sequence[float]) -> str:
        """A point (d,) of the input space: ``(length 5.1, width 3.2)``; "" where that is too long."""
        values = [format_number(value) for value in self._values(x)]
        if len(values) > SPOKEN:
            return ""
        if self.features is not None:
            values = [f"{name} {value}" for name, value in zip(self.features, values, strict=True)]
        return "(" + ", ".join(values) + ")"

    def _values(self, x: Sequence[float]) -> NDArray[np.float64]:
        """A point in the data's own units, without the rounding of the scaling."""
        values = np.asarray(x, np.float64)
        if self.scaling is None:
            return values
        values = self.scaling.point(values)
        return np.where(np.abs(values) < 1e-6 * self.scaling.spread, 0.0, values)

    def away(self, distance: float) -> str:
        """A distance in the space of the scaled inputs."""
        return f"{format_number(distance)}" + ("" if self.scaling is None else " standard deviations")

    def weighed(self, normal: Sequence[float], most: int = 3) -> str:
        """The features on which most of a direction (d,) lies; "" where they have no names or it tells nothing."""
        if self.features is None or len(normal) <= most or len(normal) != len(self.features):
            return ""
        order = np.argsort(-np.abs(np.asarray(normal, np.float64)), kind="stable")
        columns = dict.fromkeys(self.features[k].split("=")[0] for k in order)
        return ", ".join(list(columns)[:most])

    def difference(self, e: Sequence[float]) -> str:
        """By how much outputs (m,) differ, in the target's own units."""
        spread = 1.0 if self.scaling is None else self.scaling.target_spread
        values = [format_number(value) for value in np.asarray(e) * spread]
        return values[0] if len(values) == 1 else "(" + ", ".join(values) + ")"


def format_number(value: float) -> str:
    """Three digits and all before the point, as people write them: 0.123, 12.3, 2015, 1.2e-07."""
    return f"{value:.0f}" if 999.5 <= abs(value) < 1e9 else f"{value:.3g}"


def _feature(name: str, value: float) -> str:
    if "=" not in name:
        return f"{name} {format_number(value)}"
    return name if abs(value - 1) < 1e-6 else ""  # between 0 and 1: the value was missing
