"""Estimators for tables that keep scikit-learn's conventions."""

from creases.growth.estimators._classifier import GrowingClassifier
from creases.growth.estimators._regressor import GrowingRegressor

__all__ = ["GrowingClassifier", "GrowingRegressor"]
