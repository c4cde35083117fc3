"""Tables: a table in, a network you can read out.

``read_table`` and ``parse_table`` make a problem of a file, a data frame or a text, with the kind of every column
detected; its ``encoding`` (a ``TableEncoding``) encodes new rows. ``fit_table``, ``GrowingClassifier`` and
``GrowingRegressor`` fit a network: an ``Experiment`` on a ``TableSplit``. ``load`` reads one back, as a ``TableModel``.
``scorecard``, ``effects``, ``importance``, ``interactions`` and ``counterfactual`` say what it does with the columns.
"""

from typing import TYPE_CHECKING, Any

from creases.tables._encoding.column_encoding import ColumnEncoding
from creases.tables._encoding.encoding import EncodedRows, Feature, TableEncoding, number_encoding
from creases.tables._explain.columns import Columns
from creases.tables._explain.conditions import Condition
from creases.tables._explain.counterfactual import ColumnChange, Counterfactual, counterfactual
from creases.tables._explain.effects import CategoryEffect, NumberEffect, effects
from creases.tables._explain.importance import Importance, Interactions, importance, interactions
from creases.tables._explain.scorecard import Scorecard, ScorecardCheck, ScorecardRegion, scorecard
from creases.tables._explain.terms import LinearText
from creases.tables._fit.describe import describe_step
from creases.tables._fit.experiment import Experiment
from creases.tables._fit.snapshots import Snapshot, Snapshots
from creases.tables._fit.threshold import choose_threshold, decide, shift_decision
from creases.tables._folder.folder import (
    DESCRIPTION_FILE,
    ENCODING_FILE,
    HISTORY_FILE,
    METRICS_FILE,
    MODEL_FILE,
    ONNX_FILE,
    PICTURE_FILE,
    REPORT_FILE,
    SCORECARD_FILE,
    lock_folder,
    prepare_folder,
)
from creases.tables._folder.model_loading import load
from creases.tables._folder.saved_run import SavedRun, load_run
from creases.tables._folder.settings import SETTINGS_FILE, RunSettings, resolve_data
from creases.tables._model.table_model import TableModel, training_summary
from creases.tables._model.table_result import TableResult, fit_table
from creases.tables._reading.columns import Column
from creases.tables._reading.files import read_columns
from creases.tables._reading.table import parse_table, read_table
from creases.tables._scores.baselines import (
    Baseline,
    BaselineWarning,
    baseline_warnings,
    baselines,
    compare_with_linear,
    metrics_summary,
)
from creases.tables._scores.metrics import (
    ClassificationMetrics,
    RegressionMetrics,
    classification_metrics,
    regression_metrics,
)
from creases.tables._split.split import MIN_ROWS, TableSplit, data_box
from creases.tables._stages.model import Curve, CurveModel, Plane, Step, fit_curves

if TYPE_CHECKING:
    from creases.tables._estimators.classifier import GrowingClassifier
    from creases.tables._estimators.regressor import GrowingRegressor

__all__ = [
    "DESCRIPTION_FILE",
    "ENCODING_FILE",
    "HISTORY_FILE",
    "METRICS_FILE",
    "MIN_ROWS",
    "MODEL_FILE",
    "ONNX_FILE",
    "PICTURE_FILE",
    "REPORT_FILE",
    "SCORECARD_FILE",
    "SETTINGS_FILE",
    "Baseline",
    "BaselineWarning",
    "CategoryEffect",
    "ClassificationMetrics",
    "Column",
    "ColumnChange",
    "ColumnEncoding",
    "Columns",
    "Condition",
    "Counterfactual",
    "Curve",
    "CurveModel",
    "EncodedRows",
    "Experiment",
    "Feature",
    "GrowingClassifier",
    "GrowingRegressor",
    "Importance",
    "Interactions",
    "LinearText",
    "NumberEffect",
    "Plane",
    "RegressionMetrics",
    "RunSettings",
    "SavedRun",
    "Scorecard",
    "ScorecardCheck",
    "ScorecardRegion",
    "Snapshot",
    "Snapshots",
    "Step",
    "TableEncoding",
    "TableModel",
    "TableResult",
    "TableSplit",
    "baseline_warnings",
    "baselines",
    "choose_threshold",
    "classification_metrics",
    "compare_with_linear",
    "counterfactual",
    "data_box",
    "decide",
    "describe_step",
    "effects",
    "fit_curves",
    "fit_table",
    "importance",
    "interactions",
    "load",
    "load_run",
    "lock_folder",
    "metrics_summary",
    "number_encoding",
    "parse_table",
    "prepare_folder",
    "read_columns",
    "read_table",
    "regression_metrics",
    "resolve_data",
    "scorecard",
    "shift_decision",
    "training_summary",
]


def __getattr__(name: str) -> Any:
    if name == "GrowingClassifier":
        from creases.tables._estimators.classifier import GrowingClassifier  # scikit-learn is slow to import

        return GrowingClassifier
    if name == "GrowingRegressor":
        from creases.tables._estimators.regressor import GrowingRegressor

        return GrowingRegressor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
