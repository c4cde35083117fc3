"""Keep the predictions and scores of a model and its baselines beside the model, so that reports need not fit again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._files import open_npz, write_atomically
from creases.tables._scores.baselines import Baseline, Metrics
from creases.tables._scores.metrics import ClassificationMetrics, RegressionMetrics
from creases.tables._split.split import TableSplit

#: Predictions of larger tables are not kept: to fit again takes little time beside reading them.
MOST_NUMBERS = 2_000_000


def save_baselines(models: Sequence[Baseline], data: TableSplit, path: Path, *, always: bool = False) -> None:
    """Write predictions and scores of models for the rows of a table, unless there are too many.

    Those of a model that was fitted again to all rows are ``always`` kept: it cannot be scored again.
    """
    arrays: dict[str, NDArray[Any]] = {}
    for k, model in enumerate(models):
        arrays[f"predictions{k}"] = model.predictions
        if model.probabilities is not None:
            arrays[f"probabilities{k}"] = model.probabilities
    if not always and sum(array.size for array in arrays.values()) > MOST_NUMBERS:
        return
    numbers = [
        {
            "name": model.name,
            "scores": [model.train, model.validation, model.test, model.error],
            "metrics": None if model.metrics is None else model.metrics.to_dict(),
        }
        for model in models
    ]
    with write_atomically(path) as temporary:
        np.savez_compressed(
            temporary, rows=_fingerprint(data), numbers=np.array(json.dumps(numbers)), allow_pickle=False, **arrays
        )


def load_baselines(path: Path, data: TableSplit) -> list[Baseline] | None:
    """Return the models of a file; None if there is none, or it is damaged or of other rows."""
    if not path.is_file():
        return None
    try:
        with open_npz(path) as arrays:
            if not np.array_equal(arrays["rows"], _fingerprint(data)):
                return None
            numbers = json.loads(str(arrays["numbers"]))
            return [_read_model(arrays, k, entry) for k, entry in enumerate(numbers)]
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _read_model(arrays: Any, k: int, entry: dict[str, Any]) -> Baseline:
    train, validation, test, error = entry["scores"]
    probabilities = arrays.get(f"probabilities{k}")
    metrics = None if entry["metrics"] is None else _read_metrics(entry["metrics"])
    return Baseline(
        entry["name"], arrays[f"predictions{k}"], train, validation, test, error, probabilities, metrics
    )  # fmt: skip


def _read_metrics(values: dict[str, Any]) -> Metrics:
    values = {name: _as_tuple(value) for name, value in values.items()}
    return ClassificationMetrics(**values) if "accuracy" in values else RegressionMetrics(**values)


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def _fingerprint(data: TableSplit) -> NDArray[np.uint8]:
    """Return a digest (32,) of the rows, the targets and the split."""
    digest = hashlib.sha256()
    for array in (data.problem.X, data.problem.y, *data.parts):
        digest.update(np.ascontiguousarray(array).tobytes())
    return np.frombuffer(digest.digest(), np.uint8)
