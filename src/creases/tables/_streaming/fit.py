"""Fit a table larger than memory: stages, knots and penalties by a sample, all coefficients by sums over all rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from creases.problems import Problem
from creases.tables._fit.doubtful_columns import warn_of_columns
from creases.tables._fit.fit_table import fit_curve_model, fit_problem
from creases.tables._model.table_model import TableModel
from creases.tables._split.split import CurveConfig
from creases.tables._streaming.files import TableFiles
from creases.tables._streaming.table import open_table


def fit_files(files: TableFiles, reading: Mapping[str, Any], config: CurveConfig, **engine: Any) -> TableModel:
    """Fit curves, planes and units to files; ``engine`` are the options of :func:`open_table`."""
    with open_table(files, reading, config, **engine) as table:
        if isinstance(table, Problem):
            return fit_problem(table, config)
        problem = table.data.problem
        warn_of_columns(problem.encoding)
        return fit_curve_model(
            table.data,
            config,
            features=problem.features,
            classes=problem.classes,
            targets=(problem.target,),
            encoding=problem.encoding,
            stream=table,
        )
