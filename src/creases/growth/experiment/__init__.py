"""Growth runs: their settings, their data divided, what is written down on the way, the folder they are kept in."""

from creases.growth.experiment._baselines import Baseline, baselines, compare_with_linear
from creases.growth.experiment._describe import describe_step
from creases.growth.experiment._folder import MODEL_FILE
from creases.growth.experiment._run import Outcome, options, run, start
from creases.growth.experiment._saved_run import SavedRun, load_run
from creases.growth.experiment._settings import SETTINGS_FILE, Settings
from creases.growth.experiment._snapshots import Snapshot, Snapshots
from creases.growth.experiment._split import (
    MIN_ROWS,
    TableSplit,
    as_options,
    data_box,
    load_split,
    resolve_data,
    split_problem,
)

__all__ = [
    "MIN_ROWS",
    "MODEL_FILE",
    "SETTINGS_FILE",
    "Baseline",
    "Outcome",
    "SavedRun",
    "Settings",
    "Snapshot",
    "Snapshots",
    "TableSplit",
    "as_options",
    "baselines",
    "compare_with_linear",
    "data_box",
    "describe_step",
    "load_run",
    "load_split",
    "options",
    "resolve_data",
    "run",
    "split_problem",
    "start",
]
