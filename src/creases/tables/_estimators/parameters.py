"""The parameters of an estimator as a configuration, in which they are checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

from sklearn.utils import check_random_state

from creases.errors import InputError
from creases.growth import GrowthConfig
from creases.tables._fit.fit_table import make_config
from creases.tables._split.options import CurveConfig

if TYPE_CHECKING:
    from creases.tables._estimators.base import GrowingEstimator

#: Parameters that both kinds of model have; all others belong to growth by units.
SHARED = ("kind", "shapes", "kinds", "ensemble", "class_weight", "threshold", "random_state", "verbose")


def make_curve_config(estimator: GrowingEstimator, decisions: Mapping[str, Any], validation: Any) -> CurveConfig:
    """Return the parameters of a fit by curves; those of growth are refused.

    ``decisions`` are options that only a classifier has.
    """
    if validation is not None:
        raise InputError("validation", 'be given with kind="network" only', hint="folds judge the stages of curves")
    usual: dict[str, Any] = type(estimator)().get_params(deep=False)
    for name, value in estimator.get_params(deep=False).items():
        if name not in SHARED and value is not usual[name] and value != usual[name]:
            expected = f'be {usual[name]!r}, its default, with kind="curves"'
            raise InputError(name, expected, repr(value), "use {0}", [("kind", "network")])
    options = {"seed": make_seed(estimator.random_state), "test_fraction": 0.0, **decisions}
    return CurveConfig(shapes=estimator.shapes or {}, ensemble=estimator.ensemble, **options)


def make_growth_config(estimator: GrowingEstimator, decisions: Mapping[str, Any]) -> GrowthConfig:
    """Return the parameters as a configuration; they are checked here, not in ``__init__``."""
    curves: dict[str, Any] = {"shapes": estimator.shapes} if estimator.shapes else {}
    if estimator.ensemble != CurveConfig.ensemble:
        curves["ensemble"] = estimator.ensemble
    make_config("network", curves)  # refuses them
    config = GrowthConfig(
        loop=estimator.loop,  # type: ignore[arg-type]  # checked there
        how=estimator.how,
        hidden=estimator.hidden,
        max_units=estimator.max_units,
        max_parameters=estimator.max_parameters,
        weight_decay=estimator.weight_decay,
        lr=estimator.lr,
        batch_size=estimator.batch_size,
        budget=estimator.budget,
        growth_share=estimator.growth_share,
        growth_patience=estimator.growth_patience,
        validation_fraction=estimator.validation_fraction,
        test_fraction=0.0,
        standardize=bool(estimator.standardize),
        seed=make_seed(estimator.random_state),
        **decisions,
    )
    return config if estimator.early_stopping else replace(config, validation_fraction=0.0)


def make_seed(random_state: Any) -> int:
    """Return the seed of a fit, drawn if the random state is not an integer."""
    is_random = not isinstance(random_state, Integral)
    return int(check_random_state(random_state).randint(2**31 - 1) if is_random else random_state)
