"""Tables: a table in, a network you can read out.

``read_table`` and ``parse_table`` make a problem of a file, a data frame or a text, with the kind of every column
detected; its ``encoding`` (a ``TableEncoding``) encodes new rows. ``fit_table``, ``TableClassifier`` and
``TableRegressor`` fit a ``TableModel`` by stages (curves, planes, units). ``grow_table``, ``GrowingClassifier`` and
``GrowingRegressor`` grow a network, a ``GrownModel``: an ``Experiment`` on a ``TableSplit``. Both predict and explain
rows, and say in words what they do; ``load`` reads one back. ``explain_row`` and ``find_changes`` take encoded rows;
``certify_model`` says what is certain about a model of curves.
``effects``, ``importance`` and ``interactions`` say what a network does with the columns.
"""

from typing import TYPE_CHECKING

from creases._doors import open_on_use

if TYPE_CHECKING:
    from creases.tables._encoding.encoding import TableEncoding
    from creases.tables._estimators.growing import GrowingClassifier, GrowingRegressor
    from creases.tables._estimators.tables import TableClassifier, TableRegressor
    from creases.tables._explain.effects import CategoryEffect, NumberEffect, effects
    from creases.tables._explain.importance import Importance, importance, interactions
    from creases.tables._explain.table import Columns
    from creases.tables._fit.experiment import Experiment, grow_table
    from creases.tables._fit.fit_table import fit_settings, fit_table
    from creases.tables._fit.snapshots import Snapshot, Snapshots
    from creases.tables._folder.folder import RunFile, lock_folder, prepare_folder
    from creases.tables._folder.model_loading import load, load_fit
    from creases.tables._folder.saved_run import load_run
    from creases.tables._folder.settings import FitSettings, RunSettings, load_settings, name_result, resolve_data
    from creases.tables._model.frame import PredictionSummary
    from creases.tables._model.grown_model import GrownModel, SavedRun
    from creases.tables._model.row_model import (
        count_rows,
        has_scores,
        model_baselines,
        scored_model,
    )
    from creases.tables._model.table_model import TableModel
    from creases.tables._reading.files import read_columns
    from creases.tables._reading.table import parse_table, read_table
    from creases.tables._scores.baselines import (
        Baseline,
        Comparison,
        baseline_warnings,
        baselines,
        compare_models,
        metrics_summary,
    )
    from creases.tables._scores.metrics import (
        ClassificationMetrics,
    )
    from creases.tables._split.split import MIN_ROWS, CurveConfig, TableSplit, data_box
    from creases.tables._words.changes import RowChanges, find_changes
    from creases.tables._words.facts import certify_model
    from creases.tables._words.graphs import LevelGraph, NumberGraph, PairGraph, model_graphs
    from creases.tables._words.model_text import describe_notes, describe_stages, describe_step
    from creases.tables._words.row_text import RowExplanation, explain_row

__all__ = [
    "MIN_ROWS",
    "Baseline",
    "CategoryEffect",
    "ClassificationMetrics",
    "Columns",
    "Comparison",
    "CurveConfig",
    "Experiment",
    "FitSettings",
    "GrowingClassifier",
    "GrowingRegressor",
    "GrownModel",
    "Importance",
    "LevelGraph",
    "NumberEffect",
    "NumberGraph",
    "PairGraph",
    "PredictionSummary",
    "RowChanges",
    "RowExplanation",
    "RunFile",
    "RunSettings",
    "SavedRun",
    "Snapshot",
    "Snapshots",
    "TableClassifier",
    "TableEncoding",
    "TableModel",
    "TableRegressor",
    "TableSplit",
    "baseline_warnings",
    "baselines",
    "certify_model",
    "compare_models",
    "count_rows",
    "data_box",
    "describe_notes",
    "describe_stages",
    "describe_step",
    "effects",
    "explain_row",
    "find_changes",
    "fit_settings",
    "fit_table",
    "grow_table",
    "has_scores",
    "importance",
    "interactions",
    "load",
    "load_fit",
    "load_run",
    "load_settings",
    "lock_folder",
    "metrics_summary",
    "model_baselines",
    "model_graphs",
    "name_result",
    "parse_table",
    "prepare_folder",
    "read_columns",
    "read_table",
    "resolve_data",
    "scored_model",
]

# Where each name lives. Each is imported on first use: a model is read and applied with numpy alone, while torch,
# scikit-learn and pandas take seconds.
_HOMES = {
    "_encoding.encoding": ("TableEncoding",),
    "_estimators.growing": (
        "GrowingClassifier",
        "GrowingRegressor",
    ),
    "_estimators.tables": (
        "TableClassifier",
        "TableRegressor",
    ),
    "_explain.effects": (
        "CategoryEffect",
        "NumberEffect",
        "effects",
    ),
    "_explain.importance": (
        "Importance",
        "importance",
        "interactions",
    ),
    "_explain.table": ("Columns",),
    "_fit.experiment": (
        "Experiment",
        "grow_table",
    ),
    "_fit.fit_table": (
        "fit_settings",
        "fit_table",
    ),
    "_fit.snapshots": (
        "Snapshot",
        "Snapshots",
    ),
    "_folder.folder": (
        "RunFile",
        "lock_folder",
        "prepare_folder",
    ),
    "_folder.model_loading": ("load", "load_fit"),
    "_folder.saved_run": ("load_run",),
    "_folder.settings": (
        "FitSettings",
        "RunSettings",
        "load_settings",
        "name_result",
        "resolve_data",
    ),
    "_model.frame": ("PredictionSummary",),
    "_model.grown_model": ("GrownModel", "SavedRun"),
    "_model.row_model": ("count_rows", "has_scores", "model_baselines", "scored_model"),
    "_model.table_model": ("TableModel",),
    "_reading.files": ("read_columns",),
    "_reading.table": (
        "parse_table",
        "read_table",
    ),
    "_scores.baselines": (
        "Baseline",
        "Comparison",
        "baseline_warnings",
        "baselines",
        "compare_models",
        "metrics_summary",
    ),
    "_scores.metrics": ("ClassificationMetrics",),
    "_split.split": (
        "CurveConfig",
        "MIN_ROWS",
        "TableSplit",
        "data_box",
    ),
    "_words.changes": (
        "RowChanges",
        "find_changes",
    ),
    "_words.facts": ("certify_model",),
    "_words.graphs": (
        "LevelGraph",
        "NumberGraph",
        "model_graphs",
        "PairGraph",
    ),
    "_words.model_text": (
        "describe_notes",
        "describe_stages",
        "describe_step",
    ),
    "_words.row_text": (
        "RowExplanation",
        "explain_row",
    ),
}
__getattr__ = open_on_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
