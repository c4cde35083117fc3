"""Names for the classes, features and samples of explanations, and points in the data's units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from creases._text import format_number, plural
from creases.growth._scaling import Scaling

#: Features of a sample that are written, at most: those in which it differs most from the mean.
MAX_FEATURES = 8


class NameOptions(TypedDict, total=False):
    """Names for explanations, see :class:`FeatureNames`."""

    classes: Sequence[str] | None
    features: Sequence[str] | None
    scaling: Scaling | None
    instance: str


@dataclass(frozen=True, eq=False)
class FeatureNames:
    """Names for classes, features and samples; numbers by default."""

    classes: Sequence[str] | None = None
    features: Sequence[str] | None = None
    scaling: Scaling | None = None  #: of the network's inputs and targets
    instance: str = "sample"  #: the word for one sample, such as "row"

    def label(self, number: int) -> str:
        """Return the name of a class: ``'setosa'``, or ``class 0`` without names, or with a number as name."""
        name = str(number if self.classes is None else self.classes[number])
        return f"class {name}" if _is_number(name) else repr(name)

    def sample(self, number: int, x: Sequence[float]) -> str:
        """Return a sample's number and, if they are few or have names, its features (d,).

        A column of 0 and 1 made from a text column (``color=red``) is written only if it is 1.
        """
        values = self._values(x)
        if self.features is None:
            return f"{self.instance} {number}" + (f" {self.point(x)}" if len(x) <= MAX_FEATURES else "")
        texts = [_feature_text(name, value) for name, value in zip(self.features, values, strict=True)]
        present = [k for k, text in enumerate(texts) if text]
        largest = sorted(sorted(present, key=lambda k: -abs(x[k]))[:MAX_FEATURES])
        more = ", ..." if len(present) > MAX_FEATURES else ""
        return f"{self.instance} {number} (" + ", ".join(texts[k] for k in largest) + more + ")"

    def samples(self, count: int) -> str:
        """Return a number of samples with its noun."""
        return plural(count, self.instance)

    def samples_of_class(self, count: int, number: int) -> str:
        """Return a number of samples of a class: ``12 'setosa' rows``, or ``12 rows of class 0`` without names."""
        label = self.label(number)
        if label.startswith("class "):
            return f"{self.samples(count)} of {label}"
        return plural(count, f"{label} {self.instance}")

    def point(self, x: Sequence[float]) -> str:
        """Return a point (d,) of the input space as ``(length 5.1, width 3.2)``; "" if that is too long."""
        values = [format_number(value) for value in self._values(x)]
        if len(values) > MAX_FEATURES:
            return ""
        if self.features is not None:
            values = [f"{name} {value}" for name, value in zip(self.features, values, strict=True)]
        return "(" + ", ".join(values) + ")"

    def _values(self, x: Sequence[float]) -> NDArray[np.float64]:
        """Return a point in the data's units, without the rounding of the scaling."""
        values = np.asarray(x, np.float64)
        if self.scaling is None:
            return values
        values = self.scaling.point(values)
        return np.where(np.abs(values) < 1e-6 * self.scaling.spread, 0.0, values)

    def distance(self, distance: float) -> str:
        """Return a distance in the space of the scaled inputs."""
        return f"{format_number(distance)}" + ("" if self.scaling is None else " standard deviations")

    def main_features(self, normal: Sequence[float], max_features: int = 3) -> str:
        """Return the features with the largest entries of a direction (d,); "" without names or for few features."""
        if self.features is None or len(normal) <= max_features or len(normal) != len(self.features):
            return ""
        order = np.argsort(-np.abs(np.asarray(normal, np.float64)), kind="stable")
        columns = dict.fromkeys(self.features[k].split("=")[0] for k in order)
        return ", ".join(list(columns)[:max_features])

    def difference(self, e: Sequence[float]) -> str:
        """Return a difference of outputs (m,) in the target's units."""
        spread = 1.0 if self.scaling is None else self.scaling.target_spread
        values = [format_number(value) for value in np.asarray(e) * spread]
        return values[0] if len(values) == 1 else "(" + ", ".join(values) + ")"


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _feature_text(name: str, value: float) -> str:
    if "=" not in name:
        return f"{name} {format_number(value)}"
    return name if abs(value - 1) < 1e-6 else ""  # between 0 and 1: the value was missing
