"""A table fitted by stages: lines, curves, planes, units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Ints
from creases.errors import InputError
from creases.tables._fit.threshold import best_threshold
from creases.tables._model.table_model import TableModel
from creases.tables._split.split import TableSplit
from creases.tables._stages.fit import fit_stages
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.model import CurveModel

if TYPE_CHECKING:
    from creases.tables._encoding.encoding import TableEncoding
    from creases.tables._split.options import CurveConfig
    from creases.tables._streaming.table import StreamedTable


def fit_curve_model(
    data: TableSplit,
    config: CurveConfig,
    *,
    features: Sequence[str],
    classes: Sequence[Any] | None,
    targets: Sequence[str],
    encoding: TableEncoding | None,
    labels: NDArray[Any] | None = None,
    stream: StreamedTable | None = None,
) -> TableModel:
    """Fit a sum of curves, planes and units to all rows of a split but those to test with.

    Every way to fit a table goes through here: :func:`creases.fit_table`, the estimators, ``creases grow``. With a
    ``stream``, ``data`` are a sample of its rows. With ``config.refit`` the model is then fitted to all rows.
    """
    named: dict[str, Any] = {"features": features, "classes": classes, "targets": targets, "encoding": encoding}
    model = _fit(data, config, **named, labels=labels, stream=stream)
    if not config.refit or not len(data.parts[2]):
        return model
    every = None if stream is None else stream.without_test()
    again = _fit(data.without_test(), config, **named, labels=labels, stream=every)
    before, total = model.n_rows, again.n_rows["train"]
    note = (
        f"fitted again to all {total:,} rows: the scores are those of the model before, fitted to {before['train']:,} "
        f"of them and tested on {before['test']:,}"
    )
    notes = [*again.notes, note]
    return replace(again, facts={**again.facts, "notes": notes, "scored": model})


def _describe_sample(data: TableSplit, stream: StreamedTable) -> str:
    """Say that the models in the scores beside one that was fitted to all rows were fitted to fewer."""
    fitted = f"{len(data.train) + len(data.validation):,} of the {stream.n_train:,} rows"
    return (
        f"the other models in the scores were fitted to a sample of {fitted}, rare categories pooled as in this model"
    )


def _fit(
    data: TableSplit,
    config: CurveConfig,
    *,
    features: Sequence[str],
    classes: Sequence[Any] | None,
    targets: Sequence[str],
    encoding: TableEncoding | None,
    labels: NDArray[Any] | None,
    stream: StreamedTable | None,
) -> TableModel:
    from threadpoolctl import threadpool_limits

    if config.threshold != 0.5 and (classes is None or len(classes) != 2):
        raise InputError("threshold", "be 0.5 unless there are two classes", repr(config.threshold))
    used = np.sort(np.concatenate(data.parts[:2]))
    n_classes = 0 if classes is None else len(classes)
    n_scores = len(targets) if classes is None else 1 if n_classes == 2 else n_classes
    X = data.rows.X[used]
    inputs = Inputs.from_table(X, features, encoding, shapes=config.shapes, n_scores=n_scores)
    options: dict[str, Any] = {"n_classes": n_classes, "among": used, "seed": config.seed, "ensemble": config.ensemble}
    with threadpool_limits(1):  # products of matrices are rounded in another way by more threads
        function, held = fit_stages(data.rows, inputs, **options, stream=None if stream is None else stream.rows)
    if data.source is not None and data.source.rows is not None:
        function = _number_reasons(function, data.source.rows)
    center, spread = data.moments if stream is None else (stream.center, stream.spread)
    threshold = config.threshold
    if isinstance(threshold, str):  # by rows that the fits have not seen
        threshold = best_threshold(held.scores[:, 0], data, held.rows, held.weight, threshold)
    facts: dict[str, Any] = {} if stream is None else {"rows": {"train": stream.n_train, "test": stream.n_test}}
    notes = [data.rows.describe_copies(), "" if stream is None else _describe_sample(data, stream)]
    if any(notes):
        facts["notes"] = list(filter(None, notes))
    return TableModel(
        function=function,
        features=tuple(features),
        classes=None if classes is None else tuple(map(str, classes)),
        targets=tuple(targets),
        encoding=encoding,
        labels=labels,
        center=center,
        spread=spread,
        ranges=np.stack([X.min(axis=0), X.max(axis=0)], axis=1) if stream is None else stream.ranges,
        data=data,
        threshold=threshold,
        facts=facts,
    )


def _number_reasons(function: CurveModel, rows: Ints) -> CurveModel:
    """Return a model whose units' reasons number rows as the table does, some of which were left out: rows (n,)."""
    units = function.units
    if units is None:
        return function
    reasons = [each if each.row is None else replace(each, row=int(rows[each.row])) for each in units.reasons]
    return replace(function, units=replace(units, reasons=tuple(reasons)))
