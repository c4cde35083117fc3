"""Growth runs on tables: data, split, settings, the run itself, its snapshots and its folder."""

from creases.growth.experiment._baselines import Baseline, baselines, compare_with_linear
from creases.growth.experiment._describe import describe_step
from creases.growth.experiment._experiment import Experiment
from creases.growth.experiment._folder import (
    DESCRIPTION_FILE,
    ENCODING_FILE,
    HISTORY_FILE,
    MODEL_FILE,
    ONNX_FILE,
    PICTURE_FILE,
    REPORT_FILE,
    prepare_folder,
)
from creases.growth.experiment._saved_run import SavedRun, load_run
from creases.growth.experiment._settings import SETTINGS_FILE, RunSettings, resolve_data
from creases.growth.experiment._snapshots import Snapshot, Snapshots
from creases.growth.experiment._split import MIN_ROWS, TableSplit, data_box
from creases.growth.experiment._table_model import TableModel, load, training_summary
from creases.growth.experiment._table_result import TableResult, grow_table

__all__ = [
    "DESCRIPTION_FILE",
    "ENCODING_FILE",
    "HISTORY_FILE",
    "MIN_ROWS",
    "MODEL_FILE",
    "ONNX_FILE",
    "PICTURE_FILE",
    "REPORT_FILE",
    "SETTINGS_FILE",
    "Baseline",
    "Experiment",
    "RunSettings",
    "SavedRun",
    "Snapshot",
    "Snapshots",
    "TableModel",
    "TableResult",
    "TableSplit",
    "baselines",
    "compare_with_linear",
    "data_box",
    "describe_step",
    "grow_table",
    "load",
    "load_run",
    "prepare_folder",
    "resolve_data",
    "training_summary",
]
