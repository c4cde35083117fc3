"""What people call the things that explanations number: classes, features, points in the data's own units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from creases.grow.scaling import Scaling

#: Features of a point that are spoken at most: of more, those in which it differs most from the others.
SPOKEN = 6


class Names(TypedDict, total=False):
    """Names that explanations can be given: see :class:`Naming`."""

    classes: Sequence[str] | None
    features: Sequence[str] | None
    scaling: Scaling | None
    instance: str


@dataclass(frozen=True, eq=False)
class Naming:
    """Names for classes, features and instances; without them they go by number."""

    classes: Sequence[str] | None = None
    features: Sequence[str] | None = None
    scaling: Scaling | None = None  #: what the network's inputs and targets were scaled by
    instance: str = "instance"  #: what one sample is called: "row" of a table

    def label(self, number: int) -> str:
        """A class by its name."""
        return str(number) if self.classes is None else str(self.classes[number])

    def one(self, number: int, features: Sequence[float]) -> str:
        """An instance: its number, and its features (d,) where there are few or they have names."""
        values = self.point(features)
        return f"{self.instance} {number}" + (f" {values}" if values else "")

    def some(self, count: int) -> str:
        """So many instances."""
        return f"{count} {self.instance}" + ("" if count == 1 else "s")

    def point(self, x: Sequence[float]) -> str:
        """A point of the input space in the data's own units: ``(length 5.1, width 3.2)``; "" where that is too long.

        A column of 0 and 1 made from a text column (``colour=red``) is spoken where it is 1 only.
        """
        values = np.asarray(x, float) if self.scaling is None else self.scaling.point(x)
        if self.features is None:
            return "" if len(values) > SPOKEN else "(" + ", ".join(map(number, values)) + ")"
        spoken = [_feature(name, value) for name, value in zip(self.features, values, strict=True)]
        told = [k for k, text in enumerate(spoken) if text]
        if len(told) > SPOKEN:
            told = sorted(sorted(told, key=lambda k: -abs(x[k]))[:SPOKEN])
            return "(" + ", ".join(spoken[k] for k in told) + ", ...)"
        return "(" + ", ".join(spoken[k] for k in told) + ")"

    def weighed(self, normal: Sequence[float], most: int = 3) -> str:
        """The features on which most of a direction (d,) lies; "" where they have no names or it tells nothing."""
        sizes = np.abs(np.asarray(normal, float))
        if self.features is None or len(sizes) <= most or len(sizes) != len(self.features):
            return ""
        return ", ".join(self.features[k] for k in np.argsort(-sizes, kind="stable")[:most])

    def difference(self, e: Sequence[float]) -> str:
        """By how much outputs (m,) differ, in the target's own units."""
        spread = 1.0 if self.scaling is None else self.scaling.target_spread
        values = [number(spread * value) for value in e]
        return values[0] if len(values) == 1 else "(" + ", ".join(values) + ")"


def number(value: float) -> str:
    """Three digits and all before the point, as people write them: 0.123, 12.3, 2015, 1.2e-07."""
    return f"{value:.0f}" if 999.5 <= abs(value) < 1e9 else f"{value:.3g}"


def _feature(name: str, value: float) -> str:
    if "=" in name and min(abs(value), abs(value - 1)) < 1e-6:
        return name if value > 0.5 else ""
    return f"{name} {number(value)}"
