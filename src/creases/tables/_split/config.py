"""The options of a fit by curves: every one with its default, what it is, and how the command line writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from creases._options import ModelOptions, documents, option
from creases.errors import InputError
from creases.tables._reading.options import pairs


@documents()
@dataclass(frozen=True, kw_only=True)
class CurveConfig(ModelOptions):
    """Options of a fit by curves, with the defaults that every way to start one shares.

    Parameters
    ----------
    {options}
    """

    family: str = option(
        "auto",
        "How a number varies around its mean: normal, poisson, gamma, tweedie or lognormal (in the last four effects "
        "multiply), or quantile:0.9; auto: the one that held-out rows favor.\n"
        "poisson is for counts, tweedie for amounts, 0 included; nine of ten rows are below quantile:0.9. auto tries "
        "normal, poisson and gamma or tweedie.",
        "NAME",
        panel="Model",
    )
    shapes: Mapping[str, str] = option(
        {},
        "Rising, falling, straight or convex in a column, such as age=rising; may be repeated.\n"
        'In Python a mapping, {"age": "rising"}. A shape holds for the whole model: a rising column rises in its '
        "planes too, a straight (no knots) or convex one is in none.",
        "COLUMN=SHAPE",
        flag="--shape",
        panel="Model",
        **pairs("be a column and a shape such as age=rising"),
    )
    refit: bool = option(
        False,
        "Fit the model again to all rows once its scores are known.\n"
        "The scores are those of the model before; then no row is unseen.",
        panel="Model",
        type=bool,
    )

    def __post_init__(self) -> None:
        from creases._validation import check_choice, check_count  # imports numpy
        from creases.tables._stages.families import parse_family

        if not isinstance(self.shapes, Mapping):
            raise InputError("shapes", 'be a mapping such as {"age": "rising"}', type(self.shapes).__name__)
        if self.family != "auto":
            parse_family(self.family)
        self.check()
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
        from creases.tables._folder.records import write_record  # imports numpy

        return write_record(self)
