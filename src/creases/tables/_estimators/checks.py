"""Checks of what an estimator is given: rows, targets and weights."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight

from creases._typing import Floats
from creases.errors import InputError


def advise(problem: str, task: str) -> str:
    """Return what works instead of rows or targets that are no numbers; "" for other problems."""
    if "NaN" in problem and "Input X" in problem:
        return "\nA DataFrame may have missing values: pass one to fit, or use creases.fit_table(table, target)."
    if "could not convert string" in problem:
        other = ", and classes to predict need a classifier" if task == "regression" else ""
        return f"\nText belongs into a DataFrame: pass one to fit, or use creases.fit_table(table, target){other}."
    return ""


def is_frame(X: Any) -> bool:
    """Return whether rows are a DataFrame."""
    return hasattr(X, "columns") and hasattr(X, "iloc")


def check_targets(y: Any, task: str) -> Any:
    """Return targets that come with a DataFrame as an array of one type; missing ones are refused."""
    import pandas as pd

    if task == "regression":
        return check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    values = np.asarray(y)
    gaps = pd.isna(values)
    if gaps.any():
        got = f"{int(gaps.sum())} missing, the first in row {int(gaps.reshape(len(values), -1).any(axis=1).argmax())}"
        raise InputError("y", "have no missing values", got, "drop those rows before fitting")
    is_one_type = values.dtype == object and len({type(value) for value in values.ravel()}) == 1
    return np.array(values.tolist()) if is_one_type else values


def check_weights(sample_weight: Any, X: Floats) -> Floats:
    """Return the weights (n,) of rows; negative ones, and weights that are all 0, are refused."""
    weight: Floats = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise InputError("sample_weight", "have at least one positive entry")
    return weight


def make_seed(random_state: Any) -> int:
    """Return the seed of a fit, drawn if the random state is not an integer."""
    is_random = not isinstance(random_state, Integral)
    return int(check_random_state(random_state).randint(2**31 - 1) if is_random else random_state)
