"""Growth runs on tables: data, split, settings, the run itself, its snapshots and its folder."""

from creases.growth.experiment._baselines import (
    Baseline,
    BaselineWarning,
    baseline_warnings,
    baselines,
    compare_with_linear,
    metrics_summary,
)
from creases.growth.experiment._describe import describe_step
from creases.growth.experiment._experiment import Experiment
from creases.growth.experiment._folder import (
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
from creases.growth.experiment._metrics import (
    ClassificationMetrics,
    RegressionMetrics,
    classification_metrics,
    regression_metrics,
)
from creases.growth.experiment._model_loading import load
from creases.growth.experiment._saved_run import SavedRun, load_run
from creases.growth.experiment._settings import SETTINGS_FILE, RunSettings, resolve_data
from creases.growth.experiment._snapshots import Snapshot, Snapshots
from creases.growth.experiment._split import MIN_ROWS, TableSplit, data_box
from creases.growth.experiment._table_model import TableModel, training_summary
from creases.growth.experiment._table_result import TableResult, grow_table
from creases.growth.experiment._threshold import choose_threshold, decide, shift_decision

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
    "ClassificationMetrics",
    "Experiment",
    "RegressionMetrics",
    "RunSettings",
    "SavedRun",
    "Snapshot",
    "Snapshots",
    "TableModel",
    "TableResult",
    "TableSplit",
    "baseline_warnings",
    "baselines",
    "choose_threshold",
    "classification_metrics",
    "compare_with_linear",
    "data_box",
    "decide",
    "describe_step",
    "grow_table",
    "load",
    "load_run",
    "lock_folder",
    "metrics_summary",
    "prepare_folder",
    "regression_metrics",
    "resolve_data",
    "shift_decision",
    "training_summary",
]
