"""The estimators keep scikit-learn's conventions: its own checks, all of them."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator

from creases import GrowingClassifier, GrowingRegressor, TableClassifier, TableRegressor

#: Checks that need a package or a setting that may not be there.
MAY_SKIP = {
    "check_sample_weights_pandas_series",
    "check_classifier_data_not_an_array",
    "check_regressor_data_not_an_array",
    "check_array_api_input",
}


def _check(estimator: Any) -> None:
    for found in check_estimator(estimator, on_skip=None, on_fail=None):
        assert found["status"] == "passed" or found["check_name"] in MAY_SKIP, (found["check_name"], found["exception"])


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", [GrowingClassifier, GrowingRegressor])
def test_check_estimator_passes_with_few_epochs(estimator: Any) -> None:
    _check(estimator(budget=8))


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [pytest.param(TableClassifier, marks=pytest.mark.thorough), TableRegressor],  # the first takes two minutes
)
def test_check_estimator_passes_with_the_default_parameters(estimator: Any) -> None:
    _check(estimator())


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("kind", "how"), [(GrowingClassifier, "tiny"), (GrowingRegressor, "gradmax")])
def test_check_estimator_passes_by_other_methods_and_with_more_layers(kind: Any, how: str) -> None:
    _check(kind(how=how, budget=20, hidden=(4, 4)))
