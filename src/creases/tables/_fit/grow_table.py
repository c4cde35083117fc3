"""``grow_table``: a table in, a network that grew on it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal

from creases.errors import InputError
from creases.growth import Callback, GrowthConfig
from creases.tables._fit.doubtful_columns import warn_of_columns
from creases.tables._fit.experiment import Experiment
from creases.tables._fit.fit_table import read_problem
from creases.tables._fit.snapshots import Snapshots
from creases.tables._model.grown_model import GrownModel
from creases.tables._reading.files import is_stream
from creases.tables._split.split import TableSplit
from creases.tables._streaming.find import find_table_files


def grow_table(
    table: Any,
    target: str | int | None = None,
    *,
    task: Literal["classification", "regression"] | None = None,
    missing: Literal["indicate", "mean", "drop", "error"] = "indicate",
    header: bool | None = None,
    inputs: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    codes: Mapping[str, Any] | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    **options: Any,
) -> GrownModel:
    """Grow a network on a table; with the same options that of ``creases grow``.

    It starts as the linear model and grows by units as :func:`creases.grow` does, each with its reason in ``history``.
    For a model that a person can read completely see :func:`creases.fit_table`.

    Parameters
    ----------
    table
        A DataFrame, a file, or a problem.
    target, task, missing, header, inputs, drop, kinds, codes
        As for :func:`creases.fit_table`.
    callbacks, progress
        Functions called with the run's :class:`creases.growth.State` at the end of every epoch, and whether to show
        progress on stderr, by default at a terminal.
    options
        All options of :class:`creases.growth.GrowthConfig`, with its defaults.

    Examples
    --------
    >>> from creases import problems
    >>> from creases.tables import grow_table
    >>> model = grow_table(problems.get("iris"), budget=5)
    >>> model.predict(model.data.problem.X[:2]).tolist()
    ['setosa', 'setosa']
    """
    config = make_growth_config(options)
    if isinstance(target, list | tuple):
        raise InputError("target", "be one column", repr(target), "creases.fit_table predicts several")
    if is_stream(table) or find_table_files(table, header=header):
        hint = "use creases.fit_table, which reads tables larger than memory, or one file"
        raise InputError("table", "fit in memory: a network grows on all rows at once", hint=hint)
    reading = {"target": target, "task": task, "inputs": inputs, "drop": tuple(drop), "kinds": kinds}
    reading |= {"codes": codes}
    problem = read_problem(table, reading | {"missing": missing, "header": header})
    warn_of_columns(problem.encoding)
    data = TableSplit.from_problem(problem, config)
    experiment = Experiment(data, config, snapshots=Snapshots(data.scaling))
    experiment.run(callbacks=callbacks, progress=progress)
    return experiment.table_model()


def make_growth_config(options: Mapping[str, Any]) -> GrowthConfig:
    """Return the options of growth; others are refused, those of a fit with what to use."""
    own = [entry.name for entry in fields(GrowthConfig)]
    for name in options:
        if name not in own:
            hint = "shapes, ensemble and refit belong to creases.fit_table or creases fit"
            raise InputError(name, f"be an option of growth: {', '.join(own)}", hint=hint)
    return GrowthConfig(**options)
