"""Errors of estimators say which way works."""

import numpy as np
import pytest

from creases.tables import GrowingClassifier, GrowingRegressor


def test_missing_numbers_point_to_a_data_frame():
    X = np.arange(60.0).reshape(20, 3)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"(?s)contains NaN.*A DataFrame may have missing values"):
        GrowingRegressor().fit(X, np.arange(20.0))


def test_text_points_to_a_data_frame_or_a_classifier():
    with pytest.raises(ValueError, match="classes to predict need a classifier"):
        GrowingRegressor().fit(np.ones((20, 2)), ["a"] * 20)
    with pytest.raises(ValueError, match=r"use creases.fit_table\(table, target\)\."):
        GrowingClassifier().fit(np.array([["a", "b"]] * 20), [0, 1] * 10)
