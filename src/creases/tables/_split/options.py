"""The options of a fit by curves, and those that every way to split a table needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, Self

from creases._validation import check_choice, check_class_weight, check_count, check_number, check_threshold
from creases.errors import InputError


class SplitOptions(Protocol):
    """What a split needs of a configuration: of ``CurveConfig`` or ``creases.growth.GrowthConfig``."""

    @property
    def validation_fraction(self) -> float: ...
    @property
    def test_fraction(self) -> float: ...
    @property
    def standardize(self) -> bool: ...
    @property
    def class_weight(self) -> str | Mapping[str, float] | None: ...
    @property
    def seed(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class CurveConfig:
    """Options of a fit by curves, with the defaults that every way to start one shares.

    Parameters
    ----------
    shapes
        By column: "rising", "falling", "straight" or "convex".
    ensemble
        How often units are trained, from different starts; the units of all trainings are in the network. With more
        than 1 units are tried even where those of the first fold do not help; they must still pay.
    test_fraction
        Fraction of the rows that are only tested with.
    class_weight
        "balanced", or weights of classes by name.
    threshold
        Probability above which the second of two classes is predicted, or the score that it maximizes.
    seed
        Seed of the split and the folds.
    refit
        Whether the model is fitted again to all rows, those to test with included, once it has been scored. The scores
        are those of the model before; then no row is unseen.
    """

    shapes: Mapping[str, str] = field(default_factory=dict)
    ensemble: int = 1
    test_fraction: float = 0.2
    class_weight: str | Mapping[str, float] | None = None
    threshold: float | str = 0.5
    seed: int = 0
    refit: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.shapes, Mapping):
            raise InputError("shapes", 'be a mapping such as {"age": "rising"}', type(self.shapes).__name__)
        check_count(self.ensemble, "ensemble", least=1)
        check_number(self.test_fraction, "test_fraction", least=0, below=1)
        check_class_weight(self.class_weight)
        check_threshold(self.threshold)
        check_count(self.seed, "seed", least=0)
        check_choice(self.refit, (True, False), "refit")

    @property
    def validation_fraction(self) -> float:
        """0: folds of all rows but the test rows judge the stages."""
        return 0.0

    @property
    def standardize(self) -> bool:
        """True: distances are in standard deviations."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """Return the options that differ from the defaults, for JSON."""
        usual = CurveConfig()
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: value for name, value in values.items() if value != getattr(usual, name)}

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Self:
        """Return the configuration that :meth:`to_dict` wrote."""
        return cls(**options)
