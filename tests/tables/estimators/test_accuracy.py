"""On the tables that scikit-learn ships the estimators are about as good as its linear models at their defaults.

The folds are not those on which the estimators' defaults were chosen; bench/growth_tables.py has more tables.
"""

import pytest
from sklearn import datasets
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from creases import GrowingClassifier, GrowingRegressor


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_it_classifies_within_two_hundredths_of_a_logistic_regression(name: str) -> None:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    folds = StratifiedKFold(3, shuffle=True, random_state=11)
    grown, linear = (
        cross_val_score(model, X, y, cv=folds).mean()
        for model in (GrowingClassifier(random_state=11), LogisticRegression())
    )
    assert grown > linear - 0.02


@pytest.mark.slow
@pytest.mark.thorough
def test_it_fits_within_five_hundredths_of_a_linear_regression() -> None:
    X, y = datasets.load_diabetes(return_X_y=True)
    folds = KFold(3, shuffle=True, random_state=11)
    grown, linear = (
        cross_val_score(model, X, y, cv=folds).mean()
        for model in (GrowingRegressor(random_state=11), LinearRegression())
    )
    assert grown > linear - 0.05
