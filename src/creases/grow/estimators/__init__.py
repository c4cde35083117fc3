"""Estimators for tables that keep scikit-learn's conventions."""

from creases.grow.estimators.classifier import GrowingClassifier
from creases.grow.estimators.regressor import GrowingRegressor

__all__ = ["GrowingClassifier", "GrowingRegressor"]
