"""``fit_table``: a table in, its model out."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from creases._options import options_of
from creases.errors import ColumnWarning, InputError
from creases.problems import Problem
from creases.tables._encoding.encoding import TableEncoding
from creases.tables._fit.doubtful_columns import settle_columns
from creases.tables._model.predictions import hold_rows
from creases.tables._model.row_model import count_rows
from creases.tables._model.schema import Facts, RowSchema
from creases.tables._model.table_model import TableModel
from creases.tables._reading.files import is_stream
from creases.tables._reading.options import CurveConfig, ReadOptions
from creases.tables._reading.table import find_table_files, read_with
from creases.tables._scores.baselines import best_threshold
from creases.tables._split.split import TableSplit, describe_crossings
from creases.tables._stages.families import family_with_exposure
from creases.tables._stages.fit import fit_stages
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.model import CurveModel

if TYPE_CHECKING:
    from creases.tables._folder.settings import FitSettings
    from creases.tables._streaming.files import TableFiles
    from creases.tables._streaming.table import StreamedTable

Config = TypeVar("Config")

_PACKAGE = str(Path(__file__).parents[2])


def fit_table(
    table: Any,
    target: str | int | Sequence[str] | None = None,
    *,
    shapes: Mapping[str, str] | None = None,
    task: Literal["classification", "regression"] | None = None,
    missing: Literal["indicate", "mean", "drop", "error"] = "indicate",
    header: bool | None = None,
    inputs: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    codes: Mapping[str, Any] | None = None,
    weight: str | None = None,
    exposure: str | None = None,
    groups: str | None = None,
    time: str | None = None,
    missing_marks: Sequence[str] | None = None,
    max_memory: float | None = None,
    n_jobs: int | None = None,
    engine: Literal["local", "serial", "ray"] = "local",
    address: str | None = None,
    **options: Any,
) -> TableModel:
    """Fit a model of a table that a person can read completely; with the same options that of ``creases fit FILE``.

    The model grows in stages: straight lines, then curves of columns, then planes of pairs of columns, then units that
    mix many. Folds of the rows judge each stage, and one that does not lower the loss on held-out rows by more than a
    standard error is undone. The result is a sum that :meth:`TableModel.explain` splits by column, and one exact
    network. A fraction of the rows is kept aside, for its scores.

    A column that looks like a row number or an ID is tried on the folds too, and used if held-out rows are better
    predicted with it. A :class:`creases.errors.ColumnWarning` says so, and names the columns that are left out.

    Parameters
    ----------
    table
        A DataFrame, a file, or a problem. A table larger than memory: a pattern such as ``"part-*.parquet"``, a folder
        or a pyarrow dataset of Parquet, CSV or Feather files; or a relation of DuckDB, or whatever else gives rows by
        Arrow's ``__arrow_c_stream__``, which is written to a temporary Parquet file first. Its stages, knots and
        penalties are chosen on a sample of 20,000 rows, as those of any table of more; all rows are then fitted, in
        sums over blocks of them.
    target, task, missing, header, inputs, drop, kinds, codes, weight, exposure, groups, time, missing_marks
        How the table is read: see :func:`creases.tables.read_table`. Not for a problem. Several columns of values are
        predicted together, ``target=["width", "height"]``: a curve has a value for each.
    max_memory
        Bytes that the fit may take, 4e9 by default. A file that would take more in memory is read in blocks, by as many
        processes as keep to the limit together, this one included (up to 0.3e9 of what it held before the call count).
        A fit of the sample takes about 0.7e9, a process about 0.4e9. A limit that cannot be kept is refused. With
        ``engine="ray"`` it is not kept.
    n_jobs, engine, address
        Where blocks are read and summed: processes of this machine, at most as many as there are cores, or a Ray
        cluster, as in :func:`creases.lab.sweep`. The model is the same, bit for bit.
    options
        With ``shapes`` those of :class:`creases.tables.CurveConfig`, which says what they are, with its defaults. For a
        network that grows by units see :func:`creases.tables.grow_table`.

    Examples
    --------
    >>> import creases
    >>> from creases import problems
    >>> model = creases.fit_table(problems.get("iris"))
    >>> model.predict(model.data.problem.X[:2]).tolist()
    ['setosa', 'setosa']
    """
    values = locals()
    reading = ReadOptions(**{name: values[name] for name in options_of(ReadOptions) if name in values}, lookups=True)
    options |= {} if shapes is None else {"shapes": shapes}
    hint = "options of growth belong to creases.tables.grow_table or creases grow"
    config = make_config(CurveConfig, options, "a fit", hint)
    if isinstance(target, list | tuple):
        return _fit_several(table, reading, config)
    where: dict[str, Any] = {"engine": engine, "n_jobs": n_jobs, "address": address, "max_memory": max_memory}
    if is_stream(table):
        from creases.tables._streaming.passes import spool  # imports pyarrow

        with spool(table, engine) as files:
            return _fit_files(files, reading, config, **where)
    if found := find_table_files(table, header=header, max_memory=max_memory):
        return _fit_files(found, reading, config, **where)
    return fit_problem(read_problem(table, reading), config)


def fit_settings(settings: FitSettings) -> TableModel:
    """Fit curves, planes and units to the table that settings name."""
    if (files := settings.find_files()) is None:
        return fit_problem(settings.load_problem(), settings.config)
    return _fit_files(files, settings, settings.config, max_memory=settings.max_memory)


def _fit_files(files: TableFiles, reading: ReadOptions, config: CurveConfig, **engine: Any) -> TableModel:
    """Fit files larger than memory, stages by a sample, coefficients by sums over all rows: see :func:`open_table`."""
    from creases.tables._streaming.table import open_table  # imports scipy

    with open_table(files, reading, config, **engine) as table:
        if isinstance(table, Problem):
            return fit_problem(table, config)
        warn_of_columns(table.data.problem.encoding)
        return fit_curve_model(table.data, config, **table.data.table_names, stream=table)


def make_config(config: type[Config], options: Mapping[str, Any], what: str, hint: str) -> Config:
    """Return a configuration, a dataclass; options that it does not have are refused: those ``what`` has are listed."""
    own = [entry.name for entry in fields(config)]  # type: ignore[arg-type]
    for name in options:
        if name not in own:
            raise InputError(name, f"be an option of {what}: {', '.join(own)}", hint=hint)
    return config(**options)


def fit_problem(problem: Problem, config: CurveConfig) -> TableModel:
    """Fit the sum of curves, planes and units to a table that has been read."""
    problem = settle_columns(problem, config)
    warn_of_columns(problem.encoding)
    data = TableSplit.from_problem(problem, config)
    return fit_curve_model(data, config, **data.table_names)


def _fit_several(table: Any, reading: ReadOptions, config: CurveConfig) -> TableModel:
    """Fit several columns of values of a DataFrame together."""
    names = [str(name) for name in reading.target]
    if not hasattr(table, "columns") or not hasattr(table, "iloc"):
        raise InputError("table", "be a DataFrame for several targets", type(table).__name__)
    unknown = [name for name in names if name not in table.columns]
    if unknown or len(set(names)) < len(names) or not names:
        raise InputError("target", "be different columns of the table", repr(names))
    if reading.task == "classification":
        raise InputError("target", "be one column of classes", repr(names))
    if reading.exposure is not None:
        raise InputError("exposure", "be given for one target", repr(names))
    rows = table.dropna(subset=names)
    drop = (*reading.drop, *names[1:])
    problem = read_with(rows, replace(reading, target=names[0], task="regression", drop=drop))
    kept = rows if problem.rows is None else rows.iloc[problem.rows]
    try:
        y = kept[names].to_numpy(np.float64)
    except (TypeError, ValueError):
        raise InputError("target", "be columns of numbers, if there are several", repr(names)) from None
    about: dict[str, Any] = {"task": "regression", "n_outputs": len(names), "config": config}
    about |= {"weight": np.ones(len(y)) if problem.weight is None else problem.weight}
    about |= {"groups": problem.groups, "is_time": problem.is_time}
    problem = settle_columns(problem, config, lambda X: TableSplit.from_arrays(X, y, **about))
    warn_of_columns(problem.encoding)
    named: dict[str, Any] = {"features": problem.features, "classes": None, "targets": names}
    data = TableSplit.from_arrays(problem.X, y, **about)
    return fit_curve_model(data, config, encoding=problem.encoding, **named)


def read_problem(table: Any, reading: ReadOptions) -> Problem:
    """Return a table as a problem; one that is a problem is not read again."""
    if isinstance(table, Problem):
        for name, value in vars(reading).items():
            if name != "lookups" and value not in (None, (), "indicate"):
                raise InputError(name, "not be given for a problem, which has been read", repr(value))
        return table
    if isinstance(table, str | Path) or hasattr(table, "columns"):
        return read_with(table, reading)
    raise InputError("table", "be a DataFrame, a file or a problem", type(table).__name__)


# A table fitted by stages: lines, curves, planes, units.


def fit_curve_model(
    data: TableSplit, config: CurveConfig, *, stream: StreamedTable | None = None, **named: Any
) -> TableModel:
    """Fit a sum of curves, planes and units to all rows of a split but those to test with.

    Every way to fit a table goes through here: :func:`creases.fit_table`, the estimators, ``creases fit``. With a
    ``stream``, ``data`` are a sample of its rows. With ``config.refit`` the model is then fitted to all rows.
    ``named`` are the features, classes, targets, encoding and labels: see :class:`RowSchema`.
    """
    model = _fit(data, config, stream, **named)
    if not config.refit or not len(data.parts[2]):
        return model
    every = None if stream is None else stream.without_test()
    again = _fit(data.without_test(), config, every, **named)
    before, total = count_rows(model), count_rows(again)["train"]
    note = (
        f"fitted again to all {total:,} rows: the scores are those of the model before, fitted to {before['train']:,} "
        f"of them and tested on {before['test']:,}"
    )
    return replace(again, _facts=replace(again._facts, notes=(*again._facts.notes, note)), _scored=model)


def _fit(
    data: TableSplit,
    config: CurveConfig,
    stream: StreamedTable | None,
    *,
    features: Sequence[str],
    classes: Sequence[Any] | None,
    targets: Sequence[str],
    encoding: TableEncoding | None,
    labels: NDArray[Any] | None = None,
) -> TableModel:
    from threadpoolctl import threadpool_limits

    from creases.tables._words.terms import describe_trades

    if config.threshold != 0.5 and (classes is None or len(classes) != 2):
        raise InputError("threshold", "be 0.5 unless there are two classes", repr(config.threshold))
    used = data.fitted_rows
    n_classes = 0 if classes is None else len(classes)
    n_scores = len(targets) if classes is None else 1 if n_classes == 2 else n_classes
    X = data.rows.X[used]
    inputs = Inputs.from_table(X, features, encoding, shapes=config.shapes, n_scores=n_scores)
    if config.family != "auto" and n_classes:
        hint = "for numbers use {0}"
        raise InputError("family", "be 'auto' for classes", repr(config.family), hint, [("task", "regression")])
    options: dict[str, Any] = {"n_classes": n_classes, "among": used, "seed": config.seed}
    if config.family not in ("auto", "normal") and len(targets) > 1:
        raise InputError("family", "be 'normal' for several targets", repr(config.family))
    options |= {"family": family_with_exposure(config.family) if data.has_exposure else config.family}
    with threadpool_limits(1):  # products of matrices are rounded in another way by more threads
        function, held, trades = fit_stages(
            data.rows, inputs, **options, stream=None if stream is None else stream.rows
        )
    if data.source is not None and data.source.rows is not None:
        numbers, units = data.source.rows, function.units
        if units is not None:  # reasons number rows as the table does
            reasons = [
                each if each.row is None else replace(each, row=int(numbers[each.row])) for each in units.reasons
            ]
            function = replace(function, units=replace(units, reasons=tuple(reasons)))
    threshold = config.threshold
    if isinstance(threshold, str):  # by rows that the fits have not seen
        threshold = best_threshold(held.scores[:, 0], data, held.rows, held.weight, threshold)
    notes = [_describe_family(function, config, data.has_exposure), data.rows.describe_copies()]
    if stream is not None:
        fitted = f"a sample of {len(data.train) + len(data.validation):,} of the {stream.n_train:,} rows"
        notes.append(f"the other models in the scores were fitted to {fitted}, rare categories pooled as in this model")
    notes += describe_crossings(data, encoding)
    count = None if stream is None else {"train": stream.n_train, "test": stream.n_test}
    facts = Facts(rows=count, notes=tuple(filter(None, notes)), family=config.family)
    named: dict[str, Any] = {"features": features, "classes": classes, "targets": targets, "encoding": encoding}
    moments, ranges = (data.moments, None) if stream is None else ((stream.center, stream.spread), stream.ranges)
    schema = RowSchema.from_rows(X, moments, **named, labels=labels, threshold=threshold, ranges=ranges)
    model = TableModel(function=function, schema=schema, data=data, _facts=facts)
    if len(targets) > 1:
        return model
    facts = replace(facts, notes=(*facts.notes, *describe_trades(model._terms(), trades)))
    return replace(model, _facts=facts, _held=hold_rows(model, function, held))


def _describe_family(function: CurveModel, config: CurveConfig, has_exposure: bool) -> str:
    """Say which family was chosen, and how to choose another one; "" for a normal one and for classes."""
    if function.n_classes or function.family == "normal":
        return ""
    link = ", effects multiply" if function.link == "log" else ""
    chosen = " by held-out rows" if config.family == "auto" and not has_exposure else ""
    other = "; for effects that add set family to normal" if chosen else ""
    rate = "; predictions are for one unit of exposure" if has_exposure else ""
    return f"family {function.family}{chosen}{link}{other}{rate}"


def warn_of_columns(encoding: TableEncoding | None) -> None:
    """Warn of columns that are left out though nobody asked for it, and of those that may give the target away."""
    if encoding is None:
        return
    texts = []
    if encoding.ignored:
        prose = next((each.name for each in encoding.columns if each.kind.left_out and each.kind.kind == "text"), None)
        words = f", read the words of a text by kinds={{{prose!r}: 'tags'}}" if prose else ""
        texts.append(f"left out: {encoding.ignored}; use a column by inputs=[...]{words}, or name it in drop=[...]")
    texts += [f"{text}; leave it out with drop=[{name!r}]" for name, text in encoding.doubtful.items()]
    frame, level = sys._getframe(0), 1  # of the code that called this package
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    for text in texts:
        warnings.warn(text, ColumnWarning, stacklevel=level)
